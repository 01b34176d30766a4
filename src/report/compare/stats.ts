/**
 * Adds up many runs: outcomes, denied calls, requests with an unknown outcome, tokens; in total, by runbook and by day.
 */
import type { Entry, EntryType, RunMode, RunOutcome } from '../../journal/entry.ts';

export interface RunFigures {
  readonly runs: number;
  readonly outcomes: Readonly<Record<RunOutcome | 'unfinished', number>>;
  readonly requests: number;
  readonly tokens: number;
  readonly orders: number;
  /** Calls denied before they were sent. */
  readonly denials: number;
  /** Requests refused by the venue. */
  readonly rejections: number;
  /** Writes whose outcome the answer did not show. */
  readonly ambiguous: number;
  /** Order alarms, such as duplicates, orphans and late fills. */
  readonly alarms: number;
  /** Times the deadman switch must have fired. */
  readonly deadmanFired: number;
}

/** `audit stats --json`. */
export interface StatsDocument {
  readonly total: RunFigures;
  readonly byRunbook: readonly (RunFigures & { readonly runbook: string })[];
  /** Days in UTC, newest first. */
  readonly byDay: readonly (RunFigures & { readonly day: string })[];
  /** Why calls were denied, most frequent first. */
  readonly denials: readonly { readonly code: string; readonly count: number }[];
}

/** The figures of one run, without its outcome. They no longer change once the run has ended. */
export interface RunTally extends Omit<RunFigures, 'runs' | 'outcomes'> {
  /** How often calls were denied, by code. */
  readonly codes: Readonly<Record<string, number>>;
}

/** The fields of a run's row that are counted. */
export interface CountedRun {
  readonly runbook: string;
  readonly mode: RunMode;
  readonly startedAt: number;
  readonly outcome?: RunOutcome;
}

/** The entry types that count; others need not be read. */
export const TALLIED: ReadonlySet<string> = new Set<EntryType>([
  'call.intended',
  'call.attempted',
  'call.settled',
  'order.alarmed',
  'deadman.moved',
]);

/** Counts one run, entry by entry. */
export class TallyFold {
  private readonly counts = { ...NOTHING };
  private readonly codes = new Map<string, number>();
  private readonly writes = new Map<string, 'intended' | 'sent'>();

  apply(entry: Entry): void {
    const { counts, writes } = this;
    switch (entry.type) {
      case 'call.intended':
        if (!entry.data.endpoint.startsWith('GET ')) writes.set(entry.data.call, 'intended');
        if (entry.data.endpoint === 'POST /orders') counts.orders += 1;
        return;
      case 'call.attempted':
        if (writes.has(entry.data.call)) writes.set(entry.data.call, 'sent');
        counts.requests += 1;
        counts.tokens += entry.data.tokens;
        return;
      case 'call.settled': {
        const { call, kind, code = 'UNKNOWN' } = entry.data;
        if (kind === 'denied') {
          counts.denials += 1;
          this.codes.set(code, (this.codes.get(code) ?? 0) + 1);
        }
        if (kind === 'rejected') counts.rejections += 1;
        if (kind === 'unresolved' && writes.has(call)) counts.ambiguous += 1;
        writes.delete(call);
        return;
      }
      case 'order.alarmed':
        counts.alarms += 1;
        return;
      case 'deadman.moved':
        if (entry.data.event === 'assumed_fired') counts.deadmanFired += 1;
        return;
      default:
        return;
    }
  }

  /** A write whose answer is not in the journal counts as ambiguous too. */
  tally(): RunTally {
    const open = [...this.writes.values()].filter((state) => state === 'sent').length;
    return { ...this.counts, ambiguous: this.counts.ambiguous + open, codes: Object.fromEntries(this.codes) };
  }
}

const NOTHING = {
  requests: 0,
  tokens: 0,
  orders: 0,
  denials: 0,
  rejections: 0,
  ambiguous: 0,
  alarms: 0,
  deadmanFired: 0,
};
const COUNTED = Object.keys(NOTHING) as readonly (keyof typeof NOTHING)[];

type Counts = { -readonly [K in keyof RunFigures]: RunFigures[K] } & {
  outcomes: Record<RunOutcome | 'unfinished', number>;
};

const createCounts = (): Counts => ({
  runs: 0,
  outcomes: { succeeded: 0, stopped: 0, failed: 0, halted: 0, unfinished: 0 },
  ...NOTHING,
});

/** Adds up the figures of runs. */
export class StatsFold {
  private readonly total = createCounts();
  private readonly byRunbook = new Map<string, Counts>();
  private readonly byDay = new Map<string, Counts>();
  private readonly codes = new Map<string, number>();

  add({ runbook, startedAt, outcome }: CountedRun, tally: RunTally): void {
    const day = new Date(startedAt).toISOString().slice(0, 10);
    for (const counts of [this.total, findCounts(this.byRunbook, runbook), findCounts(this.byDay, day)]) {
      counts.runs += 1;
      counts.outcomes[outcome ?? 'unfinished'] += 1;
      for (const field of COUNTED) counts[field] += tally[field];
    }
    for (const [code, count] of Object.entries(tally.codes)) this.codes.set(code, (this.codes.get(code) ?? 0) + count);
  }

  document(): StatsDocument {
    return {
      total: this.total,
      byRunbook: [...this.byRunbook]
        .map(([runbook, counts]) => ({ runbook, ...counts }))
        .sort((a, b) => b.runs - a.runs || (a.runbook < b.runbook ? -1 : 1)),
      byDay: [...this.byDay].map(([day, counts]) => ({ day, ...counts })).sort((a, b) => (a.day < b.day ? 1 : -1)),
      denials: [...this.codes].map(([code, count]) => ({ code, count })).sort((a, b) => b.count - a.count),
    };
  }
}

function findCounts(map: Map<string, Counts>, key: string): Counts {
  const known = map.get(key);
  if (known !== undefined) return known;
  const counts = createCounts();
  map.set(key, counts);
  return counts;
}
