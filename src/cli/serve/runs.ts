/**
 * Reads runs for the review page's server: from the journals and archives of the state folder, with the folds of requested runs
 * kept up to date. It only reads; a journal or archive that appears later is found.
 */
import { existsSync } from 'node:fs';
import { UserError } from '../../app/errors.ts';
import { showInputs } from '../../app/files/load.ts';
import { readKillsDuring } from '../../app/kill/kill-records.ts';
import type { StateFolder } from '../../app/state.ts';
import { listArchives } from '../../app/stores/archives.ts';
import { listStorePlaces } from '../../app/stores/known-stores.ts';
import { accessStore, describePlace, isThere } from '../../app/stores/location.ts';
import {
  countEntries,
  findLongestJournal,
  listRuns,
  type ReadJournal,
  readAnchorFiles,
} from '../../app/stores/review.ts';
import { settle } from '../../base/clock.ts';
import { ArchiveStore, openSalvage } from '../../journal/archive/store.ts';
import { type ChainHead, EMPTY_HEAD, toHead } from '../../journal/chain.ts';
import type { Entry } from '../../journal/entry.ts';
import { readFirstEntry, readLines, readRange, Turns } from '../../journal/reading.ts';
import { readHeldEntries } from '../../journal/rounds/held-lines.ts';
import {
  type JournalReader,
  type JournalStore,
  type RunRow,
  type StoredEntry,
  StoreError,
} from '../../journal/store.ts';
import type { KillsMeanwhile } from '../../report/answers/allowed.ts';
import type { VerdictSoFar } from '../../report/answers/missing.ts';
import { verifyRun } from '../../report/compare/verify.ts';
import { EntryIndex } from '../../report/folds/entry-index.ts';
import { RunPageFold } from '../../report/folds/run-facts.ts';
import { type ListedRun, RunsList } from '../../report/folds/runs-list.ts';
import { StoryFold } from '../../report/timeline/story.ts';

/** Maximum number of cached folds: a person looks at few runs at a time. */
const MOST_FOLDS = 16;
/** Entries that are read and folded in one turn: a few milliseconds, after which other requests are answered. */
const PAGE = 200;
/** Maximum number of unfinished runs whose progress is read for the list. */
const MOST_WATCHED = 10;

export interface FoundRun {
  readonly row: RunRow;
  readonly store: ReadJournal;
}

/** Facts outside a run's entries, as of the last check. */
interface Checks {
  readonly verdict: VerdictSoFar;
  /** What was done to the kill switch of the run's account while it ran. */
  readonly kills: KillsMeanwhile;
}

const UNCHECKED: Checks = { verdict: 'under way', kills: [] };

export class ServedRuns {
  private readonly state: StateFolder;
  private readonly stores = new Map<string, Promise<JournalStore>>();
  /** By file: an archive never changes once it has its name. */
  private readonly archives = new Map<string, ArchiveStore>();
  private readonly folds = new KeptFolds(() => new RunPageFold());
  private readonly stories = new KeptFolds(() => new StoryFold());
  private readonly indexes = new KeptFolds(() => new EntryIndex());
  private readonly checked = new Map<string, Checks>();
  /** The last list, and the stamps of the stores that it is of. */
  private listed: { readonly stamp: string; readonly runs: RunsList } | undefined;

  constructor(state: StateFolder) {
    this.state = state;
  }

  /** Every run in all journals and archives, once even while it is in both. */
  async list(): Promise<RunsList> {
    const stores = await this.open();
    // Before the rows: a run that begins meanwhile is found by the next list.
    const stamp = (await Promise.all(stores.map(readStamp))).join('; ');
    if (this.listed?.stamp === stamp) return this.listed.runs;
    const runs = new RunsList(await listRuns(stores));
    this.listed = { stamp, runs };
    return runs;
  }

  /** The number of a run's last entry. */
  countEntries({ row: { run }, store }: FoundRun): Promise<number> {
    return countEntries(store, run);
  }

  /** The same rows; those without an end with their progress. */
  async addProgress(rows: readonly RunRow[], now: number): Promise<readonly ListedRun[]> {
    const watched = new Set(rows.filter(({ outcome }) => outcome === undefined).slice(0, MOST_WATCHED));
    const listed: ListedRun[] = [];
    for (const row of rows) {
      const found = watched.has(row) ? await this.find(row.run) : undefined;
      listed.push(found === undefined ? row : { ...row, progress: (await this.readFold(found)).progress(now) });
    }
    return listed;
  }

  async find(run: string): Promise<FoundRun | undefined> {
    return findLongestJournal(await this.open(), run);
  }

  /** The run's folds with all entries so far. Throws StoreError `damaged` at an unreadable line. */
  async readFold({ row: { run }, store }: FoundRun): Promise<RunPageFold> {
    return this.folds.update(store, run);
  }

  async readStory({ row: { run }, store }: FoundRun): Promise<StoryFold> {
    return this.stories.update(store, run);
  }

