/**
 * Renders the chart as the configuration of an XState machine, plain JSON: `createMachine` accepts it and Stately's tools draw it.
 * Steps are invoked actors with the step's name, guards have the author's expressions as names, and a failure that no arrow takes
 * rises to the block around it, as in a run. It is a drawing: its guards have no implementation.
 */
import { type Arrow, type ChartBlock, type ChartState, DONE, type StepFacts, type Target } from './model.ts';
import type { ChartJson } from './text.ts';

export interface XStateChart extends XStateNode {
  readonly id: string;
  readonly meta: { readonly runbook: string; readonly file: string; readonly sha256: string };
}

export interface XStateNode {
  readonly id?: string;
  readonly description?: string;
  readonly type?: 'parallel' | 'final';
  readonly initial?: string;
  readonly states?: Readonly<Record<string, XStateNode>>;
  readonly invoke?: {
    readonly src: string;
    readonly id: string;
    readonly input: ChartJson;
    readonly onDone?: readonly XStateArrow[];
    readonly onError?: readonly XStateArrow[];
  };
  readonly always?: readonly XStateArrow[];
  readonly after?: Readonly<Record<string, readonly XStateArrow[]>>;
  readonly on?: Readonly<Record<string, readonly XStateArrow[]>>;
  readonly onDone?: readonly XStateArrow[];
  readonly tags?: readonly string[];
  readonly meta?: Partial<StepFacts> | XStateChart['meta'];
}

interface XStateArrow {
  readonly target: string;
  readonly guard?: string;
  readonly reenter?: true;
}

/** An actor's failure that no state inside has taken. */
const FAILURE = 'xstate.error.actor.*';

export function renderXState(
  root: ChartBlock,
  {
    name,
    about,
    file,
    sha256,
  }: { readonly name: string; readonly about?: string | undefined; readonly file: string; readonly sha256: string },
): XStateChart {
  const rendering = new Rendering(name, root);
  return {
    id: name,
    ...(about === undefined ? {} : { description: about }),
    ...rendering.block(root, [], false),
    meta: { runbook: name, file, sha256 },
  };
}

class Rendering {
  private readonly name: string;
  /** Ids of states to which arrows of other blocks lead. */
  private readonly named = new Set<string>();

  constructor(name: string, root: ChartBlock) {
    this.name = name;
    this.collect(root.states, []);
  }

  block(
    { initial, states }: ChartBlock,
    path: readonly string[],
    withEnd = true,
  ): Pick<XStateNode, 'initial' | 'states'> {
    const nodes = states.map((state): [string, XStateNode] => [state.key, this.state(state, path)]);
    return {
      initial,
      states: Object.fromEntries(withEnd ? [...nodes, [DONE, { type: 'final', ...this.id([...path, DONE]) }]] : nodes),
    };
  }

  private state(state: ChartState, parent: readonly string[]): XStateNode {
    const { key, kind, label, step, does, inside, regions, after } = state;
    const path = [...parent, key];
    const shared = {
      ...this.id(path),
      description: label,
      tags: [kind],
      ...(step === undefined ? {} : { meta: step }),
    };
    if (kind === 'final') return { ...shared, type: 'final' };
    const leads = state.leads.map((arrow) => this.arrow(arrow, parent));
    const fails = [...this.retry(state), ...state.fails.map((arrow) => this.arrow(arrow, parent))];
    const on = {
      ...(fails.length > 0 && does === undefined ? { [FAILURE]: fails } : {}),
      ...(state.halts === undefined ? {} : { HALTED: [this.arrow({ to: state.halts }, parent)] }),
    };
    return {
      ...shared,
      ...(after === undefined ? {} : { after: { [after.delay]: [this.arrow({ to: after.to }, parent)] } }),
      ...(Object.keys(on).length === 0 ? {} : { on }),
      ...this.content(state, path, leads, fails),
      ...(inside === undefined && regions === undefined && does === undefined && leads.length > 0
        ? { always: leads }
        : {}),
    };
  }

  private content(
    { does, inside, regions }: ChartState,
    path: readonly string[],
    leads: readonly XStateArrow[],
    fails: readonly XStateArrow[],
  ): XStateNode {
    const onDone = leads.length === 0 ? {} : { onDone: leads };
    if (does !== undefined) {
      const { verb, id, input } = does;
      return { invoke: { src: verb, id, input, ...onDone, ...(fails.length === 0 ? {} : { onError: fails }) } };
    }
    if (inside !== undefined) return { ...this.block(inside, path), ...onDone };
    if (regions === undefined) return {};
    return {
      type: 'parallel',
      states: Object.fromEntries(regions.map((region) => [region.key, this.state(region, path)])),
      ...onDone,
    };
  }

  /** The arrow of a retry. Only a step that does work has attempts. */
  private retry({ key, retry, does }: ChartState): readonly XStateArrow[] {
    return retry === undefined || does === undefined
      ? []
      : [{ guard: `retry on ${retry}`, target: key, reenter: true }];
  }

  private arrow({ guard, to }: Arrow, parent: readonly string[]): XStateArrow {
    const path = resolveTarget(to, parent);
    return { ...(guard === undefined ? {} : { guard }), target: to.in === 'block' ? to.key : `#${this.idOf(path)}` };
  }

  private id(path: readonly string[]): { readonly id?: string } {
    const id = this.idOf(path);
    return this.named.has(id) ? { id } : {};
  }

  private idOf(path: readonly string[]): string {
    return [this.name, ...path].join('/');
  }

  private collect(states: readonly ChartState[], parent: readonly string[]): void {
    for (const { key, leads, fails, after, halts, inside, regions } of states) {
      const targets = [...leads, ...fails]
        .map(({ to }) => to)
        .concat(after === undefined ? [] : [after.to], halts === undefined ? [] : [halts]);
      for (const to of targets) if (to.in !== 'block') this.named.add(this.idOf(resolveTarget(to, parent)));
      this.collect(inside?.states ?? regions ?? [], [...parent, key]);
    }
  }
}

/** The path of a target from the root; `parent` is the path of the block in which the arrow begins. */
function resolveTarget(to: Target, parent: readonly string[]): readonly string[] {
  if (to.in === 'run') return [to.key];
  return to.in === 'block' ? [...parent, to.key] : [...parent.slice(0, -1), to.key];
}
