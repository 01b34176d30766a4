/**
 * The type of a runbook that has passed every check: the result of `check`, and the input of the engine, `plan` and `graph`.
 * Every expression is compiled and typed, every name resolved, every default filled in. Spans point into `source`, for
 * messages and drawings.
 */

import { type Decimal, formatDecimal, toCount } from '../base/decimal.ts';
import type { SourceText, Span } from '../base/diagnostic.ts';
import { mapFields, omitUndefined } from '../base/json.ts';
import type { LimitRules, TradingMode } from '../venue/limits/rules.ts';
import type { LeftPosition } from '../venue/position/residual.ts';
import type { NoticeSeverity } from '../venue/profile/setting-form.ts';
import type { OrderType, TimeInForce } from '../venue/records.ts';
import { INTEGER, MONEY, SIZE } from './functions/typing.ts';
import type { Duration, Expr, RecordValue, Time, Value, ValueType } from './values.ts';

export interface CheckedRunbook {
  readonly name: string;
  readonly dsl: 1;
  readonly about?: string;
  readonly source: SourceText;
  /** sha256 of the source's bytes, hex. */
  readonly sha256: string;
  readonly needs: readonly string[];
  readonly inputs: readonly InputDeclaration[];
  readonly feeds: readonly FeedDeclaration[];
  /** Evaluated once when the run starts, in this order. */
  readonly let: readonly NamedExpr[];
  /** Evaluated at each use. */
  readonly def: readonly NamedExpr[];
  readonly vars: readonly { readonly name: string; readonly type: ValueType; readonly init: Expr }[];
  readonly leaves: LeavesDeclaration;
  readonly limits?: LimitsDeclaration;
  readonly deadman?: DeadmanDeclaration;
  readonly schedule: readonly ScheduleDeclaration[];
  readonly concurrency?: { readonly key: Expr<string>; readonly onBusy: 'queue' | 'skip' | 'fail' };
  readonly steps: readonly CheckedStep[];
  readonly onError: readonly CheckedStep[];
  readonly finally: readonly CheckedStep[];
  readonly outputs: readonly NamedExpr[];
  /** The runbooks it calls, by name, also checked. */
  readonly calls: Readonly<Record<string, CheckedRunbook>>;
}

export interface NamedExpr {
  readonly name: string;
  readonly value: Expr;
}

export interface InputDeclaration {
  readonly name: string;
  readonly type: ValueType;
  /** The declared type's word, for messages and prompts: `price`, `list<market>`. */
  readonly typeText: string;
  readonly default?: Value;
  readonly min?: Value;
  readonly max?: Value;
  readonly enum?: readonly Value[];
  readonly about?: string;
}

export interface FeedDeclaration {
  readonly name: string;
  readonly type: ValueType;
  readonly maxAge: Duration;
  /** The market of a feed that is not a map: the market of the runbook, if it has exactly one. */
  readonly market?: Expr<string>;
}

/** What the run may leave of the position that it opened (docs/language.md, What a run leaves). */
export interface LeavesDeclaration {
  readonly position: LeftPosition;
  /** Always present with `open`. */
  readonly because?: string;
}

/** The prices of orders in a market, or in every market where none is named. */
export interface PriceBand {
  readonly market?: string;
  readonly around: Expr<Decimal>;
  readonly within: Expr<Decimal>;
}

/** The limits that are one amount each: its key in a file, its unit, and how the checks take it. */
const LIMIT_AMOUNTS = {
  maxOrderSize: { key: 'max_order_size', unit: SIZE, write: formatDecimal },
  maxOrderNotional: { key: 'max_order_notional', unit: MONEY, write: formatDecimal },
  maxRunNotional: { key: 'max_run_notional', unit: MONEY, write: formatDecimal },
  maxOpenOrders: { key: 'max_open_orders', unit: INTEGER, write: toCount },
  maxLeverage: { key: 'max_leverage', unit: INTEGER, write: formatDecimal },
  maxWrites: { key: 'max_writes', unit: INTEGER, write: toCount },
} as const satisfies Partial<Record<keyof LimitRules, object>>;
type LimitAmount = keyof typeof LIMIT_AMOUNTS;

export type LimitAmounts<T> = { readonly [K in LimitAmount]?: T };

