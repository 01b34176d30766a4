/**
 * The operators: for two checked operands the type of the result, with its unit, and the closure that works it out; or
 * why there is none. `&&`, `||` and `?:` are not here, because they decide what is evaluated at all.
 *
 * A bare literal takes the unit of its neighbour in sums and comparisons, never in products: `money / 2` stays money.
 */
import { Decimal } from '../../base/decimal.ts';
import type { Duration, Time, Unit, Value, ValueType } from '../values.ts';
import { bounded, compare, durationOf, equal, quotient, type Run, remainder, timeOf } from './evaluation.ts';
import { adapted, compared, optionalMismatch, type Term, type TypeMismatch } from './term.ts';
import { BOOLEAN, DURATION, NUMBER, TEXT, TIME, typeName, unitOf } from './typing.ts';
import { productHint, productUnit, quotientHint, quotientUnit } from './units.ts';

export const BINARY_OPERATORS = ['+', '-', '*', '/', '%', '==', '!=', '<', '<=', '>', '>=', 'in'] as const;
export type BinaryOperator = (typeof BINARY_OPERATORS)[number];

/** What an operator makes of its operands; `text` is the expression, for failures at run time. */
export function binary(operator: BinaryOperator, left: Term, right: Term, text: string): Term | TypeMismatch {
  if (operator !== '==' && operator !== '!=') {
    if (left.type.kind === 'optional') return { ...optionalMismatch(), at: 0 };
    if (right.type.kind === 'optional') return { ...optionalMismatch(), at: 1 };
  }
  switch (operator) {
    case '+':
    case '-':
      return sum(operator, left, right, text);
    case '*':
      return product(left, right, text);
    case '/':
      return division(left, right, text);
    case '%':
      return modulo(left, right, text);
    case '==':
    case '!=':
      return equality(operator, left, right);
    case '<':
    case '<=':
    case '>':
    case '>=':
      return order(operator, left, right);
    case 'in':
      return membership(left, right);
    default:
      return operator satisfies never;
  }
}

export function negation(operand: Term, text: string): Term | TypeMismatch {
  const { type, run } = operand;
  if (type.kind === 'optional') return optionalMismatch();
  if (type.kind === 'decimal') return result(type, [operand], (frame) => (run(frame) as Decimal).neg(), operand.bare);
  if (type.kind === 'duration')
    return result(DURATION, [operand], (frame) => durationOf(-(run(frame) as Duration).ms, text));
  return { refused: 'type-mismatch', message: `${typeName(type)} has no negative` };
}

function result(type: ValueType, operands: readonly Term[], run: Run, bare = false): Term {
  return { type, run, bare, constant: operands.every((each) => each.constant) };
}

type DecimalType = Extract<ValueType, { kind: 'decimal' }>;

function decimalType(unit: Unit, left: DecimalType, right: DecimalType, closed: boolean): ValueType {
  if (unit !== 'number') return { kind: 'decimal', unit };
  return closed && left.integer === true && right.integer === true ? { kind: 'decimal', unit, integer: true } : NUMBER;
}

function none(operator: string, left: Term, right: Term): TypeMismatch {
  return {
    refused: 'type-mismatch',
    message: `${typeName(left.type)} ${operator} ${typeName(right.type)} has no meaning`,
  };
}

function sum(operator: '+' | '-', left: Term, right: Term, text: string): Term | TypeMismatch {
  const [a, b] = [adapted(left, unitOf(right.type)), adapted(right, unitOf(left.type))];
  const { run: x } = a;
  const { run: y } = b;
  const operands = [left, right];
  if (a.type.kind === 'decimal' && b.type.kind === 'decimal') {
    if (a.type.unit !== b.type.unit)
      return {
        refused: 'unit-mismatch',
        message: `${typeName(a.type)} ${operator} ${typeName(b.type)}: only like goes with like`,
      };
    const run: Run =
      operator === '+'
        ? (frame) => bounded((x(frame) as Decimal).plus(y(frame) as Decimal), text)
        : (frame) => bounded((x(frame) as Decimal).minus(y(frame) as Decimal), text);
    return result(decimalType(a.type.unit, a.type, b.type, true), operands, run, left.bare && right.bare);
  }
  const sign = operator === '+' ? 1 : -1;
  const kinds = `${left.type.kind} ${operator} ${right.type.kind}`;
  switch (kinds) {
    case 'time + duration':
    case 'time - duration':
      return result(TIME, operands, (frame) =>
        timeOf((x(frame) as Time).us + sign * (y(frame) as Duration).ms * 1000, text),
      );
    case 'duration + time':
      return result(TIME, operands, (frame) => timeOf((y(frame) as Time).us + (x(frame) as Duration).ms * 1000, text));
    case 'time - time':
      return result(DURATION, operands, (frame) =>
        durationOf(((x(frame) as Time).us - (y(frame) as Time).us) / 1000, text),
      );
    case 'duration + duration':
    case 'duration - duration':
      return result(DURATION, operands, (frame) =>
        durationOf((x(frame) as Duration).ms + sign * (y(frame) as Duration).ms, text),
      );
    case 'text + text':
      return result(TEXT, operands, (frame) => `${x(frame) as string}${y(frame) as string}`);
    default:
      return none(operator, left, right);
  }
}

