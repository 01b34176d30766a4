/**
 * Loads the ledger of an account from its store. The row of each run says up to which entry of its journal it holds; a run whose
 * journal has gone on, or ends otherwise, is folded anew. Rows of runs that an archive took out of the store are kept.
 */
import { isDeepStrictEqual } from 'node:util';
import { AccountLedger, CLOCKS_DIFFER_MS } from '../../gateway/limits/account-ledger.ts';
import {
  type Baseline,
  type LedgerParts,
  type ListedFills,
  RUN_LEDGER_VERSION,
  type RunLedger,
} from '../../gateway/limits/ledger-rows.ts';
import { RunLedgerFold } from '../../gateway/limits/run-ledger.ts';
import { readEntry } from '../../journal/chain.ts';
import { readEntries } from '../../journal/reading.ts';
import {
  type AccountRow,
  type JournalReader,
  type JournalStore,
  type RunHead,
  type RunRow,
  type StoredEntry,
  StoreError,
} from '../../journal/store.ts';
import { canonicalizeAccountKey, composeAccountKey } from '../../venue/profile/base-url.ts';
import type { Account } from './account.ts';

type LedgerStore = Pick<JournalStore, 'read' | 'last' | 'heads' | 'accountRows' | 'changeAccountRows'>;

/** The account as its store and its key name it. */
export interface LedgerOf {
  readonly store: LedgerStore;
  /** Name of the account in the journals. */
  readonly name: string;
  /** Venue and account. */
  readonly key: string;
}

export function nameLedger({ store, profile, key }: Pick<Account, 'store' | 'profile' | 'key'>): LedgerOf {
  return { store, name: profile.account, key };
}

/** Names of rows: `run NAME`, `baseline TIME MARKET`, `position TIME MARKET`, `listed MARKET`, `gone`, and `ended`. */
const RUN = 'run ';
const BASELINE = 'baseline ';
/** What the venue's list of positions showed, where it was not what the fills add up to. */
const POSITION = 'position ';
const LISTED = 'listed ';
const GONE = 'gone';
const ENDED = 'ended';

/** The row of a run: up to which entry it holds, and what was folded until there; null for a run of another account. */
interface RunRowText {
  readonly seq: number;
  readonly hash: string;
  readonly ledger: RunLedger | null;
}

type RowsByName = ReadonlyMap<string, AccountRow>;

/** The ledger as the rows have it; then what the venue's own lists change of it. */
export type KeptParts = Required<Omit<LedgerParts, 'unknown'>>;
export type ShownParts = Omit<KeptParts, 'baselines'>;

export interface LoadedLedger {
  readonly parts: LedgerParts;
  /** Runs that were folded anew. */
  readonly folded: number;
}

/**
 * `anew`: folds every run of the store again; of its row only what the venue has shown of its orders is kept. Throws a StoreError
 * where the store cannot be used.
 */
export async function loadLedger(of: LedgerOf, { anew = false } = {}): Promise<LoadedLedger> {
  const { store, name, key } = of;
  const rows = nameRows(await store.accountRows(key));
  const kept = new Map(rows);
  const heads = (await store.heads(name)).filter(({ mode }) => mode === 'live');
  const changed: AccountRow[] = [];
  const runs: RunLedger[] = [];
  const unread: string[] = [];
  let unreadSince = Number.POSITIVE_INFINITY;
  let unreadUntil = 0;
  for (const head of heads) {
    const row = readRunText(kept.get(`${RUN}${head.run}`));
    kept.delete(`${RUN}${head.run}`);
    const isCurrent = row?.seq === head.seq && row.hash === head.hash;
    const holds = isCurrent && !anew;
    try {
      const folded = holds ? row.ledger : await foldRun(store, head);
      const ledger = isCurrent && anew ? takeShown(row.ledger, folded) : folded;
      if (!holds) changed.push(writeRunRow(head, isOf(ledger, key) ? ledger : null));
      if (ledger !== null && isOf(ledger, key)) runs.push(ledger);
    } catch (error) {
      if (!(error instanceof StoreError && error.reason === 'damaged')) throw error;
      unread.push(`the journal of ${head.run}`);
      unreadSince = Math.min(unreadSince, head.startedAt);
      unreadUntil = Math.max(unreadUntil, await findLastAt(store, head));
    }
  }
  // A row that another process has written meanwhile may hold more of its run.
  const isUnchanged = (now: RowsByName, name: string) => now.get(name)?.text === rows.get(name)?.text;
  if (changed.length > 0)
    await store.changeAccountRows(key, (now) => changed.filter(({ name: each }) => isUnchanged(nameRows(now), each)));
  for (const run of readRuns(kept)) runs.push(run);
  // The row of a run is made again; what a person stated, or the venue listed, is in no journal, nor is a run that was archived.
  for (const [rowName, row] of kept) {
    const isRun = rowName.startsWith(RUN);
    if ((isRun ? readRunText(row) : readJson(row)) !== undefined) continue;
    const { startedAt = 0, lastAt = Number.POSITIVE_INFINITY } = (isRun && readJson<RunRowText>(row)?.ledger) || {};
    unread.push(`the row "${rowName}"`);
    unreadSince = Math.min(unreadSince, startedAt);
    unreadUntil = Math.max(unreadUntil, lastAt);
  }
  const unknown = { why: `${unread.join(', ')} cannot be read`, since: unreadSince, until: unreadUntil };
  return {
    folded: changed.length,
    parts: {
      runs,
      ...readShown(kept),
      ...(unread.length === 0 ? {} : { unknown }),
    },
  };
}

