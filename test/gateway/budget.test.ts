import { describe, expect, it } from 'vitest';
import { settle, VirtualClock } from '../../src/base/clock.ts';
import {
  type BudgetAnswer,
  type BudgetOptions,
  type BudgetRequest,
  LocalBudget,
  type Ticket,
} from '../../src/gateway/tokens/budget.ts';
import { openSharedMemory } from '../../src/journal/shared/memory.ts';
import type { LedgerRows } from '../../src/journal/shared/shared.ts';
import { StoreError } from '../../src/journal/store.ts';
import type { CallClass } from '../../src/venue/port.ts';
import { budgetSettings } from '../../src/venue/tokens/ledger.ts';
import { COUNTING_RULES, type CountingVenue } from '../venue/counting-venues.ts';
import { latencyFrom, randomFrom } from '../venue/saturation.ts';

const START = 1_700_000_000_000;

function budgetOn(
  clock: VirtualClock,
  options: Partial<BudgetOptions> = {},
  costs: Readonly<Record<string, number>> = {},
) {
  return new LocalBudget(budgetSettings(), clock, costs, { random: () => 0.5, ...options });
}

interface Given extends Partial<BudgetOptions> {
  readonly clock?: VirtualClock;
  readonly costs?: Readonly<Record<string, number>>;
}

function setUp({ clock = new VirtualClock(START), costs = {}, ...options }: Given = {}) {
  const budget = budgetOn(clock, options, costs);
  const log: string[] = [];
  const answers = new Map<string, BudgetAnswer>();
  const ask = (name: string, cls: CallClass, weight = 1, rest: Partial<BudgetRequest> = {}) => {
    void budget.acquire({ endpoint: 'GET /account', weight, class: cls, ...rest }).then((answer) => {
      log.push(name);
      answers.set(name, answer);
    });
  };
  const ticket = (name: string): Ticket => {
    const answer = answers.get(name);
    if (answer?.kind !== 'granted') throw new Error(`${name} was not granted`);
    return answer.ticket;
  };
  return { clock, budget, ask, log, answers, ticket };
}

describe('the order of requests', () => {
  it('is by class, and first in first out inside one', async () => {
    const { clock, ask, log } = setUp();
    ask('full', 'enter', 120);
    for (const cls of ['read', 'reconcile', 'enter'] as const) for (const n of [1, 2]) ask(`${cls}${n}`, cls);
    ask('protect', 'protect');
    await clock.advanceTo(START + 1_000);
    expect(log).toEqual(['full', 'protect', 'enter1', 'enter2', 'reconcile1', 'reconcile2', 'read1', 'read2']);
  });

  it('favours requests that have waited long, but never before a cancel', async () => {
    const { clock, ask, log, answers } = setUp();
    ask('full', 'enter', 120);
    ask('old', 'read');
    // Orders come faster than tokens: without ageing the read would never be served.
    for (let at = 0; at < 40_000; at += 40) clock.at(START + at, () => ask(`enter@${at}`, 'enter'));
    await clock.advanceTo(START + 40_000);
    const waitedMs = (name: string) => (answers.get(name) as { waitedMs?: number } | undefined)?.waitedMs;
    // A quarter of a window per class: after half a minute it ranks with order entry, and is the oldest there.
    expect(waitedMs('old')).toBe(30_000);
    expect(log.indexOf('old')).toBe(600);
    expect(waitedMs('enter@24000')).toBeGreaterThan(6_000);
  });

  it('lets lighter requests pass when the venue refused a heavy one', async () => {
    const { clock, ask, log, ticket } = setUp();
    ask('heavy', 'read', 20);
    await clock.quiesce();
    ticket('heavy').answered({ 'x-ratelimit-retry-after': '5' }, { limited: true });
    ask('again', 'read', 20);
    ask('light', 'read', 10);
    ask('cancel', 'protect', 1);
    await clock.advanceTo(START + 4_999);
    expect(log).toEqual(['heavy', 'light', 'cancel']);
    await clock.advanceTo(START + 5_000);
    expect(log).toEqual(['heavy', 'light', 'cancel', 'again']);
  });
});

