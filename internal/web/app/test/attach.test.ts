import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { Attach, type AttachState } from '../src/terminal/attach';

class FakeSocket {
  static all: FakeSocket[] = [];
  static readonly OPEN = 1;
  readyState = 0;
  binaryType = '';
  sent: (string | Uint8Array)[] = [];
  names: string[] = [];
  onopen: (() => void) | null = null;
  onmessage: ((m: { data: unknown }) => void) | null = null;
  onclose: ((e: { code: number; reason: string }) => void) | null = null;
  constructor(readonly url: string) {
    FakeSocket.all.push(this);
  }
  send(data: string | Uint8Array): void {
    const m = typeof data === 'string' ? (JSON.parse(data) as { type: string; id: string }) : null;
    if (m?.type === 'typist') this.names.push(m.id);
    else this.sent.push(data);
  }
  counts(bytes: number): void {
    this.onmessage?.({ data: JSON.stringify({ type: 'typed', bytes }) });
  }
  close(): void {
    this.readyState = 3;
  }
  opened(): void {
    this.readyState = 1;
    this.onopen?.();
  }
  cut(code: number, reason = ''): void {
    this.readyState = 3;
    this.onclose?.({ code, reason });
  }
}

const last = () => FakeSocket.all.at(-1) as FakeSocket;
const keys = (s: string) => new TextEncoder().encode(s);

beforeEach(() => {
  FakeSocket.all = [];
  vi.useFakeTimers();
  vi.stubGlobal('WebSocket', FakeSocket);
});
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

function dialed(readOnly = false) {
  const states: AttachState[] = [];
  const copied: string[] = [];
  const unsure: number[] = [];
  const sizes: number[][] = [];
  let screens = 0;
  const line = new Attach('ws://here', readOnly, {
    open: () => {
      screens++;
      return { cols: 80, rows: 24 };
    },
    bytes: () => undefined,
    size: (cols, rows) => sizes.push([cols, rows]),
    clipboard: (text) => copied.push(text),
    unsure: (bytes) => unsure.push(bytes),
    state: (s) => states.push(s),
  });
  line.dial();
  return { line, states, copied, unsure, sizes, screens: () => screens };
}

it('tells its size first, and a size only once', () => {
  const { line } = dialed();
  last().opened();
  line.resize(80, 24);
  line.resize(100, 30);
  expect(last().sent).toEqual([
    '{"type":"resize","cols":80,"rows":24}',
    '{"type":"resize","cols":100,"rows":30}',
  ]);
});

it('sends what is typed once, or says that it does not', () => {
  const { line, screens } = dialed();
  expect(line.write(keys('early'))).toBe(false);
  last().opened();
  expect(line.write(keys('a'))).toBe(true);
  const first = last();
  first.cut(1006);
  expect(line.write(keys('lost'))).toBe(false);
  vi.advanceTimersByTime(500);
  expect(FakeSocket.all).toHaveLength(2);
  last().opened();
  expect(last().sent).toHaveLength(1); // its size, and nothing of before
  expect(first.sent).toHaveLength(2);
  expect(screens()).toBe(2);
});

it('cuts a long paste into messages', () => {
  const { line } = dialed();
  last().opened();
  line.write(new Uint8Array(600 << 10));
  const sizes = last()
    .sent.slice(1)
    .map((m) => m.length);
  expect(sizes.reduce((a, b) => a + b)).toBe(600 << 10);
  expect(Math.max(...sizes)).toBeLessThanOrEqual(256 << 10);
});

it('ends with the program, and is not dialed again', () => {
  const { states } = dialed();
  last().opened();
  last().cut(4404, 'terminal session ended');
  vi.advanceTimersByTime(120_000);
  expect(FakeSocket.all).toHaveLength(1);
  expect(states.at(-1)).toEqual({ name: 'closed', reason: 'terminal session ended', ended: true });
});

it('sends no key of one who only watches', () => {
  const { line } = dialed(true);
  last().opened();
  expect(line.write(keys('a'))).toBe(false);
  expect(last().sent).toEqual(['{"type":"resize","cols":80,"rows":24}']);
});

it('copies for who typed just now, and for nobody else', () => {
  const write = { data: JSON.stringify({ type: 'clipboard-write', encoding: 'base64', data: btoa('text') }) };
  const { line, copied } = dialed();
  last().opened();
  last().onmessage?.(write);
  expect(copied).toEqual([]);
  line.write(keys('y'));
  last().onmessage?.(write);
  last().onmessage?.({ data: 'no json' });
  expect(copied).toEqual(['text']);
  vi.advanceTimersByTime(6_000);
  last().onmessage?.(write);
  expect(copied).toEqual(['text']);
});

it('is silent once it is closed', () => {
  const { line, states } = dialed();
  last().opened();
  line.close();
  const told = states.length;
  vi.advanceTimersByTime(120_000);
  expect(FakeSocket.all).toHaveLength(1);
  expect(states).toHaveLength(told);
});

it('takes the size that the terminal has', () => {
  const { sizes } = dialed();
  last().opened();
  for (const data of [
    '{"type":"size","cols":100,"rows":30}',
    '{"type":"size","cols":0,"rows":30}',
    '{"type":"size"}',
    'no json',
  ])
    last().onmessage?.({ data });
  expect(sizes).toEqual([[100, 30]]);
});

it('sends again what did not arrive before a cut, and nothing else', () => {
  const { line, states, unsure } = dialed();
  last().opened();
  const [id] = last().names;
  last().counts(0);
  line.write(keys('ab'));
  last().counts(2);
  line.write(keys('cd'));
  line.write(keys('ef'));
  last().counts(3);
  last().cut(1013);
  vi.advanceTimersByTime(500);
  last().opened();
  expect(last().names).toEqual([id]);
  expect(states.at(-1)).toEqual({ name: 'connecting', again: true });
  expect(line.write(keys('x'))).toBe(false); // it would be typed before the others
  last().counts(5); // of those that were never told of, one arrived
  expect(last().sent.slice(1)).toEqual([keys('f')]);
  expect(states.at(-1)).toEqual({ name: 'connected' });
  expect(line.write(keys('g'))).toBe(true);
  last().counts(7);
  last().cut(1006);
  vi.advanceTimersByTime(1000);
  last().opened();
  last().counts(7);
  expect(last().sent.slice(1)).toEqual([]);
  expect(unsure).toEqual([]);
});

it('says so when nobody knows what arrived', () => {
  const { line, unsure, states } = dialed();
  last().opened();
  last().counts(0);
  line.write(keys('abc'));
  last().cut(1006);
  vi.advanceTimersByTime(500);
  last().opened();
  line.write(keys('no'));
  last().counts(7); // of another life
  expect(last().sent.slice(1)).toEqual([]);
  expect(unsure).toEqual([3]);
  line.write(keys('de'));
  last().cut(1006);
  vi.advanceTimersByTime(1000);
  last().opened();
  vi.advanceTimersByTime(10_000); // it does not count any more
  expect(unsure).toEqual([3, 2]);
  expect(states.at(-1)).toEqual({ name: 'connected' });
  expect(line.write(keys('f'))).toBe(true);
});
