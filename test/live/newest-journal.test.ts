import { cpSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { openSqliteAccountJournal } from '../../src/journal/account/sqlite.ts';
import { readLastAnchor } from '../../src/journal/anchors/newest.ts';
import { itFirst } from '../rows.ts';
import { envelope, type MockVenue } from './mock-venue.ts';
import { document, LIMIT, profile, scene, until } from './scene.ts';

const READING = `runbook: one
dsl: 1
steps:
  - read_account: {}
`;
const every = (name: string) =>
  LIMIT.replace('runbook: one', `runbook: ${name}\nschedule: {every: 1s, misfire: {within: 20s, then: run_once}}`);

/** The readings with which a process compares the venue's orders with the journal. */
const comparisons = (venue: MockVenue) => venue.of('GET', '/orders').filter(({ query }) => query.includes('ASC'));

describe.concurrent('before the first order of a process', () => {
  it('an older state folder is refused with exit 3, until a person adopts the orders that it does not know', () =>
    scene({}, async ({ venue, live, run, write, path }) => {
      const folder = join(path, '.runbook');
      expect((await live()).exit).toBe(0);
      cpSync(folder, join(path, 'before'), { recursive: true });
      expect((await live()).exit).toBe(0);
      rmSync(folder, { recursive: true });
      renameSync(join(path, 'before'), folder);
      const { exit, out, err } = await live();
      expect([exit, document(out), venue.placed.length]).toMatchObject([3, { error: { kind: 'contradicted' } }, 2]);
      const [known, lost] = venue.orders;
      expect(err).toContain(`JOURNAL_CONTRADICTED: the venue has 1 order of this program`);
      expect([err.includes(`${lost?.id} `), err.includes(`${known?.id} `)]).toEqual([true, false]);

      const asked = comparisons(venue).length;
      write('one.yaml', READING);
      expect([(await live()).exit, comparisons(venue).length]).toEqual([0, asked]);

      write('one.yaml', LIMIT);
      expect((await run(['account', 'adopt', '--profile', 'p.yaml', '--by', ' '])).exit).toBe(2);
      expect([(await live()).exit, venue.placed.length]).toEqual([3, 2]);
      const adopted = await run(['account', 'adopt', '--profile', 'p.yaml', '--by', 'ada', '--json']);
      const orders = [{ id: lost?.id, clientOrderId: lost?.client_order_id, market: 'BTC-USD', side: 'long' }];
      expect([adopted.exit, document(adopted.out)]).toMatchObject([0, { adopted: orders, by: 'ada' }]);
      const journal = await openSqliteAccountJournal(join(folder, 'runbook.db'));
      expect(await journal.find(`${venue.url} main`, ['orders.adopted'])).toMatchObject([
        { type: 'orders.adopted', by: 'ada', data: { orders } },
      ]);
      await journal.close();
      expect(readLastAnchor(join(folder, 'anchors.jsonl'))?.run).toMatch(/:\d+ main #/);
      expect([(await live()).exit, venue.placed.length]).toEqual([0, 3]);
      expect(document((await run(['account', 'adopt', '--profile', 'p.yaml', '--by', 'ada', '--json'])).out)).toEqual({
        adopted: [],
        by: 'ada',
      });
    }));

  itFirst(1, [
    ['one that only read', (_: MockVenue) => READING],
    [
      'one that placed nothing, as the venue did not show its orders',
      (venue: MockVenue) => {
        venue.rules.push(({ query }) =>
          query.includes('ASC') ? { status: 400, body: envelope([], 'NO') } : undefined,
        );
        return LIMIT;
      },
    ],
  ])('a run since an older folder was put in its place answers for no order: %s', (_what, prepare) =>
    scene({}, async ({ venue, live, run, write, path }) => {
      const folder = join(path, '.runbook');
      expect((await live()).exit).toBe(0);
      const newest = Date.now();
      cpSync(folder, join(path, 'before'), { recursive: true });
      expect((await live()).exit).toBe(0);
      rmSync(folder, { recursive: true });
      renameSync(join(path, 'before'), folder);
      // Placed as long before the next run as its own entries would hide it.
      Object.assign(venue.orders[1] ?? {}, { timestamp: (newest - 60_000) * 1000 });
      write('one.yaml', prepare(venue));
      await live();
      venue.rules.length = 0;
      write('one.yaml', LIMIT);
      expect([(await live()).exit, venue.placed.length]).toEqual([3, 2]);
      expect((await run(['account', 'adopt', '--profile', 'p.yaml', '--by', 'ada'])).exit).toBe(0);
      expect([(await live()).exit, venue.placed.length]).toEqual([0, 3]);
    }),
  );

  itFirst(1, [
    ['a copy of the store from before', 'runbook.db'],
    ['another store', undefined],
  ])('%s of the same state folder is refused: what the newest one has is not in its ledger', (_what, copied) =>
    scene({}, async ({ venue, live, run, write, path }) => {
      const folder = join(path, '.runbook');
      expect((await live()).exit).toBe(0);
      if (copied !== undefined) cpSync(join(folder, copied), join(path, 'other.db'));
      expect((await live()).exit).toBe(0);
      write('other.yaml', profile(venue.url, 'store: {sqlite: other.db}'));
      const words = ['run', 'one.yaml', '--profile', 'other.yaml', '--json'];
      const refused = await run(words);
      expect([refused.exit, document(refused.out)]).toMatchObject([3, { error: { kind: 'contradicted' } }]);
      expect(venue.placed.length).toBe(2);
      expect((await run(['account', 'adopt', '--profile', 'other.yaml', '--by', 'ada'])).exit).toBe(0);
      expect([(await run(words)).exit, venue.placed.length]).toEqual([0, 3]);
      // From then on the first is not the newest.
      expect([(await live()).exit, venue.placed.length]).toEqual([3, 3]);
    }),
  );

  it('a lost state folder is refused, by a scheduler too', () =>
    scene({}, async ({ venue, live, start, write, path }) => {
      expect((await live()).exit).toBe(0);
      rmSync(join(path, '.runbook'), { recursive: true });
      expect((await live()).exit).toBe(3);
      write('every.yaml', every('tick'));
      const { exit, err } = await start(['schedule', 'every.yaml', '--profile', 'p.yaml', '--port', '0']).ended;
      expect([exit, venue.placed.length]).toEqual([3, 1]);
      expect(err).toContain('JOURNAL_CONTRADICTED');
    }));

  it('a scheduler on standby waits for the person, and then starts what is due', { tags: ['long'] }, () =>
    scene({}, async ({ venue, live, run, start, write, path }) => {
      expect((await live()).exit).toBe(0);
      rmSync(join(path, '.runbook'), { recursive: true });
      write('every.yaml', every('tick'));
      const asked = comparisons(venue).length;
      const waiting = start(['schedule', 'every.yaml', '--profile', 'p.yaml', '--port', '0', '--standby']);
      let log = '';
      waiting.child.stderr?.on('data', (text) => {
        log += text;
      });
      await until(() => log.includes('account_contradicted'));
      expect([venue.placed.length, comparisons(venue).length]).toEqual([1, asked + 1]);
      expect((await run(['account', 'adopt', '--profile', 'p.yaml', '--by', 'ada'])).exit).toBe(0);
      await until(() => venue.placed.length > 1);
      // A supervisor that starts it again each 2 s would have asked as often; adopting asks once too.
      expect([comparisons(venue).length - asked <= 4, log.split('account_contradicted').length]).toEqual([true, 2]);
      waiting.child.kill('SIGTERM');
      expect((await waiting.ended).exit).toBe(143);
    }),
  );

  it('a venue that does not show its orders gets none', () =>
    scene(
      {
        venue: (venue) =>
          venue.rules.push(({ query }) =>
            query.includes('ASC') ? { status: 400, body: envelope([], 'NOT_TODAY') } : undefined,
          ),
      },
      async ({ venue, live }) => {
        const { exit, report } = await live();
        expect([exit, report.error, venue.placed.length]).toMatchObject([
          1,
          { kind: 'denied', message: expect.stringMatching(/JOURNAL_CONTRADICTED.*NOT_TODAY/) },
          0,
        ]);
        venue.rules.length = 0;
        expect([(await live()).exit, venue.placed.length]).toEqual([0, 1]);
      },
    ));

  it.each([
    ['of another program', 'theirs', 0, 1],
    ['without a client order id', null, 0, 1],
    ['of this program that no journal knows', 'rbaaaaaaaaaaaaaaaaaaaa', 3, 0],
  ])('a row that cannot be read, %s, hides no other', (_, clientOrderId, exit, placed) =>
    scene(
      {
        venue: (venue) =>
          venue.rules.push(({ query }) =>
            query.includes('ASC')
              ? {
                  body: envelope([
                    { id: 'BTC-USD@7', client_order_id: clientOrderId, market_id: 'BTC-USD', size: null },
                  ]),
                }
              : undefined,
          ),
      },
      async ({ venue, live }) => {
        const ended = await live();
        expect([ended.exit, venue.placed.length]).toEqual([exit, placed]);
        expect(ended.err.includes('BTC-USD@7')).toBe(exit === 3);
      },
    ),
  );

  it('the venue is asked once, for all runs of the process', () =>
    scene({}, async ({ venue, start, write }) => {
      for (const name of ['tick', 'tock']) write(`${name}.yaml`, every(name));
      const running = start(['schedule', 'tick.yaml', 'tock.yaml', '--profile', 'p.yaml', '--port', '0']);
      await until(() => venue.placed.length >= 4);
      running.child.kill('SIGTERM');
      expect([(await running.ended).exit, comparisons(venue).length]).toEqual([143, 1]);
    }));
});
