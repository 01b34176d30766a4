/**
 * Compiles a field of a runbook into a typed expression. The type that the field expects decides whether a text is an
 * expression, a template or a literal, never how the text looks. Errors become diagnostics at their place in the file.
 * Evaluates only constants, and never throws.
 */
import type { Diagnostic, SourceText, Span } from '../../base/diagnostic.ts';
import { makeFinding } from '../codes/codes.ts';
import type { SyntaxCode } from '../codes/syntax.ts';
import type { ScalarNode } from '../document/nodes.ts';
import { evaluateIn, joinTexts, type Run, toText } from '../functions/evaluation.ts';
import { fitTerm, isTypeMismatch, type Term } from '../functions/term.ts';
import { DURATION, formatType, NUMBER, TEXT, TIME } from '../functions/typing.ts';
import { type Expr, NOWHERE, type Value, type ValueType } from '../values.ts';
import { Analysis } from './analysis.ts';
import type { Fault } from './analysis-faults.ts';
import type { TypeEnv } from './environment.ts';
import {
  looksLikeDuration,
  looksLikeRatio,
  looksLikeTime,
  looksLikeTimeOfDay,
  readDuration,
  readRatio,
  readScalar,
  readTime,
} from './literals.ts';
import { parseExpression, type SyntaxNode } from './syntax.ts';
import { splitTemplate } from './template.ts';
import { expand, spell } from './tree.ts';
import type { Facts, FieldRead } from './visible-names.ts';

export { parseTypeWord } from '../functions/type-words.ts';
export type { TypeEnv } from './environment.ts';
export { readInputText, readLiteral } from './literals.ts';

/** A compiled expression, undefined after an error; with an expression, the diagnostics are warnings. */
export interface Compiled<T extends Value = Value> {
  readonly expr: Expr<T> | undefined;
  readonly diagnostics: readonly Diagnostic[];
}

/** Facts about an expression besides its type; kept here so that an `Expr` holds only what the engine needs. */
const FACTS = new WeakMap<Expr, KnownFacts>();
const NO_FACTS: KnownFacts = { whenTrue: [], whenFalse: [], bare: false, parts: [] };

interface KnownFacts extends Omit<Facts, 'origins'> {
  /** What it is put together of, if it is not one expression. */
  readonly parts: readonly Expr[];
  readonly parsed?: Parsed;
}

/** An expression as it was parsed. */
export interface Parsed {
  readonly tree: SyntaxNode;
  /** The tree with what its names of a `def` stand for in their places. */
  readonly plain: SyntaxNode;
  readonly fields: readonly FieldRead[];
  /** The place of a part of the tree in the file. */
  locate(node: SyntaxNode): Span;
}

/** The expressions that a value is put together of: one, those of a template or of a list, or none in a literal. */
export function listParsed(expr: Expr): readonly Parsed[] {
  const { parsed, parts = [] } = FACTS.get(expr) ?? {};
  return parsed === undefined ? parts.flatMap(listParsed) : [parsed];
}

/** The syntax tree of a value that is one expression. */
export function findTree(expr: Expr): SyntaxNode | undefined {
  return FACTS.get(expr)?.parsed?.tree;
}

/** The syntax tree of a value that is one expression, with what its names of a `def` stand for in their places. */
export function findPlain(expr: Expr): SyntaxNode | undefined {
  return FACTS.get(expr)?.parsed?.plain;
}

/** The items of a list that is written out, `[entry, guard.stop_loss]`: the tree of each that has one. */
export function listItems(expr: Expr): readonly (SyntaxNode | undefined)[] | undefined {
  const tree = findTree(expr);
  if (tree !== undefined) return tree.op === 'list' ? tree.args : undefined;
  return expr.type.kind === 'list' ? FACTS.get(expr)?.parts.map(findTree) : undefined;
}

/**
 * One spelling for values that mean the same: a field says `${inputs.market}` or BTC-USD, a function `inputs.market`, 'BTC-USD', or a
 * `def` that stands for it.
 */
export function spellValue(expr: Expr): string {
  const spelled = SPELLED.get(expr) ?? spellAnew(expr);
  SPELLED.set(expr, spelled);
  return spelled;
}

const SPELLED = new WeakMap<Expr, string>();

function spellAnew(expr: Expr): string {
  const { parsed, parts = [] } = FACTS.get(expr) ?? {};
  if (parsed !== undefined) return spell(parsed.plain);
  const isLiteral = expr.constant && parts.length === 0 && expr.type.kind === 'text';
  return isLiteral ? JSON.stringify(expr.evaluate(NOWHERE)) : expr.text.trim();
}

/** Dotted paths that are present when a boolean expression is true: `taker` for `taker.hasValue()`. */
export function listPresentWhenTrue(expr: Expr): readonly string[] {
  return FACTS.get(expr)?.whenTrue ?? [];
}

