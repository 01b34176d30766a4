/**
 * Whether a journal is what was written: every run's chain, entry by entry, and then against the anchors, which know how
 * far a chain had come and what it was. Reads in pages, so that a run of any length takes the same memory. It repairs nothing.
 */
import { formatCount } from '../../base/format.ts';
import { type Anchor, anchorsByRun } from '../../journal/anchors/anchors.ts';
import { ChainCheck, type ChainProblem, readEntry } from '../../journal/chain.ts';
import { type JournalReader, type RunRow, type StoredEntry, StoreError } from '../../journal/store.ts';
import { nextRow } from '../../journal/writer.ts';

export interface RunVerdict {
  readonly run: string;
  readonly ok: boolean;
  /** Entries that are there. */
  readonly entries: number;
  /** Anchors that agree. */
  readonly anchors: number;
  /** A live run that has ended, and no anchor speaks for it: they were lost, or taken away. */
  readonly unanchored?: true;
  readonly problem?: ChainProblem;
}

/** `audit verify --json`. */
interface VerifyDocument {
  readonly ok: boolean;
  readonly runs: readonly {
    readonly run: string;
    readonly ok: boolean;
    readonly entries: number;
    readonly problem?: { readonly sequence: number; readonly kind: ChainProblem['kind'] };
  }[];
}

const PAGE = 5000;

/** Verifies every run the store has, oldest first, and every run that only the anchors still know. */
export async function verifyJournal(store: JournalReader, anchors: readonly Anchor[]): Promise<readonly RunVerdict[]> {
  const anchored = anchorsByRun(anchors);
  const runs = new Set([...(await store.runs()).map((row) => row.run).reverse(), ...anchored.keys()]);
  const verdicts: RunVerdict[] = [];
  for (const run of runs) verdicts.push(await verifyRun(store, run, anchored.get(run) ?? []));
  return verdicts;
}

/**
 * Verifies one run, also one that is being written: read the anchors before, or they may be ahead of what is read here. Of
 * several problems the one with the lowest number is named. Throws StoreError `unavailable` only.
 */
export async function verifyRun(store: JournalReader, run: string, anchors: readonly Anchor[]): Promise<RunVerdict> {
  // The same anchor may stand in several places: in an archive, and still beside the journal.
  const distinct = new Map(
    anchors.filter((anchor) => anchor.run === run).map((anchor) => [`${anchor.seq} ${anchor.head}`, anchor]),
  );
  const mine = [...distinct.values()].sort((a, b) => a.seq - b.seq);
  const reading = new Reading(mine);
  const rowBefore = await store.run(run);
  try {
    for (let after = 0, more = true; more; ) {
      const page = await store.read(run, { after, limit: PAGE });
      for (const stored of page) reading.take(stored);
      after = page.at(-1)?.seq ?? after;
      more = page.length === PAGE;
    }
  } catch (error) {
    if (!(error instanceof StoreError) || error.reason !== 'damaged') throw error;
    const sequence = error.sequence ?? reading.entries + 1;
    return reading.brokenOff(run, { sequence, kind: 'unreadable', detail: error.message });
  }
  const rowAfter = await store.run(run);
  return reading.verdict(run, reading.indexProblem(rowBefore, rowAfter));
}

/** The document of interface.md, JSON: without the sentences, which are for people. */
export function verifyDocument(verdicts: readonly RunVerdict[]): VerifyDocument {
  return {
    ok: verdicts.every((verdict) => verdict.ok),
    runs: verdicts.map(({ run, ok, entries, problem }) => ({
      run,
      ok,
      entries,
      ...(problem === undefined ? {} : { problem: { sequence: problem.sequence, kind: problem.kind } }),
    })),
  };
}

/** What a run's row says twice: its first entry does as well, and its last end. */
const BEGUN = ['runbook', 'mode', 'account', 'trigger', 'startedAt'] as const satisfies readonly (keyof RunRow)[];
const ENDED = ['outcome', 'endedAt'] as const satisfies readonly (keyof RunRow)[];
/** Those that a database calls otherwise. */
const COLUMN_NAMES: { readonly [K in keyof RunRow]?: string } = { startedAt: 'started_at', endedAt: 'ended_at' };

/** One pass over a run's entries. */
class Reading {
  entries = 0;
  private readonly chain = new ChainCheck();
  private readonly anchors: readonly Anchor[];
  private nextAnchor = 0;
  private agreed = 0;
  private rechained: ChainProblem | undefined;
  /** The row as the entries make it. */
  private row: RunRow | undefined;
  /** The entry that ended it last. */
  private endedAt: number | undefined;

