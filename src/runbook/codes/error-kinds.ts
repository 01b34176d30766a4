/** Says what each error kind of a step or run means, and what to do now; `runbook explain` and the reference print it. */
import type { ErrorKind } from '../checked.ts';

interface ErrorKindRow {
  readonly summary: string;
  /** A situation in which a step fails so. */
  readonly example: string;
  /** What to do now. */
  readonly now: string;
}

export const ERROR_KIND_ROWS = {
  transport: {
    summary: 'no connection, no session, or no answer to a request that can safely be repeated',
    example: 'the network is gone for a minute, and a `read_account` gets no answer in four attempts',
    now: 'look at the position at the venue if the run ended with one; `runbook doctor --profile FILE` shows whether the venue answers, then start it again',
  },
  rate_limited: {
    summary: 'no tokens were left, in the engine or at the venue',
    example: 'two runs poll one account each second',
    now: 'wait a minute; `runbook audit budget RUN` shows who spends the tokens. Poll less often, or give the runs accounts of their own',
  },
  unknown_outcome: {
    summary: 'it is not known whether an order is at the venue; the run halts',
    example: 'a `place` got no answer, and neither did any look-up',
    now: 'look the order up at the venue by its client order id, and see to the stop of the position; then `runbook resume RUN` (docs/live.md, Exit 4)',
  },
  rejected: {
    summary: 'the venue refused the request, or rejected the order afterwards',
    example: 'the answer to a `place` is INSUFFICIENT_MARGIN',
    now: 'read the words of the venue in the message; what the run had opened before is shown as `left`. Nothing of this order works',
  },
  denied: {
    summary: 'a limit of runbook, profile or program refused the request; nothing was sent',
    example: 'an order of 2 under `max_order_size: 1`',
    now: 'the message begins with a code: `runbook explain CODE`',
  },
  not_found: {
    summary: 'the order no longer exists',
    example: 'an `amend` of an order that has filled meanwhile',
    now: 'look whether it filled, and whether that is protected; catch it: `catch: [{on: [not_found], then: continue}]`',
  },
  not_placed: {
    summary: 'the request of an order had no answer, and the order is proven not to be at the venue',
    example: 'the connection broke before the request arrived, and five look-ups find nothing',
    now: 'nothing of it works: start again. What the run had opened before is shown as `left`; see to its stop',
  },
  timeout: {
    summary: '`timeout`, `within` or an approval expired',
    example: '`wait_for: {order: entry, is: filled, within: 10m}`, and the market went away',
    now: 'look at what is left: the order is cancelled unless `undo: keep` is written. Expected time-outs have `on_timeout`',
  },
  stale_feed: {
    summary: 'a feed is older than its `max_age`, or cannot be read',
    example: 'the request that the feed is bound to fails for longer than 5s',
    now: '`runbook doctor --profile FILE` reads each feed; start again when it answers',
  },
  assertion: {
    summary: 'an `assert` or `fail` of the runbook, or an expression that cannot be evaluated',
    example: '`assert: account.health > 0.5`, and it is 0.3',
    now: 'the runbook says so itself: read its message, and the values in `runbook audit show RUN --why STEP`',
  },
  approval_rejected: {
    summary: 'a person refused',
    example: '`runbook reject RUN STEP --by NAME`',
    now: 'nothing: it was meant. `runbook audit show RUN` names who',
  },
  cancelled: {
    summary: 'the order ended before it reached the state that the step waits for',
    example: 'somebody cancels the order at the venue while a `wait_for` waits for its fill',
    now: 'look whether a part of it filled, and whether that is protected; `runbook audit orders RUN --history` shows who cancelled',
  },
  deadman_fired: {
    summary:
      'the deadman switch is assumed to have fired: its time is over, and the venue may have cancelled every open order',
    example: 'the machine slept for two minutes under a switch of 60s',
    now: 'look at the position at the venue at once: its stops may be gone. Place one there, or close it',
  },
  unprotected_position: {
    summary: 'the run, or a runbook that it called, leaves more than its `leaves` says',
    example: 'an entry filled 0.1, and the stop behind it was refused',
    now: 'place a stop at the venue by hand, or close the position there: the last lines of the run say what is left and what closes it',
  },
  internal: {
    summary: 'a mistake of this program; it cannot be caught',
    example: 'a journal that ends in kind `internal`, and `crash.log` in the state folder',
    now: 'look at the open orders and the position at the venue; the run has cleaned up as for any other error. Report crash.log',
  },
} as const satisfies Record<ErrorKind | 'internal', ErrorKindRow>;
