/** `runbook dry-run`: executes a runbook in virtual time; writes only the journal. */

import { reportCrash } from '../../app/crash-report.ts';
import { EXIT, type ExitCode, UserError } from '../../app/errors.ts';
import { readFixtureFile, refuseUnwritable, writeFixtureFile } from '../../app/files/fixture.ts';
import { inputValues, loadRunbook } from '../../app/files/load.ts';
import { readSimulatorFile } from '../../app/files/simulator.ts';
import { makeRunName } from '../../app/run/run-name.ts';
import { type DryRun, dryRun } from '../../app/run/virtual-run.ts';
import { sha256 } from '../../base/digest.ts';
import { formatCount } from '../../base/format.ts';
import { makePrintable } from '../../base/printable.ts';
import type { Entry } from '../../journal/entry.ts';
import { openSqliteStore } from '../../journal/stores/sqlite.ts';
import { RunFold } from '../../report/folds/run.ts';
import { readTime } from '../../runbook/expression/literals.ts';
import type { Invocation } from '../invocation.ts';
import { showReport } from '../terminal/run-end.ts';

export interface DryRunOptions {
  readonly fixtures: string | undefined;
  readonly input: readonly string[];
  readonly inputs: string | undefined;
  readonly at: string | undefined;
  readonly seed: string | undefined;
  readonly record: string | undefined;
  readonly simulator: string | undefined;
}

export async function dryRunFile(
  file: string,
  options: DryRunOptions,
  { terminal, state, environment }: Invocation,
): Promise<ExitCode> {
  const loaded = loadRunbook(file, terminal);
  const fixture = options.fixtures === undefined ? undefined : readFixtureFile(options.fixtures);
  if (fixture !== undefined && (options.record !== undefined || options.simulator !== undefined)) {
    throw new UserError(
      '--record and --simulator belong to a dry-run against the simulated venue, not to one with --fixtures',
    );
  }
  if (options.record !== undefined) refuseUnwritable(options.record);
  for (const note of fixture?.notes ?? []) terminal.note(note);
  const inputs = inputValues(loaded.runbook, {
    pairs: options.input,
    file: options.inputs,
    recorded: fixture?.fixture.inputs,
  });
  const venue: DryRun['venue'] =
    fixture === undefined
      ? {
          kind: 'simulated',
          record: options.record !== undefined,
          ...(options.simulator === undefined ? {} : { config: readSimulatorFile(options.simulator) }),
        }
      : { kind: 'fixtures', fixture: fixture.fixture, file: fixture.source.file, sha256: sha256(fixture.source.text) };
  const at = options.at === undefined ? (fixture?.fixture.startMs ?? Date.now()) : readTimeOption(options.at);
  const seed = options.seed === undefined ? 1 : readSeedOption(options.seed);
  const run = makeRunName(loaded.runbook.name);
  const store = await openSqliteStore(state.file('runbook.db'));
  const fold = new RunFold();
  let entries = 0;
  try {
    const onEntry = (entry: Entry) => {
      fold.apply(entry);
      entries += 1;
      if (entries % 200 === 0)
        terminal.progress(
          `${loaded.runbook.name}: ${formatCount(entries, 'entry', 'entries')}, ${new Date(entry.at).toISOString()} of virtual time`,
        );
    };
    const onCrash = (error: unknown) => terminal.complain(reportCrash(error, ['dry-run', file], state, environment));
    const { result, recording } = await dryRun({ loaded, inputs, run, at, seed, store, venue, onEntry, onCrash });
    terminal.endProgress();
    if (recording !== undefined && options.record !== undefined) writeFixtureFile(options.record, recording);
    showReport(fold.report(), terminal);
    if (result.outcome === 'halted') return EXIT.halted;
    return result.outcome === 'failed' ? EXIT.failed : EXIT.done;
  } finally {
    await store.close();
  }
}

function readTimeOption(text: string): number {
  const time = readTime(text);
  if (!('value' in time))
    throw new UserError(
      `--at takes a time in ISO 8601 with its offset, such as 2026-01-05T08:00:00Z; found ${makePrintable(text, 100)}`,
    );
  return time.value.ms;
}

function readSeedOption(text: string): number {
  const seed = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN;
  if (!Number.isSafeInteger(seed))
    throw new UserError(`--seed takes a whole number, found ${makePrintable(text, 100)}`);
  return seed;
}
