/** Amends of one order: one at a time, and none whose meaning the venue's document does not show. */
import { describe, expect, it } from 'vitest';
import type { VirtualClock } from '../../src/base/clock.ts';
import type { SimulatorConfig } from '../../src/gateway/simulator/simulator.ts';
import type { Transport, WireReply } from '../../src/gateway/transport.ts';
import { inputsFrom, loadedFrom, type Performance, perform, replay, type Scene } from './stage.ts';

async function performed(steps: string, config: SimulatorConfig = {}): Promise<Performance> {
  const loaded = loadedFrom({
    file: 'orders.yaml',
    text: `runbook: orders\ndsl: 1\nleaves: {position: open, because: the case is about something else}\nsteps:\n${steps}`,
  });
  const scene: Scene = { loaded, inputs: inputsFrom(loaded, {}), config };
  const performance = await perform(scene);
  await replay(performance, scene);
  return performance;
}

/** The PUTs in the sequence in which they were sent and answered. */
function puts({ entries }: Performance): readonly string[] {
  const asked = new Set(
    entries.flatMap((entry) =>
      entry.type === 'call.intended' && entry.data.endpoint === 'PUT /orders' ? [entry.data.call] : [],
    ),
  );
  return entries.flatMap((entry) => {
    if (entry.type === 'call.attempted' && asked.has(entry.data.call)) return [`${entry.step} leaves`];
    if (entry.type === 'call.settled' && asked.has(entry.data.call)) return [`${entry.step} ${entry.data.kind}`];
    return [];
  });
}

/** The cause of each failed step. */
function failures({ entries }: Performance): readonly string[] {
  return entries.flatMap((entry) =>
    entry.type === 'step.ended' && entry.data.error !== undefined ? [entry.data.error.message.split(':')[0] ?? ''] : [],
  );
}

const AT_64000: SimulatorConfig = {
  markets: {
    'BTC-USD': {
      tick: '1',
      lot: '0.0001',
      start: '64000',
      path: { kind: 'points', points: [{ afterMs: 0, price: '64000' }] },
      depth: '0.01',
      levels: 3,
    },
  },
};

