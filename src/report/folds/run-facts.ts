/**
 * Everything the page shows of one run, folded entry by entry so that a run can be watched while it goes on: who started it,
 * what it was allowed, its steps, requests and orders over time, tokens, the deadman switch, and what is not accounted for.
 * It decides nothing; and it is as large for a run of a day as for one of a minute, give or take its orders.
 */
import type { Away, DataOf, Entry, ErrorFact, Json, JsonObject, RunMode, RunOutcome } from '../../journal/entry.ts';
import { StoreError } from '../../journal/store.ts';
import { ORDER_ALARMS } from '../../venue/order/context.ts';
import { reviewOf } from '../../venue/order/states.ts';
import { jsonText } from '../format.ts';
import { meaningOf } from '../glossary.ts';
import { isGoing } from '../liveness.ts';
import { type AllowanceDocument, AllowanceFold } from './allowances.ts';
import { ApprovalFold, type ApprovalRow, type PersonRow } from './approvals.ts';
import { type BudgetDocument, BudgetFold } from './budget.ts';
import { type DeadmanRecord, DeadmanRecordFold } from './deadman.ts';
import { EntryIndex } from './entry-index.ts';
import { type FillsDocument, fillsOf } from './fills.ts';
import { type OrderLife, OrderLifeFold } from './order-lives.ts';
import { stateOf } from './orders.ts';
import { PriceReadingFold, type PriceReadings } from './prices.ts';
import { type OpenRequest, RequestMarkFold, type RequestMarks } from './requests.ts';
import { ResidualFold, type Uncovered } from './residual.ts';
import type { RunProgress } from './runs-list.ts';
import { type ActiveStep, type StepLane, StepLaneFold } from './steps.ts';

export interface RunPageDocument {
  readonly run: string;
  readonly runbook: string;
  readonly mode: RunMode;
  readonly account: string;
  readonly trigger: string;
  /** Who, where the run knows. */
  readonly by?: string;
  /** The newest entry. */
  readonly seq: number;
  /** Epoch ms, as every time that is not said to be counted from the run's begin. */
  readonly startedAt: number;
  readonly lastAt: number;
  readonly endedAt?: number;
  readonly outcome?: RunOutcome;
  readonly reason?: string;
  readonly error?: ErrorFact;
  /** `running`, `finalizing` and so on: the state of the run's own machine. */
  readonly phase: string;
  /** Each time that the run was taken up again. */
  readonly takeovers: readonly Takeover[];
  readonly engine: string;
  readonly definition: string;
  readonly seed: number;
  readonly plan?: string;
  readonly until?: string;
  readonly occurrence?: DataOf<'run.started'>['occurrence'];
  readonly sources: readonly { readonly name: string; readonly file: string; readonly sha256: string }[];
  readonly inputs: readonly Fact[];
  readonly outputs: readonly Fact[];
  readonly variables: readonly Fact[];
  readonly allowed: AllowanceDocument;
  readonly steps: readonly StepLane[];
  readonly active: readonly ActiveStep[];
  readonly requests: RequestMarks;
  readonly tokens: Omit<BudgetDocument, 'buckets' | 'bucketMs'>;
  readonly orders: readonly OrderLife[];
  readonly fills: FillsDocument;
  readonly deadman: DeadmanRecord;
  readonly prices: readonly PriceReadings[];
  readonly approvals: readonly ApprovalRow[];
  readonly people: readonly PersonRow[];
  readonly unaccounted: Unaccounted;
}

interface Takeover {
  readonly seq: number;
  /** Epoch ms. */
  readonly at: number;
  /** It had halted, and was asked once more; else the process that executed it was gone. */
  readonly hadHalted: boolean;
  /** Of the process that took it up. */
  readonly pid?: number;
  /** How long nobody was there. */
  readonly away?: Away;
}

interface Fact {
  readonly name: string;
  readonly value: string;
}

