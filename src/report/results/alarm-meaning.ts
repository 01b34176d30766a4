/**
 * Says what to do about each alarm of a run, for the trader who reads it at night; `runbook explain` and the reference print it. The
 * compiler asks for a row of each name.
 */
import { mapFields } from '../../base/json.ts';
import { ORDER_ALARMS, type OrderAlarmName } from '../../venue/order/context.ts';
import type { OtherAlarmName } from './alarms.ts';

const OTHER_ALARMS = {
  Undelivered: 'a message of the run reached no one; the text beside it says why',
  LeftByCancelAll: 'an order that `cancel_all` was to cancel could still fill',
  LateOrderOfEarlierRun:
    'the venue shows an order of an earlier run otherwise than the journal of that run has it last',
} as const satisfies Record<OtherAlarmName, string>;

type AlarmName = OrderAlarmName | OtherAlarmName;

export interface AlarmRow {
  /** A situation that raises it. */
  readonly example: string;
  /** What to do now. */
  readonly now: string;
}

/** Where to begin with an order that surprises. */
const HISTORY = '`runbook audit show RUN --order ID` shows its history';

const ALARM_ROWS = {
  LateFill: {
    example: 'an order was cancelled with nothing filled, and a minute later the list of fills has 0.1 of it',
    now: `look at the position at the venue and at its stop: what filled counts, and no step may have protected it; ${HISTORY}`,
  },
  Overfill: {
    example: 'an order of 1 has fills of 1.2',
    now: 'look at the position at the venue and close what is too much; `runbook kill --profile FILE --by NAME` holds everything back until the venue has explained it',
  },
  RejectedWithFill: {
    example: 'the venue shows an order as rejected, and has a fill of it',
    now: 'look at the position at the venue: it has the fill; protect or close it',
  },
  LateOrder: {
    example: 'an order was shown as canceled, and is open in the next answer',
    now: `look whether it still works at the venue, and cancel it there if it should not; ${HISTORY}`,
  },
  Reappeared: {
    example: 'five look-ups found nothing of an order, and then it is open',
    now: 'look at it and at the position at the venue: a retry may have placed a second one; cancel what should not be there',
  },
  RefusedOrderFound: {
    example: 'the answer is SYSTEM_BUSY, and the look-up shows the order open',
    now: 'nothing, where the run goes on: it keeps or cancels the order, as the detail says; otherwise look it up at the venue',
  },
  EarlierTerms: {
    example: 'a retry finds the order of the attempt before, at an older price',
    now: 'nothing at once: there is one order, with the earlier terms; amend or cancel it if those are wrong now',
  },
  StopKept: {
    example: 'an exit failed behind a `cancel` of its stop that the venue had refused',
    now: 'nothing is bare: the stop goes on working at the venue. Close the position there or by a run, then cancel the stop: it would close what a later run opens',
  },
  UnseenAtEnd: {
    example: 'the venue answered no look-up while the run ended',
    now: 'look it up at the venue by its client order id, and cancel it if it still works; then look at the position',
  },
  StopNotTightened: {
    example: 'the venue refused the tighter stop of a `manage` that trails',
    now: 'nothing at once: the earlier stop still covers the position. Look at the refusal if it comes again',
  },
  StopNotPutBack: {
    example: 'the market exit of a `close` failed, and the venue refused the stop that was to be placed again',
    now: 'place a stop at the venue by hand, or close the position there, before anything else',
  },
  StopClosedMore: {
    example: 'two runs hold BTC-USD in one account, and the stop of one triggers',
    now: 'look at the position at the venue: other runs may hold less than they count; end them with `runbook cancel RUN --by NAME`, and give each an account or one `concurrency.key`',
  },
  ClosedByOthers: {
    example: 'a person closed the position at the venue while its stop ended, and `close` came afterwards',
    now: 'look at the position at the venue: what is left of it has no stop of this run; close or protect it by hand, then `runbook account reconcile`',
  },
  SelfMatchPossible: {
    example: 'a `close` sells while a bid of another run rests above its price',
    now: 'nothing: the exit was worth more; look at the other order if it should not rest there',
  },
  ExternalChange: {
    example: 'a person changed the price of the order on the page of the venue',
    now: 'find out who did it; end the run with `runbook cancel RUN --by NAME` before you change its orders by hand',
  },
  ExternalAction: {
    example: 'the health of the account fell, and the venue closed the position',
    now: 'look at the equity and the position of the account at the venue, and at the other markets: they may be next',
  },
  AmendLost: {
    example: 'the venue acknowledged an amend to 64000, and the order rests at 63900',
    now: `look at its price at the venue; the run counts the old terms. ${HISTORY}`,
  },
  CancelLost: {
    example: 'the venue acknowledged a cancel, and the order is open a minute later',
    now: 'cancel it at the venue by hand, and look whether it has filled meanwhile',
  },
  FillCorrected: {
    example: 'a fill of 0.1 is shown as 0.2 in the next list',
    now: 'compare the fills with those of the venue: `runbook audit reconcile RUN`',
  },
  FillsIncomplete: {
    example: 'the record says 1 filled, and after a minute the list of fills has 0.9',
    now: 'compare the fills with those of the venue: `runbook audit reconcile RUN`; the average price is not known',
  },
  DuplicateOrder: {
    example: 'the venue lists two orders with one client order id',
    now: 'look at both at the venue: one of them is too many. Cancel it there, or close what it filled',
  },
  UnknownStatus: {
    example: 'the venue shows the status `suspended`',
    now: 'look at the order at the venue; the run waits as if it could still fill. Report the word: this version does not know it',
  },
  Contradiction: {
    example: 'one answer shows 0.5 filled, and the next 0.3',
    now: `believe the venue's own page; ${HISTORY} with both answers`,
  },
  Quarantined: {
    example: 'an order had no answer, and neither had any look-up',
    now: 'look it up at the venue by its client order id, and see to the stop of the position; then `runbook resume RUN`, which looks it up again',
  },
  Undelivered: {
    example: 'the webhook of the channel `ops` answered with HTTP 503 four times',
    now: 'read the message in `runbook audit show RUN`; then `runbook doctor --profile FILE --notify` tests the channel',
  },
  LeftByCancelAll: {
    example: 'an order was placed by hand while `cancel_all` was on its way',
    now: 'look at the open orders at the venue, and cancel it there',
  },
  LateOrderOfEarlierRun: {
    example: 'a run ended with an order that was proven absent, and the next run finds it open',
    now: 'look at the order and at the position at the venue: no run watches it. Cancel it, or close what it filled',
  },
} as const satisfies Record<AlarmName, AlarmRow>;

/** By its name: what it means, a situation, what to do now. */
export const ALARM_MEANINGS = mapFields({ ...ORDER_ALARMS, ...OTHER_ALARMS }, (summary, name) => ({
  summary,
  ...ALARM_ROWS[name as AlarmName],
}));
