/**
 * Folds every request of a run into columns that the page draws: time, kind, outcome and tokens. In a very long run, reads
 * that succeeded are merged; writes, refused and lost requests never are.
 */
import { PassingMap } from '../../base/passing-map.ts';
import type { Entry } from '../../journal/entry.ts';
import { type Merging, mergeNeighbours, PointSeries } from '../results/point-series.ts';

/** Above this number of marks, reads that succeeded are merged. */
const MOST_MARKS = 12_000;
/** Lost answers that are listed one by one. */
const MOST_LOST = 50;

const MARK_KINDS = ['read', 'keep_alive', 'write', 'refused', 'lost', 'denied'] as const;
type MarkKind = (typeof MARK_KINDS)[number];

/** Columns of equal length, oldest first. */
export interface RequestMarks {
  /** ms since the run began. */
  readonly at: readonly number[];
  /** Positions in MARK_KINDS. */
  readonly kind: readonly number[];
  readonly tokens: readonly number[];
  readonly count: readonly number[];
  /** The entry of the attempt, or of the denial. */
  readonly seq: readonly number[];
  /** By kind, before anything was merged. */
  readonly totals: Readonly<Record<MarkKind, number>>;
}

interface Mark {
  readonly at: number;
  kind: MarkKind;
  tokens: number;
  count: number;
  readonly seq: number;
  isWaiting: boolean;
}

/** A request without a reliable answer. */
export interface OpenRequest {
  readonly seq: number;
  /** Epoch ms. */
  readonly at: number;
  readonly title: string;
  readonly step: string;
}

export class RequestMarkFold {
  private readonly marks = new PointSeries<Mark>(MOST_MARKS, MERGED_READS);
  private readonly totals: Record<MarkKind, number> = {
    read: 0,
    keep_alive: 0,
    write: 0,
    refused: 0,
    lost: 0,
    denied: 0,
  };
  private readonly purposes = new PassingMap<string, string | undefined>();
  private readonly waiting = new PassingMap<string, { readonly mark: Mark; readonly open: OpenRequest }>();
  private readonly unreliable: OpenRequest[] = [];
  private startedAt = 0;

  apply(entry: Entry): void {
    switch (entry.type) {
      case 'run.started':
        this.startedAt = entry.data.startedAt;
        return;
      case 'call.intended':
        this.purposes.set(entry.data.call, entry.data.purpose);
        return;
      case 'call.attempted': {
        const { call, method, path, tokens } = entry.data;
        const kind = this.purposes.get(call) === 'keep-alive' ? 'keep_alive' : method === 'GET' ? 'read' : 'write';
        const mark = this.add(entry, kind, tokens);
        const open = { seq: entry.seq, at: entry.at, title: `${method} ${path}`, step: entry.step };
        this.waiting.set(call, { mark, open });
        return;
      }
      case 'call.answered': {
        // Refused because of its session, and sent again: the next attempt has its own mark.
        const sent = this.settle(entry.data.call);
        if (sent !== undefined) this.change(sent.mark, 'refused');
        return;
      }
      case 'call.settled': {
        const { call, kind } = entry.data;
        const sent = this.settle(call);
        this.purposes.delete(call);
        if (kind === 'denied') {
          this.add(entry, 'denied', 0).isWaiting = false;
        } else if (sent !== undefined && kind !== 'confirmed') {
          this.change(sent.mark, kind === 'rejected' ? 'refused' : 'lost');
          if (kind === 'unresolved' && this.unreliable.length < MOST_LOST) this.unreliable.push(sent.open);
        }
        return;
      }
      default:
        return;
    }
  }

  /** Requests that were sent and have no answer so far. */
  listOpen(): readonly OpenRequest[] {
    return [...this.waiting.values()].map(({ open }) => open);
  }

  /** The first requests that got no reliable answer, even if a look-up found their outcome later. */
  listLost(): readonly OpenRequest[] {
    return this.unreliable;
  }

  makeColumns(): RequestMarks {
    const { points } = this.marks;
    const drawn =
      points.length <= MOST_MARKS
        ? points
        : mergeNeighbours(
            points.map((mark) => ({ ...mark })),
            MOST_MARKS,
            MERGED_READS,
          );
    return {
      at: drawn.map((mark) => mark.at),
      kind: drawn.map((mark) => MARK_KINDS.indexOf(mark.kind)),
      tokens: drawn.map((mark) => mark.tokens),
      count: drawn.map((mark) => mark.count),
      seq: drawn.map((mark) => mark.seq),
      totals: { ...this.totals },
    };
  }

  private add({ at, seq }: Entry, kind: MarkKind, tokens: number): Mark {
    const mark: Mark = { at: at - this.startedAt, kind, tokens, count: 1, seq, isWaiting: true };
    this.marks.add(mark);
    this.totals[kind] += 1;
    return mark;
  }

  private change(mark: Mark, kind: MarkKind): void {
    this.totals[mark.kind] -= 1;
    this.totals[kind] += 1;
    mark.kind = kind;
  }

  private settle(call: string): { readonly mark: Mark; readonly open: OpenRequest } | undefined {
    const sent = this.waiting.get(call);
    this.waiting.delete(call);
    if (sent !== undefined) sent.mark.isWaiting = false;
    return sent;
  }
}

/** Reads that succeeded are one mark, at the first of them; so are keep-alives. */
const MERGED_READS: Merging<Mark> = {
  findGroup: ({ kind, isWaiting }) => (!isWaiting && (kind === 'read' || kind === 'keep_alive') ? kind : undefined),
  add(into, next) {
    into.count += next.count;
    into.tokens += next.tokens;
  },
};
