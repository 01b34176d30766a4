/**
 * Folds the report of a run, the document that `dry-run --json` and `run --json` print, from the run's entries alone. A run
 * that never ended is reported as halted, for the reason `interrupted`. The form is a contract with other programs
 * (interface.md, JSON); fields for people belong to the timeline.
 */
import type { Entry, ErrorFact, JsonObject, RunMode, RunOutcome } from '../../journal/entry.ts';
import { StoreError } from '../../journal/store.ts';
import type { LeftPosition, LeftSide } from '../../venue/position/residual.ts';
import { formatIsoTime } from '../format.ts';
import { type Alarm, listAlarms } from '../results/alarms.ts';
import { MoneyFold, type RunMoney } from '../results/money.ts';
import { NoticeFold, type NoticeRow } from '../results/notices.ts';
import {
  type DeadmanRow,
  listDeadman,
  RequestFold,
  type RequestRow,
  type RunEnd,
  StepFold,
  type StepRow,
  TokenSum,
  type TokenUse,
} from '../results/run-rows.ts';
import { OrderFold, type OrderRow } from './orders.ts';
import { type Residual, ResidualFold } from './residual.ts';

export interface RunReport {
  readonly run: string;
  readonly runbook: string;
  readonly mode: RunMode;
  /** Those that were given, and the defaults of the others. */
  readonly inputs: JsonObject;
  readonly outcome: RunOutcome;
  readonly hadHalted?: true;
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
  readonly deadman: readonly DeadmanRow[];
}

/** A report without what grows with the rounds of a run. */
export type RunOutline = Omit<RunReport, 'steps' | 'requests' | 'tokens' | 'deadman'>;

/** What a run came to: the part of its report that `audit show` has too. */
export interface RunResult {
  /** Only where it had halted before it was resumed, and has not halted again: what `reason` says is settled. */
  readonly hadHalted?: true;
  /** What the runbook declares to leave, and whether it was kept; absent of a run without an end. */
  readonly leaves?: { readonly position: LeftPosition; readonly ok: boolean };
  /** What is left of what the run opened; sizes in base currency. `opened` is filled, the rest of `size` may still fill. */
  readonly residual: readonly Pick<LeftSide, 'market' | 'size' | 'opened' | 'side' | 'covered'>[];
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
interface AlarmRow extends Alarm {
  readonly at: string;
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
    const { leaves, left, beyond, hadHalted } = this.residual();
    return {
      ...(hadHalted ? { hadHalted } : {}),
      ...(leaves === undefined ? {} : { leaves: { position: leaves, ok: beyond.length === 0 } }),
      residual: left.map(({ market, size, opened, side, covered }) => ({ market, size, opened, side, covered })),
      money: this.money.collect(this.orders.tracker),
      notices: this.notices.listRows(),
    };
  }
}

/**
 * Folds the report of a run but for its steps, requests and heartbeats: its size depends on the orders and messages of the run, not on
 * how long it goes on. Those are listed from the journal when it has ended (export/run-report.ts).
 */
export class RunOutlineFold {
  private started: Extract<Entry, { type: 'run.started' }> | undefined;
  private ended: Extract<Entry, { type: 'run.ended' }> | undefined;
  private lastAt = 0;
  private seq = 0;
  protected readonly steps = new StepFold();
  protected readonly requests = new RequestFold();
  private readonly result = new ResultFold();
  private readonly alarms: AlarmRow[] = [];

  apply(entry: Entry): void {
    if (this.started === undefined && entry.type !== 'run.started') {
      throw new StoreError(
        'damaged',
        `run ${entry.run} does not begin with run.started but with ${entry.type} (entry ${entry.seq})`,
      );
    }
    this.lastAt = Math.max(this.lastAt, entry.at);
    this.seq = entry.seq;
    if (entry.type === 'run.started') this.started ??= entry;
    if (entry.type === 'run.ended') this.ended = entry;
    // A resumed run goes on; only its last end counts.
    if (entry.type === 'run.resumed') this.ended = undefined;
    // A message that was not delivered is among the notices.
    if (entry.type !== 'notification.settled')
      for (const alarm of listAlarms(entry)) this.alarms.push({ at: formatIsoTime(entry.at), ...alarm });
    this.steps.apply(entry);
    this.requests.apply(entry);
    this.applyRow(entry);
    this.result.apply(entry);
  }

  /** Called for each entry, when it may have made rows. */
  protected applyRow(_entry: Entry): void {
    this.steps.forget();
    this.requests.forget();
  }

  /** The number of the last entry. */
  get newest(): number {
    return this.seq;
  }

  /** How many rows the lists of the report have that grow with its rounds. */
  get counts(): { readonly steps: number; readonly requests: number } {
    return { steps: this.steps.count, requests: this.requests.count };
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

  outline(): RunOutline {
    if (this.started === undefined) throw new StoreError('damaged', 'the run has no entries');
    const { runbook, mode, inputs, startedAt } = this.started.data;
    const { outcome, reason, error, outputs } = this.end;
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
      orders: this.result.orders.rows(),
      outputs,
      ...this.result.result(),
      alarms: this.alarms,
    };
  }

  /** The folds that list the steps and requests when the same entries are read again. */
  makeRowFolds(): { readonly steps: StepFold; readonly requests: RequestFold } {
    return {
      steps: new StepFold({ ends: this.steps.listEnds(this.describeEnd()) }),
      requests: new RequestFold({ ends: this.requests.listEnds() }),
    };
  }

  /** How steps ended that have no end of their own. */
  protected describeEnd(): RunEnd {
    return { endedAt: this.lastAt, outcome: this.end.outcome === 'halted' ? 'halted' : 'failed' };
  }

  private get end() {
    return this.ended?.data ?? ({ outcome: 'halted', reason: 'interrupted', error: undefined, outputs: {} } as const);
  }

  /** Of a run that was stopped from outside, the step it was at. */
  private addStep(error: ErrorFact): ErrorFact {
    const step = error.kind === 'cancelled' && !error.step ? this.steps.findNewestOpen() : undefined;
    return step === undefined ? error : { ...error, step };
  }
}

/** The whole report, entry by entry: every row is in memory. */
export class RunFold extends RunOutlineFold {
  private readonly deadman: DeadmanRow[] = [];

  protected override applyRow(entry: Entry): void {
    this.deadman.push(...listDeadman(entry));
  }

  report(): RunReport {
    const tokens = new TokenSum();
    const requests = this.requests.list();
    for (const request of requests) tokens.add(request);
    const steps = this.steps.list(this.describeEnd());
    return composeReport(this.outline(), { steps, requests, tokens: tokens.use, deadman: this.deadman });
  }
}

/** The report in the order of its fields. */
export function composeReport(
  { hadHalted, orders, outputs, leaves, residual, money, notices, alarms, ...head }: RunOutline,
  { steps, requests, tokens, deadman }: Omit<RunReport, keyof RunOutline>,
): RunReport {
  return {
    ...head,
    ...(hadHalted === undefined ? {} : { hadHalted }),
    steps,
    requests,
    orders,
    outputs,
    ...(leaves === undefined ? {} : { leaves }),
    residual,
    money,
    notices,
    alarms,
    tokens,
    deadman,
  };
}
