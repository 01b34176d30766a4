/**
 * Folds the report of a run, the document that `dry-run --json` and `run --json` print, from the run's entries alone. A run
 * that never ended is reported as halted, for the reason `interrupted`. The form is a contract with other programs
 * (interface.md, JSON); fields for people belong to the timeline.
 */
import { isSameJson } from '../../base/json.ts';
import {
  type DataOf,
  type Entry,
  type ErrorFact,
  type Json,
  type JsonObject,
  type RunMode,
  type RunOutcome,
  readStepEnd,
  type StepOutcome,
} from '../../journal/entry.ts';
import { StoreError } from '../../journal/store.ts';
import type { LeftPosition, LeftSide } from '../../venue/position/residual.ts';
import { formatIsoTime } from '../format.ts';
import { MoneyFold, type RunMoney } from '../results/money.ts';
import { NoticeFold, type NoticeRow } from '../results/notices.ts';
import { OrderFold, type OrderRow } from './orders.ts';
import { type Residual, ResidualFold } from './residual.ts';

export interface RunReport {
  readonly run: string;
  readonly runbook: string;
  readonly mode: RunMode;
  /** Those that were given, and the defaults of the others. */
  readonly inputs: JsonObject;
  readonly outcome: RunOutcome;
  readonly reason?: string;
  readonly error?: ErrorFact;
  /** ISO 8601, as every time in the report. */
  readonly startedAt: string;
  readonly endedAt: string;
  /** Every step that was executed or skipped, in the order they began. */
  readonly steps: readonly StepRow[];
  /** Every request, in the order of sending. */
  readonly requests: readonly RequestRow[];
  /** Every order of the run, in the order of their intents. */
  readonly orders: readonly OrderRow[];
  readonly outputs: JsonObject;
  readonly leaves?: RunResult['leaves'];
  readonly residual: RunResult['residual'];
  readonly money: RunMoney;
  readonly notices: readonly NoticeRow[];
  readonly alarms: readonly AlarmRow[];
  readonly tokens: TokenUse;
  readonly deadman: readonly {
    readonly at: string;
    readonly event: 'armed' | 'renewed' | 'disarmed' | 'assumed_fired';
  }[];
}

/** What a run came to: the part of its report that `audit show` has too. */
export interface RunResult {
  /** What the runbook declares to leave, and whether it was kept; absent of a run without an end. */
  readonly leaves?: { readonly position: LeftPosition; readonly ok: boolean };
  /** What is left of what the run opened; sizes in base currency. */
  readonly residual: readonly Pick<LeftSide, 'market' | 'size' | 'side' | 'covered'>[];
  /** By market. */
  readonly money: RunMoney;
  /** Every message to people, in the order of sending. */
  readonly notices: readonly NoticeRow[];
}

/** What is said of a run while it goes on, several times a second; the report would cost more the longer the run is. */
export interface RunProgress {
  readonly run: string;
  /** Those that may be at the venue. */
  readonly orders: RunReport['orders'];
}

/** Something about an order that a person should look at. */
interface AlarmRow {
  readonly at: string;
  readonly clientOrderId: string;
  readonly alarm: string;
}

interface StepRow {
  readonly path: string;
  readonly id?: string;
  readonly verb: string;
  /** `left`: another branch of `join: any` was first. */
  readonly outcome: StepOutcome | 'left';
  readonly startedAt: string;
  readonly endedAt: string;
  readonly attempts: number;
}

interface RequestRow {
  readonly method: string;
  readonly path: string;
  /** The parameters on the wire; numbers as their literal text. */
  readonly params: JsonObject;
  readonly tokens: number;
  /** Null if no answer came. */
  readonly status: number | null;
  readonly success: boolean;
  readonly at: string;
}

interface TokenUse {
  readonly used: number;
  /** The most tokens spent within any 60 s. */
  readonly peakPerMinute: number;
}

/** Folds a run's entries into its report. Throws StoreError `damaged` when they do not begin with `run.started`. */
export function makeRunReport(entries: Iterable<Entry>): RunReport {
  const fold = new RunFold();
  for (const entry of entries) fold.apply(entry);
  return fold.report();
}

