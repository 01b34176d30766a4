/**
 * Makes the machine of a chart as XState executes it: `createMachine` takes the export unchanged, and each step is an actor that ends
 * when the oracle says so. Guards are answered by the walk that is under way.
 */
import { type AnyStateMachine, createMachine, fromTransition } from 'xstate';
import { makeXstateChart } from '../../src/engine/chart/chart.ts';
import type { Guard } from '../../src/engine/chart/model.ts';
import type { XStateArrow, XStateNode } from '../../src/engine/chart/xstate.ts';
import type { CheckedRunbook } from '../../src/runbook/checked.ts';

export interface Chart {
  readonly machine: AnyStateMachine;
  /** Runbook by the id of the actor of the step that calls it. */
  readonly calls: ReadonlyMap<string, CheckedRunbook>;
  /** How parallel steps join their branches, by path. */
  readonly joins: ReadonlyMap<string, string>;
  /** Those over a list. */
  readonly each: ReadonlySet<string>;
  /** Answers the guards of the walk that is under way. */
  asking: ((guard: Guard, text: string, event: FailureEvent) => boolean) | undefined;
}

const charts = new WeakMap<CheckedRunbook, Chart>();

/** The machine of a runbook with its guards and actors, made once. */
export function makeChart(runbook: CheckedRunbook): Chart {
  const known = charts.get(runbook);
  if (known !== undefined) return known;
  const config = JSON.parse(JSON.stringify(makeXstateChart(runbook))) as XStateNode;
  const nodes = listNodes(config);
  const guards = new Set(nodes.flatMap(listArrows).flatMap(({ guard }) => guard?.type ?? []));
  const sources = nodes.flatMap(({ invoke }) => invoke ?? []);
  const delays = nodes.flatMap(({ after }) => Object.keys(after ?? {}));
  const parallel = nodes.flatMap((node) =>
    node.type === 'parallel' && node.meta !== undefined && 'path' in node.meta
      ? [{ path: String(node.meta.path), node }]
      : [],
  );
  const chart: Chart = {
    machine: createMachine(
      config as never,
      {
        guards: Object.fromEntries(
          [...guards].map((text) => [
            text,
            ({ event }: { event: FailureEvent }, guard: Guard) => chart.asking?.(guard, text, event) ?? false,
          ]),
        ),
        delays: Object.fromEntries(delays.map((delay) => [delay, 1])),
        actors: Object.fromEntries(sources.map(({ src }) => [src, WORK])),
      } as never,
    ),
    calls: new Map(sources.flatMap(({ id, src }) => findCallee(runbook, id, src))),
    joins: new Map(parallel.map(({ path, node }) => [path, String(readJoin(node))])),
    each: new Set(parallel.flatMap(({ path, node }) => (node.states?.each === undefined ? [] : [path]))),
    asking: undefined,
  };
  charts.set(runbook, chart);
  return chart;
}

function readJoin({ invoke }: XStateNode): unknown {
  const input = invoke?.input;
  return typeof input === 'object' && 'join' in input ? input.join : undefined;
}

/** The runbook that a step calls, of this runbook or of one that it calls (in an `undo`). */
function findCallee(runbook: CheckedRunbook, id: string, src: string): [string, CheckedRunbook][] {
  if (!src.startsWith('runbook ')) return [];
  const find = ({ calls }: CheckedRunbook): CheckedRunbook | undefined =>
    calls[src.slice('runbook '.length)] ?? Object.values(calls).map(find).find(Boolean);
  const callee = find(runbook);
  return callee === undefined ? [] : [[id, callee]];
}

export interface FailureEvent {
  readonly type: string;
  readonly error?: { readonly kind: string };
}

/** The work of a step: an actor that ends when the oracle says so. */
const WORK = fromTransition((_: object, event: { type: string; kind?: string }) => event, {});
WORK.transition = ((snapshot: object, { type, kind }: { type: string; kind?: string }) =>
  type === 'fails'
    ? { ...snapshot, status: 'error', error: { kind } }
    : type === 'ends'
      ? { ...snapshot, status: 'done' }
      : snapshot) as never;

/** Time passes only where the journal says so. */
export const STILL_CLOCK = { setTimeout: () => 0, clearTimeout: () => {} };

/** Every node of a chart, outermost first. */
export function listNodes(node: XStateNode): XStateNode[] {
  return [node, ...Object.values(node.states ?? {}).flatMap(listNodes)];
}

export function listArrows(node: XStateNode): XStateArrow[] {
  const { always, onDone, invoke, after, on } = node;
  return [always, onDone, invoke?.onDone, ...Object.values(after ?? {}), ...Object.values(on ?? {})].flatMap(
    (list) => list ?? [],
  );
}
