/**
 * Compares the ledger of an account with the venue's own lists, where an earlier run left a position or orders: which of the
 * orders are still open, and which fills no journal has. Before a live run under limits of the account, and on request.
 */

import { pause } from '../../base/clock.ts';
import { decimal, formatDecimal } from '../../base/decimal.ts';
import { makePrintable } from '../../base/printable.ts';
import { AccountLedger, CLOCKS_DIFFER_MS, joinReadings } from '../../gateway/limits/account-ledger.ts';
import type { Baseline, LedgerParts, ListedFills, RunLedger } from '../../gateway/limits/ledger-rows.ts';
import { splitLimits, type WorkingOrder } from '../../venue/limits/check.ts';
import { showsPrice } from '../../venue/order/context.ts';
import { computeShortfall, isZeroDecimal, pickLarger, replacesFill } from '../../venue/order/fills.ts';
import { REPEAT_DELAYS_MS } from '../../venue/order/polling.ts';
import {
  LIVE_STATUSES,
  makeAccountOrderParams,
  makeMarketParams,
  makeReadParams,
  PAGE_ROWS,
} from '../../venue/order/requests.ts';
import { Pages } from '../../venue/pages.ts';
import { type FillRecord, isTerminalStatus, type OrderRecord } from '../../venue/records.ts';
import type { UnreadRow } from '../../venue/wire/answer.ts';
import type { Account } from '../account/account.ts';
import { keepListed, keepPositions, loadLedger, nameLedger, type ShownParts, takeRows } from '../account/ledger.ts';
import { readDeclaredPositions, readEachOrder, readRows } from '../account/one-request.ts';
import type { Voice } from '../voice.ts';

export interface LedgerHost {
  readonly account: Account;
  readonly ledger: AccountLedger;
  readonly voice: Pick<Voice, 'complain'>;
}

/** What is compared; `beside`: a run whose open orders are not. */
interface Compared {
  readonly all?: boolean;
  readonly markets?: readonly string[];
  readonly beside?: string | undefined;
}

/** What a comparison found. */
export interface Settling {
  /** Fills that no journal has. */
  readonly added: readonly FillRecord[];
  /** Orders that a run left open and the venue does not list any more, by client order id. */
  readonly gone: readonly string[];
  /** Positions that are not what the fills add up to, as the venue lists them. */
  readonly moved: readonly MovedPosition[];
  /** Why a list could not be read; then what it would have shown still counts at its worst. */
  readonly unread?: string;
}

export interface MovedPosition {
  readonly market: string;
  /** As the fills had it, base currency. */
  readonly was: string;
  readonly size: string;
}

/** Clocks differ: fills are listed from this long before what is known, ms. */
const MARGIN_MS = 60_000;
const DAY_MS = 86_400_000;
/** How far back open orders are listed, ms. Without a start the venue reads its whole history. */
const LOOK_BACK_MS = 90 * DAY_MS;
/** Pauses before a list is asked for again, ms: a start waits for them, and what stays unread counts at its worst. */
const REPEATED_AFTER_MS = REPEAT_DELAYS_MS.slice(0, 2);

/**
 * Settles what earlier runs left, where the limits of the profile depend on it, or the runbook reads what the account holds. `beside`:
 * the run that is about to go on, which asks for its own orders itself. Resolves to why the venue could not be asked, or undefined.
 */
export async function settleLedger(
  host: LedgerHost,
  { readsAccount = false, beside }: { readonly readsAccount?: boolean; readonly beside?: string } = {},
): Promise<string | undefined> {
  const { account, voice } = host;
  await readReleases(host);
  const { account: rules } = splitLimits(account.profile.limits, undefined);
  const { maxPosition, maxMarketNotional, maxExposure, maxOpenOrders, maxDailyLoss } = rules ?? {};
  const rest = [maxPosition, maxMarketNotional, maxExposure, maxOpenOrders, maxDailyLoss];
  if (!readsAccount && rest.every((each) => each === undefined)) return undefined;
  await takeRows(nameLedger(account), host.ledger);
  // Proven in every market that an expression may name: the fills of the run itself prove nothing of others.
  const markets = readsAccount ? Object.keys(account.profile.markets) : [];
  const { unread } = await compareWithVenue(host, { markets, beside });
  if (unread !== undefined)
    voice.complain(
      `what earlier runs left could not be compared with the venue (${makePrintable(unread, 200)}); it counts at its worst`,
    );
  return unread;
}