describe('a rate of order actions', () => {
  /** Sends orders and cancels at full speed; gives the most that the venue counts in any second, and the slowest cancel. */
  async function driven(orderRate: number | undefined) {
    const clock = new VirtualClock(START);
    const budget = budgetOn(clock, { orderRate, random: randomFrom(5) });
    const random = randomFrom(7);
    const seen: number[] = [];
    let slowest = 0;
    let sent = 0;
    const act = async (endpoint: 'POST /orders' | 'DELETE /orders', cls: CallClass) => {
      const answer = await budget.acquire({ endpoint, weight: 1, class: cls });
      if (answer.kind === 'refused') throw new Error(answer.code);
      if (cls === 'protect') slowest = Math.max(slowest, answer.waitedMs);
      sent += 1;
      const latency = Math.round(latencyFrom(random));
      clock.at(clock.now() + Math.floor(latency * random()), () => seen.push(clock.now()));
      await new Promise<void>((resolve) => clock.at(clock.now() + latency, resolve));
      answer.ticket.answered({}, { limited: false });
    };
    for (let lane = 0; lane < 60; lane += 1)
      void (async () => {
        while (clock.now() < START + 10_000) await act('POST /orders', 'enter');
      })();
    for (let at = 0; at < 10_000; at += 400) clock.at(START + at, () => void act('DELETE /orders', 'protect'));
    await clock.advanceTo(START + 12_000);
    seen.sort((a, b) => a - b);
    const most = Math.max(...seen.map((at) => seen.filter((other) => other >= at && other < at + 1_000).length));
    return { most, slowest, sent };
  }

  it('is never exceeded, whenever the venue’s second begins, and most of it is used', async () => {
    const { most, slowest, sent } = await driven(20);
    expect(most).toBeLessThanOrEqual(20);
    expect(sent).toBeGreaterThan(120);
    expect(slowest).toBeLessThan(2_000);
    expect((await driven(undefined)).most).toBeGreaterThan(20);
  });

  it('holds back neither reads nor cancel_all, and keeps a tenth for cancels', async () => {
    const { clock, ask, log } = setUp({ orderRate: 10 });
    const order = { endpoint: 'POST /orders' } as const;
    for (let n = 1; n <= 10; n += 1) ask(`order${n}`, 'enter', 1, order);
    ask('cancel', 'protect', 1, { endpoint: 'DELETE /orders' });
    ask('second cancel', 'protect', 1, { endpoint: 'DELETE /orders' });
    ask('all', 'protect', 10, { endpoint: 'DELETE /orders/cancel_all' });
    ask('read', 'read');
    await clock.quiesce();
    expect(log).toEqual([...Array.from({ length: 9 }, (_, index) => `order${index + 1}`), 'cancel', 'all', 'read']);
    await clock.advanceTo(START + 2_000);
    expect(log.slice(12)).toEqual(['second cancel', 'order10']);
  });
});

describe('a refusal with a time', () => {
  it.each([
    ['x-ratelimit-retry-after', '9'],
    ['retry-after', '9'],
    ['retry-after', new Date(START + 9_000).toUTCString()],
  ])('is over at that time and not before: %s %s', async (header, text) => {
    const { clock, ask, log, ticket } = setUp();
    ask('refused', 'read', 20);
    await clock.quiesce();
    ticket('refused').answered({ [header]: text }, { limited: true });
    ask('again', 'read', 20);
    await clock.advanceTo(START + 8_999);
    expect(log).toEqual(['refused']);
    await clock.advanceTo(START + 9_000);
    expect(log).toEqual(['refused', 'again']);
  });
});

