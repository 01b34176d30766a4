/**
 * The door to ajv. The build replaces this file by validators generated ahead of time (build.js): compiling the language's
 * schema at start costs some 250 ms, its generated code about a tenth of that.
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

/** Compiles a bundled schema; `name` is its key among them. Only schemas of this project are ever compiled, never a user's. */
export function compiledSchema(name: string, schema: () => object): CompiledSchema {
  const known = compiled.get(name);
  if (known !== undefined) return known;
  const ajv = new Ajv2020(AJV_OPTIONS);
  const validate = ajv.compile(schema()) as CompiledSchema;
  compiled.set(name, validate);
  return validate;
}
