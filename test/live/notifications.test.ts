/** Messages of a run over real sockets: a channel that does not exist stops it before it begins, and the journal has what arrived. */
import { describe, expect, it } from 'vitest';
import { JWT } from './mock-venue.ts';
import { document, type Scene, scene } from './scene.ts';
import { webhook } from './webhook.ts';

const NOTIFY = `runbook: one
dsl: 1
leaves: {position: open, because: only its messages are tested}
steps:
  - notify: {to: ops, text: "one"}
  - place: {type: limit, market: BTC-USD, side: long, size: 0.0001, price: 19800}
finally:
  - notify: {to: desk, text: "two"}
`;
const CHANNELS = 'notify: {ops: {webhook: {env: OPS}}, desk: {log: true}}';

interface Summary {
  readonly answers: readonly { readonly question: string; readonly because: readonly string[] }[];
}

/** What the summary says about the messages of the last run, and what the journal has. */
async function review(
  run: Scene['run'],
): Promise<{ readonly alarms: readonly string[]; readonly settled: readonly unknown[] }> {
  const summary = document((await run(['audit', 'summary', 'last', '--json'])).out) as Summary;
  const exported = await run(['audit', 'export', 'last', '--format', 'jsonl']);
  const entries = exported.out
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as { type: string; data: unknown });
  return {
    alarms: summary.answers.flatMap(({ because }) => because.filter((reason) => reason.includes('Undelivered'))),
    settled: entries.flatMap(({ type, data }) => (type === 'notification.settled' ? [data] : [])),
  };
}

describe.concurrent('a message of a run', () => {
  it.each([
    ['in a step', 'desk: {log: true}', 'ops'],
    ['in a block that runs at the end', 'ops: {log: true}', 'desk'],
  ])('to a channel that the profile does not name is refused before the run, %s', (_name, named, missing) =>
    scene({ runbook: NOTIFY, profile: `notify: {${named}}` }, async ({ venue, run }) => {
      const { exit, err } = await run(['run', 'one.yaml', '--profile', 'p.yaml', '--yes']);
      expect([exit, venue.heard.length]).toEqual([2, 0]);
      expect(err).toContain(missing);
    }),
  );

  it.each([
    [204, true],
    [404, false],
  ])('is journaled with what became of it: status %i', (status, delivered) =>
    webhook(status, (url, posted) =>
      scene({ runbook: NOTIFY, profile: CHANNELS }, async ({ live, run }) => {
        const { exit } = await live([], { VENUE_JWT: JWT, OPS: url });
        expect([exit, posted[0]]).toMatchObject([0, { to: 'ops', text: 'one', runbook: 'one', severity: 'info' }]);
        const { alarms, settled } = await review(run);
        expect(settled).toHaveLength(2);
        expect(settled).toEqual(
          expect.arrayContaining([
            { to: 'desk', delivered: true },
            delivered ? { to: 'ops', delivered } : { to: 'ops', delivered, because: 'HTTP_404' },
          ]),
        );
        expect(alarms).toHaveLength(delivered ? 0 : 1);
        expect((await run(['audit', 'replay', 'last'])).exit).toBe(0);
      }),
    ),
  );

  it('can be tested before it is needed', () =>
    webhook(204, (good, posted) =>
      webhook(404, (bad) =>
        scene({ profile: `${CHANNELS}\nheartbeat: {url: {env: HEARTBEAT}}` }, async ({ run }) => {
          const words = ['doctor', '--profile', 'p.yaml', '--notify', '--json'];
          const reached = await run(words, { VENUE_JWT: JWT, OPS: good, HEARTBEAT: good });
          const findings = (out: string) =>
            (document(out) as { findings: readonly { check: string; ok: boolean }[] }).findings.flatMap(
              ({ check, ok }) => (/^(?:notify|heartbeat)/.test(check) ? [[check, ok]] : []),
            );
          expect(findings(reached.out)).toEqual([
            ['notify ops', true],
            ['notify desk', true],
            ['heartbeat', true],
          ]);
          expect(posted).toMatchObject([{ to: 'ops' }]);
          const missed = await run(words, { VENUE_JWT: JWT, OPS: bad, HEARTBEAT: bad });
          expect([missed.exit, findings(missed.out)]).toEqual([
            1,
            [
              ['notify ops', false],
              ['notify desk', true],
              ['heartbeat', false],
            ],
          ]);
        }),
      ),
    ));
});
