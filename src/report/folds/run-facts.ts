/**
 * Folds everything the page shows of one run, entry by entry, so that a run can be watched while it goes on: who started it,
 * its limits, its steps, requests and orders over time, tokens, the deadman switch, and what is unaccounted for. It grows
 * with the run's orders, and not with its length (docs/design/long-runs.md, What grows).
 */
import type { Away, DataOf, Entry, ErrorFact, Json, JsonObject, RunMode, RunOutcome } from '../../journal/entry.ts';
import { StoreError } from '../../journal/store.ts';
import { getReview } from '../../venue/order/states.ts';
import type { LeftSide } from '../../venue/position/residual.ts';
import { formatJson } from '../format.ts';
import { isGoing } from '../liveness.ts';
import { type Alarm, listAlarms } from '../results/alarms.ts';
import { MoneyFold, type RunMoney } from '../results/money.ts';
import { type AllowanceDocument, AllowanceFold } from './allowances.ts';
import { ApprovalFold, type ApprovalRow, type PersonRow } from './approvals.ts';
import { type BudgetDocument, BudgetFold } from './budget.ts';
import { type DeadmanRecord, DeadmanRecordFold } from './deadman.ts';
import { type FillsDocument, summarizeFills } from './fills.ts';
import { type OrderLife, OrderLifeFold } from './order-lives.ts';
import { type FollowedOrder, getOrderState } from './orders.ts';
import { PriceReadingFold, type PriceReadings } from './prices.ts';
import { type OpenRequest, RequestMarkFold, type RequestMarks } from './requests.ts';
import { ResidualFold } from './residual.ts';
import type { RunProgress } from './runs-list.ts';
import { type ActiveStep, type StepLane, StepLaneFold } from './steps.ts';

export interface RunPageDocument {
  readonly run: string;
  readonly runbook: string;
  readonly mode: RunMode;
  readonly account: string;
  readonly trigger: string;
  /** The person who started it, if the run knows. */
  readonly by?: string;
  /** The newest entry. */
  readonly seq: number;
  /** Epoch ms, as every time here that is not counted from the start of the run. */
  readonly startedAt: number;
  readonly lastAt: number;
  readonly endedAt?: number;
  readonly outcome?: RunOutcome;
  /** It had halted before it was resumed, and has not halted again: what `reason` says is settled. */
  readonly hadHalted?: true;
  readonly reason?: string;
  readonly error?: ErrorFact;
  /** The state of the run's state machine: `running`, `finalizing` and so on. */
  readonly phase: string;
  /** Each time that the run was resumed. */
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
  readonly tokens: Omit<BudgetDocument, 'buckets' | 'bucketMs'> & { readonly spent: SpentColumns };
  readonly orders: readonly OrderLife[];
  readonly fills: FillsDocument;
  /** By market, of the run's own fills. */
  readonly money: RunMoney;
  readonly deadman: DeadmanRecord;
  readonly prices: readonly PriceReadings[];
  readonly approvals: readonly ApprovalRow[];
  readonly people: readonly PersonRow[];
  readonly unaccounted: Unaccounted;
}

/** Tokens over time, in columns of equal length, oldest first (SpentTokens). */
interface SpentColumns {
  /** ms since the run began. */
  readonly at: readonly number[];
  readonly tokens: readonly number[];
  readonly peak: readonly number[];
}

interface Takeover {
  readonly seq: number;
  /** Epoch ms. */
  readonly at: number;
  /** The run had halted before; false if its process had died. */
  readonly hadHalted: boolean;
  /** Id of the process that resumed it. */
  readonly pid?: number;
  /** How long the run was unattended. */
  readonly away?: Away;
}

interface Fact {
  readonly name: string;
  readonly value: string;
}

