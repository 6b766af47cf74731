import type { Item, Session, StreamEvent, TerminalResource } from '../wire/types';

/** All that changes what the pages know of a session. */
export type Action =
  | { type: 'connected' }
  | {
      type: 'loaded';
      session: Session;
      items: Item[];
      hasOlder: boolean;
      terminals: TerminalResource[] | null;
    }
  | { type: 'older'; items: Item[]; hasOlder: boolean }
  | { type: 'session'; session: Session }
  | { type: 'event'; event: StreamEvent }
  | { type: 'phase'; phase: 'gone' | 'refused' }
  | { type: 'send'; stableId: string; text: string; at: number }
  | { type: 'accepted'; stableId: string; itemId: string | null }
  | { type: 'refused'; stableId: string; problem: string }
  | { type: 'discard'; stableId: string }
  | { type: 'interrupting' }
  | { type: 'answered'; question: string }
  | { type: 'terminal'; resource: TerminalResource }
  | { type: 'terminalEnded'; id: string }
  | { type: 'terminalGone'; id: string };
