/** Tests what `runbook new --from` writes for each runbook that ships, in this process: test/cli has the command itself. */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { inputValues, loadRunbook } from '../../src/app/files/load.ts';
import { checkProject } from '../../src/app/project/checks.ts';
import { ensureSchema } from '../../src/app/project/schema-line.ts';
import { makeFirstRunbook } from '../../src/app/project/template.ts';
import { SILENT } from '../../src/app/voice.ts';
import { makeNewFiles } from '../../src/cli/authoring/new.ts';
import { formatDocument } from '../../src/runbook/document/format.ts';
import { testing } from '../cli/testing-bench.ts';
import { SHIPPED } from '../shipped-runbooks.ts';

/** What the checker says of the example of the language design. */
const MEANT: Readonly<Record<string, readonly string[]>> = { flatten: ['unused-input'] };

const folder = mkdtempSync(join(tmpdir(), 'runbook-new-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Writes the files into a folder of their own. */
function place(texts: Readonly<Record<string, string>>): string {
  const into = mkdtempSync(join(folder, 'one-'));
  for (const [file, text] of Object.entries(texts)) writeFileSync(join(into, file), text);
  return into;
}

function textsOf(from: string | undefined): Readonly<Record<string, string>> {
  const { own, called } = makeNewFiles('mine', from);
  return Object.fromEntries(Object.entries({ ...own, ...called }).map(([file, { text }]) => [file, text]));
}

describe('a new runbook', () => {
  it('is the one that the guide begins with', () => {
    const shown = readFileSync(new URL('../../docs/examples/first-order.yaml', import.meta.url), 'utf8');
    expect(makeFirstRunbook('first-order')).toBe(shown.slice(shown.indexOf('runbook:')));
  });

  const isValid = async (from: string | undefined) => {
    const texts = textsOf(from);
    expect(Object.keys(texts)).toEqual(
      expect.arrayContaining(['mine.yaml', 'mine.test.yaml', 'mine.sim.yaml', 'mine.profile.yaml']),
    );
    expect(texts['mine.yaml']).toMatch(/^runbook: mine$/m);
    for (const [file, text] of Object.entries(texts))
      expect(formatDocument({ file, text }), `${file} is laid out`).toEqual({ text });
    const { files } = await checkProject([place(texts)]);
    expect(files.filter(({ refused }) => refused !== undefined)).toEqual([]);
    expect(files.map(({ kind }) => kind)).toEqual(expect.arrayContaining(['runbook', 'test', 'simulator', 'profile']));
    expect(files).toHaveLength(Object.keys(texts).length);
    const known = [from ?? '', ...Object.keys(texts).map((file) => file.replace('.yaml', ''))];
    const said = files.flatMap(({ diagnostics }) => diagnostics.map(({ code }) => code));
    expect(said).toEqual(known.flatMap((name) => MEANT[name] ?? []));
  };
  const what = 'from %s has tests, a simulated venue and a profile, all of them valid';
  it.each([undefined, 'dca', 'pair'])(what, isValid);
  it.each(SHIPPED)(what, { tags: ['long'] }, isValid);

  it.each(SHIPPED)('from %s comes with the inputs of a dry-run', (from) => {
    const { own, called, inputs } = makeNewFiles('mine', from);
    const into = place(
      Object.fromEntries(Object.entries({ ...own, ...called }).map(([file, { text }]) => [file, text])),
    );
    const { runbook } = loadRunbook(join(into, 'mine.yaml'), SILENT);
    expect(Object.keys(inputValues(runbook, { pairs: inputs, file: undefined })).sort()).toEqual(
      runbook.inputs.map(({ name }) => name).sort(),
    );
  });

  it('in a folder of a project names the schema that the project has', () => {
    const project = mkdtempSync(join(folder, 'project-'));
    mkdirSync(join(project, 'schemas'));
    mkdirSync(join(project, 'runbooks'));
    writeFileSync(join(project, 'schemas', 'runbook.schema.json'), '{}');
    expect(ensureSchema(join(project, 'runbooks', 'mine.yaml'), 'runbook')).toEqual({
      line: '# yaml-language-server: $schema=../schemas/runbook.schema.json\n',
      created: undefined,
    });
  });

  it('brings along what it calls, without which its tests could not run', async () => {
    const texts = textsOf('weekend-flatten');
    expect(Object.keys(texts)).toContain('flatten.yaml');
    const { failed, passed } = await testing(texts, { textToo: false });
    expect({ failed, some: passed > 0 }).toEqual({ failed: 0, some: true });
  });
});
