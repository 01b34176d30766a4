#!/usr/bin/env node
/** Starts the built program; builds it first if it was installed without running scripts. */
'use strict';

const { existsSync } = require('node:fs');
const { join } = require('node:path');
const { start } = require('./compiled.js');

const dist = join(__dirname, '../dist');

if (!existsSync(join(dist, 'cli.cjs'))) build();
start(dist);

function build() {
  const { spawnSync } = require('node:child_process');
  const { status, stderr } = spawnSync(process.execPath, [join(__dirname, '../build.js')], { encoding: 'utf8' });
  if (status === 0) return;
  process.stderr.write(
    `runbook: the program is not built, and building it failed.\n${stderr ?? ''}Run npm ci in the folder of the package.\n`,
  );
  process.exit(2);
}
