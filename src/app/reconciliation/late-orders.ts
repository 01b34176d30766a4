/**
 * Finds late orders: orders of ours that the venue shows although the journals of earlier live runs do not expect them. One
 * works although its journal calls it ended; another appeared, filled or ended while its state was unknown. No run watches
 * them, so the next run of the account looks for them and reports them (fault-matrix.md, row 3).
 */

import { pause } from '../../base/clock.ts';
import { formatCount } from '../../base/format.ts';
import { makePrintable } from '../../base/printable.ts';
import { readEntry } from '../../journal/chain.ts';
import type { DataOf, JsonObject, LateOrder } from '../../journal/entry.ts';
import type { JournalReader, RunRow } from '../../journal/store.ts';
import { PAGE_ROWS } from '../../venue/order/requests.ts';
import { isAtVenue, isInDoubt, isOrderState, isTerminal, type OrderState } from '../../venue/order/states.ts';
import { Pages } from '../../venue/pages.ts';
import { isTerminalStatus, type OrderRecord } from '../../venue/records.ts';
import type { UnreadRow } from '../../venue/wire/answer.ts';
import type { Account } from '../account/account.ts';
import { noteAct } from '../account/acts.ts';
import { reportAlarm } from '../account/notifications.ts';
import { sendOnce } from '../account/one-request.ts';
import type { Voice } from '../voice.ts';

/** Result of one request to the venue: one page of the account's orders. */
export interface AskedOrders {
  /** Undefined where nothing was sent. */
  readonly request: DataOf<'account.late_orders'>['requests'][number] | undefined;
  /** Undefined where there was no answer. */
  readonly records: readonly OrderRecord[] | undefined;
  /** Rows that cannot be read: one of another program must not hide ours. */
  readonly unread?: readonly UnreadRow[];
}

export interface LateOrderSearch {
  /** The run that searches. */
  readonly run: string;
  /** Epoch ms. */
  readonly now: number;
  /** Orders open on the account that are not the run's (`account.reconciled`). */
  readonly ofOtherRuns: readonly JsonObject[];
  /** Lists orders since a time, microseconds, oldest first. */
  listOrders(startTime: number, page: number): Promise<AskedOrders>;
  /** Yields between pages of a journal, because the run has heartbeats to send. */
  yieldTurn(): Promise<void>;
}

/** The last state of an order in a journal. */
interface LeftOrder {
  readonly run: string;
  state: OrderState;
  /** Epoch ms of its first entry. */
  readonly since: number;
  /** Whether it counts as rejected because one look-up found nothing: that is no proof. */
  wasGuessed: boolean;
}

/** Entries per read: a page takes some milliseconds, in which a local store blocks everything else. */
const PAGE_ENTRIES = 2_000;
/** Maximum number of runs searched: an order that no recent run knows belongs to another journal, and was reported as such. */
const NEWEST_RUNS = 200;
/** How long the outcome of an order is looked up again, ms (fault-matrix.md, row 3). */
const RECHECKED_MS = 86_400_000;
/** Clocks differ: records are read from this long before the first order in doubt, ms. */
const LOOK_BACK_MS = 3_600_000;
const MOST_PAGES = 3;

/** Knowledge of an account's earlier runs, shared by all runs of a process. */
export class LateOrders {
  private readonly store: Pick<JournalReader, 'read' | 'runs'>;
  private readonly account: string;
  /** By run and end: a journal that has ended gives the same result next time. */
  private readonly doubtsByRun = new Map<string, ReadonlyMap<string, LeftOrder>>();
  private readonly watched = new Set<string>();
  private readonly told = new Set<string>();

  constructor(store: Pick<JournalReader, 'read' | 'runs'>, account: string) {
    this.store = store;
    this.account = account;
  }

  /** Marks a run of this process as running, so that its orders count as watched, until the returned function is called. */
  markWatched(run: string): () => void {
    this.watched.add(run);
    return () => void this.watched.delete(run);
  }

  /** Whether people are to be notified: once per process, while the venue reports the same state. */
  isNews({ orderId, status, filled = '' }: LateOrder): boolean {
    const key = `${orderId} ${status} ${filled}`;
    const isNew = !this.told.has(key);
    this.told.add(key);
    return isNew;
  }

