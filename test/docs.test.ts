/**
 * The hand-written pages against what they speak of: pasted output is what the program prints now, the set-up
 * commands work, verbs that are named exist and every verb is named. Links are for citations.test.ts.
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { COMMANDS } from '../src/cli/actions/actions.ts';
import { machinePaths } from './architecture-rules.ts';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const GUIDES = readdirSync(join(ROOT, 'docs')).filter((name) => name.endsWith('.md'));
const WRITTEN = ['README.md', 'ARCHITECTURE.md', 'CHANGELOG.md', ...GUIDES.map((name) => `docs/${name}`)];
const text = (path: string) => readFileSync(join(ROOT, path), 'utf8');
const README = text('README.md');

function run(script: string, ...words: string[]) {
  const home = mkdtempSync(join(tmpdir(), 'runbook-docs-test-'));
  const env = { PATH: process.env['PATH'], HOME: home, XDG_STATE_HOME: home, RUNBOOK_STATE: join(home, 'state') };
  try {
    return spawnSync(process.execPath, [join(ROOT, script), ...words], { cwd: ROOT, env, encoding: 'utf8' });
  } finally {
    rmSync(home, { recursive: true, force: true });
  }
}

/** The texts of fenced blocks, in their order. */
function blocks(markdown: string): readonly string[] {
  return [...markdown.matchAll(/^```[a-z]*\n([\s\S]*?)^```$/gm)].map(([, body]) => (body ?? '').trim());
}

describe('the pages', () => {
  it('begin with one of 150 lines at most, pasted output included', () => {
    expect(README.trimEnd().split('\n').length).toBeLessThanOrEqual(150);
  });

  it('show what the program prints now', { tags: ['long'] }, () => {
    const { status, stderr } = run('docs/paste.js', '--check');
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
  });

  it('have no empty block', () => {
    const empty = WRITTEN.flatMap((path) =>
      [...text(path).matchAll(/<!-- (paste.*?) -->\n?<!-- \/paste -->/g)].map(([, what]) => `${path}: ${what}`),
    );
    expect(empty).toEqual([]);
  });

  it('name no machine', () => {
    expect(machinePaths(Object.fromEntries(WRITTEN.map((path) => [path, text(path)])))).toEqual([]);
  });
});

describe('the set-up in the README', () => {
  const [first = '', second = ''] = blocks(README);

  it('is two commands before anything else', () => {
    expect(first).toMatch(/^npm ci && npx runbook dry-run \S+\.yaml --fixtures \S+\.yaml$/);
    expect(second).toBe('npm ci && npm test');
    const above = README.slice(0, README.indexOf(second));
    expect(above.match(/^## /gm)).toBeNull();
  });

  it('ends in a dry run that succeeds', () => {
    const words = first.slice(first.indexOf('dry-run')).split(' ');
    const { status, stdout } = run('bin/runbook.js', ...words, '--json');
    expect(status).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ mode: 'fixtures', outcome: 'succeeded' });
  });
});

describe('the verbs', () => {
  const guides = ['README.md', ...GUIDES.map((name) => `docs/${name}`)].map((path) => text(path)).join('\n');
  const reference = text('docs/reference/command-line.md');

  it('are all in a guide and in the reference', () => {
    const missing = COMMANDS.map(({ name }) => name).filter(
      (name) => !new RegExp(`runbook ${name}\\b`).test(guides) || !reference.includes(`## runbook ${name}\n`),
    );
    expect(missing).toEqual([]);
  });

  it('that are named exist', () => {
    const known = new Set(COMMANDS.flatMap(({ name }) => [name, name.split(' ')[0] ?? '']));
    const named = [...guides.matchAll(/(?:`|npx |^)runbook ([a-z][a-z-]*)(?= |`|$)/gm)].map(([, verb]) => verb ?? '');
    expect(named.length).toBeGreaterThan(20);
    expect(named.filter((verb) => !known.has(verb))).toEqual([]);
  });
});
