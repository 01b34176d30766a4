/**
 * Tests runs of one account through the deaths of their processes, by seeded stories: the store is slow, the venue is away or loses
 * answers, and each process resumes what the one before it has left while it begins other runs.
 */
import { describe, expect, it } from 'vitest';
import type { LiveRun } from '../../src/app/run/live-run.ts';
import { Decimal } from '../../src/base/decimal.ts';
import { PRICE_FEED } from '../engine/stage.ts';
import { Draws } from '../simulation/draws.ts';
import { type Hosted, type Process, World } from './live-host.ts';

/** Orders beyond the market and within it, a few seconds apart. */
function drawTrades(name: string, draws: Draws): string {
  const steps = [1, 2, 3].map(
    () => `  - wait: ${draws.within(0, 4999)}ms
  - place: {type: limit, market: BTC-USD, side: ${draws.of(['long', 'long', 'long', 'short'])}, size: 1, price: ${58_000 + draws.within(0, 15) * 500}}
    catch: [{on: any, then: continue}]
`,
  );
  return `runbook: ${name}\ndsl: 1\nleaves: {position: open, because: a test}\nsteps:\n${steps.join('')}`;
}

/** A position that is held between its barriers, and closed where that fails. */
function drawHeld(name: string, draws: Draws): string {
  return `runbook: ${name}
dsl: 1
feeds: {mid: {type: price, max_age: 5s}}
leaves: {position: none}
steps:
  - wait: ${draws.within(0, 4999)}ms
  - place: {type: ${draws.of(['market', 'limit'])}, market: BTC-USD, side: long, size: 1, price: 70000}
    await: terminal
    catch: [{on: [rate_limited, not_placed], then: stop}]
  - manage:
      market: BTC-USD
      side: short
      stop_loss: {trigger: ${draws.of([55_000, 61_000])}, price: 50000}
      take_profit: {trigger: 66000, price: 65000}
      ${draws.of(['trail: {by: 2%, step: 0.1%}', 'escalate: {after: 2s, slip: 10%}'])}
      time_limit: ${draws.of(['6s', '20s'])}
on_error:
  - close: {market: BTC-USD, slip: 10%}
`;
}

interface Story {
  readonly limits: NonNullable<Hosted['limits']>;
  readonly draw: (name: string, draws: Draws) => string;
  /** Runs that each of the processes begins. */
  readonly runs: readonly number[];
  readonly mayBeAway: boolean;
  readonly look: (world: World) => void;
}

