/**
 * Leaves routine requests out of a timeline: reads that watch an order and keep-alives of the deadman switch, as long as they
 * changed nothing. One row counts them. A read that showed a change is always kept, and so is every request that was refused,
 * lost or of another kind.
 */
import { formatCount } from '../../base/format.ts';
import { PassingMap } from '../../base/passing-map.ts';
import type { Entry } from '../../journal/entry.ts';
import { formatText, muted, plain } from '../format.ts';
import type { TimelineRow } from './timeline.ts';

/** Purposes of calls that repeat (venue port, `purpose`). */
const ROUTINE: ReadonlySet<string> = new Set(['confirm', 'keep-alive']);

/** Up to this many rows are shown unchanged. */
const FEW = 6;

export class RoutineFilter {
  private readonly purposes = new PassingMap<string, string | undefined>();
  /** The first rows held back; `counts` and `tokens` cover all of them. */
  private held: TimelineRow[] = [];
  private counts = new Map<string, number>();
  private tokens = 0;
  private lastExchange: TimelineRow[] = [];

  /** Adds the rows of an entry; returns the rows to show now. */
  push(entry: Entry, rows: readonly TimelineRow[]): readonly TimelineRow[] {
    if (entry.type === 'call.intended') this.purposes.set(entry.data.call, entry.data.purpose);
    const routine = this.isRoutine(entry, rows);
    if (entry.type === 'call.settled') this.purposes.delete(entry.data.call);
    if (rows.length === 0) return [];
    if (!routine) return [...this.release(rows), ...rows];
    if (entry.type === 'call.attempted') {
      const title = `${entry.data.method} ${entry.data.path}`;
      this.counts.set(title, (this.counts.get(title) ?? 0) + 1);
      this.tokens += entry.data.tokens;
      this.lastExchange = [];
    }
    this.lastExchange.push(...rows);
    if (this.held.length <= FEW) this.held.push(...rows);
    return [];
  }

  /** The rows still held back after the last entry. */
  end(): readonly TimelineRow[] {
    return this.release([]);
  }

  private isRoutine(entry: Entry, rows: readonly TimelineRow[]): boolean {
    switch (entry.type) {
      case 'call.attempted':
        return this.isRoutineCall(entry.data.call);
      case 'call.settled':
        return (
          entry.data.kind === 'confirmed' &&
          this.isRoutineCall(entry.data.call) &&
          rows.every((row) => row.kind !== 'fill')
        );
      case 'deadman.moved':
        return entry.data.event === 'renewed';
      default:
        return false;
    }
  }

  private isRoutineCall(call: string): boolean {
    const purpose = this.purposes.get(call);
    return purpose !== undefined && ROUTINE.has(purpose);
  }

  private release(before: readonly TimelineRow[]): readonly TimelineRow[] {
    const { held, counts, tokens, lastExchange } = this;
    this.held = [];
    this.counts = new Map();
    this.tokens = 0;
    this.lastExchange = [];
    const [first] = held;
    if (held.length <= FEW || first === undefined) return held;
    // The last of them showed a change.
    const hasChanged = before[0]?.kind === 'order' || before[0]?.kind === 'answer';
    const requests = [...counts].map(([title, count]) => `${count} × ${formatText(title)}`);
    const summary: TimelineRow = {
      ...first,
      kind: 'request',
      spans: [
        muted('… '),
        plain(requests.join(', ')),
        muted(
          `, routine; ${hasChanged ? 'only the last showed a change' : 'nothing changed'}, ${formatCount(tokens, 'token')}`,
        ),
      ],
    };
    return hasChanged ? [summary, ...lastExchange] : [summary];
  }
}
