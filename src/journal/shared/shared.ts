/**
 * The port of the records that processes share beside the journal: token ledgers, leases on accounts, the kill switch, and
 * the commands that people send to runs. Implemented in memory, in SQLite and in PostgreSQL, with one contract suite. It stores
 * and compares; it decides nothing about tokens, orders or runs.
 *
 * Every method rejects with a StoreError when the store cannot be read or written, except `engaged`, which never rejects.
 */

import { canonicalizeAccountKey, canonicalizeBaseUrl } from '../../venue/profile/base-url.ts';
import type { PlaceCheck } from '../store.ts';

/** A ledger as its last writer left it (venue/budget.ts, `Ledger.save`). */
export interface LedgerRow {
  /** Grows by one with every change, so that the last writer need not read the text again. */
  readonly revision: number;
  readonly text: string;
}

/** The token ledgers, one per address (budget.md, Shared by processes). Losing a process loses nothing of a ledger. */
export interface LedgerRows {
  /**
   * Runs `work` on the row of `key` while no other process can, and stores the text it returns; `undefined` leaves the row.
   * `nowMs` is the row's own clock, the same for every process: it never goes back, and it stops while the
   * machine is off. On rejection nothing was stored, even if `work` succeeded.
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
  /** Another process acts for the account, for at most `remainingMs` more unless it renews. */
  | { readonly kind: 'taken'; readonly heldBy: string; readonly remainingMs: number };

/**
 * Leases on accounts: one process acts for an account at a time. The epoch grows with every acquisition and never goes back. A
 * lease ends when it is released, when its life expires, or at once when its holder has certainly died (its process is gone,
 * seen from the same start of the same machine).
 */
export interface Leases {
  /** False for a store that other machines use too: they may reach it while this machine does not. */
  readonly ofThisMachine: boolean;
  /** `holder` names the holder in messages: a run's id or a command. A process that already holds the lease is refused too. */
  acquire(account: string, holder: string): Promise<LeaseAnswer>;
  /** False when the lease of that epoch is no longer held: then nothing more may be sent. */
  renew(account: string, epoch: number): Promise<boolean>;
  /** Releases the lease of that epoch; does nothing when another holder has it. */
  release(account: string, epoch: number): Promise<void>;
  /** Names the current holder of the account; undefined when it is free. */
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
  /** No person gave this order: the switch cannot be read. Nothing that adds risk is sent until it can; it is no kill. */
  readonly unread?: true;
}

/** The kill switch. A kill lasts until a named person lifts it; engaging it needs no lease (interface.md, Settled points). */
export interface KillSwitch {
  /** Durable once resolved. */
  engage(order: KillOrder): Promise<void>;
  /**
   * Reads the newest order in force for the account. Never rejects: where it cannot be read the order is `unread`. `wasBefore`: of a
   * run, which kills were given before it began; a later one counts for it although a person has released it since.
   */
  engaged(account: string, wasBefore?: (kill: KillEvent) => boolean): Promise<KillOrder | undefined>;
  /**
   * Lifts every order in force for `scope`: an account's name lifts a kill of `*` for that account alone. True when there
   * was one. Throws a RangeError without a name: a person must take the responsibility (ARCHITECTURE.md, I13).
   */
  release(scope: string, by: string, at: number): Promise<boolean>;
  /** Lists kills and releases, oldest first: those of the account and of `*`, or all when no account is given. */
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
  /** Path or id of the step that the command is about. */
  readonly step?: string;
  readonly reason?: string;
}
export interface PostedMessage extends Message {
  readonly sequence: number;
}

/** Commands to runs, in the order they were posted. */
export interface Mailbox {
  /** Durable once resolved; resolves to the message's sequence number. */
  post(message: Message): Promise<number>;
  /** Lists the messages that the run has not acknowledged yet. */
  pending(run: string): Promise<readonly PostedMessage[]>;
  /**
   * Marks everything up to `sequence` as read. Call it once the messages are journaled: a command read twice after a crash has
   * no further effect, but a lost command can be a kill that never arrives.
   */
  acknowledge(run: string, sequence: number): Promise<void>;
}

export interface Shared {
  /** Of the files with leases and kill orders; a store that is no file has none. */
  readonly places?: readonly PlaceCheck[];
  readonly ledgers: LedgerRows;
  readonly leases: Leases;
  readonly killSwitch: KillSwitch;
  readonly mailbox: Mailbox;
  /** As that of the journal (journal/store.ts). */
  limitWait?(): void;
  /** Reads the wall clock of the store's server, epoch ms; absent where the store uses this machine's. */
  readClock?(): Promise<number>;
  close(): Promise<void>;
}

/** Builds the key of an address's ledger from the base URL and the profile's `shared_as` (interface.md, Settled points). */
export function buildLedgerKey(baseUrl: string, sharedAs: string): string {
  return `${canonicalizeBaseUrl(baseUrl)} ${sharedAs}`;
}

/** One kill or release. */
export interface KillEvent extends KillOrder {
  readonly action: 'engage' | 'release';
}

/**
 * Finds the newest kill in force for an account. A release of one account lifts a kill of all accounts for that one alone; it lifts
 * none for a run that was there when the kill was given.
 */
export function findKillInForce(
  events: readonly KillEvent[],
  account: string,
  wasBefore: (kill: KillEvent) => boolean = () => true,
): KillOrder | undefined {
  let inForce: KillOrder | undefined;
  let since: KillOrder | undefined;
  for (const event of events) {
    const { action, scope, by, reason, at } = event;
    if (!isScopeOf(scope, account)) continue;
    inForce = action === 'engage' ? { scope, by, reason, at } : undefined;
    if (inForce !== undefined && !wasBefore(event)) since = inForce;
  }
  return inForce ?? since;
}

/** Selects the events that concern the account; all of them when no account is given. */
export function selectKills(events: readonly KillEvent[], account: string | undefined): readonly KillEvent[] {
  return events.filter(({ scope }) => account === undefined || isScopeOf(scope, account));
}

/** Compares canonical names too: a kill may have been stored by a version that spelled the account differently. */
function isScopeOf(scope: string, account: string): boolean {
  return (
    scope === EVERY_ACCOUNT || scope === account || canonicalizeAccountKey(scope) === canonicalizeAccountKey(account)
  );
}

/** True when a release of `scope` would lift a kill. */
export function isInForce(events: readonly KillEvent[], scope: string): boolean {
  const scopes = scope === EVERY_ACCOUNT ? new Set(events.map((event) => event.scope)) : [scope];
  return [...scopes].some((each) => findKillInForce(events, each) !== undefined);
}

/** Builds the answer of `engaged` when the switch cannot be read: it fails closed (fault-matrix.md, row 72). */
export function buildUnreadableKill(account: string, error: unknown): KillOrder {
  const why = error instanceof Error ? error.message : String(error);
  return {
    scope: account,
    by: 'perp-runbook',
    reason: `the kill switch cannot be read: ${why}`,
    at: 0,
    unread: true,
  };
}

/** Throws a RangeError unless the name holds more than blanks. */
export function assertNamed(by: string): void {
  if (by.trim() === '') throw new RangeError('the kill switch is released by a named person, found an empty name');
}
