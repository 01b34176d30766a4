/**
 * Collects the facts of a simulation for the invariants: intents with their attempts and answers from the journal, orders by
 * client order id from the venue's books, when the switch was armed, when no process ran.
 */
import type { BookedOrder } from '../../src/gateway/simulator/ledger-view.ts';
import type { Entry, EntryOf } from '../../src/journal/entry.ts';
import type { TrackedOrder } from '../../src/journal/orders.ts';
import { TIMINGS } from '../../src/venue/order/context.ts';
import { PAGE_ROWS } from '../../src/venue/order/requests.ts';
import { isFoundMissing, type OrderTerms } from '../../src/venue/port.ts';
import { isTerminalStatus, type OrderRecord } from '../../src/venue/records.ts';
import type { Sent } from './process-transport.ts';
import type { Shape } from './shapes.ts';
import type { Happened, RunTold } from './world.ts';

export interface Attempt {
  /** How many entries of all runs are durable with it. */
  readonly position: number;
  readonly entry: EntryOf<'call.attempted'>;
  readonly intended: EntryOf<'call.intended'>;
}

export interface Intent {
  readonly run: RunTold;
  readonly terms: OrderTerms;
  readonly step: string;
  /** Of its first entry. */
  readonly sequence: number;
  readonly attempts: readonly Attempt[];
  /** The venue's orders with its client order id, in the order of their arrival. */
  readonly orders: readonly BookedOrder[];
}

export interface Settled {
  readonly entry: EntryOf<'call.settled'>;
  readonly intended: EntryOf<'call.intended'>;
}

export class Facts {
  readonly happened: Happened;
  readonly intents = new Map<string, Intent & { attempts: Attempt[] }>();
  readonly attempts: Attempt[] = [];
  readonly settled: Settled[] = [];
  /** The venue's orders of ours. */
  readonly own: readonly BookedOrder[];

  constructor(happened: Happened) {
    this.happened = happened;
    const byClientId = new Map<string, BookedOrder[]>();
    for (const order of happened.books.orders) {
      if (order.client_order_id === '') continue;
      const known = byClientId.get(order.client_order_id);
      if (known === undefined) byClientId.set(order.client_order_id, [order]);
      else known.push(order);
    }
    this.own = [...byClientId.values()].flat();
    const runs = new Map(happened.runs.map((run) => [run.name, run]));
    const calls = new Map<string, EntryOf<'call.intended'>>();
    const lines = new Map(happened.stored.map(({ run, seq }, index) => [`${run} ${seq}`, index + 1]));
    for (const entry of happened.entries) {
      switch (entry.type) {
        case 'call.intended': {
          calls.set(callOf(entry), entry);
          const { intent } = entry.data;
          if (intent !== undefined && !this.intents.has(intent.clientOrderId)) {
            this.intents.set(intent.clientOrderId, {
              run: runs.get(entry.run) as RunTold,
              terms: intent,
              step: entry.step,
              sequence: entry.seq,
              attempts: [],
              orders: byClientId.get(intent.clientOrderId) ?? [],
            });
          }
          break;
        }
        case 'call.attempted': {
          const intended = calls.get(callOf(entry));
          if (intended === undefined) break;
          const attempt = { position: lines.get(`${entry.run} ${entry.seq}`) ?? 0, entry, intended };
          this.attempts.push(attempt);
          if (intended.data.endpoint === 'POST /orders')
            this.intents.get(intended.data.clientOrderId ?? '')?.attempts.push(attempt);
          break;
        }
        case 'call.settled': {
          const intended = calls.get(callOf(entry));
          if (intended !== undefined) this.settled.push({ entry, intended });
          break;
        }
        default:
          break;
      }
    }
  }

  /** When an entry was written, by the venue's clock. */
  at(entry: Entry): number {
    return this.happened.venueTime(entry, entry.at);
  }

  /** When the request of a call left, by the venue's clock. */
  sentAt({ entry }: Settled): number {
    return this.happened.venueTime(entry, entry.data.sentAt ?? 0);
  }

