/**
 * The journal of an account: what happens to it outside of its runs, in a hash chain of its own. Its lines have the form and the hash
 * of a run's journal (chain.ts); `run` is the name of the chain. Pure, with the port of the stores that keep the lines.
 */
import { sha256 } from '../../base/digest.ts';
import { EMPTY_HEAD, isSound, sealLine } from '../chain.ts';
import { ENTRY_VERSION } from '../entry.ts';
import { type PostedAct, type StoredEntry, StoreError } from '../store.ts';

/** Who acted, and how the name was established. */
export interface Who {
  readonly name: string;
  /** `os`: the operating system says so; `signed`: with a key of this person; `claimed`: only `--by` says so. */
  readonly how: 'os' | 'signed' | 'claimed';
  /** The user of the operating system, with its id where it has one. */
  readonly user: string;
  readonly uid?: number;
  readonly host: string;
  readonly terminal?: string;
}

/** An order at the venue as a person saw it. */
export interface AdoptedOrder {
  readonly id: string;
  readonly clientOrderId: string;
  readonly market: string;
  /** Absent in acts before version 0.2.0, and where the venue does not say it. The size of a position stop is a fraction of the position. */
  readonly type?: string;
  readonly side: string;
  readonly size: string;
  readonly status: string;
}

/** A verdict on an occurrence of a schedule. Times are epoch ms. */
export interface DecidedVerdict {
  readonly slot: string;
  readonly nominal: number;
  readonly verdict: 'started' | 'skipped' | 'missed' | 'waiting';
  readonly why?: string;
  readonly run?: string;
}

interface ActContents {
  /** A live run began; in one transaction with its first entry, whose hash this is. The number of a start is that of its entry. */
  readonly 'start.recorded': {
    readonly run: string;
    readonly runbook: string;
    readonly trigger: string;
    readonly head: string;
  };
  /** A live run ended: its last entry and the hash of it. A run that halted and was resumed ends once more. */
  readonly 'end.sealed': {
    readonly run: string;
    readonly outcome: string;
    readonly entries: number;
    readonly head: string;
  };
  readonly 'start.refused': {
    readonly runbook: string;
    readonly kind: string;
    readonly why: string;
    readonly run?: string;
  };
  readonly 'schedule.decided': { readonly occurrences: readonly DecidedVerdict[] };
  /** A run that was to start never began. */
  readonly 'schedule.lost': { readonly run: string };
  /** `late`: found in the store without an act; the command that gave it could not write one. `at`: when it was given, epoch ms. */
  readonly 'kill.engaged': KillData;
  readonly 'kill.released': KillData;
  /** A person's command to a run. */
  readonly 'command.given': {
    readonly run: string;
    readonly command: string;
    readonly step?: string;
    readonly reason?: string;
  };
  readonly 'baseline.stated': { readonly market: string; readonly size: string; readonly price?: string };
  /** What the venue shows of orders whose runs have ended. */
  readonly 'orders.late': { readonly orders: readonly object[] };
  /** A notice of a run that had ended was delivered, or was not. */
  readonly 'delivery.late': {
    readonly run: string;
    readonly to: string;
    readonly delivered: boolean;
    readonly because?: string;
  };
  /** An alarm of the program, not of a step, reached no one. */
  readonly 'alarm.undelivered': {
    readonly run?: string;
    readonly to: string;
    readonly text: string;
    readonly because: string;
  };
  /** A person answers for orders of ours that no journal knows: they are no reason to refuse a start any more. */
  readonly 'orders.adopted': { readonly orders: readonly AdoptedOrder[] };
  /** The store was restored from a backup. Times are epoch ms. */
  readonly 'store.restored': {
    /** When the backup was made, and when it was restored: what happened in between is in no journal. */
    readonly backupAt: number;
    readonly restoredAt: number;
    /** Leases have this epoch or a later one from then on. */
    readonly epoch: number;
    /** The live runs of it that may be resumed; where absent, those that began until the restore. */
    readonly runs?: readonly string[];
    /** The name under which the store that was there is kept. */
    readonly kept?: string;
  };
}
export interface KillData {
  /** An account's key, or `*`. */
  readonly scope: string;
  readonly reason: string;
  readonly at: number;
  readonly late?: true;
}
export type ActType = keyof ActContents;

