/**
 * Puts real output into the Markdown files: replaces the text between `<!-- paste: … -->` and `<!-- /paste -->` by the output of
 * the command named there, which it runs from this checkout. No output is typed by hand, so none can be out of date.
 *
 *   paste: runbook dry-run … | show 1-12,-3     a command, and the lines to keep (all without `show`)
 *   paste: file runbooks/ladder.yaml            the content of a file
 *   paste live: NAME                            a scene of live-scene.js, against the simulated venue over HTTP
 *
 * The commands of one file share a state folder and run in the order of the file. Names of runs and orders differ from run to
 * run and are replaced by fixed ones. `--check` writes nothing and ends with 1 if a block is out of date. Live scenes take real
 * time and give different figures each time, so only `--live` renews them.
 */
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { serve } from '../test/cli/command-client.js';
import { playScene } from './live-scene.js';

const root = fileURLToPath(new URL('..', import.meta.url));
const BLOCK = /(<!-- paste( live)?: (.+?) -->\n)([\s\S]*?)(<!-- \/paste -->)/g;

const [check, live] = ['--check', '--live'].map((option) => process.argv.includes(option));
let stale = 0;
for (const file of listMarkdownFiles()) await renew(file);
if (check && stale > 0) process.exitCode = 1;

function listMarkdownFiles() {
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
      const body = isLive ? await playScene(what, { root, folder, normalize }) : await runCommand(what, folder);
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

/** Returns the block for a command or a file. */
async function runCommand(what, folder) {
  const [command, selection] = what.split(' | show ');
  const [program, ...words] = command.split(' ');
  if (program === 'file')
    return fence('yaml', selectLines(readFileSync(join(root, words[0]), 'utf8').trimEnd(), selection));
  if (program !== 'runbook') throw new Error(`paste: ${what}: neither runbook nor file`);
  const { exit, out, err } = await serve({
    words: splitArguments(words.join(' ')),
    folder: root,
    environment: {
      PATH: process.env.PATH,
      HOME: folder,
      XDG_STATE_HOME: folder,
      RUNBOOK_STATE: join(folder, 'state'),
      NO_COLOR: '1',
    },
  });
  const printed = normalize(`${err}${out}`, folder).trimEnd();
  return fence(
    'console',
    [`$ npx ${command}`, selectLines(printed, selection), ...(exit === 0 ? [] : [`exit code ${exit}`])].join('\n'),
  );
}

function fence(language, text) {
  return `\`\`\`${language}\n${text}\n\`\`\`\n`;
}

/** Splits a line into arguments like a shell; supports single quotes only. */
function splitArguments(line) {
  return [...line.matchAll(/(?:'[^']*'|[^\s'])+/g)].map(([word]) => word.replaceAll("'", ''));
}

/** Selects lines `1-12,20,-3` of a text, with an ellipsis for omitted ones. */
function selectLines(text, selection) {
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

/** Makes the text the same for every run: replaces the names of runs, of their orders and of their folder. */
function normalize(text, folder) {
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
