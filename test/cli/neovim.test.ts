/** The language server inside a real Neovim, with the settings that docs/editors.md shows. */
import { spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, readFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { isHere } from '../needs.ts';
import { BIN, folder } from './command.ts';

const SOUND = `runbook: case
dsl: 1
about: "😀 typed"
inputs:
  size: {type: size, default: 0.1}
let:
  half: inputs.size - 0.05
steps:
  - id: entry
    place: {type: limit, market: BTC-USD, side: long, size: half, price: 100}
  - wait_for: {order: entry, is: filled, within: 10m}
  - protect: {market: BTC-USD, side: short, stop_loss: {fraction: 1, trigger: tick(entry.avg_price * 0.98), price: tick(entry.avg_price * 0.97)}}
outputs: {filled: entry.filled}
`;
const MISSPELT = 'is: filed';
const WRONG = SOUND.replace('is: filled', MISSPELT).replace(
  'outputs: {filled: entry.filled}',
  `outputs: {said: "'😀' + inputs.sze"}`,
);
const LOOSE = SOUND.replace('dsl: 1', 'dsl:    1');

interface Seen {
  readonly problem?: string;
  readonly diagnostics: readonly unknown[];
  readonly fixed: string;
  readonly hover: string;
  readonly completion: readonly string[];
  readonly renamed: string;
  readonly formatted: string;
}

/** The settings of the page, the ones for this version: the last block is for versions before 0.11. */
function readSettings(isOld: boolean): string {
  const page = readFileSync(new URL('../../docs/editors.md', import.meta.url), 'utf8');
  const blocks = [...page.matchAll(/^```lua\n([\s\S]*?)^```$/gm)].map(([, body]) => body ?? '');
  return blocks.at(isOld ? -1 : 0) ?? '';
}

describe.skipIf(!isHere('neovim'))('Neovim', { tags: ['long', 'neovim'] }, () => {
  const here = folder();

  /** What `validate` finds, with columns in bytes of the line, as Neovim counts them. */
  function validate(text: string): readonly unknown[] {
    here.write('case.yaml', text);
    const lines = text.split('\n');
    const toBytes = (line: number, column: number) => Buffer.byteLength((lines[line - 1] ?? '').slice(0, column - 1));
    const { files } = JSON.parse(here.run('validate', 'case.yaml', '--json').out);
    return files[0].diagnostics.map(({ code, line, column, endLine, endColumn }: Record<string, number>) => [
      code,
      (line ?? 0) - 1,
      toBytes(line ?? 0, column ?? 0),
      (endLine ?? 0) - 1,
      toBytes(endLine ?? 0, endColumn ?? 0),
    ]);
  }

  it('shows the findings of validate, fixes, hovers, completes, renames and formats', () => {
    const bin = join(here.path, 'bin');
    mkdirSync(bin, { recursive: true });
    here.write(
      'bin/npx',
      `#!/bin/sh\nwhile [ "$1" != lsp ]; do shift; done\nexec '${process.execPath}' '${BIN}' "$@"\n`,
    );
    chmodSync(join(bin, 'npx'), 0o755);
    const version = spawnSync('nvim', ['--version'], { encoding: 'utf8' }).stdout;
    here.write('settings.lua', readSettings(/^NVIM v0\.(?:[0-9]|10)\./.test(version)));
    const findings = validate(WRONG);
    here.write(
      'steps.json',
      JSON.stringify({
        findings: findings.length,
        misspelt: MISSPELT,
        sound: SOUND,
        name: 'size: half',
        renamed: 'portion',
        loose: LOOSE,
      }).replaceAll('\n', ' '),
    );
    const script = new URL('./neovim.lua', import.meta.url).pathname;
    const { PATH = '' } = process.env;
    const home = join(here.path, 'home');
    const { stderr } = spawnSync('nvim', ['--headless', '--clean', '-n', '-c', `luafile ${script}`], {
      cwd: here.path,
      encoding: 'utf8',
      timeout: 100_000,
      env: { PATH: `${bin}${delimiter}${PATH}`, HOME: home, XDG_STATE_HOME: home, XDG_CACHE_HOME: home },
    });
    const seen = JSON.parse(here.read('seen.json')) as Seen;
    expect(seen.problem, stderr).toBeUndefined();
    expect(findings.length).toBeGreaterThan(1);
    expect(seen.diagnostics).toEqual(expect.arrayContaining([...findings]));
    expect(seen.diagnostics).toHaveLength(findings.length);
    expect(seen.fixed).toBe(WRONG.replace(MISSPELT, 'is: filled').trimEnd());
    expect(seen.hover).toContain('`size`');
    expect(seen.completion).toEqual(expect.arrayContaining(['half', 'inputs', 'tick']));
    expect(seen.renamed).toBe(SOUND.replaceAll('half', 'portion'));
    here.write('format.yaml', LOOSE);
    here.run('fmt', 'format.yaml');
    expect(seen.formatted).toBe(here.read('format.yaml').trimEnd());
  });
});
