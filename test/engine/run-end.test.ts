/** Holds the end of a run: what happens to it meanwhile, what its undo and clean-up may still do, and what is left when it is over. */
import { describe, expect, it } from 'vitest';
import type { FaultRule } from '../../src/gateway/simulator/config/faults.ts';
import { loadedFrom, type Performance, perform, type Scene, START } from './stage.ts';

const MARKETS = {
  'BTC-USD': { path: { kind: 'points', points: [{ afterMs: 0, price: '64000' }] } },
  'ETH-USD': { tick: '0.1', lot: '0.01', path: { kind: 'points', points: [{ afterMs: 0, price: '3000' }] } },
} as const;
const OPEN = 'leaves: {position: open, because: the case is about something else}';
const RESTS = (price: number) => `place: {type: limit, market: BTC-USD, side: long, size: 0.1, price: ${price}}`;
const BUYS = 'place: {type: market, market: BTC-USD, side: long, size: 0.1, price: 65000}';
const SWITCH = 'deadman: {market: BTC-USD, timeout: 20s, on_exit: disarm}';
/** Whether an order is at the venue is decided soon. */
const BRIEF = { absenceHorizonMs: 5_000 };
/** Orders of this market never arrive, and nothing can be read of it: their fate stays unknown. */
const LOST: readonly FaultRule[] = [
  { on: 'POST /orders', when: { market: 'ETH-USD' }, do: 'lost_before' },
  {
    on: 'GET /orders',
    when: { market: 'ETH-USD', untilMs: 3_000_000 },
    do: 'error',
    status: 503,
    error: 'UNAVAILABLE',
  },
];
const LOSES = 'place: {type: limit, market: ETH-USD, side: long, size: 1, price: 2900}, allow: reduce';
const SHORT = (price: number, size = 0.1) =>
  `place: {type: limit, market: BTC-USD, side: short, size: ${size}, price: ${price}}, allow: reduce`;
const UNDONE = (...undos: readonly string[]) =>
  undos.map((undo) => `  - set_leverage: {market: BTC-USD, leverage: 2}\n    undo: [{${undo}}]\n`).join('');
const FAILS = 'fail: {because: it must}';

async function performed(text: string, more: Partial<Scene> & { readonly faults?: readonly FaultRule[] } = {}) {
  const { faults = [], ...scene } = more;
  const loaded = loadedFrom({ file: 'case.yaml', text: `runbook: case\ndsl: 1\n${text}\n` });
  const performance = await perform({
    loaded,
    inputs: {},
    config: { markets: MARKETS, faults },
    setup: BRIEF,
    ...scene,
  });
  return { ...performance, ...summarize(performance) };
}

function summarize({ entries, books }: Performance) {
  const of = <T extends string>(type: T) => entries.filter((entry) => entry.type === type);
  const ends = entries.flatMap((entry) => (entry.type === 'run.ended' ? [entry.data] : []));
  return {
    ends,
    outcome: ends.at(-1)?.outcome,
    kind: ends.at(-1)?.error?.kind,
    moves: entries.flatMap((entry) => (entry.type === 'run.moved' ? [entry.data.event] : [])),
    atVenue: books.orders.map(({ type, side, status }) => `${type} ${side} ${status}`),
    endedAt: (entries.findLast(({ type }) => type === 'run.ended')?.at ?? 0) - START,
    firedAt:
      (of('deadman.moved').find(({ data }) => 'event' in data && data.event === 'assumed_fired')?.at ?? 0) - START,
    denials: entries.flatMap((entry) => (entry.type === 'call.settled' ? (entry.data.code ?? []) : [])),
  };
}

