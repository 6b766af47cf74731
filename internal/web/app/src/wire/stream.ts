import { EXTRAS } from './api';
import { Backoff, pause } from './backoff';
import { EventCutter } from './sse';
import type { StreamEvent } from './types';

/** The server beats every 15 s; a stream that is silent for this long is dead, in milliseconds. */
const SILENCE = 40_000;
/** A connection that lasted this long was healthy, in milliseconds. */
const HEALTHY = 5_000;
/** A page nobody looks at gives its connection back after this long, in milliseconds. */
const HIDDEN = 60_000;

export type StreamState = 'connecting' | 'open' | 'lost' | 'gone' | 'refused';

export interface StreamHandlers {
  /** A connection stands. whole: it goes on exactly where the last one ended. */
  open(whole: boolean): void;
  event(event: StreamEvent): void;
  state(state: StreamState): void;
}

/**
 * Follows a session's stream for as long as it is wanted: over cuts and restarts
 * of the server it goes on after the last numbered event; where that is not
 * possible it says so, and what was missed must be read.
 */
export class SessionStream {
  private last: string | null = null;
  private readonly stop = new AbortController();

  constructor(
    private readonly session: string,
    private readonly on: StreamHandlers,
  ) {}

  start(): void {
    void this.run();
  }

  close(): void {
    this.stop.abort();
  }

  private async run(): Promise<void> {
    const backoff = new Backoff();
    while (!this.stop.signal.aborted) {
      this.on.state('connecting');
      const began = Date.now();
      const end = await this.connection();
      if (this.stop.signal.aborted) return;
      if (end === 'gone' || end === 'refused') {
        this.on.state(end);
        return;
      }
      if (end === 'hidden') {
        await seen(this.stop.signal);
        continue;
      }
      this.on.state('lost');
      if (Date.now() - began > HEALTHY) backoff.reset();
      await pause(backoff.next(), this.stop.signal);
    }
  }

  /** Runs one connection, and says how it ended. */
  private async connection(): Promise<'cut' | 'gone' | 'refused' | 'hidden'> {
    const cut = new AbortController();
    const signal = AbortSignal.any([this.stop.signal, cut.signal]);
    let silence = setTimeout(() => cut.abort(), SILENCE);
    let hidden = false;
    let hiding: ReturnType<typeof setTimeout> | undefined;
    const look = () => {
      clearTimeout(hiding);
      if (document.visibilityState !== 'hidden') return;
      hiding = setTimeout(() => {
        hidden = true;
        cut.abort();
      }, HIDDEN);
    };
    const offline = () => cut.abort();
    document.addEventListener('visibilitychange', look);
    window.addEventListener(CUT, offline);
    look();
    try {
      const headers: Record<string, string> = { ...EXTRAS, Accept: 'text/event-stream' };
      if (this.last !== null) headers['Last-Event-ID'] = this.last;
      const path = `/v1/sessions/${encodeURIComponent(this.session)}/stream`;
      const answer = await fetch(path, { headers, signal, credentials: 'same-origin', cache: 'no-store' });
      if (answer.status === 404) return 'gone';
      if (answer.status === 401 || answer.status === 403) return 'refused';
      if (!answer.ok || !answer.body || !answer.headers.get('Content-Type')?.startsWith('text/event-stream'))
        return 'cut';
      const whole = this.last !== null && !answer.headers.has('X-Outrunner-Resync');
      if (!whole) this.last = answer.headers.get('X-Outrunner-Event-Id');
      this.on.state('open');
      this.on.open(whole);
      const cutter = new EventCutter();
      const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
      for (;;) {
        const { done, value } = await reader.read();
        if (done) return 'cut';
        clearTimeout(silence);
        silence = setTimeout(() => cut.abort(), SILENCE);
        for (const e of cutter.push(value)) {
          if (e.data === '[DONE]') return 'gone';
          if (e.id !== null) this.last = e.id;
          const event = parse(e.data);
          if (event) this.on.event(event);
        }
      }
    } catch {
      return hidden ? 'hidden' : 'cut';
    } finally {
      clearTimeout(silence);
      clearTimeout(hiding);
      document.removeEventListener('visibilitychange', look);
      window.removeEventListener(CUT, offline);
      cut.abort();
    }
  }
}

/** An event that can not be read is left out; the next one may be fine. */
function parse(data: string): StreamEvent | null {
  try {
    const event: unknown = JSON.parse(data);
    return typeof event === 'object' && event !== null && 'type' in event ? (event as StreamEvent) : null;
  } catch {
    return null;
  }
}

function seen(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const look = () => {
      if (document.visibilityState === 'hidden' && !signal.aborted) return;
      document.removeEventListener('visibilitychange', look);
      signal.removeEventListener('abort', look);
      resolve();
    };
    document.addEventListener('visibilitychange', look);
    signal.addEventListener('abort', look);
    look();
  });
}

const CUT = 'outrunner-cut';

/** Drops every connection that may be dead: the server was asked and did not answer. */
export function cutConnections(): void {
  window.dispatchEvent(new Event(CUT));
}

export function onCut(fn: () => void): () => void {
  window.addEventListener(CUT, fn);
  return () => window.removeEventListener(CUT, fn);
}
