/** A folder for what is written while measuring; gone when the process ends. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

let folder: string | undefined;

export function workFolder(): string {
  if (folder === undefined) {
    const made = mkdtempSync(join(tmpdir(), 'runbook-bench-'));
    process.on('exit', () => rmSync(made, { recursive: true, force: true }));
    folder = made;
  }
  return folder;
}
