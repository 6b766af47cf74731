/** One server-sent event. */
export interface SSE {
  type: string;
  id: string | null;
  data: string;
}

/** An event this long is not ours; the stream is given up. */
const MAX_EVENT = 16 << 20;

/**
 * Cuts a stream of text into server-sent events. Pieces may end anywhere, also
 * between the CR and the LF of a line's end.
 */
export class EventCutter {
  private rest = '';
  private type = '';
  private id: string | null = null;
  private data: string[] = [];
  private size = 0;

  push(piece: string): SSE[] {
    const out: SSE[] = [];
    this.rest += piece;
    let from = 0;
    for (;;) {
      const at = this.rest.indexOf('\n', from);
      if (at < 0) break;
      let line = this.rest.slice(from, at);
      if (line.endsWith('\r')) line = line.slice(0, -1);
      from = at + 1;
      const done = this.line(line);
      if (done) out.push(done);
    }
    this.rest = this.rest.slice(from);
    if (this.rest.length + this.size > MAX_EVENT)
      throw new Error('the server sent an event that is too long');
    return out;
  }

  private line(line: string): SSE | null {
    if (line === '') {
      const done = this.data.length > 0 ? { type: this.type, id: this.id, data: this.data.join('\n') } : null;
      this.type = '';
      this.id = null;
      this.data = [];
      this.size = 0;
      return done;
    }
    const colon = line.indexOf(':');
    if (colon === 0) return null; // a comment
    const field = colon < 0 ? line : line.slice(0, colon);
    let value = colon < 0 ? '' : line.slice(colon + 1);
    if (value.startsWith(' ')) value = value.slice(1);
    if (field === 'event') this.type = value;
    else if (field === 'id') this.id = value;
    else if (field === 'data') {
      this.data.push(value);
      this.size += value.length;
    }
    return null;
  }
}
