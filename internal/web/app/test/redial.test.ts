import { expect, it } from 'vitest';
import { Redial } from '../src/terminal/redial';

it('comes back after cuts that pass, later and later, and not for ever', () => {
  const r = new Redial();
  const delays = [];
  for (let v = r.closed(1006, '', 0); v.again; v = r.closed(1006, '', 0)) delays.push(v.delay);
  expect(delays).toEqual([500, 1000, 2000, 4000, 8000, 15000, ...Array<number>(9).fill(30000)]);
});

it('has all its tries again after a connection that lasted', () => {
  const r = new Redial();
  for (let n = 0; n < 20; n++) expect(r.closed(1012, '', 30_000)).toEqual({ again: true, delay: 500 });
});

it('takes these codes for cuts, and all others for an end', () => {
  for (const code of [1001, 1005, 1006, 1011, 1012, 1013, 1014])
    expect(new Redial().closed(code, '', 0).again).toBe(true);
  for (const code of [1000, 1008, 4404, 4405, 4500])
    expect(new Redial().closed(code, 'why', 0)).toEqual({ again: false, reason: 'why' });
});

it('dials once more, at once, when another replica has the terminal', () => {
  const r = new Redial();
  expect(r.closed(4400, '', 0)).toEqual({ again: true, delay: 0 });
  expect(r.closed(4400, '', 0).again).toBe(false);
});
