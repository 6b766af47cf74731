import { useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { listed, rows } from '../state/feed';
import { trouble } from '../state/network';
import { follow, route } from '../state/route';
import { sortRows } from '../state/rows';
import { nextTheme, theme } from '../state/settings';
import type { Row } from '../wire/types';
import { Icon } from './Icon';
import { State, stateOf } from './State';
import { ago, exactly } from './time';

/** How often the times in the list are told anew, in milliseconds. */
const TICK = 30_000;

export function Sidebar({ close, help }: { close: () => void; help: () => void }) {
  const search = useSignal('');
  const now = useSignal(Math.floor(Date.now() / 1000));
  useEffect(() => {
    const t = setInterval(() => (now.value = Math.floor(Date.now() / 1000)), TICK);
    return () => clearInterval(t);
  }, [now]);
  const list = sortRows(rows.value, search.value);
  const here = route.value.session;
  return (
    <nav class="sidebar" aria-label="Sessions" onKeyDown={(e) => e.key === 'Escape' && close()}>
      <header class="sidebar-head">
        <a class="brand" href="/" onClick={(e) => follow(e, {})}>
          <img src="/favicon.svg" alt="" width="22" height="22" /> outrunner
        </a>
        <a
          class="button primary small"
          href="/"
          data-testid="new-session"
          title="New session (n)"
          onClick={(e) => follow(e, {})}
        >
          <Icon name="plus" /> New
        </a>
      </header>
      <label class="search">
        <Icon name="search" />
        <input
          type="search"
          placeholder="Search"
          aria-label="Search the sessions"
          data-testid="session-search"
          value={search.value}
          onInput={(e) => (search.value = e.currentTarget.value)}
          onKeyDown={(e) => {
            if (e.key !== 'Escape') return;
            search.value = '';
            e.currentTarget.blur();
          }}
        />
      </label>
      <ul class="sessions" data-testid="session-list">
        {list.map((r) => (
          <SessionRow key={r.id} row={r} here={r.id === here} now={now.value} />
        ))}
        {listed.value && list.length === 0 && (
          <li class="empty">{search.value ? 'No session has these words.' : 'No sessions yet.'}</li>
        )}
        {!listed.value && !trouble.value && <li class="empty">Loading…</li>}
      </ul>
      <footer class="sidebar-foot">
        <button
          type="button"
          class="quiet small"
          onClick={nextTheme}
          data-testid="theme"
          data-theme={theme.value}
        >
          <Icon name={theme.value === 'auto' ? 'auto' : theme.value === 'light' ? 'sun' : 'moon'} />
          {theme.value === 'auto' ? 'As the system' : theme.value === 'light' ? 'Light' : 'Dark'}
        </button>
        <button type="button" class="quiet small" onClick={help} title="Keyboard shortcuts (?)">
          <Icon name="help" /> Keys
        </button>
      </footer>
    </nav>
  );
}

function SessionRow({ row, here, now }: { row: Row; here: boolean; now: number }) {
  const link = useRef<HTMLAnchorElement>(null);
  useEffect(() => {
    if (here) link.current?.scrollIntoView({ block: 'nearest' });
  }, [here]);
  const title = row.title || 'Untitled session';
  return (
    <li>
      <a
        ref={link}
        class="session-row"
        href={`/c/${row.id}`}
        aria-current={here ? 'page' : undefined}
        data-testid="session-row"
        data-session-id={row.id}
        data-state={row.status}
        onClick={(e) => follow(e, { session: row.id })}
      >
        <State state={stateOf(row.status, row.pending_elicitations_count)} />
        <span class="session-title">{title}</span>
        <time class="session-time" title={exactly(row.updated_at)}>
          {ago(row.updated_at, now)}
        </time>
        <span class="session-sub">
          {row.agent_name ?? 'agent'}
          {row.runner_online === false && <span class="offline-word"> · runner offline</span>}
        </span>
      </a>
    </li>
  );
}
