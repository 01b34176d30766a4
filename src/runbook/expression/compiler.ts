/**
 * Compiles the values of a document into the expressions of a checked runbook, with the names visible at each place. Records
 * which names are read, and leaves out findings that follow from earlier ones.
 */
import type { Diagnostic, SourceText } from '../../base/diagnostic.ts';
import { makeFinding } from '../codes/codes.ts';
import type { SyntaxCode } from '../codes/syntax.ts';
import type { MapNode, Node, ScalarNode } from '../document/nodes.ts';
import { evaluateIn, type Run } from '../functions/evaluation.ts';
import { formatType, unifyTypes } from '../functions/typing.ts';
import { type Expr, NOWHERE, NotKnown, type RecordValue, type Scope, type Value, type ValueType } from '../values.ts';
import { compileField, isBare, listFieldsRead, noteParts } from './expression.ts';
import type { Names } from './scope.ts';

/**
 * Placeholder for a missing or wrong expression. A runbook with errors is never returned, so it is never evaluated;
 * evaluating it is an internal error, and throws.
 */
export const FAULTY: Expr<never> = {
  text: '',
  type: { kind: 'text' },
  reads: [],
  constant: false,
  evaluate() {
    throw new NotKnown('an expression with an error');
  },
};

/** An expression of a file with what is known at its place, for an editor. */
export interface ExpressionUse {
  readonly node: ScalarNode;
  readonly expected: ValueType | 'any';
  /** Undefined where the expression is wrong. */
  readonly type: ValueType | undefined;
  /** The names that it may use, with their types. */
  readonly names: ReadonlyMap<string, ValueType>;
  /** The values of those that are the same in every run. */
  readonly constants: ReadonlyMap<string, Value>;
}

export class Compiler {
  readonly diagnostics: Diagnostic[] = [];
  /** Every root read so far, `feeds.<name>` and `inputs.<name>`. */
  readonly used = new Set<string>();
  /** The feeds read since a step began. */
  feeds = new Set<string>();
  /** The default market of `tick` and `lot`. */
  market: Expr<string> | undefined;
  /** Called for each expression that is compiled. */
  observe: ((use: ExpressionUse) => void) | undefined;
  readonly source: SourceText;
  readonly names: Names;
  private readonly faulty: ReadonlySet<Node>;

  constructor(source: SourceText, names: Names, faulty: ReadonlySet<Node>) {
    this.source = source;
    this.names = names;
    this.faulty = faulty;
  }

  isFaulty(node: Node | undefined): boolean {
    return node === undefined || this.faulty.has(node);
  }

  /** Compiles the value of a field; `FAULTY` if it is missing or wrong, which has been or is now reported. */
  compile<T extends Value>(node: Node | undefined, expected: ValueType | 'any', market = this.market): Expr<T> {
    if (node === undefined || this.faulty.has(node)) return FAULTY;
    if (node.kind === 'scalar') return this.compileScalar(node, expected, market) as Expr<T>;
    if (node.kind === 'list') return this.compileList(node.items, node, expected, market) as unknown as Expr<T>;
    return this.compileMap(node, expected, market) as unknown as Expr<T>;
  }

  private compileScalar(node: ScalarNode, expected: ValueType | 'any', market: Expr<string> | undefined): Expr {
    if (node.type === 'null') return FAULTY;
    const { expr, diagnostics } = compileField(node, this.source, this.names.env(market), expected);
    this.report(node, diagnostics);
    this.observe?.({
      node,
      expected,
      type: expr?.type,
      names: this.names.list(),
      constants: new Map(this.names.constants),
    });
    if (expr === undefined) {
      // Names in a wrong expression also count as used.
      for (const [word] of node.text.matchAll(/[A-Za-z_]\w*/g)) this.used.add(word);
      for (const [, root, field] of node.text.matchAll(/\b(inputs|feeds)\s*\.\s*\??\s*([A-Za-z_]\w*)/g))
        this.used.add(`${root}.${field}`);
      return FAULTY;
    }
    this.note(expr);
    return expr;
  }

