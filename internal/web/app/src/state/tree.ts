import type { Child } from '../wire/types';

/** A session among its agents. */
export interface TreeNode {
  id: string;
  name: string;
  /** What the session is about, when the name does not say it. */
  about: string | null;
  state: 'running' | 'done' | 'failed' | 'asks' | 'unknown';
  error: string | null;
  preview: string | null;
  children: TreeNode[];
}

/** More levels, or more sessions, than this are not shown. */
export const MAX_DEPTH = 5;
export const MAX_NODES = 300;

export function nodeOf(c: Child, children: TreeNode[]): TreeNode {
  return {
    id: c.id,
    name: c.session_name || c.title || c.tool || 'sub-agent',
    about: c.tool && c.session_name ? c.tool : null,
    state: stateOfChild(c),
    error: c.last_task_error?.message ?? null,
    preview: c.last_message_preview,
    children,
  };
}

function stateOfChild(c: Child): TreeNode['state'] {
  if (c.pending_elicitations_count) return 'asks';
  if (c.busy || c.current_task_status === 'in_progress') return 'running';
  if (c.current_task_status === 'failed' || c.last_task_error) return 'failed';
  return c.current_task_status === 'completed' ? 'done' : 'unknown';
}

/** Reads all that is below a session, level by level. */
export async function readTree(id: string, read: (id: string) => Promise<Child[]>): Promise<TreeNode[]> {
  let left = MAX_NODES;
  const below = async (of: string, depth: number): Promise<TreeNode[]> => {
    if (depth > MAX_DEPTH || left <= 0) return [];
    const kids = (await read(of)).slice(0, left);
    left -= kids.length;
    return Promise.all(kids.map(async (k) => nodeOf(k, await below(k.id, depth + 1))));
  };
  return below(id, 1);
}

export function anyRunning(nodes: TreeNode[]): boolean {
  return nodes.some((n) => n.state === 'running' || anyRunning(n.children));
}

export function count(nodes: TreeNode[]): number {
  return nodes.reduce((sum, n) => sum + 1 + count(n.children), 0);
}

/** Brings a child's live state into a tree that was read before. */
export function withLive(nodes: TreeNode[], live: readonly Child[]): TreeNode[] {
  return nodes.map((n) => {
    const c = live.find((l) => l.id === n.id);
    const children = withLive(n.children, live);
    return c ? nodeOf(c, children) : { ...n, children };
  });
}
