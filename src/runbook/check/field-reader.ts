/**
 * Reads the arguments of a step field by field, with the types of the step table, and reports values of another type.
 */
import { isOrderId } from '../../venue/forms.ts';
import type { StepName } from '../checked.ts';
import type { MapNode, Node } from '../document/nodes.ts';
import { FAULTY } from '../expression/compiler.ts';
import { ORDER } from '../functions/records.ts';
import { findMisfit, formatType, TEXT } from '../functions/typing.ts';
import type { FieldsShape, Shape } from '../shapes.ts';
import { getStepRow } from '../steps/steps.ts';
import type { Expr, Value, ValueType } from '../values.ts';
import type { Checking } from './checking.ts';
import { getScalarText } from './declarations.ts';

/** Reads the fields of a map with the types of their shape. */
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

  /** Compiles a required field; `FAULTY` if it is missing, which has been reported. */
  compile<T extends Value>(key: string): Expr<T> {
    const shape = this.findShape(key);
    return this.checking.compiler.compile<T>(this.find(key), shape?.kind === 'value' ? shape.type : 'any', this.market);
  }

  compileOptional<T extends Value>(key: string): Expr<T> | undefined {
    return this.find(key) === undefined ? undefined : this.compile<T>(key);
  }

  /** Compiles the field `order`: an order, whose id is used, or an order id: an expression, or an id written as a text. */
  compileOrderOrId(): Expr | undefined {
    const at = this.find('order');
    const written = at === undefined ? undefined : getScalarText(at);
    if (written !== undefined && (isOrderId(written) || written.includes('${')))
      return this.checking.compiler.compile(at, TEXT, this.market);
    const expr = this.compileOptional('order');
    if (expr !== undefined && expr !== FAULTY && !isOrderOrId(expr.type))
      reportMismatch(this.checking, this.locate('order'), 'order takes an order or an order id', expr.type);
    return expr;
  }

  readWord(key: string): string | undefined {
    const at = this.find(key);
    return this.checking.compiler.isFaulty(at) ? undefined : getScalarText(at);
  }

  readFlag(key: string): boolean {
    return this.readWord(key) === 'true';
  }
}

/** The shape of a step that takes one kind of map; throws for any other step. */
export function getFieldsShape(stepName: StepName): FieldsShape {
  const { takes } = getStepRow(stepName);
  if (takes.kind !== 'fields') throw new Error(`${stepName} does not take plain fields`);
  return takes;
}

/** The shape that a map has chosen, of the kinds of map that a step takes; throws for a step that takes none. */
export function chooseMapShape(stepName: StepName, node: MapNode): FieldsShape {
  const { takes } = getStepRow(stepName);
  const maps = takes.kind === 'choice' ? (takes.maps ?? []) : [];
  const shape = (maps.find(({ by }) => node.get(by) !== undefined) ?? maps[0])?.shape;
  if (shape?.kind !== 'fields') throw new Error(`${stepName} takes no map`);
  return shape;
}

/** The type of a step's id, if the step table gives it. */
export function getYieldedType(stepName: StepName): ValueType | undefined {
  const { yields } = getStepRow(stepName);
  return typeof yields === 'string' ? undefined : yields;
}

/** Whether a type is that of an order, or of an id. */
export function isOrderOrId(type: ValueType): boolean {
  return type.kind === 'text' || findMisfit(type, ORDER) === undefined;
}

export function reportMismatch(checking: Checking, at: Node, needed: string, found: ValueType): void {
  checking.report(at, 'wrong-type', `${needed}, found ${formatType(found)}`);
}
