/**
 * Verifies that a journal is what was written: the chain of every run, entry by entry, and then the anchors, which record the
 * length and the head of a chain. It reads in pages, so a run of any length takes the same memory. It repairs nothing.
 */
import { formatCount } from '../../base/format.ts';
import { isAccountChain } from '../../journal/account/acts.ts';
import { type Anchor, groupAnchorsByRun } from '../../journal/anchors/anchors.ts';
import { ChainCheck, type ChainProblem, makeProblem, readEntry } from '../../journal/chain.ts';
import type { EntryOf } from '../../journal/entry.ts';
import { type JournalReader, type RunRow, type StoredEntry, StoreError } from '../../journal/store.ts';
import { updateRow } from '../../journal/writer.ts';
import { composeAccountKey } from '../../venue/profile/base-url.ts';

export interface RunVerdict {
  readonly run: string;
  readonly ok: boolean;
  /** The number of entries found. */
  readonly entries: number;
  /** The number of anchors that agree. */
  readonly anchors: number;
  /** The run is live and has ended, and no anchor confirms it: the anchors were lost or removed. */
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

/** What the journal of the account must agree with. */
export interface RunFacts {
  /** The key of the account; undefined for a run that is not live, or that names no venue. */
  readonly account: string | undefined;
  readonly startedAt: number;
  /** Hash of the first entry. */
  readonly first: string;
  readonly entries: number;
  /** The run's ends: number and hash. */
  readonly ends: ReadonlyMap<number, string>;
  /** Public keys of people, by name, in the profile that it began with. */
  readonly keys: ReadonlyMap<string, string>;
  /** Approvals and refusals of people. */
  readonly answers: readonly {
    readonly seq: number;
    readonly command: string;
    readonly by: string;
    readonly step?: string;
  }[];
}

const PAGE = 5000;

/** Verifies every run of the store, oldest first, and every run that only the anchors know. */
export async function verifyJournal(
  store: JournalReader,
  anchors: readonly Anchor[],
  collect?: (run: string, facts: RunFacts) => void,
): Promise<readonly RunVerdict[]> {
  const anchored = groupAnchorsByRun(anchors.filter(({ run }) => !isAccountChain(run)));
  const runs = new Set([...(await store.runs()).map((row) => row.run).reverse(), ...anchored.keys()]);
  const verdicts: RunVerdict[] = [];
  for (const run of runs)
    verdicts.push(await verifyRun(store, run, anchored.get(run) ?? [], (facts) => collect?.(run, facts)));
  return verdicts;
}

/**
 * Verifies one run. The run may still be written: read the anchors before the call, or they may be ahead of the entries. Of
 * several problems it names the one with the lowest entry number. Throws only StoreError `unavailable`.
 */
export async function verifyRun(
  store: JournalReader,
  run: string,
  anchors: readonly Anchor[],
  collect?: (facts: RunFacts) => void,
): Promise<RunVerdict> {
  // The same anchor may be in several places, such as an archive and the file beside the journal.
  const distinct = new Map(
    anchors.filter((anchor) => anchor.run === run).map((anchor) => [`${anchor.seq} ${anchor.head}`, anchor]),
  );
  const mine = [...distinct.values()].sort((a, b) => a.seq - b.seq);
  const check = new RunCheck(mine);
  const rowBefore = await store.run(run);
  try {
    for (let after = 0, more = true; more; ) {
      const page = await store.read(run, { after, limit: PAGE });
      for (const stored of page) check.addEntry(stored);
      after = page.at(-1)?.seq ?? after;
      more = page.length === PAGE;
    }
  } catch (error) {
    if (!(error instanceof StoreError) || error.reason !== 'damaged') throw error;
    const sequence = error.sequence ?? check.entries + 1;
    return check.breakOff(run, makeProblem(sequence, 'unreadable', error.message));
  }
  const rowAfter = await store.run(run);
  const facts = check.getFacts();
  if (facts !== undefined) collect?.(facts);
  return check.finish(run, check.findRowProblem(rowBefore, rowAfter));
}

/** The same of the chain of an account, given all of its lines. */
export function verifyChain(lines: readonly StoredEntry[], anchors: readonly Anchor[]): Promise<RunVerdict> {
  const reader: JournalReader = {
    read: async (_run, { after = 0 } = {}) => lines.filter(({ seq }) => seq > after),
    run: async () => undefined,
    runs: async () => [],
    close: async () => {},
  };
  return verifyRun(reader, lines[0]?.run ?? '', anchors);
}

/** The document of interface.md, JSON; without the sentences, which are for people. */
export function makeVerifyDocument(verdicts: readonly RunVerdict[]): VerifyDocument {
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

/** Columns of a run's row that its first entry repeats, and columns that its last end repeats. */
const BEGUN = ['runbook', 'mode', 'account', 'trigger', 'startedAt'] as const satisfies readonly (keyof RunRow)[];
const ENDED = ['outcome', 'endedAt'] as const satisfies readonly (keyof RunRow)[];
/** Columns with another name in the database. */
const COLUMN_NAMES: { readonly [K in keyof RunRow]?: string } = { startedAt: 'started_at', endedAt: 'ended_at' };

function readKeys(people: unknown): ReadonlyMap<string, string> {
  if (typeof people !== 'object' || people === null) return new Map();
  const given = Object.entries(people as Readonly<Record<string, { readonly key?: unknown } | null>>);
  return new Map(given.flatMap(([name, person]) => (typeof person?.key === 'string' ? [[name, person.key]] : [])));
}

/** Types of entries that are read; of the others the chain says enough. */
const FOLLOWED: ReadonlySet<string> = new Set(['run.started', 'run.ended', 'operator.acted']);

/** One pass over a run's entries. */
class RunCheck {
  entries = 0;
  private readonly chain = new ChainCheck();
  private readonly anchors: readonly Anchor[];
  private nextAnchor = 0;
  private agreed = 0;
  private rechained: ChainProblem | undefined;
  /** The row that follows from the entries. */
  private row: RunRow | undefined;
  /** Sequence number of the run's last end. */
  private endSequence: number | undefined;
  private begun: Pick<RunFacts, 'account' | 'startedAt' | 'first' | 'keys'> | undefined;
  private readonly ends = new Map<number, string>();
  private readonly answers: RunFacts['answers'][number][] = [];

  constructor(anchors: readonly Anchor[]) {
    this.anchors = anchors;
  }

  addEntry(stored: StoredEntry): void {
    this.entries += 1;
    this.chain.add(stored);
    if (FOLLOWED.has(stored.type)) this.follow(stored);
    for (
      let anchor = this.anchors[this.nextAnchor];
      anchor !== undefined && anchor.seq <= stored.seq;
      anchor = this.anchors[this.nextAnchor]
    ) {
      this.nextAnchor += 1;
      if (anchor.seq === stored.seq) this.compareAnchor(stored, anchor);
    }
  }

  /**
   * Compares the run's row with its entries: the last entry and the end in the row are one commit. The row is read before and
   * after the entries, because a run may end while it is verified.
   */
  findRowProblem(before: RunRow | undefined, after: RunRow | undefined): ChainProblem | undefined {
    const { row, endSequence } = this;
    if (row === undefined) return undefined;
    const rows = [before, after];
    // A row that was written between the two reads agrees with one of them.
    const findDifference = (columns: readonly (keyof RunRow)[], sequence: number) => {
      const column = columns.find((each) => rows.every((found) => found?.[each] !== row[each]));
      if (column === undefined) return undefined;
      const said = String(after?.[column] ?? 'not ended');
      return makeProblem(
        sequence,
        'edited',
        `the run's row says ${said} (column ${COLUMN_NAMES[column] ?? column}), entry ${sequence} says ${row[column]}`,
      );
    };
    const begun = rows.some((found) => found !== undefined) ? findDifference(BEGUN, 1) : undefined;
    if (begun !== undefined) return begun;
    if (endSequence !== undefined) return findDifference(ENDED, endSequence);
    if (before?.outcome === undefined) return undefined;
    return makeProblem(
      this.entries + 1,
      'truncated',
      `the run ended (${before.outcome}), but the entry of its end is missing`,
    );
  }

  finish(run: string, other: ChainProblem | undefined): RunVerdict {
    return this.makeVerdict(run, [other, this.findMissingTail()]);
  }

  /** The verdict if reading stopped before the last entry: later entries are not known to be missing. */
  breakOff(run: string, problem: ChainProblem): RunVerdict {
    return { ...this.makeVerdict(run, [problem]), entries: Math.max(this.entries, problem.sequence - 1) };
  }

  private makeVerdict(run: string, others: readonly (ChainProblem | undefined)[]): RunVerdict {
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
    // The chain check reports a line that is not an entry.
    try {
      const entry = readEntry(stored);
      if (entry.type === 'operator.acted') this.noteAnswer(entry);
      if (entry.type === 'run.started') this.noteStart(entry);
      if (entry.type === 'run.ended') this.ends.set(stored.seq, stored.hash);
      if (entry.type === 'operator.acted' || this.chain.found !== undefined) return;
      this.row = updateRow(this.row, entry);
      if (entry.type === 'run.ended') this.endSequence = stored.seq;
    } catch {}
  }

  private noteStart({ hash, data }: EntryOf<'run.started'>): void {
    const url = data.settings['base_url'];
    const isOfAccount = data.mode === 'live' && typeof url === 'string';
    const account = isOfAccount ? composeAccountKey(url, data.account) : undefined;
    this.begun ??= { account, startedAt: data.startedAt, first: hash, keys: readKeys(data.settings['people']) };
  }

  private noteAnswer({ seq, data: { command, by, step } }: EntryOf<'operator.acted'>): void {
    if (command !== 'approve' && command !== 'reject') return;
    this.answers.push({ seq, command, by, ...(step === undefined ? {} : { step }) });
  }

  getFacts(): RunFacts | undefined {
    const { begun, entries, ends, answers } = this;
    return begun === undefined ? undefined : { ...begun, entries, ends, answers };
  }

  private compareAnchor(stored: StoredEntry, anchor: Anchor): void {
    if (stored.hash === anchor.head) {
      this.agreed += 1;
      return;
    }
    this.rechained ??= {
      sequence: anchor.seq,
      kind: 'rechained',
      detail: `entry ${anchor.seq} differs from the one anchored at ${anchor.time}: it or an earlier entry was rewritten`,
    };
  }

  private findMissingTail(): ChainProblem | undefined {
    const last = this.anchors.at(-1);
    const sequence = this.entries + 1;
    if (this.entries === 0)
      return makeProblem(
        1,
        'missing',
        `the whole run is missing${last === undefined ? '' : `: ${formatCount(last.count, 'entry was', 'entries were')} anchored at ${last.time}`}`,
      );
    if (last === undefined || last.seq <= this.entries) return undefined;
    return makeProblem(
      sequence,
      'truncated',
      `${formatCount(last.seq, 'entry was', 'entries were')} anchored at ${last.time}, ${this.entries} found`,
    );
  }
}
