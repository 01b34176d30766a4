/**
 * Learns the token cost of requests for which the document gives none (venue-api.md, Rate limit: "not shown"): at first the
 * profile's figure, then the change of X-RateLimit-Remaining around requests that ran alone. Three equal readings in a
 * row raise a cost: what another program on the address spends between two headers reads as the cost of our request. Believed at
 * once, such a reading made heartbeats so dear that the switch fired for want of tokens; meanwhile the excess counts as use by
 * others, so the limit holds. Three readings in a row lower a cost, to the highest that all three allow.
 * A reading long after the one before says less: others had time to spend. It confirms nothing, but one without an excess breaks the row.
 */
import { ASSUMPTIONS } from '../assumptions.ts';
import { CATALOGUE, type Endpoint, type EndpointName } from '../catalogue.ts';

/** Readings in a row before a cost is changed: one alone may be of a window that began anew, or of what others spent. */
const READINGS_TO_CHANGE = 3;

/** An endpoint of the catalogue or a read that the profile declares. */
export type CostedEndpoint = EndpointName | `GET ${string}`;

interface Learned {
  cost: number | undefined;
  candidate: number;
  readings: number;
  /** Tokens of the readings before, where they were equal and more than the cost, and how many they are. */
  higher: number;
  raises: number;
}

export type SavedCosts = readonly (readonly [
  endpoint: string,
  cost: number | null,
  candidate: number,
  readings: number,
  /** Absent in older texts. */
  higher?: number,
  raises?: number,
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
   * some meanwhile. `isNear`: the reading before was so short a time ago that others have hardly spent between them. Gives whether that
   * decides the cost. Documented costs are not learned.
   */
  observe(endpoint: CostedEndpoint, spent: number, most: number, isNear: boolean): boolean {
    // A header that has not moved says nothing: some venues make it anew only once in a while.
    if (getDocumentedCost(endpoint) !== undefined || !Number.isSafeInteger(spent) || spent < 1) return false;
    const known = this.learned.get(endpoint) ?? { cost: undefined, candidate: 0, readings: 0, higher: 0, raises: 0 };
    this.learned.set(endpoint, known);
    const cost = this.costFor(endpoint);
    if (!isNear) {
      if (spent <= cost) known.raises = 0;
      return false;
    }
    known.raises = spent <= cost ? 0 : spent === known.higher ? known.raises + 1 : 1;
    known.higher = spent;
    known.readings = most > cost ? 0 : known.readings + 1;
    known.candidate = known.readings === 1 ? most : Math.max(known.candidate, most);
    const isRaised = known.raises === READINGS_TO_CHANGE;
    if (!isRaised && known.readings < READINGS_TO_CHANGE) return false;
    known.cost = isRaised ? spent : known.candidate;
    known.readings = 0;
    known.raises = 0;
    return true;
  }

  save(): SavedCosts {
    return [...this.learned].map(([endpoint, { cost, candidate, readings, higher, raises }]) => [
      endpoint,
      cost ?? null,
      candidate,
      readings,
      higher,
      raises,
    ]);
  }

  restore(saved: SavedCosts): void {
    this.learned.clear();
    for (const [endpoint, cost, candidate, readings, higher = 0, raises = 0] of saved) {
      this.learned.set(endpoint, { cost: cost ?? undefined, candidate, readings, higher, raises });
    }
  }
}

function getDocumentedCost(endpoint: string): number | undefined {
  if (!Object.hasOwn(CATALOGUE, endpoint)) return undefined;
  const row: Endpoint = CATALOGUE[endpoint as EndpointName];
  return row.tokens;
}
