/**
 * Cancels every order of an account, and ends only when the venue has shown for a while no order that could still fill:
 * cancel_all, read back, again. Orders that outlive two of them are cancelled one by one; an order in transit during the first
 * cancel_all may be one of these (fault-matrix.md, row 36). `runbook kill` and the step `cancel_all` differ only in their bounds.
 */
import type { EndpointName, Params, Result } from '../venue/catalogue.ts';
import { SWEEP_CANCELS, SWEEP_READINGS } from '../venue/order/polling.ts';
import { LIVE_STATUSES, makeAccountOrderParams, makeCancelParams } from '../venue/order/requests.ts';
import { Pages } from '../venue/pages.ts';
import type { UnreadOrder } from '../venue/port.ts';
import { isTerminalStatus, type OrderRecord } from '../venue/records.ts';

/** An answer of the venue. All but `confirmed` counts as no answer, with the reason for people. */
export type SweepAnswer<E extends EndpointName> =
  | { readonly kind: 'confirmed'; readonly result: Result<E>; readonly unread?: readonly UnreadOrder[] }
  | { readonly kind: 'no answer'; readonly why: string };

export interface SweptVenue {
  ask<E extends EndpointName>(name: E, params: Params<E>): Promise<SweepAnswer<E>>;
  /** Epoch ms, for how far back orders are listed. */
  now(): number;
  /** Monotonic ms. */
  monotonic(): number;
  pause(ms: number): Promise<void>;
  /** Called after each reading with the number of orders left. */
  progress?(left: number): void;
}

export interface Swept {
  /** Orders that could still fill at the end, as last read; undefined where no reading was complete. */
  readonly left: readonly OrderRecord[] | undefined;
  /** Rows of that reading that cannot be read, and that may be orders that could still fill. */
  readonly unread: readonly UnreadOrder[];
  /** Number of cancel_all requests sent, and of readings begun. */
  readonly cancels: number;
  readonly readings: number;
  /** The reason of the last request that got no answer or was refused, where orders are left. */
  readonly because?: string;
}

export interface SweepBounds {
  /** How long no order must have been left before the sweep ends, ms. */
  readonly quietMs: number;
  /** Pause between readings within that time, ms. */
  readonly lookEveryMs: number;
  /** How long the sweep continues without progress, ms. */
  readonly patienceMs: number;
  readonly mostReadings: number;
  /** Most pages of the whole list, which alone shows unknown statuses; of more orders only the newest are read. */
  readonly mostPages: number;
  /** Most orders that are cancelled one by one in a round, where cancel_all left them. */
  readonly byThemselves: number;
}

/**
 * `runbook kill`: no step waits for it, and a person relies on its answer. So it outlasts every request in transit when the switch
 * was engaged (budget.md, In-transit limit): no process would watch an order that arrives after "nothing is left".
 */
export const KILL_SWEEP: SweepBounds = {
  quietMs: 10_000,
  lookEveryMs: 2_500,
  patienceMs: 120_000,
  mostReadings: Number.POSITIVE_INFINITY,
  mostPages: 20,
  byThemselves: 50,
};

/**
 * The step `cancel_all`: steps that close a position wait for it, and so do new orders of every run of the account. If it took
 * longer, the open position would be the larger risk; if shorter, it would not outlast an order in transit.
 */
export const STEP_SWEEP: SweepBounds = {
  quietMs: 3_000,
  lookEveryMs: 3_000,
  patienceMs: 30_000,
  mostReadings: SWEEP_READINGS,
  mostPages: 1,
  byThemselves: SWEEP_CANCELS,
};

/** Older orders are not listed, ms. */
const LOOK_BACK_MS = 90 * 86_400_000;
/** An order that has outlived this many cancel_alls is cancelled by itself. */
const OUTLIVED = 2;

