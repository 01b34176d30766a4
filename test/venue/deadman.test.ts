/** Tests the fold of the deadman switch: never "armed" when it may have fired, and never a late heartbeat while all is well. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  allowsOrders,
  canDelete,
  chooseDeadmanReadPauseMs,
  chooseKeepAliveMs,
  combineRequirements,
  createDeadman,
  type DeadmanEvent,
  type DeadmanState,
  findArmedUntil,
  findRenewalTime,
  limitDeadmanAnswerMs,
  limitHoldUp,
  needsDelete,
  stepDeadman,
} from '../../src/venue/deadman.ts';
import type { DeadmanRecord } from '../../src/venue/records.ts';

const lease = { id: 'run', market: 'BTC-USD', timeoutMs: 60_000, keepAliveMs: 15_000 };

function echo(timeout: number, status = 'active'): DeadmanRecord {
  return { market_id: 'BTC-USD', profile_id: 1, timeout, last_updated: 1, status };
}
function fold(
  events: readonly DeadmanEvent[],
  from: DeadmanState = createDeadman(),
): { state: DeadmanState; alarms: string[] } {
  const alarms: string[] = [];
  let state = from;
  for (const event of events) {
    const step = stepDeadman(state, event);
    state = step.state;
    alarms.push(...step.alarms.map(({ alarm }) => alarm));
  }
  return { state, alarms };
}
const arm = (sentAt: number, at: number, timeoutMs = 60_000): DeadmanEvent[] => [
  { type: 'ARM_SENT', at: sentAt, market: 'BTC-USD', timeoutMs },
  { type: 'ARM_ANSWERED', at, sentAt, timeoutMs, echo: echo(timeoutMs) },
];
const armed = () => fold([{ type: 'LEASE_ENTERED', at: 0, lease }, ...arm(1_000, 1_200)]).state;

describe('arming', () => {
  it('counts from when the request was sent', () => {
    const state = armed();
    expect([state.status, state.lastQualifyingSentAt, findRenewalTime(state), findArmedUntil(state)]).toEqual([
      'armed',
      1_000,
      16_000,
      61_000,
    ]);
    expect([allowsOrders(state, 61_000), allowsOrders(state, 61_001)]).toEqual([true, false]);
  });
  it('allows no order before it is answered', () => {
    const { state } = fold([
      { type: 'LEASE_ENTERED', at: 0, lease },
      { type: 'ARM_SENT', at: 1, market: 'BTC-USD', timeoutMs: 60_000 },
    ]);
    expect([state.status, allowsOrders(state, 2), findRenewalTime(state)]).toEqual(['arming', false, undefined]);
  });
  it('that certainly failed is off, otherwise unknown', () => {
    const sent: DeadmanEvent = { type: 'ARM_SENT', at: 1, market: 'BTC-USD', timeoutMs: 60_000 };
    expect(fold([sent, { type: 'ARM_FAILED', at: 2, sentAt: 1, certain: true }]).state.status).toBe('off');
    expect(fold([sent, { type: 'ARM_FAILED', at: 2, sentAt: 1, certain: false }]).state.status).toBe('unknown');
    // The first may have armed it, whatever became of the second.
    const failed = (certain: boolean) => ({ type: 'ARM_FAILED', at: 2, sentAt: 1, certain }) as const;
    expect(fold([sent, failed(false), sent, failed(true)]).state.status).toBe('unknown');
    expect(fold([sent, failed(true), sent, failed(true)]).state.status).toBe('off');
  });
  it('raises an alarm for an echo of another time-out, and uses the shorter', () => {
    const { state, alarms } = fold([
      { type: 'LEASE_ENTERED', at: 0, lease },
      { type: 'ARM_SENT', at: 1, market: 'BTC-USD', timeoutMs: 60_000 },
      { type: 'ARM_ANSWERED', at: 2, sentAt: 1, timeoutMs: 60_000, echo: echo(30_000) },
    ]);
    expect([alarms, state.status, state.timeoutMs]).toEqual([['timeout_mismatch'], 'armed', 30_000]);
  });
  it('is not believed when the venue says that it is not active', () => {
    const { state, alarms } = fold([
      { type: 'ARM_SENT', at: 1, market: 'BTC-USD', timeoutMs: 60_000 },
      { type: 'ARM_ANSWERED', at: 2, sentAt: 1, timeoutMs: 60_000, echo: echo(60_000, 'canceled') },
    ]);
    expect([alarms, state.status]).toEqual([['timeout_mismatch'], 'unknown']);
  });
  it('finds a switch of another program', () => {
    const { state, alarms } = fold([{ type: 'READ', at: 2, sentAt: 1, record: echo(5_000) }]);
    expect([alarms, state.status]).toEqual([['foreign_switch'], 'off']);
  });
  it('is unknown after a restart until it is read', () => {
    expect(allowsOrders(fold([{ type: 'LEASE_ENTERED', at: 0, lease }], createDeadman('unknown')).state, 1)).toBe(
      false,
    );
    expect(fold([{ type: 'READ', at: 2, sentAt: 1, record: null }], createDeadman('unknown')).state.status).toBe('off');
  });
});

describe('renewing', () => {
  it('happens with any answered request that qualifies, from when it was sent', () => {
    const { state } = fold([{ type: 'QUALIFYING_ANSWERED', at: 10_400, sentAt: 10_000 }], armed());
    expect([findRenewalTime(state), findArmedUntil(state)]).toEqual([25_000, 70_000]);
  });
  it('never counts backwards when answers come out of order', () => {
    const events: DeadmanEvent[] = [
      { type: 'QUALIFYING_ANSWERED', at: 10_400, sentAt: 10_000 },
      { type: 'QUALIFYING_ANSWERED', at: 10_500, sentAt: 5_000 },
    ];
    expect(fold(events, armed()).state.lastQualifyingSentAt).toBe(10_000);
  });
  it('does not happen with a heartbeat that was refused with 429, which is retried soon', () => {
    const events: DeadmanEvent[] = [
      { type: 'ARM_SENT', at: 16_000, market: 'BTC-USD', timeoutMs: 60_000 },
      { type: 'ARM_FAILED', at: 16_100, sentAt: 16_000, certain: true },
    ];
    const { state } = fold(events, armed());
    expect([state.status, state.lastQualifyingSentAt, findRenewalTime(state)]).toEqual(['armed', 1_000, 19_850]);
  });
  it('has one heartbeat in flight at a time', () => {
    expect(
      findRenewalTime(fold([{ type: 'ARM_SENT', at: 16_000, market: 'BTC-USD', timeoutMs: 60_000 }], armed()).state),
    ).toBeUndefined();
  });
});

describe('a gap', () => {
  it('of exactly the time-out leaves the switch armed; after a longer one it is assumed fired', () => {
    expect(fold([{ type: 'TIME', at: 61_000 }], armed())).toMatchObject({ state: { status: 'armed' }, alarms: [] });
    expect(fold([{ type: 'TIME', at: 61_001 }], armed())).toMatchObject({
      state: { status: 'assumed_fired' },
      alarms: ['assumed_fired'],
    });
  });
  it('is not hidden by a later answer', () => {
    const { state, alarms } = fold([{ type: 'QUALIFYING_ANSWERED', at: 61_500, sentAt: 59_000 }], armed());
    expect([state.status, alarms, allowsOrders(state, 61_500)]).toEqual(['assumed_fired', ['assumed_fired'], false]);
  });
  it('requires a read of every order before the switch is armed again', () => {
    const gone = fold([{ type: 'TIME', at: 70_000 }], armed()).state;
    expect(fold(arm(71_000, 71_100), gone).state.status).toBe('assumed_fired');
    const { state } = fold([{ type: 'RECONCILED', at: 72_000 }, ...arm(73_000, 73_100)], gone);
    expect([state.status, allowsOrders(state, 73_200), findArmedUntil(state)]).toEqual(['armed', true, 133_000]);
  });
  it('may be armed all the same: what is refused then does not show it off', () => {
    const gone = fold([{ type: 'TIME', at: 70_000 }], armed()).state;
    const sent: DeadmanEvent = { type: 'ARM_SENT', at: 73_000, market: 'BTC-USD', timeoutMs: 60_000 };
    const refused: DeadmanEvent = { type: 'ARM_FAILED', at: 73_100, sentAt: 73_000, certain: true };
    expect(fold([{ type: 'RECONCILED', at: 72_000 }, sent, refused], gone).state.status).toBe('unknown');
  });
  it('is also shown by a read that finds nothing, unless it was sent before the switch was armed', () => {
    expect(fold([{ type: 'READ', at: 1_300, sentAt: 1_100, record: null }], armed()).state.status).toBe('armed');
    expect(fold([{ type: 'READ', at: 1_400, sentAt: 1_300, record: null }], armed())).toMatchObject({
      state: { status: 'assumed_fired' },
    });
    expect(fold([{ type: 'READ', at: 1_400, sentAt: 1_300, record: echo(60_000, 'canceled') }], armed())).toMatchObject(
      { state: { status: 'assumed_fired' } },
    );
  });
  it('may come sooner where another program changed the time-out', () => {
    const { state, alarms } = fold([{ type: 'READ', at: 1_400, sentAt: 1_300, record: echo(5_000) }], armed());
    expect([alarms, findArmedUntil(state)]).toEqual([['timeout_mismatch'], 6_000]);
  });
});

describe('disarming', () => {
  const beating = () =>
    fold(
      [
        { type: 'ARM_SENT', at: 16_000, market: 'BTC-USD', timeoutMs: 60_000 },
        { type: 'DISARM_BEGUN', at: 16_050 },
      ],
      armed(),
    ).state;
  it('waits for the heartbeat in flight, sends DELETE, and believes it when a read finds nothing', () => {
    const waiting = beating();
    expect([canDelete(waiting), findRenewalTime(waiting)]).toEqual([false, undefined]);
    const drained = fold(
      [{ type: 'ARM_ANSWERED', at: 16_200, sentAt: 16_000, timeoutMs: 60_000, echo: echo(60_000) }],
      waiting,
    ).state;
    expect([drained.status, needsDelete(drained)]).toEqual(['disarming', true]);
    const deleted = fold(
      [
        { type: 'DELETE_SENT', at: 16_300 },
        { type: 'DELETE_ANSWERED', at: 16_400 },
      ],
      drained,
    ).state;
    expect([deleted.status, needsDelete(deleted)]).toEqual(['disarming', false]);
    const { state, alarms } = fold([{ type: 'READ', at: 16_600, sentAt: 16_500, record: null }], deleted);
    expect([state.status, alarms, findArmedUntil(state)]).toEqual(['off', [], undefined]);
  });
  it('sends DELETE again where the switch is active after it', () => {
    const events: DeadmanEvent[] = [
      { type: 'DISARM_BEGUN', at: 2_000 },
      { type: 'DELETE_SENT', at: 2_100 },
      { type: 'DELETE_ANSWERED', at: 2_200 },
      { type: 'READ', at: 2_400, sentAt: 2_300, record: echo(60_000) },
    ];
    const { state, alarms } = fold(events, armed());
    expect([state.status, alarms, needsDelete(state)]).toEqual(['disarming', ['late_heartbeat'], true]);
  });
  it('is not proven by a read that was sent before the DELETE', () => {
    const events: DeadmanEvent[] = [
      { type: 'DISARM_BEGUN', at: 2_000 },
      { type: 'DELETE_SENT', at: 2_100 },
      { type: 'READ', at: 2_400, sentAt: 2_050, record: null },
    ];
    expect(fold(events, armed()).state.status).toBe('disarming');
  });
  it('that finds nothing before any DELETE assumes that the switch fired', () => {
    const { state } = fold(
      [
        { type: 'DISARM_BEGUN', at: 2_000 },
        { type: 'READ', at: 2_400, sentAt: 2_050, record: null },
      ],
      armed(),
    );
    expect(state.status).toBe('assumed_fired');
  });
  it('expires like any other gap until DELETE is answered, but not after', () => {
    const begun = fold(
      [
        { type: 'DISARM_BEGUN', at: 2_000 },
        { type: 'DELETE_SENT', at: 2_100 },
      ],
      armed(),
    ).state;
    expect(fold([{ type: 'TIME', at: 70_000 }], begun).state.status).toBe('assumed_fired');
    expect(
      fold(
        [
          { type: 'DELETE_ANSWERED', at: 2_200 },
          { type: 'TIME', at: 70_000 },
        ],
        begun,
      ).state.status,
    ).toBe('disarming');
  });
});

describe('several leases', () => {
  const short = { id: 'child', market: 'BTC-USD', timeoutMs: 20_000, keepAliveMs: 5_000 };
  it('share the shortest time-out and keep-alive', () => {
    const { state } = fold([{ type: 'LEASE_ENTERED', at: 2_000, lease: short }], armed());
    expect([combineRequirements(state)?.timeoutMs, combineRequirements(state)?.keepAliveMs]).toEqual([20_000, 5_000]);
    expect(findRenewalTime(state)).toBe(2_000);
    const renewed = fold(arm(2_010, 2_100, 20_000), state).state;
    expect([renewed.timeoutMs, findRenewalTime(renewed), findArmedUntil(renewed)]).toEqual([20_000, 7_010, 22_010]);
  });
  it('may be in force with either time-out while the answer is missing', () => {
    const entered = fold(
      [
        { type: 'LEASE_ENTERED', at: 2_000, lease: short },
        { type: 'ARM_SENT', at: 2_010, market: 'BTC-USD', timeoutMs: 20_000 },
      ],
      armed(),
    );
    expect(findArmedUntil(entered.state)).toBe(21_000);
    const lost = fold([{ type: 'ARM_FAILED', at: 12_010, sentAt: 2_010, certain: false }], entered.state).state;
    expect([lost.timeoutMs, findArmedUntil(lost)]).toEqual([20_000, 21_000]);
  });
  it('leave the others in force, and after the last nothing is required', () => {
    const both = fold([{ type: 'LEASE_ENTERED', at: 2_000, lease: short }], armed()).state;
    const one = fold([{ type: 'LEASE_LEFT', at: 3_000, id: 'child' }], both).state;
    expect(combineRequirements(one)).toEqual(lease);
    const none = fold([{ type: 'LEASE_LEFT', at: 4_000, id: 'run' }], one).state;
    expect([combineRequirements(none), findRenewalTime(none), allowsOrders(none, 4_000)]).toEqual([
      undefined,
      undefined,
      true,
    ]);
  });
  it('renew at least twice in a time-out, whatever keep-alive was requested', () => {
    const { state } = fold([{ type: 'LEASE_ENTERED', at: 0, lease: { ...lease, keepAliveMs: 59_000 } }]);
    expect([combineRequirements(state)?.keepAliveMs, chooseKeepAliveMs(60_000), chooseKeepAliveMs(1)]).toEqual([
      30_000, 15_000, 1,
    ]);
  });
});

/** The venue's rule, written from the document: the switch fires when no qualifying request has arrived within the time-out. */
class VenueSwitch {
  private deadline: number | undefined;
  private timeoutMs = 0;
  firedAt: number | undefined;

