/** A kill that a store could not be given when it was engaged reaches it later, and counts until then. */
import { readFileSync, writeFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import type { Account } from '../../src/app/account/account.ts';
import { chainKills, describeActor, makeKillAct } from '../../src/app/account/acts.ts';
import { environmentOf } from '../../src/app/environment.ts';
import { stateFolder } from '../../src/app/state.ts';
import type { StorePlace } from '../../src/app/stores/location.ts';
import { deliverKills, noteDelivered, noteKill, withPendingKills } from '../../src/app/stores/pending-kills.ts';
import { MemoryAccountJournal } from '../../src/journal/account/memory.ts';
import { openSharedMemory } from '../../src/journal/shared/memory.ts';
import { buildUnreadableKill, type KillSwitch } from '../../src/journal/shared/shared.ts';
import { StoreAway } from '../../src/journal/store.ts';
import { folder } from './command.ts';

const KILL = { scope: '*', by: 'ada', reason: 'drill', at: 1_000_000 };
const [ONE, OTHER]: readonly [StorePlace, StorePlace] = [
  { kind: 'postgres', url: { env: 'ONE' } },
  { kind: 'sqlite', file: '/srv/other.db' },
];

function open() {
  const here = folder();
  const state = stateFolder(undefined, environmentOf({}), here.path);
  const { killSwitch } = openSharedMemory(() => 0);
  const on = { away: true, nowMs: KILL.at + 10_000 };
  const inner: KillSwitch = {
    ...killSwitch,
    async engage(order) {
      if (on.away) throw new StoreAway('away');
      await killSwitch.engage(order);
    },
    engaged: async (account) =>
      on.away ? buildUnreadableKill(account, new Error('away')) : killSwitch.engaged(account),
  };
  const kills = withPendingKills(inner, { state, place: ONE, now: () => on.nowMs });
  return { state, on, kills, inner, killSwitch };
}

describe('a kill that a store did not get', () => {
  it('counts while the store is away, is delivered once it is back, and is lifted by a release for good', async () => {
    const { state, on, kills, killSwitch } = open();
    noteKill(state, KILL, [ONE, OTHER]);
    expect(await kills.engaged('main')).toEqual(KILL);
    on.away = false;
    expect([await kills.engaged('main'), await kills.engaged('main')]).toEqual([KILL, KILL]);
    expect(await killSwitch.history()).toEqual([{ ...KILL, action: 'engage' }]);
    await killSwitch.release('main', 'bo', on.nowMs);
    expect(await kills.engaged('main')).toBeUndefined();
    expect(readFileSync(state.file('kills.jsonl'), 'utf8').split('\n').filter(Boolean)).toHaveLength(2);
  });

  it('is left to the process that gives it while that is under way, and is no kill of other stores', async () => {
    const { state, on, kills, killSwitch } = open();
    on.away = false;
    on.nowMs = KILL.at + 1_000;
    noteKill(state, KILL, [ONE]);
    expect([await kills.engaged('main'), await killSwitch.history()]).toEqual([undefined, []]);
    noteDelivered(state, KILL, ONE);
    on.nowMs = KILL.at + 60_000;
    expect([await kills.engaged('main'), await killSwitch.history()]).toEqual([undefined, []]);
    noteKill(state, { ...KILL, at: 2 }, [OTHER]);
    expect([await kills.engaged('main'), await killSwitch.history()]).toEqual([undefined, []]);
  });

  it('counts where the clock was ahead when it was given, and was set since', async () => {
    const { state, on, kills, killSwitch } = open();
    noteKill(state, KILL, [ONE]);
    on.nowMs = KILL.at - 600_000;
    expect(await kills.engaged('main')).toEqual(KILL);
    on.away = false;
    expect([await kills.engaged('main'), await killSwitch.history()]).toMatchObject([KILL, [{ by: 'ada' }]]);
  });

  it('is delivered before a release, however young it is', async () => {
    const { state, on, inner, killSwitch } = open();
    on.away = false;
    noteKill(state, KILL, [ONE]);
    expect(await deliverKills(inner, state, ONE, Number.POSITIVE_INFINITY)).toEqual([]);
    expect(await killSwitch.release('main', 'bo', on.nowMs)).toBe(true);
  });

  it('does not stumble over lines that a crash has cut, or that are something else', async () => {
    const { state, on, kills } = open();
    on.away = false;
    writeFileSync(state.file('kills.jsonl'), '{"kill":{"scope":"*","by":"ad\nnull\n{"kill":7}\n[]\n');
    expect(await kills.engaged('main')).toBeUndefined();
  });
});

describe('a kill that its own command did not write into the journal of the account', () => {
  it('is written once the command had time for it, and once', async () => {
    const { killSwitch } = openSharedMemory(() => 0);
    const journal = new MemoryAccountJournal();
    const clock = { nowMs: KILL.at + 1_000, now: () => clock.nowMs };
    const account = { key: 'main', clock, shared: { killSwitch }, openAccountJournal: async () => journal };
    const chain = () => chainKills(account as unknown as Account, { complain: () => {} });
    expect(await chain()).toBe(false);
    await killSwitch.engage(KILL);
    expect([await chain(), await journal.accounts()]).toEqual([true, []]);
    clock.nowMs = KILL.at + 20_000;
    expect([await chain(), await chain()]).toEqual([false, false]);
    expect(await journal.find('*', ['kill.engaged'])).toMatchObject([{ by: 'ada', data: { late: true, at: KILL.at } }]);
  });
});

describe('a kill that the switch has lost, as where its file was removed', () => {
  it('is engaged again from the journal of the account, where it was in force', async () => {
    const { killSwitch } = openSharedMemory(() => 0);
    const journal = new MemoryAccountJournal();
    const clock = { now: () => KILL.at + 60_000 };
    const account = { key: 'main', clock, shared: { killSwitch }, openAccountJournal: async () => journal };
    const said: string[] = [];
    const chain = () => chainKills(account as unknown as Account, { complain: (text) => said.push(text) });
    const ada = describeActor('ada');
    await journal.append('*', makeKillAct({ ...KILL, action: 'engage' }, ada, KILL.at));
    await chain();
    expect([await killSwitch.engaged('main'), said.length]).toEqual([KILL, 1]);
    const release = { action: 'release', scope: 'main', by: 'ada', reason: '', at: KILL.at + 1 } as const;
    await killSwitch.release('main', 'ada', release.at);
    await journal.append('main', makeKillAct(release, ada, release.at));
    const { killSwitch: emptied } = openSharedMemory(() => 0);
    await chainKills({ ...account, shared: { killSwitch: emptied } } as unknown as Account, { complain: () => {} });
    await chain();
    expect([await killSwitch.engaged('main'), await emptied.engaged('main'), said.length]).toEqual([
      undefined,
      undefined,
      1,
    ]);
  });
});
