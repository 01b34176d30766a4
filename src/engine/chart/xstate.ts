/**
 * Renders the chart as the configuration of an XState machine, plain JSON: `createMachine` accepts it and Stately's tools draw it.
 * Steps are invoked actors with the step's name. Guards have the author's expressions as names, and as parameters the step that asks
 * and what decides it. A failure that no arrow takes rises to the block around it, as in a run.
 */
import {
  type Arrow,
  type ChartBlock,
  type ChartState,
  DONE,
  type Guard,
  listBranches,
  resolveTarget,
  type StepFacts,
} from './model.ts';
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
  };
  readonly always?: readonly XStateArrow[];
  readonly after?: Readonly<Record<string, readonly XStateArrow[]>>;
  readonly on?: Readonly<Record<string, readonly XStateArrow[]>>;
  readonly onDone?: readonly XStateArrow[];
  readonly tags?: readonly string[];
  readonly meta?: Partial<StepFacts> | XStateChart['meta'];
}

export interface XStateArrow {
  readonly target: string;
  readonly guard?: { readonly type: string; readonly params: Omit<Guard, 'text'> };
  readonly reenter?: true;
}

/** The failure of an actor, or of one inside it that no state there has taken; without an id, of any. */
const failureOf = (id?: string) => `xstate.error.actor.${id === undefined ? '' : `${id}.`}*`;

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
  private readonly branches: ReadonlySet<string>;

  constructor(name: string, root: ChartBlock) {
    this.name = name;
    this.branches = new Set(listBranches(root.states));
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
    const { key, kind, label, step, does, inside, regions, after, on: events = [] } = state;
    const path = [...parent, key];
    const shared = {
      ...this.id(path),
      description: label,
      tags: [kind],
      ...(step === undefined ? {} : { meta: step }),
    };
    if (kind === 'final' && events.length === 0) return { ...shared, type: 'final' };
    const leads = state.leads.map((arrow) => this.arrow(arrow, path));
    const fails = state.fails.map((arrow) => this.arrow(arrow, path));
    const on = {
      ...(fails.length > 0 ? { [failureOf(does?.id)]: fails } : {}),
      ...Object.fromEntries(events.map(({ event, to }) => [event, [this.arrow({ to }, path)]])),
    };
    const isChoice = inside === undefined && regions === undefined && does === undefined;
    return {
      ...shared,
      ...this.work(state, leads),
      ...(after === undefined ? {} : { after: { [after.delay]: [this.arrow({ to: after.to }, path)] } }),
      ...(Object.keys(on).length === 0 ? {} : { on }),
      ...this.content(state, path, leads),
      ...(isChoice && leads.length > 0 ? { always: leads } : {}),
    };
  }

  /** A leaf is left when its actor is done; a state with others inside, when these are. */
  private work({ does, inside, regions }: ChartState, leads: readonly XStateArrow[]): Pick<XStateNode, 'invoke'> {
    if (does === undefined) return {};
    const { verb, id, input } = does;
    const isLeaf = inside === undefined && regions === undefined;
    return { invoke: { src: verb, id, input, ...(isLeaf && leads.length > 0 ? { onDone: leads } : {}) } };
  }

  private content(
    { inside, regions }: ChartState,
    path: readonly string[],
    leads: readonly XStateArrow[],
  ): Pick<XStateNode, 'type' | 'initial' | 'states' | 'onDone'> {
    const onDone = leads.length === 0 ? {} : { onDone: leads };
    if (inside !== undefined) return { ...this.block(inside, path), ...onDone };
    if (regions === undefined) return {};
    return {
      type: 'parallel',
      states: Object.fromEntries(regions.map((region) => [region.key, this.state(region, path)])),
      ...onDone,
    };
  }

  /** `from`: path of the state it begins in, which is entered anew where the arrow leads back to it. */
  private arrow({ guard, to }: Arrow, from: readonly string[]): XStateArrow {
    const { text, ...params } = guard ?? { text: '' };
    return {
      ...(guard === undefined ? {} : { guard: { type: text, params: params as Omit<Guard, 'text'> } }),
      target: to.in === 'block' ? to.key : `#${this.idOf(resolveTarget(to, from, this.branches))}`,
      ...(to.in === 'block' && to.key === from.at(-1) ? { reenter: true as const } : {}),
    };
  }

  private id(path: readonly string[]): { readonly id?: string } {
    const id = this.idOf(path);
    return this.named.has(id) ? { id } : {};
  }

  private idOf(path: readonly string[]): string {
    return [this.name, ...path].join('/');
  }

  private collect(states: readonly ChartState[], parent: readonly string[]): void {
    for (const { key, leads, fails, after, on = [], inside, regions } of states) {
      const path = [...parent, key];
      const arrows = [...leads, ...fails, ...on, ...(after === undefined ? [] : [after])];
      for (const { to } of arrows)
        if (to.in !== 'block') this.named.add(this.idOf(resolveTarget(to, path, this.branches)));
      this.collect(inside?.states ?? regions ?? [], path);
    }
  }
}
