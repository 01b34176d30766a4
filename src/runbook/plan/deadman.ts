/**
 * Plans the deadman switches: arming directly before the first order that needs it, wherever that is, heartbeats and readings
 * while it is armed, and disarming at the end of its runbook or after `release_after`.
 */
import { Decimal } from '../../base/decimal.ts';
import { writeDuration } from '../../base/duration.ts';
import { chooseDeadmanReadPauseMs, chooseKeepAliveMs, RETRY_SOONER, SWITCH_TRIES } from '../../venue/deadman.ts';
import type { DeadmanDeclaration } from '../checked.ts';
import { EMPTY, type Load, makeLoad, maybe, sequence, UNBOUNDED } from './load/load.ts';
import { WINDOW_MS } from './load/pace.ts';
import type { PlanRows } from './rows.ts';
import type { PlanScope } from './scope.ts';

/** The deadman block of a runbook that is being planned. */
export interface PlannedSwitch {
  readonly deadman: DeadmanDeclaration;
  readonly scope: PlanScope;
  readonly prefix: string;
  /** The conditions under which its arming has been listed. */
  readonly under: string[];
  /** The last section in which its arming has been listed. */
  section: readonly unknown[] | undefined;
  /** Whether some path releases it before its runbook ends. */
  released: boolean;
  /** Whether every path without failures does. */
  disarmed: boolean;
}

/** A quarter of the shortest timeout that a live run accepts; shorter ones exist only in virtual time. */
const QUICKEST_KEEP_ALIVE_MS = 1250;

type SwitchEndpoint = 'POST /cancel_all_after' | 'GET /cancel_all_after' | 'DELETE /cancel_all_after';
/** A request, and another where the session was refused. */
const SENDS = 2;

export class PlannedSwitches {
  private readonly rows: PlanRows;
  private readonly costOf: (name: SwitchEndpoint) => number;
  private readonly failures: boolean;
  /** Every one that the walk has come to, of the run's own runbook and of those that it calls. */
  private readonly all: PlannedSwitch[] = [];
  /** Those that are declared and not certainly armed yet. */
  private unarmed: readonly PlannedSwitch[] = [];

  /** `failures`: whether requests may be refused, and are then sent again. */
  constructor(rows: PlanRows, { costOf, failures }: { costOf(name: SwitchEndpoint): number; failures: boolean }) {
    this.rows = rows;
    this.costOf = costOf;
    this.failures = failures;
  }

  /** How often one request is sent at most: what fails is tried again, and each once more where the session was refused. */
  private get tries(): number {
    return this.failures ? SWITCH_TRIES * SENDS : 1;
  }

  /** Blocks around the walk: while there is one, an order may follow a switch that has fired. */
  private declared = 0;

  get isDeclared(): boolean {
    return this.declared > 0;
  }

  /** From here on the runbook's first order arms the switch. */
  expect(deadman: DeadmanDeclaration, scope: PlanScope, prefix: string): PlannedSwitch {
    this.declared += 1;
    const planned: PlannedSwitch = {
      deadman,
      scope,
      prefix,
      under: [],
      section: undefined,
      released: false,
      disarmed: false,
    };
    this.unarmed = [...this.unarmed, planned];
    this.all.push(planned);
    return planned;
  }

  /** Lists what a process does with the switches that continues the run of another: it reads them, and arms those that are gone. */
  planResume(): void {
    const listed = new Set<string>();
    for (const { deadman, scope, prefix } of this.all) {
      const market_id = scope.resolve(deadman.market, (market) => market);
      const timeout = scope.resolve(deadman.timeout, ({ ms }) => ms);
      // A runbook that is called in a loop is walked for each item.
      const key = `${prefix} ${String(market_id)} ${String(timeout)}`;
      if (listed.has(key)) continue;
      listed.add(key);
      const step = `${prefix}resume`;
      this.rows.addRequest(step, 'GET /cancel_all_after', { market_id });
      const when = 'the switch may have fired, and an order follows';
      this.rows.addRequest(step, 'POST /cancel_all_after', { market_id, timeout }, { when });
    }
  }

  /** An order is about to be placed. */
  beforeOrder(): Load {
    const { section } = this.rows;
    if (section !== undefined) return this.beforeOrderOf(section);
    const when = this.rows.when.when ?? '';
    const loads: Load[] = [];
    for (const planned of this.unarmed) {
      // Where only some paths lead here, it may still have to be armed at a later order.
      if (planned.under.some((before) => when === before || when.startsWith(`${before} && `))) continue;
      loads.push(this.rows.outsideLoops(() => this.arm(planned)));
      planned.under.push(when);
    }
    if (when === '') this.unarmed = [];
    return sequence(loads);
  }

  /** An order of a section: without the failure nothing is armed here. */
  private beforeOrderOf(section: readonly unknown[]): Load {
    const unarmed = this.unarmed.filter((planned) => planned.section !== section);
    for (const planned of unarmed) planned.section = section;
    return sequence(unarmed.map((planned) => this.rows.outsideLoops(() => this.arm(planned))));
  }

