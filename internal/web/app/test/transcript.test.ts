import { expect, it } from 'vitest';
import { reduce } from '../src/state/reduce';
import { unfinished } from '../src/state/texts';
import { transcript } from '../src/state/transcript';
import { asked, item, loaded, play, said } from './make';

const kinds = (...items: Parameters<typeof loaded>[0] & object) =>
  transcript(loaded(items)).map((e) => ('text' in e ? `${e.kind}: ${e.text}` : e.kind));

it('makes one text of the pieces of one response', () => {
  expect(kinds(said('1', 'a\n'), said('2', 'b\n'))).toEqual(['text: a\nb\n']);
  expect(kinds(said('1', 'a'), said('2', 'b'))).toEqual(['text: a\n\nb']);
  expect(kinds(said('1', 'a\n', 'r1'), said('2', 'b\n', 'r2'))).toEqual(['text: a\n', 'text: b\n']);
});

it('does not cut a table or a fence where somebody spoke meanwhile', () => {
  expect(kinds(said('1', '| a |\n| - |\n'), asked('u', 'hm'), said('2', '| b |\n'))).toEqual([
    'text: | a |\n| - |\n| b |\n',
    'user: hm',
  ]);
  expect(kinds(said('1', 'all.\n\n'), asked('u', 'hm'), said('2', 'Next.\n'))).toEqual([
    'text: all.\n\n',
    'user: hm',
    'text: Next.\n',
  ]);
  expect(unfinished('```\ncode\n\n', '\nmore\n```\n')).toBe(true);
  expect(unfinished('```\ncode\n```\n\n', 'text')).toBe(false);
  expect(unfinished('a whole text', 'text')).toBe(false);
});

it('shows a call with its result, and one without as what it is', () => {
  const call = {
    id: 'c',
    type: 'function_call',
    call_id: 'k',
    name: 'ls',
    arguments: '{}',
    response_id: 'r',
  };
  const output = { id: 'o', type: 'function_call_output', call_id: 'k', output: 'a b' };
  expect(transcript(loaded([call, output]))).toMatchObject([{ kind: 'call', state: 'done', output: 'a b' }]);
  expect(transcript(loaded([call]))).toMatchObject([{ kind: 'call', state: 'open', output: null }]);
  const running = loaded([call], { status: 'running', active_response_id: 'r' });
  expect(transcript(running)).toMatchObject([{ state: 'running' }]);
});

it('shows at the end what no runner has yet', () => {
  const chat = loaded([asked('u1', 'one'), asked('u2', 'two'), said('a', 'answer')], {
    pending_inputs: [{ pending_id: 'pending_u2', item_id: 'u2' }],
  });
  expect(transcript(chat)).toMatchObject([
    { text: 'one', waits: false },
    { text: 'answer' },
    { text: 'two', waits: true },
  ]);
  const taken = play(chat, { type: 'session.input.consumed', data: { item_id: 'u2' } });
  expect(transcript(taken).at(-1)).toMatchObject({ text: 'two', waits: false });
});

it('shows a message once, from sending to answer', () => {
  let chat = loaded();
  chat = reduce(chat, { type: 'send', stableId: 'x', text: 'hi', at: 1 });
  expect(transcript(chat)).toMatchObject([{ kind: 'outgoing', message: { state: 'sending' } }]);
  chat = reduce(chat, { type: 'accepted', stableId: 'x', itemId: 'u' });
  expect(transcript(chat)).toMatchObject([{ kind: 'outgoing', message: { state: 'accepted' } }]);
  chat = play(chat, {
    type: 'session.input.consumed',
    data: { item_id: 'u', type: 'message', data: asked('u', 'hi') },
  });
  expect(transcript(chat)).toMatchObject([{ kind: 'user', text: 'hi', waits: false }]);
  // The other order: the event overtakes the answer.
  let early = reduce(loaded(), { type: 'send', stableId: 'x', text: 'hi', at: 1 });
  early = play(early, item(asked('u', 'hi')));
  early = reduce(early, { type: 'accepted', stableId: 'x', itemId: 'u' });
  expect(transcript(early)).toHaveLength(1);
});

it('tells the runner’s own messages from the user’s', () => {
  expect(kinds(asked('u', '[System: a result waits]'))).toEqual(['note: The runner wrote to the agent']);
  expect(kinds(asked('u', '[System: interrupted]\nStop.'))).toEqual(['note: The turn was interrupted']);
  expect(kinds(asked('u', 'not [System: this]'))).toEqual(['user: not [System: this]']);
});
