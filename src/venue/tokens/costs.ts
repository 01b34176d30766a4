/**
 * Learns the token cost of requests for which the document gives none (venue-api.md, Rate limit: "not shown"): at first the
 * profile's figure, then the change of X-RateLimit-Remaining around requests that ran alone. A cost that is too low overruns the
 * limit, one that is too high only wastes some of it. So one reading raises a cost, and only three in a row lower it, to the highest
 * cost that all three allow.
 */
import { ASSUMPTIONS } from '../assumptions.ts';
import { CATALOGUE, type Endpoint, type EndpointName } from '../catalogue.ts';

/** Readings in a row before a cost is lowered: one alone may be of a window that began anew. */
const READINGS_TO_LOWER = 3;

/** An endpoint of the catalogue or a read that the profile declares. */
export type CostedEndpoint = EndpointName | `GET ${string}`;

interface Learned {
  cost: number | undefined;
  candidate: number;
  readings: number;
}

export type SavedCosts = readonly (readonly [
  endpoint: string,
  cost: number | null,
  candidate: number,
  readings: number,
])[];

export class LearnedCosts {
  private readonly configured: Readonly<Record<string, number>>;
  private readonly learned = new Map<string, Learned>();

  /** `configured`: the profile's `rate_limit.costs` and the tokens of its declared requests. */
  constructor(configured: Readonly<Record<string, number>> = {}) {
    this.configured = configured;
  }

  /** Document, else learned, else profile. */
  costFor(endpoint: CostedEndpoint): number {
    return (
      getDocumentedCost(endpoint) ??
      this.learned.get(endpoint)?.cost ??
      this.configured[endpoint] ??
      ASSUMPTIONS.unknownCost.default
    );
  }

  /**
   * One reading of a request that ran alone: it cost `spent` tokens at least and `most` at most, because the venue may have regained
   * some meanwhile. Gives whether that decides the cost. Documented costs are not learned.
   */
  observe(endpoint: CostedEndpoint, spent: number, most: number): boolean {
    // A header that has not moved says nothing: some venues make it anew only once in a while.
    if (getDocumentedCost(endpoint) !== undefined || !Number.isSafeInteger(spent) || spent < 1) return false;
    const known = this.learned.get(endpoint) ?? { cost: undefined, candidate: 0, readings: 0 };
    this.learned.set(endpoint, known);
    const cost = this.costFor(endpoint);
    const raises = spent > cost;
    known.readings = most > cost ? 0 : known.readings + 1;
    known.candidate = known.readings === 1 ? most : Math.max(known.candidate, most);
    if (!raises && known.readings < READINGS_TO_LOWER) return false;
    known.cost = raises ? spent : known.candidate;
    known.readings = 0;
    return true;
  }

  save(): SavedCosts {
    return [...this.learned].map(([endpoint, { cost, candidate, readings }]) => [
      endpoint,
      cost ?? null,
      candidate,
      readings,
    ]);
  }

  restore(saved: SavedCosts): void {
    this.learned.clear();
    for (const [endpoint, cost, candidate, readings] of saved) {
      this.learned.set(endpoint, { cost: cost ?? undefined, candidate, readings });
    }
  }
}

function getDocumentedCost(endpoint: string): number | undefined {
  if (!Object.hasOwn(CATALOGUE, endpoint)) return undefined;
  const row: Endpoint = CATALOGUE[endpoint as EndpointName];
  return row.tokens;
}
