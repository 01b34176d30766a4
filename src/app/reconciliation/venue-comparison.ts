/**
 * Compares the venue's orders with the journals before the first order of a process (reliability.md, The newest journal). An order with
 * our prefix that the store and the archives do not know means that this journal is not the account's newest: an older folder was
 * restored, another machine or store trades the account, or a journal was lost. What the runs there have done would be done again, and is
 * in no sum of this ledger.
 */
import { pause } from '../../base/clock.ts';
import { decimal } from '../../base/decimal.ts';
import { formatCount } from '../../base/format.ts';
import { makePrintable } from '../../base/printable.ts';
import type { ActType, AdoptedOrder } from '../../journal/account/acts.ts';
import { ignoreStore, type JournalReader, type RunRow, StoreAway, StoreError } from '../../journal/store.ts';
import { formatAmount } from '../../report/format.ts';
import { isFraction } from '../../venue/limits/case.ts';
import { isOwnClientOrderId } from '../../venue/order/identity.ts';
import { makeNewestOrderParams } from '../../venue/order/requests.ts';
import { Pages } from '../../venue/pages.ts';
import type { OrderRecord } from '../../venue/records.ts';
import type { UnreadRow } from '../../venue/wire/answer.ts';
import type { Account } from '../account/account.ts';
import { readEachOrder } from '../account/one-request.ts';
import { UserError } from '../errors.ts';

/** Orders are listed from this long before the newest entry, ms: the clocks of venue and machine differ. */
const MARGIN_MS = 60_000;
/** How far back orders are listed where no journal has an entry of the account, ms. */
const WITHOUT_JOURNAL_MS = 86_400_000;
const MOST_PAGES = 10;
/** Runs whose entries are searched for an order first, the newest of them before the others. */
const MOST_RUNS = 1_000;
const PAGE_ENTRIES = 2_000;
const SHOWN = 5;
/**
 * Row of the account: until when its journal is known to have every order of the venue, epoch ms. It is there from before a process
 * journals anything until the venue agrees: what a run writes that was not compared must not hide what it was to be compared with.
 */
const COMPARED = 'compared';

/** `unknown`: the orders that no journal knows; `unread`: why it is not known whether there are any. */
export type Comparison =
  | { readonly kind: 'agrees' }
  | {
      readonly kind: 'unknown';
      readonly orders: readonly AdoptedOrder[];
      readonly since: number;
      /** Why not all orders of the account could be compared. */
      readonly cut?: string;
    }
  | { readonly kind: 'unread'; readonly why: string };

type ComparedAccount = Pick<
  Account,
  | 'store'
  | 'profile'
  | 'key'
  | 'clock'
  | 'clocks'
  | 'openAccountJournal'
  | 'readArchives'
  | 'budget'
  | 'session'
  | 'transport'
>;

/** What a process knows of the account's orders; shared by all its runs of the account. */
export class VenueComparison {
  private readonly account: ComparedAccount;
  /** Epoch ms, from before this process has journaled anything. */
  private since: Promise<number> | undefined;
  private running: Promise<Comparison> | undefined;
  private agrees = false;

  constructor(account: ComparedAccount) {
    this.account = account;
  }

  /** Call it before this process journals a run of the account: what it journals itself must not count. Rejects with a StoreError. */
  async begin(): Promise<void> {
    this.since ??= keepSince(this.account);
    try {
      await this.since;
    } catch (error) {
      this.since = undefined;
      throw error;
    }
  }

  /**
   * Lists the venue's orders and looks for each of ours in the journals. Callers that ask together share the reading, and once the
   * venue agreed it is not asked again. Rejects with a StoreError.
   */
  compare(): Promise<Comparison> {
    if (this.agrees) return Promise.resolve({ kind: 'agrees' });
    this.running ??= this.compareOnce().finally(() => {
      this.running = undefined;
    });
    return this.running;
  }

  private async compareOnce(): Promise<Comparison> {
    await this.begin();
    const { account } = this;
    const adoptions = await findActs(account, 'orders.adopted');
    const newest = Math.max(await (this.since ?? 0), ...adoptions.map(({ at }) => at)) - MARGIN_MS;
    let since = newest;
    let listed = await listOrders(account, since);
    // Its answers show the venue's clock, by which it gave its orders their times.
    const aheadMs = account.clocks.findDifference(account.clock.now(), account.clock.monotonic())?.aheadMs ?? 0;
    if (aheadMs > MARGIN_MS / 2) {
      since = newest - aheadMs;
      listed = await listOrders(account, since);
    }
    if ('why' in listed) return { kind: 'unread', why: listed.why };
    const { rows: records, cut } = listed;
    const adopted = new Set(adoptions.flatMap(({ data }) => data.orders.map(({ id }) => id)));
    const ours = records.filter(({ id, clientOrderId }) => isOwnClientOrderId(clientOrderId) && !adopted.has(id));
    const wanted = new Map(ours.map((order) => [order.clientOrderId, order]));
    const drop = (reader: JournalReader) => dropKnown(wanted, reader, since, account);
    await drop(account.store);
    if (wanted.size > 0) await account.readArchives(drop);
    this.agrees = wanted.size === 0 && cut === undefined;
    if (this.agrees) {
      // A row that stays has the next process list more than it must.
      await account.store.changeAccountRows(account.key, () => [{ name: COMPARED, text: '' }]).catch(ignoreStore);
      return { kind: 'agrees' };
    }
    const orders = [...wanted.values()];
    return { kind: 'unknown', orders, since, ...(cut === undefined ? {} : { cut }) };
  }
}

