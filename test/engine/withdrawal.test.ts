/**
 * Tests that an order is sent only while its step still needs it: not when its step, its branch or its run ended before its tokens
 * or its commit were there, and not when a process that died had decided it. And that a reading that waits for tokens holds up neither
 * the end of its step or run, nor another branch.
 */
import { describe, expect, it } from 'vitest';
import { inputsFrom, loadedFrom, type Performance, perform, replay, type Scene, START } from './stage.ts';

/** A minute in which another program has left no tokens for an order. */
const NO_TOKENS = { tokens: { limit: 1200, windowMs: 60_000, foreign: [{ afterMs: 0, tokens: 1180 }] } };
const ARMED = 'deadman: {market: BTC-USD, timeout: 20s, on_exit: disarm}';
/** The switch is armed at the third try, 0.9 s late. */
const SLOW_ARMING = {
  faults: [{ on: 'POST /cancel_all_after', do: 'status', status: 503, body: 'x', when: { call: '1-2' } }],
} as const;
const RESTING = 'place: {type: limit, market: BTC-USD, side: long, size: 0.01, price: 50000}';
const TAKING = 'place: {type: market, market: BTC-USD, side: long, size: 0.1, price: 70000}';
const ADA_CANCELS = { command: 'cancel', by: 'ada' } as const;

/** Performs a run and replays it: every decision must follow from the journal. */
async function performed(text: string, more: Partial<Scene>): Promise<Performance> {
  const loaded = loadedFrom({
    file: 'orders.yaml',
    text: `runbook: orders\ndsl: 1\nleaves: {position: open, because: the case is about something else}\nvars: {n: {type: integer, init: 0}}\n${text}\n`,
  });
  const scene: Scene = { loaded, inputs: inputsFrom(loaded, {}), config: {}, ...more };
  const performance = await perform(scene);
  await replay(performance, scene);
  return performance;
}

/** The outcome of each order, ms after the start, and why it was not sent. */
function fates({ entries }: Performance) {
  const asked = entries.flatMap((entry) =>
    entry.type === 'call.intended' && entry.data.endpoint === 'POST /orders' ? [entry.data.call] : [],
  );
  return entries.flatMap((entry) =>
    entry.type === 'call.settled' && asked.includes(entry.data.call)
      ? [{ after: entry.at - START, is: entry.data.code ?? entry.data.kind, because: entry.data.message }]
      : [],
  );
}

/** The kind of the error that the run ended with. */
function errorOf({ entries }: Performance): string | undefined {
  const last = entries.at(-1);
  return last?.type === 'run.ended' ? last.data.error?.kind : undefined;
}

describe('an order that waits for its tokens', () => {
  it('is not sent when a person has ended the run meanwhile, and does not delay the end', async () => {
    const performance = await performed(`steps:\n  - read_account: {}\n  - ${TAKING}`, {
      config: NO_TOKENS,
      commands: [{ ...ADA_CANCELS, afterMs: 3_000 }],
    });
    expect(errorOf(performance)).toBe('cancelled');
    expect(performance.books.orders).toEqual([]);
    expect(fates(performance).map(({ is }) => is)).toEqual(['STEP_ENDED']);
    expect((performance.entries.at(-1)?.at ?? 0) - START).toBeLessThan(4_000);
  });

  it('is not sent when its step has run out of time', async () => {
    const performance = await performed(
      `steps:\n  - read_account: {}\n  - ${TAKING}\n    timeout: 5s\n    on_timeout: [{stop: {outcome: late, because: too late}}]`,
      { config: NO_TOKENS },
    );
    expect(performance.report.outcome).toBe('stopped');
    expect(performance.books.orders).toEqual([]);
    expect(fates(performance)).toEqual([
      { after: expect.closeTo(5_000, -2), is: 'STEP_ENDED', because: expect.stringContaining('STEP_ENDED') },
    ]);
  });

  it('is not sent when another branch has won', async () => {
    const performance = await performed(
      `steps:
  - read_account: {}
  - parallel:
      join: any
      on_fail: cancel_others
      branches:
        a: [{wait: 5s}]
        b: [{${RESTING}}]`,
      { config: NO_TOKENS },
    );
    expect(performance.report.outcome).toBe('succeeded');
    expect(performance.books.orders).toEqual([]);
    expect(fates(performance).map(({ is }) => is)).toEqual(['STEP_ENDED']);
  });

  it('is sent as soon as they are there otherwise', async () => {
    const performance = await performed(`steps:\n  - read_account: {}\n  - ${RESTING}`, { config: NO_TOKENS });
    expect(performance.report.outcome).toBe('succeeded');
    expect(performance.books.orders).toHaveLength(1);
    expect(fates(performance).map(({ is }) => is)).toEqual(['confirmed']);
  });
});

