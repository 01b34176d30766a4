import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, it } from 'vitest';

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

describe('the launcher without a built program', () => {
  const whole = checkout(true);
  const bare = checkout(false);
  const start = (path: string) =>
    spawnSync(process.execPath, [join(path, 'bin/runbook.js'), '--version'], { encoding: 'utf8' });

  it('builds it first, silently', () => {
    expect(start(whole)).toMatchObject({ status: 0, stdout: expect.stringMatching(/^\d+\.\d+\.\d+\n$/), stderr: '' });
  });

  it('says what to do where it can not', () => {
    const { status, stdout, stderr } = start(bare);
    expect({ status, stdout }).toEqual({ status: 2, stdout: '' });
    expect(stderr).toContain('the development dependencies are not installed (npm ci)');
    expect(stderr).not.toContain('    at ');
  });
});
