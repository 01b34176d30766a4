/**
 * Renders the chart as a Mermaid state diagram, which many Markdown viewers draw. A Mermaid arrow cannot lead from inside one
 * block into another, so a stop inside a block is a box of its own; its arrow is drawn once, between the phases.
 */
import { type Arrow, type ChartBlock, type ChartState, DONE, listArrows, type Target } from './model.ts';

export function renderMermaid(root: ChartBlock): string {
  const rendering = new Rendering();
  rendering.block(root, [], 1, false);
  return `stateDiagram-v2\n  direction TB\n${rendering.lines.join('\n')}\n`;
}

/** The start of an arrow: its state, and the block around it. */
interface Tail {
  readonly from: string;
  readonly parent: readonly string[];
  readonly depth: number;
  /** Whether the block's end is drawn as Mermaid's end state. */
  readonly hasEnd: boolean;
}

class Rendering {
  readonly lines: string[] = [];
  private readonly ids = new Map<string, string>();
  private readonly taken = new Set<string>();

  block({ initial, states }: ChartBlock, path: readonly string[], depth: number, hasEnd = true): void {
    this.line(depth, `[*] --> ${this.target({ in: 'block', key: initial }, path, hasEnd)}`);
    for (const state of states) this.state(state, path, depth);
    for (const state of states) this.arrows(state, path, depth, hasEnd);
  }

  private state(state: ChartState, parent: readonly string[], depth: number): void {
    const { key, kind, label, inside, regions } = state;
    const path = [...parent, key];
    const id = this.id(path);
    if (kind === 'choice') {
      this.line(depth, `state ${id} <<choice>>`);
      return;
    }
    this.line(depth, `${id} : ${escapeLabel(label)}`);
    if (inside !== undefined) {
      this.line(depth, `state ${id} {`);
      this.block(inside, path, depth + 1);
      this.line(depth, '}');
    }
    if (regions === undefined) return;
    this.line(depth, `state ${id} {`);
    for (const [index, region] of regions.entries()) {
      if (index > 0) this.line(depth + 1, '--');
      this.line(depth + 1, `[*] --> ${this.id([...path, region.key])}`);
      this.state(region, path, depth + 1);
      this.line(depth + 1, `${this.id([...path, region.key])} --> [*]`);
    }
    this.line(depth, '}');
  }

  private arrows(state: ChartState, parent: readonly string[], depth: number, hasEnd: boolean): void {
    const from = this.id([...parent, state.key]);
    for (const arrow of listArrows(state)) this.arrow({ from, parent, depth, hasEnd }, arrow, arrow.label);
    if (state.kind === 'final') this.line(depth, `${from} --> [*]`);
    if (state.key === 'running' && parent.length === 0) this.stops(depth);
  }

  /** Draws an arrow. One out of a block becomes a box that says so. */
  private arrow({ from, parent, depth, hasEnd }: Tail, { to }: Arrow, label: string | undefined): void {
    if (to.in === 'run' && parent.length > 0) {
      this.stopPhase = to.key;
      // A `stop` step needs no box.
      if (label === undefined) return;
      const count = this.ids.size;
      // A step may have the name that the box would have.
      const box = this.id([from, 'ends']);
      if (this.ids.size > count) this.line(depth, `${box} : stops the run`);
      this.line(depth, `${from} --> ${box} : ${escapeLabel(label)}`);
      return;
    }
    // The end of a branch is drawn at the branch itself.
    if (to.in === 'branch') return;
    this.line(
      depth,
      `${from} --> ${this.target(to, parent, hasEnd)}${label === undefined ? '' : ` : ${escapeLabel(label)}`}`,
    );
  }

  private stopPhase: string | undefined;

  private stops(depth: number): void {
    if (this.stopPhase !== undefined) this.line(depth, `running --> ${this.id([this.stopPhase])} : stop`);
  }

  private target(to: Target, parent: readonly string[], hasEnd: boolean): string {
    return hasEnd && to.key === DONE ? '[*]' : this.id([...parent, to.key]);
  }

  private id(path: readonly string[]): string {
    const key = path.join('/');
    const known = this.ids.get(key);
    if (known !== undefined) return known;
    const plain = path.join('_');
    let id = plain;
    for (let count = 2; this.taken.has(id); count += 1) id = `${plain}_${count}`;
    this.taken.add(id);
    this.ids.set(key, id);
    return id;
  }

  private line(depth: number, text: string): void {
    this.lines.push(`${'  '.repeat(depth)}${text}`);
  }
}

/**
 * Escapes a label for Mermaid: characters other than letters, digits and harmless ones become entities. `direction` is escaped as
 * well, because Mermaid's grammar takes it for a statement anywhere in a line.
 */
export function escapeLabel(text: string): string {
  const entity = (character: string) => `#${character.codePointAt(0) ?? 32};`;
  const safe = text
    .replace(/\s+/g, ' ')
    .trim()
    .replace(/[^A-Za-z0-9 _.,/+=()'?|…-]/gu, entity);
  return safe === '' ? '#32;' : safe.replace(/direction/gi, (word) => `${entity(word.charAt(0))}${word.slice(1)}`);
}