export async function sweep(venue: SweptVenue, bounds: SweepBounds): Promise<Swept> {
  let left: readonly OrderRecord[] | undefined;
  let unread: readonly UnreadOrder[] = [];
  let because: string | undefined;
  let least = Number.POSITIVE_INFINITY;
  let progressAt = venue.monotonic();
  let emptySince: number | undefined;
  let cancels = 0;
  let readings = 0;
  const ask: SweptVenue['ask'] = async (name, params) => {
    const answer = await venue.ask(name, params);
    if (answer.kind !== 'confirmed') because = answer.why;
    return answer;
  };
  for (; readings < bounds.mostReadings && venue.monotonic() - progressAt < bounds.patienceMs; readings += 1) {
    if (emptySince === undefined) {
      await ask('DELETE /orders/cancel_all', {});
      cancels += 1;
    }
    const readAt = venue.monotonic();
    const found = await readLive({ ...venue, ask }, bounds.mostPages);
    if (found !== undefined) {
      const count = found.left.length + found.unread.length;
      venue.progress?.(count);
      ({ left, unread } = found);
      // Another client that keeps placing orders must not prolong the sweep: only a new minimum is progress.
      if (count < least) progressAt = readAt;
      least = Math.min(least, count);
      emptySince = count > 0 ? undefined : (emptySince ?? readAt);
      // The reading that ends the sweep begins after the quiet time, so an order in transit at the start is seen.
      if (emptySince !== undefined && readAt - emptySince >= bounds.quietMs)
        return { left: [], unread: [], cancels, readings: readings + 1 };
      if (cancels > OUTLIVED) {
        for (const { market, venueId } of listNamed(found).slice(0, bounds.byThemselves))
          await ask('DELETE /orders', makeCancelParams<never>({ market, venueId, clientOrderId: '' }));
      }
    }
    if (readings + 1 === bounds.mostReadings) continue;
    await venue.pause(emptySince === undefined ? Math.min(2000, 250 * 2 ** Math.min(readings, 3)) : bounds.lookEveryMs);
  }
  return { left, unread, cancels, readings, ...(because === undefined ? {} : { because }) };
}

type Live = { readonly left: readonly OrderRecord[] } & Pick<Swept, 'unread'>;

/** Names of the orders that can be cancelled one by one. */
function listNamed({ left, unread }: Live): readonly { readonly market: string; readonly venueId: string }[] {
  const odd = unread.flatMap(({ orderId: venueId, market }) =>
    venueId === undefined || market === undefined ? [] : [{ market, venueId }],
  );
  return [...left.map(({ market_id: market, id: venueId }) => ({ market, venueId })), ...odd];
}

/** Reads the orders that could still fill: of the first status that has any, else of the whole list. Undefined without an answer. */
async function readLive(venue: Pick<SweptVenue, 'ask' | 'now'>, mostPages: number): Promise<Live | undefined> {
  const since = (venue.now() - LOOK_BACK_MS) * 1000;
  const found = new Map<string, OrderRecord>();
  const odd = new Map<string, UnreadOrder>();
  const take = (records: readonly OrderRecord[], unread: readonly UnreadOrder[] = []) => {
    for (const record of records) if (!isTerminalStatus(record.status)) found.set(record.id, record);
    for (const row of unread)
      if (!isTerminalStatus(row.status ?? '')) odd.set(row.orderId ?? `unnamed ${odd.size}`, row);
  };
  const getLive = (): Live => ({ left: [...found.values()], unread: [...odd.values()] });
  for (const status of LIVE_STATUSES) {
    const listed = await venue.ask('GET /orders', makeAccountOrderParams<never>(since, { status }));
    if (listed.kind !== 'confirmed') return undefined;
    take(listed.result, listed.unread);
    if (found.size + odd.size > 0) return getLive();
  }
  // A venue that ignores the number of a page still lists what is older than a time.
  for (let read = 0, until = Number.POSITIVE_INFINITY; ; ) {
    const list = new Pages<OrderRecord>(read === 0 ? mostPages : 1);
    for (let page = 0, more = true; more; page += 1) {
      const at = { page, ...(Number.isFinite(until) ? { until } : {}) };
      const listed = await venue.ask('GET /orders', makeAccountOrderParams<never>(since, at));
      if (listed.kind !== 'confirmed') return undefined;
      take(listed.result, listed.unread);
      more = list.take(listed.result, listed.unread?.length);
      read += 1;
    }
    const oldest = list.rows.reduce((least, { timestamp }) => Math.min(least, timestamp), Number.POSITIVE_INFINITY);
    if (list.cut === undefined || read >= mostPages || !(oldest < until)) return getLive();
    until = oldest;
  }
}
