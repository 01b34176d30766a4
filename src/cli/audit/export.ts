/** `runbook audit export`: prints a run in the format of another tool, on standard output. Sends nothing anywhere. */

import { EXIT, type ExitCode, UserError } from '../../app/errors.ts';
import { readKillsOfRun } from '../../app/kill/kill-records.ts';
import { findRun } from '../../app/stores/find-run.ts';
import { type Reviewed, readAnchorFiles, withRuns } from '../../app/stores/review.ts';
import { makePrintable } from '../../base/printable.ts';
import { readFirstEntry, readLines, readStoredEntries } from '../../journal/reading.ts';
import type { JournalReader, RunRow, StoredEntry } from '../../journal/store.ts';
import { verifyRun } from '../../report/compare/verify.ts';
import { exportCloudEvents } from '../../report/export/cloudevents.ts';
import { CSV_TABLES, type CsvTableName, exportCsv } from '../../report/export/csv.ts';
import { exportJsonl } from '../../report/export/jsonl.ts';
import { exportHtml } from '../../report/html/report.ts';
import type { ExportFormat } from '../choices.ts';
import type { Review } from '../invocation.ts';

export interface ExportOptions {
  readonly format: string;
  readonly table: string | undefined;
}

export async function exportRun(name: string, options: ExportOptions, review: Review): Promise<ExitCode> {
  const { terminal } = review;
  const format = options.format as ExportFormat;
  if (options.table !== undefined && format !== 'csv') throw new UserError('--table belongs to --format csv');
  const table = readTableOption(options.table);
  return withRuns(review, async (store) => {
    const row = await findRun(store, name);
    const { run } = row;
    const anchors = readAnchorFiles(review, { run }).flatMap((file) => file.anchors);
    const stored: StoredEntry[] = [];
    for await (const entry of readStoredEntries(store, run)) stored.push(entry);
    const text = await exportAs(store, row, stored, { format, table, anchors, reviewed: review });
    terminal.answer({ run, format, text }, () => text);
    return EXIT.done;
  });
}

interface Wanted {
  readonly format: ExportFormat;
  readonly table: CsvTableName;
  readonly anchors: Parameters<typeof verifyRun>[2];
  readonly reviewed: Reviewed;
}

async function exportAs(
  store: JournalReader,
  row: RunRow,
  stored: readonly StoredEntry[],
  { format, table, anchors, reviewed }: Wanted,
): Promise<string> {
  switch (format) {
    // Unchanged: a damaged journal can also be exported, for analysis.
    case 'jsonl':
      return exportJsonl(stored);
    case 'csv':
      return exportCsv([...readLines(stored)], table);
    case 'html':
      return exportHtml([...readLines(stored)], {
        verdict: await verifyRun(store, row.run, anchors),
        kills: await readKillsOfRun(row, await readFirstEntry(store, row.run), reviewed),
      });
    case 'otlp':
      return (await import('../../report/export/otlp.ts')).exportOtlp([...readLines(stored)]);
    case 'cloudevents':
      return exportCloudEvents([...readLines(stored)]);
    default:
      return format satisfies never;
  }
}

function readTableOption(text: string | undefined): CsvTableName {
  if (text === undefined) return 'timeline';
  if (Object.hasOwn(CSV_TABLES, text)) return text as CsvTableName;
  const tables = Object.entries(CSV_TABLES).map(([name, { about }]) => `${name} (${about})`);
  throw new UserError(`--table takes ${tables.join(', ')}; found ${makePrintable(text, 100)}`);
}
