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
const NAKED = 'position without a stop: long 0.25 BTC-USD';
/** Stops rest, everything else fills. */
const stopsRest = (venue: MockVenue) => {
  venue.outcome = ({ order_type }) =>
    order_type === 'market' ? { status: 'closed', filled: true } : { status: 'placed' };
};

describe.concurrent('the last words of a run that holds a position', { timeout: 60_000 }, () => {
  it('that failed say that no stop works for it, also in the summary, and no field of the report is new', () =>
    scene({ runbook: bought('  - assert: entry.filled > 1\n    because: enough\n') }, async ({ run, live }) => {
      const ended = await run(RUN);
      expect([ended.exit, ended.err.split('\n').at(-2)]).toEqual([1, expect.stringContaining(`error: ${NAKED}`)]);
      const summary = await run(['audit', 'summary', 'last']);
      expect(summary.out).toContain(NAKED);
      expect(Object.keys((await live()).report).sort()).toEqual(
        [
          'deadman',
          'endedAt',
          'error',
          'mode',
          'orders',
          'outcome',
          'outputs',
          'reason',
          'requests',
          'run',
          'runbook',
          'startedAt',
          'steps',
          'tokens',
        ], // prettier-ignore
      );
    }));

  it('that succeeded are a warning', () =>
    scene({ runbook: bought('') }, async ({ run }) => {
      const ended = await run(RUN);
      expect([ended.exit, ended.err]).toEqual([0, expect.stringContaining(`warning: ${NAKED}`)]);
      expect((await run(['audit', 'summary', 'last'])).out).toContain(NAKED);
    }));

  it('are none where its stop works', () =>
    scene({ runbook: bought(PROTECT), venue: stopsRest }, async ({ run }) => {
      const ended = await run(RUN);
      expect([ended.exit, ended.err.includes('without a stop')]).toEqual([0, false]);
      expect((await run(['audit', 'summary', 'last'])).out).not.toContain('without a stop');
    }));

  it('and that was interrupted before its stop went say so under --json too, on standard error', () =>
    scene({ runbook: bought(`  - wait: 60s\n${PROTECT}`), venue: stopsRest }, async ({ venue, start }) => {
      const running = start([...RUN, '--json']);
      await until(() => venue.of('GET', '/orders').length >= 2);
      running.child.kill('SIGINT');
      const ended = await running.ended;
      expect([ended.exit, document(ended.out)]).toMatchObject([130, { outcome: 'failed' }]);
      expect(ended.err).toContain(`error: ${NAKED}`);
    }));
});
