import { useComputed, useSignal, type ReadonlySignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import type { LiveSession } from '../state/live';
import { follow } from '../state/route';
import { anyRunning, readTree, withLive, type TreeNode } from '../state/tree';
import { api } from '../wire/api';
import { State } from './State';

/** How soon after a change the tree is read again, and how often while something in it runs, in milliseconds. */
const SOON = 400;
const AGAIN = 4_000;

export interface Root {
  id: string;
  title: string;
  children: TreeNode[];
}

/** The agents of a session's whole family, kept fresh. null = not read yet. */
export function useTree(live: LiveSession): ReadonlySignal<Root | null> {
  const read = useSignal<Root | null>(null);
  const chat = live.chat.value;
  const root = chat.session ? (chat.session.root_conversation_id ?? chat.session.id) : null;
  const changes = chat.treeChanges;
  const busy = read.value !== null && anyRunning(read.value.children);
  useEffect(() => {
    if (!root) return;
    let left = false;
    const load = async () => {
      const children = await readTree(root, async (id) => (await api.children(id)).data);
      const title = children.length > 0 ? ((await api.session(root)).title ?? 'Main session') : '';
      if (!left) read.value = { id: root, title, children };
    };
    const tryLoad = () => void load().catch(() => undefined); // the next time
    const soon = setTimeout(tryLoad, read.peek() ? SOON : 0);
    const again = busy ? setInterval(tryLoad, AGAIN) : undefined;
    return () => {
      left = true;
      clearTimeout(soon);
      clearInterval(again);
    };
  }, [root, changes, busy, read]);
  return useComputed(() => {
    const r = read.value;
    return r && { ...r, children: withLive(r.children, live.chat.value.children) };
  });
}

export function Tree({ root, here }: { root: Root; here: string }) {
  return (
    <div class="tree" data-testid="agent-tree">
      <h2>Agents</h2>
      <a
        class="tree-root"
        href={`/c/${root.id}`}
        aria-current={root.id === here ? 'page' : undefined}
        data-testid="tree-root"
        onClick={(e) => follow(e, { session: root.id })}
      >
        {root.title}
      </a>
      <Level nodes={root.children} here={here} />
    </div>
  );
}

function Level({ nodes, here }: { nodes: TreeNode[]; here: string }) {
  return (
    <ul>
      {nodes.map((n) => (
        <li key={n.id}>
          <a
            class="tree-node"
            href={`/c/${n.id}`}
            aria-current={n.id === here ? 'page' : undefined}
            data-testid="tree-node"
            data-session-id={n.id}
            data-state={n.state}
            onClick={(e) => follow(e, { session: n.id })}
          >
            <State state={n.state} />
            <span class="tree-name">{n.name}</span>
            {n.about && <span class="tree-about">{n.about}</span>}
            {n.error ? (
              <span class="tree-error" data-testid="tree-error">
                {n.error}
              </span>
            ) : (
              n.preview && <span class="tree-preview">{n.preview}</span>
            )}
          </a>
          {n.children.length > 0 && <Level nodes={n.children} here={here} />}
        </li>
      ))}
    </ul>
  );
}
