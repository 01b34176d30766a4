/**
 * Makes the published schema of the one that the program checks with: it completes inside `{…}`, says "verb" where a step has
 * none, and knows the forms of types and durations. It refuses only what the checks refuse too; in the program the checks say
 * these things better, so it does not carry them.
 */
import { mapFields } from '../base/json.ts';
import { VARIABLE_WORDS } from './functions/type-words.ts';
import { buildRunbookSchema } from './schema.ts';

type Schema = { readonly [keyword: string]: unknown };

const PLAIN_TYPES = VARIABLE_WORDS.filter((word) => !word.includes('<'));
const TYPE = `(?:${PLAIN_TYPES.join('|')})`;

/** As far as a pattern can: two levels of list and map, which is more than any runbook has. */
const TYPE_PATTERN = `^(?:${TYPE}|(?:list|map)\\s*<\\s*${TYPE}\\s*>|(?:list|map)\\s*<.*<.*>.*>)$`;

/** `30s`, `1h30m`, or ISO 8601; the bounds of a length are left to the check. */
const DURATION_PATTERN = '^(?:(?:\\d+(?:ms|s|m|h|d))+|P[\\dTWDHMS.,]+)$';

const FORMS: Readonly<Record<string, Schema>> = {
  type: {
    anyOf: [{ enum: [...PLAIN_TYPES, 'list<market>', 'map<price>'] }, { pattern: TYPE_PATTERN }],
    errorMessage: `a type: ${VARIABLE_WORDS.join(', ')}`,
  },
  duration: { pattern: DURATION_PATTERN, errorMessage: 'a duration such as 250ms, 30s, 10m, 4h, 7d or 1h30m' },
  time: {},
};

export function buildEditorSchema(): object {
  const { $defs, ...file } = JSON.parse(JSON.stringify(buildRunbookSchema())) as {
    $defs: { step: Schema } & Schema;
  } & Schema;
  return toEditor({ ...file, $defs: { ...$defs, step: sayVerb($defs.step) } });
}

function toEditor(value: unknown): object {
  if (Array.isArray(value))
    return value.map((each) => (typeof each === 'object' && each !== null ? toEditor(each) : each));
  const schema = mapFields(value as Schema, (each) =>
    typeof each === 'object' && each !== null ? toEditor(each) : each,
  );
  const { $comment, ...rest } = schema;
  if (typeof $comment === 'string') return { ...rest, ...FORMS[$comment] };
  if ('discriminator' in schema) return mergeVariants(schema);
  return schema;
}

/**
 * An editor that completes inside `{…}` looks at the properties of the map itself, and at those of a variant only when the word
 * that chooses it is there already.
 */
function mergeVariants(schema: Schema): Schema {
  const { discriminator, ...rest } = schema as { readonly discriminator: { readonly propertyName: string } } & Schema;
  const variants = schema['oneOf'] as readonly { readonly properties: Readonly<Record<string, Schema>> }[];
  const by = discriminator.propertyName;
  const words = variants.map(({ properties }) => properties[by]?.['const']);
  const { const: _one, enum: _all, ...described } = variants[0]?.properties[by] ?? {};
  const merged = Object.assign({}, ...variants.map(({ properties }) => properties)) as Record<string, Schema>;
  // Where variants differ in a property, the variant says which form it has.
  const properties = Object.fromEntries(
    Object.entries(merged).map(([key, each]) => {
      const forms = new Set(
        variants.flatMap((variant) =>
          variant.properties[key] === undefined ? [] : [JSON.stringify(variant.properties[key])],
        ),
      );
      return [key, forms.size === 1 ? each : { description: each['description'] ?? '' }];
    }),
  );
  return { ...rest, properties: { ...properties, [by]: { ...described, enum: words } } };
}

/** A step without any verb misses one property, "verb"; a step that has one may have no other. */
function sayVerb(step: Schema): Schema {
  const { oneOf, ...rest } = step as { readonly oneOf: readonly { readonly required: readonly string[] }[] } & Schema;
  const anyVerb = oneOf.map(({ required }) => ({ required }));
  return { ...rest, if: { anyOf: anyVerb }, then: { oneOf: anyVerb }, else: { required: ['verb'] } };
}