  private pass(now: number): void {
    if (this.deadline !== undefined && now > this.deadline) {
      this.firedAt ??= this.deadline;
      this.deadline = undefined;
    }
  }
  arm(now: number, timeoutMs: number): void {
    this.pass(now);
    this.timeoutMs = timeoutMs;
    this.deadline = now + timeoutMs;
  }
  qualify(now: number): void {
    this.pass(now);
    if (this.deadline !== undefined) this.deadline = now + this.timeoutMs;
  }
  hasFired(now: number): boolean {
    this.pass(now);
    return this.firedAt !== undefined;
  }
}

interface Request {
  readonly kind: 'arm' | 'order';
  readonly sentAt: number;
  readonly arrivesAt: number;
  readonly answeredAt: number;
  readonly fate: 'answered' | 'lost' | 'answer lost' | 'limited';
}

/** Runs the fold and a venue side by side in whole milliseconds, with latencies from 1; gives the requests sent and every violation. */
function sideBySide(
  timeoutMs: number,
  latencies: readonly number[],
  fates: readonly Request['fate'][],
  orders: readonly number[],
  until: number,
) {
  const venue = new VenueSwitch();
  let state = fold([
    { type: 'LEASE_ENTERED', at: 0, lease: { ...lease, timeoutMs, keepAliveMs: chooseKeepAliveMs(timeoutMs) } },
  ]).state;
  const arrivals: Request[] = [];
  const answers: Request[] = [];
  const sent: number[] = [];
  const wrong: string[] = [];
  let count = 0;
  const take = (event: DeadmanEvent) => {
    state = stepDeadman(state, event).state;
  };
  const send = (kind: Request['kind'], now: number) => {
    const there = latencies[count % latencies.length] as number;
    const back = latencies[(count * 7 + 3) % latencies.length] as number;
    const fate = kind === 'arm' && count === 0 ? 'answered' : (fates[count % fates.length] as Request['fate']);
    count += 1;
    const request = { kind, sentAt: now, arrivesAt: now + there, answeredAt: now + there + back, fate };
    if (fate === 'answered' || fate === 'answer lost') arrivals.push(request);
    answers.push(request);
    sent.push(now);
    if (kind === 'arm') take({ type: 'ARM_SENT', at: now, market: 'BTC-USD', timeoutMs });
  };
  send('arm', 0);
  for (let now = 0; now <= until; now += 1) {
    for (const request of arrivals.filter(({ arrivesAt }) => arrivesAt === now)) {
      if (request.kind === 'arm') venue.arm(now, timeoutMs);
      else venue.qualify(now);
    }
    const isArmed = state.status === 'armed' && now <= (findArmedUntil(state) ?? -1);
    if (isArmed && venue.hasFired(now)) wrong.push(`armed at ${now}, fired at ${venue.firedAt}`);
    for (const { kind, sentAt, fate } of answers.filter(({ answeredAt }) => answeredAt === now)) {
      if (fate === 'answered') {
        take(
          kind === 'arm'
            ? { type: 'ARM_ANSWERED', at: now, sentAt, timeoutMs, echo: echo(timeoutMs) }
            : { type: 'QUALIFYING_ANSWERED', at: now, sentAt },
        );
      } else if (kind === 'arm') {
        take({ type: 'ARM_FAILED', at: now, sentAt, certain: fate === 'limited' });
      }
    }
    take({ type: 'TIME', at: now });
    if (allowsOrders(state, now) && venue.hasFired(now))
      wrong.push(`orders allowed at ${now}, fired at ${venue.firedAt}`);
    if (state.status !== 'armed') continue;
    if (orders.includes(now)) send('order', now);
    const due = findRenewalTime(state);
    if (due !== undefined && due <= now) send('arm', now);
  }
  return { state, sent, wrong };
}

