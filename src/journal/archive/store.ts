/** An archive read as a journal is: every verb that reviews runs reads one. */
import type { Anchor } from '../anchors/anchors.ts';
import {
  fittingRuns,
  type JournalReader,
  type RunFilter,
  type RunRow,
  type StoredEntry,
  StoreError,
} from '../store.ts';
import { type ArchiveContents, type ArchivedRun, readContents, readRun } from './archive.ts';
import { salvagedContents } from './salvage.ts';

/** Opens an archive. Throws a StoreError that names the file: `damaged` where it is no whole archive. */
export function openArchive(file: string): ArchiveStore {
  return new ArchiveStore(file, readContents(file));
}

/** Opens an archive whatever state it is in: of one that is no whole archive, what can be found of its runs. */
export function openSalvage(file: string): ArchiveStore {
  try {
    return openArchive(file);
  } catch (error) {
    if (!(error instanceof StoreError)) throw error;
    return new ArchiveStore(file, salvagedContents(file), error.message);
  }
}

export class ArchiveStore implements JournalReader {
  readonly file: string;
  readonly contents: ArchiveContents;
  /** Why it is no whole archive, as a sentence. */
  readonly damage: string | undefined;
  private readonly byRun: ReadonlyMap<string, ArchivedRun>;
  /** The run read last: it is asked for in pages. */
  private last: { readonly run: string; readonly read: ReturnType<typeof readRun> } | undefined;

  constructor(file: string, contents: ArchiveContents, damage?: string) {
    this.file = file;
    this.damage = damage;
    this.contents = contents;
    this.byRun = new Map(contents.runs.map((archived) => [archived.row.run, archived]));
  }

  /** What the table of contents says of each run's end, as an anchor says it: a run that was cut short here shows. */
  get ends(): readonly Anchor[] {
    const { runs, made } = this.contents;
    // What was found of a broken archive says nothing of where its runs ended.
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

  /** Rejects with StoreError `damaged`, and the number of the entry, where the part of this run is broken. */
  async read(
    run: string,
    { after = 0, limit = Infinity }: { readonly after?: number; readonly limit?: number } = {},
  ): Promise<readonly StoredEntry[]> {
    const archived = this.byRun.get(run);
    if (archived === undefined) return [];
    if (this.last?.run !== run) this.last = { run, read: readRun(this.file, archived) };
    const { entries, damage } = await this.last.read;
    const page = entries.filter((entry) => entry.seq > after).slice(0, limit);
    if (damage !== undefined && page.length < limit) throw damage;
    return page;
  }

  async runs(filter: RunFilter = {}): Promise<readonly RunRow[]> {
    return fittingRuns(
      this.contents.runs.map(({ row }) => row),
      filter,
    );
  }

  async run(run: string): Promise<RunRow | undefined> {
    return this.byRun.get(run)?.row;
  }

  async close(): Promise<void> {}
}
