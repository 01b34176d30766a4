/** Tests the look before it is judged what a run, or a runbook that it calls, leaves: at the venue something may have changed since. */
import { describe, expect, it } from 'vitest';
import type { SimulatorConfig } from '../../src/gateway/simulator/simulator.ts';
import type { Transport } from '../../src/gateway/transport.ts';
import { inputsFrom, loadedFrom, type Performance, perform, replay, type Scene, START } from './stage.ts';

const CONFIG: SimulatorConfig = {
  markets: {
    'BTC-USD': {
      tick: '1',
      lot: '0.0001',
      start: '64000',
      spreadBps: 0,
      depth: '100',
      path: { kind: 'points', points: [{ afterMs: 0, price: '64000' }] },
    },
  },
};
type Row = Record<string, unknown>;

const LONG = '  - place: {type: market, market: BTC-USD, side: long, size: 0.1, price: 64100}\n';
const STOP = '  - protect: {market: BTC-USD, side: short, stop_loss: {fraction: 1, trigger: 60000, price: 59000}}\n';
const HELD = `leaves: {position: protected}\non_error: [{close: {market: BTC-USD, feed: 64000, slip: 5%}}]\nsteps:\n${LONG}${STOP}  - wait: 10m\n`;

/** Performs and replays a runbook; five minutes after its start somebody cancels its stop. `fails`: whether a reading of then gets no answer. */
async function play(
  steps: string,
  fails: (atMs: number) => boolean = () => false,
  tokens: SimulatorConfig['tokens'] = {},
  rest: Partial<Scene> = {},
): Promise<Performance> {
  const file = (name: string, text: string) => ({ file: `${name}.yaml`, text: `runbook: ${name}\ndsl: 1\n${text}` });
  const loaded = loadedFrom(file('caller', steps), (name) => file(name, HELD));
  const between = (venue: Transport, time: { now(): number }): Transport => ({
    async send(request, options) {
      const reply = await venue.send(request, options);
      const at = time.now() - START;
      if (request.endpoint !== 'GET /orders' || reply.kind !== 'answer' || at < 300_000) return reply;
      if (fails(at)) return { ...reply, status: 500, body: 'no' };
      const { result } = JSON.parse(reply.body) as { result: Row[] };
      const rows = result.map((row) => (row['order_type'] === 'stop_loss' ? { ...row, status: 'canceled' } : row));
      return { ...reply, body: JSON.stringify({ success: true, error: '', result: rows }) };
    },
  });
  const scene = { loaded, inputs: inputsFrom(loaded, {}), config: { ...CONFIG, tokens }, between, ...rest };
  const performance = await perform(scene);
  await replay(performance, scene);
  return performance;
}

function isFlat({ books }: Performance): boolean {
  return books.orders.reduce((sum, { side, filled }) => sum + (side === 'long' ? 1 : -1) * Number(filled), 0) === 0;
}

describe('the look at the end of a run', () => {
  it('is repeated where it gets no answer', async () => {
    const played = await play(HELD, (atMs) => atMs < 602_000);
    expect([played.report.outcome, isFlat(played)]).toEqual(['failed', true]);
  });

  it.each<[string, () => boolean, SimulatorConfig['tokens']]>([
    ['no reading gets an answer', () => true, {}],
    ['others use up the tokens', () => false, { foreign: [{ afterMs: 590_000, tokens: 1200 }] }],
  ])('says which order it could not see where %s', async (_, fails, tokens) => {
    const played = await play(HELD, fails, tokens);
    const alarms = played.entries.flatMap(({ type, data }) => (type === 'order.alarmed' ? [data.alarm] : []));
    expect([...new Set(alarms)]).toEqual(['UnseenAtEnd']);
  });
});

describe('the look at the end of a called runbook', () => {
  const CLOSES = 'leaves: {position: protected}\non_error: [{close: {market: BTC-USD, feed: 64000, slip: 5%}}]\n';
  const unanswered = (atMs: number) => atMs < 604_000;

  it.each<[string, string, Partial<Scene>]>([
    ['a person cancels the run', '', { commands: [{ command: 'cancel', by: 'ada', afterMs: 602_000 }] }],
    ['the time of the call is over', '\n    timeout: 602s', {}],
  ])('keeps back no way out where %s meanwhile', async (_, timeout, rest) => {
    const steps = `${CLOSES}steps:\n  - call: {runbook: held}${timeout}\n`;
    const { entries, report } = await play(steps, unanswered, {}, rest);
    const [exit] = entries.filter(({ step }) => step.startsWith('on_error'));
    expect([report.outcome, (exit?.at ?? 0) - START]).toEqual(['failed', 602_000]);
  });
});

describe('a called runbook whose stop was cancelled by somebody', () => {
  it('closes its position when it ends, not when the run does', async () => {
    const played = await play('leaves: {position: protected}\nsteps:\n  - call: {runbook: held}\n  - wait: 1h\n');
    const { outcome, error, startedAt, endedAt = '' } = played.report;
    expect([outcome, error?.kind, isFlat(played)]).toEqual(['failed', 'unprotected_position', true]);
    expect(Date.parse(endedAt) - Date.parse(startedAt)).toBeLessThan(630_000);
  });
});
