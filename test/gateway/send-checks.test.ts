/** Each check of a call: which calls it is asked of, what it waits for, and what it denies. */
import { describe, expect, it } from 'vitest';
import { CancelAllBarrier } from '../../src/gateway/cancel-all-barrier.ts';
import type { ClientParts } from '../../src/gateway/client-parts.ts';
import type { EndpointName } from '../../src/venue/catalogue.ts';
import { SWEEP, type VenueCall } from '../../src/venue/port.ts';
import { SIMULATED_PROFILE } from '../../src/venue/profile/profile.ts';
import { ACK, ARMING, callOf, confirmed, type Given, intent, placing, START, setUp } from './client-stage.ts';

const CANCEL = callOf('DELETE /orders');
const READ = callOf('GET /orders');
const LEVERAGE = callOf('PUT /account/leverage', { params: { market_id: 'BTC-USD', leverage: 3 } });
const DISARMING = callOf('DELETE /cancel_all_after');
const AMEND = callOf('PUT /orders', { params: { order_id: 'BTC-USD@1859', market_id: 'BTC-USD', price: '99' } });

/** A call that its step can give up. */
function makeWanted() {
  const listeners = new Set<() => void>();
  const wanted = {
    withdrawn: undefined as string | undefined,
    onWithdrawn(listener: () => void) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
  const withdraw = () => {
    wanted.withdrawn = 'its step ended';
    for (const listener of listeners) listener();
  };
  return { wanted, withdraw };
}

/** The journal of a run whose order the amends of these tests name. */
async function placed() {
  const { client, run, entries } = setUp({ replies: [confirmed(ACK)] });
  await run(client.call(placing()));
  return entries;
}

/** Makes a call; gives what comes of it: a code, or when its request was sent, ms. `then`: what happens after so many ms. */
async function make(call: VenueCall, given: Given = {}, ...then: readonly (readonly [number, () => void])[]) {
  const venue = setUp(call.endpoint === 'PUT /orders' ? { ...given, before: await placed() } : given);
  for (const [ms, act] of then) venue.clock.after(ms, act);
  let settled: string | undefined;
  void venue.client.call(call).then((outcome) => {
    settled = 'code' in outcome && outcome.code !== undefined ? `${outcome.code} ${outcome.settledAt - START}` : 'sent';
  });
  await venue.clock.advanceTo(START + 100_000);
  const at = venue.sent.map((each) => each.at);
  return settled === 'sent' ? at[0] : (settled ?? (at.length > 0 ? 'sent, no answer' : 'waits'));
}
const makeWith = (call: VenueCall, parts: Partial<ClientParts>) => make(call, { parts });

describe('what is asked of a call at first', () => {
  it('is whether the document allows it, also of a read', async () => {
    expect(await make(callOf('GET /orders', { params: { size: '1' } }))).toBe('INVALID_REQUEST 0');
    expect(await make(placing({ params: { market_id: 'BTC-USD' } }))).toBe('INVALID_REQUEST 0');
  });

  it('is, of a precaution alone, whether the recording has it', async () => {
    const precaution = callOf('GET /orders', { purpose: SWEEP });
    expect(await make(precaution, { knows: false })).toBe('NOT_RECORDED 0');
    expect(await make(precaution, { knows: true })).toBe(0);
    expect(await make(precaution)).toBe(0);
    expect(await make(READ, { knows: false })).toBe(0);
  });
});

describe('the age of a decision', () => {
  const decided = (call: VenueCall, agoMs: number): VenueCall => ({ ...call, decidedAt: START - agoMs });
  const { ambiguityWindowMs } = SIMULATED_PROFILE;
  const sweep = callOf('DELETE /orders/cancel_all');

  it.each<[string, VenueCall, unknown]>([
    ['an order', decided(placing(), 60_000), 0],
    ['an order', decided(placing(), 60_001), 'STALE_INTENT 0'],
    ['an amend', decided(AMEND, 60_001), 'STALE_INTENT 0'],
    ['a cancel_all', decided(sweep, ambiguityWindowMs), 0],
    ['a cancel_all', decided(sweep, ambiguityWindowMs + 1), 'STALE_INTENT 0'],
    ['a cancel', decided(CANCEL, 3_600_000), 0],
    ['a change of leverage', decided(LEVERAGE, 3_600_000), 0],
  ])('lets %s go, or not', async (_, call, outcome) => {
    expect(await make(call)).toBe(outcome);
  });

  it('counts for an order from when it asked for its tokens, and not for a cancel_all', async () => {
    expect(await make(placing(), { tokensAfterMs: 60_000 })).toBe(60_000);
    expect(await make(placing(), { tokensAfterMs: 60_001 })).toBe('STALE_INTENT 60001');
    expect(await make(sweep, { tokensAfterMs: 95_000 })).toBe(95_000);
  });
});

describe('the lease', () => {
  it.each<[string, VenueCall, boolean]>([
    ['a read', READ, true],
    ['a cancel', CANCEL, true],
    ['a cancel that needs its entry', callOf('DELETE /orders', { recorded: true }), false],
    ['a heartbeat', { ...ARMING, purpose: 'keep-alive' }, true],
    ['the arming of the switch', { ...ARMING, purpose: 'arm' }, false],
    ['its disarming', DISARMING, false],
    ['an order', placing(), false],
    ['an amend', AMEND, false],
  ])('is asked whether it holds for what is harmless or not: %s', async (_, call, harmless) => {
    const asked: boolean[] = [];
    const lease: ClientParts['lease'] = {
      async holds(of) {
        asked.push(of);
        return true;
      },
    };
    expect(await makeWith(call, { lease })).toBe(0);
    expect(new Set(asked)).toEqual(new Set([harmless]));
  });

  it.each<[string, 'withdrawn' | 'unstored' | undefined, unknown]>([
    ['its step ended', 'withdrawn', 'STEP_ENDED 1000'],
    ['the journal is given up', 'unstored', 'JOURNAL 1000'],
    ['neither', undefined, 'waits'],
  ])('that is not certain is waited for until %s', async (_, why, outcome) => {
    const { wanted, withdraw } = makeWanted();
    let failure: string | undefined;
    let act = () => {};
    const lease: ClientParts['lease'] = {
      holds: (_of, isGivenUp) =>
        new Promise((resolve) => {
          act = () => void (isGivenUp?.() === true && resolve(undefined));
        }),
    };
    const given: Given = { parts: { lease }, findFailure: () => failure };
    const change = () => {
      if (why === 'withdrawn') withdraw();
      if (why === 'unstored') failure = 'the disk is full';
      act();
    };
    expect(await make(callOf('GET /orders', { wanted }), given, [500, () => act()], [1000, change])).toBe(outcome);
  });
});

describe('a cancel of all orders', () => {
  const barred = (untilMs: number) => {
    const barrier = new CancelAllBarrier();
    const venue = (given: Given = {}) => ({ ...given, parts: { ...given.parts, barrier } });
    let open = () => {};
    const close = () => void barrier.during(new Promise<void>((resolve) => (open = resolve)));
    return { barrier, venue, close, opens: [untilMs, () => open()] as const };
  };

  it.each<[EndpointName, VenueCall, number]>([
    ['POST /orders', placing(), 700],
    ['PUT /orders', AMEND, 700],
    ['DELETE /orders', CANCEL, 0],
    ['GET /orders', READ, 0],
  ])('keeps back %s', async (_, call, at) => {
    const { venue, close, opens } = barred(700);
    close();
    expect(await make(call, venue(), opens)).toBe(at);
  });

  it('that begins while the lease is asked for the last time keeps an order back as well', async () => {
    const { venue, close, opens } = barred(900);
    let asked = 0;
    const lease: ClientParts['lease'] = {
      async holds() {
        asked += 1;
        if (asked === 2) close();
        return true;
      },
    };
    expect(await make(placing(), venue({ parts: { lease } }), opens)).toBe(900);
  });

  it('is not waited for by an order that its step has given up, before or meanwhile', async () => {
    const before = makeWanted();
    const { venue, close } = barred(0);
    close();
    before.withdraw();
    expect(await make(placing({ wanted: before.wanted }), venue())).toBe('STEP_ENDED 0');
    const meanwhile = makeWanted();
    const order = placing({ wanted: meanwhile.wanted });
    expect(await make(order, venue(), [300, meanwhile.withdraw])).toBe('STEP_ENDED 300');
  });
});

describe('the kill switch', () => {
  const engaged: ClientParts['forbidden'] = (protective) => (protective ? undefined : 'KILL_SWITCH_ENGAGED: by ada');

  it.each<[string, VenueCall, unknown]>([
    ['an order', placing(), 'KILL_SWITCH_ENGAGED 0'],
    ['an amend', AMEND, 'KILL_SWITCH_ENGAGED 0'],
    ['a cancel', CANCEL, 0],
    ['a read', READ, 0],
  ])('bars what adds risk: %s', async (_, call, outcome) => {
    expect(await makeWith(call, { forbidden: engaged })).toBe(outcome);
  });

  it('bars every call where it says so, a read before it is sent', async () => {
    const forbidden = () => 'LOCKED: for everything';
    expect([await makeWith(READ, { forbidden }), await makeWith(CANCEL, { forbidden })]).toEqual([
      'LOCKED 0',
      'LOCKED 0',
    ]);
  });

  it('is read anew before what adds risk is sent, and what it says then holds', async () => {
    let reads = 0;
    const parts: Partial<ClientParts> = {
      forbidden: (protective) => (reads === 0 ? undefined : engaged(protective)),
      async readKillSwitch() {
        reads += 1;
        return true;
      },
    };
    expect(await makeWith(CANCEL, parts)).toBe(0);
    expect(reads).toBe(0);
    expect(await makeWith(placing(), parts)).toBe('KILL_SWITCH_ENGAGED 0');
    expect(reads).toBe(1);
  });

  it('that cannot be read is read again every half second', async () => {
    let reads = 0;
    expect(await makeWith(placing(), { readKillSwitch: async () => ++reads === 4 })).toBe(1500);
  });

  it.each([
    ['its step ended', 'withdrawn', 'STEP_ENDED 1000'],
    ['the journal is given up', 'unstored', 'JOURNAL 1000'],
  ])('that cannot be read is waited for until %s', async (_, why, outcome) => {
    const { wanted, withdraw } = makeWanted();
    let failure: string | undefined;
    const given: Given = { parts: { readKillSwitch: async () => false }, findFailure: () => failure };
    const change = () => {
      if (why === 'withdrawn') withdraw();
      else failure = 'the disk is full';
    };
    expect(await make(placing({ wanted }), given, [800, change])).toBe(outcome);
  });

  it('is not what denies an order whose step ended while it was read', async () => {
    const { wanted, withdraw } = makeWanted();
    const readKillSwitch = async () => {
      withdraw();
      return true;
    };
    expect(await makeWith(placing({ wanted }), { readKillSwitch })).toBe('STEP_ENDED 0');
  });
});

describe('a call whose step ended', () => {
  it('while it waited for its tokens is not sent, and neither is one whose step ended before it was durable', async () => {
    const first = makeWanted();
    const withTokens: Given = { tokensAfterMs: 500 };
    expect(await make(placing({ wanted: first.wanted }), withTokens, [100, first.withdraw])).toBe('STEP_ENDED 500');
    const second = makeWanted();
    const flush = async () => second.withdraw();
    expect(await make(placing({ wanted: second.wanted }), { flush })).toBe('STEP_ENDED 0');
  });
});

describe('the limits', () => {
  const limited = (limits: object): Given => ({
    replies: [confirmed(ACK)],
    parts: { profile: { ...SIMULATED_PROFILE, limits } },
  });

  it('count an order once, also when they are asked again after its attempt', async () => {
    const { client, run, of, sent } = setUp(limited({ maxOrdersPerMinute: 1 }));
    const first = await run(client.call(placing()));
    const other = { ...intent, clientOrderId: 'rbabd' };
    const second = await run(
      client.call(placing({ id: 'steps/p#1', intent: other, clientOrderId: other.clientOrderId })),
    );
    expect([first.kind, second]).toMatchObject(['confirmed', { kind: 'denied', code: 'ORDER_RATE_EXCEEDED' }]);
    expect([sent.length, of('call.attempted').length]).toEqual([1, 1]);
  });

  it('are journaled once, with what they considered, and not where there are none', async () => {
    const { client, run, of, types } = setUp(limited({ maxOrderSize: '10' }));
    await run(client.call(placing()));
    expect(of('call.checked')).toMatchObject([{ call: 'steps/o#1', limits: expect.any(Object) }]);
    expect(types().indexOf('call.checked')).toBe(types().indexOf('call.attempted') - 1);
    const free = setUp({ ...limited({}), replies: [confirmed(ACK)] });
    await free.run(free.client.call(placing()));
    expect(free.of('call.checked')).toEqual([]);
  });

  it.each<[string, VenueCall, number]>([
    ['an order', placing(), 1],
    ['an amend', AMEND, 1],
    ['a cancel', CANCEL, 0],
    ['a change of leverage', LEVERAGE, 0],
  ])('of the account are counted anew for %s', async (_, call, times) => {
    let counted = 0;
    await makeWith(call, { recount: async () => ++counted });
    expect(counted).toBe(times);
  });
});

describe('a person', () => {
  const answers = (yes: boolean) => {
    const asked: string[] = [];
    const confirm = async ({ endpoint }: VenueCall) => {
      asked.push(endpoint);
      return yes;
    };
    return { asked, confirm };
  };

  it.each<[string, VenueCall, unknown, number]>([
    ['an order', placing(), 'NOT_CONFIRMED 0', 1],
    ['a read', READ, 0, 0],
    ['a cancel', CANCEL, 0, 0],
    ['a cancel of an exit', callOf('DELETE /orders', { consent: { what: 'the exit' } }), 'NOT_CONFIRMED 0', 1],
  ])('who says no is asked of what adds risk, and of an exit: %s', async (_, call, outcome, times) => {
    const { asked, confirm } = answers(false);
    expect(await makeWith(call, { confirm })).toBe(outcome);
    expect(asked).toHaveLength(times);
  });

  it('is asked once for all writes of an exit', async () => {
    const { asked, confirm } = answers(true);
    const consent = { what: 'the exit' };
    expect(await makeWith(callOf('DELETE /orders', { consent }), { confirm })).toBe(0);
    expect(await makeWith(placing({ consent }), { confirm })).toBe(0);
    expect(asked).toEqual(['DELETE /orders']);
  });
});

describe('the first order of a leg', () => {
  const find = async (call: VenueCall<'POST /orders'>, parts: Partial<ClientParts> = {}) => {
    const { client, run, sent } = setUp({ parts });
    const outcome = await run(client.findDenial(call));
    expect(sent).toEqual([]);
    return outcome?.kind === 'denied' ? outcome.code : outcome;
  };
  const limited = (limits: object) => ({ profile: { ...SIMULATED_PROFILE, limits } });

  it('is denied for what lasts: its form, the kill switch, a limit', async () => {
    expect(await find(placing({ params: { market_id: 'BTC-USD' } }))).toBe('INVALID_REQUEST');
    expect(await find(placing(), { forbidden: () => 'KILL_SWITCH_ENGAGED: by ada' })).toBe('KILL_SWITCH_ENGAGED');
    expect(await find(placing(), limited({ maxOrderSize: '9' }))).toBe('SIZE_EXCEEDS_MAX_PER_ORDER');
  });

  it('is denied for a limit of the account', async () => {
    const { client, run } = setUp({ replies: [confirmed(ACK)], parts: limited({ maxOrdersPerMinute: 1 }) });
    expect(await run(client.findDenial(placing()))).toBeUndefined();
    await run(client.call(placing()));
    expect(await run(client.findDenial(placing()))).toMatchObject({ code: 'ORDER_RATE_EXCEEDED' });
  });

  it('is not denied for what may pass', async () => {
    expect(await find(placing(), limited({ maxOpenOrders: 0 }))).toBeUndefined();
    expect(await find(placing())).toBeUndefined();
  });
});
