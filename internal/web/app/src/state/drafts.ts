import type { Item } from '../wire/types';
import type { Draft } from './chat';

/** More unfinished text than this is not shown before it is stored, in characters. */
const MAX = 1 << 20;

/**
 * Adds a piece. The first piece of a message may be all that there was when the
 * stream began, under the index of its last piece. When a later one is missing,
 * nothing more is added: what is shown stays right, and the stored item brings
 * the rest.
 */
export function addPiece(
  drafts: readonly Draft[],
  message: string,
  index: number | null,
  piece: string,
): readonly Draft[] {
  const at = drafts.findIndex((d) => d.message === message);
  if (at < 0) return [...drafts, { message, text: piece, index, broken: false }];
  const old = drafts[at] as Draft;
  if (old.broken) return drafts;
  const next = { ...old };
  if (index !== null && old.index !== null) {
    if (index <= old.index) return drafts; // it was there already
    if (index !== old.index + 1) next.broken = true;
  }
  if (!next.broken) {
    next.text = old.text + piece;
    next.index = index;
    next.broken = next.text.length > MAX;
  }
  return drafts.map((d, i) => (i === at ? next : d));
}

/** Takes away the text that a stored message has now. */
export function settle(drafts: readonly Draft[], item: Item): readonly Draft[] {
  if (item.type !== 'message' || item.role === 'user' || drafts.length === 0) return drafts;
  const message = item.stream_message_id ?? '';
  return drafts.filter((d) => d.message !== message);
}
