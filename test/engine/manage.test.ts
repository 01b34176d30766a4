/** Tests `manage` against the simulated venue: what each barrier does with the position, its orders, and the venue's own books. */
import { describe, expect, it } from 'vitest';
import type { FaultRule } from '../../src/gateway/simulator/config/faults.ts';
import type { SimulatorConfig } from '../../src/gateway/simulator/simulator.ts';
import type { Transport } from '../../src/gateway/transport.ts';
import { inputsFrom, loadedFrom, type Performance, perform, replay, type Scene, START } from './stage.ts';

/** Prices of the market, by the seconds after which they hold. */
type Path = Readonly<Record<number, number>>;

const HEAD = `runbook: held
dsl: 1
feeds: {mid: {type: price, max_age: 5s}}
leaves: {position: none}
steps:
  - place: {type: market, market: BTC-USD, side: long, size: 0.1, price: 64100}
`;
const LEGS = 'stop_loss: {trigger: 63000, price: 62900}, take_profit: {trigger: 65000, price: 64990}';

const EXIT_AT_20S = `${LEGS}, time_limit: 20s`;

function market(path: Path, depth = '100'): SimulatorConfig {
  const points = Object.entries(path).map(([at, price]) => ({ afterMs: Number(at) * 1000, price: String(price) }));
  return {
    markets: {
      'BTC-USD': {
        tick: '1',
        lot: '0.0001',
        start: '64000',
        spreadBps: 0,
        depth,
        levels: 10,
        path: { kind: 'points', points },
      },
    },
  };
}

async function play(
  manage: string,
  path: Path,
  {
    config = {},
    step = '',
    head = HEAD,
    depth,
    ...rest
  }: Partial<Omit<Scene, 'config'>> & {
    readonly config?: SimulatorConfig;
    readonly step?: string;
    readonly head?: string;
    readonly depth?: string;
  } = {},
): Promise<Performance> {
  const text = `${head}  - id: held\n    manage: {market: BTC-USD, side: short, ${manage}}\n${step}outputs: {how: "\${held.how}", at: held.exit_price, filled: held.filled, realized: held.realized}\n`;
  const loaded = loadedFrom({ file: 'held.yaml', text });
  const scene: Scene = {
    loaded,
    inputs: inputsFrom(loaded, {}),
    config: { ...market(path, depth), ...config },
    ...rest,
  };
  const performance = await perform(scene);
  await replay(performance, scene);
  return performance;
}

/** The orders of the venue's books after the entry: type, trigger and status. */
function listOrders({ books }: Performance): readonly string[] {
  return books.orders
    .slice(1)
    .map(({ type, trigger_price: trigger, status }) =>
      [type, trigger, status].filter((part) => part !== undefined).join(' '),
    );
}

function listAlarms({ entries }: Performance): readonly string[] {
  return entries.flatMap((entry) => (entry.type === 'order.alarmed' ? [entry.data.alarm] : []));
}

/** The fills cannot be read from 20 s on until so many, s. */
function refuseFills(status: number, untilS: number): FaultRule[] {
  const when = { afterMs: 20_000, untilMs: untilS * 1000 };
  return ['GET /fills', 'GET /fills/order'].map((on) => ({ on, when, do: 'status', status }));
}

/** Somebody else cancels the stop before the third reading. */
function cancelFirstStop(venue: Transport): Transport {
  let stop: string | undefined;
  let readings = 0;
  return {
    async send(request, options) {
      readings += request.endpoint === 'GET /orders' ? 1 : 0;
      if (readings === 6 && stop !== undefined) {
        const params = { order_id: { as: 'text', text: stop }, market_id: { as: 'text', text: 'BTC-USD' } };
        stop = undefined;
        await venue.send(
          { ...request, endpoint: 'DELETE /orders', method: 'DELETE', path: '/orders', params } as never,
          options,
        );
      }
      const reply = await venue.send(request, options);
      if (request.endpoint === 'POST /orders' && reply.kind === 'answer' && reply.body.includes('stop_loss'))
        stop = JSON.parse(reply.body).result[0].id;
      return reply;
    },
  };
}

