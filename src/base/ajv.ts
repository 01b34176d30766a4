/**
 * Compiles the bundled JSON Schemas with ajv. The build replaces this file with validators generated ahead of time (build.js):
 * compiling the schema of the language at start takes about 250 ms, loading its generated code about a tenth of that.
 */
import { Ajv2020, type ErrorObject } from 'ajv/dist/2020.js';

type CompiledSchema = { (value: unknown): boolean; errors?: ErrorObject[] | null };

/** The build compiles with the same settings. */
export const AJV_OPTIONS = {
  strict: true,
  allErrors: true,
  discriminator: true,
  allowUnionTypes: true,
  verbose: false,
} as const;

const compiled = new Map<string, CompiledSchema>();

/** Compiles a bundled schema once; `name` is its key. Only schemas of this project are compiled, never a user's. */
export function compiledSchema(name: string, schema: () => object): CompiledSchema {
  const known = compiled.get(name);
  if (known !== undefined) return known;
  const ajv = new Ajv2020(AJV_OPTIONS);
  const validate = ajv.compile(schema()) as CompiledSchema;
  compiled.set(name, validate);
  return validate;
}