/** Reads when a person last released the account: a new count of the day's loss begins then. */
export async function readReleases({ account, ledger }: Pick<LedgerHost, 'account' | 'ledger'>): Promise<void> {
  if (account.profile.limits.maxDailyLoss === undefined) return;
  const events = await account.shared.killSwitch.history(account.key);
  ledger.releasedAt = events.findLast(({ action }) => action === 'release')?.at ?? 0;
}

/**
 * Asks the venue for what is not settled, and keeps what it shows beside the journal. `all`: every market the account traded; `markets`:
 * these in any case. Then for its positions, where the profile declares a request for them.
 */
export function compareWithVenue(host: LedgerHost, which: Compared = {}): Promise<Settling> {
  const before = UNDER_WAY.get(host.ledger) ?? Promise.resolve();
  const compared = before
    .catch(() => {})
    .then(async () => {
      const lists = await compareLists(host, which);
      return { ...lists, ...(await comparePositions(host, lists.unread)) };
    });
  UNDER_WAY.set(host.ledger, compared);
  return compared;
}

/** One comparison of a ledger at a time: of two side by side, the one that ends later need not have asked later. */
const UNDER_WAY = new WeakMap<AccountLedger, Promise<unknown>>();

/**
 * Takes what the venue lists as held for what is held: it proves that in every market, those that it leaves out included, also where
 * a journal or the fills of an order cannot be read.
 */
async function comparePositions(
  { account, ledger }: Pick<LedgerHost, 'account' | 'ledger'>,
  unread: string | undefined,
): Promise<Pick<Settling, 'moved' | 'unread'>> {
  const { positions: declared, markets, fillsWindowMs } = account.profile;
  const missed = unread === undefined ? [] : [unread];
  if (declared === undefined) return { moved: [], ...(unread === undefined ? {} : { unread }) };
  const { clock } = account;
  let read = await readDeclaredPositions(account, declared);
  for (const delay of REPEATED_AFTER_MS) {
    if ('positions' in read) break;
    await pause(clock, delay);
    read = await readDeclaredPositions(account, declared);
  }
  if ('why' in read) return { moved: [], unread: [...missed, read.why].join('; ') };
  const { positions, at } = read;
  const moved: MovedPosition[] = [];
  const shown: Baseline[] = [];
  const doubts = new Map<string, string>();
  let isWhole = true;
  const traded = ledger.book.markets();
  const undescribed = [...positions].find(
    ([market, { size }]) => !Object.hasOwn(markets, market) && !traded.includes(market) && !decimal(size).isZero(),
  )?.[0];
  for (const market of new Set([...Object.keys(markets), ...traded, ...positions.keys()])) {
    const { size, price } = positions.get(market) ?? { size: '0' };
    const was = ledger.book.position(market).size;
    const isUnread = (ledger.listFilled([]).get(market)?.unread.length ?? 0) > 0;
    if (was.eq(decimal(size)) && !isUnread) continue;
    // Fills and positions are two readings: where it has just traded, one may be behind the other.
    const newest = ledger.book.trades(market).at(-1)?.fill.timestamp ?? 0;
    const isBehind = at - newest / 1000 < fillsWindowMs;
    if (isBehind || !positions.has(market)) {
      isWhole = false;
      // A list may lack a row; that it names no such position proves nothing against the fills.
      if (!isBehind && !was.isZero())
        doubts.set(
          market,
          `the venue's positions leave out ${market}, where the fills add up to ${formatDecimal(was)}`,
        );
      continue;
    }
    shown.push({ market, size, ...(price === undefined ? {} : { price }), by: 'the venue', at });
    if (!was.eq(decimal(size))) moved.push({ market, was: formatDecimal(was), size });
  }
  await keepPositions(nameLedger(account), shown);
  for (const each of shown) ledger.state(each);
  // A market that the venue names in another way here than in orders would count as not held.
  const unnamed =
    undescribed === undefined
      ? []
      : [`the venue lists a position in ${makePrintable(undescribed, 100)}, which \`markets\` of the profile lacks`];
  ledger.noteShown(isWhole, (market) => doubts.get(market) ?? (positions.has(market) ? undefined : unnamed[0]));
  const unsure = [...missed, ...doubts.values(), ...unnamed];
  return { moved, ...(unsure.length === 0 ? {} : { unread: unsure.join('; ') }) };
}

