/**
 * The checker of expressions: walks a syntax tree once, gives every piece a type and a closure, and notes every fault with
 * its place. Names are resolved among those declared only, fields among those of the record's type only: nothing is ever
 * looked up on an object because a text says so.
 *
 * After a fault the piece is undefined and what is built on it keeps silent, so that one mistake gives one diagnostic;
 * its siblings are still checked.
 */
import { type Decimal, parseAuthoredDecimal, wholeNumber } from '../../base/decimal.ts';
import type { Span } from '../../base/diagnostic.ts';
import { formatCount } from '../../base/format.ts';
import { type Frame, type Run, spend } from '../functions/evaluation.ts';
import { FUNCTIONS, functionRow, isZone } from '../functions/functions.ts';
import { BINARY_OPERATORS, type BinaryOperator, binary, negation } from '../functions/operators.ts';
import { applied, arity, impliesMarket, type Match, matched } from '../functions/signatures.ts';
import { fitted, isTypeMismatch, type Term, unified } from '../functions/term.ts';
import { BOOLEAN, INTEGER, NUMBER, TEXT, typeName } from '../functions/typing.ts';
import { EvaluationFailure, type Scope, type Value, type ValueType } from '../values.ts';
import { AnalysisFaults, shown } from './analysis-faults.ts';
import type { TypeEnv } from './environment.ts';
import { MAX_DEPTH, type SyntaxNode } from './syntax.ts';
import { type Facts, VisibleNames } from './visible-names.ts';

const OPERATORS: ReadonlySet<string> = new Set(BINARY_OPERATORS);
const MACROS: ReadonlySet<string> = new Set(['map', 'filter', 'exists', 'all']);
type NodeOf<O extends SyntaxNode['op']> = Extract<SyntaxNode, { op: O }>;

export class Analysis extends AnalysisFaults {
  /** How many pieces it has: what one evaluation counts against the budget. */
  weight = 0;
  private readonly env: TypeEnv;
  private readonly visible: VisibleNames;

  constructor(text: string, env: TypeEnv, factsOf: (name: string) => Facts | undefined) {
    super(text);
    this.env = env;
    this.visible = new VisibleNames(text, env, factsOf);
  }

  /** The roots that were read, and of feeds each by name. */
  get reads(): ReadonlySet<string> {
    return this.visible.reads;
  }

  protected override known(): readonly string[] {
    return this.visible.all();
  }

  /** Checks a node; `level` counts from the root. */
  term(node: SyntaxNode, level = 1): Term | undefined {
    this.weight += 1;
    if (level > MAX_DEPTH) {
      if (!this.faults.some((each) => each.code === 'expression-too-deep'))
        this.fault('expression-too-deep', node, `the expression is more than ${MAX_DEPTH} levels deep`);
      return undefined;
    }
    const found = this.checked(node, level + 1);
    return found === undefined ? undefined : this.folded(found, node);
  }

  /** The term as one of type `wanted`, or a fault at `node`. */
  fit(term: Term | undefined, wanted: ValueType, node: SyntaxNode): Term | undefined {
    return term === undefined ? undefined : this.settle(fitted(term, wanted), [node], node);
  }

  private checked(node: SyntaxNode, level: number): Term | undefined {
    switch (node.op) {
      case 'value':
        return this.literal(node);
      case 'id':
        return this.name(node);
      case '.':
      case '.?':
        return this.field(node, level);
      case '[]':
      case '[?]':
        return this.index(node, level);
      case 'call':
        return this.call(node.args[0], node.args[1], node, node.start, level);
      case 'rcall':
        return this.method(node, level);
      case 'list':
        return this.list(node, level);
      case '?:':
        return this.choice(node, level);
      case '&&':
      case '||':
        return this.logic(node, level);
      case '!_':
        return this.not(node, level);
      case '-_': {
        const operand = this.term(node.args, level);
        return operand === undefined ? undefined : this.settle(negation(operand, this.text), [node.args], node);
      }
      case 'map':
        return this.fault('refused-literal', node, 'a map can not be written in an expression');
      default: {
        if (!OPERATORS.has(node.op))
          return this.fault('expression-syntax', node, `the operator ${node.op} is not part of the language`);
        const [left, right] = [this.term(node.args[0], level), this.term(node.args[1], level)];
        if (left === undefined || right === undefined) return undefined;
        // What is constant as a whole is worked out, and told of, as a whole.
        if ((node.op === '/' || node.op === '%') && !left.constant && isZero(right))
          return this.fault('expression-fails', node.args[1], 'this divides by zero, whatever stands before it');
        if (node.op === '==' || node.op === '!=') this.noteUnlikely([left, right], node.args);
        return this.settle(binary(node.op as BinaryOperator, left, right, this.text), node.args, node);
      }
    }
  }

