import type { Row } from '../wire/types';

export type Rows = ReadonlyMap<string, Row>;

export interface FeedMessage {
  type: string;
  items?: Row[];
  ids?: string[];
}

/** What a message of the feed makes of the list. */
export function mergeRows(rows: Rows, m: FeedMessage): Rows {
  if (m.type === 'removed') {
    const next = new Map(rows);
    for (const id of m.ids ?? []) next.delete(id);
    return next;
  }
  if ((m.type !== 'snapshot' && m.type !== 'changed') || !m.items?.length) return rows;
  const next = new Map(rows);
  for (const r of m.items) next.set(r.id, r);
  return next;
}

/** The list as it is shown: the newest activity first; sub-agents are in their parent. */
export function sortRows(rows: Rows, search: string): Row[] {
  const words = search.toLowerCase().split(/\s+/).filter(Boolean);
  return [...rows.values()]
    .filter((r) => !r.parent_session_id && !r.archived)
    .filter((r) => {
      const text = `${r.title ?? ''} ${r.agent_name ?? ''}`.toLowerCase();
      return words.every((w) => text.includes(w));
    })
    .sort((a, b) => b.updated_at - a.updated_at || b.created_at - a.created_at);
}
