import { appendFileSync, cpSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { isAccountChain } from '../../src/journal/account/acts.ts';
import { readAnchors } from '../../src/journal/anchors/anchors.ts';
import { openDatabase } from '../../src/journal/sql/sqlite.ts';
import { document, type Ended, type Report, type Scene, scene, until } from './scene.ts';

const WAITING = `runbook: one
dsl: 1
leaves: {position: open, because: the case is about something else}
steps:
  - id: o
    place: {type: limit, market: BTC-USD, side: long, size: 0.0001, price: 19800}
  - wait: 3s
  - id: late
    place: {type: limit, market: BTC-USD, side: long, size: 0.0001, price: 19700}
`;

/** Makes the journal look cut or rewritten: the last anchor names a hash that it does not have. */
function contradict(path: string): string {
  const file = join(path, '.runbook', 'anchors.jsonl');
  const last = readAnchors(file).anchors.at(-1);
  appendFileSync(file, `${JSON.stringify({ ...last, head: 'c'.repeat(64) })}\n`);
  return file;
}

/** Changes what no decision of the run depends on, in the journal of the run that has not ended. */
async function changeEntry(path: string): Promise<void> {
  const database = await openDatabase(join(path, '.runbook', 'runbook.db'));
  const edit = `UPDATE entries SET line = replace(line, '"mono":', '"mono":1')
    WHERE seq = 4 AND run = (SELECT max(run) FROM entries)`;
  expect(database.statement(edit).run().changes).toBe(1);
  database.close();
}

async function resumed({ run }: Scene): Promise<Ended> {
  for (const end = Date.now() + 50_000; ; await pause(300)) {
    const ended = await run(['resume', '--json']);
    if (ended.exit !== 3 || Date.now() > end) return ended;
  }
}

describe.concurrent('a journal that an anchor contradicts', () => {
  it(
    'refuses a store from before the first act of its account, such as a kill of every account',
    { tags: ['long'] },
    () =>
      scene({ runbook: WAITING }, async ({ venue, start, run, live, path }) => {
        const running = start(['run', 'one.yaml', '--profile', 'p.yaml']);
        await until(() => venue.placed.length === 1);
        running.child.kill('SIGKILL');
        await running.ended;
        expect((await run(['kill', '--by', 'ada'])).exit).toBe(0);
        for (const [file, table] of [
          ['runbook.db', "account_act WHERE account = '*'"],
          ['shared.db', 'kill_event'],
        ] as const) {
          const database = await openDatabase(join(path, '.runbook', file));
          database.exec(`DELETE FROM ${table}`);
          database.close();
        }
        const { exit, err } = await live();
        expect([exit, venue.placed.length]).toEqual([3, 1]);
        expect(err).toMatch(/JOURNAL_CONTRADICTED: account \* #\w+, with 1 entry or more, is in no journal/);
      }),
  );

  it('refuses a new run with exit 3 and sends nothing until the anchors are moved', () =>
    scene({}, async ({ venue, live, path }) => {
      expect((await live()).exit).toBe(0);
      const file = contradict(path);
      const heard = venue.heard.length;
      const { exit, out, err } = await live();
      expect([exit, document(out)]).toMatchObject([3, { error: { kind: 'contradicted' } }]);
      expect(err).toMatch(
        /JOURNAL_CONTRADICTED: the journal of (run|account) .+ has another entry \d+, against its anchor/,
      );
      expect(venue.heard.slice(heard).map(({ method, path: asked }) => `${method} ${asked}`)).toEqual([]);
      renameSync(file, `${file}.evidence`);
      expect((await live()).exit).toBe(0);
      expect(readFileSync(file, 'utf8')).not.toContain('c'.repeat(64));
    }));

  it('refuses a state folder from before its last run, which a copy of the anchors knows', () =>
    scene({ profile: 'anchors: {copies: {elsewhere: {file: copied.jsonl}}}' }, async ({ venue, live, run, path }) => {
      expect((await live()).exit).toBe(0);
      const folder = join(path, '.runbook');
      cpSync(folder, join(path, 'before'), { recursive: true });
      const newest = await live();
      expect(newest.exit).toBe(0);
      rmSync(folder, { recursive: true });
      renameSync(join(path, 'before'), folder);
      const heard = venue.heard.length;
      const { exit, out, err } = await live();
      expect([exit, document(out), venue.heard.length]).toMatchObject([3, { error: { kind: 'contradicted' } }, heard]);
      const lost =
        readAnchors(join(path, 'copied.jsonl')).anchors.findLast(({ run: name }) => !isAccountChain(name))?.run ?? '';
      expect(err).toContain(`JOURNAL_CONTRADICTED: run ${lost}`);
      expect((await run(['audit', 'list', '--json'])).out).not.toContain(lost);
    }));

  it.each<[string, (path: string) => void | Promise<void>]>([
    ['by an anchor', (path) => void contradict(path)],
    ['by an entry that was changed', changeEntry],
  ])('lets a resumed run cancel its open orders, and place nothing: %s', (_, change) =>
    scene({ runbook: WAITING }, async (stage) => {
      const { venue, start, path } = stage;
      // The run before has written an anchor before this process dies.
      const first = await stage.live(['--until', 'o']);
      expect(first.exit).toBe(0);
      const running = start(['run', 'one.yaml', '--profile', 'p.yaml', '--json']);
      await until(() => venue.placed.length === 2);
      await pause(500);
      running.child.kill('SIGKILL');
      await running.ended;
      await change(path);
      const ended = await resumed(stage);
      const report = document(ended.out) as Report;
      expect(venue.placed).toHaveLength(2);
      // At once: what an order that rests fills could not be protected.
      expect([ended.exit, report.outcome, report.error]).toMatchObject([
        1,
        'failed',
        { kind: 'cancelled', message: expect.stringContaining('JOURNAL_CONTRADICTED') },
      ]);
      expect(venue.orders[1]?.status).toBe('canceled');
    }),
  );
});
