/** The library as a program uses it: the example of docs/library.md, executed here from source and from the packed package. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, it } from 'vitest';
import {
  checkText,
  dryRun,
  ENTRY_VERSION,
  foldJournal,
  planRun,
  readExport,
  readInputs,
  replayRun,
  UserError,
} from '../src/index.ts';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const PAGE = readFileSync(join(ROOT, 'docs/library.md'), 'utf8');
const EXAMPLE = /<!-- example: library -->\n```ts\n([\s\S]*?)```/.exec(PAGE)?.[1] ?? '';
const RUNBOOK = /const text = `\n([\s\S]*?)`;/.exec(EXAMPLE)?.[1] ?? '';
const AT = Date.parse('2026-01-05T08:00:00Z');

function loaded() {
  const checked = checkText({ file: 'buy-a-little.yaml', text: RUNBOOK });
  if (checked.loaded === undefined) throw new Error(JSON.stringify(checked.diagnostics));
  return checked.loaded;
}

describe('the library', () => {
  it('checks a text and places its diagnostics', () => {
    const right = checkText({ file: 'a.yaml', text: RUNBOOK });
    expect(right.diagnostics).toEqual([]);
    const wrong = checkText({ file: 'a.yaml', text: RUNBOOK.replace('side: long', 'side: lnog') });
    expect(wrong.loaded).toBeUndefined();
    expect(wrong.diagnostics).toContainEqual(expect.objectContaining({ severity: 'error', line: 12 }));
  });

  it('reads inputs by their types, and names what is wrong', () => {
    expect(Object.keys(readInputs(loaded(), { size: '0.005' }))).toEqual(['size']);
    for (const given of [{}, { size: '1' }, { size: 0.005 }, { size: '0.005', sise: '1' }])
      expect(() => readInputs(loaded(), given)).toThrow(UserError);
  });

  it('plans, dry-runs, folds and replays the same run', async () => {
    const inputs = readInputs(loaded(), { size: '0.005' });
    const plan = planRun(loaded(), { inputs, now: AT });
    expect(plan.worstCase.orders).toBe(1);
    expect(plan.requests.filter(({ path }) => path === '/orders').map(({ method }) => method)).toContain('POST');
    const { report, entries } = await dryRun(loaded(), { inputs, at: AT });
    expect(report).toMatchObject({ outcome: 'succeeded', outputs: { filled: '0.005' } });
    expect(foldJournal(entries)).toMatchObject({
      report,
      fills: { fills: [{ size: '0.005' }] },
      orders: { orders: [{ state: 'closed', filled: '0.005' }] },
    });
    await replayRun(entries, loaded(), inputs);
  });

  it('reads an exported journal, of 0.1.0 too', () => {
    const old = readExport(readFileSync(join(ROOT, 'test/golden/journals/0.1.0/clock-put.jsonl'), 'utf8'));
    expect(old.map(({ type }) => type)).toContain('clock.adjusted');
    expect(old[0]?.v).toBe(1);
    expect(foldJournal(old).report.outcome).toBe('succeeded');
    expect(ENTRY_VERSION).toBe(2);
  });
});

describe('the package', () => {
  const folder = mkdtempSync(join(tmpdir(), 'runbook-library-'));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  const run = (cwd: string, command: string, ...words: readonly string[]) =>
    execFileSync(command, words, { cwd, encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] });

  it('compiles and runs the example in an empty folder, and serves as the command', {
    tags: ['long'],
  }, () => {
    run(ROOT, process.execPath, 'build.js', '--types');
    run(ROOT, 'npm', 'pack', '--ignore-scripts', '--silent', '--pack-destination', folder);
    const [archive = ''] = readdirSync(folder).filter((name) => name.endsWith('.tgz'));
    const modules = join(folder, 'node_modules');
    mkdirSync(join(modules, 'perp-runbook'), { recursive: true });
    run(folder, 'tar', '-xzf', archive, '-C', join(modules, 'perp-runbook'), '--strip-components=1');
    // What `npm install` would bring from the registry.
    for (const name of readdirSync(join(ROOT, 'node_modules')))
      if (!name.startsWith('.')) symlinkSync(join(ROOT, 'node_modules', name), join(modules, name));
    writeFileSync(join(folder, 'package.json'), '{"type":"module"}');
    writeFileSync(join(folder, 'example.ts'), EXAMPLE);
    const compiler = join(ROOT, 'node_modules/typescript/bin/tsc');
    const options = ['--strict', '--module', 'nodenext', '--target', 'es2023', '--types', 'node', 'example.ts'];
    run(folder, process.execPath, compiler, ...options);
    const printed = run(folder, process.execPath, 'example.js');
    expect(printed).toContain('succeeded 0.005');
    const version = run(folder, process.execPath, join(modules, 'perp-runbook/bin/runbook.js'), '--version');
    expect(version.trim()).toBe(
      (JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { version: string }).version,
    );
  });
});
