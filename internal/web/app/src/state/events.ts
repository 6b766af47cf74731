import type {
  Child,
  Item,
  Question,
  Session,
  Status,
  StreamEvent,
  TaskError,
  TerminalResource,
} from '../wire/types';
import { working, type Chat } from './chat';
import { addPiece, settle } from './drafts';
import { upsert } from './items';
import { isTerminal, withoutRunning, withTerminal } from './terminals';

/** The end of a running call's output that is shown, in characters. */
const MAX_OUTPUT = 64 << 10;

/** What an event of the session's stream changes. Unknown ones change nothing. */
export function onEvent(chat: Chat, e: StreamEvent): Chat {
  const handler = handlers[e.type];
  return handler ? handler(chat, e) : chat;
}

type Handler = (chat: Chat, e: StreamEvent) => Chat;

const handlers: Record<string, Handler | undefined> = {
  'session.status': onStatus,
  'session.title': (c, e) => onSession(c, { title: text(e.title) }),
  'session.agent_changed': (c, e) =>
    onSession(c, { agent_id: text(e.agent_id), agent_name: text(e.agent_name) }),
  'session.input.consumed': onConsumed,
  'session.interrupted': (c) => ({ ...c, interrupting: working(c) }),
  'session.child_session.updated': onChild,
  'session.created': (c) => ({ ...c, treeChanges: c.treeChanges + 1 }),
  'session.resource.created': (c, e) => {
    const r = e.resource as TerminalResource | undefined;
    return isTerminal(r) ? { ...c, terminals: withTerminal(c.terminals, r), terminalPending: false } : c;
  },
  'session.resource.deleted': (c, e) => ({
    ...c,
    terminals: withoutRunning(c.terminals, text(e.resource_id)),
  }),
  'session.terminal_pending': (c, e) => ({ ...c, terminalPending: e.pending === true }),
  'response.created': onBegin,
  'response.in_progress': onBegin,
  'response.output_text.delta': (c, e) => ({
    ...c,
    notice: null,
    drafts: addPiece(
      c.drafts,
      text(e.message_id),
      typeof e.index === 'number' ? e.index : null,
      text(e.delta),
    ),
  }),
  'response.reasoning.started': (c) => ({ ...c, thought: '' }),
  'response.reasoning_text.delta': onThought,
  'response.reasoning_summary_text.delta': onThought,
  'response.function_call_output.delta': (c, e) => {
    const id = text(e.call_id);
    return {
      ...c,
      outputs: { ...c.outputs, [id]: ((c.outputs[id] ?? '') + text(e.delta)).slice(-MAX_OUTPUT) },
    };
  },
  'response.output_item.done': onItem,
  'response.completed': onEnd,
  'response.failed': onEnd,
  'response.cancelled': onEnd,
  'response.incomplete': onEnd,
  'response.retry': (c, e) => {
    const why = (e.error as TaskError | undefined)?.message ?? '';
    return {
      ...c,
      notice: `Trying again (${String(e.attempt)} of ${String(e.max_attempts)})${why ? `: ${why}` : ''}`,
    };
  },
  'response.compaction.in_progress': (c) => ({ ...c, notice: 'The conversation is being shortened…' }),
  'response.compaction.completed': (c) => ({ ...c, notice: null }),
  'response.compaction.failed': (c) => ({ ...c, notice: null }),
  'response.elicitation_request': (c, e) => {
    const q = e as unknown as Question;
    return {
      ...c,
      questions: [...c.questions.filter((have) => have.elicitation_id !== q.elicitation_id), q],
    };
  },
  'response.elicitation_resolved': (c, e) => ({
    ...c,
    questions: c.questions.filter((q) => q.elicitation_id !== e.elicitation_id),
  }),
};

const text = (v: unknown): string => (typeof v === 'string' ? v : '');

function onSession(chat: Chat, change: Partial<Session>): Chat {
  return chat.session ? { ...chat, session: { ...chat.session, ...change } } : chat;
}

function onStatus(chat: Chat, e: StreamEvent): Chat {
  const status = text(e.status) as Status;
  const next = {
    ...chat,
    status,
    error: (e.error as TaskError | null) ?? (status === 'failed' ? chat.error : null),
  };
  return working(next) ? next : { ...next, ...rest };
}

/** Nothing of a turn is left to be shown live once it is over. */
const rest = { interrupting: false, thought: '', notice: null, outputs: {}, response: null };

function onBegin(chat: Chat, e: StreamEvent): Chat {
  const response = text((e.response as { id?: string } | undefined)?.id) || null;
  return response === chat.response ? chat : { ...chat, response, thought: '', notice: null };
}

function onEnd(chat: Chat): Chat {
  return { ...chat, ...rest, drafts: [], items: chat.items.map(left) };
}

/** A call that the end of its turn left without a result does not run any more. */
function left(i: Item): Item {
  return i.type === 'function_call' && i.status === 'in_progress' ? { ...i, status: 'incomplete' } : i;
}

function onThought(chat: Chat, e: StreamEvent): Chat {
  return { ...chat, thought: chat.thought + text(e.delta) };
}

/** A runner has a message: it is part of the conversation now. */
function onConsumed(chat: Chat, e: StreamEvent): Chat {
  const data = e.data as
    | { item_id?: string; type?: string; data?: Record<string, unknown>; cleared_pending_id?: string }
    | undefined;
  if (!data?.item_id) return chat;
  const id = data.item_id;
  const item = { ...(data.data ?? {}), id, type: data.type ?? 'message' } as Item;
  const waiting = new Set(chat.waiting);
  waiting.delete(id);
  const old = chat.items.find((i) => i.id === id);
  return {
    ...chat,
    waiting,
    items: old ? moveToEnd(chat, old) : [...chat.items, item],
    outbox: chat.outbox.filter((o) => o.itemId !== id),
  };
}

/** What waited was stored long ago, and is answered only now. */
function moveToEnd(chat: Chat, item: Item): readonly Item[] {
  return chat.waiting.has(item.id) ? [...chat.items.filter((i) => i.id !== item.id), item] : chat.items;
}

function onItem(chat: Chat, e: StreamEvent): Chat {
  const item = e.item as Item | undefined;
  if (!item?.id || !item.type) return chat;
  return {
    ...chat,
    items: upsert(chat.items, item),
    drafts: settle(chat.drafts, item),
    outputs: item.type === 'function_call_output' ? without(chat.outputs, item.call_id) : chat.outputs,
    notice: null,
    thought: item.type === 'reasoning' || item.type === 'message' ? '' : chat.thought,
  };
}

function without(outputs: Chat['outputs'], call: string | undefined): Chat['outputs'] {
  return Object.fromEntries(Object.entries(outputs).filter(([id]) => id !== call));
}

function onChild(chat: Chat, e: StreamEvent): Chat {
  const child = e.child as Child | undefined;
  if (!child?.id) return chat;
  const known = chat.children.some((c) => c.id === child.id);
  return {
    ...chat,
    children: known ? chat.children.map((c) => (c.id === child.id ? child : c)) : [...chat.children, child],
    treeChanges: chat.treeChanges + 1,
  };
}