  private compileList(
    items: readonly Node[],
    node: Node,
    expected: ValueType | 'any',
    market: Expr<string> | undefined,
  ): Expr<readonly Value[]> {
    const wanted = this.findItemType(node, 'list', expected);
    const found = wanted && this.compileItems(items, node, wanted, market);
    if (found === undefined) return FAULTY;
    const { parts, of } = found;
    return this.gather(node, { kind: 'list', of }, parts, ({ scope }) => parts.map((part) => part.evaluate(scope)));
  }

  /** A map whose keys are written as they are: `{BTC-USD: 64000}`. */
  private compileMap(
    node: MapNode,
    expected: ValueType | 'any',
    market: Expr<string> | undefined,
  ): Expr<ReadonlyMap<string, Value>> {
    const items = node.entries.map(({ value }) => value);
    const wanted = this.findItemType(node, 'map', expected);
    const found = wanted && this.compileItems(items, node, wanted, market);
    if (found === undefined) return FAULTY;
    const { parts, of } = found;
    const keys = node.entries.map(({ key }) => key);
    const run: Run = ({ scope }) => new Map(parts.map((part, index) => [keys[index] as string, part.evaluate(scope)]));
    return this.gather(node, { kind: 'map', of }, parts, run);
  }

  /** The type of the items of a written list or map; undefined, and reported, where anything else is expected. */
  private findItemType(node: Node, kind: 'list' | 'map', expected: ValueType | 'any'): ValueType | 'any' | undefined {
    const wanted = expected !== 'any' && expected.kind === 'optional' ? expected.of : expected;
    if (wanted === 'any') return wanted;
    if (wanted.kind === kind) return wanted.of;
    const message = `${formatType(wanted)} is needed, found a ${kind}`;
    this.report(node, [makeFinding(this.source, node.span, 'type-mismatch', message)]);
    return undefined;
  }

  /** Compiles the items of a list or a map as values of one type. */
  private compileItems(
    items: readonly Node[],
    node: Node,
    wanted: ValueType | 'any',
    market: Expr<string> | undefined,
  ): { readonly parts: readonly Expr[]; readonly of: ValueType } | undefined {
    const markets = wanted === 'any' && items.length > 0 && items.every(looksLikeMarket);
    const parts = items.map((item) => this.compile(item, markets ? { kind: 'text', market: true } : wanted, market));
    if (parts.includes(FAULTY)) return undefined;
    let of: ValueType = wanted === 'any' ? (parts[0]?.type ?? { kind: 'text' }) : wanted;
    for (const part of wanted === 'any' ? parts : []) {
      const both: ValueType | undefined = unifyTypes(of, part.type);
      if (both === undefined) {
        this.report(node, [describeMixed(this.source, node, of, part)]);
        return undefined;
      }
      of = both;
    }
    return { parts, of };
  }

  /** The expression of several parts. */
  private gather<T extends Value>(node: Node, type: ValueType, parts: readonly Expr[], run: Run): Expr<T> {
    const text = this.source.text.slice(node.span.start, node.span.end);
    const expr: Expr<T> = {
      text,
      type,
      reads: [...new Set(parts.flatMap((part) => part.reads))].sort(),
      constant: parts.every((part) => part.constant),
      evaluate: (scope) => evaluateIn(scope, run, parts.length, text) as T,
    };
    noteParts(expr, parts);
    return expr;
  }

  /** The type of a value as it is written; undefined where it has an error. Reports nothing, and notes nothing as used. */
  peekType(node: Node | undefined): ValueType | undefined {
    if (node === undefined || this.faulty.has(node) || node.kind === 'map') return undefined;
    if (node.kind === 'list') return { kind: 'list', of: this.peekType(node.items[0]) ?? { kind: 'text' } };
    return compileField(node, this.source, this.names.env(this.market), 'any').expr?.type;
  }

  /** Compiles the value of a name and declares the name. */
  compileNamed(name: string, node: Node): Expr {
    const expr = this.compile(node, 'any');
    this.names.declare(name, expr.type);
    this.remember(name, expr);
    return expr;
  }

