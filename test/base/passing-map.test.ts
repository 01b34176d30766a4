/** A map whose entries come and go holds what a Map holds. */
import { expect, it } from 'vitest';
import { PassingMap } from '../../src/base/passing-map.ts';
import { Draws } from '../simulation/draws.ts';

it('holds what a Map holds, in the same sequence, whatever comes and goes', () => {
  const draws = new Draws(7, 'passing map');
  const passing = new PassingMap<number, number>();
  const plain = new Map<number, number>();
  for (let turn = 0; turn < 5000; turn += 1) {
    const key = draws.within(0, turn % 500 < 250 ? 40 : 4);
    if (draws.chance(0.5)) {
      passing.set(key, turn);
      plain.set(key, turn);
    } else {
      passing.delete(key);
      plain.delete(key);
    }
    expect([passing.size, passing.get(key), passing.has(key)]).toEqual([plain.size, plain.get(key), plain.has(key)]);
    expect([...passing]).toEqual([...plain]);
    expect([...passing.values()]).toEqual([...plain.values()]);
  }
});