/** Dotted paths that are present when a boolean expression is false: `taker` for `!taker.hasValue()`. */
export function listPresentWhenFalse(expr: Expr): readonly string[] {
  return FACTS.get(expr)?.whenFalse ?? [];
}

/** The fields of records that an expression reads, by their origins: `entry.filled`, `ladder[].o.filled`. */
export function listFieldsRead(expr: Expr): readonly string[] {
  return listParsed(expr).flatMap(({ fields }) => fields.map(({ origin }) => origin));
}

/** Where the value of an expression comes from, if that is one place: `entry`, `ladder[].o`. */
export function findOrigin(expr: Expr): string | undefined {
  return FACTS.get(expr)?.origin;
}

/** Records what an expression that is put together from others reads, and whether all of it is bare literals. */
export function noteParts(expr: Expr, parts: readonly Expr[]): void {
  const bare = parts.length > 0 && parts.every(isBare);
  FACTS.set(expr, { ...NO_FACTS, bare, parts });
}

/** Whether an expression consists of bare literals: a let of this kind belongs in `TypeEnv.bare`. */
export function isBare(expr: Expr): boolean {
  return FACTS.get(expr)?.bare === true;
}

/** A literal market, which an expression would read as a subtraction. */
const MARKET_LITERAL = /^[A-Z][A-Z0-9]{1,9}-USD[TC]?$/;

/** Compiles a field by the type it expects: a literal of that type, a template for a text, else a bare expression. */
export function compileField(
  node: ScalarNode,
  source: SourceText,
  env: TypeEnv,
  expected: ValueType | 'any',
): Compiled {
  const kind = expected === 'any' ? 'any' : expected.kind === 'optional' ? expected.of.kind : expected.kind;
  if (kind === 'text' || (kind === 'any' && node.text.includes('${')))
    return compileTemplate(node, source, env, expected);
  const text = node.text.trim();
  if (MARKET_LITERAL.test(text) && !env.roots.has(text.split('-', 1)[0] as string))
    return refuse(
      node,
      source,
      'type-mismatch',
      `${expected === 'any' ? 'an expression' : formatType(expected)} is needed, found the market ${text}`,
      kind === 'list'
        ? `Put it in a list: [${text}].`
        : `In an expression a text is quoted: '${text}'; a list of markets is written [${text}].`,
    );
  const literal = readFieldLiteral(text, kind, env);
  if (literal === undefined) return compileExpression(node, source, env, expected);
  if ('code' in literal) return refuse(node, source, literal.code, literal.problem, literal.hint);
  const { value, type } = literal;
  const fit =
    expected === 'any' ? undefined : fitTerm({ type, run: () => value, bare: false, constant: true }, expected);
  if (fit !== undefined && isTypeMismatch(fit))
    return refuse(node, source, type === NUMBER ? 'ratio-not-here' : fit.refused, fit.message);
  return { expr: makeLiteral(text, fit?.type ?? type, value), diagnostics: [] };
}

/** Compiles a bare expression. */
export function compileExpression(
  node: ScalarNode,
  source: SourceText,
  env: TypeEnv,
  expected: ValueType | 'any',
): Compiled {
  const dollar = node.text.indexOf('${');
  if (dollar !== -1) {
    const span = { start: node.offset(dollar), end: node.offset(dollar + 1) + 1 };
    return {
      expr: undefined,
      diagnostics: [
        makeFinding(source, span, 'template-not-here', '${…} is for texts; this field takes a bare expression'),
      ],
    };
  }
  return compileSlice({ node, source, text: node.text, from: 0 }, env, expected);
}

/**
 * Compiles a text with `${…}`. If one `${…}` is the whole text, its expression must have the expected type; else the parts
 * are joined into a text, which a closed set (a side, a status) does not accept.
 */
