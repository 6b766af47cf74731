/** Where a link of a model's text may lead; null = it is shown as text only. */
export function safeLink(url: string): string | null {
  const clean = url.trim();
  return /^(https?:|mailto:)/i.test(clean) ? clean : null;
}
