import { api, ApiError } from '../wire/api';
import { Backoff, pause } from '../wire/backoff';
import type { LiveSession } from './live';
import { reach } from './network';

/** An id that the server knows a message by, however often it is sent. */
export function stableId(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (b) => b.toString(16).padStart(2, '0')).join(
    '',
  );
}

/**
 * Sends a message until the server has it or refuses it. The stable id makes
 * a message that was sent twice one message.
 */
export async function send(live: LiveSession, text: string, id = stableId()): Promise<void> {
  live.dispatch({ type: 'send', stableId: id, text, at: Math.floor(Date.now() / 1000) });
  const backoff = new Backoff();
  const never = new AbortController();
  for (;;) {
    try {
      const ack = await api.post(live.id, {
        type: 'message',
        data: { role: 'user', content: [{ type: 'input_text', text }], stable_id: id },
      });
      if (ack.denied) {
        live.dispatch({
          type: 'refused',
          stableId: id,
          problem: ack.reason ?? 'A policy does not allow it.',
        });
        return;
      }
      live.dispatch({ type: 'accepted', stableId: id, itemId: ack.item_id ?? null });
      return;
    } catch (e) {
      if (!(e instanceof ApiError) || !e.passing) {
        live.dispatch({ type: 'refused', stableId: id, problem: e instanceof Error ? e.message : String(e) });
        return;
      }
      if (e.status === 0) reach.value = 'lost';
    }
    if (!live.chat.peek().outbox.some((o) => o.stableId === id)) return; // the user took it back
    await pause(backoff.next(), never.signal);
  }
}
