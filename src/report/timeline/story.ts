/**
 * The run told in sentences, as far as it has come: the timeline of the report, without reads and keep-alives that changed
 * nothing. Beside the page's other folds, because telling costs as much as all of those together and not everybody asks.
 */
import type { Entry } from '../../journal/entry.ts';
import { RoutineFilter } from './routine.ts';
import { TimelineFold, type TimelineRow } from './timeline.ts';

interface StoryDocument {
  readonly from: number;
  /** Rows there are so far. */
  readonly total: number;
  readonly rows: readonly TimelineRow[];
}

/** It is told up to here; what comes after is in the entries. */
const MOST_ROWS = 20_000;

export class StoryFold {
  private readonly timeline = new TimelineFold();
  private readonly routine = new RoutineFilter();
  private readonly told: TimelineRow[] = [];
  private seq = 0;
  private hasEnded = false;

  apply(entry: Entry): void {
    this.seq = entry.seq;
    if (entry.type === 'run.ended') this.hasEnded = true;
    if (entry.type === 'run.resumed') this.hasEnded = false;
    if (this.told.length < MOST_ROWS) this.told.push(...this.routine.push(entry, this.timeline.apply(entry)));
  }

  get newest(): number {
    return this.seq;
  }

  page(from: number, most: number): StoryDocument {
    const rows = this.rows();
    return { from, total: rows.length, rows: rows.slice(from, from + most) };
  }

  /** Of a run that has ended, what a crash left open is told last. */
  private rows(): readonly TimelineRow[] {
    if (!this.hasEnded || this.told.length >= MOST_ROWS) return this.told;
    return [...this.told, ...this.timeline.unanswered()];
  }
}