describe('a reading that waits for its tokens', () => {
  /** Leaves less than the reserve, for an hour. */
  const SPENDER = Array.from({ length: 3600 }, (_, second) => ({ afterMs: 1_000 * second, tokens: 19 }));
  const spent = ({ entries }: Performance) => (entries.at(-1)?.at ?? 0) - START;

  it('does not delay the end of a run that a person has ended', async () => {
    const performance = await performed('steps:\n  - read_account: {}\n  - read_account: {}', {
      config: NO_TOKENS,
      commands: [{ ...ADA_CANCELS, afterMs: 3_000 }],
    });
    expect(errorOf(performance)).toBe('cancelled');
    expect(spent(performance)).toBeLessThan(4_000);
  });

  it('does not delay it where fills are read', async () => {
    const performance = await performed(`steps:\n  - ${TAKING}`, {
      config: { tokens: { ...NO_TOKENS.tokens, foreign: SPENDER }, fillLagMs: 600_000 },
      commands: [{ ...ADA_CANCELS, afterMs: 9_000 }],
    });
    expect(errorOf(performance)).toBe('cancelled');
    expect(performance.entries.find(({ type }) => type === 'step.ended')?.at).toBe(START + 9_000);
    // Then it reads what the run has filled for `fills.window`, 60 s by default, before its switch ends and once more behind that.
    expect(spent(performance)).toBeGreaterThan(60_000);
    expect(spent(performance)).toBeLessThan(140_000);
  });

  const IN_TIME = 'catch: [{on: [timeout, transport], then: continue}]';
  const MANY = Array.from({ length: 1_500 }, (_, n) => {
    return { market: 'BTC-USD', side: 'long', size: '0.001', price: String(40_000 + n), agoMs: 1_000 } as const;
  });
  it.each<[string, string, Scene['config']]>([
    [
      'read_account',
      `  - read_account: {}\n  - read_account: {}\n    timeout: 5s\n    ${IN_TIME}`,
      { tokens: { ...NO_TOKENS.tokens, foreign: [{ afterMs: 0, tokens: 1_180 }] } },
    ],
    [
      'refresh',
      `  - id: o\n    ${RESTING}\n  - wait: 3s\n  - read_account: {}\n  - refresh: o\n    timeout: 3s\n    ${IN_TIME}`,
      { tokens: { ...NO_TOKENS.tokens, foreign: [{ afterMs: 2_000, tokens: 1_155 }] } },
    ],
    [
      'list_orders, behind its first page',
      `  - list_orders: {all_pages: true}\n    timeout: 20ms\n    ${IN_TIME}`,
      {
        account: { resting: MANY },
        tokens: { ...NO_TOKENS.tokens, foreign: [{ afterMs: 0, tokens: 1_160 }] },
      },
    ],
  ])('ends with its step: %s', async (_, steps, config) => {
    const performance = await performed(`steps:\n${steps}`, { config });
    expect(performance.report.outcome).toBe('succeeded');
    expect(spent(performance)).toBeLessThan(7_000);
  });

  it.each([
    ['without a time', ''],
    ['with a timeout', '    timeout: 10s\n'],
  ])('of fills waits on in a step %s: its order has filled, and is protected then', async (_, timeout) => {
    const PROTECT =
      '  - protect: {market: BTC-USD, side: short, stop_loss: {fraction: 1, trigger: 50000, price: 49000}}';
    const performance = await performed(`steps:\n  - ${TAKING}\n${timeout}${PROTECT}`, {
      config: { tokens: { ...NO_TOKENS.tokens, foreign: [{ afterMs: 3_000, tokens: 1_165 }] }, fillLagMs: 3_000 },
    });
    expect(performance.report.outcome).toBe('succeeded');
    expect(performance.report.residual).toMatchObject([{ size: '0.1', covered: '0.1' }]);
  });

  it('does not keep `manage` from its end', async () => {
    const later = Array.from({ length: 1_200 }, (_, n) => ({ afterMs: 34_000 + n * 1_000, tokens: 19 }));
    const performance = await performed(
      `feeds: {mid: {type: price, max_age: 5s}}\nsteps:\n  - ${TAKING}\n  - manage: {market: BTC-USD, side: short, stop_loss: {trigger: 50000, price: 49000}, time_limit: 1h}`,
      {
        config: {
          fillLagMs: 20_000,
          tokens: { ...NO_TOKENS.tokens, foreign: [{ afterMs: 33_000, tokens: 1_120 }, ...later] },
        },
        commands: [{ ...ADA_CANCELS, afterMs: 60_000 }],
      },
    );
    expect(errorOf(performance)).toBe('cancelled');
    expect(spent(performance)).toBeLessThan(61_000);
  });
});