/** What a reviewer must not overlook. All empty: nothing is missing that the run itself could know of. */
interface Unaccounted {
  /** Sent, and the journal has no answer. */
  readonly unanswered: readonly OpenRequest[];
  /** Sent, and the answer can not be relied on; what became of it may have been found out since. */
  readonly lost: readonly OpenRequest[];
  /** Orders of which it is not known whether they exist, or that need a person. */
  readonly unclearOrders: readonly string[];
  /** Orders left working when the run ended. */
  readonly leftOpen: readonly string[];
  /** What a live run holds by its own fills while no stop of it works; a run between its entry and its stop has that too. */
  readonly uncovered: readonly Uncovered[];
  readonly alarms: readonly {
    readonly seq: number;
    readonly at: number;
    readonly clientOrderId: string;
    readonly alarm: string;
    readonly meaning?: string;
  }[];
  readonly alarmCount: number;
}

const MOST_ALARMS = 50;

export class RunPageFold {
  readonly index = new EntryIndex();
  private started: Extract<Entry, { type: 'run.started' }> | undefined;
  private ended: Extract<Entry, { type: 'run.ended' }> | undefined;
  private seq = 0;
  private lastAt = 0;
  private phase = 'starting';
  private readonly takeovers: Takeover[] = [];
  private readonly variables = new Map<string, Json>();
  private readonly allowances = new AllowanceFold();
  private readonly steps = new StepLaneFold();
  private readonly requests = new RequestMarkFold();
  private readonly budget = new BudgetFold();
  private readonly orders = new OrderLifeFold();
  private readonly residual = new ResidualFold();
  private readonly deadman = new DeadmanRecordFold();
  private readonly prices = new PriceReadingFold();
  private readonly approvals = new ApprovalFold();
  private readonly alarms: Unaccounted['alarms'][number][] = [];
  private alarmCount = 0;
  /** The document as of the newest entry: it is asked for every two seconds, and most runs write less often. */
  private made: RunPageDocument | undefined;

  apply(entry: Entry): void {
    if (this.started === undefined && entry.type !== 'run.started') {
      throw new StoreError(
        'damaged',
        `run ${entry.run} does not begin with run.started but with ${entry.type} (entry ${entry.seq})`,
      );
    }
    this.made = undefined;
    this.seq = entry.seq;
    this.lastAt = Math.max(this.lastAt, entry.at);
    this.own(entry);
    this.index.apply(entry);
    this.allowances.apply(entry);
    this.steps.apply(entry);
    this.requests.apply(entry);
    this.budget.apply(entry);
    this.orders.apply(entry);
    this.residual.apply(entry);
    this.deadman.apply(entry);
    this.prices.apply(entry);
    this.approvals.apply(entry);
  }

  get newest(): number {
    return this.seq;
  }

  /** How far a run without an end has come by now. */
  progress(now: number): RunProgress {
    return {
      entries: this.seq,
      lastAt: this.lastAt,
      isGoing: isGoing(this.document(), now),
      active: this.steps.active(),
      waitsForPerson: this.approvals.approvals().some(({ isOpen }) => isOpen),
    };
  }

  document(): RunPageDocument {
    this.made ??= this.make();
    return this.made;
  }

  private make(): RunPageDocument {
    const { started, ended } = this;
    if (started === undefined) throw new StoreError('damaged', 'the run has no entries');
    const { runbook, mode, trigger, by, startedAt, engine, seed, plan, until, occurrence, sources, inputs } =
      started.data;
    const { buckets: _buckets, bucketMs: _bucketMs, ...tokens } = this.budget.document();
    const orders = this.orders.lives();
    return {
      run: started.run,
      runbook,
      mode,
      account: started.account,
      trigger,
      ...(by === undefined ? {} : { by }),
      seq: this.seq,
      startedAt,
      lastAt: this.lastAt,
      ...(ended === undefined ? {} : endOf(ended)),
      phase: this.phase,
      takeovers: this.takeovers,
      engine,
      definition: started.def,
      seed,
      ...(plan === undefined ? {} : { plan }),
      ...(until === undefined ? {} : { until }),
      ...(occurrence === undefined ? {} : { occurrence }),
      sources: sources.map(({ name, file, sha256 }) => ({ name, file, sha256 })),
      inputs: facts(inputs),
      outputs: facts(ended?.data.outputs ?? {}),
      variables: facts(Object.fromEntries(this.variables)),
      allowed: this.allowances.document(),
      steps: this.steps.rows(this.lastAt, ended !== undefined),
      active: ended === undefined ? this.steps.active() : [],
      requests: this.requests.columns(),
      tokens,
      orders,
      fills: fillsOf(this.orders.bookOrders()),
      deadman: this.deadman.record(),
      prices: this.prices.readings(orders.flatMap(pricesOf)),
      approvals: this.approvals.approvals(),
      people: this.approvals.people(),
      unaccounted: this.unaccounted(orders),
    };
  }

