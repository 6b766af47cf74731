import { signal } from '@preact/signals';

/** A short word to the user, for what has no place of its own. */
export const said = signal<{ text: string; n: number } | null>(null);

/** How long it is shown, in milliseconds. */
const SHOWN = 6_000;
let timer: ReturnType<typeof setTimeout> | undefined;
let n = 0;

export function say(text: string): void {
  clearTimeout(timer);
  said.value = { text, n: ++n };
  timer = setTimeout(() => (said.value = null), SHOWN);
}

/** Says what went wrong. */
export function complain(doing: string): (e: unknown) => void {
  return (e) => say(`${doing} failed: ${e instanceof Error ? e.message : String(e)}`);
}
