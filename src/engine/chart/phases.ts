/**
 * Builds the whole chart of a checked runbook: its steps, and the phases in which a run ends (docs/language.md, How a run ends).
 * A run executes the flat machines of machines.ts; a test holds that every journal is a path through this chart.
 */

import type { CheckedRunbook, CheckedStep } from '../../runbook/checked.ts';
import { addsRisk } from '../../runbook/steps/risk.ts';
import { findUndo } from '../../runbook/steps/steps.ts';
import { listAllSteps, walkSteps } from '../../runbook/steps/walk.ts';
import {
  type Arrow,
  actorId,
  type ChartBlock,
  type ChartState,
  DONE,
  type Guard,
  here,
  makeChoice,
  Names,
  nameStep,
  phase,
} from './model.ts';
import { StepChart } from './steps.ts';

type Phase = 'undo' | 'on_error' | 'finally';
const PHASES: readonly Phase[] = ['undo', 'on_error', 'finally'];

const HALTED: Guard = { text: 'an outcome at the venue is not known', what: 'halted' };
const UNPROTECTED: Guard = { text: 'more is left than declared, or cancelled meanwhile', what: 'unprotected' };
const CANCELLED: Guard = { text: 'cancelled, or the deadman switch has fired', what: 'cancelled' };
const OUTCOMES: readonly Arrow[] = [
  { guard: { text: 'the run has succeeded', what: 'succeeded' }, to: here('succeeded') },
  { guard: { text: 'the run was stopped', what: 'stopped' }, to: here('stopped') },
  { to: here('failed') },
];

export function buildChart(runbook: CheckedRunbook): ChartBlock {
  return new RunChart(runbook).run();
}

class RunChart {
  private readonly runbook: CheckedRunbook;
  private readonly undoable: readonly Undoable[];

  constructor(runbook: CheckedRunbook) {
    this.runbook = runbook;
    this.undoable = listUndoable(runbook, runbook.steps);
  }

  /** The phases of a run (docs/language.md, How a run ends). */
  run(): ChartBlock {
    const { runbook } = this;
    const { deadman, onError, steps } = runbook;
    const failed = here(this.next('undo'));
    // What the steps leave decides whether it runs; so does who ends the look at that.
    const afterSteps = this.has('on_error') ? 'leaves' : this.next('finally');
    const stopped = here(afterSteps);
    const states: ChartState[] = [
      {
        key: 'starting',
        kind: 'phase',
        label:
          deadman === undefined
            ? 'start'
            : `start; the deadman switch, ${deadman.timeout.text}, is armed before the first order`,
        does: { verb: 'start', id: 'starting', input: {} },
        leads: [{ to: here('running') }],
        fails: [{ to: here('end') }],
        on: [{ event: 'HALTED', to: here('halted') }],
      },
      {
        key: 'running',
        kind: 'phase',
        label: runbook.name,
        inside: this.block(steps, afterSteps),
        leads: [{ guard: CANCELLED, to: failed }, { to: stopped }],
        fails: [{ to: failed }],
        on: [
          { event: 'HALTED', to: here(this.afterHalt('undo')) },
          { event: 'STOPPED', to: stopped },
          { event: 'FAILED', to: failed },
        ],
      },
    ];
    if (this.has('on_error'))
      states.push(
        makeChoice(
          'leaves',
          [{ guard: UNPROTECTED, to: here(this.next('on_error')) }, { to: here(this.next('finally')) }],
          `what is left: ${runbook.leaves.position}`,
        ),
      );
    if (this.has('undo'))
      states.push(this.cleanup('undo', 'undo what was done, newest first', this.undoing(this.undoable, 'undo')));
    if (this.has('on_error'))
      states.push(this.cleanup('on_error', 'on_error', this.cleaningUp(onError, this.next('finally'))));
    if (this.has('finally')) states.push(this.cleanup('finally', 'finally', this.cleaningUp(runbook.finally, 'end')));
    states.push(...this.ending(), ...this.settling());
    return { initial: 'starting', states };
  }

  /** The steps of a phase; a `stop` among them leads to `stopTo`. */
  private block(steps: readonly CheckedStep[], stopTo: string): ChartBlock {
    return new StepChart(this.runbook, phase(stopTo)).block(steps);
  }

  private cleaningUp(steps: readonly CheckedStep[], stopTo: string): ChartBlock {
    return new StepChart(this.runbook, phase(stopTo)).cleanUp(steps);
  }

  /** After a phase of clean-up fails the rest is still done. */
  private cleanup(key: Phase, label: string, inside: ChartBlock): ChartState {
    const following = PHASES[PHASES.indexOf(key) + 1];
    const leads: Arrow[] = [{ to: here(following === undefined ? 'end' : this.next(following)) }];
    if (key === 'undo' && this.next('on_error') !== this.afterHalt('on_error'))
      leads.unshift({
        guard: { text: `${HALTED.text}, and on_error may add risk`, what: 'halted_before_on_error' },
        to: here(this.afterHalt('on_error')),
      });
    return { key, kind: 'phase', label, inside, leads, fails: leads };
  }

