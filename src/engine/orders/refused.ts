/**
 * Watches orders that the venue refused in words that decide nothing. The step fails after the first look-up, but the watch
 * belongs to the run: it goes on until the order is found or proven absent. A second order of the same intent waits for it; an
 * order that appears is adopted by that attempt, and cancelled where none waits. Believing the refusal would leave an order that
 * is not watched, beside a second one.
 */
import type { TrackedOrder } from '../../journal/orders.ts';
import { TIMINGS } from '../../venue/order/context.ts';
import type { OrderTerms } from '../../venue/port.ts';
import { Cancellation } from '../interruption.ts';
import { makeInternalRequest, type OrderManagerParts } from '../readings/parts.ts';
import { createSignal, type Signal, waitFor } from '../waiting.ts';
import type { Cancelling } from './cancel.ts';
import type { Resolution } from './resolution.ts';

/** Found or not, or why that is not known. */
type Look = { readonly found: boolean } | { readonly error: unknown };

interface Watched {
  /** Resolves with the first look-up that got an answer. */
  readonly looked: Signal<Look>;
  /** Resolves when the order is found or proven absent, before one that no attempt waits for is cancelled. */
  readonly decided: Signal<Look>;
  /** Resolves when nothing of it is left to do. */
  over: Promise<unknown>;
  /** Attempts that wait for the order. */
  wanted: number;
  isDecided: boolean;
}

export class RefusedOrders {
  private readonly run: OrderManagerParts;
  private readonly resolution: Resolution;
  private readonly cancelling: Cancelling;
  private readonly watches = new Map<TrackedOrder, Watched>();

  constructor(run: OrderManagerParts, resolution: Resolution, cancelling: Cancelling) {
    this.run = run;
    this.resolution = resolution;
    this.cancelling = cancelling;
  }

  /** Begins to watch an order; true where its first look-up finds it. Throws Halt where its fate stays unknown. */
  async begin(order: TrackedOrder, step: string, cancel: Cancellation): Promise<boolean> {
    const watched: Watched = {
      looked: createSignal(),
      decided: createSignal(),
      over: Promise.resolve(),
      wanted: 0,
      isDecided: false,
    };
    this.watches.set(order, watched);
    watched.over = this.watch(order, step, watched).catch((error: unknown) => error);
    return this.await(watched, watched.looked, cancel);
  }

  /** Whether it is not known yet whether the order is at the venue. */
  isOpen(order: TrackedOrder): boolean {
    return this.watches.get(order)?.isDecided === false;
  }

  /** Waits until an order is found, which is then the caller's, or proven absent. Throws Halt where that stays unknown. */
  async claim(order: TrackedOrder, cancel: Cancellation): Promise<boolean> {
    const watched = this.watches.get(order);
    return watched !== undefined && !watched.isDecided && (await this.await(watched, watched.decided, cancel));
  }

  /** Claims each order that `chosen` picks; gives those that are at the venue. Throws as `claim` does. */
  async claimAll(chosen: (terms: OrderTerms) => boolean, cancel: Cancellation): Promise<readonly TrackedOrder[]> {
    const orders = [...this.watches.keys()].filter((order) => chosen(order.intent));
    const found = await Promise.all(orders.map((order) => this.claim(order, cancel)));
    return orders.filter((_, index) => found[index]);
  }

  /** Waits until nothing is left to watch. Gives the error of the first watch that came to no result. */
  async settle(): Promise<unknown> {
    const errors = await Promise.all([...this.watches.values()].map(({ over }) => over));
    return errors.find((error) => error !== undefined);
  }

  private async watch(order: TrackedOrder, step: string, watched: Watched): Promise<void> {
    const { clock, heartbeat, setup, log } = this.run;
    const firstAfterMs = Math.min(TIMINGS.closedLagMs, setup.absenceHorizonMs);
    // The wait is on purpose: heartbeats go on as long as it lasts.
    heartbeat.markWaiting(`${step}#refused`, clock.now() + 2 * setup.absenceHorizonMs);
    const decide = (look: Look) => {
      watched.isDecided = true;
      watched.looked.resolve(look);
      watched.decided.resolve(look);
    };
    try {
      await this.resolution.resolve(order, step, {
        offsets: [firstAfterMs],
        looked: () => watched.looked.resolve({ found: false }),
      });
    } catch (error) {
      decide({ error });
      throw error;
    }
    const found = order.snapshot.state !== 'absent';
    const then = watched.wanted > 0 ? 'kept' : 'cancelled';
    decide({ found });
    if (!found) return;
    const { clientOrderId } = order.intent;
    const { venueId = '' } = order.snapshot.context;
    log.append(
      'order.alarmed',
      { clientOrderId, alarm: 'RefusedOrderFound', detail: { orderId: venueId, then } },
      step,
    );
    if (then === 'cancelled')
      await this.cancelling.own(order, 'terminal', makeInternalRequest(step, new Cancellation()));
  }

  private async await(watched: Watched, { promise }: Signal<Look>, cancel: Cancellation): Promise<boolean> {
    watched.wanted += 1;
    try {
      const look = await waitFor(promise, cancel);
      if ('error' in look) throw look.error;
      return look.found;
    } finally {
      watched.wanted -= 1;
    }
  }
}