describe('what happens to a run under way', () => {
  const HANGS = `${OPEN}\nfeeds: {mid: {type: price, max_age: 5s}}\n${SWITCH}\nsteps:\n  - ${RESTS(50000)}\n  - assert: feeds.mid > 0`;
  const hung = (meanwhile?: Scene['meanwhile']) =>
    performed(HANGS, { feedAfterMs: 200_000, ...(meanwhile === undefined ? {} : { meanwhile }) });
  const at = (ms: number, act: (running: Parameters<NonNullable<Scene['meanwhile']>>[0]) => void) =>
    ((running, time) => void time.at(START + ms, () => act(running))) satisfies Scene['meanwhile'];

  it('is progress where its store does not answer, or answers again, and where a process resumes it', async () => {
    const alone = (await hung()).firedAt;
    const away = await hung(at(30_000, (running) => running.storeMoved('away')));
    const back = await hung(at(30_000, (running) => running.storeMoved('back')));
    const takenUp = await hung(at(30_000, (running) => running.takenUp({ ms: 5_000, by: 'machine' })));
    expect(alone).toBeLessThan(62_000);
    expect(away.firedAt).toBeGreaterThan(90_000);
    for (const { firedAt } of [back, takenUp]) {
      expect(firedAt).toBeGreaterThan(alone + 15_000);
      expect(firedAt).toBeLessThan(90_000);
    }
    expect(takenUp.moves).not.toContain('RESUMED');
    expect(takenUp.kind).toBe('deadman_fired');
  });

  it('renews its switch until a store that does not answer can take what disarms it', async () => {
    const waits = `${OPEN}\n${SWITCH}\nsteps:\n  - ${RESTS(50000)}\n  - wait: 5s`;
    const release = waits.replace('20s,', '20s, release_after: entry,').replace('- place', '- id: entry\n    place');
    const step = `${waits}\n  - disarm_deadman: {market: BTC-USD}`;
    for (const text of [waits, release, step]) {
      const { books, outcome } = await performed(text, {
        meanwhile: (running, time) => {
          time.at(START + 200, () => running.storeMoved('away'));
          time.at(START + 45_000, () => running.storeMoved('back'));
        },
      });
      const disarmedAt = books.requests.find(({ method, path }) => method === 'DELETE' && path === '/cancel_all_after');
      expect(disarmedAt?.sentAt).toBeGreaterThanOrEqual(START + 45_000);
      expect(books.deadman.events.map(({ event }) => event)).toEqual(
        expect.arrayContaining(['armed', 'renewed', 'disarmed']),
      );
      expect(books.deadman.events.filter(({ event }) => event === 'fired')).toEqual([]);
      expect(outcome).toBe('succeeded');
    }
  });

  it('waits for a store no longer than its journal is tried again', async () => {
    const { endedAt } = await performed(`${OPEN}\n${SWITCH}\nsteps:\n  - ${RESTS(50000)}`, {
      meanwhile: (running, time) => void time.at(START + 200, () => running.storeMoved('away')),
    });
    expect(endedAt).toBeGreaterThan(60_000);
    expect(endedAt).toBeLessThan(61_000);
  });

  it('ends with no timer left where its store does not answer: the process would wait for it', async () => {
    let next: (() => number | undefined) | undefined;
    const { endedAt } = await performed('steps:\n  - wait: 5s', {
      meanwhile: (running, time) => {
        next = () => time.nextTimerAt();
        time.at(START + 200, () => running.storeMoved('away'));
      },
    });
    expect([endedAt, next?.()]).toEqual([5_000, undefined]);
  });

  it('may have let the switch fire where only the wall clock knows for how long no process was there', async () => {
    const { firedAt, kind } = await hung(at(10_000, (running) => running.takenUp({ ms: 5_000, by: 'wall' })));
    expect([firedAt, kind]).toEqual([10_000, 'deadman_fired']);
  });

  it('is resumed after its end only where it halted', async () => {
    let after: Promise<readonly unknown[]> | undefined;
    await performed(`steps:\n  - ${FAILS}`, {
      meanwhile: (running) => {
        after = running.done.then((result) => {
          running.takenUp();
          return Promise.all([result, running.settled()]);
        });
      },
    });
    const [end, last] = (await after) ?? [];
    expect(last).toBe(end);
    const halted = await performed(`steps:\n  - {${LOSES}}`, { faults: LOST, resumedAfterMs: [1_000, 3_600_000] });
    expect(halted.ends.map(({ outcome, error }) => [outcome, error?.kind])).toEqual([
      ['halted', 'unknown_outcome'],
      ['halted', 'unknown_outcome'],
      ['failed', 'unknown_outcome'],
    ]);
    expect(halted.moves.filter((event) => event === 'RESUMED')).toHaveLength(2);
    expect(halted.ends.every(({ reason, error }) => reason !== undefined && reason === error?.message)).toBe(true);
  });

  it('is an answer to the step that it names, by path or id, or to all that wait', async () => {
    const text = `${OPEN}\nsteps:
  - parallel:
      branches:
        a: [{id: one, approve: {ask: really, by: [risk], within: 1h}}]
        b: [{id: two, approve: {ask: really, by: [risk], within: 1h}}]`;
    const ended = async (...steps: readonly (string | undefined)[]) => {
      const commands = steps.map((step, index) => ({
        command: 'approve' as const,
        by: 'ada',
        afterMs: 1_000 * (index + 1),
        ...(step === undefined ? {} : { step }),
      }));
      const { entries } = await performed(text, { commands });
      return entries.flatMap((entry) =>
        entry.type === 'step.ended' && entry.data.outcome === 'succeeded' && /(one|two)$/.test(entry.step)
          ? [[entry.step.slice(-3), entry.at - START]]
          : [],
      );
    };
    const [, path = ''] = await approvalPaths(text);
    expect(await ended('two', 'one')).toEqual([
      ['two', 1_000],
      ['one', 2_000],
    ]);
    expect(await ended(path, 'one')).toEqual([
      ['two', 1_000],
      ['one', 2_000],
    ]);
    expect(await ended(undefined)).toEqual([
      ['one', 1_000],
      ['two', 1_000],
    ]);
  });
});

