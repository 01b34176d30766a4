/**
 * Reads the price feed of a market for the limits, before an order is checked that only the market's price can measure. Orders
 * that are checked meanwhile share the reading. An order does not wait long for it: without a price it is measured by its own.
 */
import type { VenueCall } from '../venue/port.ts';
import type { ClientParts } from './client-parts.ts';

/** How long an order waits at most for the tokens of the reading, and then for its answer, ms. */
const WAIT_MS = 5_000;

export class MarketPriceReader {
  private readonly parts: Pick<ClientParts, 'gate' | 'feeds' | 'log' | 'clock'>;
  private readonly inProgress = new Map<string, Promise<void>>();

  constructor(parts: Pick<ClientParts, 'gate' | 'feeds' | 'log' | 'clock'>) {
    this.parts = parts;
  }

  /** Resolves when the reading is in the journal, whether or not it gave a price. */
  read(market: string, call: Pick<VenueCall, 'step' | 'class'>): Promise<void> {
    const known = this.inProgress.get(market);
    if (known !== undefined) return known;
    const reading = this.request(market, call).finally(() => this.inProgress.delete(market));
    this.inProgress.set(market, reading);
    return reading;
  }

  private async request(market: string, { step, class: urgency }: Pick<VenueCall, 'step' | 'class'>): Promise<void> {
    const { gate, feeds, log, clock } = this.parts;
    const name = gate.priceFeed;
    if (name === undefined) return;
    const read = await feeds.read(name, market, step, { class: urgency, withinMs: WAIT_MS });
    // In a turn of its own, as every arrival from outside.
    await new Promise<void>((resolve) => clock.arrive(resolve));
    const found = read === undefined ? {} : { value: read.value, at: read.at };
    log.append(
      'feed.read',
      { call: `${step}#limits:${name}:${market}`, name, key: market, ...found, by: 'limits' },
      step,
    );
  }
}
