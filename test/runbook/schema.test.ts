import { readdirSync, readFileSync } from 'node:fs';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { describe, expect, it } from 'vitest';
import { findSchemaIssues } from '../../src/base/schema.ts';
import { checkRunbook } from '../../src/runbook/check.ts';
import { plainData, readDocument } from '../../src/runbook/document/document.ts';
import { buildEditorSchema } from '../../src/runbook/editor-schema.ts';
import { buildRunbookSchema } from '../../src/runbook/schema.ts';
import { inspectShape } from '../../src/runbook/shape/walk.ts';
import { STEP_NAMES, STEPS } from '../../src/runbook/steps/steps.ts';

const GOLDENS = new URL('../golden/runbooks/', import.meta.url);
const RUNBOOKS = new URL('../../runbooks/', import.meta.url);

/** Whether the schema and the walk refuse a text; undefined if it is not read as a tree at all. */
function verdicts(text: string): { readonly schema: boolean; readonly walk: boolean } | undefined {
  const source = { file: 'case.yaml', text };
  const { root, diagnostics } = readDocument(source);
  if (root === undefined || diagnostics.length > 0) return undefined;
  return {
    schema: findSchemaIssues('runbook', buildRunbookSchema, plainData(root)).length > 0,
    walk: inspectShape(root, source).diagnostics.length > 0,
  };
}

function examples(): readonly { readonly name: string; readonly data: unknown }[] {
  const files = readdirSync(RUNBOOKS).filter((name) => name.endsWith('.yaml') && !name.endsWith('.test.yaml'));
  return files.map((name) => {
    const { root } = readDocument({ file: name, text: readFileSync(new URL(name, RUNBOOKS), 'utf8') });
    if (root === undefined) throw new Error(`${name} cannot be read`);
    return { name, data: JSON.parse(JSON.stringify(plainData(root))) as unknown };
  });
}

const INTRUDERS = [7, 'a b', true, ['word'], { read_account: {} }] as const;

/** Copies of the data with one change each, in every place: a value replaced, a key removed, misspelt or added. */
function* mutants(data: unknown): Generator<unknown> {
  for (const intruder of INTRUDERS) yield intruder;
  if (Array.isArray(data)) {
    for (const [index, item] of data.entries()) for (const other of mutants(item)) yield data.with(index, other);
  } else if (typeof data === 'object' && data !== null) {
    const entries = Object.entries(data);
    yield { ...data, zzz: 1 };
    for (const [index, [key, value]] of entries.entries()) {
      yield Object.fromEntries(entries.toSpliced(index, 1));
      yield Object.fromEntries(entries.with(index, [`${key}x`, value]));
      for (const other of mutants(value)) yield Object.fromEntries(entries.with(index, [key, other]));
    }
  }
}

describe('the published schema and the walk', () => {
  it('agree on every golden', () => {
    for (const name of readdirSync(GOLDENS).filter((each) => each.endsWith('.yml'))) {
      const seen = verdicts(readFileSync(new URL(name, GOLDENS), 'utf8').split(/^---\n/m)[0] ?? '');
      if (seen !== undefined) expect({ name, ...seen }).toEqual({ name, schema: seen.walk, walk: seen.walk });
    }
  });

  it.each(examples())('agree on every fortieth of the changes of $name', ({ data }) => agree(data, 40));

  it.each(examples())('agree on every single change of $name', { tags: ['long'] }, ({ data }) => agree(data, 1));
});

/** Thousands of files, each read, walked and validated. */
function agree(data: unknown, step: number): void {
  let refused = 0;
  let disagreed: unknown;
  let index = 0;
  for (const mutant of mutants(data)) {
    index += 1;
    if (index % step !== 0) continue;
    const seen = verdicts(JSON.stringify(mutant));
    if (seen?.walk) refused += 1;
    if (seen !== undefined && seen.schema !== seen.walk) disagreed ??= { ...seen, mutant };
  }
  expect(disagreed).toBeUndefined();
  expect(refused).toBeGreaterThan(180 / step);
}

