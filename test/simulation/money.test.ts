/** That the simulation would see money that is wrong: worlds whose venue has other fills than the ledger counts. */
import { beforeAll, describe, expect, it } from 'vitest';
import type { FillRecord } from '../../src/venue/records.ts';
import { Facts } from './facts.ts';
import { findWrongMoney } from './money.ts';
import { type Happened, simulate } from './world.ts';

type Change = (fills: readonly FillRecord[]) => readonly FillRecord[];

const SEEDS = Array.from({ length: 24 }, (_, seed) => seed);

/** Each is simulated once, for all that is asked of it. */
const worlds: Happened[] = [];
beforeAll(async () => {
  for (const seed of SEEDS) worlds.push(await simulate(seed));
});

/** What is wrong once the venue's fills are changed, of each world that has any of ours. */
function findAfter(change: Change): readonly (readonly string[])[] {
  const found: (readonly string[])[] = [];
  for (const happened of worlds) {
    const own = new Set(new Facts(happened).own.map(({ id }) => id));
    if (!happened.books.fills.some(({ order_id: id }) => own.has(id))) continue;
    const books = { ...happened.books, fills: change(happened.books.fills) };
    found.push([...findWrongMoney(new Facts({ ...happened, books }))]);
  }
  return found;
}

describe('the money of a simulated account', () => {
  it('is that of the venue in worlds of which many trade', () => {
    const found = findAfter((fills) => fills);
    expect(found.flat()).toEqual([]);
    expect(found.length).toBeGreaterThan(8);
  });

  it.each<[string, Change, string]>([
    ['another fee', (fills) => fills.map((fill) => ({ ...fill, fee: '9.87' })), 'fees'],
    ['another price', (fills) => fills.map((fill) => ({ ...fill, price: '1' })), 'price'],
    ['each fill twice', (fills) => fills.flatMap((fill) => [fill, { ...fill, id: `${fill.id}-again` }]), 'position'],
  ])('is wrong where the venue has %s', (_what, change, figure) => {
    const found = findAfter(change);
    const seen = found.filter((wrong) => wrong.some((each) => each.includes(figure)));
    expect(seen.length).toBeGreaterThan(found.length / 2);
  });
});
