/**
 * Folds the history of the deadman switch: when it was armed, the longest silence towards the venue, and how it ended. A
 * silence is counted from when a request was *sent* to when the next was *answered*: the venue saw each at some instant
 * between, so the true silence was never longer than the figure here.
 */
import { PassingMap } from '../../base/passing-map.ts';
import type { Entry } from '../../journal/entry.ts';
import { getEndpoint, isEndpointName } from '../../venue/catalogue.ts';

/** Silence beyond this share of the time-out is a risk; a healthy heartbeat stays below it. */
export const RISK_SHARE = 0.5;
/** Heartbeats kept for the drawing; beyond this number every second one is dropped, repeatedly. */
const MOST_HEARTBEATS = 8000;

interface Silence {
  readonly ms: number;
  readonly timeoutMs: number;
  /** When the silence began, ms since the run began. */
  readonly from: number;
  /** The entry that ended it. */
  readonly seq: number;
}

export interface DeadmanRecord {
  readonly state: 'never' | 'armed' | 'disarmed' | 'assumed_fired';
  readonly market?: string;
  readonly timeoutMs?: number;
  /** Spans in which it was armed, ms since the run began; the last has no end while the switch is armed. */
  readonly armed: readonly { readonly from: number; readonly until?: number; readonly timeoutMs: number }[];
  /** When requests that renew it were sent, ms since the run began. */
  readonly heartbeats: readonly number[];
  readonly renewals: number;
  readonly longest?: Silence;
  /** Silences of more than RISK_SHARE of the time-out. */
  readonly risks: number;
  readonly fired: readonly { readonly at: number; readonly seq: number; readonly because?: string }[];
  /** When the venue cancels all orders unless the switch is renewed, epoch ms. Only while it is armed. */
  readonly firesAt?: number;
  /** Why it was disarmed, if the journal has a reason. */
  readonly because?: string;
}

export class DeadmanRecordFold {
  private startedAt = 0;
  private state: DeadmanRecord['state'] = 'never';
  private market: string | undefined;
  private timeoutMs: number | undefined;
  private because: string | undefined;
  private readonly armed: { from: number; until?: number; timeoutMs: number }[] = [];
  private heartbeats: number[] = [];
  private stride = 1;
  private count = 0;
  private renewals = 0;
  private longest: Silence | undefined;
  private risks = 0;
  private readonly fired: { at: number; seq: number; because?: string }[] = [];
  private lastSentAt: number | undefined;
  private readonly sent = new PassingMap<string, { readonly at: number; readonly renews: boolean }>();

  apply(entry: Entry): void {
    switch (entry.type) {
      case 'run.started':
        this.startedAt = entry.data.startedAt;
        return;
      case 'call.attempted': {
        const { call, method, path } = entry.data;
        this.sent.set(call, { at: entry.at, renews: isRenewal(`${method} ${path}`) });
        return;
      }
      case 'call.settled': {
        const call = this.sent.get(entry.data.call);
        this.sent.delete(entry.data.call);
        if (call?.renews === true && entry.data.kind === 'confirmed') {
          this.addHeartbeat(entry.data.sentAt ?? call.at, entry.at, entry.seq);
        }
        return;
      }
      case 'deadman.moved':
        this.move(entry);
        return;
      default:
        return;
    }
  }

  getRecord(): DeadmanRecord {
    const { state, market, timeoutMs, because, lastSentAt, longest } = this;
    return {
      state,
      ...(market === undefined ? {} : { market }),
      ...(timeoutMs === undefined ? {} : { timeoutMs }),
      armed: this.armed.map((each) => ({ ...each })),
      heartbeats: this.heartbeats,
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

  private move({ data, at, seq }: Extract<Entry, { type: 'deadman.moved' }>): void {
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
        this.endSilence(at, seq);
        this.close(offset);
        this.state = 'disarmed';
        this.because = data.because;
        this.lastSentAt = undefined;
        return;
      case 'assumed_fired':
        this.endSilence(at, seq);
        this.close(offset);
        this.state = 'assumed_fired';
        this.fired.push({ at: offset, seq, ...because });
        this.lastSentAt = undefined;
        return;
      default:
        data.event satisfies never;
    }
  }

  /** A silence ends with the answer to a request, or with the switch. */
  private endSilence(until: number, seq: number): void {
    if (this.state !== 'armed' || this.lastSentAt === undefined || this.timeoutMs === undefined) return;
    const { lastSentAt, timeoutMs, longest } = this;
    const silence = { ms: until - lastSentAt, timeoutMs, from: lastSentAt - this.startedAt, seq };
    if (silence.ms > timeoutMs * RISK_SHARE) this.risks += 1;
    if (longest === undefined || silence.ms / timeoutMs > longest.ms / longest.timeoutMs) this.longest = silence;
  }

  private addHeartbeat(sentAt: number, answeredAt: number, seq: number): void {
    this.endSilence(answeredAt, seq);
    this.lastSentAt = Math.max(this.lastSentAt ?? sentAt, sentAt);
    this.count += 1;
    if (this.count % this.stride === 0) this.heartbeats.push(sentAt - this.startedAt);
    if (this.heartbeats.length > MOST_HEARTBEATS) {
      this.heartbeats = this.heartbeats.filter((_at, index) => index % 2 === 0);
      this.stride *= 2;
    }
  }

  private close(offset: number): void {
    const last = this.armed.at(-1);
    if (last !== undefined && last.until === undefined) last.until = offset;
  }
}

/** Requests that the venue counts (rule 1 of the switch), among them the one that arms or renews it. */
function isRenewal(title: string): boolean {
  return isEndpointName(title) && getEndpoint(title).qualifies;
}
