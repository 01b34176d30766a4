/**
 * Takes every order of an account away, and believes it only when the venue shows, for a while, none that could still fill:
 * cancel_all, read back, and again. Orders that outlive two of them are cancelled one by one. An order that was on its way
 * when the first cancel_all came is one of them (fault-matrix.md, row 36). `runbook kill` and the step `cancel_all` differ in
 * how long they insist, and in nothing else.
 */
import type { EndpointName, Params, Result } from '../venue/catalogue.ts';
import { isTerminalStatus, type OrderRecord } from '../venue/records.ts';

/** What was answered; anything but `confirmed` is no answer, with what is to be said of it. */
export type SweepAnswer<E extends EndpointName> =
  | { readonly kind: 'confirmed'; readonly result: Result<E> }
  | { readonly kind: 'no answer'; readonly why: string };

export interface SweptVenue {
  ask<E extends EndpointName>(name: E, params: Params<E>): Promise<SweepAnswer<E>>;
  /** Epoch ms, for how far back orders are listed. */
  now(): number;
  /** Ms that only grow. */
  monotonic(): number;
  pause(ms: number): Promise<void>;
  /** Told how many orders are left, after each reading. */
  progress?(left: number): void;
}

export interface Swept {
  /** Orders that could still fill when nothing changed any more, as last read; undefined where no reading was ever whole. */
  readonly left: readonly OrderRecord[] | undefined;
  /** Cancel_alls that were sent, and readings that were begun. */
  readonly cancels: number;
  readonly readings: number;
  /** Of the last request that got no answer, or was refused, where something is left: why. */
  readonly because?: string;
}

export interface SweepBounds {
  /** How long nothing must have been left before that is believed, ms. */
  readonly quietMs: number;
  /** Within that time, how often it is looked, ms. */
  readonly lookEveryMs: number;
  /** How long it goes on without any progress before a person is told, ms. */
  readonly patienceMs: number;
  readonly mostReadings: number;
  /** Of the whole list, which alone shows statuses that nobody knows: an account with more orders than this has its newest read. */
  readonly mostPages: number;
  /** Orders that are cancelled one by one in a round, where cancel_all did not take them. */
  readonly byThemselves: number;
}

/**
 * `runbook kill`: nothing waits for it, and a person believes what it says. So it outlasts whatever had left a process when
 * the switch was engaged (budget.md, In-transit limit): an order that comes behind "nothing is left" is watched by nobody.
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
 * The step `cancel_all`: steps wait behind it that close a position, and new orders of every run of the account. Longer would
 * make the position the larger danger; shorter would not outlast an order that was on its way.
 */
export const STEP_SWEEP: SweepBounds = {
  quietMs: 3_000,
  lookEveryMs: 3_000,
  patienceMs: 30_000,
  mostReadings: 8,
  mostPages: 1,
  byThemselves: 20,
};

/** Orders older than this are not looked for. */
const LOOK_BACK_MS = 90 * 86_400_000;
/** Statuses under which an order can still fill. The venue filters by these; what it calls otherwise only the whole list shows. */
const LIVE_STATUSES = ['open', 'processing', 'amending', 'canceling', 'cancelingall'] as const;
const PAGE_ROWS = 1000;
/** Cancel_alls that an order has outlived before it is cancelled by itself. */
const OUTLIVED = 2;

export async function sweep(venue: SweptVenue, bounds: SweepBounds): Promise<Swept> {
  let left: readonly OrderRecord[] | undefined;
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
    const found = await stillLive({ ...venue, ask }, bounds.mostPages);
    if (found !== undefined) {
      venue.progress?.(found.length);
      left = found;
      // Whoever goes on placing orders must not keep this from ending: only fewer than ever is progress.
      if (left.length < least) progressAt = readAt;
      least = Math.min(least, left.length);
      emptySince = left.length > 0 ? undefined : (emptySince ?? readAt);
      // The reading that ends it was begun after the quiet, so nothing on its way at the start is missed.
      if (emptySince !== undefined && readAt - emptySince >= bounds.quietMs)
        return { left: [], cancels, readings: readings + 1 };
      if (cancels > OUTLIVED) {
        for (const { id, market_id } of found.slice(0, bounds.byThemselves))
          await ask('DELETE /orders', { order_id: id, market_id });
      }
    }
    if (readings + 1 === bounds.mostReadings) continue;
    await venue.pause(emptySince === undefined ? Math.min(2000, 250 * 2 ** Math.min(readings, 3)) : bounds.lookEveryMs);
  }
  return { left, cancels, readings, ...(because === undefined ? {} : { because }) };
}

/** Orders that could still fill, those of the first status that has any; undefined where a reading got no answer. The whole list is read once no status has. */
async function stillLive(
  venue: Pick<SweptVenue, 'ask' | 'now'>,
  mostPages: number,
): Promise<readonly OrderRecord[] | undefined> {
  const start_time = (venue.now() - LOOK_BACK_MS) * 1000;
  const found = new Map<string, OrderRecord>();
  const take = (records: readonly OrderRecord[]) => {
    for (const record of records) if (!isTerminalStatus(record.status)) found.set(record.id, record);
  };
  for (const status of LIVE_STATUSES) {
    const listed = await venue.ask('GET /orders', { status, start_time, p_limit: PAGE_ROWS });
    if (listed.kind !== 'confirmed') return undefined;
    take(listed.result);
    if (found.size > 0) return [...found.values()];
  }
  for (let p_page = 0; p_page < mostPages; p_page += 1) {
    const listed = await venue.ask('GET /orders', { start_time, p_limit: PAGE_ROWS, p_page });
    if (listed.kind !== 'confirmed') return undefined;
    take(listed.result);
    if (listed.result.length < PAGE_ROWS) break;
  }
  return [...found.values()];
}