describe('a page of fills that several branches wait for', () => {
  const branch = (name: string, more = '') => `        ${name}:
          - if: n == 0
            do: [{${TAKING}}]
${more}          - protect: {market: BTC-USD, side: short, stop_loss: {fraction: 1, trigger: 50000, price: 49000}}
`;
  const HURRIED = '            timeout: 9s\n            catch: [{on: [timeout], then: continue}]\n';
  const scarce = { ...NO_TOKENS.tokens, foreign: [{ afterMs: 3_000, tokens: 1_150 }] };

  it('is read for the others where one leaves, and all of them protect what they hold', async () => {
    const branches = `${branch('a', HURRIED)}${branch('b')}${branch('c')}`;
    const performance = await performed(
      `steps:\n  - parallel:\n      on_fail: let_others_finish\n      branches:\n${branches}`,
      { config: { tokens: scarce, fillLagMs: 20_000 } },
    );
    expect(performance.report.outcome).toBe('succeeded');
    expect(performance.report.residual).toMatchObject([{ size: '0.3', covered: '0.3' }]);
  });

  it('is left by one in its own time, whichever branch has asked first', async () => {
    const branches = `${branch('a')}${branch('b')}${branch('c', HURRIED)}`;
    const { entries } = await performed(
      `steps:\n  - parallel:\n      on_fail: let_others_finish\n      branches:\n${branches}`,
      { config: { tokens: scarce, fillLagMs: 20_000 } },
    );
    const ended = entries.find(({ type, step }) => type === 'step.ended' && /branches\/c\/.*place$/.test(step));
    expect((ended?.at ?? 0) - START).toBe(9_000);
  });

  it('is waited for by all of them behind the end of their window, once it has been sent', async () => {
    const taking = (size: string) =>
      `[{place: {type: market, market: BTC-USD, side: long, size: ${size}, price: 70000}, timeout: 10s}]`;
    const branches = ['0.1', '0.2', '0.3'].map((size, index) => `        b${index}: ${taking(size)}`).join('\n');
    const { report } = await performed(`steps:\n  - parallel:\n      branches:\n${branches}`, {
      config: { fillLagMs: 9_000 },
    });
    expect([report.outcome, report.orders.map(({ filled }) => filled)]).toEqual(['succeeded', ['0.1', '0.2', '0.3']]);
  });

  it('does not end the block whose failure was handled in the instant of its beginning', async () => {
    const taking = (size: string) =>
      `[{place: {type: market, market: BTC-USD, side: long, size: ${size}, price: 70000}}]`;
    const performance = await performed(
      `steps:
  - parallel:
      branches:
        a: ${taking('0.1')}
        b: ${taking('0.2')}
        d: ${taking('0.3')}
        c:
          - place: {type: limit, market: BTC-USD, side: long, size: 0.01, price: 50000}
            await: live
          - assert: n > 0
    catch: [{on: any, then: continue}]
  - set: {n: 7}`,
      { config: { tokens: { ...NO_TOKENS.tokens, foreign: [{ afterMs: 100, tokens: 1_155 }] } } },
    );
    expect(performance.report.outcome).toBe('succeeded');
  });
});