export interface ComparedLedger {
  /** Runs whose rows are not what their journals give. */
  readonly changed: readonly { readonly run: string; readonly kind: 'inserted' | 'edited'; readonly detail: string }[];
  /** Runs that have a row, and those of the store, whose rows are made when they are needed. */
  readonly counted: ReadonlySet<string>;
}

/** Folds the run of every row anew, up to where the row holds. `reader`: every journal and archive. Rejects with a StoreError. */
export async function compareLedger(
  { store, key }: Pick<LedgerOf, 'key'> & { readonly store: Pick<JournalStore, 'runs' | 'accountRows'> },
  reader: JournalReader,
): Promise<ComparedLedger> {
  const changed: ComparedLedger['changed'][number][] = [];
  const counted = new Set((await store.runs()).map(({ run }) => run));
  for (const row of await store.accountRows(key)) {
    // One of another version is made again.
    const text = row.name.startsWith(RUN) ? readRunText(row) : undefined;
    if (text === undefined) continue;
    const run = row.name.slice(RUN.length);
    counted.add(run);
    const [last] = await reader.read(run, { after: text.seq - 1, limit: 1 });
    try {
      if (last?.hash !== text.hash)
        changed.push({
          run,
          kind: 'inserted',
          detail: `the ledger counts run ${run} up to an entry that no journal has`,
        });
      else if (!isFolded(text.ledger, await foldRun(reader, { run, seq: text.seq }), key))
        changed.push({ run, kind: 'edited', detail: `the ledger counts run ${run} otherwise than its journal says` });
    } catch (error) {
      // The check of the journal itself says so.
      if (!(error instanceof StoreError && error.reason === 'damaged')) throw error;
    }
  }
  return { changed, counted };
}

/** Whether the row of a run is what its journal gives, and what the venue's lists may have shown of its orders since. */
function isFolded(kept: RunLedger | null, folded: RunLedger | null, key: string): boolean {
  const given = isOf(folded, key) ? folded : null;
  return isDeepStrictEqual(kept, JSON.parse(JSON.stringify(takeShown(kept, given))));
}

/** What the journal gives of a run, with what the venue's lists have shown of its orders since: that is in its row alone. */
function takeShown(kept: RunLedger | null, given: RunLedger | null): RunLedger | null {
  if (kept === null || given === null) return given;
  const sums = new AccountLedger({ runs: [given], baselines: [], listed: [], gone: {} });
  const { orders } = kept;
  sums.name(
    new Map(orders.flatMap(({ clientOrderId: id, orderId }) => (orderId === undefined ? [] : [[id, orderId]]))),
  );
  const left = new Set(given.orders.flatMap(({ clientOrderId, working }) => (working ? clientOrderId : [])));
  const ended = orders.flatMap(({ clientOrderId: id, working }) => (working === undefined && left.has(id) ? id : []));
  sums.end(new Set(ended));
  return sums.listRuns()[0] ?? given;
}

/** When a run whose journal is damaged wrote last, epoch ms. */
async function findLastAt(store: LedgerStore, { run }: RunHead): Promise<number> {
  const last = await store.last(run).catch(() => undefined);
  return last?.at ?? Number.POSITIVE_INFINITY;
}

export async function openLedger(of: LedgerOf): Promise<AccountLedger> {
  return new AccountLedger((await loadLedger(of)).parts);
}

/** Brings the rows of the accounts of these runs up to date: before their entries leave the store, while they can be folded. */
export async function updateLedgers(store: JournalStore, runs: readonly RunRow[]): Promise<void> {
  const accounts = new Map<string, LedgerOf>();
  for (const { run, mode, account: name } of runs) {
    if (mode !== 'live') continue;
    const [first] = await store.read(run, { limit: 1 });
    const url = first === undefined ? undefined : findVenue(first);
    if (url === undefined) continue;
    const key = composeAccountKey(url, name);
    accounts.set(key, { store, name, key });
  }
  for (const of of accounts.values()) await loadLedger(of);
}

/** The base URL with which a run began; undefined where its first entry does not say. */
function findVenue(first: StoredEntry): string | undefined {
  try {
    const entry = readEntry(first);
    const url = entry.type === 'run.started' ? entry.data.settings['base_url'] : undefined;
    return typeof url === 'string' ? url : undefined;
  } catch {
    return undefined;
  }
}

/** Keeps what a person states to be held. */
export function keepBaseline(of: LedgerOf, baseline: Baseline): Promise<void> {
  return keepStated(of, BASELINE, [baseline]);
}

/** Keeps what the venue's list of positions showed. */
export function keepPositions(of: LedgerOf, shown: readonly Baseline[]): Promise<void> {
  return keepStated(of, POSITION, shown);
}

