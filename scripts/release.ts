/**
 * Makes the commit and the tag of the version in package.json if there is no problem (docs/versions.md): `npm run release`.
 * `--dry-run` prints what it would do. It never pushes and never publishes; it prints the commands for both.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { planRelease } from './release-plan.ts';

const CHANGELOG = 'CHANGELOG.md';
const JOURNALS = 'test/golden/journals';
const CHECKS = [
  ['npm', 'test'],
  ['npm', 'pack', '--dry-run'],
] as const;

const { 'dry-run': isDryRun } = parseArgs({ options: { 'dry-run': { type: 'boolean', default: false } } }).values;
process.exitCode = release(isDryRun);

function release(dryRun: boolean): number {
  const manifest = JSON.parse(read('package.json')) as { version: string };
  const lock = JSON.parse(read('package-lock.json')) as { version?: string; packages: { ''?: { version?: string } } };
  const changelog = read(CHANGELOG);
  const plan = planRelease(
    {
      version: manifest.version,
      locked: [lock.version, lock.packages['']?.version],
      changelog,
      releases: [...read('docs/versions.md').matchAll(/^\| (next|\d+\.\d+\.\d+) \|/gm)].map(([, name = '']) => name),
      journals: existsSync(JOURNALS) ? readdirSync(JOURNALS) : [],
      changes: git('status', '--porcelain'),
      tags: git('tag', '--list').split('\n'),
    },
    new Date().toISOString().slice(0, 10),
  );
  const subject = `Release ${manifest.version}`;
  const commit = ['commit', '--message', subject, '--', CHANGELOG];
  const tag = ['tag', '--annotate', plan.tag, '--message', `perp-runbook ${manifest.version}`];
  const isRenamed = plan.changelog !== changelog;

  for (const problem of plan.problems) complain(problem);
  if (dryRun) {
    if (isRenamed) say(`write ${CHANGELOG}: the section Unreleased becomes ${manifest.version}`);
    for (const words of CHECKS) say(words.join(' '));
    if (isRenamed) say(`git ${quoteWords(commit)}`);
    say(`git ${quoteWords(tag)}`);
  }
  if (dryRun || plan.problems.length > 0) return plan.problems.length === 0 ? 0 : 1;

  writeFileSync(CHANGELOG, plan.changelog);
  for (const [program, ...words] of CHECKS) {
    if (spawnSync(program, words, { stdio: 'inherit' }).status === 0) continue;
    writeFileSync(CHANGELOG, changelog);
    complain(`${program} ${words.join(' ')} failed: nothing was committed`);
    return 1;
  }
  if (isRenamed) git(...commit);
  git(...tag);
  say(`${plan.tag} is made. To publish it:`);
  say(`  git push origin HEAD ${plan.tag}`);
  say('  npm publish');
  return 0;
}

function read(path: string): string {
  return readFileSync(path, 'utf8');
}

function git(...words: readonly string[]): string {
  return execFileSync('git', words, { encoding: 'utf8' });
}

function quoteWords(words: readonly string[]): string {
  return words.map((word) => (/^[\w./-]+$/.test(word) ? word : `'${word}'`)).join(' ');
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

function complain(line: string): void {
  process.stderr.write(`error: ${line}\n`);
}