export function compileTemplate(
  node: ScalarNode,
  source: SourceText,
  env: TypeEnv,
  expected: ValueType,
): Compiled<string>;
export function compileTemplate(
  node: ScalarNode,
  source: SourceText,
  env: TypeEnv,
  expected: ValueType | 'any',
): Compiled;
export function compileTemplate(
  node: ScalarNode,
  source: SourceText,
  env: TypeEnv,
  expected: ValueType | 'any',
): Compiled {
  const { parts, unclosed } = splitTemplate(node.text);
  if (unclosed !== undefined) {
    const span = { start: node.offset(unclosed), end: node.offset(unclosed + 1) + 1 };
    return { expr: undefined, diagnostics: [makeFinding(source, span, 'template-unclosed', '${ without its }')] };
  }
  const wanted = expected === 'any' ? TEXT : expected.kind === 'optional' ? expected.of : expected;
  const [only] = parts;
  if (only?.kind === 'expression' && parts.length === 1) {
    // A free text accepts any value that has a text form; a closed set, a market and a declared type accept only their own kind.
    const free = expected !== 'any' && wanted.kind === 'text' && wanted.of === undefined && wanted.market !== true;
    const compiled = compileSlice({ node, source, text: only.text, from: only.start }, env, free ? 'any' : expected);
    if (!free || compiled.expr === undefined || compiled.expr.type.kind === 'text') return compiled;
    return joinParts(node, source, [compiled.expr], compiled.diagnostics);
  }
  if (parts.every((part) => part.kind === 'text'))
    return compileLiteralText({ node, source, env, wanted }, parts.map((part) => part.text).join(''));
  if (wanted.kind !== 'text' || wanted.of !== undefined)
    return refuse(
      node,
      source,
      'template-mixed',
      `${formatType(wanted)} is needed; a text joined from parts cannot be checked against it`,
    );
  const compiled = parts.map((part) =>
    part.kind === 'text' ? part.text : compileSlice({ node, source, text: part.text, from: part.start }, env, 'any'),
  );
  const diagnostics = compiled.flatMap((part) => (typeof part === 'string' ? [] : part.diagnostics));
  const exprs = compiled.map((part) => (typeof part === 'string' ? part : part.expr));
  return exprs.every((each) => each !== undefined)
    ? joinParts(node, source, exprs, diagnostics)
    : { expr: undefined, diagnostics };
}

/** Reads a literal that is not a bare expression, by the kind expected; undefined if the text is to be compiled. */
function readFieldLiteral(
  text: string,
  kind: string,
  env: TypeEnv,
):
  | { readonly value: Value; readonly type: ValueType }
  | { readonly code: SyntaxCode; readonly problem: string; readonly hint?: string }
  | undefined {
  const name = env.roots.has(text) || env.defs?.has(text) === true;
  if (looksLikeRatio(text)) {
    const value = readRatio(text);
    return value === undefined
      ? { code: 'literal-form', problem: `${text} has too many digits` }
      : { value, type: NUMBER };
  }
  if (looksLikeDuration(text) && !name) {
    const reading = readDuration(text);
    return 'value' in reading ? { value: reading.value, type: DURATION } : reading;
  }
  if (looksLikeTime(text) && (kind === 'time' || kind === 'any' || text.includes(':'))) {
    const reading = readTime(text);
    return 'value' in reading ? { value: reading.value, type: TIME } : reading;
  }
  if (looksLikeTimeOfDay(text) && kind === 'time') {
    const reading = readTime(text);
    return 'value' in reading ? undefined : reading;
  }
  // A number without a unit is a common mistake in a duration and has a message of its own.
  if (kind === 'duration' && /^-?\d+(\.\d+)?\s*[A-Za-z]*$/.test(text)) {
    const reading = readDuration(text);
    return 'value' in reading ? undefined : reading;
  }
  return undefined;
}

/** A text as it is written. Warns of one that reads as an expression whose value is a text: its author meant that value. */
function compileLiteralText(
  {
    node,
    source,
    env,
    wanted,
  }: { readonly node: ScalarNode; readonly source: SourceText; readonly env: TypeEnv; readonly wanted: ValueType },
  text: string,
): Compiled {
  const reading = readScalar(wanted, formatType(wanted), text);
  if (!('value' in reading)) return refuse(node, source, reading.code, reading.problem, reading.hint);
  const { value } = reading;
  const isFree = wanted.kind === 'text' && wanted.of === undefined && wanted.market !== true;
  const type: ValueType = isFree ? { kind: 'text', of: [text] } : wanted;
  const expr = makeLiteral(node.text, type, value, { ...NO_FACTS, bare: true });
  const meant = isFree ? compileSlice({ node, source, text, from: 0 }, env, TEXT).expr : undefined;
  if (meant === undefined) return { expr, diagnostics: [] };
  const hint = meant.reads.length === 0 ? 'Leave the quotes out.' : `Write it as "\${${text.trim()}}".`;
  const message = `the text ${text.trim()} is taken as it is written, and not evaluated`;
  return { expr, diagnostics: [makeFinding(source, node.span, 'text-not-evaluated', message, hint)] };
}