/** Somebody else cancels the second stop as soon as the venue has it and the first cancel was refused. */
function cancelSecondStop(venue: Transport): Transport {
  const stops: string[] = [];
  let cancels = 0;
  return {
    async send(request, options) {
      const reply = await venue.send(request, options);
      if (request.endpoint === 'POST /orders' && reply.kind === 'answer' && reply.body.includes('stop_loss'))
        stops.push(JSON.parse(reply.body).result[0].id);
      cancels += request.endpoint === 'DELETE /orders' ? 1 : 0;
      if (request.endpoint === 'DELETE /orders' && cancels === 1) {
        const params = { order_id: { as: 'text', text: stops[1] }, market_id: { as: 'text', text: 'BTC-USD' } };
        await venue.send({ ...request, params } as never, options);
      }
      return reply;
    },
  };
}

describe('figures on the wire', () => {
  const RISE: Path = { 0: 64000, 10: 64333, 30: 63620 };

  it('are as fine as the author wrote them where the market is not described', async () => {
    const trail =
      'stop_loss: {trigger: 63000, price: 62900}, trail: {feed: feeds.mid, by: 1%, step: 10bps}, time_limit: 60s';
    const performance = await play(trail, RISE, { undescribed: true });
    expect(listOrders(performance)).toEqual([
      'stop_loss 63000 canceled',
      'stop_loss 63360 canceled',
      'stop_loss 63689 closed',
    ]);
    for (const { params } of performance.report.requests) expect(JSON.stringify(params)).not.toMatch(/\d\.\d{19}/);
  });

  it('are never more than the fraction of the position', async () => {
    const third =
      'stop_loss: {trigger: 63000, price: 62900}, take_profit: {fraction: 1 / 3, trigger: 64300, price: 64200}, time_limit: 60s';
    const { report } = await play(third, RISE);
    const sizes = report.requests.flatMap(({ params }) => (params['type'] === 'take_profit' ? [params['size']] : []));
    expect(sizes).toEqual(['0.333333333333333333']);
  });
});

describe('one side fills', () => {
  it('a target that fills cancels the stop', async () => {
    const played = await play(LEGS, { 0: 64000, 10: 65010 });
    expect(played.report.outputs).toMatchObject({ how: 'take_profit', filled: '0.1' });
    expect(listOrders(played)).toEqual(['stop_loss 63000 canceled', 'take_profit 65000 closed']);
    expect(played.report.outcome).toBe('succeeded');
  });

  it('a stop that fills cancels the target', async () => {
    const played = await play(LEGS, { 0: 64000, 10: 62990 });
    expect(played.report.outputs).toMatchObject({ how: 'stop_loss', filled: '0.1' });
    expect(listOrders(played)).toEqual(['stop_loss 63000 closed', 'take_profit 65000 canceled']);
  });

  it('a target for a part of the position leaves the rest to the stop', async () => {
    const legs =
      'stop_loss: {trigger: 63000, price: 62900}, take_profit: {fraction: 0.4, trigger: 65000, price: 64990}';
    const played = await play(legs, { 0: 64000, 10: 65010, 20: 62990 });
    expect(played.report.outputs).toMatchObject({ how: 'stop_loss', filled: '0.1' });
    expect(listOrders(played)).toEqual(['stop_loss 63000 closed', 'take_profit 65000 closed']);
  });

  it('a target that fills in parts is held until it is whole', async () => {
    const played = await play(LEGS, { 0: 64000, 10: 64990, 20: 65010, 30: 64995, 40: 65010 }, { depth: '0.011' });
    expect(played.report.outputs).toMatchObject({ how: 'take_profit', filled: '0.1' });
    expect(played.report.outcome).toBe('succeeded');
  });
});

