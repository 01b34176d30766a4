import { describe, expect, it } from 'vitest';
import type { MockVenue } from './mock-venue.ts';
import { document, scene, until } from './scene.ts';

const RUN = ['run', 'one.yaml', '--profile', 'p.yaml'];
const bought = (then: string) => `runbook: one
dsl: 1
steps:
  - id: entry
    place: {type: market, market: BTC-USD, side: long, size: 0.25, price: 65000}
    await: filled
${then}`;
const PROTECT = `  - id: guard
    protect: {market: BTC-USD, side: short, stop_loss: {fraction: 1, trigger: 60000, price: 59000}}
`;
const NAKED =
  'position left: long 0.25 BTC-USD, which no working stop of this run covers; short 0.25 BTC-USD closes it';
/** Stops rest, everything else fills. */
const stopsRest = (venue: MockVenue) => {
  venue.outcome = ({ order_type }) =>
    order_type === 'market' ? { status: 'closed', filled: true } : { status: 'placed' };
};

describe.concurrent('the last words of a run that holds a position', () => {
  it('that failed say that no stop works for it, also in the summary and the report', () =>
    scene({ runbook: bought('  - assert: entry.filled > 1\n    because: enough\n') }, async ({ run, live }) => {
      const ended = await run(RUN);
      expect([ended.exit, ended.err.split('\n').at(-2)]).toEqual([1, expect.stringContaining(`error: ${NAKED}`)]);
      const summary = await run(['audit', 'summary', 'last']);
      expect(summary.out).toContain(NAKED);
      const { report } = await live();
      expect(report).toMatchObject({
        leaves: { position: 'protected', ok: false },
        residual: [{ market: 'BTC-USD', side: 'long', size: '0.25', covered: '0' }],
      });
      expect(Object.keys(report).sort()).toEqual(
        [
          'alarms',
          'deadman',
          'endedAt',
          'error',
          'inputs',
          'leaves',
          'mode',
          'money',
          'notices',
          'orders',
          'outcome',
          'outputs',
          'reason',
          'requests',
          'residual',
          'run',
          'runbook',
          'startedAt',
          'steps',
          'tokens',
        ], // prettier-ignore
      );
    }));

  it('that did all its steps are an error: it has failed, on_error runs, and ops reads the same words', () =>
    scene(
      {
        // The checker cannot tell that this stop is left out.
        runbook: bought(
          `${PROTECT.replace('- id', '- if: entry.filled > 1\n    id')}on_error:\n  - notify: {to: desk, text: "\${error.kind}"}\n`,
        ),
        profile: 'notify: {desk: {log: true}, ops: {log: true}}',
      },
      async ({ run, live }) => {
        const ended = await run(RUN);
        expect([ended.exit, ended.err]).toEqual([1, expect.stringContaining(`error: ${NAKED}`)]);
        expect(ended.err).toContain('notice to desk: unprotected_position');
        expect(ended.err).toMatch(/notice to ops: run \S+-one-\S+: .*leaves long 0\.25 BTC-USD, which no working stop/);
        expect((await live()).report.error).toMatchObject({ kind: 'unprotected_position' });
        expect((await run(['audit', 'summary', 'last'])).out).toContain(NAKED);
      },
    ));

  it('are none where its stop works', () =>
    scene({ runbook: bought(PROTECT), venue: stopsRest }, async ({ run }) => {
      const ended = await run(RUN);
      expect([ended.exit, ended.err.includes('covers')]).toEqual([0, false]);
      expect((await run(['audit', 'summary', 'last'])).out).not.toContain('position left');
    }));

  it('and that was interrupted before its stop went say so under --json too, on standard error', () =>
    scene({ runbook: bought(`  - wait: 60s\n${PROTECT}`), venue: stopsRest }, async ({ venue, start }) => {
      const running = start([...RUN, '--json']);
      await until(() => venue.of('GET', '/orders').length >= 3);
      running.child.kill('SIGINT');
      const ended = await running.ended;
      expect([ended.exit, document(ended.out)]).toMatchObject([130, { outcome: 'failed' }]);
      expect(ended.err).toContain(`error: ${NAKED}`);
    }));
});