describe('an order that waits for the deadman switch', () => {
  it('is not sent when a person has ended the run meanwhile', async () => {
    const performance = await performed(`${ARMED}\nsteps:\n  - ${RESTING}`, {
      config: SLOW_ARMING,
      commands: [{ ...ADA_CANCELS, afterMs: 200 }],
    });
    expect(errorOf(performance)).toBe('cancelled');
    expect(performance.books.orders).toEqual([]);
  });

  it('is not sent when its step has run out of time', async () => {
    const { books } = await performed(
      `${ARMED}\nsteps:\n  - ${RESTING}\n    timeout: 200ms\n    undo: keep\n    catch: [{on: [timeout], then: continue}]`,
      { config: SLOW_ARMING },
    );
    expect(books.orders).toEqual([]);
  });
});

describe('an order whose commit takes long', () => {
  const STALLED = { commitMs: (n: number) => (n === 2 ? 60_000 : 0) };

  it('is not sent when the deadman switch is taken for fired meanwhile', async () => {
    const performance = await performed(`${ARMED}\nsteps:\n  - ${RESTING}\n    await: accepted`, STALLED);
    expect(performance.books.orders).toEqual([]);
    expect(fates(performance).map(({ is }) => is)).toEqual(['STEP_ENDED']);
    expect(performance.report.outcome).not.toBe('succeeded');
  });

  it('is not sent when a kill switch is engaged meanwhile', async () => {
    const performance = await performed(`steps:\n  - ${RESTING}`, {
      commitMs: (n) => (n === 1 ? 5_000 : 0),
      forbidden: (time) => (time.now() >= START + 4_000 ? 'KILL_SWITCH_ENGAGED: by ada' : undefined),
    });
    expect(performance.books.orders).toEqual([]);
    expect(fates(performance)).toEqual([
      { after: expect.closeTo(5_000, -2), is: 'KILL_SWITCH_ENGAGED', because: 'KILL_SWITCH_ENGAGED: by ada' },
    ]);
    expect(performance.report.orders.map(({ state }) => state)).toEqual(['denied']);
  });

  it('is not sent when a person has ended the run meanwhile', async () => {
    const performance = await performed(`steps:\n  - ${RESTING}`, {
      commitMs: (n) => (n === 1 ? 5_000 : 0),
      commands: [{ ...ADA_CANCELS, afterMs: 2_000 }],
    });
    expect(performance.books.orders).toEqual([]);
    expect(fates(performance).map(({ is }) => is)).toEqual(['STEP_ENDED']);
  });
});

describe('a disarming that is put off for want of tokens', () => {
  it('is replayed as it was, where a heartbeat waits for tokens behind it', async () => {
    const take = (size: string) => `place: {type: market, market: BTC-USD, side: long, size: ${size}, price: 70000}`;
    const PROTECT =
      '          - protect: {market: BTC-USD, side: short, stop_loss: {fraction: 1, trigger: 50000, price: 49000}}';
    const SPENT = [9, 16, 20, 19, 5, 12, 22, 6, 21, 6, 6, 15, 9, 11, 12, 22, 7, 7, 19, 10, 10, 8, 12];
    const { entries } = await performed(
      `deadman: {market: BTC-USD, timeout: 20s, release_after: w, on_exit: disarm}
steps:
  - parallel:
      branches:
        a:
          - ${take('0.3')}
            catch: [{on: any, then: continue}]
${PROTECT}
        b:
          - ${take('0.8')}
            timeout: 7s
          - read_account: {}
        c:
          - ${take('0.1')}
${PROTECT}
    catch: [{on: any, then: continue}]
  - id: w
    assert: n == 0`,
      {
        seed: 352,
        config: {
          latencyMs: { min: 2_500, max: 5_000 },
          processingMs: { min: 0, max: 10 },
          fillLagMs: 20_000,
          tokens: {
            limit: 1200,
            windowMs: 60_000,
            foreign: [
              { afterMs: 5_356, tokens: 1_176 },
              ...SPENT.map((tokens, index) => ({ afterMs: 6_000 + 1_000 * index, tokens })),
            ],
          },
        },
      },
    );
    const disarmings = entries.flatMap((entry) =>
      entry.type === 'call.settled' && entry.data.call.startsWith('deadman') && entry.data.code === 'DEADLINE'
        ? [entry.at]
        : [],
    );
    expect(disarmings).not.toEqual([]);
  });
});
