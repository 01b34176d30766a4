/**
 * The lease and the kill switch of an account, kept twice: beside the journal, for everyone who uses that store, and in the
 * user's own state folder, for everything the user starts, from whatever folder. An account is one account wherever its runs
 * are journaled; two stores that knew nothing of each other would let two processes trade it at once.
 */
import { EVERY_ACCOUNT, type KillSwitch, type Leases } from './shared.ts';

/** Held where both are; lost where either is. The epoch is that of `beside`: a journal's fence never goes back. */
export function leasesOfBoth(ofUser: Leases, beside: Leases): Leases {
  const userEpochs = new Map<string, number>();
  const mark = (account: string, epoch: number) => `${epoch} ${account}`;
  return {
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
  };
}