/** The paths of the steps that ask a person. */
async function approvalPaths(text: string): Promise<readonly string[]> {
  const { entries } = await performed(text, { commands: [{ command: 'approve', by: 'ada', afterMs: 1_000 }] });
  return entries.flatMap(({ type, step }) => (type === 'approval.asked' ? [step] : []));
}

describe('the undo of a run', () => {
  it('goes on after one that failed, and halts the run where one halts', async () => {
    const fails = await performed(`${OPEN}\nsteps:\n${UNDONE(SHORT(70000), FAILS)}  - ${FAILS}`);
    expect([fails.outcome, fails.moves, fails.atVenue]).toEqual([
      'failed',
      ['STARTED', 'FAILED', 'DONE', 'DONE', 'DONE', 'DONE'],
      ['limit short canceled'],
    ]);
    const halts = await performed(`${OPEN}\nsteps:\n${UNDONE(LOSES, FAILS)}  - ${FAILS}`, { faults: LOST });
    expect([halts.outcome, halts.kind]).toEqual(['halted', 'unknown_outcome']);
    expect(halts.moves).toEqual(['STARTED', 'FAILED', 'HALTED', 'DONE', 'DONE']);
    // Also where the undo that fails comes after the one that halts.
    const before = await performed(`${OPEN}\nsteps:\n${UNDONE(FAILS, LOSES)}  - ${FAILS}`, { faults: LOST });
    expect([before.outcome, before.kind, before.moves]).toEqual(['halted', 'unknown_outcome', halts.moves]);
  });

  it('sends nothing that adds risk once one has halted, which it may in a run that failed', async () => {
    const text = `${OPEN}\nsteps:\n${UNDONE(SHORT(70000), LOSES)}  - ${FAILS}`;
    const halts = await performed(text, { faults: LOST });
    expect([halts.outcome, halts.denials, halts.atVenue]).toEqual(['halted', ['REDUCING_ONLY'], []]);
    const fails = await performed(text);
    expect([fails.outcome, fails.denials, fails.atVenue]).toEqual([
      'failed',
      [],
      ['limit long canceled', 'limit short canceled'],
    ]);
    const failsFirst = await performed(`${OPEN}\nsteps:\n${UNDONE(SHORT(70000), FAILS)}  - ${FAILS}`);
    expect(failsFirst.denials).toEqual([]);
  });

  it('in a run that halts reduces only, and goes on after one that failed', async () => {
    const { outcome, moves, denials } = await performed(
      `${OPEN}\nsteps:\n${UNDONE(FAILS, SHORT(70000))}  - {${LOSES}}`,
      { faults: LOST },
    );
    expect([outcome, moves, denials]).toEqual([
      'halted',
      ['STARTED', 'HALTED', 'DONE', 'DONE', 'DONE'],
      ['REDUCING_ONLY'],
    ]);
  });
});