  /** The requests of which one settled a call by its answer: runs may send the same in one instant, and no line says whose is whose. */
  requestsOf(settled: Settled): readonly Sent[] {
    const last = this.attempts.findLast(({ intended }) => intended === settled.intended);
    const at = this.sentAt(settled);
    return this.happened.sent.filter((one) => one.at === at && one.digest === last?.entry.data.digest);
  }

  /** Every order, as its run's journal has it. */
  bookOrders(): readonly TrackedOrder[] {
    return this.happened.runs.flatMap(({ tracker }) => tracker.orders());
  }

  /** The state of an order in the journal of its run. */
  orderOf(clientOrderId: string): TrackedOrder | undefined {
    return this.intents.get(clientOrderId)?.run.tracker.get(clientOrderId);
  }

  /** The attempt that a request was: the last of the same. */
  attemptOf(request: Sent): Attempt | undefined {
    return this.attempts.findLast(
      ({ position, entry }) =>
        position <= request.durable &&
        `${entry.data.method} ${entry.data.path}` === request.endpoint &&
        entry.data.digest === request.digest,
    );
  }

  /** Attempts of writes of which a byte may have reached the venue, whatever their journal says. */
  listLeft(): ReadonlySet<Attempt> {
    const left = this.happened.sent.filter(
      ({ method, reply }) => method !== 'GET' && (reply?.kind !== 'failure' || reply.sent),
    );
    return new Set(left.flatMap((request) => this.attemptOf(request) ?? []));
  }

  /** Whether the answer to a request is in a journal. */
  wasWritten(request: Sent): boolean {
    const intended = this.attemptOf(request)?.intended;
    return this.settled.some((each) => each.intended === intended && each.entry.data.status !== undefined);
  }

  /** The orders of a run that reached the venue. */
  ordersOf(run: RunTold): readonly BookedOrder[] {
    return this.own.filter((order) => this.intents.get(order.client_order_id)?.run === run);
  }

  /**
   * Whether an order was shown as cancelled for an instant while another program amended it. A run that has not amended it takes
   * that for its end.
   */
  wasHidden({ id, history }: BookedOrder): boolean {
    if (!history.slice(0, -1).some(({ status }) => status === 'canceled')) return false;
    const { books, sent } = this.happened;
    const all = books.requests.filter(
      ({ method, path, params }) => `${method} ${path} ${params['order_id']}` === `PUT /orders ${id}`,
    );
    const own = sent.filter(({ endpoint, params }) => `${endpoint} ${params['order_id']}` === `PUT /orders ${id}`);
    return all.length > own.length;
  }

  /**
   * Whether a run ended when its order had, and before anything at the venue had to show what that filled last: neither the record, which
   * shows its end first there, nor the fills. Only the ledger of the account finds it. A record may be as old as the contract allows: then
   * a run that did not see the order has to say so, and one that a kill or a halt ended looks no more.
   */
  wasShownLate({ terminal, history, client_order_id: id }: BookedOrder, run: RunTold): boolean {
    const { fillLagMs = 0, readLagMs = 0, surprises: { filledLagMs = 0 } = {} } = this.happened.scenario.venue;
    const last = history.at(-1);
    const filledAt = history.find((state) => state.total_filled_size === last?.total_filled_size)?.at ?? 0;
    const endedAt = this.endOf(run);
    if (filledLagMs === 0 || !terminal || last === undefined || endedAt === undefined || last.at > endedAt)
      return false;
    if (run.entries.some((entry) => isUnseen(entry, id))) return true;
    if (readLagMs + filledLagMs <= TIMINGS.readLagMs && run.result?.outcome !== 'halted') return false;
    return filledAt + Math.min(fillLagMs, readLagMs + filledLagMs) >= endedAt;
  }

  /** When a run ended, by the venue's clock: its last end, where it was resumed after one. */
  endOf({ entries }: RunTold): number | undefined {
    const last = entries.findLast((entry) => entry.type === 'run.ended');
    return last === undefined ? undefined : this.at(last);
  }

