/**
 * The runbook's JSON Schema (draft 2020-12), generated from the step table: what editors complete from, and the contract
 * the walk over a document is held to. It says what may stand where; names, types and units are later checks.
 */
import { FILE, MODIFIERS } from './shape/grammar.ts';
import { type Field, type FieldsShape, FREE_NAME_PATTERN, NAME_PATTERN, type Shape } from './shape/shape.ts';
import { MODIFIER_NAMES, stepRow, VERBS } from './steps.ts';
import type { ValueType } from './values.ts';

type Schema = { readonly [keyword: string]: unknown };

let made: object | undefined;

/** The schema, made once; `schemas/runbook.schema.json` is this, written out. */
export function runbookSchema(): object {
  made ??= {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    $id: 'https://perp-runbook.invalid/schemas/runbook.schema.json',
    title: 'Runbook',
    description: 'A declarative runbook for a perpetual-futures venue, version 1 of the language.',
    ...fieldsSchema(FILE),
    $defs: { steps: { type: 'array', items: { $ref: '#/$defs/step' } }, step: stepSchema(), ...verbSchemas() },
  };
  return made;
}

function verbSchemas(): Record<string, Schema> {
  return Object.fromEntries(
    VERBS.map((verb) => [`verb-${verb}`, { description: stepRow(verb).summary, ...shapeSchema(stepRow(verb).takes) }]),
  );
}

/** Exactly one verb, and only the modifiers that suit it. */
function stepSchema(): Schema {
  const verbs = VERBS.map((verb) => [verb, { $ref: `#/$defs/verb-${verb}` }] as const);
  const modifiers = MODIFIER_NAMES.map((name) => [name, fieldSchema(MODIFIERS[name])] as const);
  const has = (verb: string): Schema => ({ required: [verb], properties: { [verb]: true } });
  const unsuited = MODIFIER_NAMES.map(
    (name) => [name, VERBS.filter((verb) => !stepRow(verb).modifiers.includes(name))] as const,
  ).filter(([, unable]) => unable.length > 0);
  return {
    type: 'object',
    properties: Object.fromEntries([...verbs, ...modifiers]),
    additionalProperties: false,
    oneOf: VERBS.map(has),
    // Said by names alone: a branch for each verb would make half of the code that is generated from this schema.
    dependentSchemas: Object.fromEntries(
      unsuited.map(([name, unable]) => [name, { propertyNames: { not: { enum: unable } } }]),
    ),
    allOf: VERBS.flatMap((verb) => {
      const row = stepRow(verb);
      const await_ = row.await && { await: { enum: row.await.allowed } };
      const undo = row.modifiers.includes('undo') && row.undoWords === undefined && { undo: { type: 'array' } };
      return await_ || undo ? [{ if: has(verb), then: { properties: { ...(await_ ?? {}), ...(undo || {}) } } }] : [];
    }),
  };
}

function fieldSchema(field: Field): Schema {
  const schema = shapeSchema(field.shape);
  const simple =
    field.default !== undefined &&
    ['word', 'duration', 'flag', 'integer', 'number'].includes(field.shape.kind) &&
    !/[ ;]/.test(field.default);
  const typed =
    field.shape.kind === 'flag'
      ? field.default === 'true'
      : ['integer', 'number'].includes(field.shape.kind)
        ? Number(field.default)
        : field.default;
  return {
    description: field.default === undefined || simple ? field.doc : `${field.doc} (default: ${field.default})`,
    ...(simple ? { default: typed } : {}),
    ...schema,
  };
}

function fieldsSchema(shape: FieldsShape): Schema {
  const entries = Object.entries(shape.fields);
  const required = entries.filter(([, field]) => field.required).map(([name]) => name);
  const one = (name: string): Schema => ({ required: [name], properties: { [name]: true } });
  const rules = [
    ...(shape.atLeastOne ?? []).map((group) => ({ anyOf: group.map(one) })),
    ...(shape.atMostOne ?? []).flatMap((group) =>
      group.flatMap((first, index) =>
        group
          .slice(index + 1)
          .map((second) => ({ not: { required: [first, second], properties: { [first]: true, [second]: true } } })),
      ),
    ),
  ];
  return {
    type: 'object',
    properties: Object.fromEntries(entries.map(([name, field]) => [name, fieldSchema(field)])),
    additionalProperties: false,
    ...(required.length > 0 ? { required } : {}),
    ...(shape.together === undefined
      ? {}
      : {
          dependentRequired: Object.fromEntries(Object.entries(shape.together).map(([key, beside]) => [key, [beside]])),
        }),
    ...(rules.length > 0 ? { allOf: rules } : {}),
  };
}

const SCALARS = ['string', 'number', 'boolean'] as const;

function shapeSchema(shape: Shape): Schema {
  switch (shape.kind) {
    case 'value':
      return valueSchema(shape.type, shape.spelling);
    case 'word':
      return { type: 'string', enum: shape.values };
    case 'text':
      return { type: 'string', ...(shape.pattern === undefined ? {} : { pattern: shape.pattern }) };
    case 'name':
      return { type: 'string', pattern: NAME_PATTERN };
    case 'integer':
      return { type: 'integer', minimum: shape.min, ...(shape.max === undefined ? {} : { maximum: shape.max }) };
    case 'number':
      return { type: 'number', minimum: shape.min };
    case 'flag':
      return shape.only ? { const: true } : { type: 'boolean' };
    case 'duration':
    case 'time':
    case 'type':
      return { type: 'string' };
    case 'literal':
      return { type: [...SCALARS, 'array', 'object'] };
    case 'steps':
      return { $ref: '#/$defs/steps' };
    case 'step':
      return { $ref: '#/$defs/step' };
    case 'list':
      return { type: 'array', items: shapeSchema(shape.of) };
    case 'names':
      return {
        type: 'object',
        propertyNames: { pattern: shape.free ? FREE_NAME_PATTERN : NAME_PATTERN },
        additionalProperties: shapeSchema(shape.of),
      };
    case 'fields':
      return fieldsSchema(shape);
    case 'variants':
      return {
        type: 'object',
        required: [shape.by],
        properties: { [shape.by]: true },
        discriminator: { propertyName: shape.by },
        oneOf: Object.entries(shape.variants).map(([word, variant]) => {
          const schema = fieldsSchema(variant) as { properties: Record<string, Schema> };
          return {
            ...schema,
            properties: { ...schema.properties, [shape.by]: { ...schema.properties[shape.by], const: word } },
          };
        }),
      };
    case 'choice': {
      const ways = [shape.scalar, shape.list, ...(shape.maps ?? []).map((each) => each.shape)].filter(
        (each) => each !== undefined,
      );
      return ways.length === 1 && ways[0] !== undefined ? shapeSchema(ways[0]) : { anyOf: ways.map(shapeSchema) };
    }
    default:
      return shape satisfies never;
  }
}

/** Which kinds of YAML values may hold a literal or an expression of a type. */
function valueSchema(type: ValueType | 'any', spelling: string): Schema {
  const items = { type: SCALARS };
  if (spelling === 'list') return { type: ['string', 'array'], items };
  if (type === 'any') return spelling === 'any value' ? { type: [...SCALARS, 'array'], items } : { type: 'string' };
  switch (type.kind) {
    case 'decimal':
      return { type: ['number', 'string'] };
    case 'boolean':
      return { type: ['boolean', 'string'] };
    case 'list':
      return { type: ['string', 'array'], items };
    case 'text':
    case 'duration':
    case 'time':
    case 'record':
    case 'map':
    case 'optional':
      return { type: 'string' };
    default:
      return type satisfies never;
  }
}
