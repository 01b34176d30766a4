/**
 * What happened in a simulation, put in the order in which the invariants ask for it: intents with their attempts and
 * answers from the journal, orders by client order id from the venue's books, when the switch stood, when nobody was there.
 */
import type { BookedOrder } from '../../src/gateway/simulator/books.ts';
import type { EntryOf } from '../../src/journal/entry.ts';
import type { OrderTerms } from '../../src/venue/port.ts';
import type { Sent } from './road.ts';
import type { Happened } from './world.ts';

export interface Attempt {
  readonly entry: EntryOf<'call.attempted'>;
  readonly intended: EntryOf<'call.intended'>;
}

export interface Intent {
  readonly terms: OrderTerms;
  readonly step: string;
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
  readonly endedAt: number | undefined;

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
    const calls = new Map<string, EntryOf<'call.intended'>>();
    let endedAt: number | undefined;
    for (const entry of happened.entries) {
      switch (entry.type) {
        case 'call.intended': {
          calls.set(entry.data.call, entry);
          const { intent } = entry.data;
          if (intent !== undefined && !this.intents.has(intent.clientOrderId)) {
            this.intents.set(intent.clientOrderId, {
              terms: intent,
              step: entry.step,
              attempts: [],
              orders: byClientId.get(intent.clientOrderId) ?? [],
            });
          }
          break;
        }
        case 'call.attempted': {
          const intended = calls.get(entry.data.call);
          if (intended === undefined) break;
          this.attempts.push({ entry, intended });
          if (intended.data.endpoint === 'POST /orders')
            this.intents.get(intended.data.clientOrderId ?? '')?.attempts.push({ entry, intended });
          break;
        }
        case 'call.settled': {
          const intended = calls.get(entry.data.call);
          if (intended !== undefined) this.settled.push({ entry, intended });
          break;
        }
        case 'run.ended':
          endedAt = entry.at - happened.scenario.skewMs;
          break;
        default:
          break;
      }
    }
    this.endedAt = endedAt;
  }

  /** The wall clock of the processes, by the venue's. */
  venueTime(at: number): number {
    return at - this.happened.scenario.skewMs;
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
    const { lives, sent, entries, scenario } = this.happened;
    const alive = lives.some(
      ({ startedAt, endedAt, how }) => startedAt <= from && until <= endedAt && how !== 'refused by the disk',
    );
    const troubled = sent.some(
      (each) => each.at <= until && (each.repliedAt ?? Number.POSITIVE_INFINITY) >= from - 2000 && isTroubled(each),
    );
    // Whoever takes the switch for fired lets it fire; and with others on the address there may be no tokens for a beat.
    const given = entries.some(
      (entry) =>
        entry.type === 'deadman.moved' && entry.data.event === 'assumed_fired' && this.venueTime(entry.at) <= until,
    );
    return alive && !troubled && !given && (scenario.venue.tokens?.foreign ?? []).length === 0;
  }

  /** Calls of an endpoint that were confirmed, and about which client order id they asked. */
  lookups(clientOrderId: string): readonly Settled[] {
    return this.settled.filter(
      ({ entry, intended }) =>
        entry.data.kind === 'confirmed' &&
        intended.data.endpoint === 'GET /orders' &&
        (intended.data.params as { client_order_id?: string }).client_order_id === clientOrderId,
    );
  }
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