  private ending(): readonly ChartState[] {
    const { deadman } = this.runbook;
    const halted: Arrow = { guard: HALTED, to: here('halted') };
    if (deadman === undefined) return [makeChoice('end', [halted, ...OUTCOMES])];
    const disarms = deadman.onExit === 'disarm';
    return [
      makeChoice('end', [halted, { to: here('on_exit') }]),
      {
        key: 'on_exit',
        kind: 'phase',
        label: disarms ? 'disarm the deadman switch' : 'leave the deadman switch armed',
        does: {
          verb: disarms ? 'disarm_deadman' : 'leave_armed',
          id: 'on_exit',
          input: { market: deadman.market.text },
        },
        leads: OUTCOMES,
        fails: [{ to: here('failed') }],
        on: [{ event: 'HALTED', to: here('halted') }],
      },
    ];
  }

  /**
   * The last states. A halted run can be resumed: it is settled, and ends failed or halted once more. What its steps did was undone
   * before it halted; what `on_error` and `finally` did was not.
   */
  private settling(): readonly ChartState[] {
    const { runbook } = this;
    const undoable = listUndoable(runbook, [...runbook.onError, ...runbook.finally]);
    const final = (key: string): ChartState => ({ key, kind: 'final', label: key, leads: [], fails: [] });
    return [
      ...['succeeded', 'stopped', 'failed'].map(final),
      { ...final('halted'), on: [{ event: 'RESUMED', to: here('settling') }] },
      {
        key: 'settling',
        kind: 'phase',
        label: 'look up what is not known, cancel what rests',
        inside: this.undoing(undoable, 'settling'),
        leads: [{ guard: HALTED, to: here('halted') }, { to: here('failed') }],
        fails: [{ to: here('halted') }],
      },
    ];
  }

  /** The phase itself or the first after it that the runbook has. */
  private next(from: Phase): string {
    return PHASES.slice(PHASES.indexOf(from)).find((each) => this.has(each)) ?? 'end';
  }

  /** The same after a halt, which leaves out an `on_error` that may add risk. */
  private afterHalt(from: Phase): string {
    const next = this.next(from);
    return next === 'on_error' && addsRisk(this.runbook, this.runbook.onError) ? this.next('finally') : next;
  }

  private has(each: Phase): boolean {
    return { undo: this.undoable, on_error: this.runbook.onError, finally: this.runbook.finally }[each].length > 0;
  }

  /**
   * Undoes one step after another in the state `own`. A step of a loop is undone once for each time it was done. A `stop` ends the
   * undoing of one step: the others are still undone.
   */
  private undoing(undoable: readonly Undoable[], own: string): ChartBlock {
    const names = new Names();
    const choice = names.assign('next');
    const again: readonly Arrow[] = [{ to: here(choice) }];
    const states = undoable.map(({ step, path, runbook, prefix }): ChartState => {
      const undo = `${path}/undo`;
      return {
        key: names.assign(`undo_${nameStep(step)}`),
        kind: 'cleanup',
        label: `undo ${nameStep(step)}`,
        does: { verb: Array.isArray(step.undo) ? 'undo' : 'cancel', id: actorId(undo), input: { step: path } },
        ...(Array.isArray(step.undo) ? { inside: new StepChart(runbook, phase(own), prefix).cleanUp(step.undo) } : {}),
        leads: again,
        fails: again,
        on: [{ event: 'HALTED', to: here(choice) }],
      };
    });
    const asked = undoable.map(({ path }, index): Arrow => {
      const guard: Guard = { text: `${path} is the newest that is not undone`, what: 'undo', step: path };
      return { guard, to: here(states[index]?.key ?? DONE) };
    });
    return { initial: choice, states: [makeChoice(choice, [...asked, { to: here(DONE) }]), ...states] };
  }
}

interface Undoable {
  readonly step: CheckedStep;
  /** Path of the step in the run; `prefix` is its part before the called runbook. */
  readonly path: string;
  readonly prefix: string;
  readonly runbook: CheckedRunbook;
}

/** Steps that are undone when a later one fails, the last first, with those of the runbooks that they call. */
function listUndoable(runbook: CheckedRunbook, steps: readonly CheckedStep[], prefix = ''): readonly Undoable[] {
  const found = [...walkSteps(steps)].flatMap((step): readonly Undoable[] => {
    const path = `${prefix}${step.path}`;
    const callee = step.verb === 'call' ? runbook.calls[step.args.runbook] : undefined;
    return [
      ...(callee === undefined ? [] : listUndoable(callee, listAllSteps(callee), `${path}/`)),
      ...(findUndo(step) === undefined || findUndo(step) === 'keep' ? [] : [{ step, path, prefix, runbook }]),
    ];
  });
  return found.reverse();
}
