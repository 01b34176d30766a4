/**
 * Puts real output into the Markdown files: what stands between `<!-- paste: … -->` and `<!-- /paste -->` is replaced by the
 * output of the command named there, run now, from this checkout. Nobody types output by hand, so none can be out of date.
 *
 *   paste: runbook dry-run … | show 1-12,-3     the command, and which lines to keep (all without `show`)
 *   paste: file runbooks/ladder.yaml            a file as it stands
 *   paste live: NAME                            a scene of live-scene.js, against the simulated venue over HTTP
 *
 * Commands of one file share a state folder of their own, in the order they stand. Names of runs and of their orders differ
 * from run to run and are written alike. `--check` writes nothing and ends with 1 where a block is out of date. Live scenes
 * take real time and never give the same figures twice: they are made anew with `--live` alone.
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { playScene } from './live-scene.js';

const root = fileURLToPath(new URL('..', import.meta.url));
const BLOCK = /(<!-- paste( live)?: (.+?) -->\n)([\s\S]*?)(<!-- \/paste -->)/g;

const [check, live] = ['--check', '--live'].map((option) => process.argv.includes(option));
let stale = 0;
for (const file of markdownFiles()) await renew(file);
if (check && stale > 0) process.exitCode = 1;

function markdownFiles() {
  const guides = readdirSync(join(root, 'docs')).filter((name) => name.endsWith('.md'));
  return ['README.md', 'ARCHITECTURE.md', 'CHANGELOG.md', ...guides.map((name) => `docs/${name}`)];
}

async function renew(file) {
  const text = readFileSync(join(root, file), 'utf8');
  const folder = mkdtempSync(join(tmpdir(), 'runbook-docs-'));
  let renewed = text;
  try {
    for (const [whole, begin, isLive, what, before, end] of text.matchAll(BLOCK)) {
      if (isLive && !live) continue;
      const body = isLive ? await playScene(what, { root, folder, alike }) : output(what, folder);
      if (body === before) continue;
      stale += 1;
      if (check) console.error(`${file}: out of date, run npm run docs: ${what}`);
      renewed = renewed.replace(whole, () => `${begin}${body}${end}`);
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  if (!check && renewed !== text) writeFileSync(join(root, file), renewed);
}

/** The block for a command or a file. */
function output(what, folder) {
  const [command, selection] = what.split(' | show ');
  const [program, ...words] = command.split(' ');
  if (program === 'file')
    return fenced('yaml', chosen(readFileSync(join(root, words[0]), 'utf8').trimEnd(), selection));
  if (program !== 'runbook') throw new Error(`paste: ${what}: neither runbook nor file`);
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    [join(root, 'bin/runbook.js'), ...unquoted(words.join(' '))],
    {
      cwd: root,
      encoding: 'utf8',
      env: {
        PATH: process.env.PATH,
        HOME: folder,
        XDG_STATE_HOME: folder,
        RUNBOOK_STATE: join(folder, 'state'),
        NO_COLOR: '1',
      },
    },
  );
  const said = alike(`${stderr}${stdout}`, folder).trimEnd();
  return fenced(
    'console',
    [`$ npx ${command}`, chosen(said, selection), ...(status === 0 ? [] : [`exit code ${status}`])].join('\n'),
  );
}

function fenced(language, text) {
  return `\`\`\`${language}\n${text}\n\`\`\`\n`;
}

/** Arguments as a shell would see them; single quotes are the only ones. */
function unquoted(line) {
  return [...line.matchAll(/(?:'[^']*'|[^\s'])+/g)].map(([word]) => word.replaceAll("'", ''));
}

/** Lines `1-12,20,-3` of a text, an ellipsis where some are left out. */
function chosen(text, selection) {
  if (selection === undefined) return text;
  const lines = text.split('\n');
  const kept = new Set();
  for (const part of selection.split(',')) {
    const [first, last = first] = part.startsWith('-')
      ? [lines.length - Number(part.slice(1)) + 1, lines.length]
      : part.split('-').map(Number);
    for (let line = first; line <= Math.min(last, lines.length); line += 1) kept.add(line);
  }
  const shown = [...kept].sort((a, b) => a - b);
  return shown
    .flatMap((line, index) =>
      index > 0 && shown[index - 1] !== line - 1 ? ['  …', lines[line - 1]] : [lines[line - 1]],
    )
    .join('\n');
}

/** The same text for every run: names of runs, of their orders, and of the folder they were kept in. */
function alike(text, folder) {
  const orders = [];
  const order = (id) => {
    if (!orders.includes(id)) orders.push(id);
    return `rb${String(orders.indexOf(id) + 1).padStart(id.length - 2, '0')}`;
  };
  return text
    .replaceAll(join(folder, 'state'), '.runbook')
    .replaceAll(/(?<= passed) in .+$/gm, '')
    .replaceAll(/\b\d{8}T\d{9}-([a-z0-9-]+)-[0-9a-f]{10}\b/g, '20260105T080000000-$1-0a1b2c3d4e')
    .replaceAll(/\brb[a-z2-7]{20}\b/g, order);
}