  /** Whether a run had begun and not ended, nor given its switch up, all through a stretch of time. */
  wasUnderWay({ name, entries, shape }: RunTold, from: number, until: number): boolean {
    const { lives, unguarded } = this.happened;
    const epoch = lives.findLast(({ startedAt }) => startedAt <= from)?.epoch;
    // What its process knew and no disk had.
    if (unguarded.some((each) => each.run === name && each.epoch === epoch && each.at <= until)) return false;
    const ends = (entry: Entry) => stopsGuarding(entry, shape);
    const moves = entries.filter(
      (entry) => entry.type === 'run.started' || entry.type === 'run.resumed' || ends(entry),
    );
    const before = moves.findLast((entry) => this.at(entry) <= from);
    return (
      before !== undefined &&
      !ends(before) &&
      moves.every((entry) => !ends(entry) || this.at(entry) <= from || this.at(entry) > until)
    );
  }

  /** Whether nothing went wrong: no fault was met, no process struck, every request answered as it should be, in rows that can be read. */
  wasCalm(): boolean {
    const { lives, sent, books, killedAt, scenario, entries } = this.happened;
    return (
      lives.every(({ how }) => how === 'ended') &&
      this.happened.stops.length === 0 &&
      killedAt === undefined &&
      entries.every(({ type }) => type !== 'operator.acted') &&
      scenario.outsider === undefined &&
      (scenario.venue.tokens?.foreign ?? []).length === 0 &&
      books.requests.every(({ fault }) => fault === undefined) &&
      entries.every(({ type, data }) => type !== 'call.settled' || data.unread === undefined) &&
      // A session that has run out is refused with 401, or in words alone: then an order is looked up, which may settle nothing.
      sent.every(({ reply }) => reply?.kind === 'answer' && reply.status < 401 && !reply.body.includes('JWT_EXPIRED'))
    );
  }

  /** Whether the plain `deadman` block of a run, where there is one, alone decides when the switch is armed and renewed. */
  isSwitchOfOne(): boolean {
    const { runs, scenario } = this.happened;
    return (
      scenario.outsider === undefined &&
      runs.every(
        ({ shape }) =>
          shape.deadman?.plain !== false &&
          !/(?:^|\W)(?:dis)?arm_deadman:/.test(shape.text) &&
          Object.values(shape.runbook.calls).every(({ deadman }) => deadman === undefined),
      )
    );
  }

  /** Whether a switch was armed at the venue at a time. */
  wasArmed(at: number): boolean {
    let armed = false;
    for (const event of this.happened.books.deadman.events) {
      if (event.at > at) break;
      armed = event.event === 'armed' || event.event === 'renewed';
    }
    return armed;
  }

  /** Whether a living process could have kept the switch from firing, all through a stretch of time. */
  wasHealthy(from: number, until: number): boolean {
    const { lives, stops, sent, entries, assumedFired } = this.happened;
    // Stopped, and for what it had to make up for when it went on.
    if (stops.some((stop) => stop.from <= until && from - 2000 <= stop.until)) return false;
    const alive = lives.find(({ startedAt, endedAt }) => startedAt <= from && until <= endedAt);
    const troubles = sent.filter(
      (each) => each.at <= until && (each.repliedAt ?? Number.POSITIVE_INFINITY) >= from - 2000 && isTroubled(each),
    );
    // A run without an answer for as long as this makes no progress, and must send no heartbeat.
    const unheard = sent.filter(
      (each) => each.at <= until && (each.repliedAt ?? 0) >= from - UNHEARD_MS && hangs(each),
    );
    // One request that hangs, even a heartbeat, is no excuse; a session that is not renewed is one.
    const troubled = troubles.length > 1 || unheard.length > 1 || troubles.some((each) => !hangs(each));
    // A run that takes the switch for fired lets it fire; and with others on the address there may be no tokens for a heartbeat.
    const given =
      entries.some(
        (entry) => entry.type === 'deadman.moved' && entry.data.event === 'assumed_fired' && this.at(entry) <= until,
      ) || assumedFired.some(({ epoch, at }) => epoch === alive?.epoch && at <= until);
    return alive !== undefined && !troubled && !given && !this.hungLong(from, until) && !this.isCrowdedOut();
  }