describe('beside a venue that follows its rule', () => {
  it('never reports armed, and never allows an order, after the switch has fired', () => {
    const fate = fc.constantFrom<Request['fate']>('answered', 'answered', 'lost', 'answer lost', 'limited');
    let fired = 0;
    fc.assert(
      fc.property(
        fc.integer({ min: 8, max: 120 }),
        fc.array(fc.integer({ min: 1, max: 90 }), { minLength: 1, maxLength: 12 }),
        fc.array(fate, { minLength: 1, maxLength: 12 }),
        fc.array(fc.nat(600), { maxLength: 12 }),
        (timeoutMs, latencies, fates, orders) => {
          const { wrong, state } = sideBySide(timeoutMs, latencies, fates, orders, 600);
          if (state.status === 'assumed_fired') fired += 1;
          expect(wrong).toEqual([]);
        },
      ),
      { numRuns: 1_500 },
    );
    expect(fired).toBeGreaterThan(100);
  });

  it('sends at least twice in a time-out while answers come within a quarter of it, and stays armed', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 16, max: 160 }),
        fc.array(fc.nat(100), { minLength: 1, maxLength: 12 }),
        fc.array(fc.nat(900), { maxLength: 12 }),
        (timeoutMs, shares, orders) => {
          const most = Math.floor(timeoutMs / 8);
          const { sent, wrong, state } = sideBySide(
            timeoutMs,
            shares.map((share) => Math.max(1, Math.floor((share * most) / 100))),
            ['answered'],
            orders,
            900,
          );
          const gaps = sent.slice(1).map((at, index) => at - (sent[index] as number));
          expect(wrong).toEqual([]);
          expect(state.status).toBe('armed');
          expect(Math.max(...gaps)).toBeLessThanOrEqual(timeoutMs / 2);
        },
      ),
      { numRuns: 500 },
    );
  });
});

