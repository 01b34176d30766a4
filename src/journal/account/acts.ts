/**
 * The journal of an account: what people decide about it outside of its runs, each act with a name, in a hash chain of its own.
 * Pure, with the port of the stores that keep the lines. A line is JSON, and its hash is made as those of a run's journal are.
 */
import { hash as digest } from 'node:crypto';
import { escapeUnprintable } from '../../base/printable.ts';
import { StoreError } from '../store.ts';

/** An order at the venue as a person saw it. */
export interface AdoptedOrder {
  readonly id: string;
  readonly clientOrderId: string;
  readonly market: string;
  readonly side: string;
  readonly size: string;
  readonly status: string;
}

export interface ActData {
  /** A person answers for orders of ours that no journal knows: they are no reason to refuse a start any more. */
  readonly 'orders.adopted': { readonly orders: readonly AdoptedOrder[] };
  /** The store was restored from a backup. Times are epoch ms. */
  readonly 'store.restored': {
    /** When the backup was made, and when it was restored: what happened in between is in no journal. */
    readonly backupAt: number;
    readonly restoredAt: number;
    /** Leases have this epoch or a later one from then on. */
    readonly epoch: number;
    /** The name under which the store that was there is kept. */
    readonly kept?: string;
  };
}
export type ActType = keyof ActData;

export type Act = {
  [T in ActType]: {
    readonly v: 1;
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

/** An act as stored: the exact line, and the hash over it. */
export interface StoredAct {
  readonly account: string;
  readonly seq: number;
  readonly line: string;
  readonly hash: string;
}

export interface NewAct<T extends ActType = ActType> {
  readonly type: T;
  readonly by: string;
  /** Epoch ms. */
  readonly at: number;
  readonly data: ActData[T];
}

/** The acts of accounts. Each method rejects with a StoreError where the store cannot be read or written. */
export interface AccountJournal {
  /** Appends behind the account's last act; durable once resolved. `account`: the key of its lease. */
  append<T extends ActType>(account: string, act: NewAct<T>): Promise<void>;
  /** The acts of an account, oldest first. Rejects with a StoreError (`damaged`) where the chain does not hold. */
  read(account: string): Promise<readonly Act[]>;
  close(): Promise<void>;
}

/** Separates these hashes from any other use of SHA-256 over the same bytes. */
const DOMAIN = 'rbe-account-v1\0';
const NO_HASH = '0'.repeat(64);

/** Makes the act that follows `last`. */
export function sealAct(
  account: string,
  { type, by, at, data }: NewAct,
  last: Pick<StoredAct, 'seq' | 'hash'> | undefined,
): StoredAct {
  const seq = (last?.seq ?? 0) + 1;
  const line = escapeUnprintable(
    JSON.stringify({ v: 1, account, seq, at, type, by, prev: last?.hash ?? NO_HASH, data }),
  );
  return { account, seq, line, hash: hashLine(line) };
}

/** Reads stored acts in their order. Throws a StoreError (`damaged`) at the first that was changed, removed or put in. */
export function readActs(account: string, stored: readonly StoredAct[]): readonly Act[] {
  let prev = NO_HASH;
  return stored.map(({ seq, line, hash }, index) => {
    const act = parseAct(line);
    if (
      act?.account !== account ||
      act.seq !== index + 1 ||
      seq !== act.seq ||
      act.prev !== prev ||
      hashLine(line) !== hash
    )
      throw new StoreError(
        'damaged',
        `act ${index + 1} of the account's journal was changed, or one before it is missing`,
      );
    prev = hash;
    return act;
  });
}

function parseAct(line: string): Act | undefined {
  try {
    const act = JSON.parse(line) as Act | null;
    return act?.v === 1 ? act : undefined;
  } catch {
    return undefined;
  }
}

function hashLine(line: string): string {
  return digest('sha256', `${DOMAIN}${line}`, 'hex');
}