/** Works out each of them; those for which `read` gives nothing are left out. */
export function mapLimitAmounts<T>(
  read: (name: LimitAmount, amount: (typeof LIMIT_AMOUNTS)[LimitAmount]) => T | undefined,
): LimitAmounts<T> {
  return omitUndefined(mapFields(LIMIT_AMOUNTS, (amount, name) => read(name as LimitAmount, amount)));
}

/** Limits as declared; an absent limit does not apply. Expressions are evaluated when the run starts, `around` at each check. */
export interface LimitsDeclaration extends LimitAmounts<Expr<Decimal>> {
  readonly markets?: readonly Expr<string>[];
  readonly sides?: readonly Expr<string>[];
  readonly unknownPrice?: 'deny';
  /** One for every market, or one for each market that is named. */
  readonly priceBands?: readonly PriceBand[];
  readonly mode?: TradingMode;
}

export interface DeadmanDeclaration {
  readonly market: Expr<string>;
  readonly timeout: Expr<Duration>;
  readonly keepAlive?: Expr<Duration>;
  readonly releaseAfter?: string;
  readonly onExit: 'disarm' | 'leave_armed';
  readonly span: Span;
}

export interface ScheduleDeclaration {
  /** Stable name of the slot: its index in the list, from 0. */
  readonly slot: string;
  readonly when:
    | { readonly kind: 'cron'; readonly cron: string; readonly tz: string }
    | { readonly kind: 'every'; readonly every: Duration }
    | { readonly kind: 'at'; readonly at: Time; readonly tz?: string };
  readonly misfire: { readonly within: Duration; readonly then: 'skip' | 'run_once' | 'run_all' };
  readonly overlap: 'skip' | 'queue' | 'replace';
  readonly dst: { readonly gap: 'next_valid' | 'skip'; readonly overlap: 'first' | 'both' };
  readonly jitter?: Duration;
  readonly inputs: Readonly<Record<string, Value>>;
  /** Its runs are on paper: live feeds, orders at the simulated venue. */
  readonly paper?: true | undefined;
  readonly from?: Time;
  readonly to?: Time;
  readonly span: Span;
}

/** Error kinds of `retry`, `catch` (docs/language.md, When a step fails). */
export const ERROR_KINDS = [
  'transport',
  'rate_limited',
  'unknown_outcome',
  'rejected',
  'denied',
  'not_found',
  'not_placed',
  'timeout',
  'stale_feed',
  'assertion',
  'approval_rejected',
  'cancelled',
  'deadman_fired',
  'unprotected_position',
] as const;
export type ErrorKind = (typeof ERROR_KINDS)[number];

export interface RetryDeclaration {
  readonly on: readonly ErrorKind[];
  /** Further attempts after the first. */
  readonly max: number;
  readonly first: Duration;
  readonly factor: Decimal;
  readonly maxDelay: Duration;
  readonly jitter: boolean;
}

export interface CatchClause {
  readonly on: readonly ErrorKind[] | 'any';
  readonly if?: Expr<boolean>;
  readonly do: readonly CheckedStep[];
  readonly then: 'continue' | 'retry' | 'fail' | 'stop';
}

/** How often the clauses of one step lead to another attempt at most: `then: retry` would otherwise loop without end. */
export const CATCH_RETRIES = 10;

/**
 * The kinds that `on: any` does not take. An unknown outcome halts. A clause that was written for other errors must neither pass
 * over a limit nor send an order again (language.md, decisions 9 and 11).
 */
export function listExceptions(then: CatchClause['then'] | undefined): readonly ErrorKind[] {
  if (then === 'continue') return ['unknown_outcome', 'denied'];
  return then === 'retry' ? ['unknown_outcome', 'not_placed'] : ['unknown_outcome'];
}

/** The state of an order that `await` waits for. */
export type AwaitTarget = 'accepted' | 'live' | 'any_fill' | 'filled' | 'terminal';