/** Folds what a run came to, entry by entry. */
export class ResultFold {
  readonly orders = new OrderFold();
  private readonly left = new ResidualFold();
  private readonly money = new MoneyFold();
  private readonly notices = new NoticeFold();

  apply(entry: Entry): void {
    this.orders.apply(entry);
    this.left.apply(entry);
    this.money.apply(entry, this.orders.tracker);
    this.notices.apply(entry);
  }

  /** What the run leaves behind at the venue, with more than the report's contract has. */
  residual(): Residual {
    return this.left.findResidual(this.orders.orders());
  }

  result(): RunResult {
    const { leaves, left, beyond } = this.residual();
    return {
      ...(leaves === undefined ? {} : { leaves: { position: leaves, ok: beyond.length === 0 } }),
      residual: left.map(({ market, size, side, covered }) => ({ market, size, side, covered })),
      money: this.money.collect(this.orders.tracker),
      notices: this.notices.listRows(),
    };
  }
}

/** The report's fold, entry by entry, for code that reads a journal once for several views. */
export class RunFold {
  private started: Extract<Entry, { type: 'run.started' }> | undefined;
  private ended: Extract<Entry, { type: 'run.ended' }> | undefined;
  private lastAt = 0;
  private readonly steps = new StepFold();
  private readonly requests = new RequestFold();
  private readonly result = new ResultFold();
  private readonly deadman: RunReport['deadman'][number][] = [];
  private readonly alarms: AlarmRow[] = [];

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
    // A resumed run goes on; only its last end counts.
    if (entry.type === 'run.resumed') this.ended = undefined;
    if (entry.type === 'deadman.moved') this.deadman.push({ at: formatIsoTime(entry.at), event: entry.data.event });
    if (entry.type === 'order.alarmed')
      this.alarms.push({
        at: formatIsoTime(entry.at),
        clientOrderId: entry.data.clientOrderId,
        alarm: entry.data.alarm,
      });
    this.steps.apply(entry);
    this.requests.apply(entry);
    this.result.apply(entry);
  }

  /** What the run leaves behind at the venue, with more than the report's contract has. */
  residual(): Residual {
    return this.result.residual();
  }

  progress(): RunProgress {
    return { run: this.started?.run ?? '', orders: this.result.orders.unsettledRows() };
  }

  /** The newest request without an answer. */
  findUnanswered(): Pick<RequestRow, 'method' | 'path'> | undefined {
    return this.requests.findUnanswered();
  }

  report(): RunReport {
    if (this.started === undefined) throw new StoreError('damaged', 'the run has no entries');
    const { runbook, mode, inputs, startedAt } = this.started.data;
    const { outcome, reason, error, outputs } = this.ended?.data ?? {
      outcome: 'halted',
      reason: 'interrupted',
      outputs: {},
    };
    return {
      run: this.started.run,
      runbook,
      mode,
      inputs,
      outcome,
      ...(reason === undefined ? {} : { reason }),
      ...(error === undefined ? {} : { error: this.addStep(error) }),
      startedAt: formatIsoTime(startedAt),
      endedAt: formatIsoTime(this.ended?.at ?? this.lastAt),
      steps: this.steps.listRows(this.lastAt, outcome === 'halted' ? 'halted' : 'failed'),
      requests: this.requests.listRows(),
      orders: this.result.orders.rows(),
      outputs,
      ...this.result.result(),
      alarms: this.alarms,
      tokens: this.requests.sumTokens(),
      deadman: this.deadman,
    };
  }

  /** Of a run that was stopped from outside, the step it was at. */
  private addStep(error: ErrorFact): ErrorFact {
    const step = error.kind === 'cancelled' && !error.step ? this.steps.findNewestOpen() : undefined;
    return step === undefined ? error : { ...error, step };
  }
}

