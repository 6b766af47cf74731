type Key = Pick<KeyboardEvent, 'key' | 'shiftKey' | 'ctrlKey' | 'altKey' | 'metaKey'>;

/** What a key sends that xterm.js would send otherwise, or null. */
export function keyBytes(e: Key): string | null {
  if (e.key === 'Enter' && e.shiftKey && !e.ctrlKey && !e.altKey && !e.metaKey) return '\x1b[13;2u';
  if (!e.metaKey || e.ctrlKey || e.altKey || e.shiftKey) return null;
  if (e.key === 'Backspace') return '\x15'; // to the line's begin
  if (e.key === 'ArrowLeft') return '\x01';
  if (e.key === 'ArrowRight') return '\x05';
  return null;
}

/** Keys that phones do not have, and what they send. */
export const extraKeys: readonly [label: string, name: string, bytes: string][] = [
  ['Esc', 'Escape', '\x1b'],
  ['Tab', 'Tab', '\t'],
  ['^C', 'Control C', '\x03'],
  ['^D', 'Control D', '\x04'],
  ['←', 'Left', '\x1b[D'],
  ['↑', 'Up', '\x1b[A'],
  ['↓', 'Down', '\x1b[B'],
  ['→', 'Right', '\x1b[C'],
];
