/**
 * What the processes of one user share beside the journal: the token ledgers, the lease on an account, the kill switch, and
 * the commands people send to runs. A port with two implementations (`shared-memory.ts`, `shared-sqlite.ts`) and one
 * contract suite. It keeps and compares; it decides nothing about tokens, orders or runs, and never acts by itself.
 *
 * Every method rejects with a StoreError when the store can not be read or written; only `engaged` never does.
 */

import { canonicalAccountKey, canonicalBaseUrl } from '../../venue/profile/base-url.ts';

/** A ledger as its last writer left it (venue/budget.ts, `Ledger.save`). */
export interface LedgerRow {
  /** Grows by one with every change, so that whoever wrote it last need not read the text again. */
  readonly revision: number;
  readonly text: string;
}

/** The token ledgers, one per address (budget.md, Shared by processes). Losing a process loses nothing of a ledger. */
export interface LedgerRows {
  /**
   * Runs `work` on the row of `key` while no other process can, and stores the text it gives; `undefined` leaves the row.
   * `nowMs` is the row's own clock, the same for every process: it never goes back, and no time passes on it while the
   * machine is off. On rejection nothing was stored, whatever `work` decided.
   */
  change<T>(key: string, work: (row: LedgerRow | undefined, nowMs: number) => LedgerChange<T>): Promise<T>;
}
export interface LedgerChange<T> {
  readonly text: string | undefined;
  readonly result: T;
}

/** How long a lease lives without renewal, and how often its holder renews it. */
export const LEASE_LIFE_MS = 15_000;
export const LEASE_RENEWAL_MS = 5_000;

export type LeaseAnswer =
  | { readonly kind: 'held'; readonly epoch: number }
  /** Somebody else acts for the account, at most for another `remainingMs` unless renewed. */
  | { readonly kind: 'taken'; readonly heldBy: string; readonly remainingMs: number };

/**
 * One process acts for one account at a time. The epoch grows with every acquisition and never goes back. A lease ends by
 * release, by its life running out, or at once when its holder has certainly died (its process is gone, seen from the same
 * start of the same machine); where that is not certain, it runs out.
 */
export interface Leases {
  /** False for a store that other machines reach too: one that this machine can not reach may be there for them. */
  readonly ofThisMachine: boolean;
  /** `holder` says who, for the message that others get: a run's id, a verb. Also the own process is refused while it holds it. */
  acquire(account: string, holder: string): Promise<LeaseAnswer>;
  /** False when the lease of that epoch is no longer held: then nothing may be sent any more. */
  renew(account: string, epoch: number): Promise<boolean>;
  /** Gives the lease of that epoch back; does nothing when it has passed on. */
  release(account: string, epoch: number): Promise<void>;
  /** Who holds the account at this moment; undefined when it is free. Takes nothing. */
  holder(account: string): Promise<string | undefined>;
}

/** For `engage` and `release`: every account. */
export const EVERY_ACCOUNT = '*';

export interface KillOrder {
  /** An account's name, or `*`. */
  readonly scope: string;
  readonly by: string;
  readonly reason: string;
  /** Epoch ms. */
  readonly at: number;
  /** Nobody gave it: the switch can not be read, and counts as engaged for whoever would send. */
  readonly unread?: true;
}

/** Lasts until a named person lifts it; needs no lease (interface.md, Settled points). */
export interface KillSwitch {
  /** Durable once resolved. */
  engage(order: KillOrder): Promise<void>;
  /** The newest order in force for the account; never rejects: what can not be read is taken as engaged. */
  engaged(account: string): Promise<KillOrder | undefined>;
  /**
   * Lifts every order in force for `scope`: an account's name lifts a kill of `*` for that account alone. True when there
   * was one. Throws a RangeError without a name: nobody else may take the responsibility (ARCHITECTURE.md, I13).
   */
  release(scope: string, by: string, at: number): Promise<boolean>;
  /** Who engaged and who lifted it, the oldest first: of the account and of `*`; of every account where none is named. */
  history(account?: string): Promise<readonly KillEvent[]>;
}

const RUN_COMMANDS = ['cancel', 'approve', 'reject', 'kill'] as const;
export type RunCommand = (typeof RUN_COMMANDS)[number];

interface Message {
  readonly run: string;
  readonly command: RunCommand;
  readonly by: string;
  /** Epoch ms. */
  readonly at: number;
  /** Path or id of the step that was asked about. */
  readonly step?: string;
  readonly reason?: string;
}
export interface PostedMessage extends Message {
  readonly sequence: number;
}

/** Commands to runs, in the order they were posted. */
export interface Mailbox {
  /** Durable once resolved; gives the message's sequence number. */
  post(message: Message): Promise<number>;
  /** What the run has not acknowledged yet. */
  pending(run: string): Promise<readonly PostedMessage[]>;
  /**
   * Marks everything up to `sequence` as read, for good. Call it once the messages are journaled: a command read twice after
   * a crash does nothing new, a command lost is a kill that never came.
   */
  acknowledge(run: string, sequence: number): Promise<void>;
}

export interface Shared {
  readonly ledgers: LedgerRows;
  readonly leases: Leases;
  readonly killSwitch: KillSwitch;
  readonly mailbox: Mailbox;
  close(): Promise<void>;
}

/** The key of an address's ledger: base URL and the profile's `shared_as` (interface.md, Settled points). */
export function ledgerKey(baseUrl: string, sharedAs: string): string {
  return `${canonicalBaseUrl(baseUrl)} ${sharedAs}`;
}

/** What was done to the kill switch, in order. */
export interface KillEvent extends KillOrder {
  readonly action: 'engage' | 'release';
}

/** The newest kill that still holds for an account. A release of one account lifts a kill of all for that account alone. */
export function killInForce(events: readonly KillEvent[], account: string): KillOrder | undefined {
  let inForce: KillOrder | undefined;
  for (const { action, scope, by, reason, at } of events) {
    if (concerns(scope, account)) inForce = action === 'engage' ? { scope, by, reason, at } : undefined;
  }
  return inForce;
}

/** What was done for the account, or for every one. */
export function killsOf(events: readonly KillEvent[], account: string | undefined): readonly KillEvent[] {
  return events.filter(({ scope }) => account === undefined || concerns(scope, account));
}

/** A kill outlives the version that wrote it down: one under another spelling of the account is one of it. */
function concerns(scope: string, account: string): boolean {
  return scope === EVERY_ACCOUNT || scope === account || canonicalAccountKey(scope) === canonicalAccountKey(account);
}

/** Whether a release of `scope` would lift anything. */
export function isInForce(events: readonly KillEvent[], scope: string): boolean {
  const scopes = scope === EVERY_ACCOUNT ? new Set(events.map((event) => event.scope)) : [scope];
  return [...scopes].some((each) => killInForce(events, each) !== undefined);
}

/** What `engaged` answers when the switch can not be read: closed is the side to fail on (fault-matrix.md, row 72). */
export function unreadableKill(account: string, error: unknown): KillOrder {
  const why = error instanceof Error ? error.message : String(error);
  return {
    scope: account,
    by: 'perp-runbook',
    reason: `the kill switch can not be read, so it counts as engaged: ${why}`,
    at: 0,
    unread: true,
  };
}

/** A name that can answer for it: not empty, not blanks. */
export function assertNamed(by: string): void {
  if (by.trim() === '') throw new RangeError('the kill switch is released by a named person, found an empty name');
}
