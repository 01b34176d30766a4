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

  it('waits for the answers of a slow venue', async () => {
    const played = await play(HELD, undefined, {}, { config: { ...CONFIG, latencyMs: { min: 2200, max: 2200 } } });
    expect([played.report.error?.kind, isFlat(played)]).toEqual(['unprotected_position', true]);
  });

  it('waits for the tokens that others have used up: a stop may have been cancelled meanwhile', async () => {
    const played = await play(HELD, undefined, { foreign: [{ afterMs: 590_000, tokens: 1200 }] });
    expect([played.report.error?.kind, isFlat(played)]).toEqual(['unprotected_position', true]);
  });

  it.each<[string, () => boolean, SimulatorConfig['tokens']]>([
    ['no reading gets an answer', () => true, {}],
    [
      'others go on using up the tokens',
      () => false,
      { foreign: [590_000, 650_000].map((afterMs) => ({ afterMs, tokens: 1200 })) },
    ],
  ])('says which order it could not see where %s', async (_, fails, tokens) => {
    const played = await play(HELD, fails, tokens);
    const alarms = played.entries.flatMap(({ type, data }) => (type === 'order.alarmed' ? [data.alarm] : []));
    expect([...new Set(alarms)]).toEqual(['UnseenAtEnd']);
  });
});

