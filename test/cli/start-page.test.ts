/** docs/start.md, followed by a person who pastes each of its commands into a shell, in an empty folder. */
import { execFile } from 'node:child_process';
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { openBackground, until } from './background.ts';
import { BIN } from './command.ts';

const PAGE = readFileSync(new URL('../../docs/start.md', import.meta.url), 'utf8');
/** What the second terminal runs. */
const VENUE = 'runbook sim';

it('the first page can be pasted, from an empty folder to runs on paper and at the simulated venue', {
  tags: ['long'],
  timeout: 300_000,
}, async () => {
  const blocks = [...PAGE.matchAll(/^```bash\n([\s\S]*?)^```$/gm)].map(([, body]) => (body ?? '').trim());
  const at = blocks.indexOf(VENUE);
  expect(at).toBeGreaterThan(0);
  const here = openBackground();
  try {
    mkdirSync(join(here.path, 'bin'));
    here.write('bin/runbook', `#!/bin/sh\nexec '${process.execPath}' '${BIN}' "$@"\n`);
    chmodSync(join(here.path, 'bin', 'runbook'), 0o755);
    const env = { PATH: [join(here.path, 'bin'), process.env['PATH']].join(delimiter), HOME: join(here.path, 'home') };
    const paste = async (lines: readonly string[], cwd: string) =>
      (await promisify(execFile)('bash', ['-e', '-c', lines.join('\n')], { cwd, env })).stdout;

    const before = await paste(blocks.slice(0, at), here.path);
    expect(before).toMatch(/^first-entry {2}succeeded$/m);
    const project = join(here.path, 'desk');
    // A port of its own instead of the one that the page takes.
    const { child } = here.start(['sim', '--port', '0']);
    let said = '';
    child.stdout?.on('data', (text: string) => {
      said += text;
    });
    await until(() => said.includes('listens on'));
    const profile = join(project, 'profiles', 'sim.yaml');
    const url = /http:\S+:\d+/.exec(said)?.[0] ?? '';
    writeFileSync(profile, readFileSync(profile, 'utf8').replace('http://127.0.0.1:8080', url));
    await paste(blocks.slice(at + 1), project);
    const { runs } = JSON.parse(await paste(['runbook audit list --json'], project));
    expect(runs.map(({ mode, outcome }: { mode: string; outcome: string }) => [mode, outcome])).toEqual([
      ['live', 'succeeded'],
      ['paper', 'succeeded'],
      ['simulated', 'succeeded'],
      ['simulated', 'succeeded'],
    ]);
  } finally {
    here.close();
  }
});
