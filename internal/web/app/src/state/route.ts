import { signal } from '@preact/signals';

/** Where the user is: no session means the page of a new one. */
export interface Route {
  session: string | null;
  /** 'chat', 'agents', or a terminal's id. */
  tab: string;
  /** Shortcuts led here: the next key may be one, too. */
  byKey?: boolean;
}

export function readRoute(path: string, hash: string): Route {
  const session = /^\/c\/([^/]+)\/?$/.exec(path)?.[1] ?? null;
  return {
    session: session && decodeURIComponent(session),
    tab: decodeURIComponent(hash.replace(/^#/, '')) || 'chat',
  };
}

export function writeRoute(r: Route): string {
  if (r.session === null) return '/';
  return `/c/${encodeURIComponent(r.session)}${r.tab === 'chat' ? '' : `#${encodeURIComponent(r.tab)}`}`;
}

export const route = signal<Route>(readRoute(location.pathname, location.hash));

export function go(to: Partial<Route>, replace = false): void {
  const next = { session: null, tab: 'chat', ...to };
  const path = writeRoute(next);
  if (path !== location.pathname + location.hash)
    history[replace ? 'replaceState' : 'pushState'](null, '', path);
  route.value = next;
}

export function watchRoute(): void {
  const read = () => (route.value = readRoute(location.pathname, location.hash));
  window.addEventListener('popstate', read);
  window.addEventListener('hashchange', read);
}

/** A link within the pages: a plain click stays in them. */
export function follow(e: MouseEvent, to: Partial<Route>): void {
  if (e.defaultPrevented || e.button !== 0 || e.metaKey || e.ctrlKey || e.shiftKey || e.altKey) return;
  e.preventDefault();
  go(to);
}