  private literal(node: NodeOf<'value'>): Term | undefined {
    const value = node.args;
    if (typeof value === 'boolean') return { type: BOOLEAN, run: () => value, bare: true, constant: true };
    if (typeof value === 'string')
      return { type: { kind: 'text', of: [value] }, run: () => value, bare: true, constant: true };
    if (value === null) return this.fault('refused-null', node, 'there is no null');
    if (value instanceof Uint8Array)
      return this.fault('refused-literal', node, 'bytes can not be written in an expression');
    // The parser's own number has lost digits by now: the exact one is read from the text.
    const written = this.text.slice(node.start, node.end);
    const number = parseAuthoredDecimal(written);
    if (number === undefined)
      return this.fault(
        'number-form',
        node,
        `${written.slice(0, 40)} is not a plain decimal of at most 36 digits, 18 after the point`,
      );
    return { type: number.isInteger() ? INTEGER : NUMBER, run: () => number, bare: true, constant: true };
  }

  private name(node: NodeOf<'id'>): Term | undefined {
    const name = node.args;
    const found = this.visible.name(name);
    if (found !== undefined) return found;
    return this.noName(name, node);
  }

  private field(node: NodeOf<'.'> | NodeOf<'.?'>, level: number): Term | undefined {
    const receiver = this.term(node.args[0], level);
    const name = node.args[1];
    if (receiver === undefined) return undefined;
    const record = receiver.type.kind === 'optional' ? receiver.type.of : receiver.type;
    const place = { start: node.pos, end: node.end };
    if (record.kind !== 'record') {
      const hint =
        record.kind === 'map'
          ? `Write [key] or [?key].`
          : functionRow(name) !== undefined || MACROS.has(name)
            ? `Write .${name}(…).`
            : undefined;
      return this.fault('unknown-field', place, `${typeName(record)} has no field ${name}`, hint);
    }
    if (!Object.hasOwn(record.fields, name)) return this.noField(record, name, place);
    return this.visible.field(receiver, name, record.fields[name] as ValueType, node.op === '.?');
  }

  private index(node: NodeOf<'[]'> | NodeOf<'[?]'>, level: number): Term | undefined {
    const [of, key] = [this.term(node.args[0], level), this.term(node.args[1], level)];
    if (of === undefined || key === undefined) return undefined;
    const holder = of.type.kind === 'optional' ? of.type.of : of.type;
    if (holder.kind === 'record')
      return this.fault(
        'record-index',
        node.args[1],
        `a field of ${holder.name} is looked up by a computed name`,
        'Write `.name`, or choose with `?:`.',
      );
    if (holder.kind !== 'list' && holder.kind !== 'map')
      return this.fault('type-mismatch', node, `${typeName(holder)} has no items`);
    const at = this.fit(key, holder.kind === 'list' ? INTEGER : TEXT, node.args[1]);
    if (at === undefined) return undefined;
    const tolerant = node.op === '[?]' || of.type.kind === 'optional';
    const type: ValueType = tolerant && holder.of.kind !== 'optional' ? { kind: 'optional', of: holder.of } : holder.of;
    const { run: items } = of;
    const { run: position } = at;
    const { text } = this;
    const strict = node.op === '[]';
    const list = holder.kind === 'list';
    const run: Run = (frame) => {
      const held = items(frame);
      if (held === undefined) return undefined;
      const where = position(frame);
      const value = list
        ? (held as readonly Value[])[wholeNumber(where as Decimal)]
        : (held as ReadonlyMap<string, Value>).get(where as string);
      if (value === undefined && strict)
        throw new EvaluationFailure(
          list ? `the list has no item ${String(where)}` : `there is no entry for ${String(where).slice(0, 60)}`,
          text,
        );
      return value;
    };
    return { type, run, bare: false, constant: of.constant && at.constant };
  }

