/**
 * Folds every request of a run into columns that the page draws: time, kind, outcome and tokens. In a very long run, reads
 * that succeeded are merged; writes, refused and lost requests never are.
 */
import type { Entry } from '../../journal/entry.ts';

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
  private readonly marks: Mark[] = [];
  private readonly purposes = new Map<string, string | undefined>();
  private readonly waiting = new Map<string, { readonly mark: Mark; readonly open: OpenRequest }>();
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
        const mark: Mark = { at: entry.at - this.startedAt, kind, tokens, count: 1, seq: entry.seq };
        this.marks.push(mark);
        const open = { seq: entry.seq, at: entry.at, title: `${method} ${path}`, step: entry.step };
        this.waiting.set(call, { mark, open });
        return;
      }
      case 'call.answered': {
        // Refused because of its session, and sent again: the next attempt has its own mark.
        const sent = this.waiting.get(entry.data.call);
        this.waiting.delete(entry.data.call);
        if (sent !== undefined) sent.mark.kind = 'refused';
        return;
      }
      case 'call.settled': {
        const { call, kind } = entry.data;
        const sent = this.waiting.get(call);
        this.waiting.delete(call);
        this.purposes.delete(call);
        if (kind === 'denied') {
          this.marks.push({ at: entry.at - this.startedAt, kind: 'denied', tokens: 0, count: 1, seq: entry.seq });
        } else if (sent !== undefined && kind !== 'confirmed') {
          sent.mark.kind = kind === 'rejected' ? 'refused' : 'lost';
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
    const totals: Record<MarkKind, number> = { read: 0, keep_alive: 0, write: 0, refused: 0, lost: 0, denied: 0 };
    for (const mark of this.marks) totals[mark.kind] += 1;
    const drawn = mergeReads(this.marks);
    return {
      at: drawn.map((mark) => mark.at),
      kind: drawn.map((mark) => MARK_KINDS.indexOf(mark.kind)),
      tokens: drawn.map((mark) => mark.tokens),
      count: drawn.map((mark) => mark.count),
      seq: drawn.map((mark) => mark.seq),
      totals,
    };
  }
}

/** Merges consecutive reads that succeeded into one mark, at the first of them. */
function mergeReads(marks: readonly Mark[]): readonly Mark[] {
  if (marks.length <= MOST_MARKS) return marks;
  const span = (marks.at(-1)?.at ?? 0) - (marks[0]?.at ?? 0);
  const nearMs = (span / MOST_MARKS) * 2;
  const kept: Mark[] = [];
  for (const mark of marks) {
    const last = kept.at(-1);
    const isRoutine = mark.kind === 'read' || mark.kind === 'keep_alive';
    if (isRoutine && last?.kind === mark.kind && mark.at - last.at < nearMs) {
      last.count += mark.count;
      last.tokens += mark.tokens;
    } else kept.push({ ...mark });
  }
  return kept;
}
