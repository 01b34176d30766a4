/** `runbook watch`: validates, tests and dry-runs a runbook when it or a file beside it changes, until it is interrupted. */
import { existsSync, watch } from 'node:fs';
import { basename, dirname, extname, join } from 'node:path';
import { EXIT, type ExitCode, UserError } from '../../app/errors.ts';
import { describeReason } from '../../app/files/files.ts';
import { findStepPlace, inputValues, loadRunbook, writeInputs } from '../../app/files/load.ts';
import { readSimulatorFile } from '../../app/files/simulator.ts';
import { dryRun } from '../../app/library.ts';
import { exitAfter } from '../../app/process.ts';
import { Watch } from '../../app/project/watch.ts';
import { SystemClock } from '../../base/clock.ts';
import { makePrintable } from '../../base/printable.ts';
import { printSummary, SummaryRows } from '../../report/summary.ts';
import type { Given } from '../actions/actions.ts';
import { testFiles } from '../commands/test.ts';
import type { Invocation } from '../invocation.ts';
import { waitForInterrupt } from '../terminal/signals.ts';
import { validateFiles } from './validate.ts';

export async function watchFile(given: Given<'watch'>, invocation: Invocation): Promise<ExitCode> {
  const { terminal } = invocation;
  const { file } = given;
  if (terminal.json) throw new UserError('watch prints one result after the other; --json is one document');
  if (!existsSync(file)) throw new UserError(`the runbook ${makePrintable(file, 300)} does not exist`);
  const clock = new SystemClock();
  const work = async () => {
    terminal.print(terminal.style('faint', `— ${new Date(clock.now()).toISOString().slice(11, 19)} —`));
    await runOnce(given, invocation);
  };
  const watching = new Watch({
    clock,
    observe: (changed) => observeFolder(dirname(file), changed, terminal.note.bind(terminal)),
    work,
  });
  const signal = await waitForInterrupt();
  await watching.stop();
  return exitAfter(signal);
}

/** One round: what fails first is shown, and what follows from it is not run. */
export async function runOnce(
  { file, input, simulator: chosen }: Given<'watch'>,
  invocation: Invocation,
): Promise<ExitCode> {
  const { terminal } = invocation;
  try {
    const valid = await validateFiles({ files: [file], format: undefined }, invocation);
    if (valid !== EXIT.done) return valid;
    const stem = join(dirname(file), basename(file, extname(file)));
    const tests = `${stem}.test.yaml`;
    const tested = existsSync(tests) ? await testFiles({ files: [tests] }, invocation) : EXIT.done;
    if (tested !== EXIT.done) return tested;
    const loaded = loadRunbook(file, { diagnostics: () => {} });
    const simulator = chosen ?? findSimulator(stem);
    const { report } = await dryRun(loaded, {
      inputs: inputValues(loaded.runbook, { pairs: input }),
      at: Date.now(),
      venue: { kind: 'simulated', ...(simulator === undefined ? {} : { config: readSimulatorFile(simulator) }) },
    });
    const shown = { ...report, inputs: writeInputs(report.inputs, loaded.runbook) };
    const step = report.error?.step;
    const place = step === undefined ? undefined : findStepPlace(loaded.runbook, step);
    const summary = printSummary(shown, SummaryRows.of(report), (role, text) => terminal.style(role, text), place);
    // Its last line names the stored run; this one is not stored.
    terminal.print(summary.replace(/\n[^\n]*audit show[^\n]*\s*$/, '\n'));
    return report.outcome === 'failed' || report.outcome === 'halted' ? EXIT.failed : EXIT.done;
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
    terminal.complain(error.message);
    return error.exit;
  }
}

function findSimulator(stem: string): string | undefined {
  const beside = join(dirname(stem), 'fixtures', basename(stem));
  return [`${stem}.sim.yaml`, `${beside}.sim.yaml`].find((path) => existsSync(path));
}

/** A called runbook, the tests and the simulator's configuration lie in the same folder. */
function observeFolder(folder: string, changed: () => void, note: (text: string) => void): () => void {
  const watcher = watch(folder, (_event, name) => {
    if (name === null || /\.ya?ml$/i.test(name)) changed();
  });
  watcher.on('error', (error) =>
    note(`the folder ${makePrintable(folder, 300)} is no longer observed: ${describeReason(error)}`),
  );
  return () => watcher.close();
}
