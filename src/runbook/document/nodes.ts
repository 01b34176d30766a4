/**
 * The tree of a document: maps, lists and values with their places in the text. All checks read it.
 */
import type { Span } from '../../base/diagnostic.ts';
import type { PlainType } from './plain-scalars.ts';

export interface ScalarNode {
  readonly kind: 'scalar';
  readonly span: Span;
  /** Its text; for a plain number, boolean or null exactly as written. */
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
  /** Whether a key was refused and left out, so that a key that seems to be missing may have been written. */
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

/** Plain data for a schema. Its numbers are JavaScript numbers and must never be used as values. */
export function plainData(node: Node): unknown {
  return readExactData(node, Number);
}

/** The document as data with null prototypes, each number as `readNumber` gives it: by itself the text as it was written. */
export function readExactData(node: Node, readNumber: (literal: string) => unknown = (literal) => literal): unknown {
  switch (node.kind) {
    case 'list':
      return node.items.map((item) => readExactData(item, readNumber));
    case 'map': {
      const data: Record<string, unknown> = Object.create(null);
      for (const { key, value } of node.entries) data[key] = readExactData(value, readNumber);
      return data;
    }
    case 'scalar':
      if (node.type === 'number') return readNumber(node.text);
      if (node.type === 'boolean') return node.text === 'true';
      return node.type === 'null' ? null : node.text;
    default:
      return node satisfies never;
  }
}

/** The node at a path, or the last existing one on the way; `keySpan` if that node is the value of a key. */
export function nodeAt(root: Node, path: readonly (string | number)[]): { node: Node; span: Span; keySpan?: Span } {
  let node = root;
  let keySpan: Span | undefined;
  for (const part of path) {
    // A key may look like a position (`"0"`), and a schema's path does not distinguish them: the node decides.
    const entry: MapEntry | undefined = node.kind === 'map' ? node.entry(String(part)) : undefined;
    const next: Node | undefined = node.kind === 'list' ? node.items[Number(part)] : entry?.value;
    if (next === undefined) break;
    node = next;
    keySpan = entry?.keySpan;
  }
  return { node, span: node.span, ...(keySpan === undefined ? {} : { keySpan }) };
}

/** Names that give access to more than data in JavaScript; refused wherever a name is read. */
export const FORBIDDEN_KEYS: ReadonlySet<string> = new Set(['__proto__', 'constructor', 'prototype']);

/** Whether a node is a scalar of a type. */
export function isScalar<T extends ScalarNode['type']>(node: Node, type: T): node is ScalarNode & { readonly type: T } {
  return node.kind === 'scalar' && node.type === type;
}

/** The entries of a map; none of any other node. */
export function listEntries(node: Node | undefined): MapNode['entries'] {
  return node?.kind === 'map' ? node.entries : [];
}