describe('a trailing stop', () => {
  const TRAIL = 'stop_loss: {trigger: 63000, price: 62900}, trail: {feed: feeds.mid, by: 1%, step: 0.1%}';

  it('tightens behind the best price, is never loosened, and closes the position there', async () => {
    const played = await play(TRAIL, { 0: 64000, 10: 65000, 20: 64700, 30: 66000, 40: 65500, 50: 65300 });
    expect(listOrders(played)).toEqual([
      'stop_loss 63000 canceled',
      'stop_loss 63360 canceled',
      'stop_loss 64350 canceled',
      'stop_loss 65340 closed',
    ]);
    expect(played.report.outputs).toMatchObject({ how: 'trail', filled: '0.1' });
  });

  it('has the new stop live before the old one is cancelled', async () => {
    const { entries } = await play(TRAIL, { 0: 64000, 10: 65000, 30: 64300 });
    const steps = entries.flatMap((entry) =>
      entry.type === 'call.intended' && entry.data.endpoint !== 'GET /orders' && entry.step === 'steps/held'
        ? [`${entry.data.endpoint}`]
        : [],
    );
    expect(steps.slice(0, 5)).toEqual([
      'POST /orders',
      'POST /orders',
      'DELETE /orders',
      'POST /orders',
      'DELETE /orders',
    ]);
  });

  it('keeps the stop that works where the tighter one is refused', async () => {
    const faults: FaultRule[] = [{ on: 'POST /orders', when: { call: 3 }, do: 'error', error: 'ORDER_REJECTED' }];
    const played = await play(`${TRAIL}, time_limit: 40s`, { 0: 64000, 30: 63000 }, { config: { faults } });
    expect(listAlarms(played)).toContain('StopNotTightened');
    expect(played.report.outputs).toMatchObject({ filled: '0.1' });
    expect(played.report.outcome).toBe('succeeded');
  });
});

describe('break-even', () => {
  it('moves the stop to the average entry once the gain is there', async () => {
    const legs = 'stop_loss: {trigger: 63000, price: 62900}, break_even: {after: 1%, offset: 0.1%}';
    const played = await play(legs, { 0: 64000, 10: 64700, 30: 64020 });
    expect(listOrders(played)).toEqual(['stop_loss 63000 canceled', 'stop_loss 64065 closed']);
    expect(played.report.outputs).toMatchObject({ how: 'break_even', filled: '0.1' });
  });
});

describe('a market exit', () => {
  it('closes the position when its time is over, after its orders are cancelled', async () => {
    const played = await play(`${LEGS}, time_limit: 30s`, { 0: 64000 });
    expect(played.report.outputs).toMatchObject({ how: 'time_limit', filled: '0.1' });
    expect(listOrders(played)).toEqual(['stop_loss 63000 canceled', 'take_profit 65000 canceled', 'market closed']);
  });

  it('replaces a stop that the market has gapped through, within its slip', async () => {
    const played = await play(`${LEGS}, escalate: {after: 10s, slip: 50bps}`, { 0: 64000, 10: 60000 });
    expect(played.report.outputs).toMatchObject({ how: 'escalated', filled: '0.1' });
    expect(listOrders(played)).toEqual(['stop_loss 63000 canceled', 'take_profit 65000 canceled', 'market closed']);
    expect(played.books.orders.at(-1)?.price).toBe('59700');
  });

  it('is sent again at the price then while a part is left', async () => {
    const played = await play(
      `${LEGS}, time_limit: 20s`,
      { 0: 64000, 21: 64000, 23: 64010 },
      { depth: '0.006', head: HEAD.replace('size: 0.1', 'size: 0.05') },
    );
    expect(played.report.outputs).toMatchObject({ how: 'time_limit', filled: '0.05' });
  });

  it('closes the position where the venue refuses its first stop', async () => {
    const faults: FaultRule[] = [{ on: 'POST /orders', when: { call: 2 }, do: 'error', error: 'ORDER_REJECTED' }];
    const played = await play(`${LEGS}, time_limit: 1h`, { 0: 64000 }, { config: { faults } });
    expect([played.report.outcome, played.report.error?.kind]).toEqual(['failed', 'rejected']);
    expect(listOrders(played)).toEqual(['market closed']);
    expect(played.report.residual).toEqual([]);
  });

  it('whose cancels are refused leaves the position with its stop, which the end of the run does not take away', async () => {
    const faults = [1, 2].map((call): FaultRule => {
      return { on: 'DELETE /orders', when: { call }, do: 'error', error: 'INVALID_PARAMETER' };
    });
    const legs = 'stop_loss: {trigger: 63000, price: 62900}, time_limit: 20s';
    const played = await play(legs, { 0: 64000 }, { config: { faults } });
    expect([played.report.error?.kind, played.report.residual[0]?.covered]).toEqual(['rejected', '0.1']);
    expect(listOrders(played)).toEqual(['stop_loss 63000 open']);
  });

  it('of which it is unknown twice what became of its market order is not sent a third time', async () => {
    const faults: FaultRule[] = [
      { on: 'POST /orders', when: { type: 'market', call: '2+' }, do: 'error', error: 'SOMETHING_ODD' },
    ];
    const played = await play(EXIT_AT_20S, { 0: 64000 }, { config: { faults } });
    const posts = played.books.requests.filter(({ path, params }) => path === '/orders' && params['type'] === 'market');
    expect([played.report.outcome, posts.length]).toEqual(['failed', 3]);
    expect(listOrders(played).at(-1)).toBe('stop_loss 63000 open');
    expect(played.report.residual[0]?.covered).toBe('0.1');
  });

  it('that the limits deny leaves the stop where it is', async () => {
    const head = HEAD.replace('leaves:', 'limits: {price_band: {around: "64000", within: 0.1%}}\nleaves:').replace(
      '64100',
      '64050',
    );
    const played = await play(
      `stop_loss: {trigger: 63990, price: 63980}, time_limit: 20s, escalate: {after: 1h, slip: 5%}`,
      { 0: 64000 },
      { head },
    );
    expect(played.report.error).toMatchObject({ kind: 'denied' });
    expect(listOrders(played)).toEqual(['stop_loss 63990 open']);
  });
});

