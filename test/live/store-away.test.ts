/** A store that cannot be reached for a while suspends a live run: nothing new leaves, the rest goes on, and no verdict follows. */
import { describe, expect, it } from 'vitest';
import { itFirst } from '../rows.ts';
import { type LeftRun, type Outage, type Part, type Played, playLive } from './live-bench.ts';

const SPANS = Array.from({ length: 30 }, (_, index) => (index + 1) * 1_000);
const TIMEOUT_MS = 10_000;
const RUN = `runbook: one
dsl: 1
leaves: {position: open, because: the case is about its store}
deadman: {market: BTC-USD, timeout: 10s, on_exit: disarm}
steps:
  - id: a
    place: {type: limit, market: BTC-USD, side: long, size: 0.01, price: 50000}
  - wait: 20s
  - id: b
    place: {type: limit, market: BTC-USD, side: long, size: 0.01, price: 50001}
  - wait: 5s
  - cancel: a
    await: terminal
  - wait: 20s
  - cancel: b
    await: terminal
`;
const during = ({ heard }: Played, { from, ms }: Outage, what: RegExp) =>
  heard.filter(({ at, what: each }) => what.test(each) && at >= from && at < from + ms);

/** The longest pause between two heartbeats while the switch was armed, ms. */
function longestPause({ heard }: Played): number {
  const heartbeats = heard.filter(({ what }) => what === 'POST /cancel_all_after').map(({ at }) => at);
  return Math.max(...heartbeats.slice(1).map((at, index) => at - (heartbeats[index] ?? 0)));
}

const WAYS: readonly Partial<Outage>[] = [{}, { hangsMs: 1_500 }, { keepsFirst: true }];

describe('a store that cannot be reached for 1 to 30 s', () => {
  const MOMENTS = [
    ['where an order is due', 19_900],
    ['in a wait', 5_000],
    ['where a cancel is due', 24_000],
    ['at the end of the run', 44_000],
  ] as const;
  it.each(MOMENTS)('%s fails no run, and sends what adds no risk', (_where, from) => lives(from, 10));
  it.each(MOMENTS)('%s fails no run, for any number of seconds', { tags: ['long'] }, (_where, from) => lives(from, 1));

  async function lives(from: number, every: number): Promise<void> {
    const calm = await playLive(RUN, { from, ms: 0 });
    const [cancelledAt] = calm.heard.filter(({ what }) => what.startsWith('DELETE /orders')).map(({ at }) => at);
    for (const [index, ms] of SPANS.filter((span) => (span / 1_000) % every === 0).entries()) {
      const outage = { from, ms, ...WAYS[index % WAYS.length] };
      const played = await playLive(RUN, outage);
      expect([ms, played.outcome, played.reason, played.orders.map(({ status }) => status)]).toEqual([
        ms,
        'succeeded',
        undefined,
        ['canceled', 'canceled'],
      ]);
      expect(during(played, outage, /^POST \/orders/)).toEqual([]);
      expect(played.heard.filter(({ what }) => what === 'POST /orders')).toHaveLength(2);
      expect([ms, played.fired, longestPause(played) < TIMEOUT_MS]).toEqual([ms, false, true]);
      expect(played.entries.filter(({ type }) => type === 'operator.acted')).toEqual([]);
      expect(played.said.filter((line) => /killed|engaged|released/i.test(line))).toEqual([]);
      if (from !== 24_000) continue;
      const cancels = played.heard.filter(({ what }) => what.startsWith('DELETE /orders'));
      expect((cancels[0]?.at ?? Infinity) - (cancelledAt ?? 0)).toBeLessThan(1_500);
    }
  }

  itFirst<[Part]>(2, [['journal'], ['leases'], ['kill switch'], ['commands'], ['token ledger']])(
    'in one part alone (%s) fails no run either',
    async (only) => {
      for (const from of [15_000, 24_000])
        for (const ms of [9_000, 30_000]) {
          const played = await playLive(RUN, { from, ms, only, hangsMs: 700 });
          expect([from, ms, played.outcome, played.reason]).toEqual([from, ms, 'succeeded', undefined]);
          expect(played.heard.filter(({ what }) => what === 'POST /orders')).toHaveLength(2);
          expect([ms, played.fired, longestPause(played) < TIMEOUT_MS]).toEqual([ms, false, true]);
          expect(played.entries.filter(({ type }) => type === 'operator.acted')).toEqual([]);
        }
    },
  );

  it('is in the journal, with its end', async () => {
    const { entries, said } = await playLive(RUN, { from: 5_000, ms: 10_000 });
    const moves = entries.flatMap((entry) => (entry.type === 'store.moved' ? [entry.data.event] : []));
    expect([moves, said.length]).toEqual([['away', 'back'], 2]);
  });
});

describe('a store that cannot be reached for longer', () => {
  it('ends the process with exit 4 and leaves the run to be resumed: the journal has no end', async () => {
    await expect(playLive(RUN, { from: 5_000, ms: 3_600_000 })).rejects.toMatchObject({ kind: 'journal', exit: 4 });
  });

  it.each([
    ['before an order is due', RUN, 5_000],
    ['as an order is due', RUN, 19_900],
    ['in a wait of a day', RUN.replace('wait: 20s', 'wait: 24h'), 5_000],
  ])(
    '%s ends within two minutes, with its order cancelled by itself and not by the deadman switch',
    async (_when, text, from) => {
      const left = await playLive(text, { from, ms: 3_600_000 }).then(
        () => undefined,
        (error: unknown) => error as LeftRun,
      );
      expect(left).toMatchObject({ kind: 'journal', exit: 4, fired: false, orders: [{ status: 'canceled' }] });
      expect(left?.endedAt).toBeLessThan(from + 120_000);
    },
  );
});
