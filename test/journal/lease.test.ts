import { describe, expect, it } from 'vitest';
import { VirtualClock } from '../../src/base/clock.ts';
import { HeldLease, takeLease } from '../../src/journal/shared/lease.ts';
import { openSharedMemory } from '../../src/journal/shared/memory.ts';
import { LEASE_LIFE_MS, type Leases } from '../../src/journal/shared/shared.ts';
import { StoreError } from '../../src/journal/store.ts';

async function kept(ofThisMachine = true) {
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
  const keeper = await takeLease({ leases, account: 'main', holder: 'run 1', clock });
  if (!(keeper instanceof HeldLease)) throw new Error('not taken');
  return { clock, keeper, state, leases };
}

describe('whether a process still acts for its account', () => {
  it('is certain at once while half a life is left, and asks nobody', async () => {
    const { clock, keeper, state } = await kept();
    await clock.advanceTo(clock.now() + 4_000);
    expect([await keeper.holds(), state.renewals]).toEqual([true, 0]);
  });

  it('is asked anew by one that slept: its own lateness is no loss where nobody took the account', async () => {
    const { clock, keeper } = await kept();
    clock.skipTo(clock.now() + 10 * LEASE_LIFE_MS);
    expect(keeper.mayAct()).toBe(false);
    expect(await keeper.holds()).toBe(true);
    expect(keeper.mayAct()).toBe(true);
  });

  it('is denied to one that slept while another took the account', async () => {
    const { clock, keeper, leases } = await kept();
    clock.skipTo(clock.now() + LEASE_LIFE_MS);
    expect(await leases.acquire('main', 'run 2')).toEqual({ kind: 'held', epoch: 2 });
    expect(await keeper.holds()).toBe(false);
  });

  it('is waited for while the store can not tell', async () => {
    const { clock, keeper, state } = await kept();
    state.fails = true;
    await clock.advanceTo(clock.now() + 8_000);
    let told: boolean | undefined;
    void keeper.holds().then((holds) => {
      told = holds;
    });
    await clock.advanceTo(clock.now() + 5_000);
    expect(told).toBeUndefined();
    state.fails = false;
    await clock.advanceTo(clock.now() + 2_000);
    expect(told).toBe(true);
  });

  it('does not keep a cancel back that nobody else can be in the way of: a disk that is full is full for all', async () => {
    const { clock, keeper, state } = await kept();
    state.fails = true;
    await clock.advanceTo(clock.now() + 60_000);
    expect(await keeper.holds(true)).toBe(true);
  });

  it.each([
    ['on a store that machines share', false, 8_000],
    ['for a process that slept for longer than the lease lived', true, 0],
  ])('keeps it back %s', async (_, ofThisMachine, awakeMs) => {
    const { clock, keeper, state } = await kept(ofThisMachine);
    state.fails = awakeMs > 0;
    await clock.advanceTo(clock.now() + awakeMs);
    state.fails = true;
    if (awakeMs === 0) clock.skipTo(clock.now() + 2 * LEASE_LIFE_MS);
    let told: boolean | undefined;
    void keeper.holds(true).then((holds) => {
      told = holds;
    });
    await clock.advanceTo(clock.now() + 5_000);
    expect(told).toBeUndefined();
  });

  it('is over once the lease was given back', async () => {
    const { keeper } = await kept();
    await keeper.release();
    expect(await keeper.holds()).toBe(false);
  });
});