describe('a halted run that is resumed', () => {
  /** Halts in its steps, and has a step in `finally` that is undone when the run is settled. */
  const halting = (undo: string) =>
    `${OPEN}\nsteps:\n  - ${BUYS}\n  - {${LOSES}}\nfinally:\n  - place: {type: limit, market: BTC-USD, side: short, size: 0.1, price: 70000}\n    allow: reduce\n    undo: [{${undo}}]`;
  const endsOf = ({ ends }: { readonly ends: readonly { outcome: string; error?: { step?: string } }[] }) =>
    ends.map(({ outcome, error }) => [outcome, error?.step]);

  it('undoes only what reduces, has the error of its last halt, and is over once nothing is left to settle', async () => {
    const runs: Parameters<NonNullable<Scene['meanwhile']>>[0][] = [];
    const performance = await performed(halting(SHORT(71_000, 0.5)), {
      faults: LOST,
      resumedAfterMs: [1_000, 3_600_000, 7_200_000],
      meanwhile: (running) => void runs.push(running),
    });
    const last = runs[0]?.settled();
    runs[0]?.takenUp();
    expect(runs[0]?.settled()).toBe(last);
    expect(performance.denials).toEqual(['REDUCING_ONLY']);
    expect(endsOf(performance)).toEqual([
      ['halted', 'steps/2:place'],
      ['halted', 'settle'],
      ['halted', 'finally/1:place/undo/1:place'],
      ['failed', 'finally/1:place/undo/1:place'],
    ]);
    expect(performance.atVenue).toEqual(['market long closed', 'limit short canceled']);
  });

  it('halts once more where an undo fails', async () => {
    const performance = await performed(halting(FAILS), { faults: LOST, resumedAfterMs: [3_600_000] });
    expect(endsOf(performance)).toEqual([
      ['halted', 'steps/2:place'],
      ['halted', 'finally/1:place/undo/1:fail'],
    ]);
  });

  it('reads for as long as they may lag what filled while no process was there', async () => {
    const points = [
      { afterMs: 0, price: '64000' },
      { afterMs: 1_000_000, price: '63000' },
    ];
    const lag: FaultRule = {
      on: 'GET /fills/order',
      when: { untilMs: 3_640_000 },
      do: 'error',
      status: 503,
      error: 'LAG',
    };
    const { books, outcome } = await performed(
      `${OPEN}\nsteps:\n  - ${RESTS(63_500)}\n    undo: keep\n  - {${LOSES}}`,
      {
        config: {
          markets: { ...MARKETS, 'BTC-USD': { path: { kind: 'points', points } } },
          faults: [...LOST, lag],
        },
        resumedAfterMs: [3_540_000],
      },
    );
    const readings = books.requests.filter(({ path, sentAt }) => path === '/fills/order' && sentAt > START + 3_600_000);
    expect(outcome).toBe('failed');
    expect(readings.length).toBeGreaterThan(3);
  });
});

