/**
 * The operators: for checked operands, the type of the result with its unit and the closure that computes it, or the reason
 * why there is none. analysis.ts has `&&`, `||` and `?:`, because they decide which operands are evaluated.
 *
 * A bare literal takes the unit of its neighbour in sums and comparisons, never in products: `money / 2` stays money.
 */
import { Decimal } from '../../base/decimal.ts';
import type { Duration, Time, Unit, Value, ValueType } from '../values.ts';
import {
  areEqual,
  COST,
  compare,
  computeRemainder,
  divide,
  type Run,
  requireBounded,
  requireShort,
  spend,
  spendOnText,
  toDuration,
  toTime,
} from './evaluation.ts';
import {
  adaptUnit,
  checkComparable,
  isTypeMismatch,
  makeOptionalMismatch,
  type Term,
  type TypeMismatch,
  unifyTerms,
} from './term.ts';
import { BOOLEAN, DURATION, findUnit, formatType, NUMBER, TEXT, TIME } from './typing.ts';
import { divideUnits, multiplyUnits } from './units.ts';

export const BINARY_OPERATORS = ['+', '-', '*', '/', '%', '==', '!=', '<', '<=', '>', '>=', 'in'] as const;
export type BinaryOperator = (typeof BINARY_OPERATORS)[number];

/** Applies an operator to its operands; `text` is the expression, for failures at run time. */
export function checkBinary(operator: BinaryOperator, left: Term, right: Term, text: string): Term | TypeMismatch {
  if (operator !== '==' && operator !== '!=') {
    if (left.type.kind === 'optional') return { ...makeOptionalMismatch(), at: 0 };
    if (right.type.kind === 'optional') return { ...makeOptionalMismatch(), at: 1 };
  }
  switch (operator) {
    case '+':
    case '-':
      return checkSum(operator, left, right, text);
    case '*':
      return checkProduct(left, right, text);
    case '/':
      return checkDivision(left, right, text);
    case '%':
      return checkModulo(left, right, text);
    case '==':
    case '!=':
      return checkEquality(operator, left, right, text);
    case '<':
    case '<=':
    case '>':
    case '>=':
      return checkOrder(operator, left, right);
    case 'in':
      return checkMembership(left, right, text);
    default:
      return operator satisfies never;
  }
}

const COSTS: Readonly<Partial<Record<BinaryOperator, number>>> = {
  '+': COST.sum,
  '-': COST.sum,
  '*': COST.product,
  '/': COST.division,
  '%': COST.division,
};

/** Units of an operation besides those of its operands; texts, lists and maps are paid by their length when they are used. */
export function costOf(operator: BinaryOperator, left: Term, right: Term): number {
  const isExact = left.type.kind === 'decimal' || right.type.kind === 'decimal' || operator === '/';
  return isExact ? (COSTS[operator] ?? 1) : 1;
}

export function checkNegation(operand: Term, text: string): Term | TypeMismatch {
  const { type, run } = operand;
  if (type.kind === 'optional') return makeOptionalMismatch();
  if (type.kind === 'decimal')
    return makeResult(type, [operand], (frame) => (run(frame) as Decimal).neg(), operand.bare);
  if (type.kind === 'duration')
    return makeResult(DURATION, [operand], (frame) => toDuration(-(run(frame) as Duration).ms, text));
  return { refused: 'type-mismatch', message: `${formatType(type)} has no negative` };
}

function makeResult(type: ValueType, operands: readonly Term[], run: Run, bare = false): Term {
  return { type, run, bare, constant: operands.every((each) => each.constant) };
}

type DecimalType = Extract<ValueType, { kind: 'decimal' }>;

function makeDecimalType(unit: Unit, left: DecimalType, right: DecimalType, closed: boolean): ValueType {
  if (unit !== 'number') return { kind: 'decimal', unit };
  return closed && left.integer === true && right.integer === true ? { kind: 'decimal', unit, integer: true } : NUMBER;
}

function makeMismatch(operator: string, left: Term, right: Term): TypeMismatch {
  return {
    refused: 'type-mismatch',
    message: `${formatType(left.type)} ${operator} ${formatType(right.type)} has no meaning`,
  };
}

