import { working } from '../state/chat';
import type { LiveSession } from '../state/live';
import { complain } from '../state/say';
import { api } from '../wire/api';

/** Asks the runner to end the running turn. */
export async function interrupt(live: LiveSession): Promise<void> {
  if (!working(live.chat.peek()) && live.chat.peek().status !== 'waiting') return;
  live.dispatch({ type: 'interrupting' });
  await api.post(live.id, { type: 'interrupt' }).catch(complain('Interrupting'));
}