  async readEntryIndex({ row: { run }, store }: FoundRun): Promise<EntryIndex> {
    return this.indexes.update(store, run);
  }

  /** Stored lines after a number, or with the given numbers. */
  async readLines(
    { row: { run }, store }: FoundRun,
    wanted: { readonly after: number; readonly limit: number } | readonly number[],
  ): Promise<readonly StoredEntry[]> {
    if ('after' in wanted) return readRange(store, run, wanted);
    const found: StoredEntry[] = [];
    for (const seq of wanted) found.push(...(await readRange(store, run, { after: seq - 1, limit: 1 })));
    return found;
  }

  /** Verifies the run, reads the kill switch's records, and keeps both for later answers. */
  async check({ row, store }: FoundRun): Promise<Checks> {
    const { run } = row;
    const [verdict, kills] = await Promise.all([
      catchFailure(async () => {
        // Before the entries: a run that is being written has entries without anchors, never the reverse.
        const anchors = readAnchorFiles({ state: this.state }, { run }).flatMap((file) => file.anchors);
        return verifyRun(store, run, anchors);
      }),
      catchFailure(async () => readKillsDuring(row, await readFirstEntry(store, run), this.state)),
    ]);
    const checks = { verdict, kills };
    this.checked.set(run, checks);
    return checks;
  }

  getLastChecks({ row: { run } }: FoundRun): Checks {
    return this.checked.get(run) ?? UNCHECKED;
  }

  async close(): Promise<void> {
    for (const opened of this.stores.values()) await opened.then((store) => store.close()).catch(() => undefined);
  }

  private async open(): Promise<readonly ReadJournal[]> {
    // Reading creates no file and no folder.
    if (!existsSync(this.state.path)) return [];
    const opened: ReadJournal[] = [];
    for (const place of listStorePlaces(this.state).filter(isThere)) {
      const name = describePlace(place);
      const known = this.stores.get(name) ?? accessStore(place, this.state.environment).openJournal();
      this.stores.set(name, known);
      try {
        opened.push(await known);
      } catch (error) {
        this.stores.delete(name);
        throw error;
      }
    }
    for (const file of listArchives(this.state).there) {
      const archive = this.archives.get(file) ?? openSalvage(file);
      this.archives.set(file, archive);
      opened.push(archive);
    }
    return opened;
  }
}

/** An archive never changes. */
async function readStamp(store: ReadJournal): Promise<string> {
  return store instanceof ArchiveStore ? store.file : store.runsStamp();
}

/** A failure to read is an answer too. */
async function catchFailure<T>(read: () => Promise<T>): Promise<T | { readonly failed: string }> {
  try {
    return await read();
  } catch (error) {
    if (!(error instanceof StoreError) && !(error instanceof UserError)) throw error;
    return { failed: error.message };
  }
}

interface GrowingFold {
  readonly newest: number;
  apply(entry: Entry): void;
}

interface KeptFold<F> {
  readonly fold: F;
  /** The last line that it holds, and how many entries behind it, which the run held back when they were read. */
  head: ChainHead;
  ahead: number;
  reading: Promise<void>;
}

/** Folds of recently requested runs, updated from where they are. */
class KeptFolds<F extends GrowingFold> {
  /** By run, the least recently used first. */
  private readonly kept = new Map<string, KeptFold<F>>();
  private readonly begin: () => F;

  constructor(begin: () => F) {
    this.begin = begin;
  }

  async update(store: JournalReader, run: string): Promise<F> {
    const kept = this.kept.get(run) ?? {
      fold: this.begin(),
      head: EMPTY_HEAD,
      ahead: 0,
      reading: Promise.resolve(),
    };
    this.kept.delete(run);
    this.kept.set(run, kept);
    for (const oldest of [...this.kept.keys()].slice(0, -MOST_FOLDS)) this.kept.delete(oldest);
    // One reader at a time: two readers would apply the same entries twice.
    kept.reading = kept.reading.then(() => catchUp(store, run, kept));
    try {
      await kept.reading;
    } catch (error) {
      this.kept.delete(run);
      throw error;
    }
    return kept.fold;
  }
}

async function catchUp(store: JournalReader, run: string, kept: KeptFold<GrowingFold>): Promise<void> {
  const { fold } = kept;
  const turns = new Turns();
  for (let more = true; more; ) {
    const page = await readRange(store, run, { after: kept.head.seq, limit: PAGE });
    for (const stored of page) {
      for (const entry of readLines([stored])) {
        if (kept.ahead === 0) fold.apply(showInputs(entry));
        else kept.ahead -= 1;
        if (turns.isOver()) await settle();
      }
      kept.head = toHead(stored);
    }
    more = page.length === PAGE;
    if (more) await settle();
  }
  let held = 0;
  for await (const entry of readHeldEntries(store, run, kept.head)) {
    held += 1;
    if (held <= kept.ahead) continue;
    fold.apply(entry);
    kept.ahead = held;
  }
}
