import { rows } from './feed';
import type { LiveSession } from './live';

/** The machine that answers a session: none yet, or one that is there or away. */
export interface RunnerState {
  id: string | null;
  state: 'none' | 'online' | 'offline';
}

/** The list knows first: a session may get its runner while it is looked at. */
export function runnerOf(live: LiveSession): RunnerState | null {
  const s = live.chat.value.session;
  if (!s) return null;
  const row = rows.value.get(live.id);
  const id = row?.runner_id ?? s.runner_id;
  if (!id) return { id: null, state: 'none' };
  return { id, state: (row?.runner_online ?? s.runner_online) === false ? 'offline' : 'online' };
}

/** What a session is called: its first message names it, and the list knows first. */
export function titleOf(live: LiveSession): string | null {
  return live.chat.value.session?.title || rows.value.get(live.id)?.title || null;
}
