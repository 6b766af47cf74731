import type { TerminalResource } from '../wire/types';
import type { Terminal } from './chat';

export function isTerminal(r: TerminalResource | undefined): r is TerminalResource {
  return r?.type === 'terminal';
}

/** Terminals that these pages open have keys that say nothing to people: they are counted instead. */
const OURS = /^u-/;

function asTerminal(r: TerminalResource, beside: readonly Terminal[]): Terminal {
  const name = r.metadata?.terminal_name ?? r.name?.split(':')[0] ?? r.id;
  const key = r.metadata?.session_key ?? r.name?.split(':')[1];
  const ended = r.metadata?.running === false;
  if (key && !OURS.test(key)) return { id: r.id, label: `${name} · ${key}`, ended };
  const taken = new Set(beside.map((t) => t.label));
  let label = name;
  for (let n = 2; taken.has(label); n++) label = `${name} ${n}`;
  return { id: r.id, label, ended };
}

export function withTerminal(list: readonly Terminal[], r: TerminalResource): readonly Terminal[] {
  const have = list.find((t) => t.id === r.id);
  const t = asTerminal(r, list);
  return have ? list.map((h) => (h === have ? { ...t, label: have.label } : h)) : [...list, t];
}

/** What runs now; what was open and does not run any more has ended. */
export function withList(list: readonly Terminal[], now: TerminalResource[]): readonly Terminal[] {
  const running = now.filter(isTerminal);
  const ids = new Set(running.map((r) => r.id));
  return running.reduce(
    withTerminal,
    list.map((t) => (ids.has(t.id) ? t : { ...t, ended: true })),
  );
}

export function withoutRunning(list: readonly Terminal[], id: string): readonly Terminal[] {
  return list.map((t) => (t.id === id ? { ...t, ended: true } : t));
}
