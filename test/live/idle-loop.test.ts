/** Tests a live loop that finds nothing: what a process that dies has stored of it, and that the run goes on from there. */
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { writeArmedWatch, writeWatch } from '../../bench/runbooks.ts';
import { readLines } from '../../src/journal/reading.ts';
import { openSqliteStore } from '../../src/journal/stores/sqlite.ts';
import { envelope, JWT } from './mock-venue.ts';
import { scene, until } from './scene.ts';

const ROUNDS = 16;
const WATCH = writeWatch(ROUNDS, '400ms');

/** The same by the price of a feed, which does not move. */
const PRICED = `runbook: watch
dsl: 1
feeds: {mid: {type: price, max_age: 500ms}}
limits: {markets: [BTC-USD]}
steps:
  - repeat:
      every: 400ms
      max: ${ROUNDS}
      do:
        - assert: feeds.mid > 1
        - if: feeds.mid < 1
          stop: {outcome: found}
`;
const FEEDS = `requests:
  market_info: {method: GET, path: /markets, query: {market_id: text}, tokens: 10, result: {type: list, of: {fair_price: price}}}
feeds: {mid: {request: market_info, with: {market_id: "\${market}"}, read: "result[0].fair_price"}}`;

it.each([
  ['its own orders', WATCH, '', '/orders'],
  ['the price of a feed', PRICED, FEEDS, '/markets'],
])(
  'stores its rounds as one entry, and goes on after its process was killed between two of them: by %s',
  { tags: ['long'] },
  (_what, runbook, profile, asks) =>
    scene({ runbook, profile }, async ({ venue, path, start, run }) => {
      venue.rules.push((heard) =>
        heard.path === '/markets' ? { status: 200, body: envelope([{ fair_price: '64000' }]) } : undefined,
      );
      const asked = () => venue.of('GET', asks).length;
      const first = start(['run', 'one.yaml', '--profile', 'p.yaml', '--json'], { VENUE_JWT: JWT });
      await until(() => asked() >= 8);
      first.child.kill('SIGKILL');
      await first.ended;
      const resumed = await run(['resume', '--json']);
      expect(resumed.exit).toBe(0);
      const store = await openSqliteStore(join(path, '.runbook', 'runbook.db'));
      const [row] = await store.runs();
      const lines = await store.read(row?.run ?? '');
      await store.close();
      const decided = [...readLines(lines)].filter(
        ({ type, step }) => type === 'step.decided' && step.endsWith('do/2:stop'),
      );
      expect(decided.map(({ step }) => step)).toEqual(
        Array.from({ length: ROUNDS }, (_, round) => `steps/1:repeat[${round}]/do/2:stop`),
      );
      expect(lines.filter(({ type }) => type === 'round.idle').length).toBeGreaterThanOrEqual(1);
      expect(lines.filter(({ type }) => type === 'step.decided').length).toBeLessThan(ROUNDS);
      expect(row?.outcome).toBe('succeeded');
      expect((await run(['audit', 'verify'])).exit).toBe(0);
      expect((await run(['audit', 'replay', row?.run ?? ''])).exit).toBe(0);
    }),
);

const GUARDED = writeArmedWatch(30, { every: '400ms', timeout: '5s', size: '0.01' });

it('reports all its rounds when it is resumed', { tags: ['long'] }, () =>
  scene({ runbook: GUARDED }, async ({ venue, path, start, run }) => {
    const first = start(['run', 'one.yaml', '--profile', 'p.yaml', '--json'], { VENUE_JWT: JWT });
    await until(() => venue.of('GET', '/orders').length >= 25);
    first.child.kill('SIGKILL');
    await first.ended;
    // What its process held back is shown before another one takes it over.
    const shown = await run(['audit', 'export', 'last', '--format', 'cloudevents']);
    expect(shown.out.split('step.decided').length).toBeGreaterThan(15);
    const resumed = await run(['resume', '--json']);
    expect(resumed.exit).toBe(0);
    const { steps } = JSON.parse(resumed.out) as { readonly steps: readonly { readonly verb: string }[] };
    expect(steps.filter(({ verb }) => verb === 'list_orders').length).toBe(30);
    const store = await openSqliteStore(join(path, '.runbook', 'runbook.db'));
    const [row] = await store.runs();
    const name = row?.run ?? '';
    const lines = await store.read(name);
    // Nothing is left beside the journal of what the processes held back.
    expect(await store.accountRows(`held ${name}`)).toEqual([]);
    await store.close();
    const died = lines.findIndex(({ type }) => type === 'run.resumed');
    expect([...readLines(lines.slice(0, died))].filter(({ type }) => type === 'step.decided').length).toBeGreaterThan(
      15,
    );
    expect((await run(['audit', 'replay', row?.run ?? ''])).exit).toBe(0);
  }),
);