describe('a refusal without a time', () => {
  it.each([
    ['s', '1700000003'],
    ['ms', '1700000003000'],
    ['us', '1700000003000000'],
  ] as const)('ends its back-off when the bucket resets, given in %s', async (resetUnit, reset) => {
    const { clock, ask, log, ticket } = setUp({ random: () => 1, resetUnit });
    for (let n = 1; n <= 6; n += 1) {
      ask(`try${n}`, 'read', 20);
      while (!log.includes(`try${n}`)) await clock.advanceTo(clock.now() + 50);
      // 0.25, 0.5 and 1 s of back-off, then 2 s that would end after the reset.
      ticket(`try${n}`).answered({ 'x-ratelimit-reset': reset }, { limited: true });
      if (n < 4) continue;
      const asked = clock.now();
      ask(`try${n + 1}`, 'read', 20);
      await clock.advanceTo(Math.max(START + 3_000, asked));
      expect(log).toContain(`try${n + 1}`);
      expect(asked).toBeLessThan(START + 3_000);
      return;
    }
  });
});

describe('a deadline', () => {
  it('that cannot be met is refused at once, with the earliest time', async () => {
    const { clock, ask, answers, log } = setUp();
    ask('full', 'enter', 120);
    ask('late', 'read', 20, { withinMs: 999 });
    ask('in time', 'read', 20, { withinMs: 1_000 });
    await clock.quiesce();
    expect(log).toEqual(['full', 'late']);
    expect(answers.get('late')).toEqual({ kind: 'refused', code: 'DEADLINE', earliestInMs: 1_000 });
    await clock.advanceTo(START + 1_000);
    expect(answers.get('in time')).toMatchObject({ kind: 'granted', waitedMs: 1_000 });
  });

  it('is a length of time, also where the wall clock is set back meanwhile', async () => {
    const { clock, ask, answers } = setUp();
    const now = clock.now.bind(clock);
    ask('full', 'enter', 120);
    ask('in time', 'read', 20, { withinMs: 1_500 });
    ask('overtakes', 'enter', 20);
    clock.now = () => now() - 22_500;
    ask('late', 'read', 20, { withinMs: 999 });
    await clock.advanceTo(START + 1_500);
    expect([...answers].flatMap(([name, { kind }]) => (kind === 'refused' ? [name] : []))).toEqual(['late', 'in time']);
  });

  it('that expires while others go first is refused when it expires', async () => {
    const { clock, ask, answers } = setUp();
    ask('full', 'enter', 120);
    ask('waits', 'read', 20, { withinMs: 1_500 });
    ask('overtakes', 'enter', 20);
    await clock.advanceTo(START + 1_499);
    expect(answers.has('waits')).toBe(false);
    await clock.advanceTo(START + 1_500);
    expect(answers.get('waits')).toEqual({ kind: 'refused', code: 'DEADLINE', earliestInMs: 500 });
  });
});

it('refuses a request that is not wanted any more when it is asked for', async () => {
  const { clock, ask, answers } = setUp();
  ask('full', 'enter', 120);
  const withdrawn = 'cancelled by ada';
  ask('unwanted', 'read', 20, { wanted: { withdrawn, onWithdrawn: () => () => {} } });
  await clock.quiesce();
  expect(answers.get('unwanted')).toEqual({ kind: 'refused', code: 'WITHDRAWN' });
});

describe('a full queue', () => {
  it('refuses the newest request of the lowest class, and a new request that is itself the lowest', async () => {
    const { clock, ask, answers, log } = setUp({ queueLimit: 2 });
    ask('full', 'enter', 120);
    ask('read1', 'read');
    ask('read2', 'read');
    ask('read3', 'read');
    ask('enter', 'enter');
    ask('reconcile', 'reconcile');
    ask('enter2', 'enter');
    await clock.quiesce();
    const refused = [...answers].filter(([, answer]) => answer.kind === 'refused').map(([name]) => name);
    expect(refused).toEqual(['read3', 'read2', 'read1', 'reconcile']);
    expect(answers.get('read3')).toMatchObject({ code: 'QUEUE_FULL' });
    await clock.advanceTo(START + 1_000);
    expect(log.filter((name) => !refused.includes(name))).toEqual(['full', 'enter', 'enter2']);
  });
});