describe('the schema', () => {
  it('describes every step, so that an editor can complete it', () => {
    const { $defs } = buildRunbookSchema() as { $defs: Record<string, { description?: string; properties?: object }> };
    for (const name of STEP_NAMES) expect($defs[`step-${name}`]?.description).toBe(STEPS[name].summary);
    expect(Object.keys($defs['step']?.properties ?? {})).toEqual(expect.arrayContaining([...STEP_NAMES]));
  });

  it('allows no key that is not named', () => {
    const open: string[] = [];
    const visit = (schema: unknown, path: string): void => {
      if (Array.isArray(schema)) {
        for (const [index, each] of schema.entries()) visit(each, `${path}/${index}`);
      } else if (typeof schema === 'object' && schema !== null) {
        const { type, properties, additionalProperties, $ref } = schema as Record<string, unknown>;
        if (
          type === 'object' &&
          properties !== undefined &&
          additionalProperties === undefined &&
          !('oneOf' in schema) &&
          $ref === undefined
        )
          open.push(path);
        for (const [key, each] of Object.entries(schema)) visit(each, `${path}/${key}`);
      }
    };
    visit(buildRunbookSchema(), '');
    expect(open).toEqual([]);
  });
});

describe('the schema of editors', () => {
  const editors = new Ajv2020({ strict: false, allErrors: true, discriminator: true }).compile(buildEditorSchema());
  const refused = (text: string): readonly string[] => {
    const { root } = readDocument({ file: 'case.yaml', text });
    if (root === undefined) return [];
    return editors(plainData(root))
      ? []
      : (editors.errors ?? []).map(({ keyword, params }) => `${keyword} ${params['missingProperty'] ?? ''}`.trim());
  };
  const isRefusedByCheck = (text: string) =>
    checkRunbook({ file: 'case.yaml', text }, () => undefined).diagnostics.some(({ severity }) => severity === 'error');

  it('accepts what the checks accept', () => {
    for (const name of readdirSync(GOLDENS).filter((each) => /^(?:accepts|warns)-.*\.yml$/.test(each)))
      expect([name, refused(readFileSync(new URL(name, GOLDENS), 'utf8').split(/^---\n/m)[0] ?? '')]).toEqual([
        name,
        [],
      ]);
  });

  it.each(examples())(
    'refuses only what the checks refuse, of the changes of $name',
    { tags: ['long'] },
    ({ data }) => {
      let index = 0;
      for (const mutant of mutants(data)) {
        index += 1;
        const text = JSON.stringify(mutant);
        if (index % 40 === 0 && refused(text).length > 0) expect([text, isRefusedByCheck(text)]).toEqual([text, true]);
      }
    },
  );

  const STEP = (step: string) => `runbook: case\ndsl: 1\nsteps:\n  - ${step}\n`;
  it('says "verb" of a step that has none, and of no other', () => {
    expect(refused(STEP('id: a'))).toContain('required verb');
    expect(refused(STEP('if: a > 1'))).toContain('required verb');
    for (const step of ['read_account: {}', '{read_account: {}, wait: 1s}', '{if: a > 1, do: []}', 'place: {}'])
      expect(refused(STEP(step))).not.toContain('required verb');
    expect(refused(STEP('{read_account: {}, wait: 1s}'))).not.toEqual([]);
  });

  it.each([
    ['inputs: {a: {type: pirce}}', false],
    ['inputs: {a: {type: list<pirce>}}', false],
    ['inputs: {a: {type: "map<list<price>>"}}', true],
    ['inputs: {a: {type: bps}}', true],
    ['feeds: {a: {type: price, max_age: 5 s}}', false],
    ['feeds: {a: {type: price, max_age: 1h30m}}', true],
    ['feeds: {a: {type: price, max_age: PT10M}}', true],
  ])('knows the forms of types and durations: %s', (line, good) =>
    expect(refused(`runbook: case\ndsl: 1\n${line}\nsteps: []\n`).length === 0).toBe(good),
  );

  it('has the properties of every map where an editor looks for them, also before the word that chooses a variant', () => {
    const { $defs } = buildEditorSchema() as {
      $defs: Record<string, { properties?: Record<string, { enum?: readonly string[] }> }>;
    };
    const { properties = {} } = $defs['step-place'] ?? {};
    expect(Object.keys(properties)).toEqual(
      expect.arrayContaining(['type', 'market', 'side', 'size', 'price', 'trigger', 'tif']),
    );
    expect(properties['type']?.enum).toEqual(['limit', 'market', 'stop_limit', 'stop_market']);
  });
});