async function compareLists(
  { account, ledger }: LedgerHost,
  { all = false, markets: asked = [], beside }: Compared,
): Promise<Omit<Settling, 'moved'>> {
  const run = ledger.listRuns().find((each) => each.run === beside);
  const ofRun = new Set(run?.orders.map(({ clientOrderId }) => clientOrderId));
  const before = ledger.listLeft().filter(({ clientOrderId }) => !ofRun.has(clientOrderId));
  const filled = ledger.listFilled([]);
  const markets = [...filled].flatMap(([market, { range, unread }]) =>
    all || unread.length > 0 || !range.least.isZero() || !range.most.isZero() ? [market] : [],
  );
  // What a journal that cannot be read left may be in any market, and may have filled.
  const described = ledger.isWhole ? [] : Object.keys(account.profile.markets);
  const wanted = new Set([...asked, ...markets, ...described, ...before.map(({ market }) => market)]);
  if (ledger.isWhole && wanted.size === 0) return { added: [], gone: [] };
  const known = (await loadLedger(nameLedger(account))).parts;
  const askedAt = account.clock.now();
  const findGone = (listed: ListedOrders) => before.filter((order) => !isListed(listed, order));
  const open = await listOpen(account, askedAt, (found) => ledger.isWhole && findGone(found).length === 0);
  if ('why' in open) return { added: [], gone: [], unread: open.why };
  const [odd] = open.unread;
  // An open order of which nothing is known counts in no limit.
  if (!ledger.isWhole && odd !== undefined) return { added: [], gone: [], unread: odd.why };
  const working = ledger.isWhole ? [] : open.records.map(describeOpen);
  for (const { market } of working) wanted.add(market);
  const newest = await listRecords(account, ledger, findGone(open));
  if ('why' in newest) return { added: [], gone: [], unread: newest.why };
  const { records } = newest;
  const isWorking = (order: WorkingOrder) => {
    const record = findRecord(records, order);
    return record === undefined ? isListed(newest, order) : !isTerminalStatus(record.status);
  };
  // Listed between two statuses, it was under neither.
  const over = findGone(open).filter((order) => !isWorking(order));
  const gone = over.map(({ clientOrderId }) => clientOrderId);
  const ended = Object.fromEntries(
    over.flatMap((order) => {
      const record = findRecord(records, order);
      return record === undefined ? [] : [[order.clientOrderId, record.total_filled_size]];
    }),
  );
  const seen = [...open.records, ...records];
  const ids = new Map(
    before.flatMap((order): readonly [string, string][] => {
      const record = order.orderId === undefined ? findRecord(seen, order) : undefined;
      return record === undefined ? [] : [[order.clientOrderId, record.id]];
    }),
  );
  const listed: ListedFills[] = [];
  for (const market of wanted) {
    // The fills have their times by the venue's clock, which its answers show.
    const now = account.clock.now();
    const { aheadMs = 0 } = account.clocks.findDifference(now, account.clock.monotonic()) ?? {};
    const fills = await listFills(account, market, findStart(ledger, market, now) - Math.max(aheadMs, 0));
    if ('why' in fills) return { added: [], gone: [], unread: fills.why };
    // A fill may be that late in the list: what ended since may have filled more, and the next list begins before.
    listed.push({ market, readAt: askedAt - account.profile.fillsWindowMs, fills });
  }
  const found = { listed, gone: Object.fromEntries(gone.map((id) => [id, askedAt])), ended };
  const { lists, over: forGood } = await keepFound(account, known, { ...found, ids });
  ledger.name(ids);
  const added = ledger.takeListed({ ...found, listed: lists });
  ledger.end(forGood);
  if (!ledger.isWhole) ledger.takeOpen(working);
  return { added, gone };
}

type Found = Pick<ShownParts, 'listed' | 'gone' | 'ended'> & { readonly ids: ReadonlyMap<string, string> };

/**
 * Keeps what was found beside what other processes have kept meanwhile. Gives the lists of both, and the orders that are over for good:
 * what was known of them before is in the rows of their runs.
 */
