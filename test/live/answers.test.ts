/** Tests the answers that people give to live runs and to halted ones, and what the journal says of them: who, and to which question. */
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { VirtualClock } from '../../src/base/clock.ts';
import type { Entry } from '../../src/journal/entry.ts';
import { readLines } from '../../src/journal/reading.ts';
import { openSharedSqlite } from '../../src/journal/shared/sqlite.ts';
import { openDatabase } from '../../src/journal/sql/sqlite.ts';
import { openSqliteStore } from '../../src/journal/stores/sqlite.ts';
import { newWriter, startedData } from '../journal/sample.ts';
import { envelope, JWT } from './mock-venue.ts';
import { document, LIMIT, RESTING, rests, type Scene, scene } from './scene.ts';

const ASKING = `runbook: one
dsl: 1
steps:
  - id: ok
    approve: {ask: "Go on?", by: [trader], within: 60s}
  - read_account: {}
`;
const RUN = ['run', 'one.yaml', '--profile', 'p.yaml', '--json'];

async function entriesOf(path: string, run?: string): Promise<readonly Entry[]> {
  const store = await openSqliteStore(join(path, '.runbook', 'runbook.db'));
  try {
    const [newest] = await store.runs();
    return [...readLines(await store.read(run ?? newest?.run ?? ''))];
  } finally {
    await store.close();
  }
}

