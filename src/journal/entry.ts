/**
 * The contents of the journal's entries, a row for each type, and the union of them, tag `type`. Entries are JSON-safe, decimals are
 * strings, instants are epoch ms. The state of a run is derived from its entries alone: the same folds read them live, on
 * resume, on replay and in review. Entries hold no secrets; parameters are written through the catalogue's redaction.
 *
 * Three origins (`ORIGIN` below): `engine` entries follow from earlier ones, so executing the journal again produces them
 * again; `gateway` entries record requests to the venue and their answers; `world` entries record what people and
 * clocks did. Replay feeds in the last two and compares the first.
 */
import type { CallClass, OrderTerms, UnreadOrder } from '../venue/port.ts';
import type { LeftPosition, LeftSide, SwitchCancels } from '../venue/position/residual.ts';
import type { NoticeSeverity } from '../venue/profile/setting-form.ts';

export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };
export type JsonObject = { readonly [key: string]: Json };

/** `paper`: live feeds in real time, orders at the simulated venue. */
export type RunMode = 'fixtures' | 'simulated' | 'paper' | 'live';
export type RunOutcome = 'succeeded' | 'failed' | 'stopped' | 'halted';
export type StepOutcome = 'succeeded' | 'failed' | 'skipped' | 'halted';

/** What ends the steps of a branch when another branch of `join: any` was first. */
export const LEFT_BRANCH = 'another branch was first';

/** How a step ended, and its error; `left`: its branch was, which is no failure. */
export function readStepEnd({ outcome, error }: DataOf<'step.ended'>): {
  readonly outcome: StepOutcome | 'left';
  readonly error?: ErrorFact;
} {
  if (outcome === 'failed' && error?.kind === 'cancelled' && error.message === LEFT_BRANCH) return { outcome: 'left' };
  return { outcome, ...(error === undefined ? {} : { error }) };
}

/** Upper bounds of an approved plan; absent where nothing bounds it. Decimals as strings, quote currency. */
export interface ApprovedBounds {
  readonly orders?: number;
  readonly notional?: string;
  /** By market; null where nothing bounds it, and the empty name for orders whose market only the run knows. */
  readonly exposure?: Readonly<Record<string, string | null>>;
  /** By `METHOD /path`. */
  readonly requests?: Readonly<Record<string, number>>;
}

/** The error that made a step or a run fail; `kind` is a word that a runbook can catch. */
export interface ErrorFact {
  readonly kind: string;
  readonly message: string;
  readonly step?: string;
}

/** The process that writes a live run, with everything that could make it behave differently from another process. */
export interface ProcessFact {
  readonly pid: number;
  /** Version of Node. */
  readonly node: string;
  /** sha256 of the lock file from which its dependencies were installed. */
  readonly lock?: string;
  /** The clock that times are read from; the `date` header of every answer shows its distance from the venue's clock. */
  readonly clock: 'system';
}

/** How long no process executed the run. */
export interface Away {
  readonly ms: number;
  /**
   * `machine`: measured by the monotonic clock of one start of one machine, which cannot be adjusted. `wall`: measured by the wall
   * clock, across a restart or on another machine. A wall clock proves nothing, so an armed deadman switch counts as fired.
   */
  readonly by: 'machine' | 'wall';
}

/** An order that the venue shows although an earlier run gave up on it: its state in that run's journal and at the venue. */
export interface LateOrder {
  readonly clientOrderId: string;
  readonly orderId: string;
  readonly market: string;
  /** The run that placed it, and its last state in that run's journal. */
  readonly run: string;
  readonly recorded: string;
  /** From the venue's record. `filled` is present when the order itself was read, not only the list of open orders. */
  readonly status: string;
  readonly filled?: string;
}

