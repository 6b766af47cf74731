import type { Item } from '../wire/types';

/**
 * Whether two items are one thing. Stored items have their id; a call that is
 * still running, and one that another server publishes under its runner's id,
 * are known by their call id.
 */
export function same(a: Item, b: Item): boolean {
  if (a.id === b.id) return true;
  if (a.type !== b.type) return false;
  if (a.type === 'function_call' || a.type === 'function_call_output')
    return !!a.call_id && a.call_id === b.call_id;
  return !!a.stream_message_id && a.stream_message_id === b.stream_message_id;
}

/** Puts an item where it belongs: in the place of what it was, or at the end. */
export function upsert(items: readonly Item[], item: Item): readonly Item[] {
  for (let i = items.length - 1; i >= 0; i--) {
    const have = items[i] as Item;
    if (!same(have, item)) continue;
    if (have.type === 'function_call' && have.status === 'completed' && item.status === 'in_progress')
      return items;
    const next = items.slice();
    next[i] = item;
    return next;
  }
  return [...items, item];
}

/** Puts older items before those that are there. */
export function prepend(items: readonly Item[], older: Item[]): readonly Item[] {
  const have = new Set(items.map((i) => i.id));
  return [...older.filter((i) => !have.has(i.id)), ...items];
}

/** The text of a message: that of its blocks, a line each. */
export function textOf(item: Item): string {
  if (typeof item.content === 'string') return item.content;
  return (item.content ?? [])
    .map((b) => b.text ?? '')
    .filter((t) => t !== '')
    .join('\n');
}

/** The names of what is attached to a message. */
export function filesOf(item: Item): string[] {
  if (!Array.isArray(item.content)) return [];
  return item.content
    .filter((b) => b.type === 'input_file' || b.type === 'input_image')
    .map((b) => b.filename ?? 'image');
}