/** Joins texts and expressions; warns of a part that may be absent, refuses one that has no text form. */
function joinParts(
  node: ScalarNode,
  source: SourceText,
  parts: readonly (string | Expr)[],
  before: readonly Diagnostic[],
): Compiled<string> {
  const diagnostics = [...before];
  const exprs = parts.filter((part) => typeof part !== 'string');
  for (const { type, text } of exprs) {
    const inner = type.kind === 'optional' ? type.of : type;
    const item = inner.kind === 'list' ? inner.of : inner;
    const start = Math.max(0, node.text.indexOf(text));
    const span = { start: node.offset(start), end: node.offset(start + Math.max(0, text.length - 1)) + 1 };
    if (item.kind === 'record' || item.kind === 'map' || item.kind === 'list')
      diagnostics.push(
        makeFinding(source, span, 'type-mismatch', `${formatType(type)} has no text form`, 'Use one of its fields.'),
      );
    else if (type.kind === 'optional')
      diagnostics.push(makeFinding(source, span, 'optional-in-text', `${text.trim()} may be absent`));
  }
  if (diagnostics.some((each) => each.severity === 'error')) return { expr: undefined, diagnostics };
  const reads = exprs.flatMap((each) => each.reads);
  const constant = exprs.every((each) => each.constant);
  const facts = { ...NO_FACTS, parts: exprs };
  const run: Run = ({ scope }) =>
    joinTexts(
      parts,
      (part) => (typeof part === 'string' ? part : toText(part.evaluate(scope), node.text)),
      '',
      node.text,
    );
  return {
    expr: makeExpression(node.text, {
      type: TEXT,
      reads,
      run,
      weight: parts.length,
      facts,
      constant,
    }) as Expr<string>,
    diagnostics,
  };
}

/** An expression within a node's text, from character `from` on. */
interface Slice {
  readonly node: ScalarNode;
  readonly source: SourceText;
  readonly text: string;
  readonly from: number;
}

function compileSlice({ node, source, text, from }: Slice, env: TypeEnv, expected: ValueType | 'any'): Compiled {
  const diagnostic = ({ code, message, hint, span }: Fault): Diagnostic =>
    makeFinding(source, toFileSpan(node, from, span), code, message, hint);
  const parsed = parseExpression(text);
  if (!('tree' in parsed)) return { expr: undefined, diagnostics: [diagnostic(parsed)] };
  const analysis = new Analysis(text, env, (name) => findFacts(env, name));
  const term = analysis.check(parsed.tree);
  const fit: Term | undefined = expected === 'any' ? term : analysis.fit(term, expected, parsed.tree);
  const diagnostics = analysis.faults.map(diagnostic);
  if (fit === undefined || diagnostics.some((each) => each.severity === 'error'))
    return { expr: undefined, diagnostics };
  const facts = {
    whenTrue: fit.whenTrue ?? [],
    whenFalse: fit.whenFalse ?? [],
    bare: fit.bare,
    parts: [],
    parsed: {
      tree: parsed.tree,
      plain: expand(parsed.tree, (name) => findDefined(env, name)),
      fields: analysis.fields,
      locate: (part: Span) => toFileSpan(node, from, part),
    },
    ...(fit.origin === undefined ? {} : { origin: fit.origin }),
  };
  const { type, run, constant } = fit;
  const { reads, weight } = analysis;
  return { expr: makeExpression(text, { type, reads, run, weight, facts, constant }), diagnostics };
}

function findDefined(env: TypeEnv, name: string): SyntaxNode | undefined {
  const expr = env.defs?.get(name);
  return expr && findPlain(expr);
}

function findFacts(env: TypeEnv, name: string): Facts | undefined {
  const expr = env.defs?.get(name);
  const facts = expr && FACTS.get(expr);
  return facts && { ...facts, origins: [...new Set(listFieldsRead(expr))] };
}

/** The result of checking an expression's text. */
interface Meaning {
  readonly type: ValueType;
  readonly reads: Iterable<string>;
  readonly run: Run;
  readonly weight: number;
  readonly facts: KnownFacts;
  readonly constant: boolean;
}

function makeLiteral(text: string, type: ValueType, value: Value, facts = NO_FACTS): Expr {
  return makeExpression(text, { type, reads: [], run: () => value, weight: 1, facts, constant: true });
}

function makeExpression(text: string, { type, reads, run, weight, facts, constant }: Meaning): Expr {
  const sorted = [...new Set(reads)].sort();
  const expr: Expr = {
    text,
    type,
    reads: sorted,
    constant,
    evaluate: (scope) => evaluateIn(scope, run, weight, text),
  };
  FACTS.set(expr, facts);
  return expr;
}

/** The place in the file of a range of the text that begins at character `from`; an empty range still has a position. */
function toFileSpan(node: ScalarNode, from: number, { start, end }: Span): Span {
  const first = node.offset(from + start);
  return { start: first, end: Math.max(first, end > start ? node.offset(from + end - 1) + 1 : first) };
}

function refuse(
  node: ScalarNode,
  source: SourceText,
  code: SyntaxCode,
  message: string,
  hint?: string,
): { readonly expr: undefined; readonly diagnostics: readonly Diagnostic[] } {
  return { expr: undefined, diagnostics: [makeFinding(source, node.span, code, message, hint)] };
}