describe('a ticket', () => {
  it('ends once', async () => {
    const { clock, ask, ticket } = setUp();
    ask('a', 'enter');
    await clock.quiesce();
    ticket('a').notSent();
    expect(() => ticket('a').aborted()).toThrow('given back twice');
  });

  it('frees its tokens at once when nothing was sent, and a window later when it was answered', async () => {
    const { clock, budget, ask, ticket } = setUp();
    ask('a', 'enter', 5);
    ask('b', 'enter', 7);
    await clock.advanceTo(START + 10);
    ticket('a').answered({ 'x-ratelimit-remaining': '1190' }, { limited: false });
    ticket('b').notSent();
    expect(budget.report()).toMatchObject({ used: 5, waiting: 0 });
    await clock.advanceTo(START + 60_100);
    expect(budget.report()).toMatchObject({ used: 0 });
  });
});

/** Runs clients that send without end, on one address, in virtual time. */
async function load(
  budgets: readonly LocalBudget[],
  clock: VirtualClock,
  venue: CountingVenue,
  minutes: number,
  seed: number,
) {
  const random = randomFrom(seed);
  const weights = [1, 1, 1, 1, 1, 10, 10, 20];
  const sums = { granted: 0, refusals: 0, cancelWaitMs: 0 };
  const end = START + minutes * 60_000;
  const call = async (budget: LocalBudget, weight: number, cls: CallClass) => {
    const answer = await budget.acquire({ endpoint: 'GET /account', weight, class: cls });
    if (answer.kind === 'refused') throw new Error(answer.code);
    if (cls === 'protect') sums.cancelWaitMs = Math.max(sums.cancelWaitMs, answer.waitedMs);
    const latency = Math.round(latencyFrom(random));
    let said = { granted: false, remaining: 0 };
    clock.at(clock.now() + Math.floor(latency * random()), () => {
      said = venue.count(weight, clock.now());
      if (!said.granted) sums.refusals += 1;
      else if (clock.now() < end) sums.granted += weight;
    });
    await new Promise<void>((resolve) => clock.at(clock.now() + latency, resolve));
    const headers = { 'x-ratelimit-limit': '1200', 'x-ratelimit-remaining': String(said.remaining) };
    answer.ticket.answered(headers, { limited: !said.granted });
  };
  for (const budget of budgets) {
    const ordinary = async () => {
      while (clock.now() < end) await call(budget, weights[Math.floor(random() * weights.length)] as number, 'read');
    };
    for (let lane = 0; lane < 6; lane += 1) void ordinary();
    const cancel = (): void => {
      if (clock.now() >= end) return;
      clock.at(clock.now() + Math.ceil(-Math.log(1 - random()) * 2_500 * budgets.length), () => {
        void call(budget, 1, 'protect');
        cancel();
      });
    };
    cancel();
  }
  await clock.advanceTo(end);
  return { ...sums, utilisation: sums.granted / (1200 * minutes) };
}

describe('full load through the queue', () => {
  for (const rule of COUNTING_RULES.slice(0, 3)) {
    it(`is never refused by a ${rule.name}`, async () => {
      const { clock, budget } = setUp();
      const result = await load([budget], clock, rule.open(1200, 60_000), 10, 11);
      expect(result.refusals).toBe(0);
      expect(result.utilisation).toBeGreaterThan(0.955);
      expect(result.cancelWaitMs).toBeLessThan(2_000);
    });

    it(`of three sharers is never refused by a ${rule.name}`, async () => {
      const clock = new VirtualClock(START);
      const { ledgers: rows } = openSharedMemory(() => clock.monotonic() + 5_000_000);
      const budgets = ['a', 'b', 'c'].map((owner) =>
        budgetOn(clock, { random: randomFrom(3), share: { rows, key: 'k', owner } }),
      );
      const result = await load(budgets, clock, rule.open(1200, 60_000), 5, 12);
      expect(result.refusals).toBe(0);
      expect(result.utilisation).toBeGreaterThan(0.94);
      expect(result.cancelWaitMs).toBeLessThan(2_000);
    });
  }
});

