/**
 * Takes every order of an account away, and believes it only when the venue shows, for a while, none that could still fill:
 * cancel_all, read back, and again. Orders that outlive two of them are cancelled one by one.
 */
import type { Clock, Metronome } from '../base/clock.ts';
import type { EndpointName, Params } from '../venue/catalogue.ts';
import { isTerminalStatus, type OrderRecord } from '../venue/records.ts';
import type { Asked } from './asking.ts';

export interface SweptVenue {
  readonly clock: Clock & Metronome;
  ask<E extends EndpointName>(name: E, params: Params<E>): Promise<Asked<E>>;
  /** Told how many orders are left, after each reading. */
  progress(left: number): void;
}

/** `left`: orders that could still fill when nothing changed any more; undefined where no reading was ever whole. */
export interface Swept {
  readonly left: number | undefined;
}

/** How long nothing must have been left before that is believed, ms. */
const QUIET_MS = 3_000;
/** How long it goes on without any progress before a person is told, ms. */
const PATIENCE_MS = 120_000;
/** Orders older than this are not looked for. */
const LOOK_BACK_MS = 90 * 86_400_000;
/** Statuses under which an order can still fill. The venue filters by these; what it calls otherwise only the whole list shows. */
const LIVE = ['open', 'processing', 'amending', 'canceling', 'cancelingall'] as const;
const PAGE_ROWS = 1000;
/** An account with more orders than this in the time looked at has only its newest ones read whole. */
const MOST_PAGES = 20;
/** Cancel_alls that an order has outlived before it is cancelled by itself, and how many of them in one round. */
const OUTLIVED = 2;
const BY_THEMSELVES = 50;

export async function sweep(venue: SweptVenue): Promise<Swept> {
  const { clock } = venue;
  let left: number | undefined;
  let least = Number.POSITIVE_INFINITY;
  let progressAt = clock.monotonic();
  let emptySince: number | undefined;
  for (let round = 0; clock.monotonic() - progressAt < PATIENCE_MS; round += 1) {
    if (emptySince === undefined) await venue.ask('DELETE /orders/cancel_all', {});
    const readAt = clock.monotonic();
    const found = await stillLive(venue);
    if (found !== undefined) {
      venue.progress(found.length);
      left = found.length;
      // Whoever goes on placing orders must not keep this from ending: only fewer than ever is progress.
      if (left < least) progressAt = readAt;
      least = Math.min(least, left);
      emptySince = left > 0 ? undefined : (emptySince ?? readAt);
      // The reading that ends it was begun after the quiet, so nothing on its way at the start is missed.
      if (emptySince !== undefined && readAt - emptySince >= QUIET_MS) return { left: 0 };
      if (round >= OUTLIVED) {
        for (const { id, market_id } of found.slice(0, BY_THEMSELVES))
          await venue.ask('DELETE /orders', { order_id: id, market_id });
      }
    }
    const pauseMs = emptySince === undefined ? Math.min(2000, 250 * 2 ** Math.min(round, 3)) : 1000;
    await new Promise<void>((resolve) => void clock.after(pauseMs, resolve));
  }
  return { left };
}

/** Orders that could still fill, those of the first status that has any; undefined where a reading got no answer. The whole list is read once no status has. */
async function stillLive(venue: SweptVenue): Promise<readonly OrderRecord[] | undefined> {
  const start_time = (venue.clock.now() - LOOK_BACK_MS) * 1000;
  const found = new Map<string, OrderRecord>();
  const take = (records: readonly OrderRecord[]) => {
    for (const record of records) if (!isTerminalStatus(record.status)) found.set(record.id, record);
  };
  for (const status of LIVE) {
    const listed = await venue.ask('GET /orders', { status, start_time, p_limit: PAGE_ROWS });
    if (listed.kind !== 'confirmed') return undefined;
    take(listed.result);
    if (found.size > 0) return [...found.values()];
  }
  for (let p_page = 0; p_page < MOST_PAGES; p_page += 1) {
    const listed = await venue.ask('GET /orders', { start_time, p_limit: PAGE_ROWS, p_page });
    if (listed.kind !== 'confirmed') return undefined;
    take(listed.result);
    if (listed.result.length < PAGE_ROWS) break;
  }
  return [...found.values()];
}