  /** Whether the disk took nothing for so long that a run which waits for it makes no progress. */
  private hungLong(from: number, until: number): boolean {
    const { startMs, diskHangs } = this.happened.scenario;
    if (diskHangs === undefined || diskHangs.forMs < UNHEARD_MS) return false;
    const at = startMs + diskHangs.fromMs;
    return at + UNHEARD_MS <= until && from <= at + diskHangs.forMs;
  }

  /** Whether others on the address ever spend more than half the limit within a window: then tokens may be short. */
  private isCrowdedOut(): boolean {
    const { limit = 1200, windowMs = 60_000, foreign = [] } = this.happened.scenario.venue.tokens ?? {};
    let [first, used] = [0, 0];
    return foreign.some(({ afterMs, tokens }) => {
      used += tokens;
      for (; (foreign[first]?.afterMs ?? 0) <= afterMs - windowMs; first += 1) used -= foreign[first]?.tokens ?? 0;
      return used > limit / 2;
    });
  }

  /** Orders that worked at a time, of those that a reading from shortly before must have shown. */
  *listShown(at: number, readAt: number): Iterable<{ readonly id: string; readonly status: string }> {
    for (const { id, visibleAt, history } of this.happened.books.orders) {
      const now = history.filter((each) => each.at <= at).at(-1);
      if (visibleAt === undefined || visibleAt > readAt - READ_LAG_MS || now === undefined) continue;
      if (!isTerminalStatus(now.status)) yield { id, status: now.status };
    }
  }

  /** The orders that the answer to a reading shows. */
  listRows(request: Sent): readonly OrderRecord[] {
    return request.endpoint === 'GET /orders' ? (readRows(request) ?? []) : [];
  }

  /**
   * Why an order is in doubt at the end of its run although it could be known not to be at the venue; undefined where nothing shows
   * that. By what the venue answered, not by what a journal makes of it: look-ups that all found nothing, since its attempt or since
   * a person resumed the run, and pages of its market that were all read.
   */
  findProvable({ run, terms, attempts }: Intent): string | undefined {
    const { sent, lives, scenario } = this.happened;
    const { clientOrderId: id, market } = terms;
    const since = Math.max(
      ...attempts.map(({ entry }) => this.at(entry)),
      ...run.entries.flatMap((entry, index) =>
        entry.type === 'run.resumed' && run.entries[index - 1]?.type === 'run.ended' ? [this.at(entry)] : [],
      ),
    );
    const readings = sent.filter(
      ({ endpoint, at, params }) => endpoint === 'GET /orders' && at >= since && params['status'] === undefined,
    );
    const lookups = readings.filter(({ params }) => params['client_order_id'] === id);
    const pages = readings.filter(({ params }) => params['market_id'] === market && params['p_limit'] !== undefined);
    if (pages.some((page) => (readRows(page)?.length ?? PAGE_ROWS) >= PAGE_ROWS)) return undefined;
    // One that never left, or showed rows that no one can read, proves nothing either.
    const isInVain = this.settled.some(
      ({ entry, intended }) =>
        entry.run === run.name &&
        intended.data.endpoint === 'GET /orders' &&
        this.at(entry) >= since &&
        (entry.data.unread !== undefined || entry.data.kind === 'denied' || NOT_SENT.has(entry.data.failure ?? '')),
    );
    if (isInVain) return undefined;
    const nothing = lookups.filter((each) => readRows(each)?.length === 0);
    const isStruck = lives.some(({ how, endedAt }) => how !== 'ended' && endedAt >= since);
    const [first, last] = [lookups[0]?.at ?? 0, nothing.at(-1)?.at ?? 0];
    if (
      nothing.length >= TIMINGS.absenceReads &&
      !isStruck &&
      last - first > scenario.profile.ambiguityWindowMs + SLACK_MS
    )
      return `${nothing.length} look-ups found nothing, the last ${last - first} ms behind the first`;
    return nothing.length === lookups.length && !isStruck
      ? `its ${lookups.length} look-ups, if any, all found nothing`
      : undefined;
  }

