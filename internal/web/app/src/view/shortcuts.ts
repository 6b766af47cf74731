import { useEffect } from 'preact/hooks';
import { current } from '../state/current';
import { rows } from '../state/feed';
import { go, route } from '../state/route';
import { sortRows } from '../state/rows';
import { interrupt } from './interrupt';

/** Every shortcut, as the help shows it. */
export const shortcuts: readonly [keys: string, does: string][] = [
  ['?', 'Show this list'],
  ['n', 'New session'],
  ['j / k', 'Next / previous session'],
  ['/', 'Write a message'],
  ['s', 'Search the sessions'],
  ['1 … 9', 'Chat, then terminals in their order'],
  ['Enter', 'Send the message; Shift+Enter begins a line'],
  ['Ctrl+.', 'Interrupt the running turn'],
  ['Shift+F6', 'Leave the terminal (all other keys are the program’s)'],
  ['Shift+Enter', 'In a terminal: a new line, in programs that know it'],
  ['Ctrl+Shift+C / V', 'In a terminal: copy / paste'],
  ['Esc', 'Close what is open'],
];

interface Actions {
  help(): void;
  list(): void;
}

export function useShortcuts(actions: Actions): void {
  useEffect(() => {
    const onKey = (e: KeyboardEvent) => {
      if (e.defaultPrevented || e.isComposing || document.querySelector('dialog[open]')) return;
      if (e.key === '.' && (e.ctrlKey || e.metaKey)) {
        if (current.value && !inTerminal(e)) {
          e.preventDefault();
          void interrupt(current.value);
        }
        return;
      }
      if (e.ctrlKey || e.metaKey || e.altKey || typing(e)) return;
      if (press(e.key, actions)) e.preventDefault();
    };
    document.addEventListener('keydown', onKey);
    return () => document.removeEventListener('keydown', onKey);
  }, [actions]);
}

function typing(e: KeyboardEvent): boolean {
  const t = e.target as HTMLElement | null;
  return !!t && (t.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(t.tagName));
}

function inTerminal(e: KeyboardEvent): boolean {
  return (e.target as HTMLElement | null)?.closest('.terminal-host') != null;
}

function press(key: string, actions: Actions): boolean {
  if (key === '?') actions.help();
  else if (key === 'n') go({});
  else if (key === 'j' || key === 'k') step(key === 'j' ? 1 : -1);
  else if (key === '/') focus('composer');
  else if (key === 's') {
    actions.list();
    focus('session-search');
  } else if (/^[1-9]$/.test(key)) return tab(Number(key) - 1);
  else return false;
  return true;
}

function step(by: number): void {
  const list = sortRows(rows.value, '');
  const at = list.findIndex((r) => r.id === route.value.session);
  const next = list[at < 0 ? 0 : Math.min(list.length - 1, Math.max(0, at + by))];
  if (next) go({ session: next.id, byKey: true });
}

function tab(n: number): boolean {
  const tabs = document.querySelectorAll<HTMLElement>('[role=tab]');
  tabs[n]?.click();
  return n < tabs.length;
}

function focus(testid: string): void {
  document.querySelector<HTMLElement>(`[data-testid=${testid}]`)?.focus();
}