interface EntryContents {
  /** First entry of a run. Holds everything needed to execute it again. */
  readonly 'run.started': {
    readonly runbook: string;
    readonly file: string;
    readonly mode: RunMode;
    /** `manual`, `schedule`, `test`, `resume`. */
    readonly trigger: string;
    readonly by?: string;
    readonly inputs: JsonObject;
    readonly seed: number;
    /** Epoch ms. */
    readonly startedAt: number;
    /** The runbook first, then every runbook it calls, as complete texts. */
    readonly sources: readonly {
      readonly name: string;
      readonly file: string;
      readonly text: string;
      readonly sha256: string;
    }[];
    /** Every venue setting in force (the profile with its defaults, without secrets), and the market table. */
    readonly settings: JsonObject;
    readonly engine: string;
    /** Only in live runs. */
    readonly process?: ProcessFact;
    /** Of a run on paper: the account whose limits and kill switch hold for it, and its process (shared/machine.ts). */
    readonly paper?: { readonly of: string; readonly host: string; readonly mark: string };
    readonly plan?: string;
    /** The bounds to which a person held the run by approving its plan (`run --plan`). */
    readonly bounds?: ApprovedBounds;
    readonly fixture?: { readonly file: string; readonly sha256: string };
    readonly account: string;
    /** The venue's own id of the account, from which the client order ids of the run are derived; where absent, its name. */
    readonly accountId?: string;
    /** Of a live run: the names of the kills that were given before it began (shared/account-guard.ts). */
    readonly killsBefore?: readonly string[];
    /** The step after which the run was asked to stop. */
    readonly until?: string;
    /** For a run that a schedule started: the slot's name and the nominal instant, epoch ms. */
    readonly occurrence?: { readonly slot: string; readonly nominal: number };
  };
  readonly 'run.moved': { readonly from: string; readonly to: string; readonly event: string };
  readonly 'run.ended': {
    readonly outcome: RunOutcome;
    readonly reason?: string;
    readonly error?: ErrorFact;
    readonly outputs: JsonObject;
  };
  /**
   * What the run leaves of what it opened, against what its runbook declares: where the steps are done and leave more, of the run
   * (no step) or of a called runbook (the step that calls it), and at every end of the run.
   */
  readonly 'run.residual': {
    readonly when: 'steps' | 'end';
    readonly leaves: LeftPosition;
    /** Whether it leaves no more than `leaves` says. */
    readonly ok: boolean;
    readonly left: readonly LeftSide[];
    /** Orders of the run that an armed deadman switch will cancel, and when, unless something renews it. Only at the end. */
    readonly cancels?: SwitchCancels;
  };
  /** The run was resumed after its process died. */
  readonly 'run.resumed': {
    readonly openCalls: readonly string[];
    readonly process?: ProcessFact;
    /** How long no process executed it, counted from its last entry. */
    readonly away?: Away;
  };
  /** `now` is the value that every expression of the step uses, epoch ms (language.md, decision 16). */
  readonly 'step.started': {
    readonly verb: string;
    readonly id?: string;
    readonly attempt: number;
    readonly now: number;
  };
  /** A condition or an assertion, with the values that decided it. */
  readonly 'step.decided': {
    readonly what: string;
    readonly expression: string;
    readonly inputs: JsonObject;
    readonly value: Json;
  };
  readonly 'step.ended': {
    readonly verb: string;
    readonly id?: string;
    readonly outcome: StepOutcome;
    readonly attempts: number;
    readonly error?: ErrorFact;
    readonly value?: Json;
  };
  /** A failed attempt that will be tried again at `retryAt`. */
  readonly 'step.retried': {
    readonly verb: string;
    readonly attempt: number;
    readonly error: ErrorFact;
    readonly retryAt: number;
  };
  readonly 'variable.set': { readonly name: string; readonly value: Json };
  /** Without a severity: info. */
  readonly 'notification.sent': { readonly to: string; readonly text: string; readonly severity?: NoticeSeverity };
  /** Whether a message of this step reached its channel; absent in runs that tell no one, such as dry-runs. */
  readonly 'notification.settled': { readonly to: string; readonly delivered: boolean; readonly because?: string };
  /** An intent; durable before anything is sent. */
  readonly 'call.intended': {
    readonly call: string;
    readonly endpoint: string;
    readonly params: JsonObject;
    readonly class: CallClass;
    readonly intent?: OrderTerms;
    readonly clientOrderId?: string;
    readonly purpose?: string;
    /** The market price from a price band; the order is measured at it. */
    readonly reference?: string;
  };
  /** The figures with which the limits let a write leave, directly before its attempt. */
  readonly 'call.checked': { readonly call: string; readonly limits: JsonObject };
  /** An attempt is about to be sent; durable before the first byte. `params` are the literals on the wire. */
  readonly 'call.attempted': {
    readonly call: string;
    readonly n: number;
    readonly method: string;
    readonly path: string;
    readonly params: JsonObject;
    /** sha256 of the exact bytes of query or body. */
    readonly digest: string;
    readonly tokens: number;
    readonly epoch: number;
    /** ms waited for tokens before this attempt. */
    readonly waitedMs: number;
  };
  /** A call has waited for its tokens for a while: what goes on waiting is no hang until then (epoch ms). */
  readonly 'call.waiting': { readonly call: string; readonly until: number };
  /** The answer to an attempt that was refused because its session had expired. The session was renewed; another attempt follows. */
  readonly 'call.answered': {
    readonly call: string;
    /** Number of the attempt. */
    readonly n: number;
    readonly status: number;
    readonly message: string;
    readonly headers: JsonObject;
  };
  readonly 'call.settled': {
    readonly call: string;
    readonly kind: 'confirmed' | 'rejected' | 'denied' | 'unresolved';
    /** HTTP status, when there was an answer. */
    readonly status?: number;
    readonly success?: boolean;
    readonly failure?: string;
    readonly code?: string;
    readonly message?: string;
    readonly definite?: boolean;
    readonly retryAfterMs?: number;
    readonly result?: Json;
    readonly sentAt?: number;
    readonly headers?: JsonObject;
    readonly notes?: readonly string[];
    /** Number of rows of other orders that were left out of `result`. */
    readonly leftOut?: number;
    /** Rows that could not be read and may be orders of this run; with the client order id where they show it. */
    readonly unread?: readonly UnreadOrder[];
  };
  readonly 'feed.read': {
    readonly call: string;
    readonly name: string;
    readonly key?: string;
    readonly value?: string;
    readonly at?: number;
    /** It was read to measure an order that a limit applies to; no step asked for it. */
    readonly by?: 'limits';
  };
  /**
   * The engine's conclusion about an order without a new answer: T_CONFIRM, T_EXHAUSTED, T_SETTLE (time passed), REFUSED (a
   * refusal in unknown words, and one lookup that found nothing; not written any more), DENY (superseded before it was sent).
   */
  readonly 'order.concluded': {
    readonly clientOrderId: string;
    readonly event: 'T_CONFIRM' | 'T_EXHAUSTED' | 'T_SETTLE' | 'REFUSED' | 'DENY';
    readonly because: string;
    /** T_EXHAUSTED: a page of the market could not confirm what the look-ups found, so absence is not proven. */
    readonly unproven?: true;
  };
  /** The order changed state. Written for the reader; review derives it again from the calls. */
  readonly 'order.moved': {
    readonly clientOrderId: string;
    readonly orderId?: string;
    readonly from: string;
    readonly to: string;
    readonly event: string;
    readonly filled: string;
  };
  /** LateFill, Overfill, LateOrder, RejectedWithFill, ExternalChange, AmendLost, CancelLost, illegal events, duplicates, orphans. */
  readonly 'order.alarmed': { readonly clientOrderId: string; readonly alarm: string; readonly detail: JsonObject };
  /** Orders open on the account when a live run began; decimals as strings. */
  readonly 'account.reconciled': {
    readonly open: number;
    readonly external: readonly JsonObject[];
    readonly ofOtherRuns: readonly JsonObject[];
    /** Why rows of the list could not be read, one for each: open orders of which nothing else is known. */
    readonly unread?: readonly string[];
  };
  /** The result of a `cancel_all` step: the number of cancels and reads, and the account's orders that can still fill. */
  readonly 'account.swept': {
    readonly cancels: number;
    readonly readings: number;
    /** Absent when the venue never showed the complete list. */
    readonly left?: readonly JsonObject[];
    /** Rows of the last list that cannot be read, of orders that may still fill. */
    readonly unread?: readonly UnreadOrder[];
    /** Client order ids of this run's orders that may or may not exist at the venue. */
    readonly inDoubt: readonly string[];
    /** Why the last request that was refused or not answered failed. */
    readonly because?: string;
  };
  /**
   * Orders of earlier live runs of the account whose state at the venue differs from their journals, and which no run watches
   * any more. A run that begins compares the journals with the venue; it writes this when it asked or found something.
   */
  readonly 'account.late_orders': {
    /** Number of those runs' orders whose state their journals leave unknown. */
    readonly inDoubt: number;
    readonly late: readonly LateOrder[];
    /** The requests that asked for them, each GET /orders; `status` is absent when no answer came. */
    readonly requests: readonly {
      /** Epoch ms. */
      readonly sentAt: number;
      readonly tokens: number;
      readonly status?: number;
      readonly success: boolean;
    }[];
  };
  readonly 'deadman.moved': {
    readonly event: 'armed' | 'renewed' | 'disarmed' | 'assumed_fired';
    readonly market: string;
    readonly timeoutMs?: number;
    readonly because?: string;
  };
  readonly 'approval.asked': {
    readonly ask: string;
    readonly by: readonly string[];
    readonly until: number;
    readonly plan: string;
  };
  /** A person or a signal acted on this run: approve, reject, cancel, kill, interrupt. */
  readonly 'operator.acted': {
    readonly command: string;
    readonly by: string;
    readonly step?: string;
    readonly reason?: string;
  };
  /** The session with the venue, which all runs of an account share, was renewed or could not be renewed. */
  readonly 'session.moved': {
    readonly event: 'requested' | 'renewed' | 'failing';
    /** With `requested`: the POST /jwt, which belongs to no step. `status` is absent when no answer came. */
    readonly request?: {
      /** Epoch ms. */
      readonly sentAt: number;
      readonly tokens: number;
      readonly status?: number;
      readonly success: boolean;
    };
    /** With `renewed`: when the new JWT expires, epoch ms. */
    readonly expiresAt?: number;
    /** With `failing`: the reason, without secrets. */
    readonly because?: string;
  };
  /** The store does not answer, or answers again. In between nothing that adds risk is sent; heartbeats and cancels go on. */
  readonly 'store.moved': {
    readonly event: 'away' | 'back';
    /** With `away`: what the store did, without secrets. */
    readonly because?: string;
  };
  /**
   * Rounds of a loop that did what the round before them did, and heartbeats that say what the one before said: one entry in place of
   * all of theirs. Only stored: folds, replay and resume get the entries of each (rounds/round-line.ts).
   */
  readonly 'round.idle': {
    /** Path of the loop, and the number of the first of its rounds. */
    readonly loop: string;
    readonly first: number;
    readonly rounds: number;
    /** Epoch ms of the first and the last of their entries. */
    readonly firstAt: number;
    readonly lastAt: number;
    /** The entries of the round that these say again, and its number. */
    readonly like: number;
    /** Which fields may differ from round to round (rounds/round-shape.ts); 1 where it is absent. */
    readonly form?: number;
    readonly entries: readonly { readonly type: EntryType; readonly step: string; readonly data: JsonObject }[];
    /** For each entry its instant and its figures, as differences from round to round. */
    readonly columns: readonly Json[];
    /**
     * The same of the heartbeats, and of the readings of the switch, that came between those entries; `like`: the number of the
     * call that they say again. Columns: numbers of the calls, places of each entry, then as above.
     */
    readonly heartbeats?: readonly {
      readonly count: number;
      readonly like: number;
      readonly entries: readonly { readonly type: EntryType; readonly step: string; readonly data: JsonObject }[];
      readonly columns: readonly Json[];
    }[];
  };
  /** The wall clock was adjusted: from now on it is this many ms ahead of the run's own time; negative when it is behind. */
  readonly 'clock.adjusted': { readonly wallAheadMs: number };
}

