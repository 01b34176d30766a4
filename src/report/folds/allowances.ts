/**
 * Folds what a run was allowed to do: every limit that was checked before a write, with the write that came closest. The
 * figures come from the journal (`call.checked`); a limit that was never checked is not listed.
 */

import { Decimal, parseDecimal, toWholeNumber } from '../../base/decimal.ts';
import { isRecord } from '../../base/json.ts';
import type { Entry, JsonObject } from '../../journal/entry.ts';
import { AT_LEAST } from '../../venue/limits/check.ts';
import { formatJson } from '../format.ts';

export interface Allowance {
  readonly limit: string;
  /** The bound as the journal has it: `3`, `3153.6..3259.6`, `BTC-USD`. */
  readonly allowed: string;
  /** The most that was requested, after `at least` where the market may have made it more; absent if the limit is not a number. */
  readonly most?: string;
  /** `most` as whole percent of `allowed`; for a minimum, `allowed` of `most`. */
  readonly percent?: number;
  /** The limit is a minimum: `allowed` is the least allowed, `most` the least found. */
  readonly isMinimum?: true;
  /** The number of writes that were checked against it. */
  readonly checks: number;
  /** The write that came closest, or the latest. */
  readonly seq: number;
}

export interface AllowanceDocument {
  readonly checked: readonly Allowance[];
  /** Calls denied by limits, budget or kill switch before they were sent. */
  readonly denials: readonly {
    readonly seq: number;
    readonly at: number;
    readonly step: string;
    readonly code: string;
    readonly message: string;
  }[];
  readonly denied: number;
  /** The limits of the profile that were in force. */
  readonly profile: JsonObject;
}

/** Denials that are listed one by one. */
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
        if (isRecord(limits)) this.profile = limits;
        return;
      }
      case 'call.checked':
        for (const [limit, value] of Object.entries(entry.data.limits)) this.check(limit, formatJson(value), entry.seq);
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

  makeDocument(): AllowanceDocument {
    const checked = [...this.allowances.values()].map(({ share: _share, ...allowance }) => allowance);
    return { checked, denials: this.denials, denied: this.denied, profile: this.profile };
  }

  /** `2/3` is two of three allowed, `at least 2/3` two or more, or two where three is the minimum; any other text is kept as it is. */
  private check(limit: string, text: string, seq: number): void {
    const known = this.allowances.get(limit);
    const isLeast = text.startsWith(AT_LEAST);
    const [used, allowed, ...rest] = (isLeast ? text.slice(AT_LEAST.length) : text).split('/');
    const [a, b] = rest.length > 0 ? [] : [parseDecimal(used ?? ''), parseDecimal(allowed ?? '')];
    if (used === undefined || allowed === undefined || a === undefined || b === undefined) {
      const band = / in (.*)$/.exec(text);
      const bound = band?.[1] === undefined ? { allowed: text } : { allowed: band[1], most: text.slice(0, band.index) };
      this.allowances.set(limit, { limit, ...bound, checks: (known?.checks ?? 0) + 1, seq, share: new Decimal(0) });
      return;
    }
    const isMinimum = limit.startsWith('min_');
    const [part, whole] = isMinimum ? [b, a] : [a, b];
    const share = whole.isZero() ? new Decimal(1) : part.div(whole);
    if (known?.share.gte(share)) {
      known.checks += 1;
      return;
    }
    const percent = toPercent(share);
    const most = isLeast ? `${AT_LEAST}${used}` : used;
    const nearest = { limit, allowed, most, percent, checks: (known?.checks ?? 0) + 1, seq, share };
    this.allowances.set(limit, isMinimum ? { ...nearest, isMinimum } : nearest);
  }
}

/** A share as whole percent, rounded up, so that 100.1 % shows as more than 100. */
function toPercent(share: Decimal): number {
  const capped = Decimal.min(share.times(100), 999).toDecimalPlaces(0, Decimal.ROUND_UP);
  return toWholeNumber(capped);
}