/** Resolves when the journal says that the run asks. */
async function asks({ path }: Scene, times = 1): Promise<void> {
  for (const end = Date.now() + 50_000; Date.now() < end; ) {
    const entries = await entriesOf(path).catch(() => []);
    if (entries.filter(({ type }) => type === 'approval.asked' || type === 'run.resumed').length >= times) return;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  throw new Error('the run did not ask');
}

describe.concurrent('an answer', () => {
  it('comes from a named person to a step that asks, and is shown with person, time and plan', () =>
    scene({ runbook: ASKING }, async (at) => {
      const { run, start, path } = at;
      const first = start(RUN, { VENUE_JWT: JWT, USER: 'ada' });
      await asks(at);
      for (const [words, sentence] of [
        [['approve', 'last', 'ok', '--by', ''], 'approve needs the name of the person who answers for it'],
        [['reject', 'last', 'ok', '--by', ' \t'], 'it is empty'],
        [['approve', 'last', 'ok', '--by', 'a'.repeat(81)], 'more than 80 characters'],
        [['approve', 'last', 'ok', '--by', 'ada\u001b[2J'], 'invisible characters'],
        [['cancel', 'last', '--by', ''], 'cancel needs the name'],
        [['kill', '--profile', 'p.yaml', '--by', ''], 'kill needs the name'],
        [['release', '--profile', 'p.yaml', '--by', ' '], 'release needs the name'],
        [['approve', 'last', 'okay', '--by', 'bob'], 'no step okay of run'],
        [['approve', 'last', 'okay', '--by', 'bob'], 'waiting now: steps/ok'],
      ] as const) {
        const refused = await run(words);
        expect([words, refused.exit, refused.err]).toEqual([words, 2, expect.stringContaining(sentence)]);
      }
      first.child.kill('SIGKILL');
      await first.ended;
      const second = start(['resume', '--json']);
      await asks(at, 2);
      expect((await run(['approve', 'last', 'ok', '--by', ' engine '])).exit).toBe(0);
      expect((await second.ended).exit).toBe(0);
      const late = await run(['approve', 'last', 'ok', '--by', 'eve']);
      expect(late.exit).toBe(2);

      const entries = await entriesOf(path);
      const acted = entries.filter((entry) => entry.type === 'operator.acted');
      expect(acted.map(({ actor, data }) => [actor, data])).toEqual([
        ['human:engine', { command: 'approve', by: 'engine', step: 'steps/ok' }],
      ]);
      const { plan } = entries.find((entry) => entry.type === 'approval.asked')?.data ?? {};
      const { out: why } = await run(['audit', 'show', 'last', '--why', 'ok']);
      expect(why).toContain('asks trader: Go on?');
      expect(why).toContain(`approve by engine, for plan ${plan}`);
      const { approvals } = document((await run(['audit', 'show', 'last', '--why', 'ok', '--json'])).out) as {
        approvals: readonly object[];
      };
      expect(approvals).toMatchObject([{ step: 'steps/ok', plan, answer: { by: 'engine', command: 'approve' } }]);
      expect((await run(['audit', 'show', 'last', '--step', 'ok'])).out).toContain('engine: approve steps/ok');
      const { out: summary } = await run(['audit', 'summary', 'last']);
      expect(summary).toContain('approve of steps/ok by engine');
      expect(summary).toMatch(/resumed 2\S+Z by process \d+, .* [\d.]+ m?s/);
    }));
});

describe.concurrent('a run that halted', () => {
  it.each([
    ['also where the clock was put back since', false, 'in its journal'],
    ['also where an entry of its journal is damaged, and the answer says so', true, 'in the mailbox alone'],
  ])('is settled by a cancel %s', (_when, isDamaged, where) =>
    scene({ runbook: ASKING }, async ({ run, path, venue }) => {
      const laterMs = Date.now() + 3_600_000;
      const auth = { mode: 'jwt', jwt: { env: 'VENUE_JWT' } };
      const settings = {
        profile: 'mock',
        base_url: venue.url,
        account: 'main',
        auth,
        markets: { 'BTC-USD': { tick: '1', lot: '0.0001', min_size: '0.0001' } },
        capabilities: [],
      };
      expect((await run(['doctor', '--profile', 'p.yaml'])).exit).toBe(0);
      const file = join(path, '.runbook', 'runbook.db');
      const store = await openSqliteStore(file);
      const writer = newWriter(store, 'r1', { clock: new VirtualClock(laterMs) });
      writer.append('run.started', startedData({ mode: 'live', startedAt: laterMs, settings }));
      writer.append('clock.adjusted', { wallAheadMs: 1 });
      writer.append('run.ended', { outcome: 'halted', reason: 'not known', outputs: {} });
      await writer.close();
      await store.close();
      if (isDamaged) {
        const database = await openDatabase(file);
        database.exec("UPDATE entries SET line = '{' WHERE seq = 2");
        database.close();
      }
      const { exit, out } = await run(['cancel', 'r1', '--by', 'bob']);
      const said = out.includes("it is in the run's journal") ? 'in its journal' : 'in the mailbox alone';
      expect([exit, said]).toEqual([0, where]);
      if (isDamaged) return expect(out).toContain('CANNOT be written');
      const last = (await entriesOf(path, 'r1')).at(-1);
      expect([last?.type, last?.data]).toEqual(['operator.acted', { command: 'cancel', by: 'bob' }]);
    }),
  );

  it('has in its journal who answered for it, chained and anchored, and can still be resumed', { tags: ['long'] }, () =>
    scene(
      {
        runbook: LIMIT.replace('outputs', '  - cancel: o\n    await: terminal\noutputs'),
        venue: (venue) => {
          venue.hiddenMs = Number.POSITIVE_INFINITY;
          let isFirst = true;
          venue.rules.push(({ method, path }) => {
            if (method !== 'POST' || path !== '/orders' || !isFirst) return undefined;
            isFirst = false;
            // It has this order, says the venue, and does not show it: no look-up can prove that it is absent.
            return { done: true, status: 400, body: envelope(null, 'CLIENT_ORDER_ID_DUPLICATE') };
          });
        },
      },
      async ({ venue, live, run, path }) => {
        expect((await live()).exit).toBe(4);
        const [first] = await entriesOf(path);
        const name = first?.run ?? '';
        const cancelled = await run(['cancel', name, '--by', 'bob', '--reason', 'seen at the venue']);
        expect([cancelled.exit, cancelled.out]).toEqual([0, expect.stringContaining("it is in the run's journal")]);
        const last = (await entriesOf(path)).at(-1);
        expect([last?.type, last?.actor, last?.data]).toEqual([
          'operator.acted',
          'human:bob',
          { command: 'cancel', by: 'bob', reason: 'seen at the venue' },
        ]);
        const shared = await openSharedSqlite({
          file: join(path, '.runbook', 'shared.db'),
          ledgerFile: join(path, 'tokens.db'),
          accountsFile: join(path, 'accounts.db'),
        });
        expect(await shared.mailbox.pending(name)).toEqual([]);
        await shared.close();
        expect((await run(['audit', 'show', name])).out).toContain('bob: cancel (seen at the venue)');
        expect((await run(['audit', 'summary', name])).out).toContain('cancel by bob');
        const text = await run(['audit', 'verify']);
        expect([text.exit, text.out]).toEqual([0, expect.stringContaining('1 run is unchanged')]);
        const anchors = [
          ...(await import('node:fs'))
            .readFileSync(join(path, '.runbook', 'anchors.jsonl'), 'utf8')
            .trim()
            .split('\n'),
        ];
        expect(anchors.map((line) => JSON.parse(line)).findLast((anchor) => anchor.run === name)).toMatchObject({
          run: name,
          seq: last?.seq,
          head: last?.hash,
        });
        expect((await run(['replay', name])).exit).toBe(0);
        venue.hiddenMs = 0;
        expect((await run(['resume', name])).exit).toBe(1);
        expect(venue.orders.map(({ status }) => status)).toEqual(['canceled']);
        expect((await run(['replay', name])).exit).toBe(0);
        expect((await run(['audit', 'verify'])).exit).toBe(0);
      },
    ),
  );
});

it('cancel a run whose journal cannot be read: its slot is free, and the account knows who did it', () =>
  scene({ runbook: RESTING }, async (desk) => {
    const { venue, start, run, path } = desk;
    const running = start(RUN);
    await rests(venue);
    running.child.kill('SIGKILL');
    await running.ended;
    const [first] = await entriesOf(path);
    const name = first?.run ?? '';
    const journal = await openDatabase(join(path, '.runbook/runbook.db'));
    journal.exec("UPDATE entries SET line = '{' WHERE seq = 1");
    journal.close();
    const before = venue.heard.length;
    const cancelled = await run(['cancel', name, '--by', 'ada', '--json']);
    expect([cancelled.exit, document(cancelled.out)]).toMatchObject([0, { run: name, command: 'cancel', by: 'ada' }]);
    expect(venue.heard.length).toBe(before);
    const shared = await openSharedSqlite({
      file: join(path, '.runbook', 'shared.db'),
      ledgerFile: join(path, 'tokens.db'),
      accountsFile: join(path, 'accounts.db'),
    });
    expect(await shared.mailbox.pending(name)).toMatchObject([{ command: 'cancel', by: 'ada' }]);
    await shared.close();
    const people = await run(['audit', 'people', '--by', 'ada', '--json']);
    expect(people.out).toContain(name);
    // Only its whole name: a part of it might be meant for another.
    expect((await run(['cancel', name.slice(-8), '--by', 'ada'])).exit).toBe(1);
  }));
