import { expect, it } from 'vitest';
import { troubleOf } from '../src/state/network';
import { readRoute, writeRoute } from '../src/state/route';
import { mergeRows, sortRows } from '../src/state/rows';
import { withList, withoutRunning, withTerminal } from '../src/state/terminals';
import { anyRunning, readTree, withLive } from '../src/state/tree';
import type { Child, Row } from '../src/wire/types';

const row = (id: string, change: Partial<Row> = {}): Row => ({
  id,
  agent_id: 'a',
  status: 'idle',
  created_at: 1,
  updated_at: 1,
  title: id,
  ...change,
});

it('keeps the list as the feed tells it', () => {
  let rows = mergeRows(new Map(), { type: 'snapshot', items: [row('a'), row('b', { updated_at: 5 })] });
  rows = mergeRows(rows, { type: 'changed', items: [row('a', { status: 'running', updated_at: 9 })] });
  expect(sortRows(rows, '').map((r) => [r.id, r.status])).toEqual([
    ['a', 'running'],
    ['b', 'idle'],
  ]);
  rows = mergeRows(rows, { type: 'removed', ids: ['a'] });
  expect(sortRows(rows, '').map((r) => r.id)).toEqual(['b']);
  expect(mergeRows(rows, { type: 'heartbeat' })).toBe(rows);
});

it('lists neither sub-agents nor what was put away, and finds words', () => {
  const rows = new Map(
    [
      row('Red apple'),
      row('kid', { parent_session_id: 'a' }),
      row('old', { archived: true }),
      row('pear'),
    ].map((r) => [r.id, r]),
  );
  expect(sortRows(rows, '').map((r) => r.id)).toEqual(['Red apple', 'pear']);
  expect(sortRows(rows, 'apple red').map((r) => r.id)).toEqual(['Red apple']);
});

it('tells apart what is not reached', () => {
  expect(troubleOf('lost', false)).toBe('browser-offline');
  expect(troubleOf('lost', true)).toBe('server-lost');
  expect(troubleOf('up', false)).toBeNull();
});

it('finds its way back by its address', () => {
  for (const r of [
    { session: null, tab: 'chat' },
    { session: 'a/b', tab: 'chat' },
    { session: 's', tab: 'terminal_bash_s1' },
  ]) {
    const [path, hash] = writeRoute(r).split('#');
    expect(readRoute(path ?? '', hash ? `#${hash}` : '')).toEqual(r);
  }
});

it('keeps ended terminals to be looked at', () => {
  const bash = { id: 't', type: 'terminal', name: 'bash:s1' };
  let list = withTerminal([], bash);
  expect(list).toEqual([{ id: 't', label: 'bash · s1', ended: false }]);
  list = withoutRunning(list, 't');
  expect(list[0]?.ended).toBe(true);
  expect(withList(list, [{ ...bash, id: 'u' }]).map((t) => [t.id, t.ended])).toEqual([
    ['t', true],
    ['u', false],
  ]);
  const ours = (id: string) => ({ id, type: 'terminal', name: `bash:u-${id}` });
  const counted = withList(withTerminal([], ours('x')), [ours('y'), ours('x')]);
  expect(counted.map((t) => [t.id, t.label])).toEqual([
    ['x', 'bash'],
    ['y', 'bash 2'],
  ]);
});

it('reads the agents below a session, and what happens to them', async () => {
  const child = (id: string, change: Partial<Child> = {}): Child => ({
    id,
    title: id,
    tool: null,
    session_name: null,
    current_task_status: 'in_progress',
    busy: true,
    last_task_error: null,
    last_message_preview: null,
    ...change,
  });
  const kids: Record<string, Child[]> = { root: [child('a')], a: [child('b')], b: [], loop: [child('loop')] };
  const tree = await readTree('root', async (id) => kids[id] ?? []);
  expect(tree).toMatchObject([{ id: 'a', state: 'running', children: [{ id: 'b' }] }]);
  expect(anyRunning(tree)).toBe(true);
  const error = { code: 'x', message: 'broke' };
  const done = withLive(tree, [
    child('a', { busy: false, current_task_status: 'completed' }),
    child('b', { busy: false, current_task_status: 'failed', last_task_error: error }),
  ]);
  expect(done).toMatchObject([{ state: 'done', children: [{ state: 'failed', error: 'broke' }] }]);
  expect((await readTree('loop', async (id) => kids[id] ?? [])).length).toBe(1); // ends
});
