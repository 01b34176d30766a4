/**
 * Checks expressions: walks a syntax tree once, gives every part a type and a closure, and records every error with its
 * place. Names must be declared and fields must belong to the record's type: no text ever selects a property of a JavaScript
 * object.
 *
 * A wrong part is undefined and the parts built on it report nothing, so that one mistake gives one diagnostic; its
 * siblings are still checked.
 */
import { type Decimal, parseAuthoredDecimal, toCount } from '../../base/decimal.ts';
import type { Span } from '../../base/diagnostic.ts';
import { formatCount } from '../../base/format.ts';
import { shorten } from '../../base/printable.ts';
import { COST, evaluateIn, type Frame, type Run, spend, spendOnText } from '../functions/evaluation.ts';
import { FUNCTIONS, findFunction, isZone } from '../functions/functions.ts';
import { BINARY_OPERATORS, type BinaryOperator, checkBinary, checkNegation, costOf } from '../functions/operators.ts';
import { applyFunction, describeArity, type Match, matchCall } from '../functions/signatures.ts';
import { fitTerm, isTypeMismatch, type Term, unifyTerms } from '../functions/term.ts';
import { BOOLEAN, findUnit, formatType, INTEGER, NUMBER, TEXT } from '../functions/typing.ts';
import { EvaluationFailure, NOWHERE, type Value, type ValueType } from '../values.ts';
import { AnalysisFaults } from './analysis-faults.ts';
import type { TypeEnv } from './environment.ts';
import { MAX_DEPTH, type SyntaxNode } from './syntax.ts';
import { MACROS } from './tree.ts';
import { type Facts, type FieldRead, VisibleNames } from './visible-names.ts';

const OPERATORS: ReadonlySet<string> = new Set(BINARY_OPERATORS);
type NodeOf<O extends SyntaxNode['op']> = Extract<SyntaxNode, { op: O }>;

/** What is written like a field and asks whether a value is there. */
const OF_OPTIONAL: Readonly<Record<string, string>> = { hasValue: 'Write .hasValue().', orValue: 'Write .orValue(x).' };

export class Analysis extends AnalysisFaults {
  /** The number of parts, which one evaluation counts against its budget. */
  weight = 0;
  private readonly env: TypeEnv;
  private readonly visible: VisibleNames;

  constructor(text: string, env: TypeEnv, factsOf: (name: string) => Facts | undefined) {
    super(text);
    this.env = env;
    this.visible = new VisibleNames(text, env, factsOf);
  }

  /** The roots that were read, and `feeds.<name>` for each feed. */
  get reads(): ReadonlySet<string> {
    return this.visible.reads;
  }

  /** The fields of records that were read. */
  get fields(): readonly FieldRead[] {
    return this.visible.fields;
  }

  protected override listKnown(): readonly string[] {
    return this.visible.listAll();
  }

  protected override findDeclared(name: string): string | undefined {
    const block = ['inputs', 'feeds'].find((each) => {
      const type = this.env.roots.get(each);
      return type?.kind === 'record' && Object.hasOwn(type.fields, name);
    });
    return block && `${block}.${name}`;
  }

  /** Checks a node; `level` counts from the root. */
  check(node: SyntaxNode, level = 1): Term | undefined {
    this.weight += 1;
    if (level > MAX_DEPTH) {
      if (!this.faults.some((each) => each.code === 'expression-too-deep'))
        this.reportFault('expression-too-deep', node, `the expression is more than ${MAX_DEPTH} levels deep`);
      return undefined;
    }
    const found = this.checkNode(node, level + 1);
    return found === undefined ? undefined : this.fold(found, node);
  }

  /** The term as one of type `wanted`, or a fault at `node`. */
  fit(term: Term | undefined, wanted: ValueType, node: SyntaxNode): Term | undefined {
    return term === undefined ? undefined : this.settle(fitTerm(term, wanted), [node], node);
  }

