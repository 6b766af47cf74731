import { expect, it } from 'vitest';
import { EventCutter } from '../src/wire/sse';
import oneTurn from './data/one-turn.txt?raw';

it('cuts a stream the same wherever its pieces end', () => {
  const text = oneTurn.replace(/\n/g, '\r\n');
  const whole = new EventCutter().push(text);
  expect(whole.length).toBeGreaterThan(15);
  for (const size of [1, 2, 3, 7, 1000]) {
    const cutter = new EventCutter();
    const out = [];
    for (let at = 0; at < text.length; at += size) out.push(...cutter.push(text.slice(at, at + size)));
    expect(out).toEqual(whole);
  }
});

it('reads numbers, comments and data of several lines', () => {
  expect(new EventCutter().push(': beat\n\nid: 7\nevent: x\ndata: a\ndata: b\n\n')).toEqual([
    { type: 'x', id: '7', data: 'a\nb' },
  ]);
});

it('gives up an event that never ends', () => {
  const cutter = new EventCutter();
  expect(() => {
    for (let n = 0; n < 40; n++) cutter.push(`data: ${'x'.repeat(1 << 20)}\n`);
  }).toThrow('too long');
});
