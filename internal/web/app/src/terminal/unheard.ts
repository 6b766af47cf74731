/** So much of what was typed is kept until it is known to have arrived, in bytes. */
const MOST = 1 << 20;

/**
 * What was typed and is not known to have arrived. A runner that counts says
 * after each connection how many bytes of this page it has; the rest is sent
 * again, so that a cut neither loses a key nor types it twice.
 */
export class Unheard {
  id = name();
  private heard = 0;
  private kept = new Uint8Array(0);
  private counts = false;

  /** A new connection stands. true: the runner's count must be waited for. */
  begin(): boolean {
    if (this.counts) return true;
    this.id = name();
    this.heard = 0;
    this.kept = new Uint8Array(0);
    return false;
  }

  add(data: Uint8Array): void {
    const all = new Uint8Array(this.kept.length + data.length);
    all.set(this.kept);
    all.set(data, this.kept.length);
    const drop = Math.max(0, all.length - MOST);
    this.kept = all.slice(drop);
    this.heard += drop;
  }

  /** The runner has so many bytes. */
  count(bytes: number): void {
    this.counts = true;
    if (!this.knows(bytes)) return;
    this.kept = this.kept.slice(bytes - this.heard);
    this.heard = bytes;
  }

  /**
   * The first count of a later connection: what is to be sent again, and how
   * many bytes nobody knows of since the runner has begun to count anew.
   */
  resume(bytes: number): { again: Uint8Array; unsure: number } {
    const known = this.knows(bytes);
    const unsure = known ? 0 : this.kept.length;
    if (!known) {
      this.kept = new Uint8Array(0);
      this.heard = bytes;
    }
    this.count(bytes);
    return { again: this.kept, unsure };
  }

  /** No count comes: the other end does not count any more. */
  forget(): number {
    const unsure = this.kept.length;
    this.counts = false;
    this.begin();
    return unsure;
  }

  private knows(bytes: number): boolean {
    return bytes >= this.heard && bytes <= this.heard + this.kept.length;
  }
}

function name(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (b) => b.toString(16).padStart(2, '0')).join(
    '',
  );
}
