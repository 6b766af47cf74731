import { expect, it } from 'vitest';
import { reduce } from '../src/state/reduce';
import { transcript } from '../src/state/transcript';
import { delta, item, loaded, play, said } from './make';

const text = (chat: Parameters<typeof transcript>[0]) =>
  transcript(chat)
    .map((e) => (e.kind === 'text' ? e.text : `(${e.kind})`))
    .join('|');

it('puts pieces together and replaces them by what was stored', () => {
  let chat = play(loaded(), delta('m:0', 0, 'Hel'), delta('m:0', 1, 'lo'));
  expect(text(chat)).toBe('Hello');
  chat = play(chat, item(said('i1', 'Hello.', 'r', 'm:0')));
  expect(text(chat)).toBe('Hello.');
  expect(chat.drafts).toEqual([]);
});

it('shows a piece once, however often it comes', () => {
  expect(text(play(loaded(), delta('m', 0, 'a'), delta('m', 0, 'a'), delta('m', 1, 'b')))).toBe('ab');
});

it('shows nothing after a missing piece, until the stored item comes', () => {
  let chat = play(loaded(), delta('m', 0, 'a'), delta('m', 2, 'c'), delta('m', 3, 'd'));
  expect(text(chat)).toBe('a');
  expect(chat.drafts[0]?.broken).toBe(true);
  chat = play(chat, item(said('i', 'abcd', 'r', 'm')));
  expect(text(chat)).toBe('abcd');
});

it('begins in the middle of a text: what was there comes under its last number', () => {
  expect(text(play(loaded(), delta('m', 7, 'all that was'), delta('m', 8, ' and more')))).toBe(
    'all that was and more',
  );
});

it('forgets what is unfinished when the connection is another', () => {
  const chat = reduce(play(loaded(), delta('m', 0, 'a')), { type: 'connected' });
  expect(chat.drafts).toEqual([]);
});
