import type { Child, Item, Question, Session, Status, TaskError } from '../wire/types';

/** One terminal of a session. An ended one is only kept to be looked at. */
export interface Terminal {
  id: string;
  label: string;
  ended: boolean;
}

/** Text that is not stored yet, put together from its pieces. */
export interface Draft {
  message: string; // '' = text without a message id
  text: string;
  index: number | null; // of the last piece
  broken: boolean; // a piece is missing: the stored item will have all of it
}

/** A message of this page that the server may not have yet. */
export interface Outgoing {
  stableId: string;
  text: string;
  at: number;
  state: 'sending' | 'accepted' | 'refused';
  itemId: string | null;
  problem: string | null;
}

/** What the pages know of one session. */
export interface Chat {
  id: string;
  phase: 'loading' | 'ready' | 'gone' | 'refused';
  session: Session | null;
  status: Status;
  error: TaskError | null;
  items: readonly Item[];
  hasOlder: boolean;
  /** Stored messages that no runner has accepted yet, by item id. */
  waiting: ReadonlySet<string>;
  outbox: readonly Outgoing[];
  drafts: readonly Draft[];
  /** What the model thinks at the moment. */
  thought: string;
  /** Output of calls that still run, by call id. */
  outputs: Readonly<Record<string, string>>;
  response: string | null;
  interrupting: boolean;
  /** What is tried again, or otherwise happens without an item. */
  notice: string | null;
  questions: readonly Question[];
  children: readonly Child[];
  terminals: readonly Terminal[];
  terminalPending: boolean;
  /** Counts what may have changed the tree below. */
  treeChanges: number;
}

export function newChat(id: string): Chat {
  return {
    id,
    phase: 'loading',
    session: null,
    status: 'idle',
    error: null,
    items: [],
    hasOlder: false,
    waiting: new Set(),
    outbox: [],
    drafts: [],
    thought: '',
    outputs: {},
    response: null,
    interrupting: false,
    notice: null,
    questions: [],
    children: [],
    terminals: [],
    terminalPending: false,
    treeChanges: 0,
  };
}

/** Whether a turn runs. */
export function working(chat: Pick<Chat, 'status'>): boolean {
  return chat.status === 'running' || chat.status === 'launching';
}
