/**
 * The lease and the kill switch of an account, kept twice: beside the journal, for everyone who uses that store, and in the
 * user's own state folder, for everything the user starts, from whatever folder. An account is one account wherever its runs
 * are journaled; two stores that knew nothing of each other would let two processes trade it at once.
 */
import { EVERY_ACCOUNT, type KillEvent, type KillSwitch, type Leases, type Shared } from './shared.ts';

/** The user's own lease and kill switch on this machine. */
export interface AccountGuard {
  readonly leases: Leases;
  readonly killSwitch: KillSwitch;
  close(): Promise<void>;
}

/** A store's sharing with the user's guard around it; the guard is closed with it, and where it can not be opened. */
export async function guardedShared(guard: AccountGuard, open: () => Promise<Shared>): Promise<Shared> {
  try {
    const shared = await open();
    return {
      ...shared,
      leases: leasesOfBoth(guard.leases, shared.leases),
      killSwitch: killSwitchOfBoth(guard.killSwitch, shared.killSwitch),
      async close() {
        await shared.close();
        await guard.close();
      },
    };
  } catch (error) {
    await guard.close();
    throw error;
  }
}

/** Held where both are; lost where either is. The epoch is that of `beside`: a journal's fence never goes back. */
export function leasesOfBoth(ofUser: Leases, beside: Leases): Leases {
  const userEpochs = new Map<string, number>();
  const mark = (account: string, epoch: number) => `${epoch} ${account}`;
  return {
    ofThisMachine: ofUser.ofThisMachine && beside.ofThisMachine,
    async acquire(account, holder) {
      const first = await ofUser.acquire(account, holder);
      if (first.kind === 'taken') {
        const here = await beside.holder(account);
        return here === undefined ? { ...first, heldBy: elsewhere(first.heldBy) } : first;
      }
      const second = await beside.acquire(account, holder).catch(async (error: unknown) => {
        await ofUser.release(account, first.epoch);
        throw error;
      });
      if (second.kind === 'taken') await ofUser.release(account, first.epoch);
      else userEpochs.set(mark(account, second.epoch), first.epoch);
      return second;
    },
    async renew(account, epoch) {
      const userEpoch = userEpochs.get(mark(account, epoch));
      if (userEpoch === undefined) return false;
      return (await beside.renew(account, epoch)) && (await ofUser.renew(account, userEpoch));
    },
    async release(account, epoch) {
      const userEpoch = userEpochs.get(mark(account, epoch));
      await beside.release(account, epoch);
      if (userEpoch !== undefined) await ofUser.release(account, userEpoch);
    },
    async holder(account) {
      const here = await beside.holder(account);
      if (here !== undefined) return here;
      const holder = await ofUser.holder(account);
      return holder === undefined ? undefined : elsewhere(holder);
    },
  };
}

/** Named so that nobody waits for a scheduler that reads another store. */
function elsewhere(holder: string): string {
  return `with another store: ${holder}`;
}

/** Engaged where either is. A kill of every account is one of the store's accounts, and stays beside its journal. */
export function killSwitchOfBoth(ofUser: KillSwitch, beside: KillSwitch): KillSwitch {
  return {
    async engage(order) {
      await beside.engage(order);
      if (order.scope !== EVERY_ACCOUNT) await ofUser.engage(order);
    },
    async engaged(account) {
      return (await beside.engaged(account)) ?? ofUser.engaged(account);
    },
    async release(scope, by, at) {
      const lifted = await beside.release(scope, by, at);
      return (await ofUser.release(scope, by, at)) || lifted;
    },
    async history(account) {
      return historyOfBoth(await ofUser.history(account), await beside.history(account));
    },
  };
}

/** What both kept is told once. Each keeps its own order, whatever the clock on the wall was put to meanwhile. */
export function historyOfBoth(one: readonly KillEvent[], other: readonly KillEvent[]): readonly KillEvent[] {
  const known = new Set(other.map(markOf));
  const alone = one.filter((event) => !known.has(markOf(event)));
  const merged: KillEvent[] = [];
  for (const event of other) {
    while (alone[0] !== undefined && alone[0].at < event.at) merged.push(...alone.splice(0, 1));
    merged.push(event);
  }
  return [...merged, ...alone];
}

function markOf({ action, scope, by, reason, at }: KillEvent): string {
  return JSON.stringify([action, scope, by, reason, at]);
}
