/**
 * Many runs in figures: how they ended, what was refused here, what stayed unclear at the venue, what they cost in tokens;
 * in all, by runbook and by day. It adds up and judges nothing.
 */
import type { Entry, EntryType, RunMode, RunOutcome } from '../../journal/entry.ts';

export interface RunFigures {
  readonly runs: number;
  readonly outcomes: Readonly<Record<RunOutcome | 'unfinished', number>>;
  readonly requests: number;
  readonly tokens: number;
  readonly orders: number;
  /** Calls refused here, before anything was sent. */
  readonly denials: number;
  /** Refused by the venue. */
  readonly rejections: number;
  /** Writes whose answer did not say whether they happened. */
  readonly ambiguous: number;
  /** Order alarms: duplicates, orphans, late fills and the like. */
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
  /** Why calls were refused here, most frequent first. */
  readonly denials: readonly { readonly code: string; readonly count: number }[];
}

/** What one run adds up to, but for its outcome: the same for ever, once it has ended. */
export interface RunTally extends Omit<RunFigures, 'runs' | 'outcomes'> {
  /** Why calls were refused here, and how often. */
  readonly codes: Readonly<Record<string, number>>;
}

/** A run's row, as far as it matters here. */
export interface CountedRun {
  readonly runbook: string;
  readonly mode: RunMode;
  readonly startedAt: number;
  readonly outcome?: RunOutcome;
}

/** The entries that count: others need not be read. */
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
  private readonly writes = new Map<string, 'meant' | 'sent'>();

  apply(entry: Entry): void {
    const { counts, writes } = this;
    switch (entry.type) {
      case 'call.intended':
        if (!entry.data.endpoint.startsWith('GET ')) writes.set(entry.data.call, 'meant');
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

  /** A journal that ends between a request and its answer: whether it happened is not known either. */
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

const nothing = (): Counts => ({
  runs: 0,
  outcomes: { succeeded: 0, stopped: 0, failed: 0, halted: 0, unfinished: 0 },
  ...NOTHING,
});

/** Adds runs up. */
export class StatsFold {
  private readonly total = nothing();
  private readonly byRunbook = new Map<string, Counts>();
  private readonly byDay = new Map<string, Counts>();
  private readonly codes = new Map<string, number>();

  add({ runbook, startedAt, outcome }: CountedRun, tally: RunTally): void {
    const day = new Date(startedAt).toISOString().slice(0, 10);
    for (const counts of [this.total, countsFor(this.byRunbook, runbook), countsFor(this.byDay, day)]) {
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

function countsFor(map: Map<string, Counts>, key: string): Counts {
  const known = map.get(key);
  if (known !== undefined) return known;
  const counts = nothing();
  map.set(key, counts);
  return counts;
}
