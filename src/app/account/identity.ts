/**
 * Keeps one process per account of the venue, whatever its profiles call it. Beside the lease under the profile's name and address, a
 * second one is taken under the id that the venue gives the account. It is in the store, and in the temporary folder of this machine,
 * which all homes and state folders of the user share.
 */
import { makePrintable } from '../../base/printable.ts';
import { readEntry } from '../../journal/chain.ts';
import type { Entry } from '../../journal/entry.ts';
import { type HeldLease, takeLease } from '../../journal/shared/lease.ts';
import type { LeaseAnswer, Leases } from '../../journal/shared/shared.ts';
import { type AccountRow, KNOWN_AS, type StoredEntry, StoreError } from '../../journal/store.ts';
import { canonicalizeAccountKey, canonicalizeBaseUrl, composeAccountKey } from '../../venue/profile/base-url.ts';
import { EXIT, UserError } from '../errors.ts';
import { openMachineGuard } from '../stores/location.ts';
import type { Voice } from '../voice.ts';
import type { Account } from './account.ts';
import { sendOnce } from './one-request.ts';

/** How many of the newest runs of this name are looked at: those of another venue may have the same. */
const NEWEST_RUNS = 20;
/** How long the request waits for its tokens, ms. */
const TOKENS_WITHIN_MS = 10_000;

/**
 * The id that the venue gives the account: from the newest run that has it, else from GET /account. Or why it is not known: then
 * only the profile's name and address keep processes apart.
 */
async function learnAccountId(account: Account): Promise<{ readonly id: string } | { readonly why: string }> {
  const kept = await findKeptId(account);
  if (kept !== undefined) return { id: kept };
  const ask = () => sendOnce(account, 'GET /account', {}, 'read', { tokensWithinMs: TOKENS_WITHIN_MS });
  const first = await ask();
  // A refused session was renewed for the next request.
  const asked = first.kind === 'refused' && first.unauthorized === true ? await ask() : first;
  const id = asked.kind === 'confirmed' ? asked.result[0]?.id : undefined;
  if (id !== undefined) return { id: String(id) };
  return { why: asked.kind === 'refused' ? asked.text : asked.kind === 'confirmed' ? 'no id' : asked.why };
}

/**
 * Names the process of this user on this machine that acts for the account although it uses neither the account's name in this
 * store nor this home: a kill does not reach it. Undefined where there is none, or where that cannot be found out.
 */
export async function findOtherHolder(account: Account): Promise<string | undefined> {
  try {
    const learned = await learnAccountId(account);
    if ('why' in learned || (await account.shared.leases.holder(account.key)) !== undefined) return undefined;
    const guard = await openMachineGuard();
    return await guard.leases.holder(makeIdentityKey(account.profile.baseUrl, learned.id)).finally(() => guard.close());
  } catch (error) {
    if (!(error instanceof StoreError || error instanceof UserError)) throw error;
    return undefined;
  }
}

async function findKeptId({ store, profile, key }: Pick<Account, 'store' | 'profile' | 'key'>) {
  for (const { run, mode } of await store.runs({ account: profile.account, limit: NEWEST_RUNS })) {
    if (mode !== 'live') continue;
    const [stored] = await store.read(run, { limit: 1 });
    const first = stored === undefined ? undefined : readUndamaged(stored);
    if (first?.type !== 'run.started' || first.data.accountId === undefined) continue;
    const { base_url: baseUrl } = first.data.settings as { readonly base_url?: unknown };
    if (typeof baseUrl === 'string' && composeAccountKey(baseUrl, first.data.account) === key)
      return first.data.accountId;
  }
  return undefined;
}

/** Undefined for an entry that cannot be read: an old run that is damaged keeps no new one back. */
function readUndamaged(stored: StoredEntry): Entry | undefined {
  try {
    return readEntry(stored);
  } catch (error) {
    if (!(error instanceof StoreError)) throw error;
    return undefined;
  }
}

/** A lease that is held, with what was learned of the account. */
export interface ActingAccount {
  readonly kind: 'held';
  readonly lease: HeldLease;
  /** The venue's own, where it is known. */
  readonly accountId: string | undefined;
  /** Why its runs place nothing, of a process that resumes: the store knows the account under another name. */
  readonly contradiction: string | undefined;
}

/**
 * Takes the lease of the account, and the one of its id where that is known. Only who holds the first asks the venue for the id.
 * Rejects with a StoreError, and with a UserError where the store knows the account under another name (exit 3), unless it `resumes`, or where
 * others can write to its folders (exit 2).
 */