  private own(entry: Entry): void {
    switch (entry.type) {
      case 'run.started':
        this.started ??= entry;
        return;
      case 'run.moved':
        this.phase = entry.data.to;
        return;
      case 'run.ended':
        this.ended = entry;
        return;
      case 'run.resumed':
        // A run that was taken up again goes on; only its last end counts.
        this.takeovers.push({
          seq: entry.seq,
          at: entry.at,
          hadHalted: this.ended !== undefined,
          ...(entry.data.process === undefined ? {} : { pid: entry.data.process.pid }),
          ...(entry.data.away === undefined ? {} : { away: entry.data.away }),
        });
        this.ended = undefined;
        return;
      case 'variable.set':
        this.variables.set(entry.data.name, entry.data.value);
        return;
      case 'order.alarmed': {
        const { clientOrderId, alarm } = entry.data;
        this.alarmed(entry, clientOrderId, alarm, meaningOf(ORDER_ALARMS, alarm));
        return;
      }
      case 'account.swept':
        for (const order of entry.data.left ?? [])
          this.alarmed(
            entry,
            String(order['client_order_id']),
            'LeftByCancelAll',
            `${String(order['id'])} could still fill`,
          );
        return;
      case 'account.late_orders':
        for (const { clientOrderId, orderId, run, recorded, status } of entry.data.late)
          this.alarmed(
            entry,
            clientOrderId,
            'Resurfaced',
            `${orderId} is ${status}, although the journal of run ${run} leaves it ${recorded}`,
          );
        return;
      default:
        return;
    }
  }

  private alarmed({ seq, at }: Entry, clientOrderId: string, alarm: string, meaning: string | undefined): void {
    this.alarmCount += 1;
    if (this.alarms.length < MOST_ALARMS)
      this.alarms.push({ seq, at, clientOrderId, alarm, ...(meaning === undefined ? {} : { meaning }) });
  }

  private unaccounted(orders: readonly OrderLife[]): Unaccounted {
    const hasEnded = this.ended !== undefined;
    return {
      unanswered: this.requests.open(),
      lost: this.requests.lost(),
      unclearOrders: orders.filter((order) => reviewOf(stateOf(order)) === 'unclear').map(idOf),
      leftOpen: hasEnded ? orders.filter(({ isOver, state }) => !isOver && state !== 'draft').map(idOf) : [],
      uncovered: this.started?.data.mode === 'live' ? this.residual.residual(this.orders.tracker()).uncovered : [],
      alarms: this.alarms,
      alarmCount: this.alarmCount,
    };
  }
}

function endOf({
  at,
  data,
}: Extract<Entry, { type: 'run.ended' }>): Pick<RunPageDocument, 'endedAt' | 'outcome' | 'reason' | 'error'> {
  const { outcome, reason, error } = data;
  return {
    endedAt: at,
    outcome,
    ...(reason === undefined ? {} : { reason }),
    ...(error === undefined ? {} : { error }),
  };
}

function idOf({ orderId, clientOrderId }: OrderLife): string {
  return orderId ?? clientOrderId;
}

function pricesOf({
  market,
  price,
  trigger,
}: OrderLife): readonly { readonly market: string; readonly price: string }[] {
  const known = price ?? trigger;
  return known === undefined ? [] : [{ market, price: known }];
}

function facts(values: JsonObject): readonly Fact[] {
  return Object.entries(values).map(([name, value]) => ({ name, value: jsonText(value) }));
}
