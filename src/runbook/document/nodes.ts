/**
 * The tree of a document: what a map, a list and a value are to everything that is checked, each with its place in the text.
 * Knows nothing of how it is read.
 */
import type { Span } from '../../base/diagnostic.ts';
import type { PlainType } from './plain-scalars.ts';

export interface ScalarNode {
  readonly kind: 'scalar';
  readonly span: Span;
  /** The text it stands for; of a plain number, boolean or null exactly what is written. */
  readonly text: string;
  readonly style: 'plain' | 'quoted' | 'block';
  readonly type: PlainType;
  /** Where in the source character `index` of `text` is written; for `text.length`, where the last one ends. */
  offset(index: number): number;
}

export interface MapNode {
  readonly kind: 'map';
  readonly span: Span;
  readonly entries: readonly MapEntry[];
  /** Whether a key was refused and left out, so that what seems to be missing may have been there. */
  readonly incomplete: boolean;
  get(key: string): Node | undefined;
  entry(key: string): MapEntry | undefined;
}

export interface MapEntry {
  readonly key: string;
  readonly keySpan: Span;
  readonly value: Node;
  /** From the key's first to the value's last character. */
  readonly span: Span;
}

export interface ListNode {
  readonly kind: 'list';
  readonly span: Span;
  readonly items: readonly Node[];
}

export type Node = ScalarNode | MapNode | ListNode;

/** Plain data with null prototypes for a schema to look at. Its numbers are JavaScript's: never to be used as values. */
export function plainData(node: Node): unknown {
  switch (node.kind) {
    case 'list':
      return node.items.map(plainData);
    case 'map': {
      const data: Record<string, unknown> = Object.create(null);
      for (const { key, value } of node.entries) data[key] = plainData(value);
      return data;
    }
    case 'scalar':
      if (node.type === 'number') return Number(node.text);
      if (node.type === 'boolean') return node.text === 'true';
      return node.type === 'null' ? null : node.text;
    default:
      return node satisfies never;
  }
}

/** The node a path leads to, or the last one on the way there; `keySpan` where that node is the value of a key. */
export function nodeAt(root: Node, path: readonly (string | number)[]): { node: Node; span: Span; keySpan?: Span } {
  let node = root;
  let keySpan: Span | undefined;
  for (const part of path) {
    // A key may look like a position (`"0"`), and a schema's path can not tell them apart: the node decides.
    const entry: MapEntry | undefined = node.kind === 'map' ? node.entry(String(part)) : undefined;
    const next: Node | undefined = node.kind === 'list' ? node.items[Number(part)] : entry?.value;
    if (next === undefined) break;
    node = next;
    keySpan = entry?.keySpan;
  }
  return { node, span: node.span, ...(keySpan === undefined ? {} : { keySpan }) };
}

/** Names that reach behind the data of a JavaScript program; refused wherever a name is read. */
export const FORBIDDEN_KEYS: ReadonlySet<string> = new Set(['__proto__', 'constructor', 'prototype']);

/** Whether a value is written out and reads as `type`. */
export function isScalar<T extends ScalarNode['type']>(node: Node, type: T): node is ScalarNode & { readonly type: T } {
  return node.kind === 'scalar' && node.type === type;
}