  /** The runbook has ended, perhaps before the step that releases the switch, or without it. */
  end(planned: PlannedSwitch): Load {
    this.declared -= 1;
    this.unarmed = this.unarmed.filter((each) => each !== planned);
    if (planned.deadman.onExit !== 'disarm') return EMPTY;
    if (planned.disarmed) {
      // A run that fails or stops may not have got to the step that releases it.
      if (!this.rows.listsSections) return EMPTY;
      const early = 'if the run ends before the switch is released';
      return maybe(
        this.rows.inSection(early, () => this.disarm(planned)),
        early,
      );
    }
    if (planned.under.length > 0)
      return this.disarm(planned, planned.released ? 'it has not been released' : undefined);
    if (planned.section === undefined) return EMPTY;
    return maybe(
      this.rows.inSection('if only a failure led to orders', () => this.disarm(planned)),
      'orders after a failure',
    );
  }

  /** `when`: why it may not be disarmed here. */
  disarm(planned: PlannedSwitch, when?: string): Load {
    const { deadman, scope, prefix } = planned;
    planned.released = true;
    if (this.rows.when.when === undefined && this.rows.section === undefined) planned.disarmed = true;
    const params = { market_id: scope.resolve(deadman.market, (market) => market) };
    this.rows.addRequest(prefix, 'DELETE /cancel_all_after', params, { when });
    this.rows.addRequest(prefix, 'GET /cancel_all_after', params, { when });
    const min = new Decimal(when === undefined ? 1 : 0);
    return makeLoad(
      {
        'requests DELETE /cancel_all_after': { min, max: UNBOUNDED },
        'requests GET /cancel_all_after': { min, max: UNBOUNDED },
      },
      {
        tokens: this.tries * (this.costOf('DELETE /cancel_all_after') + this.costOf('GET /cancel_all_after')),
        minMs: 0,
        rate: 0,
      },
    );
  }

  /** Tokens of a minute for heartbeats and readings while the switch is armed. */
  countKeepAliveTokens({ deadman, scope }: PlannedSwitch): number {
    const timeoutMs = scope.evaluateKnown(deadman.timeout)?.ms;
    const { readMs, everyMs } = this.choosePauses(deadman, scope, timeoutMs);
    // One that fails is followed sooner, as often as the run makes progress; a reading too.
    const [sooner, sends] = this.failures ? [RETRY_SOONER, SENDS] : [1, 1];
    const perMinute = (ms: number | undefined, quickest: number) =>
      ms === undefined || ms <= 0 ? 0 : (sends * sooner * WINDOW_MS) / Math.max(ms, quickest);
    return (
      perMinute(everyMs, QUICKEST_KEEP_ALIVE_MS) * this.costOf('POST /cancel_all_after') +
      perMinute(readMs, chooseDeadmanReadPauseMs(4 * QUICKEST_KEEP_ALIVE_MS)) * this.costOf('GET /cancel_all_after')
    );
  }

  private choosePauses(deadman: DeadmanDeclaration, scope: PlanScope, timeoutMs: number | undefined) {
    const declared = deadman.keepAlive === undefined ? undefined : scope.evaluateKnown(deadman.keepAlive)?.ms;
    return {
      everyMs: declared ?? (timeoutMs === undefined ? undefined : chooseKeepAliveMs(timeoutMs)),
      readMs: timeoutMs === undefined ? undefined : chooseDeadmanReadPauseMs(timeoutMs),
    };
  }

  private arm({ deadman, scope, prefix, under, section }: PlannedSwitch): Load {
    const isFirst = under.length === 0 && (section === undefined || section === this.rows.section);
    const market_id = scope.resolve(deadman.market, (market) => market);
    const timeout = scope.resolve(deadman.timeout, ({ ms }) => ms);
    const when = isFirst ? undefined : 'it is not armed yet';
    this.rows.addRequest(prefix, 'POST /cancel_all_after', { market_id, timeout }, { when });
    const { everyMs, readMs } = this.choosePauses(deadman, scope, typeof timeout === 'number' ? timeout : undefined);
    if (isFirst && everyMs !== undefined)
      this.rows.addRequest(
        prefix,
        'POST /cancel_all_after',
        { market_id, timeout },
        {
          when: 'orders rest',
          beside: true,
          times: `every ${writeDuration(everyMs)} without an order request`,
        },
      );
    if (isFirst && readMs !== undefined)
      this.rows.addRequest(
        prefix,
        'GET /cancel_all_after',
        { market_id },
        {
          when: 'orders rest',
          beside: true,
          times: `every ${writeDuration(readMs)}`,
        },
      );
    return makeLoad(
      {
        'requests POST /cancel_all_after': { min: new Decimal(isFirst ? 1 : 0), max: UNBOUNDED },
        'requests GET /cancel_all_after': { max: UNBOUNDED },
      },
      { tokens: this.tries * this.costOf('POST /cancel_all_after'), minMs: 0, rate: 0 },
    );
  }
}