  private checkNode(node: SyntaxNode, level: number): Term | undefined {
    switch (node.op) {
      case 'value':
        return this.checkLiteral(node);
      case 'id':
        return this.checkName(node);
      case '.':
      case '.?':
        return this.checkField(node, level);
      case '[]':
      case '[?]':
        return this.checkIndex(node, level);
      case 'call':
        return this.checkCall(node.args[0], node.args[1], node, node.start, level);
      case 'rcall':
        return this.checkMethod(node, level);
      case 'list':
        return this.checkList(node, level);
      case '?:':
        return this.checkChoice(node, level);
      case '&&':
      case '||':
        return this.checkLogic(node, level);
      case '!_':
        return this.checkNot(node, level);
      case '-_': {
        const operand = this.check(node.args, level);
        return operand === undefined ? undefined : this.settle(checkNegation(operand, this.text), [node.args], node);
      }
      case 'map':
        return this.checkMap(node, level);
      default: {
        if (!OPERATORS.has(node.op))
          return this.reportFault('expression-syntax', node, `the operator ${node.op} is not part of the language`);
        if (this.isBareMarket(node)) return this.reportBareMarket(node);
        const [left, right] = [this.check(node.args[0], level), this.check(node.args[1], level)];
        if (left === undefined || right === undefined) return undefined;
        // A constant expression is evaluated, and reported, as a whole.
        if ((node.op === '/' || node.op === '%') && !left.constant && isZero(right))
          return this.reportFault('expression-fails', node.args[1], 'this divides by zero, whatever the left side is');
        if (node.op === '==' || node.op === '!=') this.noteUnlikely([left, right], node.args);
        this.weight += costOf(node.op as BinaryOperator, left, right);
        const found = checkBinary(node.op as BinaryOperator, left, right, this.text);
        const isOfBoth = isTypeMismatch(found) && found.at === undefined;
        const what = shorten(this.text.slice(node.start, node.end));
        const told = isOfBoth ? { ...found, message: `${what}: ${found.message}` } : found;
        const checked = this.settle(told, node.args, node);
        return checked && { ...checked, ...tellFilled(node.op, left, right) };
      }
    }
  }

  /** `BTC-USD` without quotes is read as a difference of two names. */
  private isBareMarket(node: SyntaxNode): boolean {
    if (!/^[A-Z][A-Z0-9]*(?:-[A-Z][A-Z0-9]*)+$/.test(this.text.slice(node.start, node.end))) return false;
    const known = this.listKnown();
    return !this.text
      .slice(node.start, node.end)
      .split('-')
      .some((name) => known.includes(name));
  }

  private checkLiteral(node: NodeOf<'value'>): Term | undefined {
    const value = node.args;
    if (typeof value === 'boolean') return { type: BOOLEAN, run: () => value, bare: true, constant: true };
    if (typeof value === 'string')
      return { type: { kind: 'text', of: [value] }, run: () => value, bare: true, constant: true };
    if (value === null) return this.reportFault('refused-null', node, 'the language has no null');
    if (value instanceof Uint8Array)
      return this.reportFault('refused-literal', node, 'bytes cannot be written in an expression');
    // The parser's own number has lost digits: the exact one is read from the text.
    const written = this.text.slice(node.start, node.end);
    const number = parseAuthoredDecimal(written);
    if (number === undefined)
      return this.reportFault(
        'number-form',
        node,
        `${written.slice(0, 40)} is not a plain decimal of at most 36 digits, 18 after the point`,
      );
    return { type: number.isInteger() ? INTEGER : NUMBER, run: () => number, bare: true, constant: true };
  }

  private checkName(node: NodeOf<'id'>): Term | undefined {
    const name = node.args;
    const found = this.visible.findName(name, node);
    if (found !== undefined) return found;
    return this.reportUnknownName(name, node);
  }

  private checkField(node: NodeOf<'.'> | NodeOf<'.?'>, level: number): Term | undefined {
    const receiver = this.check(node.args[0], level);
    const name = node.args[1];
    if (receiver === undefined) return undefined;
    const record = receiver.type.kind === 'optional' ? receiver.type.of : receiver.type;
    const place = { start: node.pos, end: node.end };
    if (record.kind !== 'record') {
      const hint =
        record.kind === 'map'
          ? `Write [key] or [?key].`
          : findFunction(name) !== undefined || MACROS.has(name)
            ? `Write .${name}(…).`
            : OF_OPTIONAL[name];
      return this.reportFault('unknown-field', place, `${formatType(record)} has no field ${name}`, hint);
    }
    if (!Object.hasOwn(record.fields, name)) return this.reportUnknownField(record, name, place);
    return this.visible.readField(receiver, name, record.fields[name] as ValueType, node);
  }