async function keepFound(account: Account, known: LedgerParts, found: Found) {
  let over: ReadonlySet<string> = new Set();
  let lists: readonly ListedFills[] = [];
  await keepListed(nameLedger(account), (kept) => {
    const all = {
      gone: mergeBy(kept.gone, found.gone, Math.max),
      ended: mergeBy(kept.ended, found.ended, pickLarger),
    };
    const runs = known.runs.map((run) => kept.runs.find((each) => isSame(each, run)) ?? run);
    const ofJournals = new Map(runs.flatMap((run) => run.fills.map((fill) => [fill.id, fill] as const)));
    lists = found.listed.map((each) => mergeLists(kept.listed, each, ofJournals));
    const isListed = new Set(lists.map(({ market }) => market));
    const listed = [...kept.listed.filter(({ market }) => !isListed.has(market)), ...lists];
    const sums = new AccountLedger({ ...known, ...kept, ...all, runs, listed });
    const named = sums.name(found.ids);
    // The orders of a run whose journal cannot be read are not known.
    const isWhole = known.unknown === undefined;
    over = isWhole ? sums.listOver(account.profile.fillsWindowMs + MARGIN_MS) : new Set<string>();
    const ofOver = sums.end(over);
    const changed = [...ofOver, ...named.filter(({ run }) => !ofOver.some((each) => each.run === run))];
    return { listed: lists, runs: changed, ...(isWhole ? sums.listGone() : all) };
  });
  return { lists, over };
}

function isSame(one: RunLedger, other: RunLedger): boolean {
  return one.run === other.run && one.lastAt === other.lastAt;
}

/** Each list has every fill of a time that reaches back into what was known before: so both together have, until the later reading. */
function mergeLists(
  kept: readonly ListedFills[],
  one: ListedFills,
  ofJournals: ReadonlyMap<string, FillRecord>,
): ListedFills {
  const other = kept.find(({ market }) => market === one.market);
  const fills = new Map([...(other?.fills ?? []), ...one.fills].map((fill) => [fill.id, fill]));
  return {
    market: one.market,
    readAt: joinReadings(one.readAt, other?.readAt),
    fills: [...fills.values()].filter((fill) => replacesFill(ofJournals.get(fill.id), fill)),
  };
}

function mergeBy<T>(one: Readonly<Record<string, T>>, other: Readonly<Record<string, T>>, pick: (a: T, b: T) => T) {
  const merged = new Map(Object.entries(one));
  for (const [name, value] of Object.entries(other)) {
    const known = merged.get(name);
    merged.set(name, known === undefined ? value : pick(known, value));
  }
  return Object.fromEntries(merged);
}

/** An open order at its worst: a record may show another size than the one that an amend has asked for. */
function describeOpen(record: OrderRecord): WorkingOrder {
  const { id, client_order_id: given, market_id: market, side, order_type: type, price, size } = record;
  const closes = type === 'stop_loss' || type === 'take_profit';
  const unfilled = computeShortfall(record.initial_size, record.total_filled_size);
  const names = { clientOrderId: given === '' ? id : given, orderId: id };
  const isPriced = showsPrice({ type }) && !isZeroDecimal(price);
  const terms = { market, side, type, size: record.initial_size, ...(isPriced ? { price } : {}) };
  return { ...names, ...terms, ...(closes ? CLOSES : { worstRemaining: pickLarger(size, unfilled) }) };
}
/** It closes at most the position. */
const CLOSES = { worstRemaining: '0', fraction: '1' } as const;

interface NotRead {
  readonly why: string;
}

/** Rows of a list of orders, and beside them those that cannot be read: one of another program must not hide those of ours. */
interface ListedOrders {
  readonly records: readonly OrderRecord[];
  readonly unread: readonly UnreadRow[];
}

function findStart(ledger: AccountLedger, market: string, now: number): number {
  const runs = ledger
    .listRuns()
    .filter(({ fills, orders }) =>
      [...fills.map((fill) => fill.market_id), ...orders.map((order) => order.market)].includes(market),
    );
  // What a journal that cannot be read has done today counts for the loss of the day.
  const today = ledger.isWhole ? [] : [Math.floor(now / DAY_MS) * DAY_MS];
  // Fills are added to what was stated, from that time on.
  const known = [ledger.findStatedAt(market) ?? now, ...today];
  const earliest = runs.reduce((first, { startedAt }) => Math.min(first, startedAt), Math.min(now, ...known));
  const listedAt = ledger.findListedAt(market) ?? earliest;
  return (listedAt > now + CLOCKS_DIFFER_MS ? earliest : listedAt) - MARGIN_MS;
}