  constructor(anchors: readonly Anchor[]) {
    this.anchors = anchors;
  }

  take(stored: StoredEntry): void {
    this.entries += 1;
    this.chain.add(stored);
    if ((stored.type === 'run.started' || stored.type === 'run.ended') && this.chain.found === undefined)
      this.follow(stored);
    for (
      let anchor = this.anchors[this.nextAnchor];
      anchor !== undefined && anchor.seq <= stored.seq;
      anchor = this.anchors[this.nextAnchor]
    ) {
      this.nextAnchor += 1;
      if (anchor.seq === stored.seq) this.compare(stored, anchor);
    }
  }

  /**
   * What the run's row says against what its entries say: the last entry and the row's end are one commit. The row is read
   * before and after the entries, because a run may end while it is verified.
   */
  indexProblem(before: RunRow | undefined, after: RunRow | undefined): ChainProblem | undefined {
    const { row, endedAt } = this;
    if (row === undefined) return undefined;
    const rows = [before, after];
    // A row that was written between the two readings agrees in one of them.
    const differing = (columns: readonly (keyof RunRow)[], at: number) => {
      const column = columns.find((each) => rows.every((found) => found?.[each] !== row[each]));
      if (column === undefined) return undefined;
      const said = String(after?.[column] ?? 'not ended');
      return {
        sequence: at,
        kind: 'edited',
        detail: `the run's row says ${said} (column ${COLUMN_NAMES[column] ?? column}), entry ${at} says ${row[column]}`,
      } as const;
    };
    const begun = rows.some((found) => found !== undefined) ? differing(BEGUN, 1) : undefined;
    if (begun !== undefined) return begun;
    if (endedAt !== undefined) return differing(ENDED, endedAt);
    if (before?.outcome === undefined) return undefined;
    return {
      sequence: this.entries + 1,
      kind: 'truncated',
      detail: `the run ended (${before.outcome}), but the entry that says so is not there`,
    };
  }

  verdict(run: string, other: ChainProblem | undefined): RunVerdict {
    return this.verdictOf(run, [other, this.missingTail()]);
  }

  /** Where reading came to an end before the entries did: what comes after is not known to be gone. */
  brokenOff(run: string, problem: ChainProblem): RunVerdict {
    return { ...this.verdictOf(run, [problem]), entries: Math.max(this.entries, problem.sequence - 1) };
  }

  private verdictOf(run: string, others: readonly (ChainProblem | undefined)[]): RunVerdict {
    const chain = this.chain.end();
    const found = [chain.ok ? undefined : chain.problem, this.rechained, ...others].filter(
      (each) => each !== undefined,
    );
    const [problem] = found.sort((a, b) => a.sequence - b.sequence);
    const { entries, agreed, row } = this;
    const unanchored = row?.mode === 'live' && row.outcome !== undefined && agreed === 0;
    return {
      run,
      ok: problem === undefined,
      entries,
      anchors: agreed,
      ...(unanchored ? { unanchored } : {}),
      ...(problem === undefined ? {} : { problem }),
    };
  }

  private follow(stored: StoredEntry): void {
    // A line that is no entry is the chain's finding, not ours.
    try {
      const entry = readEntry(stored);
      this.row = nextRow(this.row, entry);
      if (entry.type === 'run.ended') this.endedAt = stored.seq;
    } catch {}
  }

  private compare(stored: StoredEntry, anchor: Anchor): void {
    if (stored.hash === anchor.head) {
      this.agreed += 1;
      return;
    }
    this.rechained ??= {
      sequence: anchor.seq,
      kind: 'rechained',
      detail: `entry ${anchor.seq} is not the one anchored at ${anchor.time}: it or one before it was written anew`,
    };
  }

  private missingTail(): ChainProblem | undefined {
    const last = this.anchors.at(-1);
    const sequence = this.entries + 1;
    if (this.entries === 0)
      return {
        sequence: 1,
        kind: 'missing',
        detail: `the whole run is gone${last === undefined ? '' : `: ${formatCount(last.count, 'entry was', 'entries were')} anchored at ${last.time}`}`,
      };
    if (last === undefined || last.seq <= this.entries) return undefined;
    return {
      sequence,
      kind: 'truncated',
      detail: `${formatCount(last.seq, 'entry was', 'entries were')} anchored at ${last.time}, ${this.entries} are there`,
    };
  }
}
