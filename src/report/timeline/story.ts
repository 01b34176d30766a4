/**
 * Folds a run into the page's story: its timeline so far, without reads and keep-alives that changed nothing. It is separate
 * from the page's other folds because it costs as much as all of them together, and not every reader opens it.
 */
import type { Entry } from '../../journal/entry.ts';
import { RoutineFilter } from './routine.ts';
import { TimelineFold, type TimelineRow } from './timeline.ts';

interface StoryDocument {
  readonly from: number;
  /** The number of rows so far. */
  readonly total: number;
  readonly rows: readonly TimelineRow[];
}

/** The story ends after this many rows; the entries have the rest. */
const MOST_ROWS = 20_000;

export class StoryFold {
  private readonly timeline = new TimelineFold();
  private readonly routine = new RoutineFilter();
  private readonly known: TimelineRow[] = [];
  private seq = 0;
  private hasEnded = false;

  apply(entry: Entry): void {
    this.seq = entry.seq;
    if (entry.type === 'run.ended') this.hasEnded = true;
    if (entry.type === 'run.resumed') this.hasEnded = false;
    if (this.known.length < MOST_ROWS) this.known.push(...this.routine.push(entry, this.timeline.apply(entry)));
  }

  get newest(): number {
    return this.seq;
  }

  page(from: number, most: number): StoryDocument {
    const rows = this.listRows();
    return { from, total: rows.length, rows: rows.slice(from, from + most) };
  }

  /** After the end of a run, requests that a crash left open come last. */
  private listRows(): readonly TimelineRow[] {
    if (!this.hasEnded || this.known.length >= MOST_ROWS) return this.known;
    return [...this.known, ...this.timeline.unanswered()];
  }
}
