import { Redial } from './redial';
import { Unheard } from './unheard';

/** Input is sent in messages of at most this size, in bytes. */
const MAX_MESSAGE = 256 << 10;

export type AttachState =
  | { name: 'connecting'; again: boolean }
  | { name: 'connected' }
  | { name: 'closed'; reason: string; ended: boolean };

export interface AttachHandlers {
  /** A connection stands: a new screen begins. The size is sent first. */
  open(): { cols: number; rows: number };
  bytes(data: Uint8Array): void;
  /** The terminal's size from here on: that of whoever typed last. */
  size(cols: number, rows: number): void;
  clipboard(text: string): void;
  /** So many bytes that were typed before a cut may not have arrived. */
  unsure(bytes: number): void;
  state(state: AttachState): void;
}

/** The close code of a terminal that does not run (any more). */
const ENDED = 4404;
/** How recent the user's last key must be for a program to reach the clipboard, in milliseconds. */
const TYPED = 5_000;
const MAX_CLIPBOARD = 1 << 20;
/** No terminal has more columns or rows. */
const MAX_SIDE = 1000;
/** How long the count of what arrived is waited for, in milliseconds. */
const COUNTED = 10_000;

/**
 * A terminal's socket, dialed again after a cut. What is typed arrives once, or
 * is refused: write says so. Only what was on its way when the line was cut is
 * sent again, as far as it did not arrive (unheard.ts).
 */
export class Attach {
  private socket: WebSocket | null = null;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private readonly redial = new Redial();
  private opened = 0;
  private typed = -Infinity;
  private sent = '';
  private over = false;
  private readonly unheard = new Unheard();
  private asking: ReturnType<typeof setTimeout> | undefined;

  constructor(
    private readonly url: string,
    private readonly readOnly: boolean,
    private readonly on: AttachHandlers,
  ) {}

  dial(again = false): void {
    clearTimeout(this.timer);
    this.drop();
    if (this.over) return;
    this.on.state({ name: 'connecting', again });
    const socket = new WebSocket(this.url);
    socket.binaryType = 'arraybuffer';
    this.socket = socket;
    this.opened = 0;
    socket.onopen = () => {
      this.opened = Date.now();
      this.sent = '';
      const { cols, rows } = this.on.open();
      this.resize(cols, rows);
      if (!this.readOnly) this.ask(socket);
      if (!this.asking) this.on.state({ name: 'connected' });
    };
    socket.onmessage = (m) => {
      if (m.data instanceof ArrayBuffer) this.on.bytes(new Uint8Array(m.data));
      else this.said(String(m.data));
    };
    socket.onclose = (e) => this.closed(e.code, e.reason);
  }

  /** Says who types here, and asks what has arrived, before anything is typed. */
  private ask(socket: WebSocket): void {
    if (this.unheard.begin()) {
      this.asking = setTimeout(() => {
        this.asking = undefined;
        this.answered(new Uint8Array(0), this.unheard.forget());
      }, COUNTED);
    }
    socket.send(JSON.stringify({ type: 'typist', id: this.unheard.id }));
  }

  private counted(bytes: number): void {
    if (!this.asking) return this.unheard.count(bytes);
    clearTimeout(this.asking);
    this.asking = undefined;
    const { again, unsure } = this.unheard.resume(bytes);
    this.answered(again, unsure);
  }

  private answered(again: Uint8Array, unsure: number): void {
    this.send(again);
    if (unsure > 0) this.on.unsure(unsure);
    this.on.state({ name: 'connected' });
  }

  private send(data: Uint8Array): void {
    for (let at = 0; at < data.length; at += MAX_MESSAGE) this.socket?.send(data.slice(at, at + MAX_MESSAGE));
  }

  /** Dials now what would be dialed later, or what was given up. */
  now(): void {
    if (this.socket && this.socket.readyState <= WebSocket.OPEN) return;
    this.redial.reset();
    this.dial(true);
  }

  /** Whether the next dial is waited for. */
  get waits(): boolean {
    return this.timer !== undefined && this.socket === null && !this.over;
  }

  /** Sends what was typed. false: it is not sent, and will not be. */
  write(data: Uint8Array): boolean {
    if (this.readOnly || this.asking || this.socket?.readyState !== WebSocket.OPEN) return false;
    this.typed = Date.now();
    this.unheard.add(data);
    this.send(data);
    return true;
  }

  resize(cols: number, rows: number): void {
    const size = JSON.stringify({ type: 'resize', cols, rows });
    if (this.socket?.readyState !== WebSocket.OPEN || size === this.sent) return;
    this.sent = size;
    this.socket.send(size);
  }

  /** Ends this connection as if it had been cut: a new screen will be right again. */
  restart(): void {
    this.drop();
    this.closed(1013, '');
  }

  close(): void {
    this.over = true;
    clearTimeout(this.timer);
    this.drop();
  }

  private drop(): void {
    clearTimeout(this.asking);
    this.asking = undefined;
    const s = this.socket;
    this.socket = null;
    if (!s) return;
    s.onopen = s.onmessage = s.onclose = null;
    s.close();
  }

  private closed(code: number, reason: string): void {
    clearTimeout(this.asking);
    this.asking = undefined;
    this.socket = null;
    if (this.over) return;
    const verdict = this.redial.closed(code, reason, this.opened ? Date.now() - this.opened : 0);
    if (!verdict.again) {
      this.on.state({ name: 'closed', reason: verdict.reason, ended: code === ENDED });
      return;
    }
    this.on.state({ name: 'connecting', again: true });
    this.timer = setTimeout(() => this.dial(true), verdict.delay);
  }

  /** Text from the other side; what is not known is left alone. */
  private said(text: string): void {
    try {
      const m = JSON.parse(text) as {
        type?: string;
        encoding?: string;
        data?: string;
        cols?: number;
        rows?: number;
        bytes?: number;
      };
      if (m.type === 'typed' && Number.isInteger(m.bytes)) this.counted(m.bytes as number);
      if (m.type === 'size' && isSize(m.cols) && isSize(m.rows)) this.on.size(m.cols, m.rows);
      if (m.type !== 'clipboard-write' || m.encoding !== 'base64' || !m.data) return;
      if (this.readOnly || Date.now() - this.typed > TYPED) return;
      const bytes = Uint8Array.from(atob(m.data), (c) => c.charCodeAt(0));
      if (bytes.length === 0 || bytes.length > MAX_CLIPBOARD) return;
      this.on.clipboard(new TextDecoder().decode(bytes));
    } catch {
      // not ours
    }
  }
}

function isSize(n: number | undefined): n is number {
  return Number.isInteger(n) && (n as number) > 0 && (n as number) <= MAX_SIDE;
}

export function attachUrl(session: string, terminal: string, readOnly: boolean): string {
  const path = `/v1/sessions/${encodeURIComponent(session)}/resources/terminals/${encodeURIComponent(terminal)}/attach`;
  return `${location.origin.replace(/^http/, 'ws')}${path}?read_only=${readOnly}`;
}
