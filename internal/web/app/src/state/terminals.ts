import type { TerminalResource } from '../wire/types';
import type { Terminal } from './chat';

export function isTerminal(r: TerminalResource | undefined): r is TerminalResource {
  return r?.type === 'terminal';
}

function asTerminal(r: TerminalResource): Terminal {
  const name = r.metadata?.terminal_name ?? r.name?.split(':')[0] ?? r.id;
  const key = r.metadata?.session_key ?? r.name?.split(':')[1];
  return { id: r.id, label: key ? `${name} · ${key}` : name, ended: r.metadata?.running === false };
}

export function withTerminal(list: readonly Terminal[], r: TerminalResource): readonly Terminal[] {
  const t = asTerminal(r);
  return list.some((have) => have.id === t.id)
    ? list.map((have) => (have.id === t.id ? t : have))
    : [...list, t];
}

/** What runs now; what was open and does not run any more has ended. */
export function withList(list: readonly Terminal[], now: TerminalResource[]): readonly Terminal[] {
  const running = now.filter(isTerminal).map(asTerminal);
  const ids = new Set(running.map((t) => t.id));
  return [...list.filter((t) => !ids.has(t.id)).map((t) => ({ ...t, ended: true })), ...running];
}

export function withoutRunning(list: readonly Terminal[], id: string): readonly Terminal[] {
  return list.map((t) => (t.id === id ? { ...t, ended: true } : t));
}