function checkSum(operator: '+' | '-', left: Term, right: Term, text: string): Term | TypeMismatch {
  const [a, b] = [adaptUnit(left, findUnit(right.type)), adaptUnit(right, findUnit(left.type))];
  const { run: x } = a;
  const { run: y } = b;
  const operands = [left, right];
  if (a.type.kind === 'decimal' && b.type.kind === 'decimal') {
    if (a.type.unit !== b.type.unit)
      return {
        refused: 'unit-mismatch',
        message: `${formatType(a.type)} ${operator} ${formatType(b.type)}: both sides must have the same unit`,
      };
    const run: Run =
      operator === '+'
        ? (frame) => requireBounded((x(frame) as Decimal).plus(y(frame) as Decimal), text)
        : (frame) => requireBounded((x(frame) as Decimal).minus(y(frame) as Decimal), text);
    return makeResult(makeDecimalType(a.type.unit, a.type, b.type, true), operands, run, left.bare && right.bare);
  }
  if (operator === '+' && (left.type.kind === 'list' || left.type.kind === 'map') && left.type.kind === right.type.kind)
    return checkJoin(left.type.kind, left, right, text);
  const sign = operator === '+' ? 1 : -1;
  const kinds = `${left.type.kind} ${operator} ${right.type.kind}`;
  switch (kinds) {
    case 'time + duration':
    case 'time - duration':
      return makeResult(TIME, operands, (frame) =>
        toTime((x(frame) as Time).us + sign * (y(frame) as Duration).ms * 1000, text),
      );
    case 'duration + time':
      return makeResult(TIME, operands, (frame) =>
        toTime((y(frame) as Time).us + (x(frame) as Duration).ms * 1000, text),
      );
    case 'time - time':
      return makeResult(DURATION, operands, (frame) =>
        toDuration(((x(frame) as Time).us - (y(frame) as Time).us) / 1000, text),
      );
    case 'duration + duration':
    case 'duration - duration':
      return makeResult(DURATION, operands, (frame) =>
        toDuration((x(frame) as Duration).ms + sign * (y(frame) as Duration).ms, text),
      );
    case 'text + text':
      return makeResult(TEXT, operands, (frame) => requireShort(`${x(frame) as string}${y(frame) as string}`, text));
    default:
      return makeMismatch(operator, left, right);
  }
}

/** The items of both lists, or the entries of both maps; of a key in both the right one. */
function checkJoin(kind: 'list' | 'map', left: Term, right: Term, text: string): Term | TypeMismatch {
  if (left.empty === true && right.empty === true) return left;
  const common = unifyTerms([left, right]);
  if (isTypeMismatch(common)) return { refused: common.refused, message: common.message };
  const { run: x } = left;
  const { run: y } = right;
  const count = (items: number) => spend(COST.item * items, text);
  const run: Run =
    kind === 'list'
      ? (frame) => {
          const joined = [...(x(frame) as readonly Value[]), ...(y(frame) as readonly Value[])];
          count(joined.length);
          return joined;
        }
      : (frame) => {
          const joined = new Map([
            ...(x(frame) as ReadonlyMap<string, Value>),
            ...(y(frame) as ReadonlyMap<string, Value>),
          ]);
          count(joined.size);
          return joined;
        };
  return makeResult(common.type, [left, right], run, left.bare && right.bare);
}

function checkProduct(left: Term, right: Term, text: string): Term | TypeMismatch {
  const { type: a, run: x } = left;
  const { type: b, run: y } = right;
  const operands = [left, right];
  if (a.kind === 'decimal' && b.kind === 'decimal') {
    const unit = multiplyUnits(a.unit, b.unit);
    if (unit === undefined)
      return {
        refused: 'unit-mismatch',
        message: `${formatType(a)} * ${formatType(b)} has no unit`,
        hint: `${a.unit} and ${b.unit} have no product; price × size = money, and a plain number scales anything.`,
      };
    const run: Run = (frame) => requireBounded((x(frame) as Decimal).times(y(frame) as Decimal), text);
    return makeResult(makeDecimalType(unit, a, b, true), operands, run, left.bare && right.bare);
  }
  if (a.kind === 'duration' && b.kind === 'decimal' && b.unit === 'number')
    return makeResult(DURATION, operands, (frame) =>
      toDuration((y(frame) as Decimal).times((x(frame) as Duration).ms), text),
    );
  if (b.kind === 'duration' && a.kind === 'decimal' && a.unit === 'number')
    return makeResult(DURATION, operands, (frame) =>
      toDuration((x(frame) as Decimal).times((y(frame) as Duration).ms), text),
    );
  return makeMismatch('*', left, right);
}

