/**
 * Switches for what venue-api.md leaves open; each value is one possible reading (venue-notes.md, Surprises). The default of each
 * follows venue-api.md, or the default of venue-notes.md.
 */
import { makeObject } from '../../../base/schema.ts';
import { FLAG, MS, standard, TEXT } from './forms.ts';

/** The first word is the default. */
const words = <const W extends readonly [string | number, ...(string | number)[]]>(of: W, description?: string) =>
  ({ enum: of, default: of[0], ...(description !== undefined && { description }) }) as const;
/** None by default. */
const span = (description: string) => standard(MS, 0, description);

export const SURPRISES = makeObject({
  stopStatus: standard(TEXT, 'open', 'status of an untriggered stop: `open`, `placed` or any other text'),
  amendFlickerMs: span(
    'surprise 4: how long an amended order shows as `canceled` before it is open with its new terms; 0: never',
  ),
  amendSize: words(
    ['total', 'remaining'],
    'surprise 5: the size of an amend is the total of the order, or what remains to be filled',
  ),
  amendInitialSize: words(['changes', 'stays'], 'surprise 5: whether an amended size changes `initial_size`'),
  iocRest: words(
    ['canceled', 'rejected'],
    'surprise 3: final status of an immediate-or-cancel order that is not completely filled',
  ),
  immediateOpenMs: span(
    'surprise 3: how long an order that never rests shows as `open`, with nothing filled, before its end; 0: never',
  ),
  filledLagMs: span('surprise 3: how long the filled size in a record of GET /orders lags behind its status; 0: never'),
  cancelAck: words(
    ['canceling', 'canceled'],
    'whether DELETE answers `canceling` and the cancel follows, or cancels at once and answers `canceled`',
  ),
  lags: words(
    ['same', 'each', 'reads'],
    'whether every order and fill is shown as late as `readLagMs` and `fillLagMs` say, or each by a time of its own up to that; `reads`: each reading by a time of its own, so that a later one may show an earlier state',
  ),
  duplicateIds: words(
    ['accept', 'refuse', 'same'],
    'surprises 8 and 11: how a second order with the same client order id is treated; `same`: answered as the first',
  ),
  missingOrder: words(
    ['empty', 'refuse'],
    'surprise 13: whether GET /orders for one order that does not exist, or is not visible yet, gives an empty list or ORDER_NOT_FOUND',
  ),
  lookups: words(
    ['exact', 'all'],
    "rows of GET /orders for one order: that order's alone, or all, as if its id had not been given",
  ),
  pages: words(['numbered', 'first'], 'whether p_page names a page, or every page is the first one'),
  errorText: words(['code', 'code_and_text', 'text'], 'surprise 12: form of the error text'),
  refusalStatus: words(
    ['by_kind', 200, 400],
    'HTTP status of refusals: 400, 401 or 404 by kind, or one status for all',
  ),
  cancelAllResult: words(['empty', 'true']),
  deadmanResult: words(['object', 'array']),
  deadmanEmpty: words(['object', 'array', 'null']),
  deadmanDelayMs: span('surprise 7: delay before the deadman switch fires'),
  cancelAllSkipsProcessing: standard(
    FLAG,
    false,
    'cancel_all and the deadman switch miss orders that are still `processing`',
  ),
  offStep: words(['refuse', 'accept'], 'how a price off the tick or a size off the lot is treated'),
  marketWithoutPrice: words(['accept', 'refuse']),
  unknownParameters: words(['refuse', 'ignore']),
  positionSizeField: words(
    ['size', 'size_percent'],
    'name of the parameter that holds the fraction of a position order; `positionTypeSuffix` is added to its type',
  ),
  positionTypeSuffix: words(['', '_limit']),
});
