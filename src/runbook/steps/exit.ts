/**
 * The exit that `manage` and `close` share: how many orders it sends at most, and the rows of the stops that ended for it and are
 * placed again where it fails. They may be those of other steps, which alone say what they were.
 */
import { Decimal } from '../../base/decimal.ts';
import { countPosts } from '../../venue/order/polling.ts';
import { makePlaceParams, type OrderDraft } from '../../venue/order/requests.ts';
import type { Side, TimeInForce } from '../../venue/records.ts';
import type { CheckedStep, StepOf } from '../checked.ts';
import { type CallRow, call, type PlacedStop, type Values } from './row.ts';

type Closing = 'manage' | 'close';

/** How far a market order of an exit may go where its author says nothing. */
export const SLIP = new Decimal('0.01');
/** Market orders that one exit sends at most. */
export const MOST_EXITS = 5;
/** How often one stop is tried to be put back. */
export const PUT_BACK_TRIES = 3;
/** Orders that put stops back behind one exit at most, of all the stops that covered together. */
export const MOST_PUT_BACK = 2 * PUT_BACK_TRIES;

/** Orders that put so many stops back behind one exit at most. */
export function countPutBack(stops: number): number {
  return Math.min(MOST_PUT_BACK, PUT_BACK_TRIES * stops);
}

export const STOPS: readonly PlacedStop[] = [
  { type: 'stop_loss', hasPrice: true },
  { type: 'stop_limit', hasPrice: true },
  { type: 'stop_market', hasPrice: true },
  { type: 'stop_market', hasPrice: false },
];

/** The rows of the stops of other steps that are put back. `side`: that which closes. `exits`: how many the step makes at most. */
export function putStopsBack<V extends Closing>(
  verb: V,
  {
    side,
    exits,
    ...rest
  }: Pick<CallRow<V>, 'applies'> & {
    readonly side: <U>(args: StepOf<V>['args'], values: Values<U>) => Side | U;
    readonly exits: number;
  },
): readonly CallRow<V, 'POST /orders'>[] {
  return STOPS.map((ofStops) => {
    const { type, hasPrice } = ofStops;
    const draft = <U>(args: StepOf<V>['args'], values: Values<U>): OrderDraft<U> => ({
      market: values.text(args.market),
      side: side(args, values),
      type,
      size: values.later('the size of the stop before'),
      ...(hasPrice ? { price: values.later('the limit of the stop before') } : {}),
      trigger: values.later('the trigger of the stop before'),
      ...(type === 'stop_loss'
        ? {}
        : { timeInForce: values.later('the time in force of the stop before') as TimeInForce | U }),
    });
    return call(verb, 'POST /orders', {
      ...rest,
      class: 'enter',
      params: (args, values) => makePlaceParams(draft(args, values), values.placed('stop').clientOrderId),
      draft,
      leg: 'stop',
      ofStops,
      times: () => ({ min: 0, max: exits * MOST_PUT_BACK }),
      when: 'the exit is refused, and a stop is put back',
      sends: () => countPosts(false),
    });
  });
}

/** Whether a step places such a stop. */
export function placesStop(step: CheckedStep, { type, hasPrice }: PlacedStop): boolean {
  if (type === 'stop_loss')
    return (step.verb === 'protect' || step.verb === 'manage') && step.args.stopLoss !== undefined;
  return step.verb === 'place' && step.args.type === type && (step.args.price !== undefined) === hasPrice;
}
