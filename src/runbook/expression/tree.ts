/**
 * Reads the syntax tree of an expression for checks of a whole runbook: its parts, the names and calls in it, and one spelling for
 * all trees of the same meaning. The text of an expression is no place to look: it has comments, quoted texts and brackets.
 */
import { parseAuthoredDecimal } from '../../base/decimal.ts';
import type { SyntaxNode } from './syntax.ts';

/** The parts of a node, in reading order. */
export function listParts(node: SyntaxNode): readonly SyntaxNode[] {
  switch (node.op) {
    case 'value':
    case 'id':
      return [];
    case '.':
    case '.?':
      return [node.args[0]];
    case '!_':
    case '-_':
      return [node.args];
    case 'call':
      return node.args[1];
    case 'rcall':
      return [node.args[1], ...node.args[2]];
    case 'map':
      return node.args.flat();
    default:
      return node.args;
  }
}

/** A node and all that is below it. */
function* walkTree(node: SyntaxNode): Generator<SyntaxNode> {
  yield node;
  for (const part of listParts(node)) yield* walkTree(part);
}

/** The path that a node is: `entry`, `guard.stop_loss.filled`; undefined for anything else. */
export function findPath(node: SyntaxNode): string | undefined {
  if (node.op === 'id') return node.args;
  if (node.op !== '.' && node.op !== '.?') return undefined;
  const holder = findPath(node.args[0]);
  return holder && `${holder}.${node.args[1]}`;
}

/** Methods that evaluate an expression for each item of a list, under a name of its own. */
export const MACROS: ReadonlySet<string> = new Set(['map', 'filter', 'exists', 'all']);

/** Nodes of an expanded tree: names that each stand for two of the one before would make millions. */
const MOST_NODES = 4000;

/**
 * The tree with what its names of a `def` stand for in their places; as it is where that would be too large. The parts that were put in
 * have the places of their own text.
 */
export function expand(tree: SyntaxNode, find: (name: string) => SyntaxNode | undefined): SyntaxNode {
  let left = MOST_NODES;
  const visit = (node: SyntaxNode, items: readonly string[]): SyntaxNode => {
    left -= 1;
    const known = node.op === 'id' && !items.includes(node.args) ? find(node.args) : undefined;
    if (known !== undefined) {
      for (const _ of walkTree(known)) left -= 1;
      return known;
    }
    const [item] = node.op === 'rcall' && MACROS.has(node.args[0]) ? node.args[2].map(findPath) : [];
    const inner = item === undefined ? items : [...items, item];
    const parts = listParts(node);
    const visited = parts.map((part) => visit(part, inner));
    return visited.every((part, at) => part === parts[at]) ? node : withParts(node, visited);
  };
  const expanded = visit(tree, []);
  return left < 0 ? tree : expanded;
}

/** The same node over other parts, which are in the order of `listParts`. */
function withParts(node: SyntaxNode, parts: readonly SyntaxNode[]): SyntaxNode {
  const { op, input, start, end } = node;
  const args = ((): unknown => {
    switch (op) {
      case '.':
      case '.?':
        return [parts[0], node.args[1]];
      case '!_':
      case '-_':
        return parts[0];
      case 'call':
        return [node.args[0], parts];
      case 'rcall':
        return [node.args[0], parts[0], parts.slice(1)];
      case 'map':
        return node.args.map((_, at) => [parts[2 * at], parts[2 * at + 1]]);
      default:
        return parts;
    }
  })();
  return { op, args, input, start, end } as SyntaxNode;
}

/** Each path that a tree reads, as long as it is written: `inputs.side`, not `inputs`; without the items of its macros. */
export function listPaths(node: SyntaxNode): readonly string[] {
  const paths = PATHS.get(node) ?? findPaths(node);
  PATHS.set(node, paths);
  return paths;
}

const PATHS = new WeakMap<SyntaxNode, readonly string[]>();

function findPaths(node: SyntaxNode): readonly string[] {
  const path = findPath(node);
  if (path !== undefined) return [path];
  const paths = listParts(node).flatMap(listPaths);
  if (node.op !== 'rcall' || !MACROS.has(node.args[0])) return paths;
  const [item] = node.args[2].map(findPath);
  return paths.filter((each) => findRoot(each) !== item);
}

export function findRoot(path: string): string {
  return path.split('.', 1)[0] as string;
}

/** The terms of a chain of one operator: `a`, `b` and `c` of `a && (b && c)`. */
export function listTerms(node: SyntaxNode, op: '&&' | '+'): readonly SyntaxNode[] {
  return node.op === op ? node.args.flatMap((part) => listTerms(part, op)) : [node];
}

/** Whether a node is a number zero that is written out. */
export function isZero({ op, input, start, end }: SyntaxNode): boolean {
  return op === 'value' && parseAuthoredDecimal(input.slice(start, end))?.isZero() === true;
}

/** The same text for trees that differ in blanks, brackets, quotes and comments alone. */
export function spell(node: SyntaxNode): string {
  switch (node.op) {
    case 'value':
      // The parser's own number has lost digits.
      return typeof node.args === 'string' ? JSON.stringify(node.args) : node.input.slice(node.start, node.end);
    case 'id':
      return node.args;
    case '.':
    case '.?':
      return `${spell(node.args[0])}.${node.args[1]}`;
    case 'call':
      return `${node.args[0]}(${node.args[1].map(spell).join(', ')})`;
    case 'rcall':
      return `${spell(node.args[1])}.${node.args[0]}(${node.args[2].map(spell).join(', ')})`;
    default:
      return `(${[node.op, ...listParts(node).map(spell)].join(' ')})`;
  }
}
