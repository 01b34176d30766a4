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
export function makeObject<const P extends object, const R extends keyof P = never>(
  properties: P,
  required: readonly R[] = [],
): ObjectSchema<P, R> {
  return { type: 'object', properties, ...(required.length > 0 && { required }), additionalProperties: false };
}

export interface ObjectSchema<P, R> {
  readonly type: 'object';
  readonly properties: P;
  readonly required?: readonly R[];
  readonly additionalProperties: false;
}

/** The type of what a schema accepts, for the keywords that this project's schemas use. */
export type ValueOf<S> = S extends { const: infer C }
  ? C
  : S extends { enum: readonly (infer W)[] }
    ? W
    : S extends { type: 'object'; oneOf: readonly (infer O)[]; properties?: never }
      ? EachValueOf<O>
      : S extends { type: readonly (infer T)[] }
        ? T extends unknown
          ? ValueOf<Omit<S, 'type'> & { type: T }>
          : never
        : S extends { type: 'string' }
          ? string
          : S extends { type: 'integer' | 'number' }
            ? number
            : S extends { type: 'boolean' }
              ? boolean
              : S extends { type: 'array'; items: infer I }
                ? readonly ValueOf<I>[]
                : S extends ObjectSchema<infer P, infer R>
                  ? { readonly [K in keyof P as K extends R ? K : never]: ValueOf<P[K]> } & {
                      readonly [K in keyof P as K extends R ? never : K]?: ValueOf<P[K]>;
                    }
                  : S extends { additionalProperties: infer V }
                    ? Readonly<Record<string, ValueOf<V>>>
                    : unknown;
type EachValueOf<S> = S extends unknown ? ValueOf<S> : never;

/** An object of which no key is required: it counts as given where it is left out. */
type Group = ObjectSchema<object, never>;

/** What a group accepts once it is completed with the defaults of its schema. */
export type CompleteOf<S> =
  S extends ObjectSchema<infer P, unknown>
    ? {
        readonly [K in keyof P as P[K] extends Group | { default: unknown } ? K : never]: P[K] extends Group
          ? CompleteOf<P[K]>
          : ValueOf<P[K]>;
      } & { readonly [K in keyof P as P[K] extends Group | { default: unknown } ? never : K]?: ValueOf<P[K]> }
    : never;

/** Completes what is given with the defaults that the schema states, those of groups in it included. */
export function completeWithDefaults<P extends object>(
  { properties }: ObjectSchema<P, never>,
  given: object = {},
): CompleteOf<ObjectSchema<P, never>> {
  const complete: Record<string, unknown> = { ...given };
  for (const [key, part] of Object.entries(properties as Record<string, Partial<Group> & { default?: unknown }>)) {
    const found = complete[key];
    if (part.default !== undefined) complete[key] = found ?? part.default;
    else if (part.properties !== undefined && part.required === undefined)
      complete[key] = completeWithDefaults(part as Group, found as object | undefined);
  }
  return complete as CompleteOf<ObjectSchema<P, never>>;
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
