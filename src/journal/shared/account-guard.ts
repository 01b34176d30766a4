/**
 * Keeps the lease and the kill switch of an account in two places: beside the journal, for every user of that store, and in
 * the user's own state folder, for everything the user starts from any folder. With the store alone, two stores that do not
 * know of each other would let two processes trade one account.
 */
import { sha256 } from '../../base/digest.ts';
import type { PlaceCheck } from '../store.ts';
import { EVERY_ACCOUNT, type KillEvent, type KillSwitch, type Leases, type Shared } from './shared.ts';

/** The user's own lease and kill switch on this machine. */
export interface AccountGuard {
  readonly places: readonly PlaceCheck[];
  readonly leases: Leases;
  readonly killSwitch: KillSwitch;
  limitWait(): void;
  close(): Promise<void>;
}

/** Opens a store's shared records with the user's guard around them. Closes the guard with them, or when they fail to open. */
export async function openGuardedShared(guard: AccountGuard, open: () => Promise<Shared>): Promise<Shared> {
  try {
    const shared = await open();
    return {
      ...shared,
      places: [...guard.places, ...(shared.places ?? [])],
      leases: combineLeases(guard.leases, shared.leases),
      killSwitch: combineKillSwitches(guard.killSwitch, shared.killSwitch),
      limitWait() {
        guard.limitWait();
        shared.limitWait?.();
      },
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

/** Combines two stores' leases: held when both are, lost when either is. The epoch is the one of `beside`, which fences the journal. */
export function combineLeases(ofUser: Leases, beside: Leases): Leases {
  const userEpochs = new Map<string, number>();
  const toKey = (account: string, epoch: number) => `${epoch} ${account}`;
  return {
    ofThisMachine: ofUser.ofThisMachine && beside.ofThisMachine,
    async acquire(account, holder) {
      const first = await ofUser.acquire(account, holder);
      if (first.kind === 'taken') {
        const here = await beside.holder(account);
        return here === undefined ? { ...first, heldBy: describeHolderElsewhere(first.heldBy) } : first;
      }
      const second = await beside.acquire(account, holder).catch(async (error: unknown) => {
        await ofUser.release(account, first.epoch);
        throw error;
      });
      if (second.kind === 'taken') await ofUser.release(account, first.epoch);
      else userEpochs.set(toKey(account, second.epoch), first.epoch);
      return second;
    },
    async renew(account, epoch) {
      const userEpoch = userEpochs.get(toKey(account, epoch));
      if (userEpoch === undefined) return false;
      return (await beside.renew(account, epoch)) && (await ofUser.renew(account, userEpoch));
    },
    async release(account, epoch) {
      const userEpoch = userEpochs.get(toKey(account, epoch));
      await beside.release(account, epoch);
      if (userEpoch !== undefined) await ofUser.release(account, userEpoch);
    },
    async holder(account) {
      const here = await beside.holder(account);
      if (here !== undefined) return here;
      const holder = await ofUser.holder(account);
      return holder === undefined ? undefined : describeHolderElsewhere(holder);
    },
  };
}

/** Marks a holder that uses another store: waiting for a scheduler that reads that one would never end. */
function describeHolderElsewhere(holder: string): string {
  return `with another store: ${holder}`;
}

/** Combines two kill switches: engaged when either is. A kill of every account means the store's accounts, and stays beside its journal. */
export function combineKillSwitches(ofUser: KillSwitch, beside: KillSwitch): KillSwitch {
  return {
    async engage(order) {
      // A store that cannot take it must not keep it from the runs of this machine.
      await beside.engage(order).finally(() => (order.scope === EVERY_ACCOUNT ? undefined : ofUser.engage(order)));
    },
    async engaged(account, wasBefore) {
      const here = await beside.engaged(account, wasBefore);
      if (here !== undefined && here.unread !== true) return here;
      // A kill that a person gave on this machine counts while the store cannot be read.
      const ofThisUser = await ofUser.engaged(account, wasBefore);
      return ofThisUser?.unread === true ? (here ?? ofThisUser) : (ofThisUser ?? here);
    },
    async release(scope, by, at) {
      const lifted = await beside.release(scope, by, at);
      return (await ofUser.release(scope, by, at)) || lifted;
    },
    async history(account) {
      return mergeHistories(await ofUser.history(account), await beside.history(account));
    },
  };
}

/** Merges two histories. An event in both appears once; each keeps its own order, even when the wall clock was adjusted. */
export function mergeHistories(one: readonly KillEvent[], other: readonly KillEvent[]): readonly KillEvent[] {
  const known = new Set(other.map(toEventKey));
  const alone = one.filter((event) => !known.has(toEventKey(event)));
  const merged: KillEvent[] = [];
  for (const event of other) {
    while (alone[0] !== undefined && alone[0].at < event.at) merged.push(...alone.splice(0, 1));
    merged.push(event);
  }
  return [...merged, ...alone];
}

/** Names the kills that were given by now: by what they are, because another machine's clock may be ahead, and this one set back. */
export async function listKills(killSwitch: KillSwitch, account: string): Promise<readonly string[]> {
  const kills = (await killSwitch.history(account)).filter(({ action }) => action === 'engage');
  return [...new Set(kills.map(nameKill))];
}

/** Gives whether a kill has one of these names. */
export function recognizeKills(names: readonly string[]): (kill: KillEvent) => boolean {
  const given = new Set(names);
  return (kill) => given.has(nameKill(kill));
}

/** Short, because the first entry of a run has them all. */
function nameKill(kill: KillEvent): string {
  return sha256(toEventKey(kill)).slice(0, 16);
}

/** Names a kill or release, so that two records of it are known to be of one. */
export function toEventKey({ action, scope, by, reason, at }: KillEvent): string {
  return JSON.stringify([action, scope, by, reason, at]);
}