/**
 * Keeps what is stated beside what was before, on whose cost the fills between the two have gained or lost; in place of what a clock that
 * was ahead has given a later time.
 */
async function keepStated({ store, key }: LedgerOf, prefix: string, all: readonly Baseline[]): Promise<void> {
  const isAhead = (known: Baseline) =>
    all.some(({ market, at }) => known.market === market && known.at > at + CLOCKS_DIFFER_MS);
  await store.changeAccountRows(key, (rows) => [
    ...rows
      .filter((row) => readRows<Baseline>(nameRows([row]), prefix).some(isAhead))
      .map(({ name }) => ({ name, text: '' })),
    ...all.map((each) => ({
      name: `${prefix}${new Date(each.at).toISOString()} ${each.market}`,
      text: JSON.stringify(each),
    })),
  ]);
}

/** Counts what other processes have kept since the ledger was loaded: what people stated, and what the venue showed to their commands. */
export async function takeRows({ store, key }: LedgerOf, ledger: AccountLedger): Promise<void> {
  const { baselines, ...shown } = readShown(nameRows(await store.accountRows(key)));
  ledger.takeListed(shown);
  for (const stated of baselines) if (stated.at > (ledger.findStatedAt(stated.market) ?? 0)) ledger.state(stated);
}

function readShown(kept: RowsByName): Omit<KeptParts, 'runs'> {
  return {
    baselines: [BASELINE, POSITION].flatMap((prefix) => readRows<Baseline>(kept, prefix)).sort((a, b) => a.at - b.at),
    listed: readRows<ListedFills>(kept, LISTED),
    gone: readJson<Record<string, number>>(kept.get(GONE)) ?? {},
    ended: readJson<Record<string, string>>(kept.get(ENDED)) ?? {},
  };
}

/** The positions that people stated, by the rows of an account. */
export function readBaselines(rows: readonly AccountRow[]): readonly Baseline[] {
  return readRows<Baseline>(nameRows(rows), BASELINE);
}

/**
 * Keeps what the venue's own lists showed. `change` gives it from what all processes have kept until then. `runs`: those of whose orders
 * the lists show the end, or the id.
 */
export async function keepListed({ store, key }: LedgerOf, change: (kept: KeptParts) => ShownParts): Promise<void> {
  await store.changeAccountRows(key, (rows) => {
    const kept = nameRows(rows);
    const { listed, gone, ended, runs } = change({ ...readShown(kept), runs: readRuns(kept) });
    const orders = Object.entries({ [GONE]: gone, [ENDED]: ended });
    const ofRuns = runs.flatMap((ledger) => {
      const name = `${RUN}${ledger.run}`;
      const row = readRunText(kept.get(name));
      // One that was made anew meanwhile has more of its run.
      return row?.ledger?.lastAt === ledger.lastAt ? [{ name, text: JSON.stringify({ ...row, ledger }) }] : [];
    });
    return [
      ...listed.map((each) => ({ name: `${LISTED}${each.market}`, text: JSON.stringify(each) })),
      ...ofRuns,
      ...orders.map(([name, of]) => ({ name, text: JSON.stringify(of) })),
    ];
  });
}

function isOf(ledger: RunLedger | null, key: string): boolean {
  return ledger !== null && canonicalizeAccountKey(ledger.account) === canonicalizeAccountKey(key);
}

async function foldRun(
  store: Pick<JournalReader, 'read' | 'accountRows'>,
  { run, seq }: Pick<RunHead, 'run' | 'seq'>,
): Promise<RunLedger | null> {
  const fold = new RunLedgerFold();
  for await (const entry of readEntries(store, run)) {
    // Of a run that goes on, up to where its row will say that it holds.
    if (entry.seq > seq) break;
    fold.apply(entry);
  }
  return fold.finish() ?? null;
}

function writeRunRow({ run, seq, hash }: RunHead, ledger: RunLedger | null): AccountRow {
  return { name: `${RUN}${run}`, text: JSON.stringify({ seq, hash, ledger } satisfies RunRowText) };
}

/** Undefined for a row that another version wrote: its run is folded again. */
function readRunText(row: AccountRow | undefined): RunRowText | undefined {
  const read = readJson<RunRowText>(row);
  return read?.ledger === null || read?.ledger?.version === RUN_LEDGER_VERSION ? read : undefined;
}

function readRuns(rows: RowsByName): readonly RunLedger[] {
  return [...rows].flatMap(([name, row]) => (name.startsWith(RUN) ? (readRunText(row)?.ledger ?? []) : []));
}

function nameRows(rows: readonly AccountRow[]): RowsByName {
  return new Map(rows.map((row) => [row.name, row]));
}

function readRows<T>(rows: RowsByName, prefix: string): readonly T[] {
  return [...rows].flatMap(([name, row]) => (name.startsWith(prefix) ? (readJson<T>(row) ?? []) : []));
}

/** Undefined where the text is not what this program writes. */
function readJson<T>(row: AccountRow | undefined): T | undefined {
  try {
    return row === undefined ? undefined : (JSON.parse(row.text) as T);
  } catch {
    return undefined;
  }
}
