/** `runbook dry-run`: executes a runbook in virtual time; writes only the journal. */

import { reportCrash } from '../../app/crash-report.ts';
import { EXIT, type ExitCode, UserError } from '../../app/errors.ts';
import { replaceText } from '../../app/files/files.ts';
import { readFixtureFile, refuseUnwritable, writeFixtureFile } from '../../app/files/fixture.ts';
import { inputValues, type LoadedRunbook, loadRunbook } from '../../app/files/load.ts';
import { readSimulatorFile } from '../../app/files/simulator.ts';
import { readAnswers } from '../../app/rehearsal/answers.ts';
import {
  chooseStart,
  describeEnds,
  describeUnread,
  describeUntraded,
  readRecordedMarket,
} from '../../app/rehearsal/recorded-market.ts';
import { makeRunName } from '../../app/run/first-entry.ts';
import { type DryRun, dryRun } from '../../app/run/virtual-run.ts';
import { readGrid } from '../../app/sweep/grid.ts';
import { sha256 } from '../../base/digest.ts';
import { formatCount } from '../../base/format.ts';
import type { Entry } from '../../journal/entry.ts';
import { openSqliteStore } from '../../journal/stores/sqlite.ts';
import { drawRun } from '../../report/drawing/run-chart.ts';
import { RunDataFold } from '../../report/drawing/run-data.ts';
import { findLastStep, fromStore } from '../../report/export/run-report.ts';
import { RunOutlineFold } from '../../report/folds/run.ts';
import type { Given } from '../actions/actions.ts';
import type { Invocation } from '../invocation.ts';
import { readDrawingOption, readSeedOption, readTimeOption, readWholeOption } from '../option-values.ts';
import type { Output } from '../terminal/output.ts';
import { showReport } from '../terminal/run-end.ts';
import { sweepRunbook } from './sweep.ts';

export async function dryRunFile(
  options: Given<'dry-run'>,
  { terminal, state, environment }: Invocation,
): Promise<ExitCode> {
  const loaded = loadRunbook(options.file, terminal);
  if (options.sweep !== undefined) return sweepSeeds(loaded, options, terminal);
  const chartForm = options.chart === undefined ? undefined : readDrawingOption('--chart', options.chart);
  const fixture = options.fixtures === undefined ? undefined : readFixtureFile(options.fixtures);
  if (fixture !== undefined) refuseBesideFixtures(options);
  if (options.record !== undefined) refuseUnwritable(options.record);
  for (const note of fixture?.notes ?? []) terminal.note(note);
  const inputs = inputValues(loaded.runbook, {
    pairs: options.input,
    file: options.inputs,
    recorded: fixture?.fixture.inputs,
  });
  const answers = readAnswers(options.answer, loaded.runbook);
  const market = readRecordedMarket(
    { prices: options.prices, feeds: options.feed },
    options.simulator === undefined ? {} : readSimulatorFile(options.simulator),
    loaded.runbook,
    inputs,
  );
  const { config, feeds, spans } = market;
  if (fixture === undefined) for (const note of describeUnread(market, loaded.runbook, inputs)) terminal.note(note);
  for (const note of describeUntraded(market, loaded.runbook, inputs)) terminal.note(note);
  const venue: DryRun['venue'] =
    fixture === undefined
      ? { kind: 'simulated', record: options.record !== undefined, config, feeds }
      : { kind: 'fixtures', fixture: fixture.fixture, file: fixture.source.file, sha256: sha256(fixture.source.text) };
  const asked = options.at === undefined ? fixture?.fixture.startMs : readTimeOption('--at', options.at);
  const at = chooseStart(spans, asked) ?? Date.now();
  const seed = readSeedOption(options.seed);
  const run = makeRunName(loaded.runbook.name);
  const store = await openSqliteStore(state.file('runbook.db'));
  const fold = new RunOutlineFold();
  const data = chartForm === undefined ? undefined : new RunDataFold();
  let entries = 0;
  try {
    const onEntry = (entry: Entry) => {
      fold.apply(entry);
      data?.apply(entry);
      entries += 1;
      if (entries % 200 === 0)
        terminal.progress(
          `${loaded.runbook.name}: ${formatCount(entries, 'entry', 'entries')}, ${new Date(entry.at).toISOString()} of virtual time`,
        );
    };
    const onCrash = (error: unknown) =>
      terminal.complain(reportCrash(error, ['dry-run', options.file], state, environment));
    const { result, unseen, recording } = await dryRun({
      loaded,
      inputs,
      run,
      at,
      seed,
      store,
      venue,
      answers,
      onEntry,
      onCrash,
      ...(data === undefined
        ? {}
        : {
            onPrices: (prices) => {
              for (const { market, points } of prices) data.addPrices(market, points);
            },
          }),
    });
    terminal.endProgress();
    if (recording !== undefined && options.record !== undefined) writeFixtureFile(options.record, recording);
    const report = fold.outline();
    const source = fromStore(store, run, fold);
    if (options.chart !== undefined && chartForm !== undefined) {
      const failed = report.error?.step === undefined ? undefined : await findLastStep(source, report.error.step);
      replaceText(options.chart, drawRun(report, data?.collect() ?? [], { form: chartForm, failed }), 'chart');
    }
    await showReport(source, terminal);
    for (const { orderId, type, side, market, filled, known } of unseen)
      terminal.note(
        `at the simulated venue ${orderId} (${type} ${side} of ${market}) has filled ${filled}; the run read ${known} of it and did not look again, so the report counts no more`,
      );
    for (const note of describeEnds(spans, Date.parse(report.endedAt))) terminal.note(note);
    if (result.outcome === 'halted') return EXIT.halted;
    return result.outcome === 'failed' ? EXIT.failed : EXIT.done;
  } finally {
    await store.close();
  }
}