describe('the clean-up of a run', () => {
  it('goes on after a step that halted, as far as it reduces, and then halts', async () => {
    const text = `${OPEN}\nsteps:\n  - ${BUYS}\nfinally:\n  - {${LOSES}}\n  - {${SHORT(70000, 0.5)}}\n  - {${SHORT(71000)}}`;
    const halts = await performed(text, { faults: LOST });
    expect([halts.outcome, halts.kind, halts.denials]).toEqual(['halted', 'unknown_outcome', ['REDUCING_ONLY']]);
    expect(halts.moves).toEqual(['STARTED', 'COMPLETED', 'HALTED']);
    expect(halts.atVenue).toEqual(['market long closed']);
    const reduces = await performed(`${OPEN}\nsteps:\n  - ${BUYS}\nfinally:\n  - {${LOSES}}\n  - {${SHORT(71000)}}`, {
      faults: LOST,
    });
    expect([reduces.outcome, reduces.atVenue]).toEqual(['halted', ['market long closed', 'limit short open']]);
    const alone = await performed(text);
    expect([alone.outcome, alone.denials]).toEqual(['succeeded', []]);
  });

  it.each(['on_error', 'finally', 'undo'])('goes on in %s also after a second step that halted', async (phase) => {
    const rests = `  - ${RESTS(50_000)}\n  - ${RESTS(2900).replace('BTC', 'ETH')}\n`;
    const cancels = '  - cancel: {mine: BTC-USD}\n  - cancel: {mine: ETH-USD}\n';
    const cleansUp = `${cancels}  - {${SHORT(71000)}}`;
    const steps = `${rests}  - ${BUYS}\n  - wait: 10s\n`;
    const text =
      phase === 'undo'
        ? `${OPEN}\nsteps:\n${steps}  - set_leverage: {market: BTC-USD, leverage: 2}\n    undo:\n${cleansUp.replaceAll('  - ', '    - ')}\n  - ${FAILS}`
        : `${OPEN}\nsteps:\n${steps}  - ${FAILS}\n${phase}:\n${cleansUp}`;
    const when = { afterMs: 8000, untilMs: 3_000_000 };
    const away = (['GET /orders', 'DELETE /orders'] as const).map(
      (on): FaultRule => ({ on, when, do: 'error', status: 503, error: 'UNAVAILABLE' }),
    );
    const { outcome, atVenue, entries } = await performed(text, { faults: away });
    const ends = entries.flatMap(({ type, step, data }) =>
      type === 'step.ended' && step.includes(phase) ? [data.outcome] : [],
    );
    expect(ends).toEqual(['halted', 'halted', 'halted']);
    expect([outcome, atVenue]).toEqual([
      'halted',
      ['limit long open', 'limit long open', 'market long closed', 'limit short open'],
    ]);
  });

  it('goes on behind a step that halted in a called runbook as well', async () => {
    const inner = `runbook: inner\ndsl: 1\n${OPEN}\nsteps:\n  - ${BUYS}\nfinally:\n  - {${LOSES}}\n  - {${SHORT(63000)}}\n`;
    const text = `runbook: case\ndsl: 1\n${OPEN}\nsteps:\n  - call: {runbook: inner, with: {}}\n`;
    const loaded = loadedFrom({ file: 'case.yaml', text }, () => ({ file: 'inner.yaml', text: inner }));
    const performance = await perform({ loaded, inputs: {}, config: { markets: MARKETS, faults: LOST }, setup: BRIEF });
    expect(summarize(performance)).toMatchObject({
      outcome: 'halted',
      kind: 'unknown_outcome',
      atVenue: ['market long closed', 'limit short closed'],
    });
  });

  it('ends with the error of the step that failed', async () => {
    const { outcome, kind } = await performed(`${OPEN}\nsteps:\n  - wait: 1ms\nfinally:\n  - ${FAILS}`);
    expect([outcome, kind]).toEqual(['failed', 'assertion']);
  });

  it('fails the step that calls a runbook with what went wrong there first: its caller closes what was left', async () => {
    const inner = `runbook: inner\ndsl: 1\nleaves: {position: none}\nsteps:\n  - ${BUYS}\non_error:\n  - ${FAILS}\n`;
    const closes = 'catch: [{on: [unprotected_position], do: [{close: BTC-USD}], then: continue}]';
    const text = `runbook: case\ndsl: 1\nleaves: {position: none}\nsteps:\n  - call: {runbook: inner, with: {}}\n    ${closes}\n`;
    const loaded = loadedFrom({ file: 'case.yaml', text }, () => ({ file: 'inner.yaml', text: inner }));
    const performance = await perform({ loaded, inputs: {}, config: { markets: MARKETS } });
    expect(summarize(performance)).toMatchObject({
      outcome: 'succeeded',
      atVenue: ['market long closed', 'market short closed'],
    });
  });

  it('waits until it is known of each message whether it arrived', async () => {
    const waits = (settled: (time: number) => Promise<void> | undefined) => {
      let begin: (ms: number) => Promise<void> = async () => {};
      return performed(`${OPEN}\nsteps:\n  - notify: {to: ops, text: done}`, {
        ports: { notifier: { send() {}, settled: () => (settled(0) === undefined ? undefined : begin(5_000)) } },
        meanwhile: (_, time) => {
          begin = (ms) => new Promise((resolve) => void time.after(ms, resolve));
        },
      });
    };
    expect((await waits(() => undefined)).endedAt).toBeLessThan(5_000);
    expect((await waits(async () => {})).endedAt).toBeGreaterThanOrEqual(5_000);
  });

  it('keeps its switch armed, and what rests, while fills cannot be read', async () => {
    const text = `${OPEN}\n${SWITCH}\nsteps:\n  - ${BUYS}\n    await: accepted\n  - ${RESTS(50000)}`;
    const { atVenue, books, kind } = await performed(text, {
      faults: [{ on: 'GET /fills/order', do: 'error', status: 503, error: 'UNAVAILABLE' }],
    });
    expect([kind, atVenue]).toEqual([undefined, ['market long closed', 'limit long open']]);
    const [last] = books.deadman.events.filter(({ event }) => event !== 'renewed').slice(-1);
    expect(last?.event).toBe('disarmed');
    expect(last?.at).toBeGreaterThanOrEqual(START + 60_000);
  });

  it('reads fills that lag for as long as they may, and once in a run that halts', async () => {
    const text = (last: string) => `${OPEN}\nsteps:\n  - ${BUYS}\n    await: accepted\n  - ${last}`;
    const lag: FaultRule = { on: 'GET /fills/order', do: 'error', status: 503, error: 'UNAVAILABLE' };
    const fails = await performed(text(FAILS), { faults: [lag] });
    expect(fails.outcome).toBe('failed');
    expect(fails.endedAt).toBeGreaterThanOrEqual(60_000);
    const halted = async (faults: readonly FaultRule[]) =>
      (await performed(text(`{${LOSES}}`), { faults: [...LOST, ...faults] })).endedAt;
    expect((await halted([lag])) - (await halted([]))).toBeLessThan(60_000);
  });
});

