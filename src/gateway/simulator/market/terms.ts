/** Checks the terms of an order. Wrong terms are refused at once; all other reasons show only in the outcome of the order. */
import { decimal, formatDecimal } from '../../../base/decimal.ts';
import type { Params } from '../../../venue/catalogue.ts';
import type { SurprisesConfig } from '../config/settings.ts';
import type { Market } from './matching.ts';
import { VenueError } from './request.ts';

/** Throws a VenueError if the order's type needs other parameters, or if its prices or size are off the market's steps. */
export function checkTerms(params: Params<'POST /orders'>, market: Market, surprises: SurprisesConfig): void {
  const { type } = params;
  const isFraction = type === 'stop_loss' || type === 'take_profit';
  const needs = (name: 'price' | 'trigger_price') => {
    if (params[name] === undefined)
      throw new VenueError('MISSING_PARAMETER', `${name} is required for a ${type} order`);
  };
  if (type === 'limit' || type === 'stop_limit' || isFraction) needs('price');
  if (type === 'market' && surprises.marketWithoutPrice === 'refuse') needs('price');
  if (type !== 'limit' && type !== 'market') {
    needs('trigger_price');
  } else if (params.trigger_price !== undefined) {
    throw new VenueError('INVALID_PARAMETER', `a ${type} order has no trigger_price`);
  }
  checkSteps(params, isFraction, market, surprises);
}

/** Throws a VenueError for a price off the tick, or a size off the lot, below the minimum or above the whole position. */
export function checkSteps(
  terms: Pick<Params<'POST /orders'>, 'price' | 'trigger_price'> & { readonly size?: string | undefined },
  isFraction: boolean,
  market: Market,
  surprises: SurprisesConfig,
): void {
  const strict = surprises.offStep === 'refuse';
  for (const text of [terms.price, terms.trigger_price]) {
    if (strict && text !== undefined && !decimal(text).mod(market.grid.tick).isZero()) {
      throw new VenueError('INVALID_PRICE', `${text} is not a multiple of the tick ${formatDecimal(market.grid.tick)}`);
    }
  }
  if (terms.size === undefined) return;
  const size = decimal(terms.size);
  if (isFraction) {
    if (size.greaterThan(1)) throw new VenueError('INVALID_SIZE', `${terms.size} is more than the whole position`);
  } else if (strict && !size.mod(market.lot).isZero()) {
    throw new VenueError('INVALID_SIZE', `${terms.size} is not a multiple of the lot ${formatDecimal(market.lot)}`);
  } else if (size.lessThan(market.minSize)) {
    throw new VenueError('INVALID_SIZE', `${terms.size} is below the smallest size ${formatDecimal(market.minSize)}`);
  }
}
