/**
 * Reads what stands after a verb, field by field, by the types that the step table names. Says what is of another type;
 * knows no verb.
 */
import { isOrderId } from '../../venue/forms.ts';
import type { Verb } from '../checked.ts';
import type { MapNode, Node } from '../document/nodes.ts';
import { FAULTY } from '../expression/compiler.ts';
import { ORDER } from '../functions/records.ts';
import { findMisfit, TEXT, typeName } from '../functions/typing.ts';
import type { FieldsShape, Shape } from '../shape/shape.ts';
import { stepRow } from '../steps.ts';
import type { Expr, Value, ValueType } from '../values.ts';
import type { Checking } from './checking.ts';
import { getScalarText } from './declarations.ts';

/** Reads the fields of a map by the types their shape names. */
export class FieldReader {
  market: Expr<string> | undefined;
  private readonly checking: Checking;
  private readonly node: Node;
  private readonly fields: FieldsShape;

  constructor(checking: Checking, node: Node, fields: FieldsShape) {
    this.checking = checking;
    this.node = node;
    this.fields = fields;
    this.market = checking.compiler.market;
  }

  find(key: string): Node | undefined {
    return this.node.kind === 'map' ? this.node.get(key) : undefined;
  }

  locate(key: string): Node {
    return this.find(key) ?? this.node;
  }

  findShape(key: string): Shape | undefined {
    return this.fields.fields[key]?.shape;
  }

  /** A required field; `FAULTY` when it is not there, which has been said. */
  compile<T extends Value>(key: string): Expr<T> {
    const shape = this.findShape(key);
    return this.checking.compiler.compile<T>(this.find(key), shape?.kind === 'value' ? shape.type : 'any', this.market);
  }

  compileOptional<T extends Value>(key: string): Expr<T> | undefined {
    return this.find(key) === undefined ? undefined : this.compile<T>(key);
  }

  /** An order, of which the id is taken, or an order id: an expression, or written out as a text. */
  compileOrderOrId(key: string): Expr | undefined {
    const at = this.find(key);
    const written = at === undefined ? undefined : getScalarText(at);
    if (written !== undefined && (isOrderId(written) || written.includes('${')))
      return this.checking.compiler.compile(at, TEXT, this.market);
    const expr = this.compileOptional(key);
    if (expr !== undefined && expr !== FAULTY && !isOrderOrId(expr.type))
      reportMismatch(this.checking, this.locate(key), `${key} takes an order or an order id`, expr.type);
    return expr;
  }

  readWord(key: string): string | undefined {
    const at = this.find(key);
    return this.checking.compiler.isFaulty(at) ? undefined : getScalarText(at);
  }

  readText(key: string): string | undefined {
    return this.readWord(key);
  }

  readFlag(key: string): boolean {
    return this.readWord(key) === 'true';
  }
}

/** The shape of the fields a verb takes, where it takes a map in one way only. */
export function getFieldsShape(stepName: Verb): FieldsShape {
  const { takes } = stepRow(stepName);
  if (takes.kind !== 'fields') throw new Error(`${stepName} takes no plain fields`);
  return takes;
}

/** The shape of the way of taking a map that this node has chosen. */
export function chooseMapShape(stepName: Verb, node: MapNode): FieldsShape {
  const { takes } = stepRow(stepName);
  const maps = takes.kind === 'choice' ? (takes.maps ?? []) : [];
  const shape = (maps.find(({ by }) => node.get(by) !== undefined) ?? maps[0])?.shape;
  if (shape?.kind !== 'fields') throw new Error(`${stepName} takes no map`);
  return shape;
}

/** What a verb's id stands for, where the step table knows it. */
export function getYieldedType(stepName: Verb): ValueType | undefined {
  const { yields } = stepRow(stepName);
  return typeof yields === 'string' ? undefined : yields;
}

/** Whether a type is that of an order, or of an id. */
export function isOrderOrId(type: ValueType): boolean {
  return type.kind === 'text' || findMisfit(type, ORDER) === undefined;
}

export function reportMismatch(checking: Checking, at: Node, needed: string, found: ValueType): void {
  checking.report(at, 'wrong-type', `${needed}, found ${typeName(found)}`);
}