export type EntryType = keyof EntryContents;
export type DataOf<T extends EntryType> = EntryContents[T];
export type EntryBody = { [T in EntryType]: { readonly type: T; readonly data: EntryContents[T] } }[EntryType];
/** The same while it is put together: a long run writes millions, and spreading a field that may be absent costs more than setting it. */
export type DraftOf<T extends EntryType> = { -readonly [K in keyof DataOf<T>]: DataOf<T>[K] };

/** The origin of each type of entry. */
export const ORIGIN = {
  'run.started': 'world',
  'run.moved': 'engine',
  'run.ended': 'engine',
  'run.residual': 'engine',
  'run.resumed': 'world',
  'step.started': 'engine',
  'step.decided': 'engine',
  'step.ended': 'engine',
  'step.retried': 'engine',
  'variable.set': 'engine',
  'notification.sent': 'engine',
  'notification.settled': 'world',
  'call.intended': 'gateway',
  'call.checked': 'gateway',
  'call.attempted': 'gateway',
  'call.waiting': 'gateway',
  'call.answered': 'gateway',
  'call.settled': 'gateway',
  'feed.read': 'gateway',
  'order.concluded': 'engine',
  'order.moved': 'engine',
  'order.alarmed': 'engine',
  'account.reconciled': 'engine',
  'account.swept': 'engine',
  'account.late_orders': 'world',
  'deadman.moved': 'engine',
  'approval.asked': 'engine',
  'operator.acted': 'world',
  'session.moved': 'world',
  'store.moved': 'world',
  'clock.adjusted': 'world',
  'round.idle': 'engine',
} as const satisfies Record<EntryType, 'engine' | 'gateway' | 'world'>;

