/** Tests an amend whose order or answer is not as hoped: already ended, unchanged, denied, or of unknown terms at the end. */
import { expect, it } from 'vitest';
import { VirtualClock } from '../../src/base/clock.ts';
import { decimal } from '../../src/base/decimal.ts';
import { Cancellation } from '../../src/engine/interruption.ts';
import { Amending } from '../../src/engine/orders/amend.ts';
import type { OrderManagerParts, OrderRequestContext } from '../../src/engine/readings/parts.ts';
import { OrderWatch } from '../../src/engine/readings/watch.ts';
import { WallTime } from '../../src/engine/wall-time.ts';
import type { TrackedOrder } from '../../src/journal/orders.ts';
import type { OrderState } from '../../src/venue/order/states.ts';
import type { VenueCall, VenuePort } from '../../src/venue/port.ts';
import { orderIn, terms } from '../venue/order-samples.ts';

const START = Date.UTC(2026, 0, 5, 8);

/** A run with one order, which is shown in another state so many ms after the start; a PUT gets the answer given. */
function amending(
  from: OrderState,
  { to = from, afterMs = 0, put, onPut }: { to?: OrderState; afterMs?: number; put?: object; onPut?: OrderState } = {},
) {
  const clock = new VirtualClock(START);
  const order = { snapshot: orderIn(from), intent: terms(), createdAt: START } as unknown as TrackedOrder;
  const show = (state: OrderState) => Object.assign(order, { snapshot: orderIn(state) });
  clock.at(START + afterMs, () => void show(to));
  const calls: string[] = [];
  const entries: unknown[] = [];
  const venue = {
    async call({ endpoint }: VenueCall) {
      calls.push(endpoint);
      if (endpoint === 'PUT /orders' && onPut !== undefined) show(onPut);
      return endpoint === 'PUT /orders' ? put : { kind: 'confirmed', result: [], settledAt: clock.now() };
    },
  } as unknown as VenuePort;
  const log = {
    append: (type: string, data: { event?: string }) => {
      entries.push([type, data.event]);
      show('quarantined');
    },
  };
  const callId = (path: string) => `${path}#${calls.length}`;
  const watch = new OrderWatch({ venue, clock, wall: new WallTime(clock), callId });
  const amends = new Amending({ venue, clock, callId, log } as unknown as OrderManagerParts, watch);
  const cancel = new Cancellation();
  const at: OrderRequestContext = { step: 'a', cancel, memory: new Map(), limits: undefined, reference: undefined };
  return {
    clock,
    calls,
    entries,
    amend: (price: string) => clock.runUntil(amends.own(order, decimal(price), undefined, at)),
    settle: () => clock.runUntil(amends.settle(order, 'end', cancel)),
  };
}

it('at the end of a run waits for the terms a minute, and no longer', async () => {
  const known = amending('amending', { to: 'open', afterMs: 3_000 });
  await known.settle();
  expect([known.entries, known.clock.now() - START]).toEqual([[], 4_000]);
  const unknown = amending('amending');
  await expect(unknown.settle()).rejects.toMatchObject({ fact: { kind: 'unknown_outcome' } });
  expect([unknown.entries, unknown.clock.now() - START]).toEqual([[['order.concluded', 'T_EXHAUSTED']], 60_000]);
});

it('to the terms that the order has sends nothing, and none is sent for an order that has ended', async () => {
  const same = amending('open');
  await same.amend('100.0');
  expect(same.calls).toEqual([]);
  const ended = amending('processing', { to: 'closed', afterMs: 1_000 });
  await expect(ended.amend('101')).rejects.toMatchObject({ kind: 'not_found' });
  expect(ended.calls).not.toContain('PUT /orders');
});

it('that is denied or refused fails with its reason, or with the end that the order had come to', async () => {
  const denied = { kind: 'denied', code: 'KILL_SWITCH_ENGAGED', message: 'x' };
  const refused = { kind: 'rejected', failure: 'rejected', definite: true, message: 'x' };
  for (const [put, kind] of [
    [denied, 'denied'],
    [refused, 'rejected'],
  ] as const) {
    const scene = amending('open', { put });
    await expect(scene.amend('101')).rejects.toMatchObject({ kind });
    expect([scene.calls, scene.entries]).toEqual([['PUT /orders', 'GET /orders'], []]);
  }
});

it('that is answered, but shows in no record, kept the old terms', async () => {
  const { amend } = amending('open', { put: { kind: 'confirmed', result: [], settledAt: START } });
  await expect(amend('101')).rejects.toMatchObject({ kind: 'rejected' });
});

it('that was refused fails with the end of the order where it had one before', async () => {
  for (const put of [
    { kind: 'denied', code: 'KILL_SWITCH_ENGAGED', message: 'x' },
    { kind: 'rejected', failure: 'rejected', definite: true, message: 'x' },
    { kind: 'rejected', failure: 'rejected', definite: false, message: 'x' },
  ]) {
    const scene = amending('open', { put, onPut: 'closed' });
    await expect(scene.amend('101')).rejects.toMatchObject({ kind: 'not_found' });
    expect(scene.entries).toEqual([]);
  }
});

it('that is not answered halts the run where its terms do not become known, and fails where the order ends', async () => {
  const put = { kind: 'unresolved', failure: 'timeout', message: 'x' };
  const unknown = amending('open', { put, onPut: 'amending', to: 'amending', afterMs: 1_000 });
  await expect(unknown.amend('101')).rejects.toMatchObject({ fact: { kind: 'unknown_outcome' } });
  expect([unknown.entries, unknown.clock.now() - START]).toEqual([[['order.concluded', 'T_EXHAUSTED']], 240_000]);
  const ended = amending('open', { put, onPut: 'amending', to: 'closed', afterMs: 3_000 });
  const failed = ended.amend('101');
  await expect(failed).rejects.toMatchObject({ kind: 'not_found' });
  expect([ended.entries, ended.clock.now() - START]).toEqual([[], 4_000]);
});
