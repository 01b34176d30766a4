/**
 * Leaves out of a told run what only repeats: reads that watch an order and keep-alives of the deadman switch, as long as
 * nothing came of them. One row says how many there were. The read that showed a change is always kept, and so is every
 * request that was refused, lost or not of this kind.
 */
import { formatCount } from '../../base/format.ts';
import type { Entry } from '../../journal/entry.ts';
import { muted, plain, shown } from '../format.ts';
import type { TimelineRow } from './timeline.ts';

/** Purposes of calls that are made again and again (venue port, `purpose`). */
const ROUTINE: ReadonlySet<string> = new Set(['confirm', 'keep-alive']);

/** Fewer rows than this are shown as they are. */
const FEW = 6;

export class RoutineFilter {
  private readonly purposes = new Map<string, string | undefined>();
  /** Rows held back, and how many requests and tokens they stand for. */
  private held: TimelineRow[] = [];
  private counts = new Map<string, number>();
  private tokens = 0;
  private lastExchange: TimelineRow[] = [];

  /** Takes the rows an entry was told in; gives what is to be shown now. */
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

  /** What is still held back when there are no more entries. */
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
    // A change has just been found out: by the last of them.
    const found = before[0]?.kind === 'order' || before[0]?.kind === 'answer';
    const requests = [...counts].map(([title, count]) => `${count} × ${shown(title)}`);
    const summary: TimelineRow = {
      ...first,
      kind: 'request',
      spans: [
        muted('… '),
        plain(requests.join(', ')),
        muted(
          `, as a matter of routine; ${found ? 'only the last showed a change' : 'nothing changed'}, ${formatCount(tokens, 'token')}`,
        ),
      ],
    };
    return found ? [summary, ...lastExchange] : [summary];
  }
}
