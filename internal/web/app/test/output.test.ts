import { expect, it } from 'vitest';
import { keyBytes } from '../src/terminal/keys';
import { plainText } from '../src/view/ansi';
import { gist, pretty } from '../src/view/CallCard';
import { cut } from '../src/view/Output';
import { ago } from '../src/view/time';

it('takes out what only a terminal understands', () => {
  expect(plainText('\x1b[1;31mred\x1b[0m \x1b]0;title\x07x\r\n')).toBe('red x\n');
  expect(plainText('10%\r50%\r100%\ndone\n')).toBe('100%\ndone\n');
});

it('shows the end of long output first, and all of it when asked', () => {
  const text = Array.from({ length: 1000 }, (_, n) => `${n}\n`).join('');
  const { shown, hidden } = cut(text, false);
  expect(shown.split('\n').length - 1 + hidden).toBe(1000);
  expect(shown.endsWith('999\n')).toBe(true);
  expect(hidden).toBeGreaterThan(500);
  expect(cut(text, true)).toEqual({ shown: text, hidden: 0 });
  expect(cut('x'.repeat(100_000), false).shown.length).toBe(64_000);
  expect(cut('a\nb\n', false)).toEqual({ shown: 'a\nb\n', hidden: 0 });
});

it('says what a call is about', () => {
  expect(gist('{"n":1,"path":"a  b"}')).toBe('a b');
  expect(gist('not json')).toBe('not json');
  expect(pretty('{}')).toBe('');
  expect(pretty('{"a":1}')).toBe('{\n  "a": 1\n}');
});

it('sends for some keys what xterm.js does not', () => {
  const key = (key: string, change = {}) =>
    keyBytes({ key, shiftKey: false, ctrlKey: false, altKey: false, metaKey: false, ...change });
  expect(key('Enter')).toBeNull();
  expect(key('Enter', { shiftKey: true })).toBe('\x1b[13;2u');
  expect(key('Backspace', { metaKey: true })).toBe('\x15');
  expect(key('a')).toBeNull();
});

it('tells times in few letters', () => {
  expect([ago(100, 100), ago(0, 120), ago(0, 7200), ago(0, 3 * 86400)]).toEqual([
    'now',
    '2 min',
    '2 h',
    '3 d',
  ]);
});