  /** Records facts about a name besides its type: a bare literal (for units), a constant (for proofs), or a wrong declaration. */
  remember(name: string, expr: Expr): void {
    if (expr === FAULTY) {
      this.names.unknown.add(name);
      return;
    }
    this.names.unknown.delete(name);
    this.names.lets.set(name, expr);
    if (isBare(expr)) this.names.bare.add(name);
    const constant = this.evaluateConstant(expr);
    if (constant !== undefined) this.names.constants.set(name, constant);
  }

  /** The value of an expression that is the same in every run; undefined if it varies or cannot be evaluated. */
  evaluateConstant<T extends Value>(expr: Expr<T> | undefined): T | undefined {
    if (expr === undefined || expr === FAULTY) return undefined;
    if (!expr.constant && !(expr.reads.length > 0 && expr.reads.every((root) => this.names.constants.has(root))))
      return undefined;
    try {
      return expr.evaluate({ ...NOWHERE, get: (root) => this.names.constants.get(root) });
    } catch {
      // The check of the expression reports `1 / 0`.
      return undefined;
    }
  }

  private note(expr: Expr): void {
    for (const root of expr.reads) {
      this.used.add(root);
      if (root.startsWith('feeds.')) this.feeds.add(root.slice('feeds.'.length));
    }
    // `reads` only holds `inputs` as a whole.
    for (const field of listFieldsRead(expr)) this.used.add(field);
  }

  /** Reports diagnostics, without those that follow from a declaration that has been reported. */
  private report(node: Node, diagnostics: readonly Diagnostic[]): void {
    if (diagnostics.length === 0) return;
    const { unknown } = this.names;
    const echo = unknown.size > 0 && [...unknown].some((name) => mentions(node, this.source.text, name));
    const news = echo ? diagnostics.filter((each) => each.severity === 'warning') : diagnostics;
    const doubted = [...this.names.doubted].some((name) => mentions(node, this.source.text, name));
    const follows: readonly string[] = [
      ...(this.names.lost ? ['unknown-name' satisfies SyntaxCode] : []),
      ...(doubted ? ['optional-unhandled' satisfies SyntaxCode] : []),
    ];
    this.diagnostics.push(...news.filter((each) => !follows.includes(each.code)));
  }
}

/** Makes an expression that the author did not write: the market of an order, an input's value. */
export function derive<T extends Value>(
  from: { readonly text: string; readonly type: ValueType; readonly reads: readonly string[] },
  evaluate: (scope: Scope) => T,
): Expr<T> {
  return { ...from, constant: false, evaluate };
}

/** An expression for the market of an order expression. */
export function deriveMarket(orderExpr: Expr<RecordValue>): Expr<string> {
  if ((orderExpr as Expr) === FAULTY) return FAULTY;
  const { text, reads } = orderExpr;
  return derive({ text: `${text}.market_id`, type: { kind: 'text', market: true }, reads }, (scope) =>
    String(orderExpr.evaluate(scope)['market_id']),
  );
}

function looksLikeMarket(node: Node): boolean {
  return node.kind === 'scalar' && node.type === 'text' && /^[A-Z0-9]+-[A-Z0-9]+$/.test(node.text);
}

function mentions(node: Node, text: string, name: string): boolean {
  const at = text.slice(node.span.start, node.span.end);
  // The name may have been refused because of its characters.
  const parts = name.split('.').map((part) => part.replaceAll(/[\\^$.*+?()[\]{}|]/g, '\\$&'));
  return new RegExp(`(?<![\\w])${parts.join('\\s*\\.\\s*')}(?!\\w)`).test(at);
}

function describeMixed(source: SourceText, node: Node, of: ValueType | undefined, part: Expr): Diagnostic {
  const found = of === undefined ? 'several' : formatType(of);
  return makeFinding(
    source,
    node.span,
    'type-mismatch',
    `the items of a ${node.kind} must be of one type, found ${found} and ${formatType(part.type)}`,
  );
}