describe('a run that is over', () => {
  it('has the outputs of what it did, the word of a stop, or its error', async () => {
    const of = async (step: string) => {
      const { ends } = await performed(`${OPEN}\nsteps:\n  - ${step}\noutputs: {x: 1 + 1}`);
      const { outcome, outputs, reason, error } = ends[0] ?? {};
      return { outcome, outputs, reason, kind: error?.kind };
    };
    expect(await of('wait: 1ms')).toEqual({
      outcome: 'succeeded',
      outputs: { x: '2' },
      reason: undefined,
      kind: undefined,
    });
    expect(await of('stop: {outcome: late, because: it is}')).toMatchObject({
      outcome: 'stopped',
      outputs: { x: '2' },
      reason: 'late',
    });
    expect(await of(FAILS)).toMatchObject({ outcome: 'failed', outputs: {}, kind: 'assertion' });
  });

  it.each(['wait: 1ms', 'stop: {outcome: late, because: it is}'])(
    'has not succeeded where an order fills in its clean-up: %s',
    async (last) => {
      const points = [
        { afterMs: 0, price: '64000' },
        { afterMs: 5_000, price: '63000' },
      ];
      const { outcome, kind, ends } = await performed(
        `steps:\n  - ${RESTS(63_500)}\n  - ${last}\nfinally:\n  - wait: 10s`,
        {
          config: { markets: { 'BTC-USD': { path: { kind: 'points', points } } } },
        },
      );
      expect([outcome, kind, ends[0]?.reason === undefined]).toEqual(['failed', 'unprotected_position', false]);
    },
  );

  it('says which mistake of ours it failed for, and no failure of a step', async () => {
    const crashes: unknown[] = [];
    const ports = {
      onCrash: (error: unknown) => void crashes.push(error),
      notifier: {
        send() {
          throw new TypeError('a mistake of ours');
        },
      },
    };
    const crashed = await performed(`${OPEN}\nsteps:\n  - notify: {to: ops, text: done}`, { ports });
    expect([crashed.outcome, crashed.kind]).toEqual(['failed', 'internal']);
    expect(crashes.length).toBeGreaterThan(0);
    expect(crashes[0]).toBeInstanceOf(TypeError);
    crashes.length = 0;
    await performed(`${OPEN}\nsteps:\n  - ${FAILS}`, { ports });
    expect(crashes).toEqual([]);
  });

  it('sends no heartbeat any more where it halted: the switch cancels what rests', async () => {
    const { outcome, books, later } = await performed(
      `${OPEN}\n${SWITCH}\nsteps:\n  - ${RESTS(50000)}\n    undo: keep\n  - {${LOSES}}`,
      { faults: LOST },
    );
    const sent = books.requests.length;
    const after = await later(120_000);
    expect([outcome, after.requests.length, after.deadman.events.at(-1)?.event]).toEqual(['halted', sent, 'fired']);
  });

  it('has compared the account with the venue before its first step where it is live', async () => {
    const of = async (mode: 'live' | 'simulated') => {
      const { entries } = await performed(`${OPEN}\nsteps:\n  - wait: 1ms`, { setup: { ...BRIEF, mode } });
      return entries.filter(({ type }) => type === 'account.reconciled').length;
    };
    expect([await of('live'), await of('simulated')]).toEqual([1, 0]);
  });

  it('places nothing where a live run cannot compare', async () => {
    const { outcome, kind, books } = await performed(`${OPEN}\nsteps:\n  - ${RESTS(50000)}`, {
      setup: { ...BRIEF, mode: 'live' },
      faults: [{ on: 'GET /orders', do: 'lost_before' }],
    });
    expect([outcome, kind, books.orders]).toEqual(['failed', 'transport', []]);
  });
});

