/**
 * `runbook rehearse RUN --with FILE`: plays the market of a past run for a changed runbook, and shows side by side what the run
 * did, what its own runbook does in that market now, and what the changed one does. The middle column separates the change from the
 * difference between the simulated market and the real one.
 */
import { reportCrash } from '../../app/crash-report.ts';
import { EXIT, type ExitCode } from '../../app/errors.ts';
import { inputValues, type LoadedRunbook, loadPinned, loadRunbook } from '../../app/files/load.ts';
import { readAnswers } from '../../app/rehearsal/answers.ts';
import { type PastMarket, PastMarketFold } from '../../app/rehearsal/past-market.ts';
import { makeRunName } from '../../app/run/first-entry.ts';
import { dryRun } from '../../app/run/virtual-run.ts';
import { withRun } from '../../app/stores/review.ts';
import { SILENT } from '../../app/voice.ts';
import { decimal } from '../../base/decimal.ts';
import { formatSpan, formatTable } from '../../base/format.ts';
import { makePrintable } from '../../base/printable.ts';
import { readEntries } from '../../journal/reading.ts';
import type { JournalStore } from '../../journal/store.ts';
import { MemoryStore } from '../../journal/stores/memory.ts';
import { openSqliteStore } from '../../journal/stores/sqlite.ts';
import { fromStore, type ReportSource, writeRunReport } from '../../report/export/run-report.ts';
import { type RunOutline, RunOutlineFold } from '../../report/folds/run.ts';
import { formatMoney } from '../../report/format.ts';
import type { MarketMoney } from '../../report/results/money.ts';
import type { Given } from '../actions/actions.ts';
import type { Invocation } from '../invocation.ts';
import type { Output } from '../terminal/output.ts';

interface Rehearsed {
  /** As its journal has it. */
  readonly recorded: ReportSource;
  /** Its own runbook in the same market, simulated. */
  readonly again: ReportSource;
  /** The changed runbook. */
  readonly changed: ReportSource;
}

export async function rehearseRun(options: Given<'rehearse'>, invocation: Invocation): Promise<ExitCode> {
  const { terminal, state } = invocation;
  const changed = loadRunbook(options.with, terminal);
  return withRun(invocation, options.run, async (journal, { run }) => {
    const [past, known] = [new PastMarketFold(), new RunOutlineFold()];
    for await (const entry of readEntries(journal, run)) {
      past.apply(entry);
      known.apply(entry);
    }
    const store = await openSqliteStore(state.file('runbook.db'));
    try {
      const recorded = fromStore(journal, run, known);
      const rehearsed = await playBoth({ options, changed, market: past.market(), store }, invocation);
      return await showRehearsed({ recorded, ...rehearsed }, terminal);
    } finally {
      await store.close();
    }
  });
}

interface Rehearsal {
  readonly options: Given<'rehearse'>;
  readonly changed: LoadedRunbook;
  readonly market: PastMarket;
  /** Keeps the changed run. */
  readonly store: JournalStore;
}

async function playBoth(
  { options, changed, market, store }: Rehearsal,
  { terminal, state, environment }: Invocation,
): Promise<Pick<Rehearsed, 'again' | 'changed'>> {
  const given = readAnswers(options.answer, changed.runbook);
  const inputs = inputValues(changed.runbook, { pairs: options.input, recorded: market.started.inputs });
  const own = loadPinned(market.started.sources, SILENT);
  const ownInputs = inputValues(own.runbook, { pairs: [], recorded: market.started.inputs });
  const onCrash = (error: unknown) =>
    terminal.complain(reportCrash(error, ['rehearse', options.run, '--with', options.with], state, environment));
  const again = await play(own, ownInputs, market, terminal.json ? new MemoryStore() : new UnkeptStore(), onCrash);
  const answers = new Map([...given, ...market.answers]);
  return { again, changed: await play(changed, inputs, { ...market, answers }, store, onCrash) };
}

/** Of a run of which only its figures are shown, no line is read. */
class UnkeptStore extends MemoryStore {
  override async append(): Promise<void> {}
}

async function showRehearsed(rehearsed: Rehearsed, terminal: Output): Promise<ExitCode> {
  await terminal.answerInPieces(writeDocument(rehearsed), writeTable(rehearsed));
  const [recorded, after] = [rehearsed.recorded.known.outline(), rehearsed.changed.known.outline()];
  const beyondMs = Date.parse(after.endedAt) - Date.parse(recorded.endedAt);
  if (beyondMs > 1000)
    terminal.note(
      `the market is known until ${recorded.endedAt}, when the run of then ended; the changed one went on for ${formatSpan(beyondMs)} at the last price`,
    );
  if (after.outcome === 'halted') return EXIT.halted;
  return after.outcome === 'failed' ? EXIT.failed : EXIT.done;
}

async function* writeDocument({ recorded, again, changed }: Rehearsed): AsyncGenerator<string> {
  yield '{"recorded":';
  yield* writeRunReport(recorded);
  yield ',"again":';
  yield* writeRunReport(again);
  yield ',"changed":';
  yield* writeRunReport(changed);
  yield '}';
}

async function play(
  loaded: LoadedRunbook,
  inputs: Parameters<typeof dryRun>[0]['inputs'],
  { started: { startedAt, seed }, config, feeds, answers }: PastMarket,
  store: JournalStore,
  onCrash: (error: unknown) => void,
): Promise<ReportSource> {
  const fold = new RunOutlineFold();
  const venue = { kind: 'simulated', config, feeds } as const;
  const run = makeRunName(loaded.runbook.name);
  const onEntry = fold.apply.bind(fold);
  await dryRun({ loaded, inputs, run, at: startedAt, seed, store, venue, answers, onEntry, onCrash });
  return fromStore(store, run, fold);
}

/** What the table shows of a run. */
interface Figures {
  readonly outline: RunOutline;
  readonly counts: RunOutlineFold['counts'];
}

type Row = readonly [string, (figures: Figures) => string];

const ROWS: readonly Row[] = [
  [
    'outcome',
    ({ outline: { outcome, reason } }) => `${outcome}${reason === undefined ? '' : `: ${makePrintable(reason, 60)}`}`,
  ],
  ['took', ({ outline: { startedAt, endedAt } }) => formatSpan(Date.parse(endedAt) - Date.parse(startedAt))],
  ['steps', ({ counts }) => String(counts.steps)],
  ['orders', ({ outline: { orders } }) => String(orders.length)],
  ['with fills', ({ outline: { orders } }) => String(orders.filter(({ filled }) => !decimal(filled).isZero()).length)],
  ['requests', ({ counts }) => String(counts.requests)],
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

async function* writeTable({ recorded, again, changed }: Rehearsed): AsyncGenerator<string> {
  const columns = [recorded, again, changed].map(({ known }) => ({ outline: known.outline(), counts: known.counts }));
  const markets = [...new Set(columns.flatMap(({ outline }) => Object.keys(outline.money)))];
  const rows = [
    ['', 'as it was', 'the same again', 'changed'],
    ...ROWS.map(([label, read]) => [label, ...columns.map(read)]),
    ...markets.flatMap((market) =>
      MONEY_ROWS.map(([label, read]) => [
        `${makePrintable(market, 40)} ${label}`,
        ...columns.map(({ outline: { money } }) => {
          const found = Object.hasOwn(money, market) ? money[market] : undefined;
          return found === undefined ? '-' : read(found);
        }),
      ]),
    ),
  ];
  yield `${formatTable(rows)}\n\nrunbook audit show ${changed.known.outline().run}\n`;
}
