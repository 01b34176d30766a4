/**
 * Faults by configuration: which request meets which fault. The first rule that matches wins, and each rule counts the
 * requests that match it, so that "the second POST of a stop_loss" is sayable. What a fault does is carried out by those
 * it concerns: the road (`simulator.ts`), the answer (`answer.ts`) or the order desk (`desk.ts`).
 */
import type { Chance } from './random.ts';

/** What a fault can do, and whom it concerns. */
export const FAULTS = {
  /** The request never arrives; nobody answers. */
  lost_before: 'network',
  /** It is carried out; the answer never comes. */
  lost_after: 'network',
  /** It, or its answer (`way`), takes `ms` longer. A request later than its time-out still arrives: a ghost. */
  delay: 'network',
  /** Nobody listens: no byte leaves. */
  refused: 'network',
  /** The connection breaks before, or after, it is carried out. */
  reset_before: 'network',
  reset_after: 'network',
  /** An answer of which a byte comes now and then, and never the end. */
  slow_loris: 'network',
  /** An answer cut off in the middle, against its content-length. */
  truncated: 'network',
  /** An answer far over any size a client should read; compressed where the client takes that. */
  oversize: 'network',
  /** `status` with `body`; `processed` says whether the request was carried out all the same. */
  status: 'answer',
  /** `success: false` with the text `error` and `status` (200); `processed` as above. */
  error: 'answer',
  /** Refused for want of tokens, with `retryAfter` as it stands, garbage too. */
  rate_limited: 'answer',
  /** Refused as if the session had run out. */
  unauthorized: 'answer',
  /** Carried out; the body does not parse (`body`, or the true one without its end). */
  malformed: 'answer',
  /** Carried out; 200 with no body at all. */
  empty: 'answer',
  /** Carried out; a page of HTML. */
  html: 'answer',
  /** Carried out; success with nothing in `result`. */
  empty_result: 'answer',
  /** Carried out; two records where there should be one. */
  two_records: 'answer',
  /** Carried out; the record is of another client order id. */
  other_record: 'answer',
  /** A redirection to `location` with `status` (307); not carried out. */
  redirect: 'answer',
  /** The order becomes `rejected` with `reason` after its acknowledgement. */
  late_reject: 'orders',
  /** The outcome of the order, amend or cancel takes `ms` longer; without `ms` it never comes. */
  stuck: 'orders',
  /** GET /orders does not show the order for `ms`. */
  invisible: 'orders',
  /** Acknowledged, never executed: the order is still there afterwards. */
  cancel_lost: 'orders',
  /** Acknowledged; the old terms stay. */
  amend_lost: 'orders',
  /** The order fills by `fraction` of what remains just before the cancel takes effect. */
  fill_first: 'orders',
} as const satisfies Record<string, 'network' | 'answer' | 'orders'>;
export type FaultKind = keyof typeof FAULTS;
export const FAULT_KINDS = Object.keys(FAULTS) as readonly FaultKind[];

/** A rule of the configuration. Fields that a kind does not read do nothing. */
export interface FaultRule {
  /** An endpoint, or `*` for all. */
  readonly on: string;
  readonly when?: {
    /** Which of the requests that match everything else: `2`, `"2+"`, `"2-4"`; from 1. */
    readonly call?: number | string;
    readonly probability?: number;
    /** POST /orders: the order's type. */
    readonly type?: string;
    readonly market?: string;
    /** Milliseconds from the start of the simulation, from and until. */
    readonly afterMs?: number;
    readonly untilMs?: number;
  };
  readonly do: FaultKind;
  readonly ms?: number;
  readonly status?: number;
  readonly body?: string;
  readonly error?: string;
  readonly reason?: string;
  readonly processed?: boolean;
  readonly way?: 'request' | 'reply';
  readonly retryAfter?: string;
  readonly fraction?: string;
  readonly location?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

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

  /** Takes other rules from now on; their counts start at 0. */
  replace(rules: readonly FaultRule[]): void {
    this.rules = rules.map((rule) => ({ rule, met: 0 }));
  }

  /** The fault that this request meets. Every rule that could have matched counts it, also behind one that won. */
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
