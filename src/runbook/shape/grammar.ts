/**
 * The grammar around the steps: the modifiers of a step and the keys of a file, in the vocabulary of shape.ts. The step table
 * says which step takes which modifier.
 */
import { ERROR_KINDS } from '../checked.ts';
import {
  ANYTHING,
  CONDITION,
  DURATION,
  type Field,
  FREE_NAME_PATTERN,
  fields,
  INTEGER,
  list,
  MARKET,
  MONEY,
  may,
  NAME_SHAPE,
  NUMBER,
  need,
  PLAIN_TEXT,
  PRICE,
  type Shape,
  SIDE,
  SIZE,
  STEPS_SHAPE,
  TEXT,
  word,
} from '../shapes.ts';
import type { Modifier } from '../steps/steps.ts';

const kinds = list(word(...ERROR_KINDS));

/** The modifiers and the values they take, in the order of the reference. */
export const MODIFIERS = {
  id: may(NAME_SHAPE, 'name of the step; expressions read its value by this name'),
  if: may(CONDITION, 'the step is skipped unless this is true'),
  retry: may(
    fields({
      on: need(kinds, 'kinds of errors after which it is tried again'),
      max: need({ kind: 'integer', min: 0, max: 1000 }, 'further attempts after the first'),
      first: may({ kind: 'duration' }, 'pause before the first further attempt', '250ms'),
      factor: may({ kind: 'number', min: 1 }, 'each pause is this many times the one before', '2'),
      max_delay: may({ kind: 'duration' }, 'longest pause', '8s'),
      jitter: may({ kind: 'flag' }, 'draw each pause at random, at most its length', 'true'),
    }),
    'how failed attempts are repeated',
    'reads: transport and rate_limited, 4 times; writes: only rate_limited, 4 times',
  ),
  timeout: may(DURATION, 'the step fails with kind timeout after this'),
  catch: may(
    list(
      fields({
        on: need(
          { kind: 'choice', scalar: word('any'), list: kinds, accepts: `any, or a list of ${ERROR_KINDS.join(', ')}` },
          'kinds of errors, or any: every kind except unknown_outcome, except denied if `then` is continue, and except not_placed if it is retry',
        ),
        if: may(CONDITION, 'the clause applies only if this is true'),
        do: may(STEPS_SHAPE, 'steps'),
        then: need(word('continue', 'retry', 'fail', 'stop'), 'what happens to the run afterwards'),
      }),
    ),
    'what happens when the step fails; the first clause that applies',
  ),
  on_timeout: may(STEPS_SHAPE, 'steps instead of failing with kind timeout'),
  undo: may(
    { kind: 'choice', scalar: word('cancel', 'keep'), list: STEPS_SHAPE, accepts: 'cancel, keep or a list of steps' },
    'how the step is undone when a later one fails',
    'place: cancel',
  ),
  await: may(
    word('accepted', 'live', 'any_fill', 'filled', 'terminal'),
    'the state that the order must reach for the step to end',
    'place, protect: live',
  ),
  allow: may(word('reduce'), 'may exceed notional caps, because it only lowers exposure'),
  because: may(TEXT, 'why, for the reviewer'),
  note: may(PLAIN_TEXT, 'a remark'),
} as const satisfies Record<Modifier, Field>;

const names = (of: Shape): Shape => ({ kind: 'names', of });
const boundary = { kind: 'literal' } as const satisfies Shape;
const scheduleEntry = fields(
  {
    cron: may(PLAIN_TEXT, 'cron expression of five fields'),
    every: may({ kind: 'duration' }, 'interval'),
    at: may({ kind: 'time' }, 'one instant'),
    tz: may(PLAIN_TEXT, 'IANA time zone; required with cron'),
    misfire: may(
      fields({
        within: need({ kind: 'duration' }, 'how late it may still run'),
        then: need(word('skip', 'run_once', 'run_all'), 'what happens to missed occurrences'),
      }),
      'what happens when the engine was down',
      '{within: 1m, then: run_once}',
    ),
    overlap: may(word('skip', 'queue', 'replace'), 'when the previous run has not ended', 'skip'),
    dst: may(
      fields({
        gap: may(word('next_valid', 'skip'), 'a local time that does not exist', 'next_valid'),
        overlap: may(word('first', 'both'), 'a local time that exists twice', 'first'),
      }),
      'what happens at daylight-saving changes',
      '{gap: next_valid, overlap: first}',
    ),
    jitter: may({ kind: 'duration' }, 'random delay, at most this long'),
    inputs: may(names(boundary), 'inputs of the runs it starts'),
    paper: may({ kind: 'flag' }, 'its runs are on paper: they send no order to the venue', 'false'),
    from: may({ kind: 'time' }, 'no occurrence before'),
    to: may({ kind: 'time' }, 'no occurrence after'),
  },
  {
    atLeastOne: [['cron', 'every', 'at']],
    atMostOne: [['cron', 'every', 'at']],
    together: { cron: 'tz' },
    examples: ['{cron: "0 8 * * *", tz: UTC}', '{every: 1d}', '{at: 2026-01-05T08:00:00Z}'],
  },
);

