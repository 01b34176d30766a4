/**
 * From the values of a document to the expressions of a checked runbook: compiles each in the names visible at its place,
 * keeps account of what is read, and says nothing about what has been said before. It knows no verb.
 */
import type { Diagnostic, SourceText } from '../../base/diagnostic.ts';
import type { SyntaxCode } from '../codes/syntax.ts';
import { diagnose } from '../codes/syntax.ts';
import type { Node, ScalarNode } from '../document/nodes.ts';
import { typeName, unifyTypes } from '../functions/typing.ts';
import type { Expr, RecordValue, Scope, Value, ValueType } from '../values.ts';
import { compileField, isBare } from './expression.ts';
import type { Names } from './scope.ts';

/**
 * Stands where an expression is missing or at fault. A runbook with errors is never given out, so nobody evaluates it;
 * who does has ignored a diagnostic.
 */
export const FAULTY: Expr<never> = {
  text: '',
  type: { kind: 'text' },
  reads: [],
  constant: false,
  evaluate() {
    throw new Error('an expression at fault was evaluated');
  },
};

/** What is in sight of nothing: for constants. */
const NOWHERE: Scope = { get: () => undefined, rules: () => undefined };

export class Compiler {
  readonly diagnostics: Diagnostic[] = [];
  /** Every root read so far, `feeds.<name>` and `inputs.<name>`. */
  readonly used = new Set<string>();
  /** The feeds read since a step began. */
  feeds = new Set<string>();
  /** The market `tick` and `lot` mean where nothing nearer does. */
  market: Expr<string> | undefined;
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

  /** Compiles what stands at a field; `FAULTY` where nothing sound does, which has been or is hereby reported. */
  compile<T extends Value>(node: Node | undefined, expected: ValueType | 'any', market = this.market): Expr<T> {
    if (node === undefined || this.faulty.has(node)) return FAULTY;
    if (node.kind === 'scalar') return this.compileScalar(node, expected, market) as Expr<T>;
    if (node.kind === 'list') return this.compileList(node.items, node, expected, market) as unknown as Expr<T>;
    return FAULTY;
  }

  private compileScalar(node: ScalarNode, expected: ValueType | 'any', market: Expr<string> | undefined): Expr {
    if (node.type === 'null') return FAULTY;
    const { expr, diagnostics } = compileField(node, this.source, this.names.env(market), expected);
    this.report(node, diagnostics);
    if (expr === undefined) {
      // What is read by an expression at fault is in use all the same.
      for (const [word] of node.text.matchAll(/[A-Za-z_]\w*/g)) this.used.add(word);
      this.noteFields(node.text);
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
    const wanted = expected !== 'any' && expected.kind === 'list' ? expected.of : 'any';
    const markets = wanted === 'any' && items.length > 0 && items.every(looksLikeMarket);
    const parts = items.map((item) => this.compile(item, markets ? { kind: 'text', market: true } : wanted, market));
    if (parts.includes(FAULTY)) return FAULTY;
    let of: ValueType | undefined = wanted === 'any' ? (parts[0]?.type ?? { kind: 'text' }) : wanted;
    for (const part of wanted === 'any' ? parts : []) {
      const both: ValueType | undefined = of === undefined ? undefined : unifyTypes(of, part.type);
      if (both === undefined) {
        this.report(node, [describeMixed(this.source, node, of, part)]);
        return FAULTY;
      }
      of = both;
    }
    return {
      text: this.source.text.slice(node.span.start, node.span.end),
      type: { kind: 'list', of: of as ValueType },
      reads: [...new Set(parts.flatMap((part) => part.reads))].sort(),
      constant: parts.every((part) => part.constant),
      evaluate: (scope) => parts.map((part) => part.evaluate(scope)),
    };
  }

  /** Compiles what a name stands for and puts the name in sight. */
  compileNamed(name: string, node: Node): Expr {
    const expr = this.compile(node, 'any');
    this.names.declare(name, expr.type);
    this.remember(name, expr);
    return expr;
  }

  /** Keeps what is known of a name beside its type: bare literals for units, constants for proofs, or that it is at fault. */
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

  /** The value of an expression that is the same in every run; undefined when it is not, or can not be worked out. */
  evaluateConstant<T extends Value>(expr: Expr<T> | undefined): T | undefined {
    if (expr === undefined || expr === FAULTY) return undefined;
    if (!expr.constant && !(expr.reads.length > 0 && expr.reads.every((root) => this.names.constants.has(root))))
      return undefined;
    try {
      return expr.evaluate({ ...NOWHERE, get: (root) => this.names.constants.get(root) });
    } catch {
      // `1 / 0` is the expression checker's to report.
      return undefined;
    }
  }

  private note(expr: Expr): void {
    for (const root of expr.reads) {
      this.used.add(root);
      if (root.startsWith('feeds.')) this.feeds.add(root.slice('feeds.'.length));
    }
    this.noteFields(expr.text);
  }

  /** `reads` names `inputs` as a whole: which of them is told by the text. */
  private noteFields(text: string): void {
    for (const [, root, field] of text.matchAll(/\b(inputs|feeds)\s*\.\s*\??\s*([A-Za-z_]\w*)/g))
      this.used.add(`${root}.${field}`);
  }

  /** Leaves out what follows from a declaration that was reported itself. */
  private report(node: Node, diagnostics: readonly Diagnostic[]): void {
    if (diagnostics.length === 0) return;
    const { unknown } = this.names;
    const echo = unknown.size > 0 && [...unknown].some((name) => mentions(node, this.source.text, name));
    const news = echo ? diagnostics.filter((each) => each.severity === 'warning') : diagnostics;
    const follows: readonly string[] = [
      ...(this.names.lost ? ['unknown-name' satisfies SyntaxCode] : []),
      ...(this.names.doubt ? ['optional-unhandled' satisfies SyntaxCode] : []),
    ];
    this.diagnostics.push(...news.filter((each) => !follows.includes(each.code)));
  }
}

/** An expression made by the checker itself: the market of an order, an input's value. */
export function derive<T extends Value>(
  from: { readonly text: string; readonly type: ValueType; readonly reads: readonly string[] },
  evaluate: (scope: Scope) => T,
): Expr<T> {
  return { ...from, constant: false, evaluate };
}

/** The market of the order an expression gives. */
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
  // The name may be one that was refused for its characters.
  const parts = name.split('.').map((part) => part.replaceAll(/[\\^$.*+?()[\]{}|]/g, '\\$&'));
  return new RegExp(`(?<![\\w])${parts.join('\\s*\\.\\s*')}(?!\\w)`).test(at);
}

function describeMixed(source: SourceText, node: Node, of: ValueType | undefined, part: Expr): Diagnostic {
  const found = of === undefined ? 'several' : typeName(of);
  return diagnose(
    source,
    node.span,
    'type-mismatch',
    `the items of a list must be of one type, found ${found} and ${typeName(part.type)}`,
  );
}