export interface StepBase {
  /**
   * Stable and unique in the file: the id if there is one, else position and step name, joined by `/` from the outermost
   * block: `steps/2:assert`, `steps/ladder/do/o`. The engine adds iterations in brackets.
   */
  readonly path: string;
  readonly id?: string;
  readonly span: Span;
  readonly if?: Expr<boolean>;
  /** Always present for a step that calls the venue: by default the retry of its class (language.md, decision 9). */
  readonly retry?: RetryDeclaration;
  readonly timeout?: Expr<Duration>;
  readonly catch: readonly CatchClause[];
  readonly onTimeout?: readonly CheckedStep[];
  /** Default for `place`: cancel. */
  readonly undo?: 'cancel' | 'keep' | readonly CheckedStep[];
  readonly await?: AwaitTarget;
  readonly allow?: 'reduce';
  readonly because?: Expr<string>;
  readonly note?: string;
  /** Feeds that its own expressions read, directly or through a `def`; without those of inner steps. */
  readonly feeds: readonly string[];
  /** Of `feeds`, those that its `if` reads. */
  readonly ifFeeds: readonly string[];
}

export interface ProtectLeg {
  readonly fraction: Expr<Decimal>;
  readonly trigger: Expr<Decimal>;
  readonly price: Expr<Decimal>;
}

/** The stop and the take-profit of a position. */
export interface Exits {
  readonly market: Expr<string>;
  readonly side: Expr<string>;
  readonly stopLoss?: ProtectLeg;
  readonly takeProfit?: ProtectLeg;
}

/** Blocks of which the first whose condition is true is executed; `if` has one. */
type Cases = {
  readonly cases: readonly { readonly when: Expr<boolean>; readonly do: readonly CheckedStep[] }[];
  readonly else?: readonly CheckedStep[];
};

/** What a list of the venue's records is asked for. */
interface Pages {
  readonly since?: Expr<Time>;
  readonly until?: Expr<Time>;
  readonly limit?: Expr<Decimal>;
  readonly page?: Expr<Decimal>;
  readonly sort?: 'asc' | 'desc';
  readonly allPages: boolean;
}

