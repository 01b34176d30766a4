/** Gives the feed of the account's position (`account.position` in expressions), beside the feeds of prices. */
import { type Decimal, formatDecimal } from '../base/decimal.ts';
import { ACCOUNT_POSITION } from '../venue/port.ts';
import type { FeedSource } from './client-parts.ts';
import type { AccountLedger } from './limits/account-ledger.ts';
import type { LimitFactsFold } from './limits/facts.ts';

/** `find`: what the account holds in a market; undefined where that is not proven. */
export function withAccountPosition(
  inner: FeedSource,
  find: (market: string) => Decimal | undefined | Promise<Decimal | undefined>,
  now: () => number,
): FeedSource {
  return {
    async read(name, key, step, need) {
      if (name !== ACCOUNT_POSITION || key === undefined) return inner.read(name, key, step, need);
      const held = await find(key);
      return held === undefined ? undefined : { name, key, value: formatDecimal(held), at: now() };
    },
  };
}

/** What the account holds in a market, over all its runs; undefined where a journal or the fills of an order are not known. */
export function findAccountPosition(
  ledger: AccountLedger,
  gates: Iterable<LimitFactsFold>,
  market: string,
  now: number,
): Decimal | undefined {
  if (ledger.findUnknown([market], now) !== undefined) return undefined;
  const held = ledger.listFilled([...gates]).get(market)?.range;
  if (!ledger.isProven(market)) return undefined;
  if (held === undefined) return ledger.book.position(market).size;
  return held.least.eq(held.most) ? held.least : undefined;
}