describe('where others leave less than the reserve of tokens', () => {
  const STOP = 'stop_loss: {trigger: 50000, price: 49000}, time_limit: 20s';
  /** When its writes were sent, s after the start. */
  const listWrites = ({ entries }: Performance) =>
    entries.flatMap(({ type, step, at, data }) =>
      type === 'call.attempted' && step === 'steps/held' && 'method' in data && data.method !== 'GET'
        ? [`${data.method} ${((at - START) / 1000).toFixed(1)}`]
        : [],
    );
  const short = (tokens: number): SimulatorConfig => ({
    tokens: { limit: 1200, windowMs: 60_000, foreign: [{ afterMs: 10_000, tokens }] },
  });

  it('closes when its time is over, and is without a stop no longer than with tokens', async () => {
    const played = await play(STOP, { 0: 64000 }, { config: short(1_060) });
    expect(played.report.outputs).toMatchObject({ how: 'time_limit', filled: '0.1' });
    expect(listWrites(played)).toEqual(['POST 0.6', 'DELETE 21.4', 'POST 21.9']);
  });

  it('closes at once behind a cancel for which the venue had no tokens either', async () => {
    const played = await play(STOP, { 0: 64000 }, { config: short(1_140) });
    expect(played.report.outputs).toMatchObject({ how: 'time_limit', filled: '0.1' });
    expect(listWrites(played)).toEqual(['POST 0.6', 'DELETE 21.4', 'DELETE 61.4', 'POST 61.9']);
  });

  it('reads the price of an exit that is due as urgently, and waits for none beyond that time', async () => {
    const needs: (readonly [string | undefined, number | undefined])[] = [];
    const answersFeed: Scene['answersFeed'] = ({ class: urgency, withinMs }, time) => {
      needs.push([urgency, withinMs]);
      return urgency === 'resolve' || time.now() < START + 3_000;
    };
    const played = await play(STOP, { 0: 64000 }, { answersFeed });
    expect(played.report.outputs).toMatchObject({ how: 'time_limit', filled: '0.1' });
    expect(listWrites(played).map((write) => write.split(' ')[0])).toEqual(['POST', 'DELETE', 'POST']);
    const looks = needs.filter(([urgency]) => urgency === undefined).map(([, withinMs]) => withinMs);
    expect([looks[0], Math.min(...looks.map((each) => each ?? 0))]).toEqual([expect.any(Number), 5000]);
  });
});