function checkDivision(left: Term, right: Term, text: string): Term | TypeMismatch {
  const { type: a, run: x } = left;
  const { type: b, run: y } = right;
  const operands = [left, right];
  if (a.kind === 'decimal' && b.kind === 'decimal') {
    const unit = divideUnits(a.unit, b.unit);
    if (unit === undefined)
      return {
        refused: 'unit-mismatch',
        message: `${formatType(a)} / ${formatType(b)} has no unit`,
        hint: `${a.unit} cannot be divided by ${b.unit}; money / price = size, money / size = price, a unit divided by itself is a number.`,
      };
    const run: Run = (frame) => divide(x(frame) as Decimal, y(frame) as Decimal, text);
    return makeResult(makeDecimalType(unit, a, b, false), operands, run, left.bare && right.bare);
  }
  if (a.kind === 'duration' && b.kind === 'decimal' && b.unit === 'number')
    return makeResult(DURATION, operands, (frame) =>
      toDuration(divide(new Decimal((x(frame) as Duration).ms), y(frame) as Decimal, text), text),
    );
  if (a.kind === 'duration' && b.kind === 'duration')
    return makeResult(NUMBER, operands, (frame) =>
      divide(new Decimal((x(frame) as Duration).ms), new Decimal((y(frame) as Duration).ms), text),
    );
  return makeMismatch('/', left, right);
}

function checkModulo(left: Term, right: Term, text: string): Term | TypeMismatch {
  const [a, b] = [left.type, adaptUnit(right, findUnit(left.type)).type];
  if (a.kind !== 'decimal' || b.kind !== 'decimal') return makeMismatch('%', left, right);
  if (a.unit !== b.unit)
    return {
      refused: 'unit-mismatch',
      message: `${formatType(a)} % ${formatType(b)}: both sides must have the same unit`,
    };
  const { run: x } = left;
  const { run: y } = right;
  const run: Run = (frame) => computeRemainder(x(frame) as Decimal, y(frame) as Decimal, text);
  return makeResult(makeDecimalType(a.unit, a, b, true), [left, right], run, left.bare && right.bare);
}

function checkEquality(operator: '==' | '!=', left: Term, right: Term, text: string): Term | TypeMismatch {
  const refusal = checkComparable(left, right);
  if (refusal !== undefined) return refusal;
  const { run: x } = left;
  const { run: y } = right;
  const run: Run =
    operator === '==' ? (frame) => areEqual(x(frame), y(frame), text) : (frame) => !areEqual(x(frame), y(frame), text);
  return makeResult(BOOLEAN, [left, right], run);
}

const ORDERED_KINDS: ReadonlySet<string> = new Set(['decimal', 'duration', 'time']);

function checkOrder(operator: '<' | '<=' | '>' | '>=', left: Term, right: Term): Term | TypeMismatch {
  if (!ORDERED_KINDS.has(left.type.kind))
    return { refused: 'type-mismatch', message: `${formatType(left.type)} is not ordered` };
  const refusal = checkComparable(left, right);
  if (refusal !== undefined) return refusal;
  const { run: x } = left;
  const { run: y } = right;
  const tests: Readonly<Record<typeof operator, Run>> = {
    '<': (frame) => compare(x(frame), y(frame)) < 0,
    '<=': (frame) => compare(x(frame), y(frame)) <= 0,
    '>': (frame) => compare(x(frame), y(frame)) > 0,
    '>=': (frame) => compare(x(frame), y(frame)) >= 0,
  };
  return makeResult(BOOLEAN, [left, right], tests[operator]);
}

function checkMembership(left: Term, right: Term, text: string): Term | TypeMismatch {
  const { run: x } = left;
  const { run: y } = right;
  if (right.type.kind === 'list') {
    const refusal = right.empty === true ? undefined : checkComparable(left, { ...right, type: right.type.of });
    if (refusal !== undefined) return refusal;
    return makeResult(BOOLEAN, [left, right], (frame) => {
      const value: Value = x(frame);
      return (y(frame) as readonly Value[]).some((each) => areEqual(value, each, text));
    });
  }
  if (right.type.kind === 'map' && left.type.kind === 'text')
    return makeResult(BOOLEAN, [left, right], (frame) => {
      const key = x(frame) as string;
      spendOnText(key.length, text);
      return (y(frame) as ReadonlyMap<string, Value>).has(key);
    });
  return makeMismatch('in', left, right);
}
