/** Reads what a process that resumes a run needs of its journal: the record to play, and facts that it must know before that. */
import { mayPassRounds } from '../../engine/steps/passing.ts';
import { ChainCheck, type ChainVerdict } from '../../journal/chain.ts';
import type { Entry, EntryOf } from '../../journal/entry.ts';
import { readRecordedRun } from '../../journal/reading.ts';
import { type PassedRounds, readShortenedRun } from '../../journal/rounds/passed-rounds.ts';
import type { JournalReader, StoredEntry } from '../../journal/store.ts';
import type { CheckedRunbook } from '../../runbook/checked.ts';
import { ResumedTimeFold } from './resumed-clock.ts';

export interface RecordToPlay {
  readonly facts: RecordedFacts;
  readonly entries: Iterable<Entry | PassedRounds>;
  readonly last: StoredEntry | undefined;
  /** Whether it lacks rounds that changed nothing: where the engine does not pass over them, the whole record has to be played. */
  readonly isShort: boolean;
  /** Of all lines, also of those that are not played. */
  readonly chain: ChainVerdict;
}

/** Reads the whole record. Throws StoreError `damaged` at an unreadable line. */
export async function readWholeRecord(store: JournalReader, run: string): Promise<RecordToPlay> {
  const facts = new RecordedFacts();
  const chain = new ChainCheck();
  const entries = await readRecordedRun(store, run, (entry, stored) => {
    facts.apply(entry);
    chain.add(stored);
  });
  return { facts, entries, last: entries.lines.at(-1), isShort: false, chain: chain.end() };
}

/**
 * Reads the record without the rounds that need not be played. `load` gives the runbook of a run's first entry.
 */
export async function readRecord(
  store: JournalReader,
  run: string,
  load: (first: EntryOf<'run.started'>) => CheckedRunbook,
): Promise<RecordToPlay> {
  const facts = new RecordedFacts();
  const chain = new ChainCheck();
  let runbook: CheckedRunbook | undefined;
  const short = await readShortenedRun(store, run, {
    look: (stored) => chain.add(stored),
    visit: (entry) => facts.apply(entry),
    mayPass: (rounds) => {
      const { first } = facts;
      if (first?.type !== 'run.started') return false;
      runbook ??= load(first);
      return mayPassRounds(runbook, rounds);
    },
    countsAll: () => {
      const bounds = facts.first?.type === 'run.started' ? facts.first.data.bounds?.requests : undefined;
      return Object.keys(bounds ?? {}).some(
        (name) => name.endsWith(' /cancel_all_after') || name.startsWith('request '),
      );
    },
  });
  if (short === undefined) return readWholeRecord(store, run);
  return { facts, entries: short, last: short.last, isShort: short.isShort, chain: chain.end() };
}

export class RecordedFacts {
  first: Entry | undefined;
  last: Entry | undefined;
  readonly time = new ResumedTimeFold();
  readonly acts: EntryOf<'operator.acted'>[] = [];
  private readonly notices: EntryOf<'notification.sent'>[] = [];
  private readonly settled = new Set<string>();

  apply(entry: Entry): void {
    this.first ??= entry;
    this.last = entry;
    this.time.apply(entry);
    if (entry.type === 'operator.acted') this.acts.push(entry);
    if (entry.type === 'notification.sent') this.notices.push(entry);
    if (entry.type === 'notification.settled') this.settled.add(entry.step);
  }

  /** Messages of which the journal does not say whether they were delivered. */
  listUnsettledNotices(): readonly EntryOf<'notification.sent'>[] {
    return this.notices.filter(({ step }) => !this.settled.has(step));
  }
}
