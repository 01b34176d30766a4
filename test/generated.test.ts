import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { compiledSchema } from '../src/base/ajv.ts';
import { generatedFiles } from '../src/cli/generate/generator.ts';
import { SCHEMAS } from '../src/cli/generate/schemas.ts';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const generated = generatedFiles();

/** Written by `npm run generate`; a change of a table shows in review as a change of these. */
describe('generated files', () => {
  it.each(Object.keys(generated))('%s is what the tables say', (path) => {
    expect(existsSync(`${ROOT}${path}`) ? readFileSync(`${ROOT}${path}`, 'utf8') : 'absent').toBe(generated[path]);
  });

  it('has nothing beside them', () => {
    const found = ['schemas', 'docs/reference'].flatMap((folder) =>
      readdirSync(`${ROOT}${folder}`).map((name) => `${folder}/${name}`),
    );
    expect(found.sort()).toEqual(Object.keys(generated).sort());
  });
});

describe('schemas', () => {
  it.each(SCHEMAS)('$name compiles in strict mode', ({ name, schema }) => {
    expect(compiledSchema(name, () => schema)).toBeTypeOf('function');
  });

  it('are all known to the build that a source asks for', () => {
    const folder = `${ROOT}src`;
    const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.ts'));
    const asked = files.flatMap((name) =>
      [...readFileSync(`${folder}/${name}`, 'utf8').matchAll(/\bfindSchemaIssues\(\s*'([^']+)'/g)].map(
        (match) => match[1],
      ),
    );
    const checked = SCHEMAS.filter((each) => each.checked).map(({ name }) => name);
    expect(checked).toEqual(expect.arrayContaining(asked));
    expect(asked.length).toBeGreaterThan(0);
  });
});