describe('a shared ledger', () => {
  const unavailable: LedgerRows = {
    change: () => Promise.reject(new StoreError('unavailable', 'held by another process')),
  };

  function failing() {
    const clock = new VirtualClock(START);
    const { ledgers } = openSharedMemory(() => clock.monotonic());
    const state = { fails: true };
    const rows: LedgerRows = {
      change: (key, work) => (state.fails ? unavailable : ledgers).change(key, work),
    };
    return { ...setUp({ clock, share: { rows, key: 'k', owner: 'a' } }), clock, ledgers, state };
  }

  it('that is unavailable lets urgent requests go and makes ordinary ones wait; then everything is counted', async () => {
    const { clock, budget, ask, log, ticket, state, ledgers } = failing();
    ask('read', 'read', 10);
    ask('cancel', 'protect', 1);
    await clock.advanceTo(START + 3_000);
    expect(log).toEqual(['cancel']);
    ticket('cancel').answered({}, { limited: false });
    await clock.advanceTo(START + 4_000);
    state.fails = false;
    await clock.advanceTo(START + 5_000);
    expect(log).toEqual(['cancel', 'read']);
    expect(budget.report()).toMatchObject({ used: 11, urgentUsed: 1 });
    const other = budgetOn(clock, { share: { rows: ledgers, key: 'k', owner: 'b' } });
    other.standDown('nothing');
    await settle();
    expect(other.report().used).toBe(11);
  });

  it('that fails while a grant is being stored grants nothing, and keeps the order of requests', async () => {
    const { clock, ask, log, state, ledgers } = failing();
    state.fails = false;
    const change = ledgers.change.bind(ledgers);
    let failures = 2;
    ledgers.change = async (key, work) => {
      if (failures-- <= 0) return change(key, work);
      await change(key, (row, now) => ({ ...work(row, now), text: undefined }));
      throw new StoreError('unavailable', 'the disk is full');
    };
    ask('first', 'enter');
    ask('second', 'enter');
    await clock.quiesce();
    expect(log).toEqual([]);
    await clock.advanceTo(START + 300);
    expect(log).toEqual(['first', 'second']);
  });

  it('that stored what it seemed to fail at counts a request once', async () => {
    const { clock, budget, ask, ticket, state, ledgers } = failing();
    ask('cancel', 'protect', 1);
    await clock.quiesce();
    const change = ledgers.change.bind(ledgers);
    let failures = 1;
    ledgers.change = async (key, work) => {
      const result = await change(key, work);
      if (failures-- > 0) throw new StoreError('unavailable', 'the answer to the commit was lost');
      return result;
    };
    state.fails = false;
    budget.standDown('nothing');
    await clock.advanceTo(START + 1_000);
    budget.standDown('nothing');
    await clock.advanceTo(START + 2_000);
    ticket('cancel').answered({}, { limited: false });
    await clock.quiesce();
    expect(budget.report().used).toBe(1);
    await clock.advanceTo(START + 70_000);
    expect(budget.report().used).toBe(0);
  });

  it('keeps the tokens that a dead process held: they count as used until its requests can no longer arrive', async () => {
    const clock = new VirtualClock(START);
    const { ledgers: rows } = openSharedMemory(() => clock.monotonic());
    const dead = setUp({ clock, share: { rows, key: 'k', owner: 'dead' } });
    dead.ask('a', 'enter', 100);
    await clock.quiesce();
    const heir = budgetOn(clock, { share: { rows, key: 'k', owner: 'heir' } });
    heir.standDown('nothing');
    await clock.advanceTo(START + 130_000);
    expect(heir.report().used).toBe(100);
    await clock.advanceTo(START + 130_050);
    expect(heir.report().used).toBe(0);
  });
});

