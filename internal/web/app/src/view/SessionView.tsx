import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import type { LiveSession } from '../state/live';
import { follow, route } from '../state/route';
import { titleOf } from '../state/about';
import { Chat } from './Chat';
import { SessionHead } from './SessionHead';
import { Tabs } from './Tabs';
import { Tree, useTree } from './Tree';
import { Terminals } from '../terminal/Terminals';

/** One session: its conversation, its agents and its terminals. */
export function SessionView({ live, menu }: { live: LiveSession; menu: () => void }) {
  const chat = live.chat.value;
  const tab = route.value.tab;
  const tree = useTree(live);
  const opened = useSignal<ReadonlySet<string>>(new Set());
  const title = titleOf(live) ?? 'Untitled session';
  useEffect(() => {
    document.title = `${title} · outrunner`;
  }, [title]);
  useEffect(() => {
    if (tab !== 'chat' && tab !== 'agents') opened.value = new Set([...opened.peek(), tab]);
  }, [tab, opened]);

  if (chat.phase === 'gone' || chat.phase === 'refused') {
    return (
      <div class="gone" data-testid="session-gone">
        <h1>
          {chat.phase === 'gone'
            ? 'This session does not exist (any more).'
            : 'The server does not let you see this session.'}
        </h1>
        <p>
          <a href="/" onClick={(e) => follow(e, {})}>
            Begin a new one
          </a>{' '}
          or choose another from the list.
        </p>
        <button type="button" class="menu" onClick={menu}>
          Show the list
        </button>
      </div>
    );
  }
  const family = tree.value && tree.value.children.length > 0 ? tree.value : null;
  const terminals = chat.terminals.filter((t) => !t.ended || opened.value.has(t.id));
  const known = tab === 'chat' || (tab === 'agents' && family) || terminals.some((t) => t.id === tab);
  const shown = known || chat.phase === 'loading' ? tab : 'chat';
  return (
    <div
      class={family ? 'session with-tree' : 'session'}
      data-testid="session"
      data-session-id={live.id}
      data-phase={chat.phase}
    >
      <SessionHead live={live} menu={menu} />
      <Tabs live={live} shown={shown} terminals={terminals} family={family} />
      <div class="session-body">
        <Chat live={live} hidden={shown !== 'chat'} />
        <Terminals live={live} shown={shown} terminals={terminals} opened={opened.value} />
        {family && (
          <aside
            class={shown === 'agents' ? 'tree-panel shown' : 'tree-panel'}
            aria-label="Agents of this session"
          >
            <Tree root={family} here={live.id} />
          </aside>
        )}
      </div>
    </div>
  );
}
