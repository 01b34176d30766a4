/** Renders the chart in the language of Graphviz, from which the SVG is laid out. Blocks are clusters; arrows end at their borders. */
import {
  type ChartBlock,
  type ChartState,
  DONE,
  listArrows,
  listBranches,
  resolveTarget,
  type Target,
} from './model.ts';
import { clip } from './text.ts';

const LONGEST_LABEL = 60;

export function renderDot(root: ChartBlock, name: string): string {
  const rendering = new Rendering(root);
  rendering.block(root, [], 1, false);
  return [
    `digraph ${quote(name)} {`,
    '  compound=true; rankdir=TB; newrank=true; fontname="Helvetica"; bgcolor="white";',
    '  node [shape=box, style="rounded,filled", fillcolor="white", color="#5b6470", fontname="Helvetica", fontsize=11];',
    '  edge [color="#5b6470", fontname="Helvetica", fontsize=9];',
    '  start [shape=circle, style=filled, fillcolor="#1b1f24", label="", width=0.15];',
    ...rendering.lines.filter((line) => !isLooseEnd(line, rendering.edges)),
    ...rendering.edges,
    '}',
    '',
  ].join('\n');
}

const KIND_STYLE: Readonly<Record<ChartState['kind'], string>> = {
  step: '',
  choice: ', shape=diamond, width=0.25, height=0.25, label=""',
  round: '',
  branch: '',
  handler: ', fillcolor="#fdf0ef"',
  pause: ', shape=plaintext, style=""',
  phase: ', fillcolor="#eef2fd"',
  cleanup: ', fillcolor="#f4f4f2"',
  final: ', peripheries=2',
};

/** The start of an edge: its state, its path, and its siblings. */
interface Tail {
  readonly state: ChartState;
  readonly path: readonly string[];
  readonly siblings: readonly ChartState[];
}

class Rendering {
  readonly lines: string[] = [];
  readonly edges: string[] = [];
  private readonly root: ChartBlock;
  private readonly branches: ReadonlySet<string>;

  constructor(root: ChartBlock) {
    this.root = root;
    this.branches = new Set(listBranches(root.states));
    this.edges.push(`  start -> ${this.entry(root, [])}${this.head(root, [])};`);
  }

  block({ states }: ChartBlock, path: readonly string[], depth: number, hasEnd = true): void {
    for (const state of states) this.state(state, path, depth);
    if (hasEnd) this.line(depth, `${quote(makeId([...path, DONE]))} [shape=point, width=0.12, label=""];`);
    for (const state of states) this.arrows(state, path, states);
  }

  private state(state: ChartState, parent: readonly string[], depth: number): void {
    const { key, kind, label, inside, regions } = state;
    const path = [...parent, key];
    if (inside === undefined && regions === undefined) {
      this.line(depth, `${quote(makeId(path))} [label=${quote(label)}${KIND_STYLE[kind]}];`);
      return;
    }
    this.line(depth, `subgraph ${quote(`cluster_${makeId(path)}`)} {`);
    this.line(
      depth + 1,
      `label=${quote(label)}; fontsize=11; style="rounded${regions === undefined ? '' : ',dashed'}"; color="#9aa4b0";`,
    );
    if (inside !== undefined) this.block(inside, path, depth + 1);
    for (const region of regions ?? []) this.state(region, path, depth + 1);
    if (regions !== undefined) for (const region of regions) this.arrows(region, path, regions);
    this.line(depth, '}');
  }

  private arrows(state: ChartState, parent: readonly string[], siblings: readonly ChartState[]): void {
    const path = [...parent, state.key];
    for (const { to, label } of listArrows(state)) this.edge({ state, path, siblings }, to, label);
  }

  private edge({ state, path, siblings }: Tail, to: Target, label: string | undefined): void {
    const at = resolveTarget(to, path, this.branches);
    const target =
      to.in === 'block'
        ? siblings.find(({ key }) => key === to.key)
        : this.statesAt(at.slice(0, -1)).find(({ key }) => key === to.key);
    const head = target === undefined ? quote(makeId(at)) : this.first(target, at);
    const attributes = [
      ...(label === undefined ? [] : [`label=${quote(clip(label, LONGEST_LABEL))}`]),
      ...(isCompound(target) ? [`lhead=${quote(`cluster_${makeId(at)}`)}`] : []),
      ...(isCompound(state) ? [`ltail=${quote(`cluster_${makeId(path)}`)}`] : []),
    ];
    this.edges.push(
      `  ${this.last(state, path)} -> ${head}${attributes.length === 0 ? '' : ` [${attributes.join(', ')}]`};`,
    );
  }

  /** A node inside the cluster, for an arrow that ends at its border. */
  private first(state: ChartState, path: readonly string[]): string {
    if (state.inside !== undefined) return this.entry(state.inside, path);
    const [region] = state.regions ?? [];
    return region === undefined ? quote(makeId(path)) : this.first(region, [...path, region.key]);
  }

  private last(state: ChartState, path: readonly string[]): string {
    if (state.inside !== undefined) return quote(makeId([...path, DONE]));
    const [region] = state.regions ?? [];
    return region === undefined ? quote(makeId(path)) : this.last(region, [...path, region.key]);
  }

  private entry({ initial, states }: ChartBlock, path: readonly string[]): string {
    const first = states.find(({ key }) => key === initial);
    return first === undefined ? quote(makeId([...path, initial])) : this.first(first, [...path, initial]);
  }

  private head({ initial, states }: ChartBlock, path: readonly string[]): string {
    return isCompound(states.find(({ key }) => key === initial))
      ? ` [lhead=${quote(`cluster_${makeId([...path, initial])}`)}]`
      : '';
  }

  private statesAt(path: readonly string[]): readonly ChartState[] {
    let states = this.root.states;
    for (const key of path) {
      const state = states.find((each) => each.key === key);
      states = state?.inside?.states ?? state?.regions ?? [];
    }
    return states;
  }

  private line(depth: number, text: string): void {
    this.lines.push(`${'  '.repeat(depth)}${text}`);
  }
}

/** Whether a line draws the end of a block that no arrow reaches, because the block stops or fails the run. */
function isLooseEnd(line: string, edges: readonly string[]): boolean {
  const [, id] = /^ *(".*") \[shape=point,/.exec(line) ?? [];
  return id !== undefined && !edges.some((edge) => edge.includes(id));
}

function isCompound(state: ChartState | undefined): boolean {
  return state?.inside !== undefined || state?.regions !== undefined;
}

function makeId(path: readonly string[]): string {
  return path.join('/');
}

/** Quotes a text for Graphviz, in which only the quote and the backslash are special. */
function quote(text: string): string {
  const line = text.replace(/[\u0000-\u001f\u007f-\u009f\u2028\u2029]+/g, ' ');
  return `"${line.replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"`;
}