/** The same options, for many seeds and combinations of inputs. */
function sweepSeeds(loaded: LoadedRunbook, options: Given<'dry-run'>, terminal: Output): Promise<ExitCode> {
  const count = readWholeOption('--sweep', options.sweep ?? '');
  if (count < 1) throw new UserError('--sweep takes the number of runs, at least 1');
  for (const name of ['fixtures', 'record'] as const)
    if (options[name] !== undefined) throw new UserError(`--${name} is for a single run, not for --sweep`);
  if (options.chart !== undefined) readDrawingOption('--chart', options.chart);
  const grid = readGrid(loaded.runbook, options.input, options.inputs);
  const answers = readAnswers(options.answer, loaded.runbook);
  const [first] = grid;
  const market = readRecordedMarket(
    { prices: options.prices, feeds: options.feed },
    options.simulator === undefined ? {} : readSimulatorFile(options.simulator),
    loaded.runbook,
    first?.inputs ?? {},
  );
  const { config, feeds, spans } = market;
  for (const note of describeUnread(market, loaded.runbook, first?.inputs ?? {})) terminal.note(note);
  for (const note of describeUntraded(market, loaded.runbook, first?.inputs ?? {})) terminal.note(note);
  const at =
    chooseStart(spans, options.at === undefined ? undefined : readTimeOption('--at', options.at)) ?? Date.now();
  const many = (name: string, values: readonly string[]) => values.flatMap((value) => [`--${name}`, value]);
  const one = (name: string, value: string | undefined) => (value === undefined ? [] : [`--${name}`, value]);
  const call = [
    'dry-run',
    options.file,
    ...one('inputs', options.inputs),
    ...one('simulator', options.simulator),
    ...many('prices', options.prices),
    ...many('feed', options.feed),
    ...many('answer', options.answer),
    ...['--at', new Date(at).toISOString()],
  ];
  const firstSeed = readSeedOption(options.seed);
  const setup = { at, config, feeds, answers };
  return sweepRunbook({ loaded, grid, setup, count, firstSeed, call, chart: options.chart }, terminal);
}

function refuseBesideFixtures(options: Given<'dry-run'>): void {
  const given = (['record', 'simulator', 'prices', 'feed'] as const).filter((name) => {
    const value = options[name];
    return value !== undefined && value.length > 0;
  });
  if (given.length > 0)
    throw new UserError(
      `${given.map((name) => `--${name}`).join(', ')}: for a dry-run against the simulated venue, not for one with --fixtures`,
    );
}
