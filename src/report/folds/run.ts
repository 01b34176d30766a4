/**
 * The report of a run: the document that `dry-run --json` and `run --json` print, folded from the run's entries alone. What
 * it says of a run that never ended is what its entries say: halted, for the reason `interrupted`. Its form is a contract with
 * other programs (interface.md, JSON); a field that a person would like to see beside it belongs to the timeline.
 */
import type {
  DataOf,
  Entry,
  ErrorFact,
  Json,
  JsonObject,
  RunMode,
  RunOutcome,
  StepOutcome,
} from '../../journal/entry.ts';
import { StoreError } from '../../journal/store.ts';
import { isoTime } from '../format.ts';
import { OrderFold, type OrderRow } from './orders.ts';
import { type Residual, ResidualFold } from './residual.ts';

export interface RunReport {
  readonly run: string;
  readonly runbook: string;
  readonly mode: RunMode;
  readonly outcome: RunOutcome;
  readonly reason?: string;
  readonly error?: ErrorFact;
  /** ISO 8601, as every time in the report. */
  readonly startedAt: string;
  readonly endedAt: string;
  /** Every step that was executed or skipped, in the order they began. */
  readonly steps: readonly StepRow[];
  /** Every request, in the order they were sent. */
  readonly requests: readonly RequestRow[];
  /** Every order of the run, in the order they were meant. */
  readonly orders: readonly OrderRow[];
  readonly outputs: JsonObject;
  readonly tokens: TokenUse;
  readonly deadman: readonly {
    readonly at: string;
    readonly event: 'armed' | 'renewed' | 'disarmed' | 'assumed_fired';
  }[];
}

interface StepRow {
  readonly path: string;
  readonly id?: string;
  readonly verb: string;
  readonly outcome: StepOutcome;
  readonly startedAt: string;
  readonly endedAt: string;
  readonly attempts: number;
}

interface RequestRow {
  readonly method: string;
  readonly path: string;
  /** What went on the wire; numbers as their literal text. */
  readonly params: JsonObject;
  readonly tokens: number;
  /** Null where no answer came. */
  readonly status: number | null;
  readonly success: boolean;
  readonly at: string;
}

interface TokenUse {
  readonly used: number;
  /** The most that were spent within any 60 s. */
  readonly peakPerMinute: number;
}

/** Folds a run's entries into its report. Throws StoreError `damaged` when they do not begin with `run.started`. */
export function runReport(entries: Iterable<Entry>): RunReport {
  const fold = new RunFold();
  for (const entry of entries) fold.apply(entry);
  return fold.report();
}

/** The report's fold, entry by entry, for whoever reads a journal once for several views. */
export class RunFold {
  private started: Extract<Entry, { type: 'run.started' }> | undefined;
  private ended: Extract<Entry, { type: 'run.ended' }> | undefined;
  private lastAt = 0;
  private readonly steps = new StepFold();
  private readonly requests = new RequestFold();
  private readonly orders = new OrderFold();
  private readonly deadman: RunReport['deadman'][number][] = [];
  private readonly left = new ResidualFold();

  apply(entry: Entry): void {
    if (this.started === undefined && entry.type !== 'run.started') {
      throw new StoreError(
        'damaged',
        `run ${entry.run} does not begin with run.started but with ${entry.type} (entry ${entry.seq})`,
      );
    }
    this.lastAt = Math.max(this.lastAt, entry.at);
    if (entry.type === 'run.started') this.started ??= entry;
    if (entry.type === 'run.ended') this.ended = entry;
    // A run that was taken up again goes on; only its last end counts.
    if (entry.type === 'run.resumed') this.ended = undefined;
    if (entry.type === 'deadman.moved') this.deadman.push({ at: isoTime(entry.at), event: entry.data.event });
    this.steps.apply(entry);
    this.requests.apply(entry);
    this.orders.apply(entry);
    this.left.apply(entry);
  }

  /** What it leaves behind at the venue, which is no part of the contract that the report is. */
  residual(): Residual {
    return this.left.residual(this.orders.orders());
  }

  report(): RunReport {
    if (this.started === undefined) throw new StoreError('damaged', 'the run has no entries');
    const { runbook, mode, startedAt } = this.started.data;
    const { outcome, reason, error, outputs } = this.ended?.data ?? {
      outcome: 'halted',
      reason: 'interrupted',
      outputs: {},
    };
    return {
      run: this.started.run,
      runbook,
      mode,
      outcome,
      ...(reason === undefined ? {} : { reason }),
      ...(error === undefined ? {} : { error: this.located(error) }),
      startedAt: isoTime(startedAt),
      endedAt: isoTime(this.ended?.at ?? this.lastAt),
      steps: this.steps.rows(this.lastAt, outcome === 'halted' ? 'halted' : 'failed'),
      requests: this.requests.rows(),
      orders: this.orders.rows(),
      outputs,
      tokens: this.requests.tokens(),
      deadman: this.deadman,
    };
  }

