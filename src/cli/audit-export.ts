/** `runbook audit export`: a run in the form of another tool, on standard output. Nothing is sent anywhere. */
import { printable } from '../base/printable.ts';
import { readEntry } from '../journal/chain.ts';
import type { JournalStore, StoredEntry } from '../journal/store.ts';
import { cloudEventsExport } from '../report/export-cloudevents.ts';
import { CSV_TABLES, type CsvTableName, csvExport } from '../report/export-csv.ts';
import { jsonlExport } from '../report/export-jsonl.ts';
import { otlpExport } from '../report/export-otlp.ts';
import { runPage } from '../report/html.ts';
import { verifyRun } from '../report/verify.ts';
import { EXIT, type ExitCode, Refusal } from './exit.ts';
import { anchorsOf, storedEntries, withRuns } from './journal-file.ts';
import type { ExportFormat } from './review-words.ts';
import { findRun } from './runs.ts';
import type { Invocation } from './verb.ts';

export interface ExportOptions {
  readonly format: string;
  readonly table: string | undefined;
}

export async function exportRun(
  name: string,
  options: ExportOptions,
  { terminal, state }: Invocation,
): Promise<ExitCode> {
  const format = options.format as ExportFormat;
  if (options.table !== undefined && format !== 'csv') throw new Refusal('--table belongs to --format csv');
  const table = tableOption(options.table);
  return withRuns(state, async (store) => {
    const { run } = await findRun(store, name);
    const anchors = anchorsOf(state).flatMap((file) => file.anchors);
    const stored: StoredEntry[] = [];
    for await (const entry of storedEntries(store, run)) stored.push(entry);
    const text = await exported(store, run, stored, { format, table, anchors });
    terminal.answer({ run, format, text }, () => text);
    return EXIT.done;
  });
}

interface Wanted {
  readonly format: ExportFormat;
  readonly table: CsvTableName;
  readonly anchors: Parameters<typeof verifyRun>[2];
}

async function exported(
  store: JournalStore,
  run: string,
  stored: readonly StoredEntry[],
  { format, table, anchors }: Wanted,
): Promise<string> {
  switch (format) {
    // As it stands: also a journal that is damaged can be handed to someone who finds out why.
    case 'jsonl':
      return jsonlExport(stored);
    case 'csv':
      return csvExport(stored.map(readEntry), table);
    case 'html':
      return runPage(stored.map(readEntry), { verdict: await verifyRun(store, run, anchors) });
    case 'otlp':
      return otlpExport(stored.map(readEntry));
    case 'cloudevents':
      return cloudEventsExport(stored.map(readEntry));
    default:
      return format satisfies never;
  }
}

function tableOption(text: string | undefined): CsvTableName {
  if (text === undefined) return 'timeline';
  if (Object.hasOwn(CSV_TABLES, text)) return text as CsvTableName;
  const tables = Object.entries(CSV_TABLES).map(([name, { about }]) => `${name} (${about})`);
  throw new Refusal(`--table takes ${tables.join(', ')}; found ${printable(text, 100)}`);
}