/** Orders that can still fill, until they are `enough`: one that is being amended or cancelled is not under `open`. */
async function listOpen(
  account: Account,
  now: number,
  enough: (open: ListedOrders) => boolean,
): Promise<ListedOrders | NotRead> {
  const open = { records: [] as OrderRecord[], unread: [] as UnreadRow[] };
  for (const status of LIVE_STATUSES) {
    if (enough(open)) break;
    const params = makeAccountOrderParams<never>((now - LOOK_BACK_MS) * 1000, { status });
    const page = await readEachOrder(account, params, REPEATED_AFTER_MS);
    if ('why' in page) return page;
    if (page.result.length + page.unread.length >= PAGE_ROWS)
      return { why: `it lists a full page of orders with the status ${status}` };
    open.records.push(...page.result);
    open.unread.push(...page.unread);
  }
  return open;
}

/** Most orders that are read by their ids; others count as working. */
const MOST_BY_ID = 20;

/** The newest orders of the markets in which orders are gone: their records show what filled before the list of fills does. */
async function listRecords(
  account: Account,
  ledger: AccountLedger,
  gone: readonly WorkingOrder[],
): Promise<ListedOrders | NotRead> {
  const newest = { records: [] as OrderRecord[], unread: [] as UnreadRow[] };
  for (const market of new Set(gone.map((order) => order.market))) {
    const here = gone.filter((order) => order.market === market);
    const wanted = new Set(here.map(({ clientOrderId }) => clientOrderId));
    const runs = ledger.listRuns().filter(({ orders }) => orders.some((order) => wanted.has(order.clientOrderId)));
    const since = Math.min(account.clock.now(), ...runs.map(({ startedAt }) => startedAt)) - MARGIN_MS;
    const params = makeMarketParams<never>(market, since * 1000);
    const page = await readEachOrder(account, params, REPEATED_AFTER_MS);
    if ('why' in page) return page;
    newest.records.push(...page.result);
    newest.unread.push(...page.unread);
    if (page.result.length + page.unread.length < PAGE_ROWS) continue;
    // Newer orders of other programs may hide one that works under a status that the venue does not filter by.
    for (const [index, order] of here.filter((each) => !isListed(newest, each)).entries()) {
      const { clientOrderId, orderId: venueId } = order;
      const byId = makeReadParams<never>({ market, clientOrderId, venueId }, since * 1000);
      const found =
        index < MOST_BY_ID
          ? await readEachOrder(account, byId, REPEATED_AFTER_MS)
          : { why: 'too many orders are hidden by newer ones', isMissing: false };
      const { result, unread } = 'why' in found ? { result: [], unread: found.isMissing ? [] : [found] } : found;
      newest.records.push(...result);
      // Whatever else a row shows that was asked for by its id, it is that order.
      newest.unread.push(...unread.map(({ why }) => ({ clientOrderId, shows: {}, why })));
    }
  }
  return newest;
}

/** Whether a list shows an order, or may: one that is taken for gone although a row that cannot be read is it counts too little. */
function isListed({ records, unread }: ListedOrders, order: WorkingOrder): boolean {
  return findRecord(records, order) !== undefined || unread.some((row) => mayBe(row, order));
}

/** A row without its client order id may be any order of the market whose id never arrived. */
function mayBe({ orderId, clientOrderId, shows }: UnreadRow, order: WorkingOrder): boolean {
  if (orderId !== undefined && orderId === order.orderId) return true;
  if (clientOrderId !== undefined) return clientOrderId === order.clientOrderId;
  const isElsewhere = shows.market_id !== undefined && shows.market_id !== order.market;
  return !isElsewhere && (orderId === undefined || order.orderId === undefined);
}

function findRecord(records: readonly OrderRecord[], order: WorkingOrder): OrderRecord | undefined {
  return records.find(({ id, client_order_id: given }) => id === order.orderId || given === order.clientOrderId);
}

/** Oldest first, page by page: new fills come after those already read. */
async function listFills(account: Account, market: string, sinceMs: number): Promise<readonly FillRecord[] | NotRead> {
  const list = new Pages<FillRecord>();
  for (let page = 0; ; page += 1) {
    const params = {
      market_id: market,
      start_time: sinceMs * 1000,
      p_limit: PAGE_ROWS,
      p_page: page,
      p_order: 'ASC',
    } as const;
    const rows = await readRows(account, 'GET /fills', params, REPEATED_AFTER_MS);
    if ('why' in rows) return rows;
    if (!list.take(rows)) return list.cut === undefined ? list.rows : { why: list.cut };
  }
}