/** The version of the entries that this program writes. entry-v1.ts reads those of version 1. */
export const ENTRY_VERSION = 2;

/** The fields of every entry beside its type and data (reliability.md, Journal lines). */
export interface Envelope {
  /** The version in which the entry was written; its names are always those of `ENTRY_VERSION`. */
  readonly v: 1 | 2;
  /** Gapless from 1 within the run. */
  readonly seq: number;
  /** Epoch ms of the turn it was written in, on the run's own clock; `clock.adjusted` says how far the wall clock differs. */
  readonly at: number;
  /** Monotonic ms since the machine's start, its sleep included; comparable between entries of the same `boot`. */
  readonly mono: number;
  /** Identifies one start of one machine. */
  readonly boot: string;
  readonly epoch: number;
  readonly account: string;
  readonly run: string;
  /** First 16 hex digits of the definition's sha256. */
  readonly def: string;
  /** Path of the step it belongs to (with the iteration in brackets: `rungs[3]/o`); empty for the run itself. */
  readonly step: string;
  readonly actor: string;
  /** Hash of the entry before; 64 zeros for the first. */
  readonly prev: string;
}

export type EntryOf<T extends EntryType> = Envelope & {
  readonly type: T;
  readonly data: DataOf<T>;
  readonly hash: string;
};
export type Entry = { [T in EntryType]: EntryOf<T> }[EntryType];

/** True for epoch ms that a Date can hold; a forged line must not make a report throw. */
export function isInstant(at: unknown): boolean {
  return Number.isSafeInteger(at) && Math.abs(at as number) <= 8.64e15;
}

/** A step's path without its rounds and attempts, as the runbook names the step: `repeat/do/o` of `repeat[3]/do/o~2`. */
export function stripRounds(path: string): string {
  return path.includes('[') || path.includes('~') ? path.replace(/\[\d+\]|~\d+/g, '') : path;
}

/** Builds the id of a reading of a feed. */
export function buildFeedId(step: string, feed: string, key: string | undefined): string {
  return `${step}#feed:${feed}${key === undefined ? '' : `:${key}`}`;
}

const FEED_REQUEST = '#feed-request:';

/** Builds the id of a declared request that a feed sends by itself; the engine knows only the feed. */
export function buildFeedRequestId(step: string, feed: string, n: number): string {
  return `${step}${FEED_REQUEST}${feed}:${n}`;
}
export function isFeedRequest(call: string): boolean {
  return call.includes(FEED_REQUEST);
}
