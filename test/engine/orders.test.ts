import { describe, expect, it } from 'vitest';
import { inputsFrom, loadedFrom, type Performance, perform, replay, type Scene } from './stage.ts';

async function performed(steps: string, more: Partial<Scene> = {}): Promise<Performance> {
  const loaded = loadedFrom({
    file: 'orders.yaml',
    text: `runbook: orders\ndsl: 1\nleaves: {position: open, because: the case is about something else}\n${steps}`,
  });
  const scene: Scene = { loaded, inputs: inputsFrom(loaded, {}), config: {}, ...more };
  const performance = await perform(scene);
  await expect(replay(performance, scene)).resolves.toBeUndefined();
  return performance;
}

describe('a run that fails', () => {
  it('ends after it has seen the stop that the venue did not show while its step waited', async () => {
    const { report, books } = await performed(
      `steps:
  - place: {type: market, market: BTC-USD, side: long, size: 0.01, price: 70000}
    await: filled
  - protect: {market: BTC-USD, side: short, stop_loss: {fraction: 1, trigger: 60000, price: 59000}}
    timeout: 5s
`,
      { config: { faults: [{ on: 'POST /orders', when: { type: 'stop_loss' }, do: 'invisible', ms: 30_000 }] } },
    );
    expect(report.outcome).toBe('failed');
    expect(books.orders.map(({ status }) => status)).toEqual(['closed', 'open']);
    expect(report.orders.map(({ state }) => state)).toEqual(['closed', 'open']);
  });
});

describe('the journal of an order that has ended', () => {
  it('has its filled size where it says that it closed, although its fills are read afterwards', async () => {
    const { entries } = await performed(`steps:
  - id: o
    place: {type: market, market: BTC-USD, side: long, size: 0.01, price: 70000}
    await: filled
`);
    const moves = entries.flatMap((entry) => (entry.type === 'order.moved' ? [entry.data] : []));
    expect(moves.at(-1)).toMatchObject({ to: 'closed', filled: '0.01' });
  });

  it('has the price it was amended to, where it filled before a record showed it open again', async () => {
    const { report, books } = await performed(
      `steps:
  - id: o
    place: {type: limit, market: BTC-USD, side: long, size: 0.01, price: 50000}
  - amend: {order: o, price: 70000}
    catch: [{on: [not_found], then: continue}]
outputs: {status: "\${o.status}"}
`,
    );
    const [order] = books.orders;
    expect(order?.status).toBe('closed');
    expect(report.orders).toMatchObject([{ state: 'closed', price: '70000', filled: '0.01' }]);
    expect(report.outputs).toEqual({ status: 'closed' });
  });
});

/** Shows every order under an unknown status, from the n-th list of orders to the m-th. */
function unknownStatusFrom(first: number, last = Number.POSITIVE_INFINITY): NonNullable<Scene['between']> {
  let lists = 0;
  return (venue) => ({
    async send(request, options) {
      const reply = await venue.send(request, options);
      if (request.endpoint !== 'GET /orders' || reply.kind !== 'answer') return reply;
      lists += 1;
      if (lists < first || lists > last) return reply;
      return { ...reply, body: reply.body.replace(/"status":"[a-z]*"/g, '"status":"in_limbo"') };
    },
  });
}

const PLACED = `steps:
  - id: o
    place: {type: limit, market: BTC-USD, side: long, size: 0.001, price: 50000}
`;

describe('an order under an unknown status', () => {
  it.each([
    ['from the beginning, and is cancelled', PLACED, 1, 160],
    ['while it is waited for', `${PLACED}    await: filled\n`, 2, 65],
    ['while it is cancelled', `${PLACED}  - cancel: o\n    await: terminal\n`, 2, 65],
    ['while it is amended', `${PLACED}  - amend: {order: o, price: 50001}\n`, 2, 65],
  ])('halts the run: %s', async (_, steps, first, withinS) => {
    const { report, entries } = await performed(`${steps}    timeout: 10m\n`, { between: unknownStatusFrom(first) });
    const [order] = report.orders;
    expect([report.outcome, report.error?.kind, order?.state]).toEqual(['halted', 'unknown_outcome', 'quarantined']);
    for (const fact of [order?.orderId, order?.clientOrderId, '"in_limbo"'])
      expect(report.error?.message).toContain(fact);
    const [started, ended] = [entries[0]?.at ?? 0, entries.at(-1)?.at ?? 0];
    expect(ended - started).toBeLessThan(withinS * 1000);
  });

  it('is waited for where the venue names another soon', async () => {
    const { report } = await performed(`${PLACED}  - cancel: o\n    await: terminal\n`, {
      between: unknownStatusFrom(1, 4),
    });
    expect([report.outcome, report.orders[0]?.state]).toEqual(['succeeded', 'canceled']);
  });
});

it('says in the journal that the venue armed its switch with another timeout than requested', async () => {
  const { entries, report } = await performed(`deadman: {market: BTC-USD, timeout: 20s, on_exit: disarm}\n${PLACED}`, {
    between: (venue) => ({
      async send(request, options) {
        const reply = await venue.send(request, options);
        if (request.endpoint !== 'POST /cancel_all_after' || reply.kind !== 'answer') return reply;
        return { ...reply, body: reply.body.replace('"timeout":20000', '"timeout":15000') };
      },
    }),
  });
  const [armed] = entries.flatMap((entry) => (entry.type === 'deadman.moved' ? [entry.data] : []));
  expect(report.outcome).toBe('succeeded');
  expect(armed).toMatchObject({ event: 'armed', timeoutMs: 15_000, because: expect.stringContaining('15 s') });
});

