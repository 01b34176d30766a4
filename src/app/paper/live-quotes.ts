/**
 * The live feeds of a paper run: the reads that a profile declares, without credentials, and nothing else. The transport that
 * leads to the venue is held here alone, and refuses every request that is not a declared GET: no order of a paper run can reach
 * the venue, whatever else is wrong.
 */
import type { SystemClock } from '../../base/clock.ts';
import { type Decimal, decimal } from '../../base/decimal.ts';
import type { FeedSource } from '../../gateway/client-parts.ts';
import { exchangeOnce } from '../../gateway/exchange.ts';
import { buildDeclaredRequests, findFeed, readDecimalAt } from '../../gateway/live/declared.ts';
import type { LocalBudget } from '../../gateway/tokens/budget.ts';
import type { Transport, WireRequest } from '../../gateway/transport.ts';
import type { FeedValue } from '../../venue/port.ts';
import type { Profile } from '../../venue/profile/profile.ts';

/** An answer serves all feeds that read it for this long, ms. */
const FRESH_MS = 1000;

interface Answer {
  /** When it was requested, epoch ms. */
  readonly at: number;
  readonly result: Promise<unknown>;
}

export interface QuoteParts {
  readonly profile: Profile;
  readonly clock: SystemClock;
  readonly budget: LocalBudget;
  /** To the venue. */
  readonly transport: Pick<Transport, 'send'>;
}

export class LiveQuotes implements FeedSource {
  private readonly parts: QuoteParts;
  private readonly transport: Pick<Transport, 'send'>;
  private readonly answers = new Map<string, Answer>();

  constructor(parts: QuoteParts) {
    this.parts = parts;
    this.transport = allowReadsAlone(parts.transport, parts.profile);
  }

  async read(name: string, key: string | undefined): Promise<FeedValue | undefined> {
    const feed = findFeed(this.parts.profile, name, key);
    if (feed === undefined) return undefined;
    const { at, result } = this.request(feed.request, feed.params);
    const value = readDecimalAt(await result, feed.read);
    return value === undefined ? undefined : { name, ...(key === undefined ? {} : { key }), value, at };
  }

  /** The price of a market by a feed of the profile; undefined where it cannot be read. */
  async readPrice(feed: string, market: string): Promise<Decimal | undefined> {
    const value = await this.read(feed, market);
    return value === undefined ? undefined : decimal(value.value);
  }

  private request(name: string, params: Readonly<Record<string, string>>): Answer {
    const id = JSON.stringify([name, params]);
    const { clock } = this.parts;
    const known = this.answers.get(id);
    if (known !== undefined && clock.now() - known.at < FRESH_MS) return known;
    const answer = { at: clock.now(), result: this.exchange(name, params) };
    this.answers.set(id, answer);
    return answer;
  }

  private async exchange(name: string, params: Readonly<Record<string, string>>): Promise<unknown> {
    const { profile, clock, budget } = this.parts;
    const exchange = buildDeclaredRequests(profile)(name, params);
    if ('problem' in exchange) return undefined;
    const exchanged = await exchangeOnce({ clock, budget, transport: this.transport }, exchange);
    return exchanged.kind === 'answered' && exchanged.verdict.kind === 'confirmed'
      ? exchanged.verdict.result
      : undefined;
  }
}

/** Passes on the declared reads alone; anything else is an internal error and is not sent. */
export function allowReadsAlone(
  inner: Pick<Transport, 'send'>,
  profile: Pick<Profile, 'requests'>,
): Pick<Transport, 'send'> {
  const paths = new Set(Object.values(profile.requests).map(({ path }) => path));
  return {
    send(request: WireRequest, options) {
      if (request.method !== 'GET' || !paths.has(request.path))
        throw new Error(`a paper run sends no ${request.method} ${request.path} to the venue`);
      return inner.send(request, options);
    },
  };
}
