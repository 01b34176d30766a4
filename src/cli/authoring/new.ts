/** `runbook new`: creates a runbook, either a minimal one or a copy of an example. */
import { existsSync, readdirSync } from 'node:fs';
import { basename, dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { EXIT, type ExitCode, UserError } from '../../app/errors.ts';
import { readText, writeNewText } from '../../app/files/files.ts';
import { makePrintable } from '../../base/printable.ts';
import { suggestSpelling } from '../../base/spelling.ts';
import type { Invocation } from '../invocation.ts';

const NAME = /^[a-z][a-z0-9-]{0,62}$/;

export async function createRunbook(
  name: string,
  from: string | undefined,
  { terminal }: Invocation,
): Promise<ExitCode> {
  if (!NAME.test(name)) {
    throw new UserError(
      `a runbook's name is lower-case letters, digits and dashes, at most 63, a letter first; found ${makePrintable(name, 100)}`,
    );
  }
  const file = `${name}.yaml`;
  const text = from === undefined ? SMALLEST : readExample(from);
  writeNewText(file, addSchemaLine(renameRunbook(text, name)), 'runbook');
  terminal.answer({ file, from: from ?? null }, () => `${file}: created. Next: runbook validate ${file}`);
  return EXIT.done;
}

/** Short enough to read at a glance, complete enough for a dry-run: an entry, its stop, and an entry that never fills. */
const SMALLEST = `runbook: NAME
dsl: 1
about: Buys a little below the market; a stop-loss as soon as it is filled, nothing left behind when it is not.

inputs:
  market: {type: market, default: BTC-USD}
  size:   {type: size, default: 0.001, max: 0.01}
  below:  {type: bps, default: 5}                  # distance of the entry from the middle price
  risk:   {type: pct, default: 2}                  # distance of the stop from the average fill
  within: {type: duration, default: 10m}

feeds:
  mid: {type: price, max_age: 5s}

leaves: {position: protected}                      # only what working stops of this run cover; else the run fails

limits:
  markets: ["\${inputs.market}"]
  max_order_size: 0.01
  max_open_orders: 2

steps:
  - id: entry
    place: {type: limit, market: "\${inputs.market}", side: long, size: inputs.size, price: tick(feeds.mid * (1 - inputs.below))}

  - wait_for: {order: entry, is: filled, within: inputs.within}
    on_timeout:
      - cancel: entry

  - if: entry.avg_price.hasValue()                    # also where only a part was filled
    protect:
      market: \${inputs.market}
      side: short
      stop_loss: {fraction: 1, trigger: tick(entry.avg_price * (1 - inputs.risk)), price: tick(entry.avg_price * (1 - inputs.risk * 1.2))}

outputs:
  filled: entry.filled
`;

/** Examples ship beside the program: the package's folder `runbooks`. */
function locateExamples(): string {
  return join(locatePackage(), 'runbooks');
}

/** The nearest parent folder that is this package: one up from the built file, two up from the source. */
function locatePackage(): string {
  let folder = dirname(fileURLToPath(import.meta.url));
  while (!existsSync(join(folder, 'package.json')) && dirname(folder) !== folder) folder = dirname(folder);
  return folder;
}

function readExample(from: string): string {
  const folder = locateExamples();
  const names = existsSync(folder)
    ? readdirSync(folder)
        .filter((file) => file.endsWith('.yaml') && !file.endsWith('.test.yaml'))
        .map((file) => basename(file, '.yaml'))
    : [];
  if (!names.includes(from)) {
    const meant = suggestSpelling(from, names);
    const hint = meant === undefined ? `there are ${names.sort().join(', ')}` : `did you mean ${meant}?`;
    throw new UserError(`no example is called ${makePrintable(from, 100)}; ${hint}`);
  }
  return readText(join(folder, `${from}.yaml`), 'example');
}

function renameRunbook(text: string, name: string): string {
  return text.replace(/^runbook:.*$/m, `runbook: ${name}`);
}

/** Editors find the language's schema through the first line. */
function addSchemaLine(text: string): string {
  const schema = relative(resolve('.'), join(locatePackage(), 'schemas', 'runbook.schema.json'));
  return `# yaml-language-server: $schema=${schema}\n${text.replace(/^# yaml-language-server:.*\n/, '')}`;
}
