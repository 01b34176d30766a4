/**
 * Keeps the shared records (ledgers, leases, kill switch, mailbox) in the memory of one process, for tests and runs of the
 * built-in simulator. The contract is that of the SQLite store, checked by the same suite.
 */
import { judgeLease, type LeaseRow } from './lease.ts';
import {
  assertNamed,
  findKillInForce,
  isInForce,
  type KillEvent,
  LEASE_LIFE_MS,
  type LedgerRow,
  type PostedMessage,
  type Shared,
  selectKills,
} from './shared.ts';

/** `nowMs` reads a clock that never jumps, ms. */
export function openSharedMemory(nowMs: () => number): Shared {
  const rows = new Map<string, LedgerRow>();
  const leases = new Map<string, LeaseRow>();
  const killEvents: KillEvent[] = [];
  const messages: (PostedMessage & { read: boolean })[] = [];
  const machine = { clockId: 'memory', nowMs, isGone: () => false };
  return {
    ledgers: {
      async change(key, work) {
        const row = rows.get(key);
        const { text, result } = work(row, nowMs());
        if (text !== undefined) rows.set(key, { revision: (row?.revision ?? 0) + 1, text });
        return result;
      },
    },
    leases: {
      ofThisMachine: true,
      async acquire(account, holder) {
        const row = leases.get(account);
        const verdict = judgeLease(row, machine);
        if (verdict.kind === 'taken') return verdict;
        const epoch = (row?.epoch ?? 0) + 1;
        leases.set(account, {
          epoch,
          heldBy: holder,
          process: '',
          clockId: machine.clockId,
          untilMs: nowMs() + LEASE_LIFE_MS,
        });
        return { kind: 'held', epoch };
      },
      async renew(account, epoch) {
        const row = leases.get(account);
        if (row?.epoch !== epoch || row.heldBy === undefined) return false;
        leases.set(account, { ...row, untilMs: nowMs() + LEASE_LIFE_MS });
        return true;
      },
      async release(account, epoch) {
        const row = leases.get(account);
        if (row?.epoch === epoch) leases.set(account, { ...row, heldBy: undefined });
      },
      async holder(account) {
        const row = leases.get(account);
        return judgeLease(row, machine).kind === 'free' ? undefined : row?.heldBy;
      },
    },
    killSwitch: {
      async engage(order) {
        killEvents.push({ action: 'engage', ...order });
      },
      async engaged(account, wasBefore) {
        return findKillInForce(killEvents, account, wasBefore);
      },
      async release(scope, by, at) {
        assertNamed(by);
        const lifted = isInForce(killEvents, scope);
        killEvents.push({ action: 'release', scope, by, reason: '', at });
        return lifted;
      },
      async history(account) {
        return selectKills(killEvents, account);
      },
    },
    mailbox: {
      async post(message) {
        const sequence = messages.length + 1;
        messages.push({ ...message, sequence, read: false });
        return sequence;
      },
      async pending(run) {
        return messages.filter((each) => each.run === run && !each.read).map(({ read: _, ...message }) => message);
      },
      async acknowledge(run, sequence) {
        for (const each of messages) if (each.run === run && each.sequence <= sequence) each.read = true;
      },
    },
    async close() {},
  };
}