it.each([
  ['kill', '0', 'under_kill'],
  ['cancel', '0.1', undefined],
] as const)('counts what covers a position that a %s leaves', async (command, covered, why) => {
  const stop = 'protect: {market: BTC-USD, side: short, stop_loss: {fraction: 1, trigger: 60000, price: 59000}}';
  const { entries } = await performed(`steps:\n  - ${BUYS}\n  - ${stop}\n  - wait: 1h`, {
    commands: [{ command, by: 'ada', afterMs: 20_000 }],
  });
  const said = entries.findLast(({ type }) => type === 'run.residual');
  expect(said?.data).toMatchObject({ left: [{ opened: '0.1', covered }], ok: why === undefined });
  expect(JSON.stringify(said?.data).includes('under_kill')).toBe(why !== undefined);
});

const SIZED =
  'place: {type: stop_limit, market: BTC-USD, side: short, size: 0.1, trigger: 63000, price: 62500}, allow: reduce';
const FRACTION = 'protect: {market: BTC-USD, side: short, stop_loss: {fraction: 1, trigger: 63000, price: 62500}}';

/**
 * A stop with a size rests before and after it has triggered with the same record; so does one with a fraction, where its venue goes on
 * showing that, against the profile: only the market shows which.
 */
it.each([
  [SIZED, '62000', 'failed', '0', ['short 0.1']],
  [SIZED, '63050', 'succeeded', '0.1', []],
  [FRACTION, '62000', 'failed', '0', ['short 0.1']],
  [FRACTION, '63050', 'succeeded', '0.1', []],
] as const)(
  'counts on a stop, %s, as far as the market at %s is within its limit',
  async (stop, price, outcome, covered, closed) => {
    const needs: unknown[] = [];
    const answersFeed: Scene['answersFeed'] = (need) => needs.push(need) > 0;
    const { entries, ...end } = await performed(
      `steps:\n  - ${BUYS}\n  - {${stop}}\n  - wait: 1m\non_error:\n  - close: BTC-USD`,
      {
        priceFeed: true,
        answersFeed,
        between: showFractions,
        config: { markets: { 'BTC-USD': { path: jumping(price) } } },
      },
    );
    expect(needs).toContainEqual({ class: 'complete', withinMs: 2000 });
    const said = entries.find(({ type }) => type === 'run.residual');
    expect([end.outcome, said?.data]).toMatchObject([outcome, { left: [{ opened: '0.1', covered }] }]);
    expect(end.books.fills.filter(({ side }) => side === 'short').map(({ side, size }) => `${side} ${size}`)).toEqual(
      closed,
    );
  },
);

/** A venue that shows the fraction of a stop-loss also when it has triggered. */
const showFractions: NonNullable<Scene['between']> = (venue) => ({
  async send(request, options) {
    const reply = await venue.send(request, options);
    if (request.endpoint !== 'GET /orders' || reply.kind !== 'answer') return reply;
    const answer = JSON.parse(reply.body) as { readonly result: readonly Readonly<Record<string, unknown>>[] };
    const result = answer.result.map((row) =>
      row['order_type'] === 'stop_loss' && row['status'] === 'open' ? { ...row, size: '1', initial_size: '1' } : row,
    );
    return { ...reply, body: JSON.stringify({ ...answer, result }) };
  },
});

const jumping = (price: string) =>
  ({
    kind: 'points',
    points: [
      { afterMs: 0, price: '64000' },
      { afterMs: 20_000, price },
    ],
  }) as const;

it.each([
  ['first', 1],
  ['second', 2],
])('stops after the step %s that `--until` names', async (until, placed) => {
  const places = ['first', 'second', 'third'].map((id) => `  - {id: ${id}, ${SELLS_NOTHING}}`).join('\n');
  const { outcome, entries, books } = await performed(`leaves: {position: open, because: a test}\nsteps:\n${places}`, {
    setup: { ...BRIEF, until },
  });
  const ended = entries.find(({ type }) => type === 'run.ended');
  expect([outcome, ended?.data, books.orders.length]).toMatchObject([
    'stopped',
    { reason: expect.any(String) },
    placed,
  ]);
});

const SELLS_NOTHING = 'place: {type: limit, market: BTC-USD, side: long, size: 0.01, price: 60000}';