  /** Searches journals and venue; undefined where nothing is in doubt and nothing was found. Throws a StoreError. */
  async search(looking: LateOrderSearch): Promise<DataOf<'account.late_orders'> | undefined> {
    await looking.yieldTurn();
    const rows = (await this.store.runs({ account: this.account, limit: NEWEST_RUNS })).filter(
      ({ run, mode }) => mode === 'live' && run !== looking.run && !this.watched.has(run),
    );
    const late = new Map<string, LateOrder>();
    for (const each of await this.findEndedAndOpen(rows, looking)) late.set(each.orderId, each);
    const doubts = await this.findInDoubt(rows, looking);
    const requests: DataOf<'account.late_orders'>['requests'][number][] = [];
    if (doubts.size > 0) {
      const since = Math.min(...[...doubts.values()].map((order) => order.since));
      const list = new Pages<OrderRecord>(MOST_PAGES);
      for (let page = 0; ; page += 1) {
        const { request, records, unread = [] } = await looking.listOrders((since - LOOK_BACK_MS) * 1000, page);
        if (request !== undefined) requests.push(request);
        for (const record of records ?? []) {
          const left = doubts.get(record.client_order_id);
          if (left !== undefined && (isUnknown(left) || isTerminalStatus(record.status)))
            late.set(record.id, describeOrder(record, left));
        }
        for (const { orderId, clientOrderId = '', shows } of unread) {
          const left = doubts.get(clientOrderId);
          // That it is there at all is what its journal does not expect.
          if (left === undefined || !isUnknown(left)) continue;
          const order = { clientOrderId, orderId: orderId ?? clientOrderId, market: shows.market_id ?? '?' };
          late.set(order.orderId, { ...order, run: left.run, recorded: left.state, status: 'unreadable' });
        }
        if (records === undefined || !list.take(records, unread.length)) break;
      }
    }
    if (doubts.size === 0 && late.size === 0) return undefined;
    return { inDoubt: doubts.size, late: [...late.values()], requests };
  }

  /** Open orders that a live run of this account calls ended. Reads the newest runs first, and stops when all are found. */
  private async findEndedAndOpen(
    rows: readonly RunRow[],
    { ofOtherRuns, yieldTurn: breathe }: LateOrderSearch,
  ): Promise<readonly LateOrder[]> {
    const wanted = new Map(ofOtherRuns.map((order) => [String(order['client_order_id']), order]));
    const found: LateOrder[] = [];
    for (const { run } of rows) {
      if (wanted.size === 0) break;
      for (const [clientOrderId, left] of await this.readLeftOrders(run, breathe, wanted)) {
        const order = wanted.get(clientOrderId);
        wanted.delete(clientOrderId);
        if (order === undefined || !isTerminal(left.state)) continue;
        const [orderId, market] = [String(order['id']), String(order['market_id'])];
        found.push({ clientOrderId, orderId, market, run, recorded: left.state, status: 'open' });
      }
    }
    return found;
  }

  /**
   * Orders whose outcome was unknown to the runs of the last day, by client order id. Also of runs that succeeded or were stopped:
   * one that caught `not_placed` went on without an order that may have been on its way.
   */
  private async findInDoubt(
    rows: readonly RunRow[],
    { now, yieldTurn: breathe }: LateOrderSearch,
  ): Promise<ReadonlyMap<string, LeftOrder>> {
    const all = new Map<string, LeftOrder>();
    for (const { run, outcome, startedAt, endedAt } of rows) {
      if ((endedAt ?? startedAt) < now - RECHECKED_MS) continue;
      const isClean = outcome === 'succeeded' || outcome === 'stopped';
      const key = `${run} ${endedAt}`;
      let doubts = endedAt === undefined ? undefined : this.doubtsByRun.get(key);
      if (doubts === undefined) {
        const left = await this.readLeftOrders(run, breathe);
        // A halted run does not watch its orders any more: the outcome of its working orders is unknown too. What a clean run left
        // working it meant to leave.
        doubts = new Map([...left].filter(([, order]) => isUnknown(order) || (!isClean && isAtVenue(order.state))));
        if (endedAt !== undefined) this.doubtsByRun.set(key, doubts);
      }
      for (const [id, order] of doubts) all.set(id, order);
    }
    return all;
  }

  /** The states of a run's orders, or of the wanted ones, at the end of its journal. */
  private async readLeftOrders(
    run: string,
    breathe: () => Promise<void>,
    wanted?: ReadonlyMap<string, unknown>,
  ): Promise<ReadonlyMap<string, LeftOrder>> {
    const left = new Map<string, LeftOrder>();
    for (let after: number | undefined; ; ) {
      const page = await this.store.read(run, { limit: PAGE_ENTRIES, ...(after === undefined ? {} : { after }) });
      for (const stored of page) {
        if (stored.type !== 'order.moved' && stored.type !== 'order.concluded') continue;
        const entry = readEntry(stored);
        if (entry.type !== 'order.moved' && entry.type !== 'order.concluded') continue;
        const { clientOrderId } = entry.data;
        if (wanted !== undefined && !wanted.has(clientOrderId)) continue;
        const order = left.get(clientOrderId) ?? { run, state: 'draft', since: entry.at, wasGuessed: false };
        left.set(clientOrderId, order);
        if (entry.type === 'order.moved' && isOrderState(entry.data.to)) order.state = entry.data.to;
        else if (entry.data.event === 'REFUSED') order.wasGuessed = true;
      }
      after = page.at(-1)?.seq;
      await breathe();
      if (page.length < PAGE_ENTRIES) return left;
    }
  }
}