  /** Readings that were confirmed, or found nothing, and asked about a client order id. */
  lookups(clientOrderId: string): readonly Settled[] {
    return this.settled.filter(
      ({ entry, intended }) =>
        (entry.data.kind === 'confirmed' || isFoundMissing(entry.data)) &&
        intended.data.endpoint === 'GET /orders' &&
        (intended.data.params as { client_order_id?: string }).client_order_id === clientOrderId,
    );
  }

  /**
   * Whether a look-up of an order was answered with other orders alone. Such an answer proves nothing (fault matrix, row 18), so at a
   * venue that ignores the ids of look-ups nothing proves an order absent that did not arrive.
   */
  wasAnsweredBeside(clientOrderId: string): boolean {
    return this.lookups(clientOrderId).some(({ entry }) => {
      const rows = (entry.data.result ?? []) as unknown as readonly OrderRecord[];
      return rows.length > 0 && rows.every((row) => row.client_order_id !== clientOrderId);
    });
  }
}

/**
 * Whether a run renews its switch no more from an entry on: one that halts, or leaves it armed, may have readings to wait for before it
 * ends. One that has halted renews nothing when it is resumed either: it only settles what is in doubt, and places nothing.
 */
export function stopsGuarding(entry: Entry, { deadman }: Shape): boolean {
  if (entry.type !== 'run.moved') return entry.type === 'run.ended';
  const { to } = entry.data;
  return to === 'halted' || to === 'settling' || (deadman?.onExit === 'leave_armed' && to.startsWith('exiting'));
}

/** A call's name is its own within its run. */
function callOf(entry: EntryOf<'call.intended' | 'call.attempted' | 'call.settled'>): string {
  return `${entry.run} ${entry.data.call}`;
}

/** How much later than the first look-up of an order the time may begin that proves its absence: for tokens, and a slow answer. */
const SLACK_MS = 30_000;

/** Why a request did not reach the venue, or was not read there: no connection, no session, no tokens. */
const NOT_SENT: ReadonlySet<string> = new Set(['transport', 'unauthorized', 'rate_limited']);

/** The orders that an answer shows; none where it says that there is no such order; undefined where it is no answer. */
function readRows({ reply }: Sent): readonly OrderRecord[] | undefined {
  if (reply?.kind !== 'answer' || reply.status >= 500) return undefined;
  try {
    const { success, error, result } = JSON.parse(reply.body) as Readonly<Record<string, unknown>>;
    if (success === true && Array.isArray(result)) return result as readonly OrderRecord[];
    return String(error).startsWith('ORDER_NOT_FOUND') ? [] : undefined;
  } catch {
    return undefined;
  }
}

/** The oldest that what GET /orders shows may be, and a commit more. */
const READ_LAG_MS = 1700;
/** The shortest time without progress after which a run sends no more heartbeats, ms. */
const UNHEARD_MS = 20_000;

function hangs({ endpoint, at, repliedAt, reply }: Sent): boolean {
  return endpoint !== 'POST /jwt' && reply?.kind === 'failure' && reply.sent && (repliedAt ?? 0) - at > 1000;
}

/** No answer, or not the one that was hoped for, or a slow one. */
function isTroubled({ at, repliedAt, reply }: Sent): boolean {
  if (repliedAt === undefined || repliedAt - at > 1000 || reply?.kind !== 'answer' || reply.status !== 200) return true;
  try {
    return (JSON.parse(reply.body) as { success?: unknown }).success !== true;
  } catch {
    return true;
  }
}

function isUnseen({ type, data }: Entry, clientOrderId: string): boolean {
  return type === 'order.alarmed' && data.alarm === 'UnseenAtEnd' && data.clientOrderId === clientOrderId;
}
