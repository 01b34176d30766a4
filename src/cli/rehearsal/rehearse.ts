/**
 * `runbook rehearse RUN --with FILE`: plays the market of a past run for a changed runbook, and shows side by side what the run
 * did, what its own runbook does in that market now, and what the changed one does. The middle column separates the change from the
 * difference between the simulated market and the real one.
 */
import { reportCrash } from '../../app/crash-report.ts';
import { EXIT, type ExitCode } from '../../app/errors.ts';
import { inputValues, type LoadedRunbook, loadPinned, loadRunbook } from '../../app/files/load.ts';
import { readAnswers } from '../../app/rehearsal/answers.ts';
import { type PastMarket, readPastMarket } from '../../app/rehearsal/past-market.ts';
import { makeRunName } from '../../app/run/first-entry.ts';
import { dryRun } from '../../app/run/virtual-run.ts';
import { findRun } from '../../app/stores/find-run.ts';
import { withRuns } from '../../app/stores/review.ts';
import { SILENT } from '../../app/voice.ts';
import { decimal } from '../../base/decimal.ts';
import { formatSpan, formatTable } from '../../base/format.ts';
import { makePrintable } from '../../base/printable.ts';
import { readAllEntries } from '../../journal/reading.ts';
import type { JournalStore } from '../../journal/store.ts';
import { MemoryStore } from '../../journal/stores/memory.ts';
import { openSqliteStore } from '../../journal/stores/sqlite.ts';
import { makeRunReport, RunFold, type RunReport } from '../../report/folds/run.ts';
import { formatMoney } from '../../report/format.ts';
import type { MarketMoney } from '../../report/results/money.ts';
import type { Given } from '../actions/actions.ts';
import type { Invocation } from '../invocation.ts';

interface Rehearsed {
  /** As its journal has it. */
  readonly recorded: RunReport;
  /** Its own runbook in the same market, simulated. */
  readonly again: RunReport;
  /** The changed runbook. */
  readonly changed: RunReport;
}

export async function rehearseRun(options: Given<'rehearse'>, invocation: Invocation): Promise<ExitCode> {
  const { terminal, state, environment } = invocation;
  const name = options.run;
  const changed = loadRunbook(options.with, terminal);
  const entries = await withRuns(invocation, async (store) => readAllEntries(store, (await findRun(store, name)).run));
  const market = readPastMarket(entries);
  const given = readAnswers(options.answer, changed.runbook);
  const inputs = inputValues(changed.runbook, { pairs: options.input, recorded: market.started.inputs });
  const own = loadPinned(market.started.sources, SILENT);
  const ownInputs = inputValues(own.runbook, { pairs: [], recorded: market.started.inputs });
  const onCrash = (error: unknown) =>
    terminal.complain(reportCrash(error, ['rehearse', name, '--with', options.with], state, environment));
  const again = await play(own, ownInputs, market, new MemoryStore(), onCrash);
  const store = await openSqliteStore(state.file('runbook.db'));
  try {
    const answers = new Map([...given, ...market.answers]);
    const after = await play(changed, inputs, { ...market, answers }, store, onCrash);
    const document: Rehearsed = { recorded: makeRunReport(entries), again, changed: after };
    terminal.answer(document, () => formatRehearsed(document));
    const { endedAt } = document.recorded;
    const beyondMs = Date.parse(after.endedAt) - Date.parse(endedAt);
    if (beyondMs > 1000)
      terminal.note(
        `the market is known until ${endedAt}, when the run of then ended; the changed one went on for ${formatSpan(beyondMs)} at the last price`,
      );
    if (after.outcome === 'halted') return EXIT.halted;
    return after.outcome === 'failed' ? EXIT.failed : EXIT.done;
  } finally {
    await store.close();
  }
}

async function play(
  loaded: LoadedRunbook,
  inputs: Parameters<typeof dryRun>[0]['inputs'],
  { started: { startedAt, seed }, config, feeds, answers }: PastMarket,
  store: JournalStore,
  onCrash: (error: unknown) => void,
): Promise<RunReport> {
  const fold = new RunFold();
  const venue = { kind: 'simulated', config, feeds } as const;
  const run = makeRunName(loaded.runbook.name);
  const onEntry = fold.apply.bind(fold);
  await dryRun({ loaded, inputs, run, at: startedAt, seed, store, venue, answers, onEntry, onCrash });
  return fold.report();
}

type Row = readonly [string, (report: RunReport) => string];

const ROWS: readonly Row[] = [
  ['outcome', ({ outcome, reason }) => `${outcome}${reason === undefined ? '' : `: ${makePrintable(reason, 60)}`}`],
  ['took', ({ startedAt, endedAt }) => formatSpan(Date.parse(endedAt) - Date.parse(startedAt))],
  ['steps', ({ steps }) => String(steps.length)],
  ['orders', ({ orders }) => String(orders.length)],
  ['with fills', ({ orders }) => String(orders.filter(({ filled }) => !decimal(filled).isZero()).length)],
  ['requests', ({ requests }) => String(requests.length)],
];

const MONEY_ROWS: readonly (readonly [string, (money: MarketMoney) => string])[] = [
  ['position', ({ position }) => position],
  ['net', ({ net }) => formatMoney(net)],
  ['realized', ({ realized }) => formatMoney(realized)],
  ['fees', ({ fees }) => formatMoney(fees)],
  ['slippage', ({ slippage }) => (slippage === undefined ? '-' : formatMoney(slippage))],
  ['worst drawdown', ({ maxDrawdown }) => formatMoney(maxDrawdown)],
  ['in the market', ({ timeInMarketMs }) => formatSpan(timeInMarketMs)],
];

function formatRehearsed({ recorded, again, changed }: Rehearsed): string {
  const columns = [recorded, again, changed];
  const markets = [...new Set(columns.flatMap(({ money }) => Object.keys(money)))];
  const rows = [
    ['', 'as it was', 'the same again', 'changed'],
    ...ROWS.map(([label, read]) => [label, ...columns.map(read)]),
    ...markets.flatMap((market) =>
      MONEY_ROWS.map(([label, read]) => [
        `${makePrintable(market, 40)} ${label}`,
        ...columns.map(({ money }) => {
          const found = Object.hasOwn(money, market) ? money[market] : undefined;
          return found === undefined ? '-' : read(found);
        }),
      ]),
    ),
  ];
  return `${formatTable(rows)}\n\nrunbook audit show ${changed.run}`;
}
