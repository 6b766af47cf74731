import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import type { Terminal } from '../state/chat';
import type { LiveSession } from '../state/live';
import { go } from '../state/route';
import { complain } from '../state/say';
import { count } from '../state/tree';
import { api, ApiError } from '../wire/api';
import { Confirm } from './Dialog';
import { Icon } from './Icon';
import type { Root } from './Tree';

interface Props {
  live: LiveSession;
  shown: string;
  terminals: readonly Terminal[];
  family: Root | null;
}

/** Chat, agents and terminals of a session. Arrows go from one to the next. */
export function Tabs({ live, shown, terminals, family }: Props) {
  const closing = useSignal<Terminal | null>(null);
  const show = (tab: string) => go({ session: live.id, tab }, true);
  const onKey = (e: KeyboardEvent) => {
    const by = e.key === 'ArrowRight' ? 1 : e.key === 'ArrowLeft' ? -1 : 0;
    if (!by) return;
    const tabs = [...(e.currentTarget as HTMLElement).querySelectorAll<HTMLElement>('[role=tab]')];
    const next = tabs[(tabs.indexOf(document.activeElement as HTMLElement) + by + tabs.length) % tabs.length];
    next?.focus();
    next?.click();
  };
  const close = async (t: Terminal) => {
    if (shown === t.id) show('chat');
    if (t.ended) return live.dispatch({ type: 'terminalGone', id: t.id });
    try {
      await api.closeTerminal(live.id, t.id);
    } catch (e) {
      if (!(e instanceof ApiError && e.status === 404)) return complain('Closing the terminal')(e);
    }
    live.dispatch({ type: 'terminalGone', id: t.id });
  };
  return (
    <div class="tabs">
      <div role="tablist" aria-label="Parts of the session" onKeyDown={onKey}>
        <TabButton id="chat" shown={shown} show={show}>
          <Icon name="chat" /> Chat
        </TabButton>
        {family && (
          <span class="agents-tab">
            <TabButton id="agents" shown={shown} show={show}>
              <Icon name="tree" /> Agents {count(family.children)}
            </TabButton>
          </span>
        )}
        {terminals.map((t) => (
          <span key={t.id} class={t.ended ? 'tab-with-close ended' : 'tab-with-close'}>
            <TabButton id={t.id} shown={shown} show={show}>
              <Icon name="terminal" /> {t.label}
            </TabButton>
            <button
              type="button"
              class="quiet icon-only tab-close"
              aria-label={`Close ${t.label}`}
              data-testid="close-terminal"
              data-terminal-id={t.id}
              onClick={() => (t.ended ? void close(t) : (closing.value = t))}
            >
              <Icon name="close" />
            </button>
          </span>
        ))}
      </div>
      <AddTerminal live={live} show={show} />
      {closing.value && (
        <Confirm
          title={`Close ${closing.value.label}?`}
          text="The program in it is ended."
          yes="Close"
          close={() => (closing.value = null)}
          act={() => closing.value && void close(closing.value)}
        />
      )}
    </div>
  );
}

function TabButton(props: {
  id: string;
  shown: string;
  show: (id: string) => void;
  children: preact.ComponentChildren;
}) {
  const on = props.shown === props.id;
  return (
    <button
      type="button"
      role="tab"
      class="tab"
      aria-selected={on}
      tabIndex={on ? 0 : -1}
      data-testid="tab"
      data-tab={props.id}
      onClick={() => props.show(props.id)}
    >
      {props.children}
    </button>
  );
}

/** Opens one more of the terminals that the agent declares. */
function AddTerminal({ live, show }: { live: LiveSession; show: (tab: string) => void }) {
  const names = useSignal<string[]>([]);
  const busy = useSignal(false);
  const agent = live.chat.value.session?.agent_id;
  useEffect(() => {
    if (!agent) return;
    let left = false;
    api.agentOf(live.id).then(
      (a) => {
        if (!left) names.value = (a.terminals ?? []).map((t) => (typeof t === 'string' ? t : t.name));
      },
      () => undefined, // without its agent a session has none to offer
    );
    return () => {
      left = true;
    };
  }, [agent, live, names]);
  const open = async (name: string) => {
    if (busy.value) return;
    busy.value = true;
    try {
      const made = await api.openTerminal(live.id, name, `u-${key()}`);
      live.dispatch({ type: 'terminal', resource: made });
      show(made.id);
    } catch (e) {
      complain('Opening a terminal')(e);
    } finally {
      busy.value = false;
    }
  };
  const [first] = names.value;
  if (!first) return null;
  if (names.value.length === 1) {
    return (
      <button
        type="button"
        class="quiet small add-terminal"
        data-testid="add-terminal"
        disabled={busy.value}
        onClick={() => void open(first)}
      >
        <Icon name="plus" /> Terminal
      </button>
    );
  }
  return (
    <details class="dropdown add-terminal">
      <summary class="button quiet small" data-testid="add-terminal">
        <Icon name="plus" /> Terminal
      </summary>
      <div class="dropdown-list" onClick={(e) => e.currentTarget.closest('details')?.removeAttribute('open')}>
        {names.value.map((name) => (
          <button
            key={name}
            type="button"
            class="quiet"
            data-testid="add-terminal-name"
            onClick={() => void open(name)}
          >
            {name}
          </button>
        ))}
      </div>
    </details>
  );
}

/** Six letters that no other terminal of the session has, most likely. */
function key(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(6)), (b) => (b % 36).toString(36)).join('');
}