const band = fields({
  around: need(PRICE, 'reference price'),
  within: need(NUMBER, 'largest distance from it, a ratio'),
});

const BECAUSE = 'why it may, for the reviewer';

/** The keys of the file; no others. */
export const FILE = fields({
  runbook: need(
    { kind: 'text', pattern: FREE_NAME_PATTERN, accepts: 'a name of letters, digits, dots, dashes and underscores' },
    'name of the runbook',
  ),
  dsl: need({ kind: 'integer', min: 1, max: 1 }, 'version of the language: 1'),
  about: may(PLAIN_TEXT, 'what it is for'),
  needs: may(
    list({ kind: 'text', pattern: FREE_NAME_PATTERN, accepts: 'the name of a capability' }),
    'capabilities the profile must grant',
  ),
  inputs: may(
    names(
      fields({
        type: need({ kind: 'type' }, 'type word: market, price, list<market>, …'),
        default: may(boundary, 'value if none is given; without it the input is required'),
        min: may(boundary, 'smallest value'),
        max: may(boundary, 'largest value'),
        enum: may(list(boundary), 'the values it may have'),
        about: may(PLAIN_TEXT, 'what it is for'),
      }),
    ),
    'values that the caller gives',
  ),
  feeds: may(
    names(
      fields({
        type: need({ kind: 'type' }, 'type word'),
        max_age: need({ kind: 'duration' }, 'reading an older value fails with kind stale_feed'),
      }),
    ),
    'values from outside, bound by the profile',
  ),
  let: may(names(ANYTHING), 'values computed once, when the run starts'),
  def: may(names(ANYTHING), 'named expressions, evaluated at each use'),
  vars: may(
    names(fields({ type: need({ kind: 'type' }, 'type word'), init: need(ANYTHING, 'value at the start') })),
    'the only values that can change; set changes them',
  ),
  leaves: may(
    {
      kind: 'variants',
      by: 'position',
      variants: {
        none: fields({ position: need(word('none'), 'no position'), because: may(PLAIN_TEXT, BECAUSE) }),
        protected: fields({
          position: need(word('protected'), 'only what working stops of the run cover'),
          because: may(PLAIN_TEXT, BECAUSE),
        }),
        open: fields({
          position: need(word('open'), 'any position'),
          because: need(PLAIN_TEXT, `${BECAUSE}; required with open`),
        }),
      },
    },
    'the position that the run may leave of what it opened; a run that leaves more fails with kind unprotected_position',
    '{position: protected}',
  ),
  limits: may(
    fields({
      markets: may(list(MARKET), 'the only markets'),
      sides: may(list(SIDE), 'the only sides of entries'),
      max_order_size: may(SIZE, 'per order, base currency'),
      max_order_notional: may(MONEY, 'per order, quote currency'),
      max_run_notional: may(MONEY, 'all orders of the run, quote currency'),
      unknown_price: may(
        word('deny'),
        'deny an order whose notional can only be measured by its own price, which is the least it can be',
      ),
      max_open_orders: may(INTEGER, 'open orders of the run at one time'),
      max_leverage: may(INTEGER, '1 to 20'),
      max_writes: may(INTEGER, 'requests of the run that change something'),
      price_band: may(
        {
          kind: 'choice',
          maps: [
            { by: 'around', shape: band },
            { by: 'within', shape: band },
          ],
          otherwise: { kind: 'names', of: band, free: true },
          accepts: '{around, within}, or a map from markets to that',
        },
        'prices of orders, in every market or in each that is named',
      ),
      mode: may(
        word('active', 'reducing', 'halted'),
        'reducing: only what lowers exposure; halted: only cancels',
        'active',
      ),
    }),
    "conditions for each write; they can only be stricter than the profile's",
  ),
  deadman: may(
    fields({
      market: need(MARKET, 'market named in the requests; the switch covers all markets'),
      timeout: need(DURATION, 'time without an order request until all orders are cancelled'),
      keep_alive: may(DURATION, 'time between keep-alives; 0s turns them off', 'timeout / 4'),
      release_after: may(PLAIN_TEXT, 'id of the step after which the switch is disarmed'),
      on_exit: need(word('disarm', 'leave_armed'), 'what happens to the switch when the run ends'),
    }),
    'the deadman switch, kept alive while the run makes progress',
  ),
  schedule: may(
    {
      kind: 'choice',
      list: list(scheduleEntry),
      maps: [{ by: 'cron', shape: scheduleEntry }],
      accepts: 'a schedule entry or a list of them',
    },
    'when the scheduler starts it',
  ),
  concurrency: may(
    fields({
      key: need(TEXT, 'runs with the same key exclude each other'),
      on_busy: may(word('queue', 'skip', 'fail'), 'when another run holds the key', 'queue'),
    }),
    'which runs exclude each other',
  ),
  steps: need(STEPS_SHAPE, 'the steps, in sequence'),
  on_error: may(STEPS_SHAPE, 'steps that run when a step has failed, after undo'),
  finally: may(STEPS_SHAPE, 'steps that run at the end in every case; they may only reduce risk'),
  outputs: may(names(ANYTHING), 'values that the run returns'),
});
