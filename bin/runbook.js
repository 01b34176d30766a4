#!/usr/bin/env node
/** Starts the built program; builds it first where it was installed without scripts. */
import { existsSync } from 'node:fs';
import nodeModule from 'node:module';
import { fileURLToPath } from 'node:url';

const program = new URL('../dist/cli.js', import.meta.url);

if (!existsSync(program)) await build();

// Not the default folder under /tmp: whoever can write there could put code into this program.
nodeModule.enableCompileCache?.(fileURLToPath(new URL('../dist/.cache', import.meta.url)));

await import(program.href);

async function build() {
  const { spawnSync } = await import('node:child_process');
  const script = new URL('../build.js', import.meta.url);
  const { status, stderr } = spawnSync(process.execPath, [fileURLToPath(script)], { encoding: 'utf8' });
  if (status === 0) return;
  process.stderr.write(
    `runbook: the program is not built and building it failed.\n${stderr ?? ''}Run npm ci in the folder of the package.\n`,
  );
  process.exit(2);
}
