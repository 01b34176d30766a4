/** The leases under the id of the venue, beside the one of the profile's name: renewed, lost and released together. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { takeAccountLease } from '../../src/app/account/identity.ts';
import { openMachineGuard } from '../../src/app/stores/location.ts';
import { SILENT } from '../../src/app/voice.ts';
import { HeldLease } from '../../src/journal/shared/lease.ts';
import { LEASE_LIFE_MS, LEASE_RENEWAL_MS, type Leases } from '../../src/journal/shared/shared.ts';
import { World } from './live-host.ts';

const IDENTITY = 'https://venue.test account id 88892';
const NAMED = 'https://venue.test main';

let folder = '';
let world: World;
let opened: { close(): Promise<void> }[] = [];

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'runbook-identity-'));
  vi.stubEnv('TMPDIR', folder);
  world = new World({ config: {} });
  opened = [];
  // Virtual time does not wait for the first opening of a file.
  await openGuard();
});
afterEach(async () => {
  for (const each of opened) await each.close();
  world.close();
  vi.unstubAllEnvs();
  rmSync(folder, { recursive: true });
});

async function openGuard(): Promise<Leases> {
  const guard = await openMachineGuard();
  opened.push(guard);
  return guard.leases;
}

async function take() {
  const keepOpen = <T extends { close(): Promise<void> }>(part: T) => {
    opened.push(part);
    return part;
  };
  const { host } = await world.openProcess({ keepOpen });
  const lost = vi.fn();
  const { time } = world;
  const acting = await time.runUntil(
    takeAccountLease({ ...host.account, key: NAMED }, { holder: 'run 1', onLost: lost, voice: SILENT }),
  );
  return { acting, lost };
}

async function hold() {
  const { acting, lost } = await take();
  if (acting.kind !== 'held' || !(acting.lease instanceof HeldLease)) throw new Error('not taken');
  expect(acting.accountId).toBe('88892');
  return { lease: acting.lease, lost };
}

const advance = (ms: number) => world.time.advanceTo(world.time.now() + ms);
const acquire = async (leases: Leases, key = IDENTITY) => (await leases.acquire(key, 'another')).kind;

/** Gives the lease to another process, as it does when the holder was taken for dead. */
async function steal(leases: Leases): Promise<void> {
  await leases.release(IDENTITY, 1);
  expect(await acquire(leases)).toBe('held');
}

const PLACES: readonly [string, () => Promise<Leases>][] = [
  ['in the store', async () => world.shared.leases],
  ['on this machine', openGuard],
];

describe('the leases of an account', () => {
  it.each(PLACES)('are lost with the one of its id %s', async (_where, find) => {
    const { lease, lost } = await hold();
    await advance(LEASE_RENEWAL_MS);
    expect([lost.mock.calls.length, await lease.holds()]).toEqual([0, true]);
    await steal(await find());
    await advance(LEASE_RENEWAL_MS);
    expect([lost.mock.calls.length, await lease.holds()]).toEqual([1, false]);
  });

  it('are lost with the one of its name, and then the others are not renewed', async () => {
    const { lost } = await hold();
    await world.shared.leases.release(NAMED, 1);
    expect(await acquire(world.shared.leases, NAMED)).toBe('held');
    await advance(LEASE_RENEWAL_MS);
    expect(lost).toHaveBeenCalledTimes(1);
    await advance(LEASE_LIFE_MS);
    expect(await acquire(world.shared.leases)).toBe('held');
  });

  it('are all renewed for as long as the process acts', async () => {
    const { lease, lost } = await hold();
    await advance(5 * LEASE_LIFE_MS);
    for (const key of [NAMED, IDENTITY]) expect(await acquire(world.shared.leases, key)).toBe('taken');
    expect(await acquire(await openGuard())).toBe('taken');
    expect([lost.mock.calls.length, await lease.holds()]).toEqual([0, true]);
  });

  it('are released together', async () => {
    const { lease } = await hold();
    await lease.release();
    for (const key of [NAMED, IDENTITY]) expect(await acquire(world.shared.leases, key)).toBe('held');
    expect(await acquire(await openGuard())).toBe('held');
  });

  it.each(PLACES)(
    'are not taken where another process has the one of its id %s, and nothing is kept',
    async (_, find) => {
      const leases = await find();
      expect(await acquire(leases)).toBe('held');
      const { acting } = await take();
      expect(acting).toMatchObject({ kind: 'taken', heldBy: expect.stringContaining('another') });
      await leases.release(IDENTITY, 1);
      for (const key of [NAMED, IDENTITY]) expect(await acquire(world.shared.leases, key)).toBe('held');
    },
  );
});