describe('a time without a process', () => {
  it('makes a switch that was armed or being disarmed assumed fired, and requires a read of every order', () => {
    const unseen: DeadmanEvent = { type: 'UNSEEN', at: 2_000 };
    for (const before of [armed(), fold([{ type: 'DISARM_BEGUN', at: 1_500 }], armed()).state]) {
      const { state, alarms } = fold([unseen], before);
      expect([state.status, alarms, allowsOrders(state, 2_001)]).toEqual(['assumed_fired', ['assumed_fired'], false]);
    }
  });

  it('changes nothing for a switch that was off or whose DELETE was answered', () => {
    const given = fold(
      [
        { type: 'DISARM_BEGUN', at: 1_500 },
        { type: 'DELETE_SENT', at: 1_510 },
        { type: 'DELETE_ANSWERED', at: 1_600 },
      ],
      armed(),
    ).state;
    for (const before of [createDeadman(), given])
      expect(fold([{ type: 'UNSEEN', at: 2_000 }], before)).toEqual({ state: before, alarms: [] });
  });
});

it('two answers that hang, one after the other, leave time for a heartbeat', () => {
  for (const timeoutMs of [1_000, 5_000, 60_000]) {
    const keepAliveMs = chooseKeepAliveMs(timeoutMs);
    const lost = 2 * (limitDeadmanAnswerMs(timeoutMs) + Math.floor(keepAliveMs / 4));
    expect(keepAliveMs + lost).toBeLessThan(timeoutMs);
  }
});