  /** Of a run that was stopped from outside, the step it was at. */
  private located(error: ErrorFact): ErrorFact {
    const step = error.kind === 'cancelled' && !error.step ? this.steps.newestOpen() : undefined;
    return step === undefined ? error : { ...error, step };
  }
}

/** A step under way, or done. One whose end is not in the journal ended as the run did. */
interface StepLife {
  readonly path: string;
  readonly id: string | undefined;
  readonly verb: string;
  readonly startedAt: number;
  endedAt?: number;
  outcome?: StepOutcome;
  attempts: number;
}

class StepFold {
  private readonly lives: StepLife[] = [];
  private readonly open = new Map<string, StepLife>();

  apply(entry: Entry): void {
    if (entry.type === 'step.started') {
      this.begin(entry.step, entry.data, entry.at).attempts = entry.data.attempt;
    } else if (entry.type === 'step.ended') {
      const life = this.begin(entry.step, entry.data, entry.at);
      this.open.delete(entry.step);
      life.endedAt = entry.at;
      life.outcome = entry.data.outcome;
      life.attempts = entry.data.attempts;
    }
  }

  newestOpen(): string | undefined {
    return [...this.open.keys()].at(-1);
  }

  rows(lastAt: number, openOutcome: 'halted' | 'failed'): readonly StepRow[] {
    return this.lives.map(({ path, id, verb, outcome = openOutcome, startedAt, endedAt = lastAt, attempts }) => ({
      path,
      ...(id === undefined ? {} : { id }),
      verb,
      outcome,
      startedAt: isoTime(startedAt),
      endedAt: isoTime(endedAt),
      attempts,
    }));
  }

  /** The step open at a path: further attempts belong to it. A skipped step ends without having started. */
  private begin(
    path: string,
    { verb, id }: { readonly verb: string; readonly id?: string },
    startedAt: number,
  ): StepLife {
    const known = this.open.get(path);
    if (known !== undefined) return known;
    const life: StepLife = { path, id, verb, startedAt, attempts: 0 };
    this.open.set(path, life);
    this.lives.push(life);
    return life;
  }
}

interface Request {
  readonly row: Omit<RequestRow, 'status' | 'success' | 'at'>;
  readonly at: number;
  status: number | null;
  success: boolean;
}

/** Requests that no step and no keeper asked for; what they carried is in no journal. */
export function requestsBeside(entry: Entry): readonly Request[] {
  const told = (method: string, path: string, asked: DataOf<'account.late_orders'>['requests'][number]): Request => {
    const { sentAt, tokens, status = null, success } = asked;
    return { row: { method, path, params: {}, tokens }, at: sentAt, status, success };
  };
  if (entry.type === 'account.late_orders') return entry.data.requests.map((each) => told('GET', '/orders', each));
  if (entry.type !== 'session.moved' || entry.data.request === undefined) return [];
  return [told('POST', '/jwt', entry.data.request)];
}

class RequestFold {
  private readonly requests: Request[] = [];
  /** The newest attempt of each call that has no answer yet. */
  private readonly waiting = new Map<string, Request>();

  apply(entry: Entry): void {
    if (entry.type === 'call.attempted') {
      const { call, method, path, params, tokens } = entry.data;
      const request: Request = {
        row: { method, path, params: literals(params), tokens },
        at: entry.at,
        status: null,
        success: false,
      };
      this.requests.push(request);
      this.waiting.set(call, request);
    } else if (entry.type === 'call.answered') {
      const request = this.waiting.get(entry.data.call);
      if (request !== undefined) request.status = entry.data.status;
      // What may be said of the call later is not said of this request.
      this.waiting.delete(entry.data.call);
    } else if (entry.type === 'call.settled') {
      const request = this.waiting.get(entry.data.call);
      // Denied calls settle without ever having been sent.
      if (request === undefined) return;
      request.status = entry.data.status ?? null;
      request.success = entry.data.success ?? false;
      this.waiting.delete(entry.data.call);
    } else {
      const beside = requestsBeside(entry);
      if (beside.length === 0) return;
      this.requests.push(...beside);
      // Told once they were answered; what was sent meanwhile stands before them.
      this.requests.sort((first, second) => first.at - second.at);
    }
  }

  rows(): readonly RequestRow[] {
    return this.requests.map(({ row, at, status, success }) => ({ ...row, status, success, at: isoTime(at) }));
  }

  tokens(): TokenUse {
    let used = 0;
    let inWindow = 0;
    let peakPerMinute = 0;
    let oldest = 0;
    for (const { row, at } of this.requests) {
      used += row.tokens;
      inWindow += row.tokens;
      for (
        let first = this.requests[oldest];
        first !== undefined && first.at <= at - 60_000;
        first = this.requests[oldest]
      ) {
        inWindow -= first.row.tokens;
        oldest += 1;
      }
      peakPerMinute = Math.max(peakPerMinute, inWindow);
    }
    return { used, peakPerMinute };
  }
}

function literals(params: JsonObject): JsonObject {
  return Object.fromEntries(
    Object.entries(params).map(([name, value]): [string, Json] => [
      name,
      typeof value === 'number' ? String(value) : value,
    ]),
  );
}
