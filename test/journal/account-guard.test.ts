import { describe, expect, it } from 'vitest';
import { combineKillSwitches, combineLeases } from '../../src/journal/shared/account-guard.ts';
import { openSharedMemory } from '../../src/journal/shared/memory.ts';
import { buildUnreadableKill, EVERY_ACCOUNT, LEASE_LIFE_MS } from '../../src/journal/shared/shared.ts';
import { StoreError } from '../../src/journal/store.ts';

/** Two stores of one user. */
function openStores() {
  const on = { nowMs: 1_000_000 };
  const [user, one, two] = [1, 2, 3].map(() => openSharedMemory(() => on.nowMs));
  if (user === undefined || one === undefined || two === undefined) throw new Error('no stores');
  return {
    on,
    user,
    one: {
      leases: combineLeases(user.leases, one.leases),
      kills: combineKillSwitches(user.killSwitch, one.killSwitch),
    },
    two: {
      leases: combineLeases(user.leases, two.leases),
      kills: combineKillSwitches(user.killSwitch, two.killSwitch),
    },
  };
}

describe('the lease of an account with two stores', () => {
  it('is held through one of them at a time, and the other names the holder', async () => {
    const { one, two } = openStores();
    expect(await one.leases.acquire('main', 'scheduler, process 7')).toEqual({ kind: 'held', epoch: 1 });
    expect(await two.leases.acquire('main', 'run of b')).toEqual({
      kind: 'taken',
      heldBy: 'with another store: scheduler, process 7',
      remainingMs: LEASE_LIFE_MS,
    });
    expect([await one.leases.holder('main'), await two.leases.holder('main')]).toEqual([
      'scheduler, process 7',
      'with another store: scheduler, process 7',
    ]);
    expect(await two.leases.acquire('other', 'run of b')).toEqual({ kind: 'held', epoch: 1 });
    await one.leases.release('main', 1);
    // Each store has its own epochs, which fence its journal.
    expect(await two.leases.acquire('main', 'run of b')).toEqual({ kind: 'held', epoch: 1 });
    expect(await one.leases.acquire('main', 'run of a')).toMatchObject({ kind: 'taken' });
  });

  it('is lost when the other store has taken it', async () => {
    const { on, one, two } = openStores();
    await one.leases.acquire('main', 'a');
    on.nowMs += LEASE_LIFE_MS - 1;
    expect(await one.leases.renew('main', 1)).toBe(true);
    on.nowMs += LEASE_LIFE_MS + 1;
    expect(await two.leases.acquire('main', 'b')).toEqual({ kind: 'held', epoch: 1 });
    expect([await one.leases.renew('main', 1), await two.leases.renew('main', 1)]).toEqual([false, true]);
    await one.leases.release('main', 1);
    expect(await two.leases.renew('main', 1)).toBe(true);
  });

  it('is released in the user’s folder when the other store refuses it', async () => {
    const { user, one } = openStores();
    await one.leases.acquire('main', 'a');
    await user.leases.release('main', 1);
    expect(await one.leases.acquire('main', 'b')).toMatchObject({ kind: 'taken', heldBy: 'a' });
    expect(await user.leases.holder('main')).toBeUndefined();
  });
});

describe('the kill switch of an account with two stores', () => {
  it('of an account applies to both, and is lifted where it was engaged', async () => {
    const { one, two } = openStores();
    await one.kills.engage({ scope: 'main', by: 'ada', reason: 'r', at: 1 });
    expect([await one.kills.engaged('main'), await two.kills.engaged('main')]).toMatchObject([
      { by: 'ada' },
      { by: 'ada' },
    ]);
    expect(await two.kills.engaged('other')).toBeUndefined();
    expect(await one.kills.release('main', 'ada', 2)).toBe(true);
    expect([await one.kills.engaged('main'), await two.kills.engaged('main')]).toEqual([undefined, undefined]);
    expect(await two.kills.release('main', 'ada', 3)).toBe(false);
  });

  it('is engaged for this user also where the store cannot take it, which is said', async () => {
    const { user, two } = openStores();
    const full = {
      ...user.killSwitch,
      engage: () => Promise.reject(new StoreError('unavailable', 'the disk is full')),
    };
    const order = { scope: 'main', by: 'ada', reason: 'r', at: 1 };
    await expect(combineKillSwitches(user.killSwitch, full).engage(order)).rejects.toThrow('the disk is full');
    expect(await two.kills.engaged('main')).toEqual(order);
  });

  it('of this user counts while the store cannot be read, which is no kill by itself', async () => {
    const { user } = openStores();
    const unread = { ...user.killSwitch, engaged: async () => buildUnreadableKill('main', new Error('away')) };
    const kills = combineKillSwitches(user.killSwitch, unread);
    expect(await kills.engaged('main')).toMatchObject({ unread: true });
    await user.killSwitch.engage({ scope: 'main', by: 'ada', reason: 'r', at: 1 });
    expect(await kills.engaged('main')).toEqual({ scope: 'main', by: 'ada', reason: 'r', at: 1 });
    // Neither can be read.
    expect(await combineKillSwitches(unread, unread).engaged('main')).toMatchObject({ unread: true });
    const other = openStores().one;
    expect(await combineKillSwitches(unread, other.kills).engaged('main')).toMatchObject({ unread: true });
  });

  it('has one history: events in both stores once, and those of the other store', async () => {
    const { one, two } = openStores();
    await one.kills.engage({ scope: 'main', by: 'ada', reason: 'r', at: 1 });
    await two.kills.release('main', 'bo', 2);
    await one.kills.engage({ scope: EVERY_ACCOUNT, by: 'ada', reason: 's', at: 3 });
    await one.kills.release('main', 'cy', 4);
    const engaged = { action: 'engage', scope: 'main', by: 'ada', reason: 'r', at: 1 };
    const released = { action: 'release', scope: 'main', by: 'bo', reason: '', at: 2 };
    const last = { action: 'release', scope: 'main', by: 'cy', reason: '', at: 4 };
    expect(await one.kills.history('main')).toEqual([
      engaged,
      released,
      { action: 'engage', scope: EVERY_ACCOUNT, by: 'ada', reason: 's', at: 3 },
      last,
    ]);
    expect(await two.kills.history('main')).toEqual([engaged, released, last]);
  });

  it('of every account belongs to one store', async () => {
    const { one, two } = openStores();
    await one.kills.engage({ scope: EVERY_ACCOUNT, by: 'ada', reason: 'r', at: 1 });
    expect([await one.kills.engaged('main'), await two.kills.engaged('main')]).toMatchObject([
      { by: 'ada' },
      undefined,
    ]);
  });
});