describe('faults', () => {
  it('a cancel that loses the race against the stop finds the position gone', async () => {
    const faults: FaultRule[] = [{ on: 'DELETE /orders', when: { call: 1 }, do: 'fill_first', fraction: '1' }];
    const played = await play(
      `stop_loss: {trigger: 63000, price: 62900}, time_limit: 20s`,
      { 0: 64000, 20: 62999 },
      { config: { faults } },
    );
    expect(played.report.outputs).toMatchObject({ filled: '0.1' });
    expect(played.books.orders.filter(({ type }) => type === 'market')).toHaveLength(1);
  });

  it.each([
    [503, 40, 'succeeded', undefined, '0.1'],
    [503, 100, 'failed', 'transport', undefined],
    [429, 40, 'succeeded', undefined, '0.1'],
    [429, 100, 'failed', 'transport', undefined],
  ])('fills read as %d until %d s are in its value, or fail the step', async (status, s, outcome, kind, filled) => {
    const faults = refuseFills(status, s);
    const played = await play(EXIT_AT_20S, { 0: 64000 }, { config: { faults } });
    const { report } = played;
    expect([report.outcome, report.error?.kind, report.outputs['filled']]).toEqual([outcome, kind, filled]);
    expect(listOrders(played).at(-1)).toBe('market closed');
  });

  it('waits for the fills of an order of another branch that has closed the position', async () => {
    const text = `runbook: beside
dsl: 1
steps:
  - place: {type: market, market: BTC-USD, side: long, size: 0.1, price: 64100}
  - parallel:
      branches:
        stop:
          - id: held
            manage: {market: BTC-USD, side: short, stop_loss: {trigger: 63000, price: 62900}}
        target:
          - id: target
            place: {type: limit, market: BTC-USD, side: short, size: 0.1, price: 64500}
            allow: reduce
          - wait_for: {order: target, is: terminal, within: 5m}
`;
    const loaded = loadedFrom({ file: 'beside.yaml', text });
    const config = { ...market({ 0: 64000, 22: 64600 }), faults: refuseFills(503, 40) };
    const scene = { loaded, inputs: inputsFrom(loaded, {}), config };
    const played = await perform(scene);
    await replay(played, scene);
    const end = played.entries.find(({ type, step }) => type === 'step.ended' && step.endsWith('/held'));
    expect(end?.data).toMatchObject({ outcome: 'succeeded', value: { how: 'cancelled', realized: '49.9' } });
  });

  it('a stop that somebody cancels fails the step, because the position is bare', async () => {
    const played = await play(LEGS, { 0: 64000 }, { between: cancelFirstStop });
    expect(played.report.error).toMatchObject({ kind: 'unprotected_position' });
  });

  it.each([
    ['lost_before', 2, 'not_placed'],
    ['lost_before', 3, 'not_placed'],
    ['lost_before', 4, undefined],
    ['lost_after', 2, undefined],
    ['lost_after', 3, undefined],
    ['lost_after', 4, undefined],
  ] as const)('%s of order %i ends as %s, with nothing left', async (fault, call, error) => {
    const faults: FaultRule[] = [{ on: 'POST /orders', when: { call }, do: fault }];
    const trail = `${LEGS}, trail: {feed: feeds.mid, by: 1%, step: 0.1%}, time_limit: 10m`;
    const step = '    retry: {on: [transport], max: 2}\n';
    const played = await play(trail, { 0: 64000, 10: 64500 }, { config: { faults }, step });
    expect([played.report.error?.kind, played.report.residual]).toEqual([error, []]);
    expect(played.books.orders.filter(({ terminal }) => !terminal)).toEqual([]);
  });
});