/** Ed25519 over the act (signature.ts), base64, and the public key of it. `ssh`: in the form of `ssh-keygen -Y sign`. */
export interface ActSignature {
  readonly key: string;
  readonly value: string;
  readonly form?: 'ssh';
}

/** What an act says. `who`: absent where the program acted by itself. */
export type ActData = {
  readonly [T in ActType]: ActContents[T] & { readonly who?: Who; readonly signature?: ActSignature };
};

export type Act = {
  [T in ActType]: {
    /** Name of the chain. */
    readonly run: string;
    /** The key of the account, or `*`. */
    readonly account: string;
    readonly seq: number;
    /** Epoch ms. */
    readonly at: number;
    readonly type: T;
    readonly by: string;
    readonly prev: string;
    readonly data: ActData[T];
  };
}[ActType];

export type NewAct = {
  [T in ActType]: {
    readonly type: T;
    readonly by: string;
    /** Epoch ms. */
    readonly at: number;
    readonly data: ActData[T];
  };
}[ActType];

/** The journals of accounts. Each method rejects with a StoreError where the store cannot be read or written. */
export interface AccountJournal {
  /** Appends behind the account's last act; durable once resolved. `account`: the key of its lease, or `*`. */
  append(account: string, act: NewAct): Promise<void>;
  /** The acts of these types, oldest first; each fits its hash, the links between them are not checked. Rejects with `damaged`. */
  find<T extends ActType>(account: string, types: readonly T[]): Promise<readonly Extract<Act, { type: T }>[]>;
  /** The lines of an account as they are stored, oldest first, for a check of the chain. */
  lines(account: string): Promise<readonly StoredEntry[]>;
  /** The keys of all accounts that have a journal. */
  accounts(): Promise<readonly string[]>;
  close(): Promise<void>;
}

const CHAIN = 'account ';

/** Whether a name, such as that of an anchor, is the one of an account's chain. `account`: of this one. */
export function isAccountChain(run: string, account?: string): boolean {
  return run.startsWith(account === undefined ? CHAIN : `${CHAIN}${account} #`);
}

/**
 * Makes the act that follows `last`. `place`: the store; the name of a chain has a hash of it and of its first act, so that the
 * chains of two stores for one account have two names.
 */
export function sealAct(
  account: string,
  { type, by, at, data }: PostedAct,
  last: StoredEntry | undefined,
  place: string,
): StoredEntry {
  const run = last?.run ?? `${CHAIN}${account} #${sha256(JSON.stringify([place, account, at])).slice(0, 12)}`;
  return sealLine(
    { type, data },
    { v: ENTRY_VERSION, run, at, account, actor: by, step: '', mono: 0, boot: '', epoch: 0, def: '' },
    last ?? EMPTY_HEAD,
  );
}

/** Reads a stored act. Throws a StoreError (`damaged`) where its line does not fit its hash, or its row. */
export function readAct(stored: StoredEntry): Act {
  const act = parseAct(stored.line);
  if (act === undefined || act.type !== stored.type || !isSound(stored))
    throw new StoreError('damaged', `act ${stored.seq} of the account's journal was changed`, stored.seq);
  return act;
}

/** A row of an account, with what only its line has. The type is that of the row, by which acts are found: a check compares it. */
export function toStoredAct(row: Pick<StoredEntry, 'seq' | 'type' | 'line' | 'hash'>): StoredEntry {
  const { run = '', at = 0 } = parseAct(row.line) ?? {};
  return { ...row, run, at, step: '' };
}

function parseAct(line: string): Act | undefined {
  try {
    const { run, account, seq, at, type, actor, prev, data } = JSON.parse(line) as Partial<Act> & { actor: string };
    return typeof data === 'object' ? ({ run, account, seq, at, type, by: actor, prev, data } as Act) : undefined;
  } catch {
    return undefined;
  }
}
