/**
 * Executes the record of a run again while it is read, for a replay and for a resume. Nothing is sent meanwhile, so it is begun once more
 * where it turns out that more of the record is needed than was read.
 */
import { Divergence } from '../../engine/playback/playback.ts';
import { mayPassRounds } from '../../engine/steps/passing.ts';
import { ChainCheck } from '../../journal/chain.ts';
import type { Entry, EntryOf } from '../../journal/entry.ts';
import { ReadTooLittle, RecordAhead } from '../../journal/record-ahead.ts';
import { PassedTooMuch, type PassingRules, readParts } from '../../journal/rounds/passed-rounds.ts';
import type { JournalReader } from '../../journal/store.ts';
import type { CheckedRunbook } from '../../runbook/checked.ts';
import { ResumedTimeFold } from './resumed-clock.ts';

/** How many lines of a record are in memory at first: enough for nearly every turn, and few enough to be let go before V8 moves them. */
const LINES_AHEAD = 512;
/** How many are read in a turn of the event loop: the first of a process take 0.1 ms each. */
const LINES_AT_ONCE = 128;

/** How a record is read: how many lines at least are in memory, and whether rounds that changed nothing may be left out. */
export interface HowToRead {
  readonly ahead: number;
  readonly mayPass: boolean;
}

/** Opens a record and plays it; once more where a turn has more entries than were read, and where the engine needs rounds that were left out. */
export async function playRecord<R extends RecordAhead, T>(
  open: (how: HowToRead) => R,
  play: (record: R) => Promise<T>,
): Promise<T> {
  for (let how: HowToRead = { ahead: LINES_AHEAD, mayPass: true }; ; ) {
    const record = open(how);
    try {
      await record.readOn();
      return await play(record);
    } catch (error) {
      const lacksRounds = error instanceof PassedTooMuch || (error instanceof Divergence && record.isShort);
      // A turn of more entries, as of hundreds of branches.
      if (error instanceof ReadTooLittle) how = { ...how, ahead: how.ahead * 8 };
      else if (how.mayPass && lacksRounds) how = { ...how, mayPass: false };
      else throw error;
    }
  }
}

/** All of a record, for a replay. */
export function openRecord(store: JournalReader, run: string, { ahead }: HowToRead): RecordAhead {
  return new RecordAhead(readParts(store, run, { size: LINES_AT_ONCE }), ahead);
}

/** A record with what a process that resumes its run has to know once it is played. */
export class RecordToResume extends RecordAhead {
  readonly facts: RecordedFacts;
  /** Of all lines, also of those that are not played. */
  readonly chain: ChainCheck;

  /** `first`: the run's first entry, `runbook`: what it executes. */
  constructor(
    store: JournalReader,
    { run, data }: EntryOf<'run.started'>,
    runbook: CheckedRunbook,
    { ahead, mayPass }: HowToRead,
  ) {
    const facts = new RecordedFacts();
    const chain = new ChainCheck();
    const countsAll = Object.keys(data.bounds?.requests ?? {}).some(
      (name) => name.endsWith(' /cancel_all_after') || name.startsWith('request '),
    );
    const passing: PassingRules = { mayPass: (rounds) => mayPassRounds(runbook, rounds), countsAll };
    const look = chain.add.bind(chain);
    super(readParts(store, run, { size: LINES_AT_ONCE, look, ...(mayPass ? { passing } : {}) }), ahead, (entry) =>
      facts.apply(entry),
    );
    this.facts = facts;
    this.chain = chain;
  }
}

class RecordedFacts {
  last: Entry | undefined;
  readonly time = new ResumedTimeFold();
  readonly acts: EntryOf<'operator.acted'>[] = [];
  private readonly notices: EntryOf<'notification.sent'>[] = [];
  private readonly settled = new Set<string>();

  apply(entry: Entry): void {
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