function product(left: Term, right: Term, text: string): Term | TypeMismatch {
  const { type: a, run: x } = left;
  const { type: b, run: y } = right;
  const operands = [left, right];
  if (a.kind === 'decimal' && b.kind === 'decimal') {
    const unit = productUnit(a.unit, b.unit);
    if (unit === undefined)
      return {
        refused: 'unit-mismatch',
        message: `${typeName(a)} * ${typeName(b)} has no unit`,
        hint: `${productHint(a.unit, b.unit)}.`,
      };
    const run: Run = (frame) => bounded((x(frame) as Decimal).times(y(frame) as Decimal), text);
    return result(decimalType(unit, a, b, true), operands, run, left.bare && right.bare);
  }
  if (a.kind === 'duration' && b.kind === 'decimal' && b.unit === 'number')
    return result(DURATION, operands, (frame) =>
      durationOf((y(frame) as Decimal).times((x(frame) as Duration).ms), text),
    );
  if (b.kind === 'duration' && a.kind === 'decimal' && a.unit === 'number')
    return result(DURATION, operands, (frame) =>
      durationOf((x(frame) as Decimal).times((y(frame) as Duration).ms), text),
    );
  return none('*', left, right);
}

function division(left: Term, right: Term, text: string): Term | TypeMismatch {
  const { type: a, run: x } = left;
  const { type: b, run: y } = right;
  const operands = [left, right];
  if (a.kind === 'decimal' && b.kind === 'decimal') {
    const unit = quotientUnit(a.unit, b.unit);
    if (unit === undefined)
      return {
        refused: 'unit-mismatch',
        message: `${typeName(a)} / ${typeName(b)} has no unit`,
        hint: `${quotientHint(a.unit, b.unit)}.`,
      };
    const run: Run = (frame) => quotient(x(frame) as Decimal, y(frame) as Decimal, text);
    return result(decimalType(unit, a, b, false), operands, run, left.bare && right.bare);
  }
  if (a.kind === 'duration' && b.kind === 'decimal' && b.unit === 'number')
    return result(DURATION, operands, (frame) =>
      durationOf(quotient(new Decimal((x(frame) as Duration).ms), y(frame) as Decimal, text), text),
    );
  if (a.kind === 'duration' && b.kind === 'duration')
    return result(NUMBER, operands, (frame) =>
      quotient(new Decimal((x(frame) as Duration).ms), new Decimal((y(frame) as Duration).ms), text),
    );
  return none('/', left, right);
}

function modulo(left: Term, right: Term, text: string): Term | TypeMismatch {
  const [a, b] = [left.type, adapted(right, unitOf(left.type)).type];
  if (a.kind !== 'decimal' || b.kind !== 'decimal') return none('%', left, right);
  if (a.unit !== b.unit)
    return { refused: 'unit-mismatch', message: `${typeName(a)} % ${typeName(b)}: only like goes with like` };
  const { run: x } = left;
  const { run: y } = right;
  const run: Run = (frame) => remainder(x(frame) as Decimal, y(frame) as Decimal, text);
  return result(decimalType(a.unit, a, b, true), [left, right], run, left.bare && right.bare);
}

function equality(operator: '==' | '!=', left: Term, right: Term): Term | TypeMismatch {
  const refusal = compared(left, right);
  if (refusal !== undefined) return refusal;
  const { run: x } = left;
  const { run: y } = right;
  const run: Run = operator === '==' ? (frame) => equal(x(frame), y(frame)) : (frame) => !equal(x(frame), y(frame));
  return result(BOOLEAN, [left, right], run);
}

const ORDERED_KINDS: ReadonlySet<string> = new Set(['decimal', 'duration', 'time']);

function order(operator: '<' | '<=' | '>' | '>=', left: Term, right: Term): Term | TypeMismatch {
  if (!ORDERED_KINDS.has(left.type.kind))
    return { refused: 'type-mismatch', message: `${typeName(left.type)} has no less and no more` };
  const refusal = compared(left, right);
  if (refusal !== undefined) return refusal;
  const { run: x } = left;
  const { run: y } = right;
  const tests: Readonly<Record<typeof operator, Run>> = {
    '<': (frame) => compare(x(frame), y(frame)) < 0,
    '<=': (frame) => compare(x(frame), y(frame)) <= 0,
    '>': (frame) => compare(x(frame), y(frame)) > 0,
    '>=': (frame) => compare(x(frame), y(frame)) >= 0,
  };
  return result(BOOLEAN, [left, right], tests[operator]);
}

function membership(left: Term, right: Term): Term | TypeMismatch {
  const { run: x } = left;
  const { run: y } = right;
  if (right.type.kind === 'list') {
    const refusal = right.empty === true ? undefined : compared(left, { ...right, type: right.type.of });
    if (refusal !== undefined) return refusal;
    return result(BOOLEAN, [left, right], (frame) => {
      const value: Value = x(frame);
      return (y(frame) as readonly Value[]).some((each) => equal(value, each));
    });
  }
  if (right.type.kind === 'map' && left.type.kind === 'text')
    return result(BOOLEAN, [left, right], (frame) => (y(frame) as ReadonlyMap<string, Value>).has(x(frame) as string));
  return none('in', left, right);
}