/** What a reviewer must not overlook. If all are empty, nothing is missing as far as the run itself can know. */
interface Unaccounted {
  /** Requests that were sent and have no answer in the journal. */
  readonly unanswered: readonly OpenRequest[];
  /** Requests without a reliable answer; their outcome may have been found later. */
  readonly lost: readonly OpenRequest[];
  /** Orders that may or may not exist, or that need a person. */
  readonly unclearOrders: readonly string[];
  /** Orders left working when the run ended. */
  readonly leftOpen: readonly string[];
  /** What a live run leaves beyond what it declares; also briefly non-empty between an entry and its stop. */
  readonly beyond: readonly LeftSide[];
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
  private readonly money = new MoneyFold();
  private readonly residual = new ResidualFold();
  private readonly deadman = new DeadmanRecordFold();
  private readonly prices = new PriceReadingFold();
  private readonly approvals = new ApprovalFold();
  private readonly alarms: Unaccounted['alarms'][number][] = [];
  private alarmCount = 0;
  /** The document as of the newest entry. The page reads it every two seconds, and most runs write less often. */
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
    this.applyOwn(entry);
    this.allowances.apply(entry);
    this.steps.apply(entry);
    this.requests.apply(entry);
    this.budget.apply(entry);
    this.orders.apply(entry);
    this.money.apply(entry, this.orders.tracker);
    this.residual.apply(entry);
    this.deadman.apply(entry);
    this.prices.apply(entry);
    this.approvals.apply(entry);
  }

  get newest(): number {
    return this.seq;
  }

  listFollowed(): readonly FollowedOrder[] {
    return this.orders.listFollowed();
  }

  /** The progress of a run without an end. */
  progress(now: number): RunProgress {
    return {
      entries: this.seq,
      lastAt: this.lastAt,
      isGoing: isGoing(this.document(), now),
      active: this.steps.listActive(),
      waitsForPerson: this.approvals.approvals().some(({ isOpen }) => isOpen),
    };
  }

  document(): RunPageDocument {
    this.made ??= this.build();
    return this.made;
  }

  private build(): RunPageDocument {
    const { started, ended } = this;
    if (started === undefined) throw new StoreError('damaged', 'the run has no entries');
    const { runbook, mode, trigger, by, startedAt, engine, seed, plan, until, occurrence, sources, inputs } =
      started.data;
    const { buckets: _buckets, bucketMs: _bucketMs, ...tokens } = this.budget.document();
    const orders = this.orders.listLives();
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
      ...(ended === undefined ? {} : describeEnd(ended, this.takeovers)),
      phase: this.phase,
      takeovers: this.takeovers,
      engine,
      definition: started.def,
      seed,
      ...(plan === undefined ? {} : { plan }),
      ...(until === undefined ? {} : { until }),
      ...(occurrence === undefined ? {} : { occurrence }),
      sources: sources.map(({ name, file, sha256 }) => ({ name, file, sha256 })),
      inputs: toFacts(inputs),
      outputs: toFacts(ended?.data.outputs ?? {}),
      variables: toFacts(Object.fromEntries(this.variables)),
      allowed: this.allowances.makeDocument(),
      steps: this.steps.listLanes(this.lastAt, ended !== undefined),
      active: ended === undefined ? this.steps.listActive() : [],
      requests: this.requests.makeColumns(),
      tokens: { ...tokens, spent: this.listSpent(startedAt) },
      orders,
      fills: summarizeFills(this.orders.listTracked()),
      money: this.money.collect(this.orders.tracker),
      deadman: this.deadman.getRecord(),
      prices: this.prices.listReadings(orders.flatMap(listPrices)),
      approvals: this.approvals.approvals(),
      people: this.approvals.listPeople(),
      unaccounted: this.listUnaccounted(orders),
    };
  }

  private listSpent(startedAt: number): SpentColumns {
    const { spent } = this.budget;
    return {
      at: spent.map(({ at }) => at - startedAt),
      tokens: spent.map(({ tokens }) => tokens),
      peak: spent.map(({ peak }) => peak),
    };
  }

  private applyOwn(entry: Entry): void {
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
        // A resumed run goes on; only its last end counts.
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
      default:
        for (const alarm of listAlarms(entry)) this.addAlarm(entry, alarm);
    }
  }

  private addAlarm({ seq, at }: Entry, alarm: Alarm): void {
    this.alarmCount += 1;
    if (this.alarms.length < MOST_ALARMS) this.alarms.push({ seq, at, ...alarm });
  }

  private listUnaccounted(orders: readonly OrderLife[]): Unaccounted {
    const hasEnded = this.ended !== undefined;
    return {
      unanswered: this.requests.listOpen(),
      lost: this.requests.listLost(),
      unclearOrders: orders.filter((order) => getReview(getOrderState(order)) === 'unclear').map(getId),
      leftOpen: hasEnded ? orders.filter(({ isOver, state }) => !isOver && state !== 'draft').map(getId) : [],
      beyond: this.started?.data.mode === 'live' ? this.residual.findResidual(this.orders.listTracked()).beyond : [],
      alarms: this.alarms,
      alarmCount: this.alarmCount,
    };
  }
}

function describeEnd(
  { at, data }: Extract<Entry, { type: 'run.ended' }>,
  takeovers: readonly Takeover[],
): Pick<RunPageDocument, 'endedAt' | 'outcome' | 'hadHalted' | 'reason' | 'error'> {
  const { outcome, reason, error } = data;
  return {
    endedAt: at,
    outcome,
    ...(outcome !== 'halted' && takeovers.some(({ hadHalted }) => hadHalted) ? { hadHalted: true } : {}),
    ...(reason === undefined ? {} : { reason }),
    ...(error === undefined ? {} : { error }),
  };
}

function getId({ orderId, clientOrderId }: OrderLife): string {
  return orderId ?? clientOrderId;
}

function listPrices({
  market,
  price,
  trigger,
}: OrderLife): readonly { readonly market: string; readonly price: string }[] {
  const known = price ?? trigger;
  return known === undefined ? [] : [{ market, price: known }];
}

export function toFacts(values: JsonObject): readonly Fact[] {
  return Object.entries(values).map(([name, value]) => ({ name, value: formatJson(value) }));
}