export interface Contradiction {
  readonly text: string;
  /** False where the venue or the store did not answer. */
  readonly isSure: boolean;
  /** The store does not answer now, which is no verdict. */
  readonly isAway?: true;
}

/** Why nothing new may be sent; undefined where the venue agrees. */
export async function findVenueContradiction(comparison: VenueComparison): Promise<Contradiction | undefined> {
  let compared: Comparison;
  let isAway = false;
  try {
    compared = await comparison.compare();
  } catch (error) {
    if (!(error instanceof StoreError || error instanceof UserError)) throw error;
    compared = { kind: 'unread', why: error.message };
    isAway = error instanceof StoreAway;
  }
  if (compared.kind === 'agrees') return undefined;
  if (compared.kind === 'unknown') return { text: describeUnknown(compared), isSure: true };
  const why = makePrintable(compared.why, 300);
  const text = `JOURNAL_CONTRADICTED: the venue's orders could not be compared with the journal, so no order is placed: ${why}`;
  return { text, isSure: false, ...(isAway ? { isAway } : {}) };
}

function describeUnknown({ orders, since, cut }: Extract<Comparison, { kind: 'unknown' }>): string {
  const from = new Date(since).toISOString();
  const shown = orders.slice(0, SHOWN).map(formatOrder).join('; ');
  const more = orders.length > SHOWN ? '; and others' : '';
  const unread = cut === undefined ? '' : `; not all orders of the account could be compared: ${cut}`;
  const what =
    orders.length === 0
      ? `the orders of the account since ${from} cannot all be compared with the journal: ${cut}`
      : `the venue has ${formatCount(orders.length, 'order')} of this program, placed since ${from}, that its journal does not know: ${shown}${more}${unread}. An older state folder or a copy was put in its place, another store or machine trades the account, or a journal was lost`;
  return `JOURNAL_CONTRADICTED: ${what}. Find out whose they are and what they did; then \`runbook account adopt --profile FILE --by NAME\` says that you answer for them`;
}

/**
 * Why a run that is resumed places nothing: it had not ended when a backup was made that was restored since. Its orders of the time
 * after the backup are in no journal, and it would place them again. The time of the backup does not show which runs it has: one may
 * begin while a large store is copied. Rejects with a StoreError.
 */
export async function findRestoredOver(
  account: Pick<Account, 'openAccountJournal' | 'key'>,
  { run, startedAt }: { readonly run: string; readonly startedAt: number },
): Promise<string | undefined> {
  for (const { by, data } of await findActs(account, 'store.restored'))
    if (data.runs?.includes(run) ?? startedAt <= data.restoredAt)
      return `JOURNAL_CONTRADICTED: this run had not ended when the backup of ${new Date(data.backupAt).toISOString()} was made, which ${makePrintable(by, 100)} restored; what it did since is not in its journal, so it cancels what is open and places nothing`;
  return undefined;
}

export function formatOrder({ id, clientOrderId, market, type = '', side, size, status }: AdoptedOrder): string {
  const amount = formatAmount({ type, size, market });
  const text = [id, `(client order id ${clientOrderId})`, type, side, amount, status].filter((each) => each !== '');
  return makePrintable(text.join(' '), 200);
}

/** Gives since when the orders are to be compared, epoch ms, and keeps it until they were. Rejects with a StoreError. */
async function keepSince(account: ComparedAccount): Promise<number> {
  const newest = await findNewestEntry(account);
  let since = newest;
  await account.store.changeAccountRows(account.key, (rows) => {
    const kept = Number(rows.find(({ name }) => name === COMPARED)?.text ?? Number.NaN);
    since = Number.isNaN(kept) ? newest : Math.min(kept, newest);
    return since === kept ? [] : [{ name: COMPARED, text: String(since) }];
  });
  return since;
}

