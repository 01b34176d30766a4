/**
 * Defines the faults that a configuration can inject, and chooses the fault for a request. The first rule that matches applies.
 * Each rule counts the requests that match it, so that a rule can say "the second POST of a stop_loss". The module that a fault
 * affects carries it out: the network (`simulator.ts`, `delivery.ts`), the answer (`answer.ts`) or the orders (`orders.ts`).
 */
import { makeObject, type ValueOf } from '../../../base/schema.ts';
import { ORDER_TYPES } from '../../../venue/records.ts';
import { CALL, described, MS, POSITIVE, STATUS } from './forms.ts';
import type { Chance } from './random.ts';

/** Every kind of fault, and the part that it affects. */
export const FAULTS = {
  /** The request never arrives and gets no answer. */
  lost_before: 'network',
  /** The request is carried out; the answer never comes. */
  lost_after: 'network',
  /** The request or its answer (`way`) takes `ms` longer. A request that is delayed past its timeout still arrives. */
  delay: 'network',
  /** The connection is refused: no byte is sent. */
  refused: 'network',
  /** The connection breaks before, or after, the request is carried out. */
  reset_before: 'network',
  reset_after: 'network',
  /** The answer arrives byte by byte and never ends. */
  slow_loris: 'network',
  /** The answer ends in the middle, short of its content-length. */
  truncated: 'network',
  /** The answer is larger than a client should read; compressed if the client accepts that. */
  oversize: 'network',
  /** Answers `status` with `body`; `processed` says whether the request is carried out nevertheless. */
  status: 'answer',
  /**
   * Answers `success: false` with the text `error` and `status` (200); `processed` as above. With `ms` GET /orders does not show an
   * order for that long that was placed nevertheless.
   */
  error: 'answer',
  /** Refused for lack of tokens, with `retryAfter` as written, even if it is invalid. */
  rate_limited: 'answer',
  /** Refused as if the session had expired. */
  unauthorized: 'answer',
  /** Carried out; the body does not parse (`body`, or the first half of the true one). */
  malformed: 'answer',
  /** Carried out; `status` (200) without a body. */
  empty: 'answer',
  /** Carried out; a page of HTML. */
  html: 'answer',
  /** Carried out; success with an empty `result`. */
  empty_result: 'answer',
  /** Carried out; each record appears twice. */
  two_records: 'answer',
  /** Carried out; the record has another client order id. */
  other_record: 'answer',
  /** Carried out; the answer has no X-RateLimit headers. */
  no_headers: 'answer',
  /** Redirects to `location` with `status` (307); not carried out. */
  redirect: 'answer',
  /** The order becomes `rejected` with `reason` after its acknowledgement. */
  late_reject: 'orders',
  /** The outcome of the order, amend or cancel comes `ms` later; without `ms` never. */
  stuck: 'orders',
  /** GET /orders does not show the order for `ms`. */
  invisible: 'orders',
  /** The cancel is acknowledged and never executed: the order stays. */
  cancel_lost: 'orders',
  /** The amend is acknowledged; the old terms stay. */
  amend_lost: 'orders',
  /** The order fills by `fraction` of what remains just before the cancel takes effect. */
  fill_first: 'orders',
} as const satisfies Record<string, 'network' | 'answer' | 'orders'>;
export type FaultKind = keyof typeof FAULTS;
export const FAULT_KINDS = Object.keys(FAULTS) as readonly FaultKind[];

/** A rule of the configuration. Fields that its kind does not use have no effect. */
export const FAULT = makeObject(
  {
    on: { type: 'string', description: 'an endpoint such as "POST /orders", or "*"' },
    when: makeObject({
      call: CALL,
      probability: { type: 'number', minimum: 0, maximum: 1 },
      type: { enum: ORDER_TYPES, description: 'the order type of a POST /orders' },
      market: { type: 'string' },
      afterMs: described(MS, 'from this time on, milliseconds since the start of the simulation'),
      untilMs: described(MS, 'before this time'),
    }),
    do: { enum: FAULT_KINDS },
    ms: MS,
    status: STATUS,
    body: { type: 'string' },
    error: { type: 'string' },
    reason: { type: 'string' },
    processed: { type: 'boolean' },
    way: { enum: ['request', 'reply'] },
    retryAfter: { type: 'string' },
    fraction: POSITIVE,
    location: { type: 'string' },
    headers: { type: 'object', additionalProperties: { type: 'string' } },
  },
  ['on', 'do'],
);
export type FaultRule = ValueOf<typeof FAULT>;

interface FaultContext {
  readonly endpoint: string;
  readonly type?: string | undefined;
  readonly market?: string | undefined;
  /** Milliseconds since the start of the simulation. */
  readonly elapsedMs: number;
}

export class Faults {
  private rules: readonly { readonly rule: FaultRule; met: number }[] = [];
  private readonly chance: Chance;

  constructor(rules: readonly FaultRule[], chance: Chance) {
    this.chance = chance;
    this.replace(rules);
  }

  /** Replaces the rules from now on; their counts start at 0. */
  replace(rules: readonly FaultRule[]): void {
    this.rules = rules.map((rule) => ({ rule, met: 0 }));
  }

  /** Returns the fault for a request. Every rule that matches counts the request, even if an earlier rule applies. */
  choose(question: FaultContext): FaultRule | undefined {
    let won: FaultRule | undefined;
    for (const [index, each] of this.rules.entries()) {
      if (!concerns(each.rule, question)) continue;
      each.met += 1;
      const { call, probability } = each.rule.when ?? {};
      if (won !== undefined || !includesCall(call, each.met)) continue;
      if (
        probability !== undefined &&
        this.chance.draw(`fault ${index} ${each.rule.on} ${each.rule.do}`, each.met) >= probability
      )
        continue;
      won = each.rule;
    }
    return won;
  }
}

function concerns({ on, when }: FaultRule, question: FaultContext): boolean {
  return (
    (on === '*' || on === question.endpoint) &&
    (when?.type === undefined || when.type === question.type) &&
    (when?.market === undefined || when.market === question.market) &&
    question.elapsedMs >= (when?.afterMs ?? 0) &&
    question.elapsedMs < (when?.untilMs ?? Number.POSITIVE_INFINITY)
  );
}

function includesCall(call: number | string | undefined, met: number): boolean {
  if (call === undefined) return true;
  const [first = '', last] = String(call).replace('+', '-').split('-');
  if (last === undefined) return met === Number(first);
  return met >= Number(first) && (last === '' || met <= Number(last));
}