describe('the look at an order that ended with less than it asked for', () => {
  const SIZES_LATE = { surprises: { filledLagMs: 2000 }, fillLagMs: 30_000 };
  const AT_ONCE = {
    latencyMs: { min: 10, max: 10 },
    processingMs: { min: 0, max: 0 },
    visibilityLagMs: { min: 0, max: 0 },
  };
  const perf = async (text: string, config: SimulatorConfig, between?: Scene['between']): Promise<Performance> => {
    const loaded = loadedFrom({ file: 'short.yaml', text: `runbook: short\ndsl: 1\n${text}` });
    const given = { ...CONFIG, ...SIZES_LATE, ...AT_ONCE, ...config };
    const scene = {
      loaded,
      inputs: inputsFrom(loaded, {}),
      config: given,
      ...(between === undefined ? {} : { between }),
    };
    const performance = await perform(scene);
    await replay(performance, scene);
    return performance;
  };
  const ENTRY = '  - id: o\n    place: {type: limit, market: BTC-USD, side: long, size: 0.1, price: 60000}\n';
  const CLOSES =
    'leaves: {position: protected}\non_error: [{close: {market: BTC-USD, feed: 64000, slip: 5%}}]\nsteps:\n';
  const FILLS = { on: 'DELETE /orders', do: 'fill_first', fraction: '0.5', when: { call: 1 } } as const;

  it.each([
    ['has no row', { do: 'empty_result' }],
    ['says that there is no such order', { do: 'error', error: 'ORDER_NOT_FOUND', status: 404 }],
  ] as const)('goes on where an answer %s', async (_, fault) => {
    const when = { afterMs: 2500, untilMs: 3700 };
    const faults = [FILLS, { on: 'GET /orders', ...fault, when }];
    const played = await perf(`${CLOSES}${ENTRY}  - cancel: o\n`, { faults });
    expect([played.report.error?.kind, isFlat(played)]).toEqual(['unprotected_position', true]);
  });

  it('goes on where a page lacks it', async () => {
    const second = ENTRY.replace('id: o', 'id: q').replace('60000', '59000');
    const hides = (venue: Transport, time: { now(): number }): Transport => ({
      async send(request, options) {
        const reply = await venue.send(request, options);
        const at = time.now() - START;
        if (request.endpoint !== 'GET /orders' || reply.kind !== 'answer' || at < 3600 || at > 5600) return reply;
        const { result } = JSON.parse(reply.body) as { result: Row[] };
        const rows = result.filter(({ price }) => price !== '60000');
        return { ...reply, body: JSON.stringify({ success: true, error: '', result: rows }) };
      },
    });
    const steps = `${ENTRY}${second}  - cancel: o\n  - cancel: q\n`;
    const played = await perf(`${CLOSES}${steps}`, { faults: [FILLS] }, hides);
    expect([played.report.error?.kind, isFlat(played)]).toEqual(['unprotected_position', true]);
  });

  it('is made once more by an exit: it sells what is held', async () => {
    const held = `${LONG.replace('64100', '64200')}${STOP}`;
    const target =
      '  - place: {type: limit, market: BTC-USD, side: short, size: 0.1, price: 66000}\n    allow: reduce\n';
    const close = '  - wait: 10s\n  - close: {market: BTC-USD, feed: 64000, slip: 5%}\n';
    const faults = [
      FILLS,
      { on: 'GET /orders', do: 'empty_result', when: { afterMs: 45_000, untilMs: 46_100 } },
    ] as const;
    const played = await perf(`leaves: {position: none}\nsteps:\n${held}${target}${close}`, { faults });
    const exits = played.books.orders.filter(({ side, type }) => side === 'short' && type === 'market');
    expect([exits.map(({ initial_size: size }) => size), isFlat(played)]).toEqual([['0.05'], true]);
  });

  /** From the first answer on that shows a canceled order no reading gets an answer. */
  const fallSilent = (venue: Transport): Transport => {
    let isSilent = false;
    return {
      ...venue,
      async send(request, options) {
        const reply = await venue.send(request, options);
        if (reply.kind !== 'answer' || !request.endpoint.startsWith('GET')) return reply;
        if (isSilent) return { ...reply, status: 500, body: 'no' };
        isSilent = reply.body.includes('"canceled"');
        return reply;
      },
    };
  };

  it.each([10, 60, 100, 150, 250, 400])('fails in time for on_error where none shows it, %i ms away', async (away) => {
    const config = { latencyMs: { min: away, max: away }, faults: [FILLS] };
    const { report, entries } = await perf(`${CLOSES}${ENTRY}  - cancel: o\n`, config, fallSilent);
    const isHandled = entries.some(({ type, data }) => type === 'run.moved' && data.to === 'handling');
    expect([report.error?.kind, isHandled]).toEqual(['unprotected_position', true]);
  });

  it.each([20, 650])('fails where no list has it and its fills cannot be read, %i ms away', async (away) => {
    let isGone = false;
    const gone = (venue: Transport): Transport => ({
      ...venue,
      async send(request, options) {
        const reply = await venue.send(request, options);
        if (reply.kind !== 'answer' || !request.endpoint.startsWith('GET')) return reply;
        if (isGone && request.endpoint.startsWith('GET /fills')) return { ...reply, status: 500, body: 'no' };
        if (isGone) return { ...reply, body: JSON.stringify({ success: true, error: '', result: [] }) };
        isGone = reply.body.includes('"canceled"');
        return reply;
      },
    });
    const text = `${CLOSES}${ENTRY}  - cancel: o\n  - wait: 70s\n`;
    const { report } = await perf(text, { latencyMs: { min: away, max: away }, faults: [FILLS] }, gone);
    expect(report.error?.kind).toBe('unprotected_position');
  });

  it('waits for the answers of a slow venue', async () => {
    const { report } = await perf(`${CLOSES}${ENTRY}  - cancel: o\n`, {
      latencyMs: { min: 2200, max: 2200 },
      fillLagMs: 0,
      surprises: {},
    });
    expect(report.outcome).toBe('succeeded');
  });

  it('keeps the switch renewed while its readings fail', async () => {
    const lapses = (venue: Transport, time: { now(): number }): Transport => {
      let since: number | undefined;
      return {
        async send(request, options) {
          const reply = await venue.send(request, options);
          if (reply.kind !== 'answer' || !/^GET .(orders|fills)/.test(request.endpoint)) return reply;
          if (since !== undefined && time.now() - since < 40_000) return { ...reply, status: 500, body: 'no' };
          if (reply.body.includes('"canceled"')) since ??= time.now();
          return reply;
        },
      };
    };
    const deadman = 'deadman: {market: BTC-USD, timeout: 10s, on_exit: disarm}\n';
    const { entries } = await perf(`${deadman}${CLOSES}${ENTRY}  - cancel: o\n`, { faults: [FILLS] }, lapses);
    const moves = entries.flatMap(({ type, data }) =>
      type === 'deadman.moved' && 'event' in data ? [data.event] : [],
    );
    expect([...new Set(moves)]).toEqual(['armed', 'renewed', 'disarmed']);
  });

  it('goes on where it has shown the end itself, and nothing shows what filled', async () => {
    let readings = 0;
    const cancelled = (venue: Transport, time: { now(): number }): Transport => ({
      ...venue,
      async send(request, options) {
        const reply = await venue.send(request, options);
        const isLate = time.now() - START > 3500 && request.endpoint === 'GET /orders';
        if (reply.kind !== 'answer' || !isLate) return reply;
        readings += 1;
        return readings > 1
          ? { ...reply, status: 500, body: 'no' }
          : { ...reply, body: reply.body.replaceAll('"open"', '"canceled"') };
      },
    });
    const text = `finally: [{wait: 4s}]\n${CLOSES}${ENTRY}`;
    const { report } = await perf(text, { latencyMs: { min: 50, max: 50 } }, cancelled);
    expect(report.error?.kind).toBe('unprotected_position');
  });

  it('is made of the fills as well before the second order of an exit', async () => {
    let exit: { readonly id: string; readonly sentAt: number } | undefined;
    let shown = 0;
    /** The record of the first order shows nothing filled, then gets no answer; its fills are whole 2.2 s after it was sent. */
    const late = (
      venue: Transport,
      time: { now(): number; after(ms: number, turn: () => void): unknown },
    ): Transport => ({
      ...venue,
      async send(request, options) {
        const reply = await venue.send(request, options);
        if (reply.kind !== 'answer') return reply;
        const { result } = JSON.parse(reply.body) as { result: Row[] };
        const isExit = request.endpoint === 'POST /orders' && JSON.stringify(request.params).includes('"market"');
        if (isExit) exit ??= { id: String(result[0]?.['id']), sentAt: time.now() };
        const answer = (change: (row: Row) => Row) => {
          const rows = result.map((row) => ([row['id'], row['order_id']].includes(exit?.id) ? change(row) : row));
          return { ...reply, body: JSON.stringify({ success: true, error: '', result: rows }) };
        };
        if (request.endpoint.startsWith('GET /fills'))
          return time.now() - (exit?.sentAt ?? 0) < 2200 ? answer((row) => ({ ...row, size: '0' })) : reply;
        if (request.endpoint !== 'GET /orders' || !result.some(({ id }) => id === exit?.id)) return reply;
        shown += 1;
        if (shown === 1) return answer((row) => ({ ...row, total_filled_size: '0', size: '0.05' }));
        if (shown > 2) return reply;
        await new Promise<void>((turn) => void time.after(options.timeoutMs - 50, turn));
        return { kind: 'failure', sent: true, message: 'timeout: response' };
      },
    });
    const market = { ...CONFIG.markets?.['BTC-USD'], depth: '0.03', levels: 1 };
    const text = `leaves: {position: none}\nsteps:\n${ENTRY.replace('0.1, price: 60000', '0.05, price: 64010')}  - close: {market: BTC-USD, feed: 64000, slip: 20%}\n`;
    const config = { markets: { 'BTC-USD': market }, latencyMs: { min: 50, max: 50 }, surprises: {}, fillLagMs: 0 };
    const played = await perf(text, config as SimulatorConfig, late as never);
    const exits = played.books.orders.filter(({ side, type }) => side === 'short' && type === 'market');
    expect(exits.map(({ initial_size: size }) => size)).toEqual(['0.05', '0.02']);
  });

  it('waits for the tokens of an exit that knows of nothing held, where they are free soon', async () => {
    const foreign = [{ afterMs: 2605, tokens: 1200 }];
    const text = `leaves: {position: none}\nsteps:\n${ENTRY}  - cancel: o\n  - wait: 56s\n  - close: {market: BTC-USD, feed: 64000, slip: 5%}\n`;
    const played = await perf(text, { tokens: { foreign }, faults: [FILLS] });
    expect([played.report.outcome, isFlat(played)]).toEqual(['succeeded', true]);
  });

  it.each([
    [500, 5000],
    [2200, 12_000],
  ])(
    'keeps the second order of an exit back no longer than that, and sells nothing twice, %i ms away',
    async (away, withinMs) => {
      const market = { ...CONFIG.markets?.['BTC-USD'], depth: '0.03', levels: 1 };
      const text = `leaves: {position: none}\nsteps:\n${ENTRY.replace('price: 60000', 'price: 64010')}  - close: {market: BTC-USD, feed: 64000, slip: 20%}\n`;
      const latencyMs = { min: away, max: away };
      const config = { markets: { 'BTC-USD': market }, latencyMs, surprises: { filledLagMs: 2000 }, fillLagMs: 2000 };
      const played = await perf(text, config as SimulatorConfig);
      const exits = played.books.orders.filter(({ side }) => side === 'short');
      expect(exits.map(({ initial_size: size }) => size)).toEqual(['0.1', '0.07', '0.04', '0.01']);
      const gaps = exits.slice(1).map(({ arrivedAt }, index) => arrivedAt - (exits[index]?.arrivedAt ?? 0));
      expect(Math.max(...gaps)).toBeLessThan(withinMs);
    },
  );

  it('is waited for by two branches at one instant as in a replay, where no entry has the instant at which they began', async () => {
    const close = '{close: {market: BTC-USD, feed: 64000, slip: 5%}}';
    const text = `leaves: {position: none}\nsteps:\n${ENTRY}  - parallel:\n      branches: {a: [{cancel: o}, ${close}], b: [${close}]}\n`;
    const config = { latencyMs: { min: 50, max: 100 }, fillLagMs: 0, readLagMs: 1000 };
    const played = await perf(text, { ...config, surprises: { cancelAck: 'canceled' } });
    expect(played.report.outcome).toBe('succeeded');
  });

  it('waits a minute for tokens, in however many markets', async () => {
    const names = Array.from({ length: 4 }, (_, index) => `M${index}-USD`);
    const market = { tick: '1', lot: '0.0001', start: '1000', spreadBps: 0, depth: '100' };
    const path = { kind: 'points', points: [{ afterMs: 0, price: '1000' }] } as const;
    const place = (name: string, index: number) =>
      `  - id: o${index}\n    place: {type: limit, market: ${name}, side: long, size: 0.1, price: 900}\n`;
    const cancels = names.map((_, index) => `        b${index}: [{cancel: o${index}}]\n`).join('');
    const steps = `${names.map(place).join('')}  - parallel:\n      branches:\n${cancels}`;
    const foreign = Array.from({ length: 300 }, (_, second) => ({
      afterMs: 2605 + second * 1000,
      tokens: second === 0 ? 1200 : 60,
    }));
    const played = await perf(`leaves: {position: none}\nsteps:\n${steps}`, {
      markets: Object.fromEntries(names.map((name) => [name, { ...market, path }])),
      tokens: { foreign },
      faults: [{ ...FILLS, when: {} }],
      visibilityLagMs: { min: 20, max: 20 },
      processingMs: { min: 10, max: 10 },
    });
    const stepsEnd = played.entries.findLast(({ type, step }) => type === 'step.ended' && step.startsWith('steps'));
    const handling = played.entries.find(({ type, data }) => type === 'run.moved' && data.to === 'handling');
    expect(played.report.error?.kind).toBe('unprotected_position');
    expect((handling?.at ?? 0) - (stepsEnd?.at ?? 0)).toBeLessThan(64_000);
  });

  it('keeps the second order of an exit back for seconds, however many targets it cancelled', async () => {
    const targets = `  - for_each:\n      each: k\n      in: range(30)\n      do:\n        - place: {type: limit, market: BTC-USD, side: short, size: 0.01, price: 66000}\n          allow: reduce\n`;
    const held = LONG.replace('0.1, price: 64100', '0.5, price: 64200');
    const text = `leaves: {position: none}\nsteps:\n${held}${STOP}${targets}  - close: {market: BTC-USD, feed: 64000, slip: 1%}\n`;
    let exits = 0;
    const slow = (
      venue: Transport,
      time: { now(): number; after(ms: number, turn: () => void): unknown },
    ): Transport => ({
      async send(request, options) {
        if (request.endpoint === 'POST /orders' && JSON.stringify(request.params).includes('"market"')) exits += 1;
        const reply = await venue.send(request, options);
        // Behind the first order of the exit every answer is late.
        if (exits > 1 && request.endpoint.startsWith('GET'))
          await new Promise<void>((turn) => void time.after(1800, turn));
        return reply;
      },
    });
    const late = [{ on: 'POST /orders', do: 'late_reject', reason: 'TRY', when: { type: 'market', call: 2 } }] as const;
    const config = { faults: late, surprises: {}, fillLagMs: 0, latencyMs: { min: 100, max: 100 } };
    const played = await perf(text, config, slow as never);
    const sent = played.books.orders.filter(({ side, type }) => side === 'short' && type === 'market');
    expect([sent.map(({ filled }) => filled), isFlat(played)]).toEqual([['0', '0.5'], true]);
    expect((sent[1]?.arrivedAt ?? 0) - (sent[0]?.arrivedAt ?? 0)).toBeLessThan(10_000);
  });
});