/** The arguments of each step. */
export interface StepArgs {
  readonly place: {
    readonly type: OrderType;
    readonly market: Expr<string>;
    readonly side: Expr<string>;
    readonly size: Expr<Decimal>;
    readonly price?: Expr<Decimal>;
    readonly trigger?: Expr<Decimal>;
    /** Default: good_till_cancel, immediate_or_cancel for a market order. */
    readonly tif: TimeInForce;
    readonly tag?: string;
    readonly onAmbiguous: 'halt' | 'resend';
  };
  readonly protect: Exits;
  readonly manage: Exits & {
    /** The price of the market: as written, else the only price feed of the runbook. */
    readonly feed?: Expr<Decimal>;
    readonly trail?: { readonly by: Expr<Decimal>; readonly step: Expr<Decimal> };
    readonly breakEven?: { readonly after: Expr<Decimal>; readonly offset: Expr<Decimal> };
    readonly timeLimit?: Expr<Duration>;
    readonly escalate?: { readonly after: Expr<Duration>; readonly slip: Expr<Decimal> };
  };
  readonly close: {
    readonly market: Expr<string>;
    /** The price of the market: as written, else the only price feed of the runbook. */
    readonly feed?: Expr<Decimal>;
    readonly slip?: Expr<Decimal>;
  };
  readonly amend: { readonly order: Expr<RecordValue>; readonly price: Expr<Decimal>; readonly size?: Expr<Decimal> };
  readonly cancel:
    | { readonly kind: 'order'; readonly order: Expr<RecordValue> }
    | { readonly kind: 'mine'; readonly market: Expr<string> }
    | { readonly kind: 'ids'; readonly ids: Expr<readonly Value[]> };
  readonly cancel_all: { readonly everyone: true };
  readonly set_leverage: { readonly market: Expr<string>; readonly leverage: Expr<Decimal> };
  readonly read_account: object;
  readonly read_tier: object;
  readonly list_orders: {
    readonly market?: Expr<string>;
    readonly status?: Expr<string>;
    readonly order?: Expr;
    readonly clientOrderId?: Expr<string>;
    /** Rows of other programs that cannot be read are left out and counted; else the step fails. */
    readonly skipUnread: boolean;
  } & Pages;
  readonly list_fills: {
    readonly market?: Expr<string>;
    /** An order, whose venue id is used, or an order id. */
    readonly order?: Expr<Value>;
  } & Pages;
  readonly refresh:
    | { readonly kind: 'order'; readonly order: Expr<RecordValue> }
    | { readonly kind: 'list'; readonly orders: Expr<readonly RecordValue[]> };
  readonly arm_deadman: { readonly market: Expr<string>; readonly timeout: Expr<Duration> };
  readonly read_deadman: { readonly market: Expr<string> };
  readonly disarm_deadman: { readonly market: Expr<string> };
  readonly refresh_session: object;
  readonly request: { readonly name: string; readonly with: Readonly<Record<string, Expr>> };
  readonly let: { readonly names: readonly NamedExpr[] };
  readonly set: { readonly names: readonly NamedExpr[] };
  readonly assert: { readonly condition: Expr<boolean> };
  readonly wait:
    | { readonly kind: 'for'; readonly for: Expr<Duration> }
    | { readonly kind: 'until'; readonly until: Expr<Time> };
  readonly wait_for:
    | {
        readonly kind: 'order';
        readonly order: Expr<RecordValue>;
        readonly is: Exclude<AwaitTarget, 'accepted'>;
        readonly within: Expr<Duration>;
      }
    | {
        readonly kind: 'any';
        readonly any: Expr<readonly RecordValue[]>;
        readonly is: Exclude<AwaitTarget, 'accepted'>;
        readonly within: Expr<Duration>;
      }
    | {
        readonly kind: 'until';
        readonly until: Expr<boolean>;
        /** Default: a second. */
        readonly every?: Expr<Duration>;
        readonly within: Expr<Duration>;
      }
    | {
        readonly kind: 'read';
        readonly read: CheckedStep;
        readonly until: Expr<boolean>;
        readonly every: Expr<Duration>;
        readonly within: Expr<Duration>;
      };
  readonly for_each: {
    readonly each: string;
    readonly in: Expr<readonly Value[]>;
    readonly at?: string;
    readonly do: readonly CheckedStep[];
    readonly collect?: readonly NamedExpr[];
  };
  readonly repeat: {
    readonly every?: Expr<Duration>;
    readonly for?: Expr<Duration>;
    readonly max?: Expr<Decimal>;
    readonly while?: Expr<boolean>;
    readonly until?: Expr<boolean>;
    readonly do: readonly CheckedStep[];
  };
  readonly parallel:
    | {
        readonly kind: 'branches';
        readonly branches: readonly { readonly name: string; readonly do: readonly CheckedStep[] }[];
        readonly join: 'all' | 'any';
        readonly onFail: 'cancel_others' | 'let_others_finish';
      }
    | {
        readonly kind: 'each';
        readonly each: string;
        readonly in: Expr<readonly Value[]>;
        readonly max: Expr<Decimal>;
        readonly do: readonly CheckedStep[];
        readonly onFail: 'cancel_others' | 'let_others_finish';
      };
  readonly if: Cases;
  readonly switch: Cases;
  readonly call: { readonly runbook: string; readonly with: Readonly<Record<string, Expr>> };
  readonly approve: {
    readonly ask: Expr<string>;
    readonly by: readonly string[];
    readonly within: Expr<Duration>;
    readonly onTimeout: 'reject' | 'fail';
  };
  readonly notify: { readonly to: string; readonly text: Expr<string>; readonly severity?: NoticeSeverity | undefined };
  readonly stop: { readonly outcome: string };
  readonly fail: object;
}

export type CheckedStep = {
  [V in keyof StepArgs]: StepBase & { readonly verb: V; readonly args: StepArgs[V] };
}[keyof StepArgs];

export type StepName = keyof StepArgs;
export type StepOf<V extends StepName> = Extract<CheckedStep, { verb: V }>;

/** The order record of the language: the venue's fields and derived ones. */
export interface OrderFields {
  readonly id: string;
  readonly client_order_id: string;
  readonly market_id: string;
  readonly order_type: string;
  readonly side: string;
  readonly price: Decimal;
  readonly size: Decimal;
  readonly initial_size: Decimal;
  readonly total_filled_size: Decimal;
  readonly status: string;
  readonly reason: string;
  readonly timestamp: Time;
  readonly time_in_force: string;
  /** Sum of its fills, base currency. */
  readonly filled: Decimal;
  readonly remaining: Decimal;
  /** Quote currency; absent without fills. */
  readonly avg_price: Decimal | undefined;
  readonly open: boolean;
  readonly terminal: boolean;
}
