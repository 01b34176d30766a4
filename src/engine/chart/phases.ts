/**
 * Builds the whole chart of a checked runbook: its steps, and the phases in which a run ends (docs/language.md, How a run ends).
 * For people and their tools; nothing executes it (a run executes the flat machines of machines.ts).
 */
import type { CheckedRunbook, CheckedStep } from '../../runbook/checked.ts';
import { type Arrow, type ChartBlock, type ChartState, DONE, here, Names, nameStep, phase } from './model.ts';
import { StepChart } from './steps.ts';

const HALTED = 'an outcome at the venue is not known';

export function buildChart(runbook: CheckedRunbook): ChartBlock {
  return new RunChart(runbook).run();
}

class RunChart {
  private readonly runbook: CheckedRunbook;
  private readonly steps: StepChart;

  constructor(runbook: CheckedRunbook) {
    this.runbook = runbook;
    this.steps = new StepChart(runbook.source, phase(this.firstOf('finally', 'on_exit') ?? 'stopped'));
  }

  /** The phases of a run (docs/language.md, How a run ends). */
  run(): ChartBlock {
    const { runbook } = this;
    const undos = listUndoable(runbook);
    const cleanup = this.firstOf('undo', 'on_error', 'finally', 'on_exit');
    const states: ChartState[] = [];
    if (runbook.deadman !== undefined) {
      const { market, timeout } = runbook.deadman;
      const does = { verb: 'arm_deadman', id: 'deadman', input: { market: market.text, timeout: timeout.text } };
      states.push({
        key: 'deadman',
        kind: 'phase',
        label: `arm the deadman switch, ${timeout.text}`,
        does,
        leads: [{ to: here('running') }],
        fails: [{ to: here(cleanup ?? 'failed') }],
      });
    }
    states.push({
      key: 'running',
      kind: 'phase',
      label: runbook.name,
      inside: this.steps.block(runbook.steps),
      leads: [{ to: here(this.firstOf('finally', 'on_exit') ?? 'succeeded') }],
      fails: [{ to: here(cleanup ?? 'failed') }],
      halts: here(this.firstOf('undo', 'on_error', 'finally') ?? 'halted'),
    });
    if (undos.length > 0)
      states.push(this.cleanup('undo', 'undo what was done, newest first', this.undoing(undos), this.after('undo')));
    if (runbook.onError.length > 0)
      states.push(this.cleanup('on_error', 'on_error', this.steps.block(runbook.onError), this.after('on_error')));
    if (runbook.finally.length > 0)
      states.push(this.cleanup('finally', 'finally', this.steps.block(runbook.finally), this.after('finally')));
    if (runbook.deadman !== undefined) states.push(this.exit());
    for (const key of ['succeeded', 'stopped', 'failed', 'halted'])
      states.push({ key, kind: 'final', label: key, leads: [], fails: [] });
    return { initial: runbook.deadman === undefined ? 'running' : 'deadman', states };
  }

  private cleanup(key: string, label: string, inside: ChartBlock, leads: readonly Arrow[]): ChartState {
    // After clean-up fails the rest is still done.
    return { key, kind: 'phase', label, inside, leads, fails: leads };
  }

  private exit(): ChartState {
    const { deadman } = this.runbook;
    const disarms = deadman?.onExit === 'disarm';
    const does = {
      verb: disarms ? 'disarm_deadman' : 'leave_armed',
      id: 'on_exit',
      input: { market: deadman?.market.text ?? '' },
    };
    const label = disarms ? 'disarm the deadman switch' : 'leave the deadman switch armed';
    return { key: 'on_exit', kind: 'phase', label, does, leads: OUTCOMES, fails: [{ to: here('failed') }] };
  }

  /** The arrows after a phase of clean-up. */
  private after(key: 'undo' | 'on_error' | 'finally'): readonly Arrow[] {
    const order = ['undo', 'on_error', 'finally'] as const;
    const next = this.firstOf(...order.slice(order.indexOf(key) + 1));
    if (next !== undefined) return [{ to: here(next) }];
    const halted: Arrow = { guard: HALTED, to: here('halted') };
    if (this.runbook.deadman !== undefined) return [halted, { to: here('on_exit') }];
    // Only failures lead to undo and on_error.
    return key === 'finally' ? [halted, ...OUTCOMES] : [halted, { to: here('failed') }];
  }

  private firstOf(...phases: readonly ('undo' | 'on_error' | 'finally' | 'on_exit')[]): string | undefined {
    const { onError, finally: last, deadman } = this.runbook;
    const has = {
      undo: listUndoable(this.runbook).length > 0,
      on_error: onError.length > 0,
      finally: last.length > 0,
      on_exit: deadman !== undefined,
    };
    return phases.find((each) => has[each]);
  }

  private undoing(undos: readonly CheckedStep[]): ChartBlock {
    const names = new Names();
    const entries = undos.map((step) => ({
      step,
      choice: names.assign(`if_${nameStep(step)}`),
      key: names.assign(`undo_${nameStep(step)}`),
    }));
    const states = entries.flatMap(({ step, choice, key }, index): readonly ChartState[] => {
      const next = [{ to: here(entries[index + 1]?.choice ?? DONE) }];
      const asked: ChartState = {
        key: choice,
        kind: 'choice',
        label: '',
        leads: [{ guard: `${nameStep(step)} was done`, to: here(key) }, ...next],
        fails: [],
      };
      const label = `undo ${nameStep(step)}`;
      const done: ChartState = Array.isArray(step.undo)
        ? { key, kind: 'cleanup', label, inside: this.steps.block(step.undo), leads: next, fails: next }
        : {
            key,
            kind: 'cleanup',
            label,
            does: { verb: 'cancel', id: `${step.path}/undo`, input: { order: nameStep(step) } },
            leads: next,
            fails: next,
          };
      return [asked, done];
    });
    return { initial: entries[0]?.choice ?? DONE, states };
  }
}

const OUTCOMES: readonly Arrow[] = [
  { guard: 'the steps succeeded', to: here('succeeded') },
  { guard: 'the run was stopped', to: here('stopped') },
  { to: here('failed') },
];

/** Steps that are undone when a later one fails, the last first. */
function listUndoable(runbook: CheckedRunbook): readonly CheckedStep[] {
  const found: CheckedStep[] = [];
  const walk = (steps: readonly CheckedStep[]): void => {
    for (const step of steps) {
      if (step.undo !== undefined && step.undo !== 'keep') found.push(step);
      for (const inner of listInnerSteps(step)) walk(inner);
    }
  };
  walk(runbook.steps);
  walk(runbook.onError);
  walk(runbook.finally);
  return found.reverse();
}

/** The lists of steps inside a step, but for its undo. */
function listInnerSteps(step: CheckedStep): readonly (readonly CheckedStep[])[] {
  const handlers = [...step.catch.map((clause) => clause.do), step.onTimeout ?? []];
  switch (step.verb) {
    case 'for_each':
    case 'repeat':
      return [step.args.do, ...handlers];
    case 'parallel':
      return step.args.kind === 'each'
        ? [step.args.do, ...handlers]
        : [...step.args.branches.map((branch) => branch.do), ...handlers];
    case 'switch':
      return [...step.args.cases.map((each) => each.do), step.args.else ?? [], ...handlers];
    case 'wait_for':
      return step.args.kind === 'read' ? [[step.args.read], ...handlers] : handlers;
    default:
      return handlers;
  }
}