describe('heartbeats of a deadman switch', () => {
  const heartbeat = { of: 'main', everyMs: 5_000, timeoutMs: 20_000, readWeight: 10, sessionWeight: 0 };
  const HEARTBEAT = { endpoint: 'POST /cancel_all_after', heartbeat } as const;

  /**
   * Arms a switch among reads, and renews it among endless lookups; gives the longest wait of a heartbeat. Every tenth one waits
   * for a renewal of the session, where that costs something.
   */
  async function guarded(keep: boolean, demand = heartbeat) {
    const { sessionWeight } = demand;
    const clock = new VirtualClock(START);
    const { ledgers: rows } = openSharedMemory(() => clock.monotonic());
    const settings = budgetSettings({ tokens: 240 });
    const made = (owner: string) =>
      new LocalBudget(settings, clock, {}, { random: () => 0.5, share: { rows, key: 'k', owner } });
    const [own, other] = [made('own'), made('other')];
    const call = async (budget: LocalBudget, request: BudgetRequest) => {
      const answer = await budget.acquire(request);
      if (answer.kind === 'refused') throw new Error(answer.code);
      await new Promise<void>((resolve) => clock.after(40, resolve));
      answer.ticket.answered({}, { limited: false });
      return answer.waitedMs;
    };
    const lane = async (budget: LocalBudget, cls: CallClass) => {
      for (;;) await call(budget, { endpoint: 'GET /orders', weight: 10, class: cls });
    };
    for (const budget of [own, other]) void lane(budget, 'read');
    await clock.advanceTo(START + 20_000);
    let longestMs = 0;
    let renewals = 0;
    void (async () => {
      const of = { endpoint: HEARTBEAT.endpoint, ...(keep ? { heartbeat: demand } : {}) };
      await call(own, { ...of, weight: 10, class: 'enter' });
      for (const budget of [own, other]) void lane(budget, 'resolve');
      for (;;) {
        await new Promise<void>((resolve) => clock.after(heartbeat.everyMs, resolve));
        const session = { endpoint: 'POST /jwt', weight: sessionWeight, class: 'protect' } as const;
        const renewedAfterMs = sessionWeight > 0 && renewals % 10 === 9 ? await call(own, session) : 0;
        longestMs = Math.max(longestMs, renewedAfterMs + (await call(own, { ...of, weight: 10, class: 'protect' })));
        renewals += 1;
      }
    })();
    await clock.advanceTo(START + 600_000);
    return { longestMs, renewals, kept: other.report().beats };
  }

  it('find their tokens, whatever else every process of the address wants', async () => {
    const { longestMs, renewals, kept } = await guarded(true);
    expect(longestMs).toBe(0);
    expect(renewals).toBeGreaterThan(80);
    expect(kept).toBe(150);
    // Without reserved tokens they wait for those that lookups have taken.
    expect((await guarded(false)).longestMs).toBeGreaterThan(2_000);
  });

  it('find their tokens behind a renewal of the session', async () => {
    // No tokens of readings, which are not sent here, stand in for those of the renewal.
    const { longestMs, renewals, kept } = await guarded(true, { ...heartbeat, readWeight: 0, sessionWeight: 20 });
    expect(longestMs).toBe(0);
    expect(renewals).toBeGreaterThan(80);
    expect(kept).toBe(150);
  });

  it('reserve nothing once the switch is off, or has not been renewed for longer than a window', async () => {
    const { clock, budget, ask, ticket } = setUp();
    const reserved = () => budget.report().beats;
    const armed = async (name: string) => {
      ask(name, 'enter', 10, HEARTBEAT);
      await clock.quiesce();
      ticket(name).answered({}, { limited: false });
    };
    expect(reserved()).toBe(0);
    await armed('first');
    expect(reserved()).toBe(150);
    budget.standDown('other');
    expect(reserved()).toBe(150);
    budget.standDown('main');
    expect(reserved()).toBe(0);
    await armed('second');
    await clock.advanceTo(clock.now() + 79_999);
    expect(reserved()).toBe(150);
    await clock.advanceTo(clock.now() + 1);
    expect(reserved()).toBe(0);
  });

  it('that exceed the limit are refused before anything waits for them, with the tokens they need', async () => {
    const { clock, ask, answers, log } = setUp();
    const quick = (of: string) => ({
      ...HEARTBEAT,
      heartbeat: { of, everyMs: 1_250, timeoutMs: 5_000, readWeight: 10, sessionWeight: 0 },
    });
    ask('first', 'enter', 10, quick('main'));
    ask('second', 'enter', 10, quick('second'));
    ask('third', 'enter', 10, quick('third'));
    ask('order', 'enter', 1);
    await clock.quiesce();
    expect(log).toEqual(expect.arrayContaining(['first', 'second', 'third', 'order']));
    expect([...answers].map(([name, { kind }]) => [name, kind])).toEqual(
      expect.arrayContaining([
        ['first', 'granted'],
        ['second', 'granted'],
        ['third', 'refused'],
        ['order', 'granted'],
      ]),
    );
    expect(answers.get('third')).toEqual({
      kind: 'refused',
      code: 'HEARTBEAT_TOKENS',
      because: expect.stringMatching(/1\.25 s.*\b530 tokens in 1 min.*\b1060; .*\b1200, 1120 /),
    });
  });
});

