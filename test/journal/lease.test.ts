import { describe, expect, it } from 'vitest';
import { VirtualClock } from '../../src/base/clock.ts';
import { HeldLease, takeLease } from '../../src/journal/shared/lease.ts';
import { openSharedMemory } from '../../src/journal/shared/memory.ts';
import { LEASE_LIFE_MS, type Leases } from '../../src/journal/shared/shared.ts';
import { StoreError } from '../../src/journal/store.ts';

async function holdLease(ofThisMachine = true) {
  const clock = new VirtualClock(1_000_000);
  const shared = openSharedMemory(() => clock.monotonic());
  const state = { fails: false, renewals: 0 };
  const leases: Leases = {
    ...shared.leases,
    ofThisMachine,
    async renew(account, epoch) {
      state.renewals += 1;
      if (state.fails) throw new StoreError('unavailable', 'the store is away');
      return shared.leases.renew(account, epoch);
    },
  };
  const lease = await takeLease({ leases, account: 'main', holder: 'run 1', clock });
  if (!(lease instanceof HeldLease)) throw new Error('not taken');
  return { clock, lease, state, leases };
}

describe('a lease, before an attempt', () => {
  it('holds at once while half a life is left, without asking the store', async () => {
    const { clock, lease, state } = await holdLease();
    await clock.advanceTo(clock.now() + 4_000);
    expect([await lease.holds(), state.renewals]).toEqual([true, 0]);
  });

  it('is renewed first by a process that slept, and holds when no other process took the account', async () => {
    const { clock, lease } = await holdLease();
    clock.skipTo(clock.now() + 10 * LEASE_LIFE_MS);
    expect(lease.mayAct()).toBe(false);
    expect(await lease.holds()).toBe(true);
    expect(lease.mayAct()).toBe(true);
  });

  it('is lost to a process that took the account during a sleep', async () => {
    const { clock, lease, leases } = await holdLease();
    clock.skipTo(clock.now() + LEASE_LIFE_MS);
    expect(await leases.acquire('main', 'run 2')).toEqual({ kind: 'held', epoch: 2 });
    expect(await lease.holds()).toBe(false);
  });

  it('is not awaited by who does not need it any more: it is not certain then, neither held nor lost', async () => {
    const { clock, lease, state } = await holdLease();
    state.fails = true;
    await clock.advanceTo(clock.now() + 8_000);
    let needed = true;
    const answers: unknown[] = [];
    void lease.holds(false, () => !needed).then((held) => answers.push(held));
    await clock.advanceTo(clock.now() + 2_000);
    expect(answers).toEqual([]);
    needed = false;
    await clock.advanceTo(clock.now() + 2_000);
    expect([answers, lease.mayAct()]).toEqual([[undefined], false]);
  });

  it('is awaited while the store does not answer', async () => {
    const { clock, lease, state } = await holdLease();
    state.fails = true;
    await clock.advanceTo(clock.now() + 8_000);
    let answer: boolean | undefined;
    void lease.holds().then((holds) => {
      answer = holds;
    });
    await clock.advanceTo(clock.now() + 5_000);
    expect(answer).toBeUndefined();
    state.fails = false;
    await clock.advanceTo(clock.now() + 2_000);
    expect(answer).toBe(true);
  });

  it('does not delay a cancel while no other process can have taken the account: a full disk is full for all', async () => {
    const { clock, lease, state } = await holdLease();
    state.fails = true;
    await clock.advanceTo(clock.now() + 60_000);
    expect(await lease.holds(true)).toBe(true);
  });

  it('does not delay a heartbeat or a cancel for a minute where machines share the store, and delays an order', async () => {
    const { clock, lease, state } = await holdLease(false);
    state.fails = true;
    await clock.advanceTo(clock.now() + 50_000);
    const answers: string[] = [];
    void lease.holds(true).then(() => answers.push('cancel'));
    void lease.holds().then(() => answers.push('order'));
    await clock.advanceTo(clock.now() + 5_000);
    expect(answers).toEqual(['cancel']);
    state.fails = false;
    await clock.advanceTo(clock.now() + 5_000);
    expect(answers).toEqual(['cancel', 'order']);
  });

  it.each([
    ['after a minute and a half on a store that machines share', false, 95_000],
    ['for a process that slept for longer than the lease lived', true, 0],
  ])('delays it %s', async (_, ofThisMachine, awakeMs) => {
    const { clock, lease, state } = await holdLease(ofThisMachine);
    state.fails = awakeMs > 0;
    await clock.advanceTo(clock.now() + awakeMs);
    state.fails = true;
    if (awakeMs === 0) clock.skipTo(clock.now() + 2 * LEASE_LIFE_MS);
    let answer: boolean | undefined;
    void lease.holds(true).then((holds) => {
      answer = holds;
    });
    await clock.advanceTo(clock.now() + 5_000);
    expect(answer).toBeUndefined();
  });

  it('does not hold once it is released', async () => {
    const { lease } = await holdLease();
    await lease.release();
    expect(await lease.holds()).toBe(false);
  });
});
