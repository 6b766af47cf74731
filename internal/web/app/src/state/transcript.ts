import type { Item } from '../wire/types';
import { working, type Chat, type Outgoing } from './chat';
import { filesOf, textOf } from './items';
import { Texts } from './texts';

/** What the page shows of a conversation, top to bottom. */
export type Entry =
  | { kind: 'user'; key: string; text: string; files: string[]; waits: boolean; at: number | undefined }
  | { kind: 'outgoing'; key: string; message: Outgoing }
  | { kind: 'text'; key: string; text: string; live: boolean; broken: boolean; at: number | undefined }
  | {
      kind: 'call';
      key: string;
      name: string;
      args: string;
      output: string | null;
      state: 'running' | 'done' | 'open';
    }
  | { kind: 'thought'; key: string; text: string; live: boolean }
  | { kind: 'error'; key: string; error: ErrorText }
  | { kind: 'note'; key: string; text: string; more: string | null };

export interface ErrorText {
  code: string;
  title: string | null;
  message: string;
  cause: string | null;
  remediation: string | null;
  info: boolean;
}

/** Derives the entries. Pieces of one text become one entry again. */
export function transcript(chat: Chat): Entry[] {
  const out: Entry[] = [];
  const outputs = new Map<string, Item>();
  const calls = new Set<string>();
  for (const i of chat.items) {
    if (i.type === 'function_call_output' && i.call_id) outputs.set(i.call_id, i);
    if (i.type === 'function_call' && i.call_id) calls.add(i.call_id);
  }
  const texts = new Texts(out);
  for (const i of chat.items) {
    if (i.type === 'message' && i.role !== 'user') {
      texts.add(i.id, textOf(i), i.response_id ?? '', i.created_at);
      continue;
    }
    if (i.type === 'function_call_output' && calls.has(i.call_id ?? '')) continue;
    if (chat.waiting.has(i.id)) continue; // below
    const e = entryOf(i, chat, outputs);
    if (!e) continue;
    out.push(e);
    if (e.kind !== 'user' && e.kind !== 'note') texts.cut();
  }
  if (chat.thought) {
    out.push({ kind: 'thought', key: 'thought', text: chat.thought, live: chat.drafts.length === 0 });
    texts.cut();
  }
  for (const d of chat.drafts) {
    const last = texts.add(`draft ${d.message}`, d.text, chat.response ?? '', undefined);
    if (last) {
      last.live = true;
      last.broken = d.broken;
    }
  }
  for (const i of chat.items) {
    if (chat.waiting.has(i.id)) out.push(userEntry(i, true));
  }
  for (const message of chat.outbox) out.push({ kind: 'outgoing', key: message.stableId, message });
  return out;
}

function userEntry(i: Item, waits: boolean): Entry {
  return { kind: 'user', key: i.id, text: textOf(i), files: filesOf(i), waits, at: i.created_at };
}

/** What a runner writes to an agent by itself is told apart from the user's words by its form alone. */
function systemNote(i: Item): Entry | null {
  const [, text, more] = /^\[System: ([^\]]+)\](?:\n([^]*))?$/.exec(textOf(i)) ?? [];
  if (!text) return null;
  if (text === 'interrupted')
    return { kind: 'note', key: i.id, text: 'The turn was interrupted', more: more ?? null };
  return {
    kind: 'note',
    key: i.id,
    text: 'The runner wrote to the agent',
    more: more ? `${text}\n${more}` : text,
  };
}

function entryOf(i: Item, chat: Chat, outputs: Map<string, Item>): Entry | null {
  switch (i.type) {
    case 'message':
      if (i.is_meta) return { kind: 'note', key: i.id, text: 'A message of the system', more: textOf(i) };
      return systemNote(i) ?? userEntry(i, false);
    case 'function_call': {
      const output = outputs.get(i.call_id ?? '');
      const live = chat.outputs[i.call_id ?? ''];
      const runs =
        !output &&
        working(chat) &&
        (i.status === 'in_progress' || (i.response_id !== undefined && i.response_id === chat.response));
      return {
        kind: 'call',
        key: i.id,
        name: i.name ?? 'tool',
        args: i.arguments ?? '',
        output: output ? (output.output ?? '') : (live ?? null),
        state: output ? 'done' : runs || live !== undefined ? 'running' : 'open',
      };
    }
    case 'function_call_output':
      return { kind: 'call', key: i.id, name: 'tool', args: '', output: i.output ?? '', state: 'done' };
    case 'reasoning': {
      const text = thoughtOf(i);
      return text ? { kind: 'thought', key: i.id, text, live: false } : null;
    }
    case 'error':
      return { kind: 'error', key: i.id, error: errorOf(i) };
    case 'resource_event':
      return noteOf(i);
    case 'compaction':
      return {
        kind: 'note',
        key: i.id,
        text: 'The conversation before this was shortened',
        more: typeof i.summary === 'string' ? i.summary : null,
      };
    case 'slash_command':
      return {
        kind: 'note',
        key: i.id,
        text: `/${i.name ?? ''} ${i.arguments ?? ''}`,
        more: i.output ?? null,
      };
    default:
      return null;
  }
}

function thoughtOf(i: Item): string {
  const blocks = [
    ...(Array.isArray(i.summary) ? i.summary : []),
    ...(Array.isArray(i.content) ? i.content : []),
  ];
  return blocks
    .map((b) => (typeof b === 'string' ? b : ((b as { text?: string } | null)?.text ?? '')))
    .join('\n\n')
    .trim();
}

export function errorOf(e: {
  code?: string;
  message?: string;
  title?: string | null;
  cause?: string | null;
  remediation?: string | null;
  level?: string | null;
}): ErrorText {
  return {
    code: e.code ?? 'error',
    title: e.title ?? null,
    message: e.message ?? 'Something failed, and no reason was given.',
    cause: e.cause ?? null,
    remediation: e.remediation ?? null,
    info: e.level === 'info',
  };
}

function noteOf(i: Item): Entry | null {
  const r = (i.resource ?? {}) as {
    title?: string;
    name?: string;
    status?: string;
    metadata?: { filename?: string };
  };
  const what = r.title ?? r.name ?? r.metadata?.filename ?? i.resource_id ?? '';
  const note = (text: string): Entry => ({ kind: 'note', key: i.id, text, more: null });
  switch (i.event_type) {
    case 'session.subagent.delegated':
      return note(`${what || 'A sub-agent'} was given a task`);
    case 'session.subagent.returned':
      return note(
        `${what || 'A sub-agent'} ${r.status === 'failed' ? 'failed' : r.status === 'cancelled' ? 'was stopped' : 'is done'}`,
      );
    case 'session.resource.created':
      return note(i.resource_type === 'file' ? `File ${what} was added` : `Terminal ${what} was opened`);
    case 'session.resource.deleted':
      return note(i.resource_type === 'file' ? `File ${what} was removed` : `Terminal ${what} has ended`);
    default:
      return null;
  }
}
