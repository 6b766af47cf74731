// When a terminal's socket ends, its close code says whether to come back
// (terminals.md 3.4).

/** The codes of cuts that pass. */
const PASSING: ReadonlySet<number> = new Set([1001, 1005, 1006, 1011, 1012, 1013, 1014]);
/** "Another replica has it": one more attempt, at once. */
const ELSEWHERE = 4400;

const DELAYS = [500, 1000, 2000, 4000, 8000, 15000];
const LAST_DELAY = 30_000;
const TRIES = 15;
/** A connection that lasted this long gives back all tries, in milliseconds. */
const HEALTHY = 30_000;

export type Verdict = { again: true; delay: number } | { again: false; reason: string };

/** Decides, close after close, whether and when to dial again. */
export class Redial {
  private tries = 0;
  private elsewhere = false;

  closed(code: number, reason: string, lasted: number): Verdict {
    if (lasted >= HEALTHY) this.reset();
    if (code === ELSEWHERE && !this.elsewhere) {
      this.elsewhere = true;
      return { again: true, delay: 0 };
    }
    if (!PASSING.has(code)) return { again: false, reason: reason || `code ${code}` };
    if (this.tries >= TRIES) return { again: false, reason: reason || 'the server can not be reached' };
    const delay = DELAYS[this.tries] ?? LAST_DELAY;
    this.tries++;
    return { again: true, delay };
  }

  reset(): void {
    this.tries = 0;
    this.elsewhere = false;
  }
}
