import { signal } from '@preact/signals';
import { api, ApiError } from '../wire/api';
import { Backoff, pause } from '../wire/backoff';
import { SessionStream, type StreamState } from '../wire/stream';
import type { TerminalResource } from '../wire/types';
import type { Action } from './actions';
import { newChat, type Chat } from './chat';
import { reduce } from './reduce';

/** How many items are read at a time. */
const PAGE = 100;
/** How long events are gathered while nobody looks, in milliseconds. */
const UNSEEN = 200;

/**
 * A session on the screen: its chat, kept true by the session's stream. What
 * happens between the reading of the items and the stream cannot be lost: the
 * stream is opened first, and what it brings waits until the items are there.
 */
export class LiveSession {
  readonly chat;
  readonly stream = signal<StreamState>('connecting');
  private readonly stop = new AbortController();
  private readonly source: SessionStream;
  private queue: Action[] = [];
  private held = true;
  private loading = 0;
  private unschedule: (() => void) | null = null;

  constructor(readonly id: string) {
    this.chat = signal<Chat>(newChat(id));
    this.source = new SessionStream(id, {
      open: (whole) => this.opened(whole),
      event: (event) => this.later({ type: 'event', event }),
      state: (state) => {
        this.stream.value = state;
        if (state === 'gone' || state === 'refused') this.dispatch({ type: 'phase', phase: state });
      },
    });
  }

  start(): void {
    this.source.start();
  }

  close(): void {
    this.stop.abort();
    this.source.close();
    this.unschedule?.();
  }

  /** Does an action now, after all that came before it. */
  dispatch(action: Action): void {
    this.flush();
    this.chat.value = reduce(this.chat.value, action);
  }

  async readOlder(): Promise<void> {
    const first = this.chat.value.items[0];
    if (!first || !this.chat.value.hasOlder) return;
    const list = await api.items(this.id, PAGE, first.id);
    this.dispatch({ type: 'older', items: list.data.reverse(), hasOlder: list.has_more });
  }

  private opened(whole: boolean): void {
    this.dispatch({ type: 'connected' });
    if (whole && !this.held) return;
    if (whole && this.loading > 0) return; // what is being read is new enough
    this.held = true;
    this.queue = [];
    void this.load(++this.loading);
  }

  private async load(turn: number): Promise<void> {
    const backoff = new Backoff();
    while (!this.stop.signal.aborted && turn === this.loading) {
      try {
        const [session, list, terminals] = await Promise.all([
          api.session(this.id),
          api.items(this.id, PAGE),
          api.terminals(this.id).then(
            (l) => l.data as TerminalResource[] | null,
            () => null,
          ),
        ]);
        if (turn !== this.loading || this.stop.signal.aborted) return;
        this.chat.value = reduce(this.chat.value, {
          type: 'loaded',
          session,
          items: list.data.reverse(),
          hasOlder: list.has_more,
          terminals,
        });
        this.held = false;
        this.loading = 0;
        this.flush();
        return;
      } catch (e) {
        if (e instanceof ApiError && e.status === 404) return this.dispatch({ type: 'phase', phase: 'gone' });
        await pause(backoff.next(), this.stop.signal);
      }
    }
  }

  /** Does an action with the next picture: text may come faster than it can be drawn. */
  private later(action: Action): void {
    this.queue.push(action);
    if (this.held || this.unschedule) return;
    if (document.hidden) {
      const t = setTimeout(() => this.flush(), UNSEEN);
      this.unschedule = () => clearTimeout(t);
    } else {
      const f = requestAnimationFrame(() => this.flush());
      this.unschedule = () => cancelAnimationFrame(f);
    }
  }

  private flush(): void {
    this.unschedule?.();
    this.unschedule = null;
    if (this.held || this.queue.length === 0) return;
    const queue = this.queue;
    this.queue = [];
    this.chat.value = queue.reduce(reduce, this.chat.value);
  }
}