describe('a keep-alive of 0', () => {
  const silent = { ...lease, keepAliveMs: 0 };

  it('sends no heartbeat, and the switch fires after its time-out', () => {
    const { state } = fold([{ type: 'LEASE_ENTERED', at: 0, lease: silent }, ...arm(1_000, 1_200)]);
    expect([findRenewalTime(state), findArmedUntil(state)]).toEqual([undefined, 61_000]);
    expect(fold([{ type: 'TIME', at: 61_001 }], state).alarms).toEqual(['assumed_fired']);
  });

  it('does not stop the heartbeats of another requirement', () => {
    const other: DeadmanEvent = { type: 'LEASE_ENTERED', at: 0, lease: { ...lease, id: 'callee' } };
    const { state } = fold([{ type: 'LEASE_ENTERED', at: 0, lease: silent }, other, ...arm(1_000, 1_200)]);
    expect(findRenewalTime(state)).toBe(16_000);
  });
});

const sent = (at: number, timeoutMs = 60_000): DeadmanEvent => ({ type: 'ARM_SENT', at, market: 'BTC-USD', timeoutMs });
const answered = (at: number, sentAt: number, timeoutMs = 60_000): DeadmanEvent => ({
  type: 'ARM_ANSWERED',
  at,
  sentAt,
  timeoutMs,
  echo: echo(timeoutMs),
});
const failed = (at: number, sentAt: number, certain: boolean): DeadmanEvent => ({
  type: 'ARM_FAILED',
  at,
  sentAt,
  certain,
});
const qualified = (sentAt: number): DeadmanEvent => ({ type: 'QUALIFYING_ANSWERED', at: sentAt + 10, sentAt });
const read = (sentAt: number, record: DeadmanRecord | null): DeadmanEvent => ({
  type: 'READ',
  at: sentAt + 10,
  sentAt,
  record,
});
const stepArmed = (at: number, timeoutMs: number, market = 'BTC-USD'): DeadmanEvent => ({
  type: 'STEP_ARMED',
  at,
  market,
  timeoutMs,
});
const stepDisarmed = (at: number, market = 'BTC-USD'): DeadmanEvent => ({ type: 'STEP_DISARMED', at, market });
const DISARM: DeadmanEvent = { type: 'DISARM_BEGUN', at: 2_000 };
const DELETE: DeadmanEvent = { type: 'DELETE_SENT', at: 2_100 };

