/** Reads an archive through the interface of a journal, so that every command that reviews runs can read it. */
import type { Anchor } from '../anchors/anchors.ts';
import { filterRuns, type JournalReader, type RunFilter, type RunRow, type StoredEntry, StoreError } from '../store.ts';
import { type ArchiveContents, type ArchivedRun, readContents, readRun } from './archive.ts';
import { salvageContents } from './salvage.ts';

/** Opens an archive. Throws a StoreError that names the file: `damaged` when the archive is not whole. */
export function openArchive(file: string): ArchiveStore {
  return new ArchiveStore(file, readContents(file));
}

/** Opens an archive in any state; in a damaged one, finds the runs that can still be read. */
export function openSalvage(file: string): ArchiveStore {
  try {
    return openArchive(file);
  } catch (error) {
    if (!(error instanceof StoreError)) throw error;
    return new ArchiveStore(file, salvageContents(file), error.message);
  }
}

export class ArchiveStore implements JournalReader {
  readonly file: string;
  readonly contents: ArchiveContents;
  /** Why the archive is not whole, as a sentence; undefined for a whole one. */
  readonly damage: string | undefined;
  private readonly byRun: ReadonlyMap<string, ArchivedRun>;
  /** The run read last, kept because runs are read in pages. */
  private last: { readonly run: string; readonly read: ReturnType<ArchiveStore['readWhole']> } | undefined;

  constructor(file: string, contents: ArchiveContents, damage?: string) {
    this.file = file;
    this.damage = damage;
    this.contents = contents;
    this.byRun = new Map(contents.runs.map((archived) => [archived.row.run, archived]));
  }

  /** The end of each run from the table of contents, in the form of anchors, so that a truncated run is detected. */
  get ends(): readonly Anchor[] {
    const { runs, made } = this.contents;
    // A damaged archive does not say where its runs ended.
    if (this.damage !== undefined) return [];
    return runs.map(({ row, entries, head }) => ({
      v: 1,
      run: row.run,
      seq: entries,
      head,
      count: entries,
      time: made,
    }));
  }

  archived(run: string): ArchivedRun | undefined {
    return this.byRun.get(run);
  }

  /** Rejects with StoreError `damaged`, with the number of the first lost entry, when this run's member is damaged. */
  async read(
    run: string,
    { after = 0, limit = Infinity }: { readonly after?: number; readonly limit?: number } = {},
  ): Promise<readonly StoredEntry[]> {
    const archived = this.byRun.get(run);
    if (archived === undefined) return [];
    if (this.last?.run !== run) this.last = { run, read: this.readWhole(archived) };
    const { entries, damage, isWhole } = await this.last.read;
    const page = isWhole
      ? entries.slice(after, after + limit)
      : entries.filter((entry) => entry.seq > after).slice(0, limit);
    if (damage !== undefined && page.length < limit) throw damage;
    return page;
  }

  /** `isWhole`: each entry is at its place, so that no page has to be searched for. */
  private async readWhole(archived: ArchivedRun) {
    const read = await readRun(this.file, archived);
    return { ...read, isWhole: read.entries.every(({ seq }, index) => seq === index + 1) };
  }

  async runs(filter: RunFilter = {}): Promise<readonly RunRow[]> {
    return filterRuns(
      this.contents.runs.map(({ row }) => row),
      filter,
    );
  }

  async run(run: string): Promise<RunRow | undefined> {
    return this.byRun.get(run)?.row;
  }

  async close(): Promise<void> {}
}