describe('an exit that is interrupted', () => {
  const PATH = { 0: 64000 };

  /** The instants just after something is known or sent while the position is closed, ms after the start. */
  async function findInstants(rest: Parameters<typeof play>[2] = {}): Promise<readonly number[]> {
    const { entries } = await play(EXIT_AT_20S, PATH, rest);
    const first = entries.find((entry) => entry.type === 'call.intended' && entry.data.endpoint === 'DELETE /orders');
    const last = entries.find((entry) => entry.type === 'step.ended' && entry.step === 'steps/held');
    const within = entries.filter(({ at }) => at >= (first?.at ?? 0) && at <= (last?.at ?? 0));
    const known = new Set(within.map(({ at }) => at - START));
    return [...known].map((at) => at + 1).filter((at) => !known.has(at));
  }

  it('by a person or a signal at any instant leaves no position without its stop', async () => {
    // A slow disk: the market order waits to be sent while the stop is gone.
    const commitMs = () => 300;
    for (const [index, afterMs] of (await findInstants({ commitMs })).entries()) {
      const commands = [{ command: index % 2 === 0 ? 'cancel' : 'interrupt', by: 'ada', afterMs }] as const;
      const { report, books } = await play(EXIT_AT_20S, PATH, { commands, commitMs });
      const bare = report.residual.filter(({ size, covered }) => size !== covered);
      expect([afterMs, bare]).toEqual([afterMs, []]);
      expect(books.orders.filter(({ type, terminal }) => type === 'market' && !terminal)).toEqual([]);
    }
  });

  it('by the time-out of the step closes the position and succeeds', async () => {
    const [, second = 0] = (await findInstants({ commitMs: () => 300 })).slice(-6);
    const played = await play(EXIT_AT_20S, PATH, { step: `    timeout: ${second}ms\n`, commitMs: () => 300 });
    expect(played.report.residual).toEqual([]);
    expect(played.report.outputs).toMatchObject({ how: 'time_limit', filled: '0.1' });
  });

  it('by the failure of a branch beside it leaves no position without its stop', async () => {
    const commitMs = () => 300;
    for (const instant of (await findInstants({ commitMs })).slice(0, -2)) {
      const text = `${HEAD}  - parallel:
      join: all
      on_fail: cancel_others
      branches:
        hold: [{manage: {market: BTC-USD, side: short, ${EXIT_AT_20S}}}]
        fails: [{wait: {until: run.started_at + seconds(${instant / 1000})}}, {fail: {because: it does}}]
`;
      const loaded = loadedFrom({ file: 'held.yaml', text });
      const { report } = await perform({ loaded, inputs: {}, config: market(PATH), commitMs });
      const bare = report.residual.filter(({ size, covered }) => size !== covered);
      expect([instant, report.outcome, bare]).toEqual([instant, 'failed', []]);
    }
  });
});

it('keeps its stop where the journal cannot record the exit', async () => {
  const played = await play(EXIT_AT_20S, { 0: 64000 }, { diskFullAfterMs: 15_000 });
  expect([played.report.outcome, played.report.error?.kind]).toEqual(['halted', 'denied']);
  expect(listOrders(played)).toContain('stop_loss 63000 open');
  expect(played.report.residual[0]?.covered).toBe('0.1');
});

it('goes on with the older stop where somebody cancels the newer one', async () => {
  // The venue refuses the cancel of the first stop once, and somebody cancels the second one.
  const faults: FaultRule[] = [{ on: 'DELETE /orders', when: { call: 1 }, do: 'error', error: 'INVALID_PARAMETER' }];
  const trail =
    'stop_loss: {trigger: 63000, price: 62900}, trail: {feed: feeds.mid, by: 1%, step: 5%}, break_even: {after: 0.5%, offset: 0}, time_limit: 5m';
  const played = await play(
    trail,
    { 0: 64000, 10: 64400, 14: 64100, 30: 62990 },
    { config: { faults }, between: cancelSecondStop },
  );
  expect(listOrders(played)).toEqual(['stop_loss 63000 closed', 'stop_loss 64001 canceled']);
  expect(played.report.outputs).toMatchObject({ how: 'stop_loss', filled: '0.1' });
});

