/** One process acts for an account of the venue, whatever the profiles call it and wherever the processes keep their files. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { openDatabase } from '../../src/journal/sql/sqlite.ts';
import { deriveClientOrderId } from '../../src/venue/order/identity.ts';
import { itFirst } from '../rows.ts';
import { JWT } from './mock-venue.ts';
import { document, RESTING, rests, type Scene, scene, until } from './scene.ts';

const profileOf = ({ path }: Scene) => readFileSync(join(path, 'p.yaml'), 'utf8');
const READING = `runbook: tick
dsl: 1
schedule: {every: 1s}
steps:
  - read_account: {}
`;
const LATER = RESTING.replace('60s', '2s').replace(
  /$/,
  '\n  - place: {type: limit, market: BTC-USD, side: long, size: 0.0001, price: 19700}\n',
);
const words = (profile: string) => ['run', 'one.yaml', '--profile', profile, '--json'];

describe.concurrent('the account of a run', () => {
  itFirst(1, [
    ['by another name of its host', (text: string) => text.replace('127.0.0.1', 'localhost')],
    ['by another name of its own', (text: string) => text.replace('account: main', 'account: Main')],
    ['from another home and another state folder', (text: string) => text],
  ])('is held %s: exit 3, and nothing is sent', (_how, change) =>
    scene({ runbook: RESTING }, async (stage) => {
      const { venue, path, start, run, write } = stage;
      const first = start(words('p.yaml'));
      await rests(venue);
      write('other.yaml', change(profileOf(stage)));
      const placed = venue.placed.length;
      const env = { VENUE_JWT: JWT, HOME: join(path, 'other-home') };
      const second = await run([...words('other.yaml'), '--state', join(path, 'other-state')], env);
      expect([second.exit, document(second.out)]).toMatchObject([3, { error: { kind: 'held' } }]);
      expect(venue.placed.length).toBe(placed);
      first.child.kill('SIGTERM');
      expect((await first.ended).exit).toBe(143);
      // Free again at once; from the first folder, whose journal has the orders.
      expect((await run([...words('p.yaml'), '--until', 'o'])).exit).toBe(0);
    }),
  );

  itFirst(1, [
    ['address', (text: string) => text.replace('127.0.0.1', 'localhost')],
    ['name', (text: string) => text.replace('account: main', 'account: Main')],
  ])('keeps the %s of its first start in its store: another has no part of its ledger and its kills', (_what, change) =>
    scene({ runbook: RESTING }, async (stage) => {
      const { venue, run, live, write } = stage;
      write('other.yaml', change(profileOf(stage)));
      expect((await live(['--until', 'o'])).exit).toBe(0);
      const second = await run([...words('other.yaml'), '--until', 'o']);
      expect([second.exit, document(second.out)]).toMatchObject([3, { error: { kind: 'contradicted' } }]);
      expect(venue.placed.length).toBe(1);
      // The account is free, and its journal as it was.
      expect((await live(['--until', 'o'])).exit).toBe(0);
    }),
  );

  it('is waited for by a scheduler on standby that has it under another name: its supervisor would start it each 2 s', () =>
    scene({ runbook: RESTING }, async (stage) => {
      const { venue, start, live, write } = stage;
      write('other.yaml', profileOf(stage).replace('account: main', 'account: Main'));
      expect((await live(['--until', 'o'])).exit).toBe(0);
      write('tick.yaml', READING);
      const asked = venue.of('GET', '/account').length;
      const waiting = start(['schedule', 'tick.yaml', '--profile', 'other.yaml', '--port', '0', '--standby']);
      let log = '';
      waiting.child.stderr?.on('data', (text) => {
        log += text;
      });
      await until(() => log.includes('account_contradicted') || waiting.child.exitCode !== null);
      waiting.child.kill('SIGTERM');
      expect((await waiting.ended).exit).toBe(143);
      expect(venue.of('GET', '/account').length).toBe(asked + 1);
    }));

  it(
    'is cleaned up where a run of another name was begun while the venue did not say it, and nothing is placed',
    { tags: ['long'] },
    () =>
      scene({ runbook: LATER }, async (stage) => {
        const { venue, start, live, run, write } = stage;
        write('other.yaml', profileOf(stage).replace('account: main', 'account: Main'));
        expect((await live(['--until', 'o'])).exit).toBe(0);
        venue.rules.push(({ path, method }) =>
          path === '/account' && method === 'GET' ? { status: 503, body: 'away' } : undefined,
        );
        const first = start(words('other.yaml'));
        await until(() => venue.placed.length === 2);
        await rests(venue);
        first.child.kill('SIGKILL');
        await first.ended;
        venue.rules.length = 0;
        const resumed = await run(['resume', '--json']);
        expect([resumed.exit, document(resumed.out)]).toMatchObject([1, { error: { kind: 'cancelled' } }]);
        expect(resumed.err).toContain('JOURNAL_CONTRADICTED');
        expect([venue.placed.length, venue.orders.at(-1)?.['status']]).toEqual([2, 'canceled']);
      }),
  );

  it('is held by its name alone, and the run says so, where the temporary folder cannot be used', () =>
    scene({ runbook: RESTING }, async ({ path, start }) => {
      const env = { VENUE_JWT: JWT, TMPDIR: join(path, 'p.yaml') };
      const { exit, err } = await start([...words('p.yaml'), '--until', 'o'], env).ended;
      expect([exit, err]).toEqual([0, expect.stringContaining('is not noticed')]);
    }));

  it(
    'is killed under another name and home with exit 4, which names the process that it does not reach',
    { tags: ['long'] },
    () =>
      scene({ runbook: RESTING }, async (stage) => {
        const { venue, path, start, run, write } = stage;
        const first = start(words('p.yaml'));
        await rests(venue);
        write(
          'other.yaml',
          profileOf(stage).replace('account: main', 'account: other').replace('127.0.0.1', 'localhost'),
        );
        const env = { VENUE_JWT: JWT, HOME: join(path, 'other-home') };
        const kill = ['kill', '--profile', 'other.yaml', '--by', 'ana', '--json', '--state', join(path, 'other-state')];
        const killed = await run(kill, env);
        expect([killed.exit, document(killed.out)]).toMatchObject([
          4,
          { engaged: false, left: 0, missing: [expect.stringContaining('another name')] },
        ]);
        first.child.kill('SIGTERM');
        await first.ended;
        // Nothing else acts for it any more.
        expect((await run(kill, env)).exit).toBe(0);
      }),
  );

  it('is read from the venue once, kept in the store, and part of the client order ids', () =>
    scene({ runbook: RESTING }, async ({ venue, live, run }) => {
      const { report } = await live(['--until', 'o']);
      expect((await live(['--until', 'o'])).exit).toBe(0);
      expect(venue.of('GET', '/account')).toHaveLength(1);
      const { runs } = document((await run(['audit', 'list', '--json'])).out) as { runs: { run: string }[] };
      const path = report.steps.find(({ path: each }) => each.endsWith('o'))?.path ?? '';
      const derived = runs.map(({ run: name }) => deriveClientOrderId({ account: '7', run: name, path, attempt: 1 }));
      expect(venue.orders.map((order) => String(order['client_order_id'])).sort()).toEqual(derived.sort());
      expect((await run(['replay', 'last', '--json'])).exit).toBe(0);
    }));

  it('is asked again where the run that has it is damaged', () =>
    scene({ runbook: RESTING }, async ({ venue, live, path }) => {
      expect((await live(['--until', 'o'])).exit).toBe(0);
      const journal = await openDatabase(join(path, '.runbook/runbook.db'));
      journal.exec("UPDATE entries SET line = '{' WHERE seq = 1");
      journal.close();
      expect((await live(['--until', 'o'])).exit).toBe(0);
      expect(venue.of('GET', '/account')).toHaveLength(2);
    }));

  it('does not keep a run back where the venue does not say it', () =>
    scene(
      {
        runbook: RESTING,
        venue: (mock) =>
          void mock.rules.push(({ path, method }) =>
            path === '/account' && method === 'GET' ? { status: 503, body: 'away' } : undefined,
          ),
      },
      async ({ live }) => {
        const ended = await live(['--until', 'o']);
        expect([ended.exit, ended.err]).toMatchObject([0, expect.stringContaining('which account this is')]);
      },
    ));
});
