/**
 * What a run was allowed to do and how near it came: every limit that was looked at before a write, with the write that came
 * closest. The figures are those the journal holds (`call.checked`); a limit that was never looked at is not listed.
 */
import { Decimal, parseDecimal, wholeNumber } from '../../base/decimal.ts';
import type { Entry, Json, JsonObject } from '../../journal/entry.ts';
import { jsonText } from '../format.ts';

export interface Allowance {
  readonly limit: string;
  /** What is allowed, as the journal says: `3`, `3153.6..3259.6`, `BTC-USD`. */
  readonly allowed: string;
  /** The most that was asked for; absent where there is nothing to compare. */
  readonly most?: string;
  /** `most` of `allowed` in whole percent; of a floor `allowed` of `most`. */
  readonly percent?: number;
  /** `allowed` is the least, and `most` the least that was found. */
  readonly isFloor?: true;
  /** Writes that were checked against it. */
  readonly checks: number;
  /** The write that came closest, or the latest. */
  readonly seq: number;
}

export interface AllowanceDocument {
  readonly checked: readonly Allowance[];
  /** Refused here by limits, budget or kill switch: before anything was sent. */
  readonly denials: readonly {
    readonly seq: number;
    readonly at: number;
    readonly step: string;
    readonly code: string;
    readonly message: string;
  }[];
  readonly denied: number;
  /** From the profile, as they were in force. */
  readonly profile: JsonObject;
}

/** Refusals that are listed one by one. */
const MOST_DENIALS = 50;

export class AllowanceFold {
  private readonly allowances = new Map<
    string,
    { -readonly [K in keyof Allowance]: Allowance[K] } & { share: Decimal }
  >();
  private readonly denials: AllowanceDocument['denials'][number][] = [];
  private denied = 0;
  private profile: JsonObject = {};
  private startedAt = 0;

  apply(entry: Entry): void {
    switch (entry.type) {
      case 'run.started': {
        this.startedAt = entry.data.startedAt;
        const { limits } = entry.data.settings;
        if (isObject(limits)) this.profile = limits;
        return;
      }
      case 'call.checked':
        for (const [limit, value] of Object.entries(entry.data.limits)) this.check(limit, jsonText(value), entry.seq);
        return;
      case 'call.settled':
        if (entry.data.kind !== 'denied') return;
        this.denied += 1;
        if (this.denials.length < MOST_DENIALS) {
          const { code = 'DENIED', message = '' } = entry.data;
          this.denials.push({ seq: entry.seq, at: entry.at - this.startedAt, step: entry.step, code, message });
        }
        return;
      default:
        return;
    }
  }

  document(): AllowanceDocument {
    const checked = [...this.allowances.values()].map(({ share: _share, ...allowance }) => allowance);
    return { checked, denials: this.denials, denied: this.denied, profile: this.profile };
  }

  /** `2/3` is two of three at most, or of a floor two where three is the least; anything else is what it says. */
  private check(limit: string, text: string, seq: number): void {
    const known = this.allowances.get(limit);
    const [used, allowed, ...rest] = text.split('/');
    const [a, b] = rest.length > 0 ? [] : [parseDecimal(used ?? ''), parseDecimal(allowed ?? '')];
    if (used === undefined || allowed === undefined || a === undefined || b === undefined) {
      const band = / in (.*)$/.exec(text);
      const told = band?.[1] === undefined ? { allowed: text } : { allowed: band[1], most: text.slice(0, band.index) };
      this.allowances.set(limit, { limit, ...told, checks: (known?.checks ?? 0) + 1, seq, share: new Decimal(0) });
      return;
    }
    const isFloor = limit.startsWith('min_');
    const [part, whole] = isFloor ? [b, a] : [a, b];
    const share = whole.isZero() ? new Decimal(1) : part.div(whole);
    if (known?.share.gte(share)) {
      known.checks += 1;
      return;
    }
    const percent = percentOf(share);
    const nearest = { limit, allowed, most: used, percent, checks: (known?.checks ?? 0) + 1, seq, share };
    this.allowances.set(limit, isFloor ? { ...nearest, isFloor } : nearest);
  }
}

/** A share as whole percent, rounded up: 99.5 % is not yet all, 100.1 % is more than all. */
function percentOf(share: Decimal): number {
  const capped = Decimal.min(share.times(100), 999).toDecimalPlaces(0, Decimal.ROUND_UP);
  return wholeNumber(capped);
}

function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
