import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import manifest from '../../package.json' with { type: 'json' };

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** A checkout whose scripts have not run: the sources and the dependencies, nothing built. */
function checkout(withDependencies: boolean): string {
  const path = mkdtempSync(join(tmpdir(), 'runbook-launcher-'));
  afterAll(() => rmSync(path, { recursive: true, force: true }));
  for (const name of ['src', 'bin', 'build.js', 'package.json'])
    cpSync(join(ROOT, name), join(path, name), { recursive: true });
  if (withDependencies) symlinkSync(join(ROOT, 'node_modules'), join(path, 'node_modules'));
  return path;
}

const start = (path: string, word = '--version') =>
  spawnSync(process.execPath, [join(path, 'bin/runbook.js'), word], { encoding: 'utf8' });

describe('the launcher without a built program', () => {
  const whole = checkout(true);
  const bare = checkout(false);

  it('builds it first, silently', { tags: ['long'] }, () => {
    expect(start(whole)).toMatchObject({
      status: 0,
      stdout: expect.stringMatching(/^\d+\.\d+\.\d+(-dev)?\n$/),
      stderr: '',
    });
  });

  it('says what to do where it cannot build', () => {
    const { status, stdout, stderr } = start(bare);
    expect({ status, stdout }).toEqual({ status: 2, stdout: '' });
    expect(stderr).toContain('the development dependencies are not installed (npm ci)');
    expect(stderr).not.toContain('    at ');
  });
});

describe('the compile cache of the build', { tags: ['kept-code'] }, () => {
  const whole = checkout(true);
  const program = join(whole, 'dist/cli.cjs');
  const kept = join(whole, 'dist/compiled/cli.cjs.bin');
  let text: Buffer;
  beforeAll(() => {
    // The build under test: another one would be the same, and takes seconds.
    cpSync(join(ROOT, 'dist'), join(whole, 'dist'), { recursive: true });
    text = readFileSync(program);
  });

  it('matches the text beside it', () => {
    expect(readFileSync(kept).subarray(0, text.length).equals(text)).toBe(true);
  });

  it('is not used for another text of the same length', () => {
    writeFileSync(program, text.toString().replace('Declarative strategies', 'Imperatives, strategy'.padEnd(22, '!')));
    expect(start(whole, '--help')).toMatchObject({
      status: 0,
      stdout: expect.stringContaining('Imperatives'),
      stderr: '',
    });
    writeFileSync(program, text);
  });

  it.each([
    ['is of another V8', () => Buffer.concat([text, Buffer.alloc(4096, 7)])],
    ['is cut off', () => Buffer.concat([text, readFileSync(kept).subarray(text.length, text.length + 40)])],
    ['is not there at all', () => text],
  ])('is made anew where what was kept %s', (_, content) => {
    writeFileSync(kept, content());
    expect(start(whole)).toMatchObject({ status: 0, stdout: `${manifest.version}\n`, stderr: '' });
  });
});
