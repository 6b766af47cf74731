import type { Item, Session, TerminalResource } from '../wire/types';
import type { Action } from './actions';
import type { Chat, Outgoing } from './chat';
import { onEvent } from './events';
import { prepend } from './items';
import { withList, withoutRunning, withTerminal } from './terminals';

/** The one place where a chat changes: what was, and what happened, give what is. */
export function reduce(chat: Chat, action: Action): Chat {
  switch (action.type) {
    case 'connected': // unfinished text is told again, or stored by now
      return { ...chat, drafts: [], thought: '', notice: null };
    case 'loaded':
      return loaded(chat, action);
    case 'older':
      return { ...chat, items: prepend(chat.items, action.items), hasOlder: action.hasOlder };
    case 'session':
      return { ...chat, session: action.session };
    case 'event':
      return onEvent(chat, action.event);
    case 'phase':
      return { ...chat, phase: action.phase };
    case 'send': {
      const m: Outgoing = {
        stableId: action.stableId,
        text: action.text,
        at: action.at,
        state: 'sending',
        itemId: null,
        problem: null,
      };
      return { ...chat, outbox: [...chat.outbox.filter((o) => o.stableId !== action.stableId), m] };
    }
    case 'accepted':
      if (action.itemId !== null && chat.items.some((i) => i.id === action.itemId))
        return without(chat, action.stableId);
      return outgoing(chat, action.stableId, { state: 'accepted', itemId: action.itemId, problem: null });
    case 'refused':
      return outgoing(chat, action.stableId, { state: 'refused', problem: action.problem });
    case 'discard':
      return without(chat, action.stableId);
    case 'interrupting':
      return { ...chat, interrupting: true };
    case 'answered':
      return { ...chat, questions: chat.questions.filter((q) => q.elicitation_id !== action.question) };
    case 'terminal':
      return { ...chat, terminals: withTerminal(chat.terminals, action.resource) };
    case 'terminalEnded':
      return { ...chat, terminals: withoutRunning(chat.terminals, action.id) };
    case 'terminalGone':
      return { ...chat, terminals: chat.terminals.filter((t) => t.id !== action.id) };
  }
}

function loaded(
  chat: Chat,
  a: { session: Session; items: Item[]; hasOlder: boolean; terminals: TerminalResource[] | null },
): Chat {
  const s = a.session;
  const known = new Set(a.items.map((i) => i.id));
  return {
    ...chat,
    phase: 'ready',
    session: s,
    status: s.status,
    error: s.last_task_error,
    items: a.items,
    hasOlder: a.hasOlder,
    waiting: new Set((s.pending_inputs ?? []).map((p) => p.item_id ?? p.pending_id.replace(/^pending_/, ''))),
    outbox: chat.outbox.filter((o) => o.itemId === null || !known.has(o.itemId)),
    questions: s.pending_elicitations ?? [],
    response: s.active_response_id ?? null,
    interrupting: false,
    terminals: a.terminals ? withList(chat.terminals, a.terminals) : chat.terminals,
    treeChanges: chat.treeChanges + 1,
  };
}

function outgoing(chat: Chat, stableId: string, change: Partial<Outgoing>): Chat {
  return { ...chat, outbox: chat.outbox.map((o) => (o.stableId === stableId ? { ...o, ...change } : o)) };
}

function without(chat: Chat, stableId: string): Chat {
  return { ...chat, outbox: chat.outbox.filter((o) => o.stableId !== stableId) };
}