/** The time of the newest entry of a live run of the account; a day ago where there is none. */
async function findNewestEntry({ store, profile, clock }: ComparedAccount): Promise<number> {
  const rows = await listRuns(store, profile.account);
  const now = clock.now();
  let newest = 0;
  for (const { run, endedAt } of rows) {
    const at = endedAt ?? (await store.last(run))?.at ?? 0;
    // One of the future is of a clock that was wrong: no order is newer.
    if (at <= now) newest = Math.max(newest, at);
  }
  return newest === 0 ? now - WITHOUT_JOURNAL_MS : newest;
}

/** The live runs, of an account or of all, that may have the newest entries. */
async function listRuns(store: Pick<JournalReader, 'runs'>, account?: string): Promise<readonly RunRow[]> {
  const of = account === undefined ? {} : { account };
  const rows = [...(await store.runs({ ...of, unfinished: true })), ...(await store.runs({ ...of, limit: MOST_RUNS }))];
  return [...new Map(rows.filter(({ mode }) => mode === 'live').map((row) => [row.run, row])).values()];
}

async function findActs<T extends ActType>(
  { openAccountJournal, key }: Pick<Account, 'openAccountJournal' | 'key'>,
  type: T,
) {
  const journal = await openAccountJournal();
  return journal.find(key, [type]).finally(() => journal.close());
}

async function listOrders(
  account: ComparedAccount,
  since: number,
): Promise<Pages<AdoptedOrder> | { readonly why: string }> {
  const list = new Pages<AdoptedOrder>(MOST_PAGES);
  for (let page = 0; ; page += 1) {
    const params = makeNewestOrderParams<never>(since * 1000, page);
    const found = await readEachOrder(account as Account, params);
    if ('why' in found) return found;
    if (!list.take([...found.result.map(describeOrder), ...found.unread.map(describeUnread)])) return list;
  }
}

/** The runs behind the newest that may have sent an order since then: where thousands only read since, the first to end has it. */
async function listOlder(reader: JournalReader, newest: readonly RunRow[], since: number): Promise<readonly RunRow[]> {
  const searched = new Set(newest.map(({ run }) => run));
  const rows = await reader.runs({});
  return rows
    .filter(({ run, mode, endedAt = 0 }) => mode === 'live' && endedAt >= since && !searched.has(run))
    .sort((a, b) => (a.endedAt ?? 0) - (b.endedAt ?? 0));
}

/**
 * Removes the orders that a live run has sent, of any account: archives of earlier versions may have it by another name. One that it only
 * intended is another's: a run that is resumed from an older journal names its next order as the lost part of it did, and is denied.
 */
async function dropKnown(
  wanted: Map<string, unknown>,
  reader: JournalReader,
  since: number,
  { clock }: Pick<Account, 'clock'>,
): Promise<void> {
  if (wanted.size === 0) return;
  const newest = await listRuns(reader);
  await dropSent(wanted, reader, newest, clock);
  if (wanted.size > 0) await dropSent(wanted, reader, await listOlder(reader, newest, since), clock);
}

async function dropSent(
  wanted: Map<string, unknown>,
  reader: JournalReader,
  runs: readonly RunRow[],
  clock: Account['clock'],
): Promise<void> {
  for (const { run } of runs) {
    for (let after = 0; wanted.size > 0; ) {
      const page = await reader.read(run, { after, limit: PAGE_ENTRIES });
      for (const { type, line } of page)
        if (type === 'call.attempted' && line.includes('"method":"POST"'))
          for (const id of wanted.keys()) if (line.includes(`"${id}"`)) wanted.delete(id);
      after = page.at(-1)?.seq ?? after;
      if (page.length < PAGE_ENTRIES) break;
      // Other runs of this process have heartbeats to send.
      await pause(clock, 0);
    }
    if (wanted.size === 0) return;
  }
}

function describeOrder(record: OrderRecord): AdoptedOrder {
  const { id, client_order_id: clientOrderId, market_id: market, side, initial_size: size, status } = record;
  // A venue may show a stop that has triggered with its size in base currency.
  const hasTriggered = record.size !== size || decimal(record.total_filled_size).gt(0) || decimal(size).gt(1);
  const type =
    (isFraction(record.order_type) && hasTriggered) || record.order_type === '' ? {} : { type: record.order_type };
  return { id, clientOrderId, market, ...type, side, size, status };
}

/** A row that cannot be read may be an order of ours all the same: its client order id says so, as every order of ours has one. */
function describeUnread({ orderId, clientOrderId = '', shows }: UnreadRow): AdoptedOrder {
  const show = (field: keyof typeof shows) => makePrintable(shows[field] ?? '?', 60);
  return {
    id: orderId ?? clientOrderId,
    clientOrderId,
    market: show('market_id'),
    ...(shows.order_type === undefined ? {} : { type: show('order_type') }),
    side: show('side'),
    size: show('initial_size'),
    status: 'unreadable',
  };
}