it('releases the deadman switch when its first stop is live', async () => {
  const head = HEAD.replace(
    'leaves:',
    'deadman: {market: BTC-USD, timeout: 20s, release_after: held, on_exit: disarm}\nleaves:',
  );
  const played = await play(LEGS, { 0: 64000, 60: 65010 }, { head });
  const sent = played.books.requests.map(({ method, path }) => `${method} ${path}`);
  const [, stop] = sent.flatMap((request, index) => (request === 'POST /orders' ? [index] : []));
  const readings = sent.slice(stop, sent.indexOf('DELETE /cancel_all_after')).filter((each) => each === 'GET /orders');
  expect(readings).toHaveLength(1);
  expect([played.report.outputs['how'], played.books.deadman.armed]).toEqual(['take_profit', []]);
});

it('fails where the run holds no position on that side', async () => {
  const played = await play(
    LEGS,
    { 0: 64000 },
    { head: HEAD.replace('side: long', 'side: short').replace('64100', '63900') },
  );
  expect(played.report.error).toMatchObject({ kind: 'not_found' });
  expect(listOrders(played)).toEqual([]);
});

it('holds what is bought again after its stop has closed more than the run had', async () => {
  const positions = [{ market: 'BTC-USD', size: '0.3', price: '60000', agoMs: 3_600_000 }];
  const again = `  - place: {type: market, market: BTC-USD, side: long, size: 0.1, price: 64100}
  - manage: {market: BTC-USD, side: short, stop_loss: {trigger: 62000, price: 61900}, time_limit: 10s}
`;
  const config = { ...market({ 0: 64000, 10: 62990 }), account: { positions } };
  const played = await play(
    LEGS.replace(', take_profit: {trigger: 65000, price: 64990}', ''),
    {},
    { config, step: again },
  );
  expect([played.report.outcome, played.report.residual]).toEqual(['succeeded', []]);
  expect(listOrders(played).slice(-4)).toEqual([
    'stop_loss 63000 closed',
    'market closed',
    'stop_loss 62000 canceled',
    'market closed',
  ]);
});

describe('a leg that is refused for its rate', () => {
  it.each(['stop_loss', 'take_profit'] as const)(
    'is placed by the next attempt, and the position stays: the %s',
    async (type) => {
      const faults: FaultRule[] = [
        { on: 'POST /orders', when: { type, call: 1 }, do: 'rate_limited', retryAfter: '1' },
      ];
      const played = await play(
        `${LEGS}, time_limit: 20s`,
        { 0: 64000, 10: 65100 },
        { config: { ...market({ 0: 64000, 10: 65100 }), faults } },
      );
      expect([played.report.outcome, played.report.outputs['how']]).toEqual(['succeeded', 'take_profit']);
    },
  );
});

describe('a leg that too many orders of the last minute deny', () => {
  const NEVER = `${LEGS}, time_limit: 1h`;

  it.each([
    ['its first stop', NEVER, 1],
    ['its target', NEVER, 2],
  ])('waits for the minute to pass, and the position stays: %s', async (_what, legs, maxOrdersPerMinute) => {
    const played = await play(legs, { 0: 64000, 200: 65100 }, { limits: { maxOrdersPerMinute } });
    expect([played.report.outcome, played.report.outputs['how']]).toEqual(['succeeded', 'take_profit']);
    expect(listOrders(played)).toEqual(['stop_loss 63000 canceled', 'take_profit 65000 closed']);
  });

  it('is not waited for without end', async () => {
    const forbidden = (time: { now(): number }) =>
      time.now() > START + 4000 ? 'ORDER_RATE_EXCEEDED: orders=1, max=1' : undefined;
    const head = `${HEAD}  - wait: 5s\n`;
    const { report, entries } = await play(NEVER, { 0: 64000 }, { head, forbidden });
    expect([report.error?.kind, report.residual[0]?.covered]).toEqual(['denied', '0']);
    expect((entries.at(-1)?.at ?? Number.POSITIVE_INFINITY) - START).toBeLessThan(200_000);
  });
});