  private list(node: NodeOf<'list'>, level: number): Term | undefined {
    if (node.args.length === 0)
      return { type: { kind: 'list', of: NUMBER }, run: () => [], bare: true, constant: true, empty: true };
    const items = this.all(node.args, level);
    if (items === undefined) return undefined;
    const common = this.common(items, node.args);
    if (common === undefined) return undefined;
    const runs = common.terms.map((each) => each.run);
    const every = (test: (term: Term) => boolean): boolean => items.every(test);
    return {
      type: { kind: 'list', of: common.type },
      run: (frame) => runs.map((run) => run(frame)),
      bare: every((each) => each.bare),
      constant: every((each) => each.constant),
    };
  }

  private choice(node: NodeOf<'?:'>, level: number): Term | undefined {
    const [test, first, second] = node.args;
    const condition = this.condition(test, level);
    const yes = this.visible.assuming(condition?.whenTrue, () => this.term(first, level));
    const no = this.visible.assuming(condition?.whenFalse, () => this.term(second, level));
    if (condition === undefined || yes === undefined || no === undefined) return undefined;
    const common = this.common([yes, no], [first, second]);
    if (common === undefined) return undefined;
    const [{ run: a }, { run: b }] = common.terms as readonly [Term, Term];
    const { run: decides } = condition;
    return {
      type: common.type,
      run: (frame) => (decides(frame) === true ? a(frame) : b(frame)),
      bare: yes.bare && no.bare,
      constant: condition.constant && yes.constant && no.constant,
    };
  }

  /** Left to right, the right side only when it matters; a failure on the way is a failure of the whole. */
  private logic(node: NodeOf<'&&'> | NodeOf<'||'>, level: number): Term | undefined {
    const both = node.op === '&&';
    const left = this.condition(node.args[0], level);
    const known = both ? left?.whenTrue : left?.whenFalse;
    const right = this.visible.assuming(known, () => this.condition(node.args[1], level));
    if (left === undefined || right === undefined) return undefined;
    const { run: a } = left;
    const { run: b } = right;
    const facts = both
      ? { whenTrue: [...(left.whenTrue ?? []), ...(right.whenTrue ?? [])] }
      : { whenFalse: [...(left.whenFalse ?? []), ...(right.whenFalse ?? [])] };
    const run: Run = both
      ? (frame) => a(frame) === true && b(frame) === true
      : (frame) => a(frame) === true || b(frame) === true;
    return { type: BOOLEAN, run, bare: false, constant: left.constant && right.constant, ...facts };
  }

  private not(node: NodeOf<'!_'>, level: number): Term | undefined {
    const operand = this.condition(node.args, level);
    if (operand === undefined) return undefined;
    const { run, whenTrue, whenFalse, constant } = operand;
    return {
      type: BOOLEAN,
      run: (frame) => run(frame) !== true,
      bare: false,
      constant,
      ...(whenFalse === undefined ? {} : { whenTrue: whenFalse }),
      ...(whenTrue === undefined ? {} : { whenFalse: whenTrue }),
    };
  }

  private condition(node: SyntaxNode, level: number): Term | undefined {
    return this.fit(this.term(node, level), BOOLEAN, node);
  }