  private checkIndex(node: NodeOf<'[]'> | NodeOf<'[?]'>, level: number): Term | undefined {
    const [of, key] = [this.check(node.args[0], level), this.check(node.args[1], level)];
    if (of === undefined || key === undefined) return undefined;
    const holder = of.type.kind === 'optional' ? of.type.of : of.type;
    if (holder.kind === 'record')
      return this.reportFault(
        'record-index',
        node.args[1],
        `a field of ${holder.name} is read by a computed name`,
        'Write `.name`, or choose with `?:`.',
      );
    if (holder.kind !== 'list' && holder.kind !== 'map')
      return this.reportFault('type-mismatch', node, `${formatType(holder)} has no items`);
    const at = this.fit(key, holder.kind === 'list' ? INTEGER : TEXT, node.args[1]);
    if (at === undefined) return undefined;
    const tolerant = node.op === '[?]' || of.type.kind === 'optional';
    const type: ValueType = tolerant && holder.of.kind !== 'optional' ? { kind: 'optional', of: holder.of } : holder.of;
    const { run: items } = of;
    const { run: position } = at;
    const { text } = this;
    const strict = node.op === '[]';
    const list = holder.kind === 'list';
    this.weight += list ? COST.product : 0;
    const run: Run = (frame) => {
      const held = items(frame);
      if (held === undefined) return undefined;
      const where = position(frame);
      if (!list) spendOnText((where as string).length, text);
      const value = list
        ? (held as readonly Value[])[toCount(where as Decimal)]
        : (held as ReadonlyMap<string, Value>).get(where as string);
      if (value === undefined && strict)
        throw new EvaluationFailure(
          list ? `the list has no item ${String(where)}` : `there is no entry for ${String(where).slice(0, 60)}`,
          text,
        );
      return value;
    };
    const origin = list && of.origin !== undefined ? { origin: `${of.origin}[]` } : {};
    return {
      type,
      run,
      bare: of.bare && findUnit(holder.of) !== undefined,
      constant: of.constant && at.constant,
      ...origin,
    };
  }

