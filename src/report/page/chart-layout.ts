/**
 * The state chart of a runbook as a page draws it: places and lines as numbers, labels as texts. Made from what Graphviz
 * computed (its JSON, never its SVG): no markup of another program comes near the page, and the page colours the states
 * itself. Where nothing was laid out the states are listed, nested as their blocks are.
 */
import { tenth } from '../time-scale.ts';

/** What is known of a state beside its place; from the chart of the engine. */
interface ChartStateFacts {
  /** As in the layout: keys from the root, joined by `/`. */
  readonly id: string;
  readonly kind: string;
  readonly label: string;
  /** The step it stands for. */
  readonly path?: string;
  readonly verb?: string;
  /** Line of the runbook's file, from 1. */
  readonly line?: number;
}

interface ChartBox extends ChartStateFacts {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

interface ChartArrow {
  readonly from: string;
  readonly to: string;
  /** An SVG path. */
  readonly line: string;
  /** Corners of the head: x y x y x y. */
  readonly head: readonly number[];
  readonly label?: string;
  readonly labelX?: number;
  readonly labelY?: number;
}

export type ChartDocument =
  | {
      readonly kind: 'drawn';
      readonly width: number;
      readonly height: number;
      readonly blocks: readonly ChartBox[];
      readonly states: readonly ChartBox[];
      readonly arrows: readonly ChartArrow[];
    }
  | {
      readonly kind: 'listed';
      /** Why there is no drawing. */
      readonly because: string;
      /** In reading order; `depth` says how far inside. */
      readonly states: readonly (ChartStateFacts & { readonly depth: number })[];
    };

/** The states of an XState configuration, as the engine draws one of a runbook, in reading order. */
export interface ChartNode {
  readonly description?: string;
  readonly tags?: readonly string[];
  readonly meta?: object;
  readonly states?: Readonly<Record<string, ChartNode>>;
}

export function chartStates(root: ChartNode): readonly (ChartStateFacts & { readonly depth: number })[] {
  const found: (ChartStateFacts & { readonly depth: number })[] = [];
  const walk = (node: ChartNode, path: readonly string[]) => {
    for (const [key, state] of Object.entries(node.states ?? {})) {
      const here = [...path, key];
      const facts = (state.meta ?? {}) as { readonly path?: string; readonly verb?: string; readonly line?: number };
      found.push({
        id: here.join('/'),
        kind: state.tags?.[0] ?? 'end',
        label: state.description ?? '',
        ...(facts.path === undefined ? {} : { path: facts.path }),
        ...(facts.verb === undefined ? {} : { verb: facts.verb }),
        ...(facts.line === undefined ? {} : { line: facts.line }),
        depth: path.length,
      });
      walk(state, here);
    }
  };
  walk(root, []);
  return found;
}

/** Without the small marks that only a drawing needs. */
export function listedChart(states: ReturnType<typeof chartStates>, because: string): ChartDocument {
  return { kind: 'listed', because, states: states.filter(({ label, kind }) => label !== '' && kind !== 'end') };
}

/** What is read of Graphviz' `json0`: points from the bottom left, sizes in inches. */
interface Layout {
  readonly bb: string;
  readonly objects?: readonly {
    readonly _gvid: number;
    readonly name: string;
    readonly label?: string;
    readonly bb?: string;
    readonly pos?: string;
    readonly width?: string;
    readonly height?: string;
    readonly shape?: string;
  }[];
  readonly edges?: readonly {
    readonly tail: number;
    readonly head: number;
    readonly pos?: string;
    readonly label?: string;
    readonly lp?: string;
  }[];
}

const CLUSTER = 'cluster_';
const POINTS_PER_INCH = 72;
const HEAD_WIDTH = 3.5;

/** Throws a SyntaxError when `json` is not what Graphviz writes. */
export function drawnChart(json: string, states: readonly ChartStateFacts[]): ChartDocument {
  const layout = JSON.parse(json) as Layout;
  const [, , width = 0, height = 0] = numbers(layout.bb);
  const factsOf = new Map(states.map((state) => [state.id, state]));
  const names = new Map((layout.objects ?? []).map(({ _gvid, name }) => [_gvid, name]));
  const blocks: ChartBox[] = [];
  const boxes: ChartBox[] = [];
  for (const { name, label = '', bb, pos, width: inches, height: high, shape } of layout.objects ?? []) {
    if (name.startsWith(CLUSTER) && bb !== undefined) {
      const [left = 0, bottom = 0, right = 0, top = 0] = numbers(bb);
      const facts = factsOf.get(name.slice(CLUSTER.length)) ?? { id: name.slice(CLUSTER.length), kind: 'block', label };
      blocks.push({ ...facts, label, x: left, y: height - top, width: right - left, height: top - bottom });
    } else if (pos !== undefined) {
      const [x = 0, y = 0] = numbers(pos);
      const [w = 0, h = 0] = [...numbers(inches ?? ''), ...numbers(high ?? '')].map((each) => each * POINTS_PER_INCH);
      const facts = factsOf.get(name) ?? { id: name, kind: shape === 'circle' ? 'start' : 'end', label };
      boxes.push({ ...facts, label, x: x - w / 2, y: height - y - h / 2, width: w, height: h });
    }
  }
  const arrows = (layout.edges ?? []).flatMap(({ tail, head, pos, label, lp }): ChartArrow[] => {
    const drawn = pos === undefined ? undefined : spline(pos, height);
    if (drawn === undefined) return [];
    const [labelX, labelY] = lp === undefined ? [] : numbers(lp);
    return [
      {
        from: names.get(tail) ?? '',
        to: names.get(head) ?? '',
        ...drawn,
        ...(label === undefined || label === '' || labelX === undefined || labelY === undefined
          ? {}
          : { label, labelX, labelY: height - labelY }),
      },
    ];
  });
  return { kind: 'drawn', width, height, blocks, states: boxes, arrows };
}

/** `e,x,y` is where the head points to; then a start and triples of control points. */
function spline(pos: string, height: number): Pick<ChartArrow, 'line' | 'head'> | undefined {
  const end = /^e,(\S+) /.exec(pos);
  const points = pos
    .replace(/[es],\S+ /g, '')
    .split(' ')
    .map((each) => numbers(each))
    .map(([x = 0, y = 0]) => ({ x, y: height - y }));
  const [first, ...rest] = points;
  const last = points.at(-1);
  if (first === undefined || last === undefined || rest.length < 3) return undefined;
  const place = ({ x, y }: { readonly x: number; readonly y: number }) => `${tenth(x)} ${tenth(y)}`;
  const curves: string[] = [];
  for (let at = 0; at + 2 < rest.length; at += 3)
    curves.push(
      `C${rest
        .slice(at, at + 3)
        .map(place)
        .join(' ')}`,
    );
  const [tipX = last.x, tipY] = end?.[1] === undefined ? [] : numbers(end[1]);
  const tip = { x: tipX, y: tipY === undefined ? last.y : height - tipY };
  return { line: `M${place(first)}${curves.join('')}`, head: headOf(last, tip) };
}

function headOf(
  from: { readonly x: number; readonly y: number },
  tip: { readonly x: number; readonly y: number },
): readonly number[] {
  const [dx, dy] = [tip.x - from.x, tip.y - from.y];
  const length = Math.hypot(dx, dy) || 1;
  const [nx, ny] = [(-dy / length) * HEAD_WIDTH, (dx / length) * HEAD_WIDTH];
  return [tip.x, tip.y, from.x + nx, from.y + ny, from.x - nx, from.y - ny].map(tenth);
}

/** Places on a drawing; nothing else is read with this. */
function numbers(text: string): readonly number[] {
  return text
    .split(',')
    .map((each) => Number(each))
    .filter((each) => Number.isFinite(each));
}