describe('an amend', () => {
  it('waits for that of another branch, and both get their own result', async () => {
    const performance = await performed(`  - id: o
    place: {type: limit, market: BTC-USD, side: long, size: 0.01, price: 50000}
  - parallel:
      join: all
      on_fail: let_others_finish
      branches:
        a: [{amend: {order: o, price: 50010}}]
        b: [{amend: {order: o, price: 50020}}]
`);
    expect(puts(performance).map((each) => each.replace(/^.*branches\//, ''))).toEqual([
      expect.stringMatching(/^a.* leaves$/),
      expect.stringMatching(/^a.* confirmed$/),
      expect.stringMatching(/^b.* leaves$/),
      expect.stringMatching(/^b.* confirmed$/),
    ]);
    expect(performance.books.orders.map(({ price }) => price)).toEqual(['50020']);
    expect(performance.report.outcome).toBe('succeeded');
  });

  it('of the size is refused once a record shows a fill, also where the fill itself was not read', async () => {
    const performance = await performed(
      `  - id: o
    place: {type: limit, market: BTC-USD, side: long, size: 1, price: 64004}
    await: accepted
  - wait: 400ms
  - list_orders: {market: BTC-USD, since: run.started_at}
  - amend: {order: o, price: 63990, size: 1}
    catch: [{on: [denied], then: continue}]
`,
      AT_64000,
    );
    expect(puts(performance)).toEqual([]);
    expect(failures(performance)).toEqual(['AMEND_SIZE_OF_PART_FILLED']);
  });

  it('of the size of a stop for a part of the position is refused', async () => {
    const performance = await performed(
      `  - place: {type: market, market: BTC-USD, side: long, size: 0.01, price: 70000}
  - id: guard
    protect: {market: BTC-USD, side: short, stop_loss: {fraction: 1, trigger: 60000, price: 59000}}
  - amend: {order: guard.stop_loss, price: 59500, size: 50}
    catch: [{on: [denied], then: continue}]
`,
      AT_64000,
    );
    expect(puts(performance)).toEqual([]);
    expect(failures(performance)).toEqual(['AMEND_SIZE_OF_POSITION_STOP']);
  });
});

describe('an amend that is refused in words that decide nothing', () => {
  const AMENDED = `  - id: o
    place: {type: limit, market: BTC-USD, side: long, size: 0.01, price: 50000}
  - amend: {order: o, price: 50010}
    catch: [{on: [rejected], then: continue}]
outputs: {price: o.price}
`;
  async function refused(isCarriedOut: boolean): Promise<Performance> {
    const loaded = loadedFrom({
      file: 'orders.yaml',
      text: `runbook: orders\ndsl: 1\nleaves: {position: open, because: the case is about something else}\nsteps:\n${AMENDED}`,
    });
    const scene: Scene = {
      loaded,
      inputs: inputsFrom(loaded, {}),
      // The new terms are shown some seconds later.
      config: { ...AT_64000, visibilityLagMs: { min: 4_000, max: 4_000 } },
      between: (venue) => ({
        async send(request, options) {
          if (request.endpoint !== 'PUT /orders') return venue.send(request, options);
          const reply = await venue.send(
            isCarriedOut ? request : ({ ...request, endpoint: 'GET /account', params: {} } as never),
            options,
          );
          if (reply.kind !== 'answer') return reply;
          return { ...reply, status: 400, body: JSON.stringify({ success: false, error: 'NOT_NOW', result: [] }) };
        },
      }),
    };
    const performance = await perform(scene);
    await replay(performance, scene);
    return performance;
  }

  it('is looked up until a record shows which terms are in force', async () => {
    const done = await refused(true);
    expect([done.books.orders.map(({ price }) => price), done.report.outputs]).toEqual([['50010'], { price: '50010' }]);
    expect(failures(done)).toEqual([]);
  });

  it('fails its step where the old terms stay, and says why', async () => {
    const kept = await refused(false);
    expect([kept.books.orders.map(({ price }) => price), kept.report.outputs]).toEqual([['50000'], { price: '50000' }]);
    expect(failures(kept)).toHaveLength(1);
    expect(JSON.stringify(kept.entries)).toContain('NOT_NOW');
  });
});

it('of an order that the venue shows under an unknown status is not sent: it halts the run once that is not to be settled', async () => {
  const loaded = loadedFrom({
    file: 'orders.yaml',
    text: `runbook: orders
dsl: 1
leaves: {position: open, because: the case is about something else}
steps:
  - id: o
    place: {type: limit, market: BTC-USD, side: long, size: 0.01, price: 50000}
    await: accepted
  - parallel:
      join: all
      branches:
        a: [{amend: {order: o, price: 50010}}]
        b: [{cancel: o, catch: [{on: [unknown_outcome], then: continue}]}]
`,
  });
  const scene: Scene = {
    loaded,
    inputs: inputsFrom(loaded, {}),
    config: AT_64000,
    between: (venue) => ({
      async send(request, options) {
        const reply = await venue.send(request, options);
        if (request.endpoint !== 'GET /orders' || reply.kind !== 'answer') return reply;
        return { ...reply, body: reply.body.replaceAll(/"status":"[a-z]+"/g, '"status":"suspended"') };
      },
    }),
  };
  const performance = await perform(scene);
  await replay(performance, scene);
  expect([performance.report.outcome, performance.report.orders.map(({ state }) => state)]).toEqual([
    'halted',
    ['quarantined'],
  ]);
  expect(puts(performance)).toEqual([]);
});

it.each([
  ['is never confirmed', 'POST /orders', '    await: accepted\n'],
  ['is being cancelled without an end', 'DELETE /orders', '  - {cancel: o, await: accepted}\n'],
] as const)('an amend of an order that %s fails after a while', async (_what, on, more) => {
  const performance = await performed(
    `  - id: o
    place: {type: limit, market: BTC-USD, side: long, size: 0.01, price: 50000}
${more}  - amend: {order: o, price: 50010}
    catch: [{on: [transport], then: continue}]
`,
    { faults: [{ on, do: 'stuck' }] },
  );
  expect(puts(performance)).toEqual([]);
  expect(performance.report.steps.map(({ verb, outcome }) => [verb, outcome])).toContainEqual(['amend', 'failed']);
});

describe('an amended order that a reading shows as cancelled', () => {
  const AMENDED = `  - id: o
    place: {type: limit, market: BTC-USD, side: long, size: 0.01, price: 50000}
  - amend: {order: o, price: 50010}
`;
  const OUTPUTS = 'outputs: {open: o.open, terminal: o.terminal, price: o.price}\n';

  /** Calls `then` for each reading and amend behind the first reading that shows the new terms. */
  const behindAmend =
    (then: (venue: Transport, time: VirtualClock, ...sent: Parameters<Transport['send']>) => Promise<WireReply>) =>
    (venue: Transport, time: VirtualClock): Transport => {
      let isAmended = false;
      return {
        async send(request, options) {
          if (isAmended && /^(?:GET|PUT) .orders$/.test(request.endpoint)) return then(venue, time, request, options);
          const reply = await venue.send(request, options);
          isAmended ||= reply.kind === 'answer' && /50010/.test(reply.body) && /"status":"open"/.test(reply.body);
          return reply;
        },
      };
    };
  /** The first of them show the instant in which the venue had the order as cancelled (venue-notes.md, surprise 4). */
  const late = (readings: number) => {
    let left = readings;
    return behindAmend(async (venue, _time, request, options) => {
      const reply = await venue.send(request, options);
      left -= 1;
      if (left < 0 || reply.kind !== 'answer') return reply;
      const body = reply.body.replaceAll('50010', '50000').replaceAll('"status":"open"', '"status":"canceled"');
      return { ...reply, body };
    });
  };
  /** Another program cancels the order before the first of them. */
  const cancelled = (text = 'BTC-USD@1001') => {
    let isSent = false;
    return behindAmend(async (venue, time, request, options) => {
      const params = { order_id: { as: 'text', text }, market_id: { as: 'text', text: 'BTC-USD' } };
      const cancel = { endpoint: 'DELETE /orders', method: 'DELETE', path: '/orders', params };
      if (isSent) return venue.send(request, options);
      isSent = true;
      await venue.send({ ...request, ...cancel } as never, options);
      await new Promise<void>((resolve) => void time.after(1_000, resolve));
      return venue.send(request, options);
    });
  };
  async function play(steps: string, between: Scene['between'], leaves = 'position: open, because: it rests') {
    const text = `runbook: orders\ndsl: 1\nleaves: {${leaves}}\nsteps:\n${steps}`;
    const loaded = loadedFrom({ file: 'orders.yaml', text });
    const scene: Scene = { loaded, inputs: inputsFrom(loaded, {}), config: AT_64000, ...(between && { between }) };
    const performance = await perform(scene);
    await replay(performance, scene);
    return performance;
  }
  const listEnds = ({ entries }: Performance) =>
    entries.flatMap((entry) =>
      entry.type === 'order.moved' && entry.data.to === 'canceled' ? [entry.data.event] : [],
    );

  it.each([1, 2])('works on where a later one shows it: after %i', async (readings) => {
    const played = await play(`${AMENDED}  - refresh: o\n${OUTPUTS}`, late(readings));
    expect(played.report.outputs).toEqual({ open: true, terminal: false, price: '50010' });
    expect(listEnds(played)).toEqual([]);
  });

  it('works on where the run ends on it', async () => {
    const played = await play(`${AMENDED}  - wait: 2100ms\n`, late(1));
    expect(played.report.outcome).toBe('succeeded');
    expect([listEnds(played), played.report.orders.map(({ state }) => state)]).toEqual([[], ['open']]);
  });

  it('has ended where the next ones show the same', async () => {
    const played = await play(`${AMENDED}  - refresh: o\n${OUTPUTS}`, cancelled());
    expect(played.report.outputs).toMatchObject({ open: false, terminal: true });
    const refreshed = played.entries.find((entry) => entry.type === 'step.ended' && entry.data.verb === 'refresh');
    const begun = played.entries.find((entry) => entry.type === 'step.started' && entry.data.verb === 'refresh');
    expect((refreshed?.at ?? 0) - (begun?.at ?? 0)).toBeLessThan(5_000);
  });

  it('counts as gone before it is judged what the run leaves', async () => {
    const covered = `  - place: {type: market, market: BTC-USD, side: long, size: 0.01, price: 70000}
  - id: o
    place: {type: stop_limit, market: BTC-USD, side: short, size: 0.01, trigger: 60000, price: 50000}
  - amend: {order: o, price: 50010}
  - wait: 2100ms
on_error:
  - close: BTC-USD
`;
    const kept = await play(covered, late(1), 'position: protected');
    expect([kept.report.outcome, kept.books.orders.map(({ status }) => status)]).toEqual([
      'succeeded',
      ['closed', 'open'],
    ]);
    const bare = await play(covered, cancelled('BTC-USD@1002'), 'position: protected');
    expect(bare.report.error).toMatchObject({ kind: 'unprotected_position' });
    expect(bare.entries.some((entry) => entry.type === 'step.ended' && entry.data.verb === 'close')).toBe(true);
  });
});

/** Counts the sizes of an order anew from its amend on, as a venue that puts another order in the place of what rests. */
function beginAnew(venue: Transport): Transport {
  let before: number | undefined;
  let isDue = false;
  return {
    async send(request, options) {
      isDue ||= request.endpoint === 'PUT /orders';
      const reply = await venue.send(request, options);
      if (request.endpoint !== 'GET /orders' || reply.kind !== 'answer') return reply;
      const { result } = JSON.parse(reply.body) as { result: Record<string, string>[] };
      const rows = result.map((row) => {
        if (row['order_type'] !== 'limit' || !isDue) return row;
        before ??= Number(row['total_filled_size']);
        const less = (text = '0') => String(Number((Number(text) - (before ?? 0)).toFixed(4)));
        const { initial_size: initial, total_filled_size: filled } = row;
        return { ...row, initial_size: less(initial), total_filled_size: less(filled) };
      });
      return { ...reply, body: JSON.stringify({ success: true, error: '', result: rows }) };
    },
  };
}

it('leaves nothing of a part-filled order unseen where the venue counts its sizes anew', async () => {
  const loaded = loadedFrom({
    file: 'anew.yaml',
    text: `runbook: anew
dsl: 1
leaves: {position: none}
steps:
  - id: o
    place: {type: limit, market: BTC-USD, side: long, size: 0.1, price: 63900}
  - wait_for: {order: o, is: any_fill, within: 1m}
  - amend: {order: o, price: 63901}
  - wait: 1m
  - cancel: o
  - close: BTC-USD
outputs: {filled: o.filled}
`,
  });
  const points = [
    { afterMs: 0, price: '64000' },
    { afterMs: 5000, price: '63899' },
    { afterMs: 6000, price: '64000' },
    { afterMs: 30_000, price: '63850' },
    { afterMs: 31_000, price: '64000' },
  ];
  const path = { kind: 'points', points, stepMs: 500 } as const;
  const market = { tick: '1', lot: '0.0001', start: '64000', spreadBps: 0, depth: '0.025', levels: 1, path };
  const scene: Scene = { loaded, inputs: {}, config: { markets: { 'BTC-USD': market } }, between: beginAnew };
  const performance = await perform(scene);
  await replay(performance, scene);
  const { books, report } = performance;
  const net = books.fills.reduce((sum, { side, size }) => sum + (side === 'long' ? 1 : -1) * Number(size), 0);
  expect([report.outcome, report.outputs, Number(net.toFixed(6))]).toEqual(['succeeded', { filled: '0.1' }, 0]);
});