function isUnknown({ state, wasGuessed }: LeftOrder): boolean {
  return isInDoubt(state) || (state === 'rejected' && wasGuessed);
}

function describeOrder(record: OrderRecord, { run, state }: LeftOrder): LateOrder {
  const { id, client_order_id, market_id, status, total_filled_size } = record;
  return {
    clientOrderId: client_order_id,
    orderId: id,
    market: market_id,
    run,
    recorded: state,
    status,
    filled: total_filled_size,
  };
}

/** How long a page waits for tokens, ms; the next run asks again. */
const TOKENS_WITHIN_MS = 10_000;

export interface LateOrderParts {
  readonly account: Account;
  readonly voice: Voice;
  readonly lateOrders: LateOrders;
}

/** `write`: called in a turn of the clock, where something was asked or found; a run that has ended ignores it. */
export async function reportLateOrders(
  { account, voice, lateOrders }: LateOrderParts,
  run: string,
  ofOtherRuns: DataOf<'account.reconciled'>['ofOtherRuns'],
  write: (recalled: DataOf<'account.late_orders'>) => void,
): Promise<void> {
  const { clock } = account;
  try {
    const recalled = await lateOrders.search({
      run,
      now: clock.now(),
      ofOtherRuns,
      listOrders: (startTime, page) => requestOrders(account, startTime, page),
      yieldTurn: () => pause(clock, 0),
    });
    if (recalled === undefined) return;
    clock.arrive(() => write(recalled));
    const { inDoubt, requests } = recalled;
    if (inDoubt > 0 && requests.at(-1)?.success !== true)
      voice.complain(
        `the outcome of ${formatCount(inDoubt, 'order')} of earlier runs could not be looked up; the next run tries again`,
      );
    const news = recalled.late.filter((order) => lateOrders.isNews(order));
    if (news.length > 0)
      await noteAct(account, { type: 'orders.late', by: 'recall', at: clock.now(), data: { orders: news } }, voice);
    for (const order of news) {
      reportAlarm({ account, voice }, formatLateOrder(order), { run: order.run });
    }
  } catch (error) {
    // Any error: a background search must not end a run that has orders.
    const why = error instanceof Error ? error.message : String(error);
    voice.complain(`the journals of earlier runs could not be read: ${makePrintable(why, 300)}`);
  }
}

async function requestOrders(account: Account, startTime: number, page: number): Promise<AskedOrders> {
  const { clock, budget } = account;
  const params = { start_time: startTime, p_limit: PAGE_ROWS, p_page: page, p_order: 'ASC' } as const;
  const [sentAt, tokens] = [clock.now(), budget.weightOf('GET /orders')];
  const how = { tokensWithinMs: TOKENS_WITHIN_MS, rows: 'each' } as const;
  const asked = await sendOnce(account, 'GET /orders', params, 'read', how);
  if (asked.kind === 'unanswered' && !asked.sent) return { request: undefined, records: undefined };
  const success = asked.kind === 'confirmed';
  const status = asked.kind === 'unanswered' ? {} : { status: asked.reply.status };
  const request = { sentAt, tokens, ...status, success };
  return success
    ? { request, records: asked.result, ...(asked.unread === undefined ? {} : { unread: asked.unread }) }
    : { request, records: undefined };
}

function formatLateOrder({ clientOrderId, orderId, run, recorded, status, filled }: LateOrder): string {
  const shownRun = makePrintable(run, 100);
  const fills = filled === undefined ? '' : `, with ${makePrintable(filled, 60)} filled`;
  const todo = isTerminalStatus(status)
    ? 'and the position: where it was a stop, it covers nothing any more'
    : 'and the position; cancel it at the venue if it should not be open, or use `runbook kill`';
  return `Late order: ${makePrintable(orderId, 60)} (client order id ${makePrintable(clientOrderId, 60)}) is ${makePrintable(status, 40)} at the venue${fills}, although the journal of run ${shownRun} leaves it ${recorded}. No run watches it. See \`runbook audit show ${shownRun}\` ${todo}`;
}
