/**
 * `runbook audit archive`: moves the runs of closed months from the journals into one compressed file per month. A run is
 * deleted from its journal only after the file was read back and its chain verified there, and only if it is the same run; so a
 * crash leaves a run in one place or in both, never in none, and the next call continues. Runs without an end and halted runs,
 * which can be resumed, are not archived.
 */
import { existsSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import { updateLedgers } from '../../app/account/ledger.ts';
import { EXIT, type ExitCode, UserError } from '../../app/errors.ts';
import { listArchives, locateArchives, lockArchiving, rememberArchive } from '../../app/stores/archives.ts';
import { accessStore } from '../../app/stores/location.ts';
import { listJournalPlaces, readAnchorFiles } from '../../app/stores/review.ts';
import { formatCount } from '../../base/format.ts';
import { makePrintable } from '../../base/printable.ts';
import { type Anchor, groupAnchorsByRun } from '../../journal/anchors/anchors.ts';
import { ArchiveWriter, removeRemains } from '../../journal/archive/archive.ts';
import { type ArchiveStore, openArchive, openSalvage } from '../../journal/archive/store.ts';
import { readStoredEntries } from '../../journal/reading.ts';
import type { JournalStore, RunRow } from '../../journal/store.ts';
import { verifyRun } from '../../report/compare/verify.ts';
import { formatText } from '../../report/format.ts';
import type { Given } from '../actions/actions.ts';
import type { Invocation } from '../invocation.ts';
import { formatStyledTable } from '../terminal/text-table.ts';

/** Result for the runs of one month in one journal. */
interface Archiving {
  readonly month: string;
  /** Absent where every run was in an archive already. */
  readonly file?: string;
  readonly runs: number;
  readonly entries: number;
  readonly bytes: number;
  readonly removed: number;
}

/** A run that is not archived, and why. */
interface Left {
  readonly run: string;
  readonly why: string;
}

export async function archiveRuns(options: Given<'audit archive'>, invocation: Invocation): Promise<ExitCode> {
  const wanted = readMonthOptions(options, formatMonth(Date.now()));
  const archive = () => archiveWanted(options, wanted, invocation);
  // Without a state folder there is nothing to archive, and none is created.
  return existsSync(invocation.state.path) ? lockArchiving(invocation.state, archive) : archive();
}

async function archiveWanted(
  options: Given<'audit archive'>,
  wanted: (month: string) => boolean,
  { terminal, state }: Invocation,
): Promise<ExitCode> {
  const folder = options.to === undefined ? locateArchives(state) : resolve(options.to);
  removeRemains(folder);
  const anchors = groupAnchorsByRun(readAnchorFiles({ state }).flatMap((each) => each.anchors));
  const done: Archiving[] = [];
  const left: Left[] = [];
  for (const place of listJournalPlaces({ state })) {
    const store = await accessStore(place, state.environment).openJournal();
    try {
      // A run in a damaged archive is archived again: its copy in the journal may be the only sound one.
      const archives = listArchives(state)
        .there.map(openSalvage)
        .filter(({ damage }) => damage === undefined);
      for (const [month, rows] of groupClosedMonths(await store.runs(), wanted)) {
        terminal.progress(`archiving ${formatCount(rows.length, 'run')} of ${month}`);
        const work = new MonthArchiver({ store, month, folder, archives, anchors, left });
        const archived = await work.archive(rows);
        if (archived.file !== undefined) rememberArchive(state, archived.file);
        // What the account holds still counts its archived runs.
        if (!options.keep) await updateLedgers(store, rows);
        done.push({ ...archived, removed: options.keep ? 0 : await work.removeFromStore() });
      }
    } finally {
      await store.close();
    }
  }
  terminal.endProgress();
  terminal.answer({ archives: done, left }, () => formatArchived(done, terminal));
  for (const { run, why } of left)
    terminal.complain(`run ${formatText(run)} was left in the journal: ${formatText(why)}`);
  return left.length === 0 ? EXIT.done : EXIT.failed;
}

interface MonthParts {
  readonly store: JournalStore;
  readonly month: string;
  readonly folder: string;
  /** Existing archives. */
  readonly archives: readonly ArchiveStore[];
  readonly anchors: ReadonlyMap<string, readonly Anchor[]>;
  readonly left: Left[];
}

class MonthArchiver {
  private readonly parts: MonthParts;
  /** Runs known to be in an archive, with the hash of their last entry. */
  private readonly held = new Map<string, string>();

  constructor(parts: MonthParts) {
    this.parts = parts;
  }

  /** Writes the runs that are not archived yet, reads them back, and gives the file its name. */
  async archive(rows: readonly RunRow[]): Promise<Omit<Archiving, 'removed'>> {
    const { month, folder } = this.parts;
    const fresh: RunRow[] = [];
    for (const row of rows) if (!(await this.isHeldAlready(row))) fresh.push(row);
    if (fresh.length === 0) return { month, runs: 0, entries: 0, bytes: 0 };
    const writer = new ArchiveWriter(folder, { month, made: new Date(Date.now()).toISOString() }, process.pid);
    try {
      const entries = await this.write(fresh, writer);
      if (entries === 0) {
        writer.abandon();
        return { month, runs: 0, entries, bytes: 0 };
      }
      writer.finish();
      const runs = await this.readBack(writer.part);
      const file = writer.publish();
      for (const { row, head } of runs) this.held.set(row.run, head);
      return { month, file, runs: runs.length, entries, bytes: statSync(file).size };
    } catch (error) {
      writer.abandon();
      throw error;
    }
  }

  async removeFromStore(): Promise<number> {
    let removed = 0;
    for (const [run, head] of this.held) if (await this.parts.store.remove(run, head)) removed += 1;
    return removed;
  }

  /** After a crash between the file and the journal, and after `--keep`, a run is in both; a different run of that name is reported. */
  private async isHeldAlready(row: RunRow): Promise<boolean> {
    const { archives, store, left } = this.parts;
    const archive = archives.find((each) => each.archived(row.run) !== undefined);
    const archived = archive?.archived(row.run);
    if (archive === undefined || archived === undefined) return false;
    const [last, ...more] = await store.read(row.run, { after: archived.entries - 1 });
    const { ok } = await verifyRun(archive, row.run, archive.ends);
    if (ok && last?.hash === archived.head && more.length === 0) this.held.set(row.run, archived.head);
    else left.push({ run: row.run, why: `${archive.file} holds a different run of that name` });
    return true;
  }

  /** Returns the number of entries written. A run that does not verify stays in the journal, as evidence. */
  private async write(rows: readonly RunRow[], writer: ArchiveWriter): Promise<number> {
    const { store, anchors, left } = this.parts;
    let written = 0;
    for (const row of rows) {
      const own = anchors.get(row.run) ?? [];
      const verdict = await verifyRun(store, row.run, own);
      if (verdict.problem !== undefined) {
        left.push({ run: row.run, why: `it was changed after it was written: ${verdict.problem.detail}` });
        continue;
      }
      const entries = [];
      for await (const entry of readStoredEntries(store, row.run)) entries.push(entry);
      writer.add(row, entries, own);
      written += entries.length;
    }
    return written;
  }

  private async readBack(part: string) {
    const archive = openArchive(part);
    const { runs, anchors } = archive.contents;
    const known = groupAnchorsByRun([...anchors, ...archive.ends]);
    for (const { row, head, entries } of runs) {
      const { ok, problem } = await verifyRun(archive, row.run, known.get(row.run) ?? []);
      const [last] = await this.parts.store.read(row.run, { after: entries - 1 });
      if (ok && last?.hash === head) continue;
      throw new UserError(
        `the archive of ${this.parts.month} could not be verified after writing (run ${formatText(row.run)}: ${formatText(problem?.detail ?? 'its last entry differs')}); nothing was deleted from the journal`,
        EXIT.failed,
        'damaged',
      );
    }
    return runs;
  }
}

/** By month, oldest first: runs that have ended, in months that have ended. */
function groupClosedMonths(
  rows: readonly RunRow[],
  wanted: (month: string) => boolean,
): readonly (readonly [string, readonly RunRow[]])[] {
  const months = new Map<string, RunRow[]>();
  for (const row of [...rows].reverse()) {
    if (row.endedAt === undefined || row.outcome === undefined || row.outcome === 'halted') continue;
    const month = formatMonth(findEnd(row, row.endedAt));
    if (!wanted(month)) continue;
    const known = months.get(month);
    if (known === undefined) months.set(month, [row]);
    else known.push(row);
  }
  return [...months].sort(([a], [b]) => (a < b ? -1 : 1));
}

/** A dry-run's own times are virtual: the date in its name counts. */
function findEnd({ run, mode }: RunRow, endedAt: number): number {
  const [, year, month, day] = /^(\d{4})(\d{2})(\d{2})T\d{9}-/.exec(run) ?? [];
  return mode === 'live' || year === undefined ? endedAt : Date.parse(`${year}-${month}-${day}T00:00:00Z`);
}

/** `2026-10`, UTC. */
function formatMonth(ms: number): string {
  return new Date(ms).toISOString().slice(0, 7);
}

function readMonthOptions(
  { month, before }: Pick<Given<'audit archive'>, 'month' | 'before'>,
  current: string,
): (month: string) => boolean {
  if (month !== undefined && before !== undefined) throw new UserError('--month and --before exclude each other');
  const given = month ?? before;
  if (given === undefined) return (each) => each < current;
  if (!/^\d{4}-(?:0[1-9]|1[0-2])$/.test(given))
    throw new UserError(
      `--${month === undefined ? 'before' : 'month'} takes a month such as 2026-10; found ${makePrintable(given, 100)}`,
    );
  if (month !== undefined) {
    if (month >= current) throw new UserError(`${month} is not over yet (UTC): only closed months are archived`);
    return (each) => each === month;
  }
  return (each) => each < given && each < current;
}

function formatArchived(done: readonly Archiving[], terminal: Invocation['terminal']): string {
  if (done.length === 0) return 'the journals hold no run of a closed month';
  return formatStyledTable(
    ['month', '#runs', '#entries', '#bytes', '#taken out', 'archive'],
    done.map(({ month, runs, entries, bytes, removed, file }) => [
      month,
      String(runs),
      String(entries),
      String(bytes),
      String(removed),
      file === undefined ? 'archived before' : formatText(file),
    ]),
    terminal,
  );
}
