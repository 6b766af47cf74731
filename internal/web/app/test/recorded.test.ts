import { describe, expect, it } from 'vitest';
import { transcript } from '../src/state/transcript';
import type { Item } from '../src/wire/types';
import failedTurn from './data/failed-turn.txt?raw';
import storedItems from './data/items.json';
import oneTurn from './data/one-turn.txt?raw';
import { eventsOf, loaded, play } from './make';

describe('a recorded turn', () => {
  const events = eventsOf(oneTurn);
  const stored = storedItems.data as Item[];

  it('is the same as what was stored of it', () => {
    const chat = play(loaded(), ...events);
    const texts = (items: readonly Item[]) => items.map((i) => `${i.type} ${i.call_id ?? i.id}`).sort();
    expect(texts(chat.items)).toEqual(texts(stored));
    expect(chat).toMatchObject({ status: 'idle', drafts: [], thought: '', response: null });
    expect(chat.terminals).toMatchObject([{ id: 'terminal_bash_s1', ended: false }]);
  });

  it('may be told twice', () => {
    const once = play(loaded(), ...events);
    expect(play(once, ...events).items).toEqual(once.items);
  });

  it('may begin when its items were read already', () => {
    const chat = play(loaded(stored), ...events);
    expect(chat.items.map((i) => i.type)).toEqual(stored.map((i) => i.type));
  });

  it('shows text, thought and call while it runs', () => {
    const until = (type: string, nth = 1) => {
      let seen = 0;
      const end = events.findIndex((e) => e.type === type && ++seen === nth);
      return transcript(play(loaded(), ...events.slice(0, end + 1)));
    };
    expect(until('session.input.consumed')).toMatchObject([{ kind: 'user', text: 'hi there', waits: false }]);
    expect(until('response.reasoning_text.delta').at(-1)).toMatchObject({ kind: 'thought', live: true });
    expect(until('response.output_text.delta').at(-1)).toMatchObject({ kind: 'text', live: true });
    expect(until('response.output_item.done').find((e) => e.kind === 'call')).toMatchObject({
      name: 'shell',
      state: 'running',
    });
    expect(until('response.completed').find((e) => e.kind === 'call')).toMatchObject({
      state: 'done',
      output: 'a.txt',
    });
  });
});

describe('a recorded turn that failed', () => {
  it('keeps its error', () => {
    const chat = play(loaded(), ...eventsOf(failedTurn));
    expect(chat.status).toBe('failed');
    expect(chat.error?.message).toContain('/login');
  });
});