it('waits and reads by parts and multiples of the time-out', () => {
  expect([limitDeadmanAnswerMs(60_000), limitDeadmanAnswerMs(1), chooseDeadmanReadPauseMs(60_000)]).toEqual([
    15_000, 1, 240_000,
  ]);
});

describe('a step that arms or disarms the switch itself', () => {
  it('armed shortens the time-out, and the required one is sent again at once', () => {
    const { state } = fold([stepArmed(5_000, 10_000)], armed());
    expect([findArmedUntil(state), findRenewalTime(state)]).toEqual([11_000, 5_000]);
    const longer = fold([stepArmed(5_000, 90_000)], armed()).state;
    expect([findArmedUntil(longer), findRenewalTime(longer)]).toEqual([61_000, 5_000]);
    const restored = fold(arm(5_010, 5_100), longer).state;
    expect([findArmedUntil(restored), findRenewalTime(restored)]).toEqual([65_010, 20_010]);
  });

  it('disarmed allows no order, and no request renews it until a heartbeat sent after that is answered', () => {
    const removed = fold([stepDisarmed(5_000)], armed()).state;
    expect([allowsOrders(removed, 5_001), findRenewalTime(removed)]).toEqual([false, 5_000]);
    expect(fold([qualified(6_000)], removed).state.lastQualifyingSentAt).toBe(1_000);
    const late = fold([sent(4_900), stepDisarmed(5_000), answered(5_100, 4_900)], armed()).state;
    expect([allowsOrders(late, 5_200), findRenewalTime(late), findArmedUntil(late)]).toEqual([false, 5_000, 61_000]);
    const again = fold(arm(5_000, 5_100), removed).state;
    expect([allowsOrders(again, 5_200), findRenewalTime(again)]).toEqual([true, 20_000]);
    expect(fold([qualified(6_000)], again).state.lastQualifyingSentAt).toBe(6_000);
  });

  it('disarmed while the first request to arm is in flight leaves a heartbeat due at once', () => {
    const { state } = fold([
      { type: 'LEASE_ENTERED', at: 0, lease },
      sent(1_000),
      stepDisarmed(1_100),
      answered(1_200, 1_000),
    ]);
    expect([state.status, allowsOrders(state, 1_300), findRenewalTime(state)]).toEqual(['armed', false, 1_100]);
  });

  it('armed for less while a heartbeat is in flight keeps the shorter time-out', () => {
    const { state } = fold([sent(4_900), stepArmed(5_000, 10_000), answered(5_100, 4_900)], armed());
    expect([state.timeoutMs, findRenewalTime(state)]).toEqual([10_000, 5_000]);
  });

  it('shows in a read, which is then no alarm', () => {
    expect(fold([stepDisarmed(5_000), read(5_100, null)], armed())).toMatchObject({
      alarms: [],
      state: { status: 'armed' },
    });
  });

  it('changes nothing for another market, or where no switch is armed', () => {
    for (const event of [stepArmed(5_000, 10_000, 'ETH-USD'), stepDisarmed(5_000, 'ETH-USD')])
      expect(fold([event], armed()).state).toEqual(armed());
    const fired = fold([{ type: 'TIME', at: 70_000 }], armed()).state;
    for (const event of [stepArmed(70_001, 10_000), stepDisarmed(70_001)])
      expect(fold([event], fired).state).toEqual(fired);
  });
});

describe('two heartbeats in flight', () => {
  const both = (first: number, second: number) => fold([sent(16_000, first), sent(16_100, second)], armed()).state;

  it('count with the shorter time-out until both are answered', () => {
    for (const [first, second] of [
      [60_000, 20_000],
      [20_000, 60_000],
    ] as const) {
      const state = both(first, second);
      expect(findArmedUntil(state)).toBe(21_000);
      const one = fold([answered(16_200, 16_000, first)], state).state;
      expect([findArmedUntil(one), one.timeoutMs, findRenewalTime(one)]).toEqual([36_000, first, undefined]);
      const settled = fold([answered(16_300, 16_100, second)], one).state;
      expect([findArmedUntil(settled), settled.timeoutMs]).toEqual([16_100 + second, second]);
    }
  });

  it('keep a short time-out until nothing is in flight that may set it', () => {
    const short = fold(arm(2_000, 2_100, 20_000), armed()).state;
    const one = fold([sent(3_000, 20_000), sent(3_100, 60_000), answered(3_200, 3_100, 60_000)], short).state;
    expect(one.timeoutMs).toBe(20_000);
    const refused = fold([failed(3_300, 3_000, true)], one).state;
    expect([findArmedUntil(refused), refused.requestedMs]).toEqual([23_100, undefined]);
    expect(fold([sent(3_000), sent(3_100, 20_000), failed(3_200, 3_000, true)], armed()).state.requestedMs).toBe(
      20_000,
    );
  });

  it('settle one by one', () => {
    const state = fold([failed(16_200, 16_000, true)], both(60_000, 60_000)).state;
    expect(findRenewalTime(state)).toBeUndefined();
    expect(fold([answered(16_300, 16_100)], state).state.inFlight).toBe(0);
    expect(fold([sent(1), sent(2), failed(3, 1, true)]).state.status).toBe('unknown');
  });

  it('count from the later one, whichever is answered first', () => {
    const { state } = fold([answered(16_300, 16_100), answered(16_400, 16_000)], both(60_000, 60_000));
    expect([state.lastQualifyingSentAt, state.heartbeatSentAt]).toEqual([16_100, 16_100]);
  });
});

