import { describe, expect, it } from 'vitest';
import { VirtualClock } from '../../src/base/clock.ts';
import { Simulator } from '../../src/gateway/simulator/simulator.ts';
import { CALM, SimulatedVenue, START_MS, wire } from './harness.ts';

const BTC = { market_id: 'BTC-USD' } as const;

async function armed(timeout: number, config = CALM): Promise<SimulatedVenue> {
  const venue = new SimulatedVenue(config);
  await venue.place();
  await venue.place({ market_id: 'ETH-USD', price: '3000', size: '1' });
  await venue.place({ type: 'stop_market', price: undefined, trigger_price: '70000' });
  await venue.pass(100);
  await venue.call('POST /cancel_all_after', { ...BTC, timeout });
  return venue;
}
const statuses = (venue: SimulatedVenue) => venue.simulator.books().orders.map((order) => order.status);

describe('the records', () => {
  it('answers arming with market, timeout and the time of the last qualifying request', async () => {
    const venue = new SimulatedVenue();
    const said = await venue.call('POST /cancel_all_after', { ...BTC, timeout: 60_000 });
    expect(said.result).toEqual({
      market_id: 'BTC-USD',
      profile_id: 88892,
      timeout: 60_000,
      last_updated: (START_MS + 5) * 1000,
      status: 'active',
    });
    await venue.pass(1000);
    const read = await venue.call('GET /cancel_all_after', BTC);
    expect(read.result).toEqual({
      profile_id: 88892,
      timeout: 60_000,
      last_updated: (START_MS + 5) * 1000,
      status: 'active',
    });
  });

  it('gives nothing for a market that is not armed', async () => {
    const venue = await armed(60_000);
    expect((await venue.call('GET /cancel_all_after', { market_id: 'ETH-USD' })).result).toEqual({});
  });
});

describe('rule 1, activity', () => {
  it.each([
    ['POST /orders', { market_id: 'BTC-USD', side: 'long', type: 'limit', price: '62000', size: '0.1' }, true],
    ['PUT /orders', { order_id: 'BTC-USD@1001', market_id: 'BTC-USD', price: '62000' }, true],
    ['DELETE /orders', { order_id: 'ETH-USD@1002', market_id: 'ETH-USD' }, true],
    ['POST /cancel_all_after', { ...BTC, timeout: 10_000 }, true],
    ['GET /orders', {}, false],
    ['GET /account', {}, false],
    ['GET /cancel_all_after', BTC, false],
    ['PUT /account/leverage', { market_id: 'BTC-USD', leverage: 4 }, false],
  ] as const)('%s', async (name, params, renews) => {
    const venue = await armed(10_000);
    await venue.pass(8000);
    await venue.call(name, params as never);
    await venue.pass(3000);
    expect(venue.simulator.books().deadman.armed.length === 1).toBe(renews);
  });

  it('does not count a request that was refused for want of tokens', async () => {
    const venue = await armed(10_000, {
      ...CALM,
      faults: [{ on: 'POST /cancel_all_after', when: { call: '2+' }, do: 'rate_limited' }],
    });
    await venue.pass(8000);
    expect((await venue.call('POST /cancel_all_after', { ...BTC, timeout: 10_000 })).status).toBe(429);
    await venue.pass(3000);
    expect(venue.simulator.books().deadman.armed).toEqual([]);
  });
});

describe('rule 2, firing', () => {
  it('cancels every order of every market at the end of the period, stops too, and is off', async () => {
    const venue = await armed(10_000);
    const armedAt = venue.simulator.books().deadman.lastActivityAt;
    await venue.clock.advanceTo(armedAt + 9999);
    expect(statuses(venue)).toEqual(['open', 'open', 'open']);
    await venue.clock.advanceTo(armedAt + 10_000);
    expect(statuses(venue)).toEqual(['canceled', 'canceled', 'canceled']);
    expect((await venue.call('GET /cancel_all_after', BTC)).result).toEqual({});
    expect(venue.simulator.books().deadman.events.map(({ event, at }) => [event, at - armedAt])).toEqual([
      ['armed', 0],
      ['fired', 10_000],
    ]);
    const { id } = await venue.place();
    await venue.pass(60_000);
    expect(venue.booked(id).status).toBe('open');
  });
});

describe('rule 3, the smallest timeout', () => {
  it('takes 1 ms and refuses 0', async () => {
    const venue = new SimulatedVenue();
    expect((await venue.call('POST /cancel_all_after', { ...BTC, timeout: 0 })).success).toBe(false);
    expect((await venue.call('POST /cancel_all_after', { ...BTC, timeout: 1 })).success).toBe(true);
    expect(venue.simulator.books().deadman.events.map(({ event }) => event)).toEqual(['armed', 'fired']);
  });
});

describe('rule 4, disarming', () => {
  it('answers null, and nothing fires afterwards', async () => {
    const venue = await armed(10_000);
    const said = await venue.call('DELETE /cancel_all_after', BTC);
    expect([said.success, said.result]).toEqual([true, null]);
    await venue.pass(60_000);
    expect(statuses(venue)).toEqual(['open', 'open', 'open']);
  });
});

describe('shapes of other deployments', () => {
  it.each([
    ['array', []],
    ['null', null],
    ['object', {}],
  ] as const)('answers a read of a switch that is off with %s', async (deadmanEmpty, result) => {
    const venue = new SimulatedVenue({ ...CALM, surprises: { deadmanEmpty } });
    expect((await venue.call('GET /cancel_all_after', BTC)).result).toEqual(result);
  });

  it('answers with an array of one', async () => {
    const venue = new SimulatedVenue({ ...CALM, surprises: { deadmanResult: 'array' } });
    expect((await venue.call('POST /cancel_all_after', { ...BTC, timeout: 60_000 })).result).toEqual([
      expect.objectContaining({ status: 'active' }),
    ]);
  });
});

describe('the books', () => {
  it.each([
    [0, ['armed', 'disarmed']],
    [100, ['armed', 'renewed', 'renewed', 'renewed', 'disarmed']],
  ])('keep nothing of a renewal where they keep %s requests', async (keptRequests, events) => {
    const clock = new VirtualClock(START_MS);
    const simulator = new Simulator(CALM, clock, 1, { keptRequests });
    const transport = simulator.transport();
    for (let count = 0; count < 4; count += 1)
      await clock.runUntil(
        transport.send(wire('POST /cancel_all_after', { ...BTC, timeout: 60_000 }), { timeoutMs: 10_000 }),
      );
    await clock.runUntil(transport.send(wire('DELETE /cancel_all_after', BTC), { timeoutMs: 10_000 }));
    expect(simulator.books().deadman.events.map(({ event }) => event)).toEqual(events);
  });
});
