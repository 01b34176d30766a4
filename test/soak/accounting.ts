/**
 * Checks the result of a soak: one verdict for each occurrence that a separate oracle counts, one run for each verdict that
 * started one, every order of the venue in exactly one journal, and every order of a journal at the venue.
 */
import type { Books } from '../../src/gateway/simulator/ledger-view.ts';
import type { Entry } from '../../src/journal/entry.ts';
import { readLines } from '../../src/journal/reading.ts';
import { openPostgresScheduleStore } from '../../src/journal/schedule/postgres.ts';
import type { OccurrenceRow } from '../../src/journal/schedule/store.ts';
import type { JournalStore, RunRow } from '../../src/journal/store.ts';
import { openPostgresStore } from '../../src/journal/stores/postgres.ts';
import { verifyRun } from '../../src/report/compare/verify.ts';
import { RunFold, type RunReport } from '../../src/report/folds/run.ts';
import { ACCOUNTS, RUNBOOKS, type Stage, TOKENS_PER_MINUTE } from './stage.ts';

export interface Accounting {
  /** One sentence each. */
  readonly problems: readonly string[];
  readonly figures: Readonly<Record<string, number>>;
}

/** The longest period of a schedule in ms: after a calm time, the last verdict is not older. */
const LONGEST_PERIOD_MS = 7_000;
/** States of an order that was never at the venue. */
const NEVER = new Set(['denied', 'absent', 'draft']);

export async function account(stage: Stage, calmAt: number): Promise<Accounting> {
  const access = { url: stage.databaseUrl, name: 'the soak’s database' };
  const store = await openPostgresStore(access);
  const scheduleStore = await openPostgresScheduleStore(access);
  try {
    const runs = await store.runs();
    const problems: string[] = [];
    let verdicts = 0;
    for (const name of ACCOUNTS) {
      const rows = await scheduleStore.occurrences(`${stage.urls.get(name)} ${name}`);
      const known = await stage.query(
        `SELECT slot, known_since FROM runbook.agenda_slot WHERE account = '${stage.urls.get(name)} ${name}'`,
      );
      verdicts += rows.length;
      const since = new Map(known.map((row) => [String(row['slot']), Number(row['known_since'])]));
      problems.push(...verdictProblems(name, rows, since, calmAt), ...runProblems(name, rows, runs));
    }
    const books = await stage.books();
    // One after another: the runs of an hour at once would exceed the time limit of the few connections.
    const journals: Journal[] = [];
    for (const row of runs) journals.push(await journalOf(store, row));
    problems.push(...journals.flatMap(({ problems: found }) => found));
    problems.push(
      ...orderProblems(
        books.flatMap(({ orders }) => orders),
        journals,
      ),
      ...books.flatMap(tokenProblems),
    );
    const count = (outcome: string) => runs.filter((row) => row.outcome === outcome).length;
    const resumed = journals.filter(({ epochs }) => epochs > 1).length;
    return {
      problems,
      figures: {
        verdicts,
        runs: runs.length,
        succeeded: count('succeeded'),
        failed: count('failed'),
        halted: count('halted'),
        'resumed by another': resumed,
        orders: books.reduce((sum, { orders }) => sum + orders.length, 0),
        'tokens at the peak': Math.max(...books.map(({ tokens }) => tokens.peak)),
      },
    };
  } finally {
    await scheduleStore.close();
    await store.close();
  }
}

/** Counts occurrences by hand, because the schedules are simple: every multiple of the period since the slot was known. */
function verdictProblems(
  name: string,
  rows: readonly OccurrenceRow[],
  since: ReadonlyMap<string, number>,
  calmAt: number,
): string[] {
  const problems: string[] = [];
  if (since.size !== Object.keys(RUNBOOKS).length) problems.push(`${name}: ${since.size} slots are known`);
  for (const [slot, knownAt] of since) {
    const periodMs = Number(/every (\d+)s/.exec(slot)?.[1]) * 1000;
    const mine = rows.filter((row) => row.slot === slot);
    const decided = new Map(mine.map((row) => [row.nominalMs, row]));
    const last = Math.max(...decided.keys());
    if (mine.length !== decided.size) problems.push(`${name}, ${slot}: an occurrence has two verdicts`);
    if (!(last >= calmAt - LONGEST_PERIOD_MS - 1_000))
      problems.push(`${name}, ${slot}: nothing was decided since ${new Date(last).toISOString()}`);
    const wanted = new Set<number>();
    for (let at = Math.ceil(knownAt / periodMs) * periodMs; at <= last; at += periodMs) wanted.add(at);
    for (const at of wanted)
      if (!decided.has(at)) problems.push(`${name}, ${slot}: no verdict on ${new Date(at).toISOString()}`);
    for (const [at, { verdict, began }] of decided) {
      const when = `${name}, ${slot} at ${new Date(at).toISOString()}`;
      if (!wanted.has(at)) problems.push(`${when}: a verdict on what is no occurrence`);
      if (verdict === 'waiting' && slot.startsWith('caught_up') === false) problems.push(`${when}: left waiting`);
      if (began === 'lost') problems.push(`${when}: was started, and its run never began`);
    }
  }
  return problems;
}