describe.each([
  ['has done its steps', ''],
  ['has stopped', '  - stop: {outcome: enough}\n'],
])('the look at the end of a run that %s', (_, last) => {
  it.each(['kill', 'cancel', 'interrupt'] as const)('hears a %s, and undoes nothing', async (command) => {
    const commands = [{ command, by: 'ada', afterMs: 602_000 }];
    const played = await play(`${HELD}${last}`, (atMs) => atMs < 604_000, {}, { commands });
    const { entries, report } = played;
    const [exit] = entries.filter(({ step }) => step.startsWith('on_error'));
    expect([report.outcome, report.error?.kind, (exit?.at ?? 0) - START]).toEqual(['failed', 'cancelled', 602_000]);
    expect(entries.some(({ step }) => step.includes('/undo'))).toBe(false);
    expect(isFlat(played)).toBe(true);
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

describe('the look at what a run leaves, where its fills were long in coming', () => {
  const path = (points: readonly (readonly [number, string])[]) => ({
    kind: 'points' as const,
    stepMs: 500,
    points: points.map(([afterMs, price]) => ({ afterMs, price })),
  });

  it('is repeated behind them: a stop may have been passed by meanwhile', async () => {
    const steps = `on_error: [{close: {market: BTC-USD, feed: 60000, slip: 20%}}]
steps:
  - place: {type: limit, market: BTC-USD, side: long, size: 0.1, price: 60000}
  - place: {type: stop_limit, market: BTC-USD, side: short, size: 0.1, trigger: 59000, price: 58500}
  - wait: 10s
`;
    const loaded = loadedFrom({ file: 'gap.yaml', text: `runbook: gap\ndsl: 1\n${steps}` });
    const market = {
      ...CONFIG.markets?.['BTC-USD'],
      path: path([
        [0, '64000'],
        [10_500, '59990'],
        [15_000, '50000'],
      ]),
    };
    const config = { markets: { 'BTC-USD': market }, fillLagMs: 30_000 } as SimulatorConfig;
    const scene = { loaded, inputs: inputsFrom(loaded, {}), config, priceFeed: true as const };
    const played = await perform(scene);
    await replay(played, scene);
    expect([played.report.outcome, played.report.error?.kind]).toEqual(['failed', 'unprotected_position']);
  });

  it('is repeated behind what a halted run did when it was resumed', async () => {
    const steps = 'steps:\n  - place: {type: limit, market: BTC-USD, side: long, size: 0.1, price: 60000}\n';
    const loaded = loadedFrom({ file: 'halted.yaml', text: `runbook: halted\ndsl: 1\n${steps}` });
    const config: SimulatorConfig = {
      ...CONFIG,
      surprises: { filledLagMs: 2000 },
      fillLagMs: 12_000,
      faults: [
        { on: 'DELETE /orders', do: 'fill_first', fraction: '0.5' },
        { on: 'POST /orders', do: 'lost_after' },
        { on: 'GET /orders', do: 'status', status: 500, when: { untilMs: 1_000_000 } },
      ],
    };
    const scene = { loaded, inputs: inputsFrom(loaded, {}), config, resumedAfterMs: [1_200_000] };
    const { books, entries } = await perform(scene);
    const left = entries.findLast(({ type }) => type === 'run.residual');
    expect(books.orders.map(({ filled }) => filled)).toEqual(['0.05']);
    expect(left?.data).toMatchObject({ ok: false, left: [{ side: 'long', size: '0.05' }] });
  });
});

describe('the look at the end of a run in a market with more orders than a page', () => {
  /** Puts a full page of newer orders of other programs before the market's rows; one that is asked for by its id is shown alone. */
  const crowd = (venue: Transport): Transport => ({
    async send(request, options) {
      const reply = await venue.send(request, options);
      const { order_id: id, client_order_id: own, p_page: page, status } = request.params;
      if (reply.kind !== 'answer' || request.endpoint !== 'GET /orders' || [id, own, page, status].some(Boolean))
        return reply;
      const { result } = JSON.parse(reply.body) as { result: Row[] };
      const newer = Array.from({ length: 1000 }, (_, index) => ({
        ...result[0],
        id: `BTC-USD@${90_000 + index}`,
        client_order_id: 'mine',
      }));
      return { ...reply, body: JSON.stringify({ success: true, error: '', result: newer }) };
    },
  });

  /** The first ended three minutes before: with the tokens of a minute the newest are read first, and it is seen when the steps are over. */
  it.each([1, 20, 40])('sees that order %i of a quote loop filled as it was cancelled', async (call) => {
    const quote = 'id: quote, place: {type: limit, market: BTC-USD, side: long, size: 0.1, price: 60000}';
    const steps = `leaves: {position: none}
on_error: [{close: {market: BTC-USD, feed: 64000, slip: 5%}}]
steps:
  - repeat:
      max: 40
      every: 5s
      do: [{${quote}}, {cancel: quote}]
`;
    const loaded = loadedFrom({ file: 'quotes.yaml', text: `runbook: quotes\ndsl: 1\n${steps}` });
    const config: SimulatorConfig = {
      ...CONFIG,
      surprises: { filledLagMs: 2000 },
      fillLagMs: 12_000,
      faults: [{ on: 'DELETE /orders', do: 'fill_first', fraction: '0.5', when: { call } }],
    };
    const scene = { loaded, inputs: inputsFrom(loaded, {}), config, between: crowd };
    const played = await perform(scene);
    await replay(played, scene);
    const { outcome, error } = played.report;
    expect([outcome, error?.kind, isFlat(played)]).toEqual(['failed', 'unprotected_position', true]);
  });
});