describe('an answer', () => {
  it('without a record counts with the time-out that was sent', () => {
    const { state, alarms } = fold(
      [sent(16_000), { type: 'ARM_ANSWERED', at: 16_100, sentAt: 16_000, timeoutMs: 60_000, echo: null }],
      armed(),
    );
    expect([alarms, state.timeoutMs, findArmedUntil(state)]).toEqual([[], 60_000, 76_000]);
  });

  it('that the switch is not active leaves an armed one, and no long text in the alarm', () => {
    const step = stepDeadman(fold([sent(16_000)], armed()).state, {
      type: 'ARM_ANSWERED',
      at: 16_100,
      sentAt: 16_000,
      timeoutMs: 60_000,
      echo: echo(60_000, 'x'.repeat(1_000)),
    });
    expect([step.state.status, step.state.lastQualifyingSentAt]).toEqual(['armed', 1_000]);
    expect(step.alarms[0]?.because.length).toBeLessThan(150);
  });

  it('to a request that qualifies renews a switch that is armed or being disarmed, and no other', () => {
    expect(findArmedUntil(fold([DISARM, qualified(10_000)], armed()).state)).toBe(70_000);
    for (const before of [createDeadman(), createDeadman('unknown'), fold([sent(1)]).state])
      expect(fold([qualified(10_000)], before).state).toEqual(before);
    const fired = fold([{ type: 'TIME', at: 70_000 }], armed()).state;
    expect(fold([qualified(71_000)], fired).state).toEqual(fired);
  });

  it('postpones a heartbeat by a time-out at most', () => {
    const { state } = fold([qualified(30_000), qualified(58_000)], armed());
    expect([findRenewalTime(state), findArmedUntil(state)]).toEqual([61_000, 118_000]);
  });

  it('takes the place of the retry of a heartbeat, unless the heartbeat is overdue', () => {
    const retried = fold([sent(16_000), failed(16_100, 16_000, true)], armed()).state;
    expect(findRenewalTime(fold([qualified(17_000)], retried).state)).toBe(32_000);
    expect(findRenewalTime(fold([qualified(1_000)], retried).state)).toBe(19_850);
    const overdue = fold([qualified(58_000), sent(60_900), failed(60_950, 60_900, true)], armed()).state;
    for (const at of [61_000, 62_000]) expect(findRenewalTime(fold([qualified(at)], overdue).state)).toBe(64_700);
  });

  it('that fails without heartbeats of its own is retried after a part of the time-out', () => {
    const silent: DeadmanEvent = { type: 'LEASE_ENTERED', at: 0, lease: { ...lease, keepAliveMs: 0 } };
    const { state } = fold([
      silent,
      ...arm(1_000, 1_200),
      stepArmed(2_000, 60_000),
      sent(2_010),
      failed(2_100, 2_010, true),
    ]);
    expect(findRenewalTime(state)).toBe(5_850);
  });
});

describe('the status', () => {
  it('armed alone allows orders and is renewed', () => {
    const disarming = fold([DISARM], armed()).state;
    expect([allowsOrders(disarming, 2_001), findRenewalTime(disarming), canDelete(disarming)]).toEqual([
      false,
      undefined,
      true,
    ]);
    expect([allowsOrders(createDeadman(), 1), canDelete(armed()), needsDelete(armed())]).toEqual([true, false, false]);
  });

  it('assumed fired allows no order even where nothing requires the switch, and raises one alarm', () => {
    const { state, alarms } = fold([...arm(1_000, 1_200), { type: 'TIME', at: 61_500 }, { type: 'TIME', at: 70_000 }]);
    expect([state.status, alarms, allowsOrders(state, 70_001)]).toEqual(['assumed_fired', ['assumed_fired'], false]);
    expect(fold([read(71_000, null)], state)).toEqual({ state, alarms: [] });
  });

  it('assumed fired says how long no request was answered', () => {
    const [alarm] = stepDeadman(armed(), { type: 'TIME', at: 62_000 }).alarms;
    expect(alarm?.because).toContain('1 min 1 s');
  });

  it('unknown becomes arming, and a read with a request in flight does not end it', () => {
    expect(fold([sent(1)], createDeadman('unknown')).state.status).toBe('arming');
    const doubtful = fold([sent(1), sent(2), failed(3, 1, false)]).state;
    expect(fold([read(4, null)], doubtful).state.status).toBe('unknown');
  });

  it('is not changed by a reconciliation unless the switch may have fired', () => {
    expect(fold([{ type: 'RECONCILED', at: 2_000 }], armed()).state).toEqual(armed());
  });
});

