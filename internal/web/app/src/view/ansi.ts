// eslint-disable-next-line no-control-regex -- it is about control characters
const SEQUENCES = /\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[ -/]*[0-~])/g;

/** The text of a program's output, without what only a terminal understands. */
export function plainText(text: string): string {
  const clean = text.includes('\x1b') ? text.replace(SEQUENCES, '') : text;
  return clean.replace(/\r\n/g, '\n').replace(/[^\n]*\r(?!\n)(?=[^\n])/g, '');
}
