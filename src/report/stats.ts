/**
 * Many runs in figures: how they ended, what was refused here, what stayed unclear at the venue, what they cost in tokens;
 * in all, by runbook and by day. It adds up and judges nothing.
 */
import type { Entry, RunMode, RunOutcome } from '../journal/entry.ts';

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

type Counts = { -readonly [K in keyof RunFigures]: RunFigures[K] } & {
  outcomes: Record<RunOutcome | 'unfinished', number>;
};

const nothing = (): Counts => ({
  runs: 0,
  outcomes: { succeeded: 0, stopped: 0, failed: 0, halted: 0, unfinished: 0 },
  requests: 0,
  tokens: 0,
  orders: 0,
  denials: 0,
  rejections: 0,
  ambiguous: 0,
  alarms: 0,
  deadmanFired: 0,
});

/** A run's row, as far as it matters here. */
export interface CountedRun {
  readonly runbook: string;
  readonly mode: RunMode;
  readonly startedAt: number;
  readonly outcome?: RunOutcome;
}

export class StatsFold {
  private readonly total = nothing();
  private readonly byRunbook = new Map<string, Counts>();
  private readonly byDay = new Map<string, Counts>();
  private readonly codes = new Map<string, number>();

  /** Adds a run. What it gives takes the run's entries, and is told when there are no more. */
  begin({ runbook, startedAt, outcome }: CountedRun): { apply(entry: Entry): void; end(): void } {
    const counts = [
      this.total,
      countsFor(this.byRunbook, runbook),
      countsFor(this.byDay, new Date(startedAt).toISOString().slice(0, 10)),
    ];
    for (const each of counts) {
      each.runs += 1;
      each.outcomes[outcome ?? 'unfinished'] += 1;
    }
    const writes = new Map<string, 'meant' | 'sent'>();
    return {
      apply: (entry) => this.count(entry, counts, writes),
      // A journal that ends between a request and its answer: whether it happened is not known either.
      end: () => {
        const open = [...writes.values()].filter((state) => state === 'sent').length;
        for (const each of counts) each.ambiguous += open;
      },
    };
  }

  private count(entry: Entry, counts: readonly Counts[], writes: Map<string, 'meant' | 'sent'>): void {
    const add = (field: Exclude<keyof RunFigures, 'outcomes'>, by = 1) => {
      for (const each of counts) each[field] += by;
    };
    switch (entry.type) {
      case 'call.intended':
        if (!entry.data.endpoint.startsWith('GET ')) writes.set(entry.data.call, 'meant');
        if (entry.data.endpoint === 'POST /orders') add('orders');
        return;
      case 'call.attempted':
        if (writes.has(entry.data.call)) writes.set(entry.data.call, 'sent');
        add('requests');
        add('tokens', entry.data.tokens);
        return;
      case 'call.settled': {
        const { call, kind, code } = entry.data;
        if (kind === 'denied') {
          add('denials');
          const word = code ?? 'UNKNOWN';
          this.codes.set(word, (this.codes.get(word) ?? 0) + 1);
        }
        if (kind === 'rejected') add('rejections');
        if (kind === 'unresolved' && writes.has(call)) add('ambiguous');
        writes.delete(call);
        return;
      }
      case 'order.alarmed':
        add('alarms');
        return;
      case 'deadman.moved':
        if (entry.data.event === 'assumed_fired') add('deadmanFired');
        return;
      default:
        return;
    }
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