/** Shows a story to its end. Gives the runs that have not ended. */
async function tell(seed: number, { limits, draw, runs, mayBeAway, look }: Story): Promise<readonly string[]> {
  const draws = new Draws(seed, 'story');
  const points = Array.from({ length: 30 }, (_, at) => ({
    afterMs: at * 7000,
    price: String(60_000 + draws.within(0, 7) * 500),
  }));
  const path = { kind: 'points', points } as const;
  let awayUntil = 0;
  const lost = (on: string, answer: string, ...chances: number[]) =>
    ({
      on,
      do: answer,
      ...(answer === 'status' ? { status: 503 } : {}),
      when: { probability: draws.of(chances) },
    }) as never;
  const world = new World({
    limits,
    profile: PRICE_FEED,
    config: {
      markets: { 'BTC-USD': { tick: '1', lot: '0.0001', start: '64000', path } },
      fillLagMs: draws.of([0, 0, 3000, 20_000]),
      visibilityLagMs: { min: 0, max: draws.of([0, 1000, 4000]) },
      faults: [
        lost('POST /orders', 'lost_after', 0, 0.15),
        lost('POST /orders', 'rate_limited', 0, 0.2),
        lost('GET /fills', 'status', 0, 0.3),
        lost('GET /orders', 'status', 0, 0.1),
        lost('DELETE /orders', draws.of(['lost_after', 'lost_before']), 0, 0.2),
      ],
    },
    between: (venue, clock) => ({
      connect: (ms) => venue.connect?.(ms),
      send: async (...request) =>
        clock.now() < awayUntil ? { kind: 'failure', sent: false, message: 'away' } : venue.send(...request),
    }),
  });
  const { time } = world;
  const sometimes = async (ms: number) => {
    if (draws.of([true, false])) await new Promise<void>((resolve) => void time.after(draws.within(0, ms), resolve));
  };
  world.beforeRead = () => sometimes(5000);
  world.beforeAppend = () => sometimes(2000);
  const pass = async (ms: number) => {
    for (const until = time.now() + ms; time.now() < until; look(world)) await time.advanceTo(time.now() + 250);
  };
  const begun = new Set<string>();
  const listUnended = async () => {
    const rows = await Promise.all([...begun].map((run) => world.store.run(run)));
    return rows.flatMap((row) => (row === undefined || row.outcome !== undefined ? [] : [row.run]));
  };
  const follow = (live: LiveRun) => void live.waitForEnd();
  const resumeAll = async (process: Process) => {
    // Not those that it begins itself meanwhile.
    for (const run of await listUnended()) {
      const live = process.live(run);
      await live.resume();
      follow(live);
    }
  };
  for (const [life, count] of runs.entries()) {
    const process = await time.runUntil(world.openProcess());
    if (mayBeAway) awayUntil = time.now() + draws.within(0, 29999) * draws.within(0, 1);
    void resumeAll(process);
    for (let index = 0; index < count; index += 1)
      time.after(draws.within(0, 5999), () => {
        const name = `r${life}${index}`;
        void process.begin(name, draw(name, draws)).then(async (live) => {
          begun.add(name);
          await live.flush();
          follow(live);
        });
      });
    await pass(life === runs.length - 1 ? 240_000 : 8000 + draws.within(0, 14999));
    if (life < runs.length - 1) process.die();
  }
  world.close();
  return listUnended();
}

const LIVE = new Set(['open', 'processing', 'canceling', 'amending']);

/** What the account holds, and what its working orders may add on each side. */
function addUp({ books: { orders } }: World) {
  const sum = (side: string, of: (order: (typeof orders)[number]) => string) =>
    orders.filter((order) => order.side === side).reduce((total, order) => total.plus(of(order)), new Decimal(0));
  const open = ({ status, size }: (typeof orders)[number]) => (LIVE.has(status) ? size : '0');
  const held = sum('long', ({ filled }) => filled).minus(sum('short', ({ filled }) => filled));
  return { held, long: held.plus(sum('long', open)), short: sum('short', open).minus(held) };
}

function listSeeds(from: number, to: number): readonly number[] {
  return Array.from({ length: to - from }, (_, index) => from + index);
}

async function passNoLimit(seed: number): Promise<void> {
  const look = (world: World) => {
    const { long, short } = addUp(world);
    expect([seed, Decimal.max(long, short).lte(1)]).toEqual([seed, true]);
  };
  await tell(seed, { limits: { maxPosition: '1' }, draw: drawTrades, runs: [2, 2, 2, 2], mayBeAway: false, look });
}

async function endFlat(seed: number): Promise<void> {
  let last: ReturnType<typeof addUp> | undefined;
  const look = (world: World) => {
    last = addUp(world);
    expect([seed, last.held.isNegative() && !last.held.isZero()]).toEqual([seed, false]);
  };
  const left = await tell(seed, { limits: {}, draw: drawHeld, runs: [1, 0, 0], mayBeAway: true, look });
  expect([seed, left, String(last?.held), String(last?.long)]).toEqual([seed, [], '0', '0']);
}

describe('through the deaths of its processes', () => {
  it.each(listSeeds(1, 5))('no limit of the account is passed by its runs: %i', passNoLimit);
  it.each(listSeeds(1, 5))('a position is held, and closed once: %i', endFlat);
  it('and so in many more', { tags: ['long'], timeout: 300_000 }, async () => {
    for (const seed of listSeeds(5, 100)) {
      await passNoLimit(seed);
      await endFlat(seed);
    }
  });
});