describe('a slow access to a shared ledger', () => {
  it('is followed by grants in a turn of the clock: all timers that were due by then come first', async () => {
    const clock = new VirtualClock(START);
    const { ledgers } = openSharedMemory(() => clock.monotonic());
    const { ask, log } = setUp({ clock, share: { rows: ledgers, key: 'k', owner: 'a' } });
    ask('read', 'read');
    await settle();
    clock.at(START, () => void log.push('timer'));
    await clock.quiesce();
    expect(log).toEqual(['timer', 'read']);
  });

  it('serves a request that comes as it ends', async () => {
    const clock = new VirtualClock(START);
    const { ledgers } = openSharedMemory(() => clock.monotonic());
    // A request in the very turn in which the access before is answered finds it ending, not ended.
    let after: () => void = () => {};
    const rows: LedgerRows = {
      change: async (key, work) => {
        const result = await ledgers.change(key, work);
        for (let turns = 0; turns < 8; turns += 1) {
          queueMicrotask(() => after());
          await Promise.resolve();
        }
        return result;
      },
    };
    for (let depth = 0; depth < 24; depth += 1) {
      const { ask, log } = setUp({ clock, share: { rows, key: `k${depth}`, owner: 'a' } });
      let asked = false;
      let left = depth;
      const later = () => {
        if (asked) return;
        if (left-- > 0) queueMicrotask(later);
        else {
          asked = true;
          ask('late', 'protect');
        }
      };
      after = later;
      ask('first', 'protect');
      await clock.quiesce();
      expect([depth, log]).toEqual([depth, ['first', 'late']]);
    }
  });
});

it('knows the weight of an endpoint: document, else profile, else ten', () => {
  const { budget } = setUp({ costs: { 'GET /orders': 4, 'GET /account': 3, 'GET /markets': 10 } });
  const endpoints = ['GET /account', 'GET /orders', 'GET /fills/order', 'GET /markets', 'POST /orders'] as const;
  expect(endpoints.map((endpoint) => budget.weightOf(endpoint))).toEqual([20, 4, 10, 10, 1]);
});