it('places its stop although the price of the market cannot be read', async () => {
  const trail =
    'stop_loss: {trigger: 63000, price: 62900}, trail: {feed: feeds.mid, by: 1%, step: 0.1%}, time_limit: 10m';
  const played = await play(trail, { 0: 64000, 30: 62950 }, { feedAgeMs: 60_000 });
  expect([played.report.outcome, played.report.outputs['how']]).toEqual(['succeeded', 'stop_loss']);
  expect(listOrders(played)).toEqual(['stop_loss 63000 closed']);
});

it('fails where a price that its stop is computed from cannot be read', async () => {
  const legs = 'stop_loss: {trigger: tick(feeds.mid * 0.98), price: 60000}, time_limit: 10m';
  const { report } = await play(legs, { 0: 64000 }, { feedAgeMs: 60_000 });
  expect([report.outcome, report.error?.kind]).toEqual(['failed', 'stale_feed']);
});

it('ends with its stop at whatever instant that closes the position, also before its target is placed', async () => {
  const legs = 'stop_loss: {trigger: 63900, price: 63000}, take_profit: {trigger: 65000, price: 64990}';
  for (let at = 0.4; at < 4; at += 0.1) {
    const played = await play(legs, { 0: 64000, [at]: 63800 });
    const stops = played.books.orders.filter(({ type }) => type === 'stop_loss');
    // Crossed before it was placed, the market takes it at once.
    expect([at, played.report.outcome, stops.map(({ status }) => status)]).toEqual([at, 'succeeded', ['closed']]);
    expect(played.report.outputs['how']).toBe('stop_loss');
  }
});

describe('an order of another step that could close the position as well', () => {
  const STOP = 'protect: {market: BTC-USD, side: short, stop_loss: {fraction: 1, trigger: 63800, price: 63000}}';
  const EXIT = 'stop_loss: {trigger: 63700, price: 62900}, time_limit: 10s';
  const net = ({ books }: Performance) =>
    books.fills.reduce((sum, { side, size }) => sum + (side === 'long' ? 1 : -1) * Number(size), 0);
  const list = ({ books }: Performance) => books.orders.map(({ type, side, status }) => `${type} ${side} ${status}`);

  it('has closed it unseen: nothing is sold once more', async () => {
    const head = `${HEAD}  - ${STOP}\n  - wait: 20s\n`;
    const played = await play(EXIT, { 0: 64000, 15: 63750 }, { head });
    expect(list(played)).toEqual(['market long closed', 'stop_loss short closed', 'stop_loss short rejected']);
    expect(net(played)).toBe(0);
  });

  it('ends before the market order of the exit', async () => {
    const head = `${HEAD}  - place: {type: limit, market: BTC-USD, side: short, size: 0.05, price: 70000}\n`;
    const played = await play(EXIT, { 0: 64000 }, { head });
    const orders = ['market long closed', 'limit short canceled', 'stop_loss short canceled', 'market short closed'];
    expect(list(played)).toEqual(orders);
    expect(net(played)).toBe(0);
  });

  it('is placed again where it is the only stop and the exit is refused', async () => {
    const refused: FaultRule[] = [
      { on: 'POST /orders', when: { type: 'market', call: '2+' }, do: 'error', error: 'INSUFFICIENT_MARGIN' },
    ];
    const head = `${HEAD}  - ${STOP}\n`;
    const played = await play('time_limit: 10s', { 0: 64000 }, { head, config: { faults: refused } });
    expect(list(played)).toEqual(['market long closed', 'stop_loss short canceled', 'stop_loss short open']);
    expect(played.report.residual[0]?.covered).toBe('0.1');
  });
});

describe('a look that finds nothing to do', () => {
  it.each([2_500, 3_500, 5_500, 7_500, 9_500])(
    'is the same in a replay, which comes to it only when somebody cancels, after %i ms: drawn 1760500130',
    async (afterMs) => {
      const cancel = { command: 'cancel', by: 'ada', reason: 'enough', afterMs } as const;
      const played = await play('time_limit: 1h', { 0: 64000 }, { commands: [cancel] });
      expect(played.report.outcome).toBe('failed');
    },
  );
});