describe('an order that cannot be cancelled', () => {
  const WAITING = `${PLACED}  - wait: 1h
`;
  const interrupt = [{ command: 'interrupt', by: 'SIGINT', afterMs: 5_000 }] as const;

  it.each([
    ['is answered with 503', { on: 'DELETE /orders', do: 'error', error: 'BUSY', status: 503 }],
    ['is accepted and lost', { on: 'DELETE /orders', do: 'cancel_lost' }],
    ['is refused with an unknown text', { on: 'DELETE /orders', do: 'error', error: 'NO', status: 400 }],
  ] as const)('halts an interrupted run, and is named: its cancel %s', async (_name, fault) => {
    const { report, books } = await performed(WAITING, { config: { faults: [fault] }, commands: interrupt });
    const [order] = report.orders;
    expect([report.outcome, books.orders[0]?.status]).toEqual(['halted', 'open']);
    expect(report.reason).toContain(order?.clientOrderId);
    expect(report.error?.kind).toBe('unknown_outcome');
  });

  it('halts it as well where no cancel could be sent, which is not journaled as a refusal', async () => {
    const between: Scene['between'] = (venue) => {
      return {
        async send(request, options) {
          if (request.endpoint === 'DELETE /orders') return { kind: 'failure', sent: false, message: 'ECONNREFUSED' };
          return venue.send(request, options);
        },
      };
    };
    const { entries, report } = await performed(WAITING, { between, commands: interrupt });
    const moves = entries.flatMap((entry) => (entry.type === 'order.moved' ? [entry.data.event] : []));
    expect([report.outcome, moves.includes('CANCEL_REFUSED')]).toEqual(['halted', false]);
    expect(report.reason).toContain('ECONNREFUSED');
  });

  it('fails the step and halts the run at its end, although the step caught the error', async () => {
    const { report } = await performed(
      `${PLACED}  - cancel: o
    await: terminal
    catch: [{on: [rejected, transport], then: continue}]
`,
      { config: { faults: [{ on: 'DELETE /orders', do: 'cancel_lost' }] } },
    );
    expect(report.outcome).toBe('halted');
  });

  it('does not halt where the last cancel succeeds', async () => {
    const { report, books } = await performed(WAITING, {
      config: { faults: [{ on: 'DELETE /orders', do: 'error', error: 'BUSY', status: 503, when: { call: '1-3' } }] },
      commands: interrupt,
    });
    expect([report.outcome, books.orders[0]?.status]).toEqual(['failed', 'canceled']);
  });
});

it('a list of collected orders has what has become known of those of earlier rounds', async () => {
  const points = [
    { afterMs: 0, price: '64000' },
    { afterMs: 5_000, price: '62900' },
  ];
  const path = { kind: 'points', points } as const;
  const { entries } = await performed(
    `steps:
  - id: rows
    for_each:
      each: price
      in: [63000, 50000]
      do:
        - wait: 6s
          if: price < 60000
        - id: o
          place: {type: limit, market: BTC-USD, side: long, size: 0.01, price: price}
        - list_orders: {market: BTC-USD, since: run.started_at}
      collect: {o: o}
outputs: {count: rows.size()}
`,
    {
      config: {
        markets: { 'BTC-USD': { tick: '1', lot: '0.0001', start: '64000', spreadBps: 0, depth: '100', path } },
      },
    },
  );
  const ended = entries.find((entry) => entry.type === 'step.ended' && entry.step === 'steps/rows');
  expect(ended?.data).toMatchObject({ value: [{ o: { filled: '0.01' } }, { o: { filled: '0' } }] });
});

describe('a protect whose second leg is refused', () => {
  const PROTECTED = `steps:
  - place: {type: market, market: BTC-USD, side: long, size: 0.01, price: 70000}
    await: filled
  - id: guard
    protect:
      market: BTC-USD
      side: short
      stop_loss: {fraction: 1, trigger: 60000, price: 59000}
      take_profit: {fraction: 1, trigger: 70000, price: 69900}
`;
  const faults = [
    { on: 'POST /orders', when: { type: 'take_profit' }, do: 'error', error: 'INSUFFICIENT_MARGIN' },
  ] as const;

  it('names the one that is there in its catch', async () => {
    const { books, report } = await performed(
      `${PROTECTED}    catch:
      - on: any
        do:
          - cancel: guard.stop_loss
            if: guard.stop_loss.hasValue() && !guard.take_profit.hasValue()
        then: fail
`,
      { config: { faults } },
    );
    expect(books.orders.map(({ type, status }) => `${type} ${status}`)).toEqual([
      'market closed',
      'stop_loss canceled',
    ]);
    expect(report.error?.kind).toBe('rejected');
  });

  it('names it for the steps after a handled failure', async () => {
    const { report } = await performed(
      `${PROTECTED}    catch: [{on: any, then: continue}]
outputs: {stopped: guard.stop_loss.hasValue(), taken: guard.take_profit.hasValue()}
`,
      { config: { faults } },
    );
    expect(report.outputs).toEqual({ stopped: true, taken: false });
  });
});
