import { signal } from '@preact/signals';
import { api, ApiError } from '../wire/api';
import { Backoff, pause } from '../wire/backoff';
import { onCut } from '../wire/stream';
import type { Row } from '../wire/types';
import { reach } from './network';
import { mergeRows, type Rows } from './rows';

/** How many sessions the list shows. */
const SHOWN = 200;
/** The server beats every 30 s; a socket that is silent for this long is dead, in milliseconds. */
const SILENCE = 75_000;
/** How often the list is read where the server has no feed of it, in milliseconds. */
const POLL = 3_000;
/** How long the feed may take to answer its first message, in milliseconds. */
const PATIENCE = 6_000;
/** After so many feeds that never answered, the list is read instead for a while. */
const GIVE_UP = 2;
const RETRY_FEED = 60_000;

export const rows = signal<Rows>(new Map());
/** Whether the list was read at all. */
export const listed = signal(false);

/** The session on the screen: its row is kept fresh, whether it is in the list or not. */
export const watched = signal<string | null>(null);

/**
 * Keeps the list fresh for as long as the page lives: over the server's feed of
 * changes, or by reading it again and again where there is none.
 */
export async function runFeed(signal: AbortSignal): Promise<void> {
  const backoff = new Backoff();
  let unanswered = 0;
  let polledUntil = 0;
  while (!signal.aborted) {
    try {
      await readList();
      backoff.reset();
      if (unanswered >= GIVE_UP) {
        unanswered = 0;
        polledUntil = Date.now() + RETRY_FEED;
      }
      if (Date.now() < polledUntil) {
        await pause(POLL, signal);
        continue;
      }
      if (await feed(signal)) unanswered = 0;
      else unanswered++;
      if (!signal.aborted) await pause(backoff.next(), signal);
    } catch (e) {
      if (e instanceof ApiError && e.status === 401) return location.reload(); // to the sign-in page
      reach.value = 'lost';
      await pause(backoff.next(), signal);
    }
  }
}

export async function readList(): Promise<void> {
  const list = await api.sessions(SHOWN);
  const next = new Map(list.data.map((r) => [r.id, r]));
  const extra = watched.value;
  const ids = [...next.keys()];
  if (extra && !next.has(extra)) ids.push(extra);
  if (ids.length > 0) {
    const health = await api.healthOf(ids);
    for (const [id, h] of Object.entries(health.sessions ?? {})) {
      const row = next.get(id) ?? rows.value.get(id);
      if (row) next.set(id, { ...row, runner_online: h.runner_online });
      else if (id === extra)
        next.set(id, { id, runner_online: h.runner_online, parent_session_id: '?' } as Row);
    }
  }
  rows.value = next;
  listed.value = true;
  reach.value = 'up';
}

/** Follows the server's feed until it ends, and says whether it ever answered. */
function feed(stop: AbortSignal): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = new WebSocket(`${location.origin.replace(/^http/, 'ws')}/v1/sessions/updates`);
    let answered = false;
    let timer = setTimeout(end, PATIENCE);
    const forgetCut = onCut(end);
    const forgetWatched = watched.subscribe(() => {
      if (socket.readyState === WebSocket.OPEN) watch();
    });
    stop.addEventListener('abort', end);
    function watch() {
      const ids = [...rows.value.keys()];
      if (watched.value && !ids.includes(watched.value)) ids.push(watched.value);
      socket.send(JSON.stringify({ type: 'watch', session_ids: ids.slice(-500) }));
    }
    function end() {
      clearTimeout(timer);
      forgetCut();
      forgetWatched();
      stop.removeEventListener('abort', end);
      socket.onopen = socket.onclose = socket.onerror = socket.onmessage = null;
      socket.close();
      resolve(answered);
    }
    socket.onopen = watch;
    socket.onclose = end;
    socket.onerror = end;
    socket.onmessage = (m) => {
      clearTimeout(timer);
      timer = setTimeout(end, SILENCE);
      answered = true;
      reach.value = 'up';
      try {
        rows.value = mergeRows(rows.value, JSON.parse(String(m.data)) as Parameters<typeof mergeRows>[1]);
      } catch {
        // a message that is none
      }
    };
  });
}
