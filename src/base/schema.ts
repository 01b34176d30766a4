/**
 * Validates a value against a bundled JSON Schema and lists its issues, each with a path. A caller that has the text turns an
 * issue into a diagnostic with a line and a column.
 */
import { compiledSchema } from './ajv.ts';

export interface SchemaIssue {
  /** From the root to the invalid value: keys and list positions. */
  readonly path: readonly (string | number)[];
  /** ajv's keyword: `required`, `additionalProperties`, `enum`, `type`, … */
  readonly keyword: string;
  /** ajv's parameters: `missingProperty`, `additionalProperty`, `allowedValues`, … */
  readonly params: Readonly<Record<string, unknown>>;
  readonly message: string;
}

/** The schema of an object with these keys and no others. */
export function makeObject(properties: object, required: readonly string[] = []): object {
  return { type: 'object', properties, ...(required.length > 0 && { required }), additionalProperties: false };
}

interface Part {
  readonly $ref?: string;
  readonly $defs?: Readonly<Record<string, unknown>>;
  readonly properties?: Readonly<Record<string, unknown>>;
  readonly items?: unknown;
  readonly additionalProperties?: unknown;
}

/** The keys that a schema allows at a path. */
export function listKeysAt(schema: object, path: SchemaIssue['path']): readonly string[] {
  const { $defs = {} } = schema as Part;
  // A part of the schema, with a reference resolved.
  const resolve = (part: unknown): Part => {
    const given = (part ?? {}) as Part;
    return given.$ref === undefined ? given : (($defs[given.$ref.replace('#/$defs/', '')] ?? {}) as Part);
  };
  let at = resolve(schema);
  for (const part of path)
    at = resolve(typeof part === 'number' ? at.items : (at.properties?.[part] ?? at.additionalProperties));
  return Object.keys(at.properties ?? {});
}

/** Every issue of `value` against the bundled schema `name`; empty when it is valid. The built program never calls `schema`. */
export function findSchemaIssues(name: string, schema: () => object, value: unknown): readonly SchemaIssue[] {
  const validate = compiledSchema(name, schema);
  if (validate(value)) return [];
  return (validate.errors ?? []).map((error) => ({
    path: error.instancePath
      .split('/')
      .slice(1)
      .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'))
      .map((part) => (/^(0|[1-9]\d*)$/.test(part) ? Number(part) : part)),
    keyword: error.keyword,
    params: error.params as Readonly<Record<string, unknown>>,
    message:
      error.keyword === 'type' && error.params['type'] === 'string'
        ? 'must be a text: a number is written in quotes'
        : (error.message ?? error.keyword),
  }));
}