export async function takeAccountLease(
  account: Account,
  {
    holder,
    onLost,
    voice,
    resumes = false,
  }: { holder: string; onLost: () => void; voice: Pick<Voice, 'complain'>; resumes?: boolean },
): Promise<ActingAccount | Extract<LeaseAnswer, { kind: 'taken' }>> {
  account.requireOwnFolders();
  const { clock, key } = account;
  let accountId: string | undefined;
  const learn = async () => {
    const learned = await learnAccountId(account);
    if ('id' in learned) accountId = learned.id;
    else
      voice.complain(
        `the venue did not say which account this is (${makePrintable(learned.why, 200)}): until it does, a process that acts for it under another name or address is not noticed`,
      );
    return accountId;
  };
  const leases = joinLeases(account, learn, voice);
  const lease = await takeLease({ leases, account: key, holder, clock, metronome: clock, onLost });
  if (lease.kind === 'taken') return lease;
  try {
    const contradiction = accountId === undefined ? undefined : await findOtherName(account, accountId);
    if (contradiction !== undefined && !resumes)
      throw new UserError(`${contradiction}; nothing was sent`, EXIT.held, 'contradicted');
    return { kind: 'held', lease, accountId, contradiction };
  } catch (error) {
    await lease.release();
    throw error;
  }
}

/**
 * An account has one name in a store, the one of its first start. Under a second one its ledger would begin anew, so that twice what the
 * limits allow could be held, and a kill of the first would not be seen. A run that has begun under a second one, while the venue did not
 * say which account it is, is resumed all the same: only its resume cancels what it has open.
 */
async function findOtherName({ store, profile, key }: Account, id: string): Promise<string | undefined> {
  const identity = makeIdentityKey(profile.baseUrl, id);
  const find = (rows: readonly AccountRow[]) => rows.find(({ name }) => name === KNOWN_AS)?.text;
  let known = find(await store.accountRows(identity));
  if (known === undefined)
    await store.changeAccountRows(identity, (rows) => {
      known = find(rows);
      return known === undefined ? [{ name: KNOWN_AS, text: key }] : [];
    });
  if (known === undefined || canonicalizeAccountKey(known) === key) return undefined;
  const [url = '', ...name] = makePrintable(known, 300).split(' ');
  return `JOURNAL_CONTRADICTED: the venue says that this is its account ${makePrintable(id, 100)}, which this store has as ${name.join(' ')} of ${url}: its ledger, kill orders and schedules are there. Write account and base_url so, or give the profile a store of its own`;
}

/** A lease taken under the id: where, and its epoch there. */
interface IdentityLease {
  readonly leases: Leases;
  readonly epoch: number;
}

/** The leases with those of the id beside them: held when all are. The epoch is the one of the name, which fences the journals. */
function joinLeases(
  account: Account,
  learn: () => Promise<string | undefined>,
  voice: Pick<Voice, 'complain'>,
): Leases {
  const named = account.shared.leases;
  let key = '';
  let taken: IdentityLease[] = [];
  const release = async (name: string, epoch: number) => {
    await named.release(name, epoch);
    for (const { leases, epoch: other } of taken.splice(0)) await leases.release(key, other);
  };
  /** Takes them all, or gives the answer of the first that another process has. */
  const takeIdentity = async (holder: string): Promise<LeaseAnswer | undefined> => {
    const id = await learn();
    if (id === undefined) return undefined;
    key = makeIdentityKey(account.profile.baseUrl, id);
    const machine = await openGuard(account, voice);
    for (const leases of machine === undefined ? [named] : [named, machine]) {
      const answer = await leases.acquire(key, holder);
      // What is submitted under this name would not reach a holder of another one.
      if (answer.kind === 'taken')
        return { ...answer, heldBy: `under another name, address, home or state folder: ${answer.heldBy}` };
      taken.push({ leases, epoch: answer.epoch });
    }
    return undefined;
  };
  return {
    ofThisMachine: named.ofThisMachine,
    async acquire(name, holder) {
      taken = [];
      const first = await named.acquire(name, holder);
      if (first.kind === 'taken') return first;
      try {
        const refused = await takeIdentity(holder);
        // The venue may have taken longer to answer than the lease of the name lives.
        if (refused === undefined && (await named.renew(name, first.epoch))) return first;
        await release(name, first.epoch);
        return refused ?? { kind: 'taken', heldBy: (await named.holder(name)) ?? 'another process', remainingMs: 0 };
      } catch (error) {
        await release(name, first.epoch).catch(() => {});
        throw error;
      }
    },
    async renew(name, epoch) {
      if (!(await named.renew(name, epoch))) return false;
      for (const { leases, epoch: other } of taken) if (!(await leases.renew(key, other))) return false;
      return true;
    },
    release,
    holder: (name) => named.holder(name),
  };
}

/** The leases in this machine's temporary folder; undefined, and said, where they cannot be kept there. */
async function openGuard(account: Account, voice: Pick<Voice, 'complain'>): Promise<Leases | undefined> {
  try {
    return account.keepOpen(await openMachineGuard()).leases;
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
    voice.complain(
      `${makePrintable(error.message, 300)}: a process of yours with another home or state folder that acts for this account is not noticed`,
    );
    return undefined;
  }
}

const LOOPBACK = /^(https?:\/\/)(?:127\.0\.0\.1|\[::1\])(?=[:/]|$)/;

/** Ids are unique within a venue; the loopback address has several names. */
function makeIdentityKey(baseUrl: string, id: string): string {
  return `${canonicalizeBaseUrl(baseUrl).replace(LOOPBACK, '$1localhost')} account id ${id}`;
}
