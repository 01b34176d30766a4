/** Runs `runbook test` in this process, with files that exist for one call. */
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { environmentOf } from '../../src/app/environment.ts';
import { stateFolder } from '../../src/app/state.ts';
import type { FileVerdict } from '../../src/app/testing/verdict.ts';
import { testFiles } from '../../src/cli/commands/test.ts';
import { invocationAt } from '../../src/cli/invocation.ts';
import { Terminal } from '../../src/cli/terminal/terminal.ts';

export interface Tested {
  readonly exit: number;
  readonly files: readonly FileVerdict[];
  readonly passed: number;
  readonly failed: number;
  /** The text for people instead of the document. */
  readonly out: string;
  readonly err: string;
}

interface TestingOptions {
  /** Number of stories; none by default. */
  readonly explore?: number;
  readonly quiet?: boolean;
  /** `false`: the cases run once, and `out` is the document. */
  readonly textToo?: boolean;
}

/** One limit order that waits to be filled, and is cancelled when that takes too long. */
export const PATIENT = `runbook: patient
dsl: 1
leaves: {position: open, because: the case is about something else}
inputs:
  price: {type: price, default: 60000}
  patience: {type: duration, default: 30s}
steps:
  - id: order
    place: {type: limit, market: BTC-USD, side: long, size: 0.01, price: inputs.price}
    undo: cancel
  - wait_for: {order: order, is: filled, within: inputs.patience}
    on_timeout:
      - cancel: order
      - stop: {outcome: expired, because: never filled}
  - notify: {to: desk, text: "filled \${order.filled}"}
outputs:
  filled: order.filled
`;

/** Tests the named files, with the others beside them, once for the document and once for the text. Every file is removed afterwards. */
export async function testing(files: Readonly<Record<string, string>>, options: TestingOptions = {}): Promise<Tested> {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'runbook-testing-')));
  try {
    for (const [name, text] of Object.entries(files)) {
      mkdirSync(dirname(join(folder, name)), { recursive: true });
      writeFileSync(join(folder, name), text);
    }
    const tests = Object.keys(files)
      .filter((name) => name.endsWith('.test.yaml'))
      .map((name) => join(folder, name));
    const machine = await call(tests, folder, true, options);
    const person = options.textToo === false ? machine : await call(tests, folder, false, options);
    const document = JSON.parse(machine.out.replaceAll(`${folder}/`, '')) as Pick<
      Tested,
      'files' | 'passed' | 'failed'
    >;
    return {
      ...document,
      exit: machine.exit,
      out: person.out.replaceAll(`${folder}/`, ''),
      err: person.err.replaceAll(`${folder}/`, ''),
    };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function call(
  tests: readonly string[],
  folder: string,
  json: boolean,
  { explore = 0, quiet = false }: TestingOptions,
): Promise<{ exit: number; out: string; err: string }> {
  const environment = environmentOf({});
  const written = { out: '', err: '' };
  const stream = (name: 'out' | 'err') => ({
    write: (text: string) => {
      written[name] += text;
    },
  });
  const terminal = new Terminal({ out: stream('out'), err: stream('err'), json, quiet, color: false, environment });
  const exit = await testFiles(
    { files: tests, ...(explore === 0 ? {} : { explore: true, stories: String(explore) }) },
    invocationAt(terminal, environment, stateFolder(undefined, environment, folder)),
  );
  return { exit, ...written };
}

/** A test file for `PATIENT`, its cases given as YAML. */
export function patient(cases: string, more: Readonly<Record<string, string>> = {}): Readonly<Record<string, string>> {
  return { 'patient.yaml': PATIENT, 'patient.test.yaml': `tests: patient\ncases:\n${cases}`, ...more };
}