/** A step in progress or done. A step without an end in the journal ended as the run did. */
interface StepLife {
  readonly path: string;
  readonly id: string | undefined;
  readonly verb: string;
  readonly startedAt: number;
  endedAt: number | undefined;
  outcome: StepRow['outcome'] | undefined;
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
      life.outcome = readStepEnd(entry.data).outcome;
      life.attempts = entry.data.attempts;
    }
  }

  findNewestOpen(): string | undefined {
    return [...this.open.keys()].at(-1);
  }

  listRows(lastAt: number, openOutcome: 'halted' | 'failed'): readonly StepRow[] {
    return this.lives.map(({ path, id, verb, outcome = openOutcome, startedAt, endedAt = lastAt, attempts }) => ({
      path,
      ...(id === undefined ? {} : { id }),
      verb,
      outcome,
      startedAt: formatIsoTime(startedAt),
      endedAt: formatIsoTime(endedAt),
      attempts,
    }));
  }

  /** The open step at a path, to which further attempts belong. A skipped step ends without a start. */
  private begin(
    path: string,
    { verb, id }: { readonly verb: string; readonly id?: string },
    startedAt: number,
  ): StepLife {
    const known = this.open.get(path);
    if (known !== undefined) return known;
    // A field that is added later takes a list of its own, and a run of days has many steps.
    const life: StepLife = { path, id, verb, startedAt, endedAt: undefined, outcome: undefined, attempts: 0 };
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

/** Requests that neither a step nor the heartbeat sent; the journal does not have their parameters. */
export function listOtherRequests(entry: Entry): readonly Request[] {
  const toRequest = (
    method: string,
    path: string,
    sent: DataOf<'account.late_orders'>['requests'][number],
  ): Request => {
    const { sentAt, tokens, status = null, success } = sent;
    return { row: { method, path, params: {}, tokens }, at: sentAt, status, success };
  };
  if (entry.type === 'account.late_orders') return entry.data.requests.map((each) => toRequest('GET', '/orders', each));
  if (entry.type !== 'session.moved' || entry.data.request === undefined) return [];
  return [toRequest('POST', '/jwt', entry.data.request)];
}

class RequestFold {
  private readonly requests: Request[] = [];
  /** The newest attempt of each call that has no answer yet. */
  private readonly waiting = new Map<string, Request>();
  /** The newest of each path: a loop of days sends the same each second, and keeps it once. */
  private readonly rows = new Map<string, Request['row']>();

  apply(entry: Entry): void {
    if (entry.type === 'call.attempted') {
      const { call, method, path, params, tokens } = entry.data;
      const request: Request = {
        row: this.share({ method, path, params: toLiterals(params), tokens }),
        at: entry.at,
        status: null,
        success: false,
      };
      this.requests.push(request);
      this.waiting.set(call, request);
    } else if (entry.type === 'call.answered') {
      const request = this.waiting.get(entry.data.call);
      if (request !== undefined) request.status = entry.data.status;
      // The call's later outcome belongs to its next attempt, not to this request.
      this.waiting.delete(entry.data.call);
    } else if (entry.type === 'call.settled') {
      const request = this.waiting.get(entry.data.call);
      // Denied calls settle without having been sent.
      if (request === undefined) return;
      request.status = entry.data.status ?? null;
      request.success = entry.data.success ?? false;
      this.waiting.delete(entry.data.call);
    } else {
      const beside = listOtherRequests(entry);
      if (beside.length === 0) return;
      this.requests.push(...beside);
      // Journaled when they were answered, so requests sent in between precede them.
      this.requests.sort((first, second) => first.at - second.at);
    }
  }

  private share(row: Request['row']): Request['row'] {
    const known = this.rows.get(row.path);
    if (known !== undefined && isSameJson(known, row)) return known;
    this.rows.set(row.path, row);
    return row;
  }

  findUnanswered(): Pick<RequestRow, 'method' | 'path'> | undefined {
    return this.requests.findLast(({ status }) => status === null)?.row;
  }

  listRows(): readonly RequestRow[] {
    return this.requests.map(({ row, at, status, success }) => ({ ...row, status, success, at: formatIsoTime(at) }));
  }

  sumTokens(): TokenUse {
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

function toLiterals(params: JsonObject): JsonObject {
  return Object.fromEntries(
    Object.entries(params).map(([name, value]): [string, Json] => [
      name,
      typeof value === 'number' ? String(value) : value,
    ]),
  );
}