describe('disarming without a switch', () => {
  it('does nothing where it is off', () => {
    expect(fold([DISARM]).state.status).toBe('off');
    expect(fold([{ type: 'DELETE_ANSWERED', at: 1 }], armed()).state).toEqual(armed());
  });

  it('ends with a read that finds none, and fires no more, where it is not known or may have fired', () => {
    const fired = fold([{ type: 'TIME', at: 70_000 }], armed()).state;
    for (const before of [createDeadman('unknown'), fired]) {
      const begun = fold(
        [
          { ...DISARM, at: 71_000 },
          { type: 'TIME', at: 200_000 },
        ],
        before,
      );
      expect([begun.state.status, begun.alarms]).toEqual(['disarming', []]);
      expect(fold([read(200_100, null)], begun.state)).toMatchObject({ state: { status: 'off' }, alarms: [] });
      expect(fold([read(200_100, echo(60_000))], begun.state).state).toEqual(begun.state);
    }
  });

  it('believes no read that was sent before the switch was armed, or with a request in flight', () => {
    for (const sentAt of [1_100, 1_200])
      expect(fold([DISARM, read(sentAt, null)], armed()).state.status).toBe('disarming');
    const { state } = fold([sent(1_900), DISARM, DELETE, read(2_300, null)], armed());
    expect(state.status).toBe('disarming');
  });

  it('finds an active switch as expected before the DELETE, and sends one again that was not answered', () => {
    const begun = fold([DISARM], armed()).state;
    expect(fold([read(2_050, echo(60_000))], begun)).toEqual({ state: begun, alarms: [] });
    const { state, alarms } = fold([DELETE, read(2_300, echo(60_000))], begun);
    expect([needsDelete(state), alarms]).toEqual([true, []]);
  });
});

describe('disarming that is put off', () => {
  const off: DeadmanEvent = { type: 'DISARM_PUT_OFF', at: 3_000 };

  it('renews the switch at once, and allows no order before that: a DELETE of a dead process may have left', () => {
    const { state, alarms } = fold([DISARM, DELETE, off], armed());
    expect([state.status, alarms, findRenewalTime(state), findArmedUntil(state)]).toEqual(['armed', [], 3_000, 61_000]);
    expect([allowsOrders(state, 3_000), canDelete(state)]).toEqual([false, false]);
    const renewed = fold(arm(3_100, 3_200), state).state;
    expect([allowsOrders(renewed, 3_200), findRenewalTime(renewed)]).toEqual([true, 18_100]);
  });

  it('changes nothing where the switch may have fired meanwhile, or was never known to be armed', () => {
    const late: DeadmanEvent = { ...off, at: 62_000 };
    expect(fold([DISARM, DELETE, late], armed())).toMatchObject({
      state: { status: 'assumed_fired' },
      alarms: ['assumed_fired'],
    });
    const unknown = fold([DISARM], createDeadman('unknown')).state;
    expect(fold([off], unknown).state).toEqual(unknown);
  });

  it('happens an eighth of the time-out behind the next heartbeat, or behind now, and never without heartbeats', () => {
    const state = armed();
    expect([limitHoldUp(state, 1_200), limitHoldUp(state, 30_000)]).toEqual([23_500, 37_500]);
    const begun = fold([DISARM], state).state;
    expect(limitHoldUp(begun, 2_000)).toBe(23_500);
    expect(limitHoldUp(fold([DELETE, { type: 'DELETE_ANSWERED', at: 2_200 }], begun).state, 2_300)).toBeUndefined();
    expect(limitHoldUp({ ...state, keepAliveMs: 0 }, 2_000)).toBeUndefined();
    expect(limitHoldUp(createDeadman(), 2_000)).toBeUndefined();
  });
});

describe('a read of an armed switch', () => {
  it('proves nothing in the instant in which it was armed', () => {
    expect(fold([read(1_200, null)], armed()).state.status).toBe('armed');
  });

  it('finds the time-out as it was sent, or one that a request in flight sets', () => {
    expect(fold([read(1_300, echo(60_000))], armed())).toEqual({ state: armed(), alarms: [] });
    const renewing = fold([sent(16_000)], armed()).state;
    expect(fold([read(16_050, echo(5_000))], renewing)).toEqual({ state: renewing, alarms: [] });
  });
});

describe('requirements', () => {
  const required = (...timeouts: number[]) =>
    combineRequirements({
      ...createDeadman(),
      requirements: timeouts.map((timeoutMs, index) => ({ ...lease, id: `${index}`, timeoutMs })),
    });

  it('are those of the shortest time-out, of the first among equals', () => {
    expect([required(30_000, 20_000, 60_000)?.id, required(20_000, 20_000)?.id]).toEqual(['1', '0']);
  });

  it('of one id are its latest', () => {
    const { state } = fold([{ type: 'LEASE_ENTERED', at: 2_000, lease: { ...lease, timeoutMs: 90_000 } }], armed());
    expect(combineRequirements(state)?.timeoutMs).toBe(90_000);
  });
});
