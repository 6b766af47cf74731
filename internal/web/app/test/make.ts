import { newChat, type Chat } from '../src/state/chat';
import { reduce } from '../src/state/reduce';
import { EventCutter } from '../src/wire/sse';
import type { Item, Session, StreamEvent } from '../src/wire/types';

export function eventsOf(text: string): StreamEvent[] {
  return new EventCutter().push(text).map((e) => JSON.parse(e.data) as StreamEvent);
}

export function session(change: Partial<Session> = {}): Session {
  return {
    id: 's',
    agent_id: 'a',
    agent_name: 'agent',
    status: 'idle',
    title: null,
    runner_id: null,
    runner_online: null,
    harness: null,
    parent_session_id: null,
    last_task_error: null,
    ...change,
  };
}

export function loaded(items: Item[] = [], change: Partial<Session> = {}): Chat {
  return reduce(newChat('s'), {
    type: 'loaded',
    session: session(change),
    items,
    hasOlder: false,
    terminals: null,
  });
}

export function play(chat: Chat, ...events: StreamEvent[]): Chat {
  return events.reduce((c, event) => reduce(c, { type: 'event', event }), chat);
}

export const said = (id: string, text: string, response = 'r', message?: string): Item => ({
  id,
  type: 'message',
  role: 'assistant',
  response_id: response,
  stream_message_id: message ?? null,
  content: [{ type: 'output_text', text }],
});

export const asked = (id: string, text: string): Item => ({
  id,
  type: 'message',
  role: 'user',
  content: [{ type: 'input_text', text }],
});

export const delta = (message_id: string, index: number, piece: string): StreamEvent => ({
  type: 'response.output_text.delta',
  message_id,
  index,
  delta: piece,
});

export const item = (i: Item): StreamEvent => ({ type: 'response.output_item.done', item: i });
