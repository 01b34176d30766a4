/**
 * Lays out the state chart of a runbook for the page: positions and lines as numbers, labels as texts. It reads the JSON of
 * Graphviz, never its SVG, so that no markup of another program reaches the page; the page colours the states itself. Without
 * a layout the states are listed, nested as their blocks are.
 */
import { roundToTenth } from '../time-scale.ts';

/** A state without its position, from the chart of the engine. */
interface ChartStateFacts {
  /** Keys from the root, joined by `/`, as in the layout. */
  readonly id: string;
  readonly kind: string;
  readonly label: string;
  /** The step it represents. */
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
      /** In reading order; `depth` is the number of blocks around it. */
      readonly states: readonly (ChartStateFacts & { readonly depth: number })[];
    };

/** A node of an XState configuration, as the engine makes one of a runbook. */
export interface ChartNode {
  readonly description?: string;
  readonly tags?: readonly string[];
  readonly meta?: object;
  readonly states?: Readonly<Record<string, ChartNode>>;
}

export function listChartStates(root: ChartNode): readonly (ChartStateFacts & { readonly depth: number })[] {
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

/** A list of the states, without the small marks that only a drawing needs. */
export function makeListedChart(states: ReturnType<typeof listChartStates>, because: string): ChartDocument {
  return { kind: 'listed', because, states: states.filter(({ label, kind }) => label !== '' && kind !== 'end') };
}

/** The part of Graphviz' `json0` that is read: points from the bottom left, sizes in inches. */
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

/** Throws a SyntaxError if `json` is not JSON. */
export function makeDrawnChart(json: string, states: readonly ChartStateFacts[]): ChartDocument {
  const layout = JSON.parse(json) as Layout;
  const [, , width = 0, height = 0] = parseNumbers(layout.bb);
  const factsOf = new Map(states.map((state) => [state.id, state]));
  const names = new Map((layout.objects ?? []).map(({ _gvid, name }) => [_gvid, name]));
  const blocks: ChartBox[] = [];
  const boxes: ChartBox[] = [];
  for (const { name, label = '', bb, pos, width: inches, height: high, shape } of layout.objects ?? []) {
    if (name.startsWith(CLUSTER) && bb !== undefined) {
      const [left = 0, bottom = 0, right = 0, top = 0] = parseNumbers(bb);
      const facts = factsOf.get(name.slice(CLUSTER.length)) ?? { id: name.slice(CLUSTER.length), kind: 'block', label };
      blocks.push({ ...facts, label, x: left, y: height - top, width: right - left, height: top - bottom });
    } else if (pos !== undefined) {
      const [x = 0, y = 0] = parseNumbers(pos);
      const [w = 0, h = 0] = [...parseNumbers(inches ?? ''), ...parseNumbers(high ?? '')].map(
        (each) => each * POINTS_PER_INCH,
      );
      const facts = factsOf.get(name) ?? { id: name, kind: shape === 'circle' ? 'start' : 'end', label };
      boxes.push({ ...facts, label, x: x - w / 2, y: height - y - h / 2, width: w, height: h });
    }
  }
  const arrows = (layout.edges ?? []).flatMap(({ tail, head, pos, label, lp }): ChartArrow[] => {
    const drawn = pos === undefined ? undefined : toCurve(pos, height);
    if (drawn === undefined) return [];
    const [labelX, labelY] = lp === undefined ? [] : parseNumbers(lp);
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

/** `e,x,y` is the tip of the head; then a start and triples of control points. */
function toCurve(pos: string, height: number): Pick<ChartArrow, 'line' | 'head'> | undefined {
  const end = /^e,(\S+) /.exec(pos);
  const points = pos
    .replace(/[es],\S+ /g, '')
    .split(' ')
    .map((each) => parseNumbers(each))
    .map(([x = 0, y = 0]) => ({ x, y: height - y }));
  const [first, ...rest] = points;
  const last = points.at(-1);
  if (first === undefined || last === undefined || rest.length < 3) return undefined;
  const formatPoint = ({ x, y }: { readonly x: number; readonly y: number }) => `${roundToTenth(x)} ${roundToTenth(y)}`;
  const curves: string[] = [];
  for (let start = 0; start + 2 < rest.length; start += 3)
    curves.push(
      `C${rest
        .slice(start, start + 3)
        .map(formatPoint)
        .join(' ')}`,
    );
  const [tipX = last.x, tipY] = end?.[1] === undefined ? [] : parseNumbers(end[1]);
  const tip = { x: tipX, y: tipY === undefined ? last.y : height - tipY };
  return { line: `M${formatPoint(first)}${curves.join('')}`, head: computeHead(last, tip) };
}

function computeHead(
  from: { readonly x: number; readonly y: number },
  tip: { readonly x: number; readonly y: number },
): readonly number[] {
  const [dx, dy] = [tip.x - from.x, tip.y - from.y];
  const length = Math.hypot(dx, dy) || 1;
  const [nx, ny] = [(-dy / length) * HEAD_WIDTH, (dx / length) * HEAD_WIDTH];
  return [tip.x, tip.y, from.x + nx, from.y + ny, from.x - nx, from.y - ny].map(roundToTenth);
}

/** Positions on a drawing; never prices. */
function parseNumbers(text: string): readonly number[] {
  return text
    .split(',')
    .map((each) => Number(each))
    .filter((each) => Number.isFinite(each));
}
