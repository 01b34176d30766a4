/** Matches requests with a case's venue rules, by parameters and by the number of earlier matches. */
import { parseDecimal } from '../../../base/decimal.ts';
import { isInRange, isMeant, type VenueRule } from '../file/test-case.ts';
import { hasAnswer } from './answers.ts';
import type { SentParams } from './scripted-orders.ts';

export class RuleMatcher {
  private readonly rules: readonly { readonly rule: VenueRule; met: number; used: boolean }[];

  constructor(rules: readonly VenueRule[]) {
    this.rules = rules.map((rule) => ({ rule, met: 0, used: false }));
  }

  /**
   * The rules that apply: up to the first that answers the request or keeps it from arriving. One that only loses or delays the
   * answer, or moves the market, leaves the answer to the next. Every matching rule counts the request, also those that follow.
   */
  match(name: string, params: SentParams): readonly VenueRule[] {
    const met = this.listMet(name, params, () => true);
    const last = met.findIndex((rule) => hasAnswer(rule) || rule.lost === 'before');
    const applying = last === -1 ? met : met.slice(0, last + 1);
    this.markUsed(applying);
    return applying;
  }

  /** The first rule about one order, for a listing: as if the order had been requested alone. */
  matchOrder(name: string, params: SentParams): VenueRule | undefined {
    const [first] = this.listMet(
      name,
      params,
      ({ match, reply }) => reply !== undefined && ('order_id' in match || 'client_order_id' in match),
    );
    this.markUsed(first === undefined ? [] : [first]);
    return first;
  }

  /** The reply that a request would get now; counts nothing. */
  peek(name: string, params: SentParams): VenueRule | undefined {
    return this.rules.find(
      ({ rule, met }) => rule.reply !== undefined && isMatch(rule, name, params) && isInRange(rule.call, met + 1),
    )?.rule;
  }

  /** Rules that never answered: usually a mistake in `match`. */
  listUnused(): readonly VenueRule[] {
    return this.rules.filter(({ used }) => !used).map(({ rule }) => rule);
  }

  /** Counts the request in every rule that matches it, and gives those that are meant for this one. */
  private listMet(name: string, params: SentParams, concerns: (rule: VenueRule) => boolean): readonly VenueRule[] {
    return this.rules.flatMap((each) => {
      if (!concerns(each.rule) || !isMatch(each.rule, name, params)) return [];
      each.met += 1;
      return isInRange(each.rule.call, each.met) ? [each.rule] : [];
    });
  }

  private markUsed(rules: readonly VenueRule[]): void {
    for (const each of this.rules) if (rules.includes(each.rule)) each.used = true;
  }
}

function isMatch({ on, match }: VenueRule, name: string, params: SentParams): boolean {
  return (
    isMeant(on, name, params['type']) &&
    Object.entries(match).every(([key, wanted]) => isSameValue(wanted, params[key]))
  );
}

/** Equal texts, or decimals of equal value. */
export function isSameValue(wanted: string, found: string | undefined): boolean {
  if (found === undefined) return false;
  if (wanted === found) return true;
  const [a, b] = [parseDecimal(wanted), parseDecimal(found)];
  return a !== undefined && b !== undefined && a.eq(b);
}
