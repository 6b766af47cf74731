import { useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import type { LiveSession } from '../state/live';
import { trouble } from '../state/network';
import { follow, go } from '../state/route';
import { runnerOf, titleOf } from '../state/about';
import { complain } from '../state/say';
import { api } from '../wire/api';
import { Confirm } from './Dialog';
import { Icon } from './Icon';
import { runnerName } from './NewSession';
import { State, stateOf } from './State';

/** The head of a session: what it is, how it is, and what can be done with it. */
export function SessionHead({ live, menu }: { live: LiveSession; menu: () => void }) {
  const chat = live.chat.value;
  const s = chat.session;
  const renames = useSignal(false);
  const asks = useSignal(false);
  return (
    <header class="bar session-head">
      <button type="button" class="quiet icon-only menu" aria-label="Sessions" onClick={menu}>
        <Icon name="menu" />
      </button>
      {s?.parent_session_id && (
        <a
          class="button quiet icon-only"
          href={`/c/${s.parent_session_id}`}
          aria-label="To the session that gave the task"
          title="To the session that gave the task"
          data-testid="to-parent"
          onClick={(e) => follow(e, { session: s.parent_session_id })}
        >
          <Icon name="back" />
        </a>
      )}
      <div class="head-text">
        {renames.value ? (
          <Rename live={live} title={titleOf(live) ?? ''} done={() => (renames.value = false)} />
        ) : (
          <h1 data-testid="session-title">
            {titleOf(live) ?? (chat.phase === 'loading' ? 'Loading…' : 'Untitled session')}
          </h1>
        )}
        <p class="head-sub">
          {chat.phase !== 'loading' && <State state={stateOf(chat.status, chat.questions.length)} word />}
          {s && <span data-testid="agent-name">{s.agent_name ?? 'agent'}</span>}
          <RunnerState live={live} />
          {live.stream.value === 'lost' && !trouble.value && (
            <span data-testid="stream-state">reconnecting…</span>
          )}
        </p>
      </div>
      <details class="dropdown">
        <summary class="button quiet icon-only" aria-label="More" data-testid="session-menu">
          <Icon name="more" />
        </summary>
        <div
          class="dropdown-list"
          onClick={(e) => e.currentTarget.closest('details')?.removeAttribute('open')}
        >
          <button type="button" class="quiet" onClick={() => (renames.value = true)}>
            Rename
          </button>
          <button
            type="button"
            class="quiet"
            onClick={() =>
              void api.patch(live.id, { archived: true }).then(() => go({}), complain('Archiving'))
            }
          >
            Archive
          </button>
          <button
            type="button"
            class="quiet bad"
            data-testid="delete-session"
            onClick={() => (asks.value = true)}
          >
            Delete…
          </button>
        </div>
      </details>
      {asks.value && (
        <Confirm
          title="Delete this session?"
          text="The conversation, its sub-agents’ conversations and its terminals are gone then. Files in the workspace stay."
          yes="Delete"
          close={() => (asks.value = false)}
          act={() => void api.remove(live.id).then(() => go({}), complain('Deleting'))}
        />
      )}
    </header>
  );
}

function RunnerState({ live }: { live: LiveSession }) {
  const r = runnerOf(live);
  if (!r?.id) return null;
  const online = r.state === 'online';
  return (
    <span
      class={online ? 'runner' : 'runner off'}
      data-testid="runner-state"
      data-online={String(online)}
      title={`Runner ${r.id}`}
    >
      {online ? `on ${runnerName(r.id)}` : 'runner offline'}
    </span>
  );
}

function Rename({ live, title, done }: { live: LiveSession; title: string; done: () => void }) {
  const input = useRef<HTMLInputElement>(null);
  useEffect(() => input.current?.select(), []);
  const save = async () => {
    const name = input.current?.value.trim() ?? '';
    done();
    if (!name || name === title) return;
    await api
      .patch(live.id, { title: name })
      .then((s) => live.dispatch({ type: 'session', session: s }), complain('Renaming'));
  };
  return (
    <form
      onSubmit={(e) => {
        e.preventDefault();
        void save();
      }}
    >
      <input
        ref={input}
        class="rename"
        aria-label="Title"
        defaultValue={title}
        onBlur={() => void save()}
        onKeyDown={(e) => e.key === 'Escape' && done()}
      />
    </form>
  );
}