  private method(node: NodeOf<'rcall'>, level: number): Term | undefined {
    const [name, receiver, args] = node.args;
    const start = Math.max(node.start, this.text.indexOf(name, receiver.end));
    const place = { start, end: start + name.length };
    if (MACROS.has(name)) return this.macro(name, receiver, args, place, level);
    if (name === 'orValue' || name === 'hasValue') return this.presence(name, receiver, args, place, level);
    const row = functionRow(name);
    if (row !== undefined && row.method !== true)
      return this.fault('unknown-function', place, `${name} is not called on a value`, `Write ${name}(…).`);
    if (row !== undefined) return this.call(name, [receiver, ...args], node, start, level);
    return this.noFunction(name, place, [
      ...MACROS,
      'orValue',
      'hasValue',
      ...Object.keys(FUNCTIONS).filter((each) => functionRow(each)?.method),
    ]);
  }

  private presence(
    name: 'orValue' | 'hasValue',
    on: SyntaxNode,
    args: readonly SyntaxNode[],
    place: Span,
    level: number,
  ): Term | undefined {
    const receiver = this.term(on, level);
    const others = this.all(args, level);
    if (receiver === undefined || others === undefined) return undefined;
    const wanted = name === 'orValue' ? 1 : 0;
    if (args.length !== wanted)
      return this.fault(
        'argument-count',
        place,
        `${name} takes ${formatCount(wanted, 'argument')}, found ${args.length}`,
      );
    if (receiver.type.kind !== 'optional' && receiver.narrowed !== true)
      this.fault('always-present', place, `this ${typeName(receiver.type)} is always there`);
    const { run: of, path } = receiver;
    if (name === 'hasValue') {
      const known = path === undefined ? [] : prefixes(path);
      return { type: BOOLEAN, run: (frame) => of(frame) !== undefined, bare: false, constant: false, whenTrue: known };
    }
    const inner: Term = { ...receiver, type: receiver.type.kind === 'optional' ? receiver.type.of : receiver.type };
    const common = this.common([inner, others[0] as Term], [on, args[0] as SyntaxNode]);
    if (common === undefined) return undefined;
    const { run: instead } = common.terms[1] as Term;
    return {
      type: common.type,
      run: (frame) => of(frame) ?? instead(frame),
      bare: false,
      constant: receiver.constant && (others[0] as Term).constant,
    };
  }

  private macro(
    name: string,
    on: SyntaxNode,
    args: readonly SyntaxNode[],
    place: Span,
    level: number,
  ): Term | undefined {
    const receiver = this.term(on, level);
    if (args.length !== 2)
      return this.fault(
        'argument-count',
        place,
        `${name} takes a name and an expression, found ${formatCount(args.length, 'argument')}`,
      );
    const [variable, body] = args as readonly [SyntaxNode, SyntaxNode];
    if (variable.op !== 'id') return this.fault('expression-syntax', variable, `${name} takes a name first`);
    const each = variable.args;
    if (this.visible.all().includes(each))
      return this.fault('name-shadowed', variable, `${each} already means something here`);
    if (receiver === undefined) return undefined;
    if (receiver.type.kind !== 'list') {
      if (receiver.type.kind === 'optional')
        return this.fault('optional-unhandled', on, `${shown(this.text.slice(on.start, on.end))} may be absent`);
      return this.fault('type-mismatch', on, `${name} goes through a list, found ${typeName(receiver.type)}`);
    }
    const weightBefore = this.weight;
    const { slot, result: found } = this.visible.withLocal(each, receiver.type.of, () => this.term(body, level));
    const inner = name === 'map' ? found : this.fit(found, BOOLEAN, body);
    if (inner === undefined) return undefined;

    const cost = this.weight - weightBefore;
    const { text } = this;
    const { run: list } = receiver;
    const { run: work } = inner;
    const at = (frame: Frame, item: Value): Value => {
      spend(cost, text);
      frame.locals[slot] = item;
      return work(frame);
    };
    const items = (frame: Frame): readonly Value[] => list(frame) as readonly Value[];
    const kinds: Readonly<Record<string, { readonly type: ValueType; readonly run: Run }>> = {
      map: { type: { kind: 'list', of: inner.type }, run: (frame) => items(frame).map((item) => at(frame, item)) },
      filter: { type: receiver.type, run: (frame) => items(frame).filter((item) => at(frame, item) === true) },
      exists: { type: BOOLEAN, run: (frame) => items(frame).some((item) => at(frame, item) === true) },
      all: { type: BOOLEAN, run: (frame) => items(frame).every((item) => at(frame, item) === true) },
    };
    const { type, run } = kinds[name] as { type: ValueType; run: Run };
    return { type, run, bare: false, constant: false };
  }

