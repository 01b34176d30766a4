/**
 * The journal's vocabulary: one discriminated union, tag `type`. Entries are JSON-safe, decimals are strings, instants
 * are epoch ms. A run's truth is the list of its entries: live, on resume, on replay and in review the same folds read
 * them. Nothing secret may be in an entry; parameters are written through the catalogue's redaction.
 *
 * Three origins (`ORIGIN` below): `engine` entries follow from what came before, so executing the journal again makes them
 * again; `gateway` entries are what happened on the road to the venue and back; `world` entries are what people and
 * clocks did. Replay feeds the last two in and compares the first.
 */
import type { CallClass, OrderTerms } from '../venue/port.ts';

export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };
export type JsonObject = { readonly [key: string]: Json };

export type RunMode = 'fixtures' | 'simulated' | 'live';
export type RunOutcome = 'succeeded' | 'failed' | 'stopped' | 'halted';
export type StepOutcome = 'succeeded' | 'failed' | 'skipped' | 'halted';

/** What made a step or run fail: `kind` is a word a runbook can catch. */
export interface ErrorFact {
  readonly kind: string;
  readonly message: string;
  readonly step?: string;
}

/** The process that writes a live run: what could make it behave differently from another. */
export interface ProcessFact {
  readonly pid: number;
  /** Of Node. */
  readonly node: string;
  /** sha256 of the lock file its dependencies were installed by. */
  readonly lock?: string;
  /** What times are read from; how far it is from the venue's shows in the `date` header of every answer. */
  readonly clock: 'system';
}

export interface Away {
  readonly ms: number;
  /**
   * `machine`: by the clock of one start of one machine, which nobody can put. `wall`: by the clock on the wall, of another
   * start or another machine, and that proves nothing: a deadman switch that stood is taken for fired.
   */
  readonly by: 'machine' | 'wall';
}

/** An order that an earlier run gave up on, and that the venue shows: what that run's journal says of it, and what the venue does. */
export interface LateOrder {
  readonly clientOrderId: string;
  readonly orderId: string;
  readonly market: string;
  /** The run whose order it was, and the state in which its journal leaves it. */
  readonly run: string;
  readonly recorded: string;
  /** Of the venue's record; `filled` where the record was read, and not only the list of what is open. */
  readonly status: string;
  readonly filled?: string;
}

