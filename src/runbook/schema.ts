/**
 * Generates the JSON Schema (draft 2020-12) of runbooks from the step table. Editors use it for completion, and the shape
 * check must agree with it. It covers keys and values; later checks cover names, types and units.
 */
import { mapFields } from '../base/json.ts';
import type { StepName } from './checked.ts';
import { FILE, MODIFIERS } from './shape/grammar.ts';
import { type Field, type FieldsShape, FREE_NAME_PATTERN, NAME_PATTERN, type Shape } from './shapes.ts';
import { getStepRow, MODIFIER_NAMES, STEP_NAMES } from './steps/steps.ts';
import type { ValueType } from './values.ts';

type Schema = { readonly [keyword: string]: unknown };

let made: object | undefined;

/** The schema, built once; `schemas/runbook.schema.json` holds its text. */
export function buildRunbookSchema(): object {
  made ??= {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    $id: 'https://perp-runbook.invalid/schemas/runbook.schema.json',
    title: 'Runbook',
    description: 'A declarative runbook for a perpetual-futures venue, version 1 of the language.',
    ...buildFieldsSchema(FILE),
    $defs: {
      steps: { type: 'array', items: { $ref: '#/$defs/step' } },
      step: buildStepSchema(),
      ...buildTakesSchemas(),
    },
  };
  return made;
}

function buildTakesSchemas(): Record<string, Schema> {
  return Object.fromEntries(
    STEP_NAMES.map((name) => [
      `step-${name}`,
      { description: getStepRow(name).summary, ...buildShapeSchema(getStepRow(name).takes) },
    ]),
  );
}

/** Exactly one step name, and only the modifiers that the step takes. */
function buildStepSchema(): Schema {
  const steps = STEP_NAMES.map((name) => [name, { $ref: `#/$defs/step-${name}` }] as const);
  const besides = STEP_NAMES.flatMap((name) =>
    Object.entries(getStepRow(name).beside ?? {}).map(([key, field]) => ({ name, key, field })),
  );
  const owners: readonly StepName[] = besides.map(({ name }) => name);
  const modifiers = MODIFIER_NAMES.map((name) => [name, buildFieldSchema(MODIFIERS[name])] as const);
  // A step whose name is a modifier too is known by the keys beside it.
  const requireStep = (name: StepName): Schema => {
    const { beside = {} } = getStepRow(name);
    const keys = [name, ...Object.keys(beside).filter((key) => beside[key]?.required)];
    return { required: keys, properties: Object.fromEntries(keys.map((key) => [key, true])) };
  };
  const unsuited = MODIFIER_NAMES.map(
    (modifier) =>
      [
        modifier,
        STEP_NAMES.filter((name) => !owners.includes(name) && !getStepRow(name).modifiers.includes(modifier)),
      ] as const,
  ).filter(([, unable]) => unable.length > 0);
  return {
    type: 'object',
    properties: Object.fromEntries([
      ...steps,
      ...modifiers,
      ...besides.map(({ key, field }) => [key, buildFieldSchema(field)] as const),
    ]),
    additionalProperties: false,
    oneOf: STEP_NAMES.map(requireStep),
    // By names only: a branch for each step would make up half of the code generated from this schema.
    dependentSchemas: Object.fromEntries([
      ...unsuited.map(([name, unable]) => [name, { propertyNames: { not: { enum: unable } } }] as const),
      ...besides.map(({ name, key }) => [key, { propertyNames: { enum: listKeys(name) } }] as const),
    ]),
    allOf: STEP_NAMES.flatMap((name) => {
      const row = getStepRow(name);
      const await_ = row.await && { await: { enum: row.await.allowed } };
      const undo = row.modifiers.includes('undo') && row.undo === undefined && { undo: { type: 'array' } };
      return await_ || undo
        ? [{ if: requireStep(name), then: { properties: { ...(await_ ?? {}), ...(undo || {}) } } }]
        : [];
    }),
  };
}

/** All keys of a step of this name. */
function listKeys(name: StepName): readonly string[] {
  const { beside = {}, modifiers } = getStepRow(name);
  return [name, ...Object.keys(beside), ...modifiers];
}

function buildFieldSchema(field: Field): Schema {
  const schema = buildShapeSchema(field.shape);
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

function buildFieldsSchema(shape: FieldsShape): Schema {
  const entries = Object.entries(shape.fields);
  const required = entries.filter(([, field]) => field.required).map(([name]) => name);
  const requireField = (name: string): Schema => ({ required: [name], properties: { [name]: true } });
  const rules = [
    ...(shape.atLeastOne ?? []).map((group) => ({ anyOf: group.map(requireField) })),
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
    properties: Object.fromEntries(entries.map(([name, field]) => [name, buildFieldSchema(field)])),
    additionalProperties: false,
    ...(required.length > 0 ? { required } : {}),
    ...(shape.together === undefined
      ? {}
      : {
          dependentRequired: mapFields(shape.together, (beside) => [beside]),
        }),
    ...(rules.length > 0 ? { allOf: rules } : {}),
  };
}

const SCALARS = ['string', 'number', 'boolean'] as const;

function buildShapeSchema(shape: Shape): Schema {
  switch (shape.kind) {
    case 'value':
      return buildValueSchema(shape.type, shape.spelling);
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
      // The form is checked with the meaning; editor-schema.ts adds it for editors.
      return { type: 'string', $comment: shape.kind };
    case 'literal':
      return { type: [...SCALARS, 'array', 'object'] };
    case 'steps':
      return { $ref: '#/$defs/steps' };
    case 'step':
      return { $ref: '#/$defs/step' };
    case 'list':
      return { type: 'array', items: buildShapeSchema(shape.of) };
    case 'names':
      return {
        type: 'object',
        propertyNames: { pattern: shape.free ? FREE_NAME_PATTERN : NAME_PATTERN },
        additionalProperties: buildShapeSchema(shape.of),
      };
    case 'fields':
      return buildFieldsSchema(shape);
    case 'variants':
      return {
        type: 'object',
        required: [shape.by],
        properties: { [shape.by]: true },
        discriminator: { propertyName: shape.by },
        oneOf: Object.entries(shape.variants).map(([word, variant]) => {
          const schema = buildFieldsSchema(variant) as { properties: Record<string, Schema> };
          return {
            ...schema,
            properties: { ...schema.properties, [shape.by]: { ...schema.properties[shape.by], const: word } },
          };
        }),
      };
    case 'choice': {
      const ways = [
        shape.scalar,
        shape.list,
        ...new Set((shape.maps ?? []).map((each) => each.shape)),
        shape.otherwise,
      ].filter((each) => each !== undefined);
      return ways.length === 1 && ways[0] !== undefined
        ? buildShapeSchema(ways[0])
        : { anyOf: ways.map(buildShapeSchema) };
    }
    default:
      return shape satisfies never;
  }
}

/** The kinds of YAML values that may hold a literal or an expression of a type. */
function buildValueSchema(type: ValueType | 'any', spelling: string): Schema {
  const items = { type: SCALARS };
  if (spelling === 'list') return { type: ['string', 'array'], items };
  if (type === 'any')
    return spelling === 'any value'
      ? { type: [...SCALARS, 'array', 'object'], items, additionalProperties: items }
      : { type: 'string' };
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
    case 'optional':
      return { type: 'string' };
    case 'map':
      return { type: ['string', 'object'], additionalProperties: items };
    default:
      return type satisfies never;
  }
}