  private call(
    name: string,
    nodes: readonly SyntaxNode[],
    node: SyntaxNode,
    start: number,
    level: number,
  ): Term | undefined {
    const place = { start, end: start + name.length };
    const row = functionRow(name);
    if (row === undefined) return this.noFunction(name, place, Object.keys(FUNCTIONS));
    const args = this.all(nodes, level);
    if (args === undefined) return undefined;
    const match = matched(row, args);
    if (match === undefined)
      return this.fault(
        'argument-count',
        place,
        `${name} takes ${arity(row)}, found ${formatCount(args.length, 'argument')}`,
      );
    if (isTypeMismatch(match)) return this.settle({ ...match, message: `${name}: ${match.message}` }, nodes, node);
    const strange = strangeZone(match);
    if (strange !== undefined)
      return this.fault('unknown-zone', nodes[strange.at] ?? node, `there is no time zone '${shown(strange.zone)}'`);
    const implied = impliesMarket(match);
    const market = implied ? this.env.market : undefined;
    if (implied && market === undefined) {
      const hint = `Write ${name}(value, market), such as ${name}(value, inputs.market).`;
      return this.fault('market-unknown', place, `${name} needs to know the market here`, hint);
    }
    for (const read of market?.reads ?? []) this.visible.reads.add(read);
    return applied(row, match, market, this.text);
  }

  /** What depends on nothing is worked out now, so that `1 / 0` is found before a run; lists are left for when they are needed. */
  private folded(term: Term, node: SyntaxNode): Term {
    if (!term.constant || node.op === 'value' || term.type.kind === 'list') return term;
    try {
      const value = term.run({ scope: NOWHERE, locals: [] });
      return { ...term, run: () => value };
    } catch (error) {
      if (!(error instanceof EvaluationFailure)) throw error;
      this.fault('expression-fails', node, `this can not be worked out: ${error.message}`);
      return { ...term, constant: false };
    }
  }

  private all(nodes: readonly SyntaxNode[], level: number): readonly Term[] | undefined {
    const terms = nodes.map((each) => this.term(each, level));
    return terms.every((each) => each !== undefined) ? terms : undefined;
  }

  private common(
    terms: readonly Term[],
    nodes: readonly SyntaxNode[],
  ): { readonly terms: readonly Term[]; readonly type: ValueType } | undefined {
    const found = unified(terms);
    if (!isTypeMismatch(found)) return found;
    this.settle(found, nodes, nodes[0] as SyntaxNode);
    return undefined;
  }
}

function isZero({ constant, type, run }: Term): boolean {
  if (!constant || type.kind !== 'decimal') return false;
  try {
    return (run({ scope: NOWHERE, locals: [] }) as Decimal).isZero();
  } catch (error) {
    if (error instanceof EvaluationFailure) return false;
    throw error;
  }
}

const NOWHERE: Scope = { get: () => undefined, rules: () => undefined };

/** A time zone written out is looked up before the run. */
function strangeZone({ signature, args }: Match): { readonly zone: string; readonly at: number } | undefined {
  const at = signature.parameters.findIndex((each) => each.shape.kind === 'zone');
  const type = args[at]?.bare === true ? args[at]?.type : undefined;
  const zone = type?.kind === 'text' ? type.of?.find((each) => !isZone(each)) : undefined;
  return zone === undefined ? undefined : { zone, at };
}

function prefixes(path: string): readonly string[] {
  const parts = path.split('.');
  return parts.map((_, index) => parts.slice(0, index + 1).join('.'));
}
