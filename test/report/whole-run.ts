/** Exports and timelines of entries that are all in memory; the program makes them entry by entry. */
import type { Entry } from '../../src/journal/entry.ts';
import type { StoredEntry } from '../../src/journal/store.ts';
import type { StoredRun } from '../../src/report/compare/diff.ts';
import { formatCloudEvent } from '../../src/report/export/cloudevents.ts';
import { type CsvTableName, listCsv } from '../../src/report/export/csv.ts';
import { formatJsonLine } from '../../src/report/export/jsonl.ts';
import { TraceFold } from '../../src/report/export/otlp.ts';
import { RunFold, RunOutlineFold } from '../../src/report/folds/run.ts';
import { HtmlFold } from '../../src/report/html/report.ts';
import { TimelineFold, type TimelineRow } from '../../src/report/timeline/timeline.ts';

export function foldAll<F extends { apply(entry: Entry): unknown }>(entries: Iterable<Entry>, fold: F): F {
  for (const entry of entries) fold.apply(entry);
  return fold;
}

export const makeRunReport = (entries: Iterable<Entry>) => foldAll(entries, new RunFold()).report();

/** A journal of a run in memory. */
export function storeRun(entries: readonly Entry[]): StoredRun {
  const lines = entries.map((entry): StoredEntry => {
    const { hash, run, seq, at, type, step } = entry;
    return { hash, run, seq, at, type, step, line: JSON.stringify({ ...entry, hash: undefined }) };
  });
  const read: StoredRun['store']['read'] = async (_run, { after = 0, limit = lines.length } = {}) =>
    lines.filter(({ seq }) => seq > after).slice(0, limit);
  return { store: { read, accountRows: async () => [] }, run: entries[0]?.run ?? '' };
}

export const exportHtml = (entries: Iterable<Entry>, options: Parameters<HtmlFold['write']>[0] = {}): string =>
  [...foldAll(entries, new HtmlFold()).write(options)].join('');

export const exportJsonl = (entries: Iterable<StoredEntry>): string => [...entries].map(formatJsonLine).join('');

export const exportCloudEvents = (entries: Iterable<Entry>): string => [...entries].map(formatCloudEvent).join('');

export function exportOtlp(entries: Iterable<Entry>): string {
  const fold = new TraceFold();
  return [...[...entries].map((entry) => fold.write(entry)), fold.end()].join('');
}

export const makeSpans = (entries: Iterable<Entry>) => foldAll(entries, new TraceFold()).endSpans();

export function exportCsv(entries: readonly Entry[], table: CsvTableName = 'timeline'): string {
  const { head, apply, end } = listCsv(foldAll(entries, new RunOutlineFold()), table);
  return `${head}${entries.map(apply).join('')}${end()}`;
}

export function makeTimeline(entries: Iterable<Entry>): readonly TimelineRow[] {
  const fold = new TimelineFold();
  return [...[...entries].flatMap((entry) => fold.apply(entry)), ...fold.unanswered()];
}
