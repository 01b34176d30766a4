/** Tests a deadman timeout that only the run knows: a live run arms no switch that is too short to act by, a rehearsal does. */
import { describe, expect, it } from 'vitest';
import { Duration } from '../../src/runbook/values.ts';
import { loadedFrom, perform } from './stage.ts';

const BLOCK = 'deadman: {market: BTC-USD, timeout: inputs.t, on_exit: disarm}\nsteps:\n';
const PLACE = '  - place: {type: limit, market: BTC-USD, side: long, size: 0.01, price: 50000}\n';
const ARM = 'steps:\n  - arm_deadman: {market: BTC-USD, timeout: inputs.t}\n';

async function run(lines: string, mode: 'live' | 'simulated', ms: number) {
  const text = `runbook: short\ndsl: 1\nleaves: {position: open, because: the case is about the switch}\ninputs: {t: {type: duration}}\n${lines}`;
  const scene = { loaded: loadedFrom({ file: 'short.yaml', text }), inputs: { t: new Duration(ms) }, config: {} };
  const { report, books } = await perform({ ...scene, setup: { mode } });
  return {
    ended: [report.outcome, report.error?.kind],
    posts: books.requests.filter(({ method }) => method === 'POST').map(({ path }) => path),
  };
}

describe.each([
  ['a block', `${BLOCK}${PLACE}`, ['/cancel_all_after', '/orders']],
  ['a step', `${ARM}${PLACE}`, ['/cancel_all_after', '/orders']],
])('the timeout of %s', (_, lines, posts) => {
  it('under 5 s fails a live run before anything is sent', async () => {
    expect(await run(lines, 'live', 4_999)).toEqual({ ended: ['failed', 'assertion'], posts: [] });
  });

  it.each([
    ['of 5 s arms the switch of a live run', 'live', 5_000],
    ['under 5 s arms the switch of a rehearsal', 'simulated', 4_000],
  ] as const)('%s', async (_how, mode, ms) => {
    expect(await run(lines, mode, ms)).toEqual({ ended: ['succeeded', undefined], posts });
  });
});