/** Each verdict that started a run has exactly one run, and each run one such verdict. */
function runProblems(name: string, rows: readonly OccurrenceRow[], runs: readonly RunRow[]): string[] {
  const started = rows.flatMap(({ verdict, run }) => (verdict === 'started' && run !== undefined ? [run] : []));
  const begun = new Set(runs.filter((row) => row.account === name).map(({ run }) => run));
  return [
    ...started.filter((run) => !begun.has(run)).map((run) => `${name}: ${run} was started and is in no journal`),
    ...[...begun].filter((run) => !started.includes(run)).map((run) => `${name}: ${run} runs without a verdict`),
    ...(new Set(started).size === started.length ? [] : [`${name}: one run for two occurrences`]),
  ];
}

interface Journal {
  readonly row: RunRow;
  readonly report: RunReport;
  /** Number of processes that wrote it. */
  readonly epochs: number;
  readonly problems: readonly string[];
}

async function journalOf(store: JournalStore, row: RunRow): Promise<Journal> {
  const entries: readonly Entry[] = [...readLines(await store.read(row.run))];
  const fold = new RunFold();
  for (const entry of entries) fold.apply(entry);
  const problems: string[] = [];
  const verdict = await verifyRun(store, row.run, []);
  if (!verdict.ok) problems.push(`${row.run}: its journal is ${verdict.problem?.kind}`);
  if (row.outcome === undefined) problems.push(`${row.run}: never ended`);
  if (row.outcome === 'halted') problems.push(`${row.run}: halted, where every doubt could be settled`);
  if (entries.filter(({ type }) => type === 'run.started').length !== 1) problems.push(`${row.run}: began twice`);
  for (const [index, { epoch }] of entries.entries())
    if (epoch < (entries[index - 1]?.epoch ?? 0)) problems.push(`${row.run}: epoch ${epoch} wrote behind a newer one`);
  return { row, report: fold.report(), epochs: new Set(entries.map(({ epoch }) => epoch)).size, problems };
}

function orderProblems(orders: Books['orders'], journals: readonly Journal[]): string[] {
  const problems: string[] = [];
  const told = new Map<string, { readonly run: string; readonly state: string; readonly filled: string }>();
  for (const { row, report } of journals)
    for (const { clientOrderId, state, filled } of report.orders) {
      if (told.has(clientOrderId)) problems.push(`${clientOrderId} is in two journals`);
      told.set(clientOrderId, { run: row.run, state, filled });
    }
  const venue = new Map(orders.map((order) => [order.client_order_id, order]));
  if (venue.size !== orders.length)
    problems.push(`${orders.length} orders at the venue under ${venue.size} client order ids`);
  for (const [id, order] of venue) {
    const known = told.get(id);
    if (known === undefined) problems.push(`order ${order.id} (${id}) is in no journal`);
    else if (known.state !== order.status || known.filled !== order.filled)
      problems.push(
        `order ${order.id} of ${known.run} is ${order.status} with ${order.filled} filled, the journal says ${known.state} with ${known.filled}`,
      );
    if (!order.terminal) problems.push(`order ${order.id} of ${known?.run} is still open`);
  }
  for (const [id, { run, state }] of told)
    if (!venue.has(id) && !NEVER.has(state)) problems.push(`${run} has ${id} as ${state}, the venue has no such order`);
  return problems;
}

function tokenProblems({ tokens }: Books): string[] {
  return [
    ...(tokens.peak > TOKENS_PER_MINUTE ? [`${tokens.peak} tokens in a minute, ${TOKENS_PER_MINUTE} are granted`] : []),
    ...(tokens.refused > 0 ? [`${tokens.refused} requests were refused for want of tokens`] : []),
  ];
}
