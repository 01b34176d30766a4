/**
 * Whether the deadman switch was ever at risk: when it was armed, how long the venue heard nothing of us at the most, and
 * how it ended. A stretch of silence is counted from when a request was *sent* to when the next was *answered*, because the
 * venue saw each at some instant between: the true silence was never longer than what is said here.
 */
import type { Entry } from '../../journal/entry.ts';
import { CATALOGUE, ENDPOINT_NAMES } from '../../venue/catalogue.ts';

/** Silence beyond this share of the time-out is called a risk (a healthy keeper stays below it). */
export const RISK_SHARE = 0.5;
/** Beats that are kept for the drawing; of more, every second is left out, again and again. */
const MOST_BEATS = 8000;

interface Silence {
  readonly ms: number;
  readonly timeoutMs: number;
  /** ms since the run began, of its begin. */
  readonly from: number;
  /** The entry that ended it. */
  readonly seq: number;
}

export interface DeadmanRecord {
  readonly state: 'never' | 'armed' | 'disarmed' | 'assumed_fired';
  readonly market?: string;
  readonly timeoutMs?: number;
  /** Stretches in which it was armed, ms since the run began; the last is open while it is. */
  readonly armed: readonly { readonly from: number; readonly until?: number; readonly timeoutMs: number }[];
  /** When requests that renew it were sent, ms since the run began. */
  readonly beats: readonly number[];
  readonly renewals: number;
  readonly longest?: Silence;
  /** Silences of more than RISK_SHARE of the time-out. */
  readonly risks: number;
  readonly fired: readonly { readonly at: number; readonly seq: number; readonly because?: string }[];
  /** Epoch ms: when the venue cancels everything if it hears nothing more. Only while it is armed. */
  readonly firesAt?: number;
  /** Why it was disarmed, where the journal says. */
  readonly because?: string;
}

export class DeadmanRecordFold {
  private startedAt = 0;
  private state: DeadmanRecord['state'] = 'never';
  private market: string | undefined;
  private timeoutMs: number | undefined;
  private because: string | undefined;
  private readonly armed: { from: number; until?: number; timeoutMs: number }[] = [];
  private beats: number[] = [];
  private beatStride = 1;
  private beatCount = 0;
  private renewals = 0;
  private longest: Silence | undefined;
  private risks = 0;
  private readonly fired: { at: number; seq: number; because?: string }[] = [];
  private lastSentAt: number | undefined;
  private readonly sent = new Map<string, { readonly at: number; readonly renews: boolean }>();

  apply(entry: Entry): void {
    switch (entry.type) {
      case 'run.started':
        this.startedAt = entry.data.startedAt;
        return;
      case 'call.attempted': {
        const { call, method, path } = entry.data;
        this.sent.set(call, { at: entry.at, renews: renews(`${method} ${path}`) });
        return;
      }
      case 'call.settled': {
        const call = this.sent.get(entry.data.call);
        this.sent.delete(entry.data.call);
        if (call?.renews === true && entry.data.kind === 'confirmed') {
          this.beat(entry.data.sentAt ?? call.at, entry.at, entry.seq);
        }
        return;
      }
      case 'deadman.moved':
        this.moved(entry);
        return;
      default:
        return;
    }
  }

  record(): DeadmanRecord {
    const { state, market, timeoutMs, because, lastSentAt, longest } = this;
    return {
      state,
      ...(market === undefined ? {} : { market }),
      ...(timeoutMs === undefined ? {} : { timeoutMs }),
      armed: this.armed.map((each) => ({ ...each })),
      beats: this.beats,
      renewals: this.renewals,
      ...(longest === undefined ? {} : { longest }),
      risks: this.risks,
      fired: this.fired,
      ...(state === 'armed' && lastSentAt !== undefined && timeoutMs !== undefined
        ? { firesAt: lastSentAt + timeoutMs }
        : {}),
      ...(because === undefined ? {} : { because }),
    };
  }

  private moved({ data, at, seq }: Extract<Entry, { type: 'deadman.moved' }>): void {
    const offset = at - this.startedAt;
    const because = data.because === undefined ? {} : { because: data.because };
    switch (data.event) {
      case 'armed':
        this.close(offset);
        this.state = 'armed';
        this.market = data.market;
        this.timeoutMs = data.timeoutMs ?? this.timeoutMs;
        this.armed.push({ from: offset, timeoutMs: this.timeoutMs ?? 0 });
        this.lastSentAt ??= at;
        return;
      case 'renewed':
        this.renewals += 1;
        return;
      case 'disarmed':
        this.silence(at, seq);
        this.close(offset);
        this.state = 'disarmed';
        this.because = data.because;
        this.lastSentAt = undefined;
        return;
      case 'assumed_fired':
        this.silence(at, seq);
        this.close(offset);
        this.state = 'assumed_fired';
        this.fired.push({ at: offset, seq, ...because });
        this.lastSentAt = undefined;
        return;
      default:
        data.event satisfies never;
    }
  }

  /** A silence ends by the answer to a request, or with the switch. */
  private silence(until: number, seq: number): void {
    if (this.state !== 'armed' || this.lastSentAt === undefined || this.timeoutMs === undefined) return;
    const { lastSentAt, timeoutMs, longest } = this;
    const silence = { ms: until - lastSentAt, timeoutMs, from: lastSentAt - this.startedAt, seq };
    if (silence.ms > timeoutMs * RISK_SHARE) this.risks += 1;
    if (longest === undefined || silence.ms / timeoutMs > longest.ms / longest.timeoutMs) this.longest = silence;
  }

  private beat(sentAt: number, answeredAt: number, seq: number): void {
    this.silence(answeredAt, seq);
    this.lastSentAt = Math.max(this.lastSentAt ?? sentAt, sentAt);
    this.beatCount += 1;
    if (this.beatCount % this.beatStride === 0) this.beats.push(sentAt - this.startedAt);
    if (this.beats.length > MOST_BEATS) {
      this.beats = this.beats.filter((_at, index) => index % 2 === 0);
      this.beatStride *= 2;
    }
  }

  private close(offset: number): void {
    const last = this.armed.at(-1);
    if (last !== undefined && last.until === undefined) last.until = offset;
  }
}

/** Rule 1 of the switch, and the request that arms or renews it. */
function renews(title: string): boolean {
  const endpoint = ENDPOINT_NAMES.find((each) => each === title);
  return endpoint !== undefined && (CATALOGUE[endpoint].qualifies || endpoint === 'POST /cancel_all_after');
}
