import { join } from 'node:path';
import { expect, it } from 'vitest';
import { readAnchors } from '../../src/journal/anchors/anchors.ts';
import { openDatabase } from '../../src/journal/sql/sqlite.ts';
import { JWT } from './mock-venue.ts';
import { document, RESTING, rests, scene } from './scene.ts';
import { webhook } from './webhook.ts';

/** Three orders make more than ten order events, so that anchors are written before the end. */
const PATIENT = `runbook: one
dsl: 1
leaves: {position: open, because: the case is about something else}
deadman: {market: BTC-USD, timeout: 20s, keep_alive: 1s, on_exit: disarm}
steps:
  - id: a
    place: {type: limit, market: BTC-USD, side: long, size: 0.0001, price: 19800}
  - id: b
    place: {type: limit, market: BTC-USD, side: long, size: 0.0001, price: 19700}
  - id: c
    place: {type: limit, market: BTC-USD, side: long, size: 0.0001, price: 19600}
  - wait: 4s
  - id: late
    place: {type: limit, market: BTC-USD, side: long, size: 0.0001, price: 19500}
`;

const PROFILE = (patience: string) =>
  `anchors: {copies: {away: {webhook: {env: ANCHORS_WEBHOOK}}}, patience: ${patience}}`;

it.concurrent(
  'sends no order while a copy of the anchors is down for too long, but sends cancels and the deadman switch',
  () =>
    webhook(503, (url, posted) =>
      scene({ runbook: PATIENT, profile: PROFILE('1s') }, async ({ venue, live, path }) => {
        const { exit, report, err, out } = await live([], { VENUE_JWT: JWT, ANCHORS_WEBHOOK: url });
        expect([exit, report.outcome, report.error]).toMatchObject([
          1,
          'failed',
          { step: 'steps/late', message: expect.stringContaining('ANCHORS_FAILING') },
        ]);
        expect(venue.placed).toHaveLength(3);
        expect(venue.orders.map(({ status }) => status)).toEqual(['canceled', 'canceled', 'canceled']);
        expect(report.deadman.map(({ event }) => event)).toEqual(
          expect.arrayContaining(['armed', 'renewed', 'disarmed']),
        );
        expect(err).toContain('anchors cannot be written to anchors.copies.away: HTTP_503');
        const { anchors } = readAnchors(join(path, '.runbook', 'anchors.jsonl'));
        expect(anchors.length).toBeGreaterThan(1);
        expect(posted.slice(0, 2)).toEqual([anchors[0], anchors[0]]);
        expect(`${out}${err}`).not.toContain('canary-address');
      }),
    ),
  60_000,
);

it.concurrent(
  'writes each anchor to a copy that answers, and delays nothing',
  () =>
    webhook(204, (url, posted) =>
      scene({ runbook: PATIENT, profile: PROFILE('1s') }, async ({ venue, live, path }) => {
        const { exit, err } = await live([], { VENUE_JWT: JWT, ANCHORS_WEBHOOK: url });
        expect([exit, venue.placed.length, err.includes('anchors cannot')]).toEqual([0, 4, false]);
        expect(posted).toEqual(readAnchors(join(path, '.runbook', 'anchors.jsonl')).anchors);
      }),
    ),
  60_000,
);

/** Removes the last act of each chain, and everything that the kill switch shows since the last run, as one who can write may. */
async function removeLastAct(state: string): Promise<void> {
  const store = await openDatabase(join(state, 'runbook.db'));
  store.exec(
    'DELETE FROM account_act WHERE seq = (SELECT max(seq) FROM account_act AS other WHERE other.account = account_act.account)',
  );
  store.close();
  const shared = await openDatabase(join(state, 'shared.db'));
  shared.exec('DELETE FROM kill_event WHERE sequence = (SELECT max(sequence) FROM kill_event)');
  shared.close();
}

const RELEASE = ['release', '--profile', 'p.yaml', '--by', 'ada'];
const KILL_ALL = ['kill', '--by', 'ada'];
const BASELINE = ['account', 'baseline', '--market', 'BTC-USD', '--size', '0', '--by', 'ada'];

interface Act {
  readonly commands: readonly (readonly string[])[];
  readonly chain: RegExp;
  readonly refusal: string;
}

function checkRemoved({ commands, chain, refusal }: Act): Promise<void> {
  return webhook(204, (url, posted) =>
    scene({ runbook: RESTING, profile: PROFILE('1h') }, async ({ venue, start, live, run, path }) => {
      const env = { VENUE_JWT: JWT, ANCHORS_WEBHOOK: url };
      const state = join(path, '.runbook');
      const running = start(['run', 'one.yaml', '--profile', 'p.yaml'], env);
      await rests(venue);
      running.child.kill('SIGKILL');
      await running.ended;
      for (const words of commands) expect((await run(words, env)).exit).toBe(0);
      const { anchors } = readAnchors(join(state, 'anchors.jsonl'));
      expect([anchors.at(-1)?.run, anchors.at(-1)]).toEqual([expect.stringMatching(chain), posted.at(-1)]);
      const verify = async () => document((await run(['audit', 'verify', '--json'], env)).out);
      expect(await verify()).toMatchObject({ ok: true });
      await removeLastAct(state);
      expect(await verify()).toMatchObject({ ok: false });
      expect((await live([], env)).err).toContain(refusal);
    }),
  );
}

const REMOVED = 'anchors a %s when it is given, so that its removal shows before another run';
const OF_ACCOUNT = { chain: /:\d+ main #/, refusal: 'JOURNAL_CONTRADICTED' };

it.concurrent.each<[string, Act]>([['release', { ...OF_ACCOUNT, commands: [RELEASE] }]])(
  REMOVED,
  (_name, act) => checkRemoved(act),
  60_000,
);

it.concurrent.each<[string, Act]>([
  // This user's own switch still has it.
  [
    'kill',
    {
      ...OF_ACCOUNT,
      commands: [['kill', '--profile', 'p.yaml', '--by', 'ada']],
      refusal: 'the kill switch is engaged',
    },
  ],
  ['kill of every account', { ...OF_ACCOUNT, commands: [KILL_ALL, RELEASE, KILL_ALL], chain: /^account \* #/ }],
  ['baseline', { ...OF_ACCOUNT, commands: [BASELINE] }],
])(REMOVED, { tags: ['long'], timeout: 60_000 }, (_name, act) => checkRemoved(act));

it.concurrent(
  'gives a kill all the same where no anchor can be written, and says so',
  () =>
    webhook(503, (url) =>
      scene({ profile: PROFILE('1h') }, async ({ run, path }) => {
        const env = { VENUE_JWT: JWT, ANCHORS_WEBHOOK: url };
        const killed = await run(['kill', '--profile', 'p.yaml', '--by', 'ada', '--json'], env);
        expect([killed.exit, document(killed.out)]).toMatchObject([0, { engaged: true, left: 0 }]);
        expect(killed.err).toContain('not anchored: anchors.copies.away: HTTP_503');
        expect(`${killed.out}${killed.err}`).not.toContain('canary-address');
        expect(readAnchors(join(path, '.runbook', 'anchors.jsonl')).anchors).toHaveLength(1);
      }),
    ),
  60_000,
);