export type EntryBody =
  /** First entry of a run. Holds all that is needed to execute it again. */
  | {
      readonly type: 'run.started';
      readonly data: {
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
        /** The runbook first, then every runbook it calls: whole texts, pinned. */
        readonly sources: readonly {
          readonly name: string;
          readonly file: string;
          readonly text: string;
          readonly sha256: string;
        }[];
        /** Every venue setting in force (profile with defaults filled in, no secret), and the market table. */
        readonly settings: JsonObject;
        readonly engine: string;
        /** Of live runs. */
        readonly process?: ProcessFact;
        readonly plan?: string;
        readonly fixture?: { readonly file: string; readonly sha256: string };
        readonly account: string;
        /** The step after which the run was asked to stop. */
        readonly until?: string;
        /** Where the schedule started it: the nominal instant, epoch ms, and the slot's name. */
        readonly occurrence?: { readonly slot: string; readonly nominal: number };
      };
    }
  | {
      readonly type: 'run.moved';
      readonly data: { readonly from: string; readonly to: string; readonly event: string };
    }
  | {
      readonly type: 'run.ended';
      readonly data: {
        readonly outcome: RunOutcome;
        readonly reason?: string;
        readonly error?: ErrorFact;
        readonly outputs: JsonObject;
      };
    }
  /** A run taken up again after its process died; everything before is history. */
  | {
      readonly type: 'run.resumed';
      readonly data: {
        readonly openCalls: readonly string[];
        readonly process?: ProcessFact;
        /** How long nobody executed it, counted from its last entry. */
        readonly away?: Away;
      };
    }
  /** `now` of the step's expressions, pinned (language.md, decision 16). */
  | {
      readonly type: 'step.started';
      readonly data: { readonly verb: string; readonly id?: string; readonly attempt: number; readonly now: number };
    }
  /** A condition or assertion with what it was decided from. */
  | {
      readonly type: 'step.decided';
      readonly data: {
        readonly what: string;
        readonly expression: string;
        readonly inputs: JsonObject;
        readonly value: Json;
      };
    }
  | {
      readonly type: 'step.ended';
      readonly data: {
        readonly verb: string;
        readonly id?: string;
        readonly outcome: StepOutcome;
        readonly attempts: number;
        readonly error?: ErrorFact;
        readonly value?: Json;
      };
    }
  /** A failed attempt that will be tried again at `retryAt`. */
  | {
      readonly type: 'step.retried';
      readonly data: {
        readonly verb: string;
        readonly attempt: number;
        readonly error: ErrorFact;
        readonly retryAt: number;
      };
    }
  | { readonly type: 'variable.set'; readonly data: { readonly name: string; readonly value: Json } }
  | { readonly type: 'notification.sent'; readonly data: { readonly to: string; readonly text: string } }
  /** An intent, durable before anything leaves. */
  | {
      readonly type: 'call.intended';
      readonly data: {
        readonly call: string;
        readonly endpoint: string;
        readonly params: JsonObject;
        readonly class: CallClass;
        readonly intent?: OrderTerms;
        readonly clientOrderId?: string;
        readonly purpose?: string;
        /** Where a price band says that the market stands, which the order is measured by. */
        readonly reference?: string;
      };
    }
  /** What the limits looked at before a write was let through. */
  | { readonly type: 'call.checked'; readonly data: { readonly call: string; readonly limits: JsonObject } }
  /** About to send: durable before the first byte. `params` are the wire's literals. */
  | {
      readonly type: 'call.attempted';
      readonly data: {
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
    }
  /** An attempt was refused for its session, which was renewed: what it was answered with. The call goes on with another attempt. */
  | {
      readonly type: 'call.answered';
      readonly data: {
        readonly call: string;
        /** Of the attempt. */
        readonly n: number;
        readonly status: number;
        readonly message: string;
        readonly headers: JsonObject;
      };
    }
  | {
      readonly type: 'call.settled';
      readonly data: {
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
      };
    }
  | {
      readonly type: 'feed.read';
      readonly data: {
        readonly call: string;
        readonly name: string;
        readonly key?: string;
        readonly value?: string;
        readonly at?: number;
      };
    }
  /**
   * What the engine concluded about an order without a new answer: T_CONFIRM, T_EXHAUSTED, T_SETTLE (time), REFUSED (a
   * refusal of unknown text, and one look-up that found nothing), DENY (superseded before it was ever sent).
   */
  | {
      readonly type: 'order.concluded';
      readonly data: {
        readonly clientOrderId: string;
        readonly event: 'T_CONFIRM' | 'T_EXHAUSTED' | 'T_SETTLE' | 'REFUSED' | 'DENY';
        readonly because: string;
      };
    }
  /** The order machine moved; folded again from calls in review, written for the reader. */
  | {
      readonly type: 'order.moved';
      readonly data: {
        readonly clientOrderId: string;
        readonly orderId?: string;
        readonly from: string;
        readonly to: string;
        readonly event: string;
        readonly filled: string;
      };
    }
  /** LateFill, Overfill, LateOrder, RejectedWithFill, ExternalChange, AmendLost, CancelLost, illegal events, duplicates, orphans. */
  | {
      readonly type: 'order.alarmed';
      readonly data: { readonly clientOrderId: string; readonly alarm: string; readonly detail: JsonObject };
    }
  /** What was open on the account when a live run began; decimals as strings. */
  | {
      readonly type: 'account.reconciled';
      readonly data: {
        readonly open: number;
        readonly external: readonly JsonObject[];
        readonly ofOtherRuns: readonly JsonObject[];
      };
    }
  /** What a `cancel_all` step came to: how often it asked and read, and the orders of the account that could still fill. */
  | {
      readonly type: 'account.swept';
      readonly data: {
        readonly cancels: number;
        readonly readings: number;
        /** Absent where the venue never showed all of what is left. */
        readonly left?: readonly JsonObject[];
        /** Orders of this run, by client order id, of which nobody knows yet whether they are there. */
        readonly inDoubt: readonly string[];
        /** Of the last request that was refused or not answered: why. */
        readonly because?: string;
      };
    }
  /**
   * Orders of earlier live runs of the account that the venue shows otherwise than their journals, which nobody watches any
   * more: what whoever begins a run learned from journals and venue. Written where something was asked or found.
   */
  | {
      readonly type: 'account.late_orders';
      readonly data: {
        /** Orders of those runs whose fate their journals do not know, or do not know any more. */
        readonly inDoubt: number;
        readonly late: readonly LateOrder[];
        /** What was asked for it, each GET /orders; `status` is absent where no answer came. */
        readonly requests: readonly {
          /** Epoch ms. */
          readonly sentAt: number;
          readonly tokens: number;
          readonly status?: number;
          readonly success: boolean;
        }[];
      };
    }
  | {
      readonly type: 'deadman.moved';
      readonly data: {
        readonly event: 'armed' | 'renewed' | 'disarmed' | 'assumed_fired';
        readonly market: string;
        readonly timeoutMs?: number;
        readonly because?: string;
      };
    }
  | {
      readonly type: 'approval.asked';
      readonly data: {
        readonly ask: string;
        readonly by: readonly string[];
        readonly until: number;
        readonly plan: string;
      };
    }
  /** What a person or a signal did to this run: approve, reject, cancel, kill, interrupt. */
  | {
      readonly type: 'operator.acted';
      readonly data: {
        readonly command: string;
        readonly by: string;
        readonly step?: string;
        readonly reason?: string;
      };
    }
  /** The session with the venue, which all runs of an account share: a new JWT, or none to be had. */
  | {
      readonly type: 'session.moved';
      readonly data: {
        readonly event: 'requested' | 'renewed' | 'failing';
        /** With `requested`: the POST /jwt that no step asked for. `status` is absent where no answer came. */
        readonly request?: {
          /** Epoch ms. */
          readonly sentAt: number;
          readonly tokens: number;
          readonly status?: number;
          readonly success: boolean;
        };
        /** With `renewed`: when the new JWT runs out, epoch ms. */
        readonly expiresAt?: number;
        /** With `failing`: why; free of secrets. */
        readonly because?: string;
      };
    }
  /** The clock on the wall was put: by how many ms it is beyond the run's own time from now on; negative where it is behind. */
  | { readonly type: 'clock.adjusted'; readonly data: { readonly wallAheadMs: number } };

export type EntryType = EntryBody['type'];
export type DataOf<T extends EntryType> = Extract<EntryBody, { type: T }>['data'];

/** The table of origins: who can make an entry of each type. */
export const ORIGIN = {
  'run.started': 'world',
  'run.moved': 'engine',
  'run.ended': 'engine',
  'run.resumed': 'world',
  'step.started': 'engine',
  'step.decided': 'engine',
  'step.ended': 'engine',
  'step.retried': 'engine',
  'variable.set': 'engine',
  'notification.sent': 'engine',
  'call.intended': 'gateway',
  'call.checked': 'gateway',
  'call.attempted': 'gateway',
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
  'clock.adjusted': 'world',
} as const satisfies Record<EntryType, 'engine' | 'gateway' | 'world'>;

/** The version of the entries that this program writes. Those of version 1 are read by entry-v1.ts. */
export const ENTRY_VERSION = 2;

/** What every entry carries beside its type and data (reliability.md, Journal lines). */
export interface Envelope {
  /** The version in which the entry was written; its names are always those of `ENTRY_VERSION`. */
  readonly v: 1 | 2;
  /** Gapless from 1 within the run. */
  readonly seq: number;
  /** Epoch ms of the turn it was written in, on the run's own clock; `clock.adjusted` tells where the one on the wall differs. */
  readonly at: number;
  /** Monotonic ms since the machine's start, its sleep included: of one zero for all entries of one `boot`. */
  readonly mono: number;
  /** Which start of which machine. */
  readonly boot: string;
  readonly epoch: number;
  readonly account: string;
  readonly run: string;
  /** First 16 hex digits of the definition's sha256. */
  readonly def: string;
  /** Path of the step it belongs to (with the iteration in brackets: `rungs[3]/o`), `` for the run itself. */
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

const FEED_REQUEST = '#feed-request:';

/** The id of a declared request that a feed made of itself: the engine knows only the feed. */
export function feedRequestId(step: string, feed: string, n: number): string {
  return `${step}${FEED_REQUEST}${feed}:${n}`;
}
export function isFeedRequest(call: string): boolean {
  return call.includes(FEED_REQUEST);
}
