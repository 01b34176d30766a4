/** `runbook audit export`: prints a run in the format of another tool, on standard output. Sends nothing anywhere. */

import { EXIT, type ExitCode, UserError } from '../../app/errors.ts';
import { showInputs } from '../../app/files/load.ts';
import { readKillsOfRun } from '../../app/kill/kill-records.ts';
import { type Reviewed, readAnchorFiles, withRun } from '../../app/stores/review.ts';
import { makePrintable } from '../../base/printable.ts';
import { foldEntries, readEntries, readFirstEntry, readStoredEntries } from '../../journal/reading.ts';
import type { JournalReader, RunRow } from '../../journal/store.ts';
import { verifyRun } from '../../report/compare/verify.ts';
import { formatCloudEvent } from '../../report/export/cloudevents.ts';
import { CSV_TABLES, type CsvTableName, listCsv } from '../../report/export/csv.ts';
import { formatJsonLine } from '../../report/export/jsonl.ts';
import { RunOutlineFold } from '../../report/folds/run.ts';
import { HtmlFold } from '../../report/html/report.ts';
import type { Given } from '../actions/actions.ts';
import type { ExportFormat } from '../choices.ts';
import type { Invocation } from '../invocation.ts';

export async function exportRun(given: Given<'audit export'>, review: Invocation): Promise<ExitCode> {
  const { terminal } = review;
  const { format } = given;
  if (given.table !== undefined && format !== 'csv') throw new UserError('--table belongs to --format csv');
  const table = readTableOption(given.table);
  return withRun(review, given.run, async (store, row) => {
    const { run } = row;
    const anchors = readAnchorFiles(review, { run }).flatMap((file) => file.anchors);
    const pieces = exportAs(store, row, { format, table, anchors, reviewed: review });
    await terminal.answerInPieces(quotePieces({ run, format }, pieces), pieces);
    return EXIT.done;
  });
}

/** The JSON of the document with its `text`, piece by piece. */
async function* quotePieces(document: object, pieces: AsyncIterable<string>): AsyncGenerator<string> {
  yield `${JSON.stringify(document).slice(0, -1)},"text":"`;
  for await (const piece of pieces) yield JSON.stringify(piece).slice(1, -1);
  yield '"}';
}

interface Wanted {
  readonly format: ExportFormat;
  readonly table: CsvTableName;
  readonly anchors: Parameters<typeof verifyRun>[2];
  readonly reviewed: Reviewed;
}

async function* exportAs(
  store: JournalReader,
  row: RunRow,
  { format, table, anchors, reviewed }: Wanted,
): AsyncGenerator<string> {
  const { run } = row;
  switch (format) {
    // Unchanged: a damaged journal can also be exported, for analysis.
    case 'jsonl':
      for await (const stored of readStoredEntries(store, run)) yield formatJsonLine(stored);
      return;
    case 'csv':
      return yield* exportTable(store, run, table);
    case 'html': {
      const page = new HtmlFold();
      await foldEntries(store, run, { apply: (entry) => page.apply(showInputs(entry)) });
      const verdict = await verifyRun(store, run, anchors);
      return yield* page.write({
        verdict,
        kills: await readKillsOfRun(row, await readFirstEntry(store, run), reviewed),
      });
    }
    case 'otlp': {
      const { TraceFold } = await import('../../report/export/otlp.ts');
      const fold = new TraceFold();
      await refuseDamaged(store, run);
      for await (const entry of readEntries(store, run)) yield fold.write(entry);
      return yield fold.end();
    }
    case 'cloudevents':
      await refuseDamaged(store, run);
      for await (const entry of readEntries(store, run)) yield formatCloudEvent(entry);
      return;
    default:
      format satisfies never;
  }
}

/** A damaged journal is refused before the first line is written. */
async function refuseDamaged(store: JournalReader, run: string): Promise<void> {
  await foldEntries(store, run, { apply() {} });
}

async function* exportTable(store: JournalReader, run: string, table: CsvTableName): AsyncGenerator<string> {
  const known = await foldEntries(store, run, new RunOutlineFold());
  const { head, apply, end } = listCsv(known, table);
  yield head;
  for await (const entry of readEntries(store, run)) {
    // A run that goes on is exported as it was.
    if (entry.seq > known.newest) break;
    yield apply(entry);
  }
  yield end();
}

function readTableOption(text: string | undefined): CsvTableName {
  if (text === undefined) return 'timeline';
  if (Object.hasOwn(CSV_TABLES, text)) return text as CsvTableName;
  const tables = Object.entries(CSV_TABLES).map(([name, { about }]) => `${name} (${about})`);
  throw new UserError(`--table takes ${tables.join(', ')}; found ${makePrintable(text, 100)}`);
}
