import type { Entry } from './transcript';

type TextEntry = Entry & { kind: 'text' };

/** Puts the pieces of a response's text together again. */
export class Texts {
  private last: TextEntry | null = null;
  private response = '';

  constructor(private readonly out: Entry[]) {}

  /** What comes now begins a text of its own. */
  cut(): void {
    this.last = null;
  }

  /**
   * Adds a piece. One that was cut at a line's end goes on where it was cut, also
   * when somebody said something meanwhile; one that ends within a line was
   * whole, and the next one is a paragraph of its own.
   */
  add(key: string, text: string, response: string, at: number | undefined): TextEntry | null {
    const last = this.response === response ? this.last : null;
    if (last && (this.out.at(-1) === last || unfinished(last.text, text))) {
      last.text += (last.text.endsWith('\n') ? '' : '\n\n') + text;
      return last;
    }
    if (text.trim() === '') return null;
    this.last = { kind: 'text', key, text, live: false, broken: false, at };
    this.response = response;
    this.out.push(this.last);
    return this.last;
  }
}

/** Whether a text ends within a paragraph, list, table or fence that the next piece goes on with. */
export function unfinished(text: string, next: string): boolean {
  let fence: string | null = null;
  for (const [, mark, rest] of text.matchAll(/^ {0,3}(`{3,}|~{3,})(.*)$/gm)) {
    if (!mark) continue;
    if (fence === null) fence = mark;
    else if (mark[0] === fence[0] && mark.length >= fence.length && !rest?.trim()) fence = null;
  }
  return fence !== null || (/[^\n]\n$/.test(text) && /^[^\n]/.test(next));
}
