/** Creates a folder for files that are written while measuring, and removes it when the process ends. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

let folder: string | undefined;

export function getWorkFolder(): string {
  if (folder === undefined) {
    const made = mkdtempSync(join(tmpdir(), 'runbook-bench-'));
    process.on('exit', () => rmSync(made, { recursive: true, force: true }));
    folder = made;
  }
  return folder;
}
