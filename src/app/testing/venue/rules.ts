/** Matches requests with a case's venue rules, by parameters and by the number of earlier matches. */
import { parseDecimal } from '../../../base/decimal.ts';
import { isInRange, isMeant, type VenueRule } from '../file/test-case.ts';
import type { SentParams } from './scripted-orders.ts';

export class RuleMatcher {
  private readonly rules: readonly { readonly rule: VenueRule; met: number; used: boolean }[];

  constructor(rules: readonly VenueRule[]) {
    this.rules = rules.map((rule) => ({ rule, met: 0, used: false }));
  }

  /** The first rule that matches. Every matching rule counts the request, also those after the first. */
  match(name: string, params: SentParams): VenueRule | undefined {
    return this.findFirst(name, params, () => true);
  }

  /** The first rule about one order, for a listing: as if the order had been requested alone. */
  matchOrder(name: string, params: SentParams): VenueRule | undefined {
    return this.findFirst(
      name,
      params,
      ({ match, reply }) => reply !== undefined && ('order_id' in match || 'client_order_id' in match),
    );
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

  private findFirst(name: string, params: SentParams, concerns: (rule: VenueRule) => boolean): VenueRule | undefined {
    let won: VenueRule | undefined;
    for (const each of this.rules) {
      if (!concerns(each.rule) || !isMatch(each.rule, name, params)) continue;
      each.met += 1;
      if (won !== undefined || !isInRange(each.rule.call, each.met)) continue;
      won = each.rule;
      each.used = true;
    }
    return won;
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
