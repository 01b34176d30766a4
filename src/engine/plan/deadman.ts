/**
 * Lists the deadman switches of a plan: arming directly before the first order that needs it, wherever that is, and disarming at
 * the end of its runbook or after `release_after`.
 */
import { writeDuration } from '../../base/duration.ts';
import type { DeadmanDeclaration } from '../../runbook/checked.ts';
import type { PlanRows } from './rows.ts';
import { KNOWN_AFTER_RUN, type PlanScope } from './scope.ts';

/** The deadman block of a runbook that is being planned. */
export interface PlannedSwitch {
  readonly deadman: DeadmanDeclaration;
  readonly scope: PlanScope;
  readonly prefix: string;
  /** The conditions under which its arming has been listed. */
  readonly under: string[];
}

export class PlannedSwitches {
  private readonly rows: PlanRows;
  /** Those that are declared and not certainly armed yet. */
  private unarmed: readonly PlannedSwitch[] = [];

  constructor(rows: PlanRows) {
    this.rows = rows;
  }

  /** From here on the runbook's first order arms the switch. */
  expect(deadman: DeadmanDeclaration, scope: PlanScope, prefix: string): PlannedSwitch {
    const planned: PlannedSwitch = { deadman, scope, prefix, under: [] };
    this.unarmed = [...this.unarmed, planned];
    return planned;
  }

  /** An order is about to be placed. */
  beforeOrder(): void {
    const when = this.rows.when.when ?? '';
    for (const planned of this.unarmed) {
      // Where only some paths lead here, it may still have to be armed at a later order.
      if (planned.under.some((before) => when === before || when.startsWith(`${before} && `))) continue;
      this.rows.outsideLoops(() => this.arm(planned));
      planned.under.push(when);
    }
    if (when === '') this.unarmed = [];
  }

  /** The runbook has ended. */
  end(planned: PlannedSwitch): void {
    const { onExit, releaseAfter } = planned.deadman;
    const isArmed = planned.under.length > 0;
    if (isArmed && onExit === 'disarm' && releaseAfter === undefined) this.disarm(planned);
    this.unarmed = this.unarmed.filter((each) => each !== planned);
  }

  disarm({ deadman, scope, prefix }: PlannedSwitch): void {
    const market_id = scope.text(deadman.market);
    this.rows.addRequest(prefix, 'DELETE /cancel_all_after', { market_id });
    this.rows.addRequest(prefix, 'GET /cancel_all_after', { market_id });
  }

  private arm({ deadman, scope, prefix }: PlannedSwitch): void {
    const timeout = scope.evaluateKnown(deadman.timeout);
    this.rows.addRequest(prefix, 'POST /cancel_all_after', {
      market_id: scope.text(deadman.market),
      timeout: timeout === undefined ? KNOWN_AFTER_RUN : String(timeout.ms),
    });
    const keepAliveMs = deadman.keepAlive === undefined ? undefined : scope.evaluateKnown(deadman.keepAlive)?.ms;
    const every = keepAliveMs ?? (timeout === undefined ? undefined : Math.floor(timeout.ms / 4));
    if (every !== undefined)
      this.rows.addNote(
        prefix,
        `while orders rest: keep-alive POST /cancel_all_after every ${writeDuration(every)} without an order request`,
      );
  }
}