  private checkList(node: NodeOf<'list'>, level: number): Term | undefined {
    if (node.args.length === 0)
      return { type: { kind: 'list', of: NUMBER }, run: () => [], bare: true, constant: true, empty: true };
    const items = this.checkAll(node.args, level);
    if (items === undefined) return undefined;
    const common = this.unify(items, node.args);
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

  private checkMap(node: NodeOf<'map'>, level: number): Term | undefined {
    if (node.args.length === 0)
      return { type: { kind: 'map', of: NUMBER }, run: () => new Map(), bare: true, constant: true, empty: true };
    const nodes = node.args.map(([, value]) => value);
    const keys = node.args.map(([key]) => this.fit(this.check(key, level), TEXT, key));
    const items = this.checkAll(nodes, level);
    if (items === undefined || !keys.every((key) => key !== undefined)) return undefined;
    const common = this.unify(items, nodes);
    if (common === undefined) return undefined;
    const pairs = common.terms.map((term, index) => [(keys[index] as Term).run, term.run] as const);
    return {
      type: { kind: 'map', of: common.type },
      run: (frame) => new Map(pairs.map(([key, value]) => [key(frame) as string, value(frame)])),
      bare: items.every((each) => each.bare),
      constant: [...keys, ...items].every((each) => each.constant),
    };
  }

  private checkChoice(node: NodeOf<'?:'>, level: number): Term | undefined {
    const [test, first, second] = node.args;
    const condition = this.checkCondition(test, level);
    const yes = this.visible.withAssumed(condition?.whenTrue, () => this.check(first, level));
    const no = this.visible.withAssumed(condition?.whenFalse, () => this.check(second, level));
    if (condition === undefined || yes === undefined || no === undefined) return undefined;
    const common = this.unify([yes, no], [first, second]);
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

  /** Evaluates from left to right, the right side only if it matters; a failure of a side fails the whole. */
  private checkLogic(node: NodeOf<'&&'> | NodeOf<'||'>, level: number): Term | undefined {
    const both = node.op === '&&';
    const left = this.checkCondition(node.args[0], level);
    const known = both ? left?.whenTrue : left?.whenFalse;
    const right = this.visible.withAssumed(known, () => this.checkCondition(node.args[1], level));
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

  private checkNot(node: NodeOf<'!_'>, level: number): Term | undefined {
    const operand = this.checkCondition(node.args, level);
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

  private checkCondition(node: SyntaxNode, level: number): Term | undefined {
    return this.fit(this.check(node, level), BOOLEAN, node);
  }

  private checkMethod(node: NodeOf<'rcall'>, level: number): Term | undefined {
    const [name, receiver, args] = node.args;
    const start = Math.max(node.start, this.text.indexOf(name, receiver.end));
    const place = { start, end: start + name.length };
    if (MACROS.has(name)) return this.checkMacro(name, receiver, args, place, level);
    if (name === 'orValue' || name === 'hasValue') return this.checkPresence(name, receiver, args, place, level);
    const dotted = receiver.op === 'id' ? `${receiver.args}.${name}` : undefined;
    if (dotted !== undefined && findFunction(dotted) !== undefined) {
      // Read with the feeds, so that the journal has what the run saw.
      this.visible.reads.add(`feeds.${dotted}`);
      return this.checkCall(dotted, args, node, receiver.start, level);
    }
    const row = findFunction(name);
    if (row !== undefined && row.method !== true)
      return this.reportFault('unknown-function', place, `${name} is not called on a value`, `Write ${name}(…).`);
    if (row !== undefined) return this.checkCall(name, [receiver, ...args], node, start, level);
    return this.reportUnknownFunction(name, place, [
      ...MACROS,
      'orValue',
      'hasValue',
      ...Object.keys(FUNCTIONS).filter((each) => findFunction(each)?.method),
    ]);
  }

  private checkPresence(
    name: 'orValue' | 'hasValue',
    on: SyntaxNode,
    args: readonly SyntaxNode[],
    place: Span,
    level: number,
  ): Term | undefined {
    const receiver = this.check(on, level);
    const others = this.checkAll(args, level);
    if (receiver === undefined || others === undefined) return undefined;
    const wanted = name === 'orValue' ? 1 : 0;
    if (args.length !== wanted)
      return this.reportFault(
        'argument-count',
        place,
        `${name} takes ${formatCount(wanted, 'argument')}, found ${args.length}`,
      );
    if (receiver.type.kind !== 'optional' && receiver.narrowed !== true)
      this.reportFault('always-present', place, `this ${formatType(receiver.type)} is always present`);
    const { run: of, path } = receiver;
    if (name === 'hasValue') {
      const known = path === undefined ? [] : listPrefixes(path);
      return { type: BOOLEAN, run: (frame) => of(frame) !== undefined, bare: false, constant: false, whenTrue: known };
    }
    const inner: Term = { ...receiver, type: receiver.type.kind === 'optional' ? receiver.type.of : receiver.type };
    const common = this.unify([inner, others[0] as Term], [on, args[0] as SyntaxNode]);
    if (common === undefined) return undefined;
    const { run: instead } = common.terms[1] as Term;
    return {
      type: common.type,
      run: (frame) => of(frame) ?? instead(frame),
      bare: false,
      constant: receiver.constant && (others[0] as Term).constant,
      ...(receiver.origin === undefined ? {} : { origin: receiver.origin }),
    };
  }

  private checkMacro(
    name: string,
    on: SyntaxNode,
    args: readonly SyntaxNode[],
    place: Span,
    level: number,
  ): Term | undefined {
    const receiver = this.check(on, level);
    if (args.length !== 2)
      return this.reportFault(
        'argument-count',
        place,
        `${name} takes a name and an expression, found ${formatCount(args.length, 'argument')}`,
      );
    const [variable, body] = args as readonly [SyntaxNode, SyntaxNode];
    if (variable.op !== 'id') return this.reportFault('expression-syntax', variable, `${name} takes a name first`);
    const each = variable.args;
    if (this.visible.listAll().includes(each))
      return this.reportFault('name-shadowed', variable, `${each} already means something here`);
    if (receiver === undefined) return undefined;
    if (receiver.type.kind !== 'list') {
      if (receiver.type.kind === 'optional')
        return this.reportFault(
          'optional-unhandled',
          on,
          `${shorten(this.text.slice(on.start, on.end))} may be absent`,
        );
      return this.reportFault('type-mismatch', on, `${name} goes through a list, found ${formatType(receiver.type)}`);
    }
    const weightBefore = this.weight;
    const list = { ...receiver, type: receiver.type };
    const { slot, result: found } = this.visible.withLocal(each, list, () => this.check(body, level));
    const inner = name === 'map' ? found : this.fit(found, BOOLEAN, body);
    if (inner === undefined) return undefined;

    const cost = this.weight - weightBefore + 1;
    const { text } = this;
    const { run: readList } = receiver;
    const { run: work } = inner;
    const at = (frame: Frame, item: Value): Value => {
      spend(cost, text);
      frame.locals[slot] = item;
      return work(frame);
    };
    const items = (frame: Frame): readonly Value[] => readList(frame) as readonly Value[];
    const kinds: Readonly<Record<string, { readonly type: ValueType; readonly run: Run }>> = {
      map: { type: { kind: 'list', of: inner.type }, run: (frame) => items(frame).map((item) => at(frame, item)) },
      filter: { type: receiver.type, run: (frame) => items(frame).filter((item) => at(frame, item) === true) },
      exists: { type: BOOLEAN, run: (frame) => items(frame).some((item) => at(frame, item) === true) },
      all: { type: BOOLEAN, run: (frame) => items(frame).every((item) => at(frame, item) === true) },
    };
    const { type, run } = kinds[name] as { type: ValueType; run: Run };
    // What is left of a list of bare literals is one.
    const origin = name === 'filter' && receiver.origin !== undefined ? { origin: receiver.origin } : {};
    return {
      type,
      run,
      bare: name === 'filter' ? receiver.bare : name === 'map' && inner.bare,
      constant: false,
      ...origin,
    };
  }

  private checkCall(
    name: string,
    nodes: readonly SyntaxNode[],
    node: SyntaxNode,
    start: number,
    level: number,
  ): Term | undefined {
    const place = { start, end: start + name.length };
    const row = findFunction(name);
    if (row === undefined) return this.reportUnknownFunction(name, place, Object.keys(FUNCTIONS));
    const args = this.checkAll(nodes, level);
    if (args === undefined) return undefined;
    const match = matchCall(row, args);
    if (match === undefined)
      return this.reportFault(
        'argument-count',
        place,
        `${name} takes ${describeArity(row)}, found ${formatCount(args.length, 'argument')}`,
      );
    if (isTypeMismatch(match)) return this.settle({ ...match, message: `${name}: ${match.message}` }, nodes, node);
    const unknown = findUnknownZone(match);
    if (unknown !== undefined)
      return this.reportFault(
        'unknown-zone',
        nodes[unknown.at] ?? node,
        `there is no time zone '${shorten(unknown.zone)}'`,
      );
    // The call leaves out the market, which its place can supply: the market of its order.
    const implied = match.signature.parameters[match.args.length]?.implied === true;
    this.weight += row.cost ?? 0;
    const market = implied ? this.env.market : undefined;
    if (implied && market === undefined) {
      const hint = `Write ${name}(value, market), such as ${name}(value, inputs.market).`;
      return this.reportFault('market-unknown', place, `${name} needs a market here`, hint);
    }
    for (const read of market?.reads ?? []) this.visible.reads.add(read);
    return applyFunction(row, match, market, this.text);
  }

  /** Evaluates a constant part now, so that `1 / 0` is found before a run; lists are evaluated when they are needed. */
  private fold(term: Term, node: SyntaxNode): Term {
    if (!term.constant || node.op === 'value' || term.type.kind === 'list' || term.type.kind === 'map') return term;
    try {
      const value = evaluateIn(NOWHERE, term.run, 1, this.text);
      return { ...term, run: () => value };
    } catch (error) {
      if (!(error instanceof EvaluationFailure)) throw error;
      this.reportFault('expression-fails', node, `this cannot be evaluated: ${error.message}`);
      return { ...term, constant: false };
    }
  }

  private checkAll(nodes: readonly SyntaxNode[], level: number): readonly Term[] | undefined {
    const terms = nodes.map((each) => this.check(each, level));
    return terms.every((each) => each !== undefined) ? terms : undefined;
  }

  private unify(
    terms: readonly Term[],
    nodes: readonly SyntaxNode[],
  ): { readonly terms: readonly Term[]; readonly type: ValueType } | undefined {
    const found = unifyTerms(terms);
    if (!isTypeMismatch(found)) return found;
    this.settle(found, nodes, nodes[0] as SyntaxNode);
    return undefined;
  }
}

function isZero({ constant, type, run }: Term): boolean {
  if (!constant || type.kind !== 'decimal') return false;
  try {
    return (evaluateIn(NOWHERE, run, 1, '') as Decimal).isZero();
  } catch (error) {
    if (error instanceof EvaluationFailure) return false;
    throw error;
  }
}

/** Finds an unknown time zone among the literal arguments. */
function findUnknownZone({ signature, args }: Match): { readonly zone: string; readonly at: number } | undefined {
  const at = signature.parameters.findIndex((each) => each.shape.kind === 'zone');
  const type = args[at]?.bare === true ? args[at]?.type : undefined;
  const zone = type?.kind === 'text' ? type.of?.find((each) => !isZone(each)) : undefined;
  return zone === undefined ? undefined : { zone, at };
}

function listPrefixes(path: string): readonly string[] {
  const parts = path.split('.');
  return parts.map((_, index) => parts.slice(0, index + 1).join('.'));
}

/**
 * What a comparison of an order's `filled` with zero says of its average price: an order that a step hands out has both or neither.
 */
function tellFilled(operator: string, left: Term, right: Term): Pick<Term, 'whenTrue' | 'whenFalse'> {
  const order = left.path?.endsWith('.filled') ? left.path.slice(0, -'.filled'.length) : undefined;
  if (order === undefined || !isZero(right)) return {};
  const known = listPrefixes(`${order}.avg_price`);
  if (operator === '==' || operator === '<=') return { whenFalse: known };
  return operator === '!=' || operator === '>' ? { whenTrue: known } : {};
}
