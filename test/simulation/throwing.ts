/**
 * Throws a mistake of ours inside a run of a simulated world: at the n-th of its steps' boundaries, or at the n-th evaluation of an
 * expression of its runbook. The count begins again at each start and each replay, so the same mistake is made at the same place.
 */
import type { RunPorts } from '../../src/engine/ports.ts';
import type { CheckedRunbook } from '../../src/runbook/checked.ts';
import type { Expr } from '../../src/runbook/values.ts';
import type { EngineParts, Protocol } from './protocol.ts';

export type Place = 'boundary' | 'evaluation';

export interface Throwing {
  readonly place: Place;
  /** Counted from 1; 0 never throws. */
  readonly at: number;
  /**
   * The first process executes the run as builds did that let the mistake through: it dies where its run should be cleaned up.
   * `corrected`: the processes after it do not make the mistake any more.
   */
  readonly older?: 'kept' | 'corrected';
  /** It ends the run where this should be cleaned up, in every process: nothing stops it on its way out of the interpreter. */
  readonly escapes?: true;
}

/** The mistake of the broken protocol that lets it escape. */
export const AT_AN_EVALUATION = { place: 'evaluation', at: 2 } as const satisfies Throwing;

/** What came of it in a world. */
export interface Thrown {
  readonly protocol: Protocol;
  /** Places that the run passed, by kind, in its longest execution. */
  readonly passed: Record<Place, number>;
  /** Whether the process that ended the run made the mistake: one that died may have left nothing of it on the disk. */
  atLast: boolean;
}

const BOUNDARIES: ReadonlySet<string> = new Set(['step.started', 'step.ended', 'step.decided']);

/** A world whose first run makes the mistake; its companions do not. */
export function makeThrowing({ place, at, older, escapes }: Throwing): Thrown {
  const thrown: Thrown = { protocol: {}, passed: { boundary: 0, evaluation: 0 }, atLast: false };
  const engine = ({ setup, ports }: EngineParts, process?: { readonly life: number; die(point: string): void }) => {
    if (setup.run !== 'run') return { setup, ports };
    const isFirst = process?.life === 1;
    const isCorrected = older === 'corrected' && !isFirst;
    const passed: Record<Place, number> = { boundary: 0, evaluation: 0 };
    let isOver = false;
    if (process !== undefined) thrown.atLast = false;
    const pass = (kind: Place): void => {
      passed[kind] += 1;
      thrown.passed[kind] = Math.max(thrown.passed[kind], passed[kind]);
      if (isCorrected || kind !== place || passed[kind] !== at) return;
      if (process !== undefined) thrown.atLast = true;
      isOver = true;
      throw new TypeError('a mistake of ours');
    };
    const append: RunPorts['log']['append'] = (type, data, step, actor) => {
      if (BOUNDARIES.has(type)) pass('boundary');
      if (isOver && escapes && type === 'run.moved') throw new TypeError('a mistake of ours');
      if (isOver && isFirst && older !== undefined && type === 'run.moved') {
        process.die('its run throws');
        throw new Error('the process is gone');
      }
      ports.log.append(type, data, step, actor);
    };
    return {
      setup: {
        ...setup,
        runbook: withEvaluation(setup.runbook, (evaluate) => (scope) => {
          pass('evaluation');
          return evaluate(scope);
        }),
      },
      ports: { ...ports, log: { tracker: ports.log.tracker, append } },
    };
  };
  return Object.assign(thrown, { protocol: { engine } });
}

/** The same runbook, with each of its expressions evaluated in another way. */
export function withEvaluation(
  runbook: CheckedRunbook,
  change: (evaluate: Expr['evaluate']) => Expr['evaluate'],
): CheckedRunbook {
  const copies = new Map<object, object>();
  const copy = (value: unknown): unknown => {
    if (value === null || typeof value !== 'object') return value;
    const prototype: unknown = Object.getPrototypeOf(value);
    if (!Array.isArray(value) && prototype !== Object.prototype && prototype !== null) return value;
    const known = copies.get(value);
    if (known !== undefined) return known;
    const made: object = Array.isArray(value) ? [] : {};
    copies.set(value, made);
    for (const [key, each] of Object.entries(value)) Object.assign(made, { [key]: copy(each) });
    if ('evaluate' in value) {
      const { evaluate } = value as Expr;
      Object.assign(made, { evaluate: change(evaluate) });
    }
    return made;
  };
  return copy(runbook) as CheckedRunbook;
}
