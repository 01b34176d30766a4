/** A case's venue rules while it runs: which answers a request, by the parameters and by how often it has been asked. */
import { parseDecimal } from '../../../base/decimal.ts';
import { inRange, isMeant, type VenueRule } from '../file/test-case.ts';
import type { SentParams } from './scripted-orders.ts';

export class RuleBook {
  private readonly rules: readonly { readonly rule: VenueRule; met: number; used: boolean }[];

  constructor(rules: readonly VenueRule[]) {
    this.rules = rules.map((rule) => ({ rule, met: 0, used: false }));
  }

  /** The first rule that fits. Every rule that could have counts the request, also behind one that won. */
  meet(name: string, params: SentParams): VenueRule | undefined {
    return this.first(name, params, () => true);
  }

  /** The first that speaks of one order, for a reading of many: as if it had been asked for alone. */
  meetOrder(name: string, params: SentParams): VenueRule | undefined {
    return this.first(
      name,
      params,
      ({ match, reply }) => reply !== undefined && ('order_id' in match || 'client_order_id' in match),
    );
  }

  /** A reply that would be given if it were asked for now; nothing is counted. */
  peek(name: string, params: SentParams): VenueRule | undefined {
    return this.rules.find(
      ({ rule, met }) => rule.reply !== undefined && fits(rule, name, params) && inRange(rule.call, met + 1),
    )?.rule;
  }

  /** Rules that never answered: most often a slip in `match`. */
  unused(): readonly VenueRule[] {
    return this.rules.filter(({ used }) => !used).map(({ rule }) => rule);
  }

  private first(name: string, params: SentParams, concerns: (rule: VenueRule) => boolean): VenueRule | undefined {
    let won: VenueRule | undefined;
    for (const each of this.rules) {
      if (!concerns(each.rule) || !fits(each.rule, name, params)) continue;
      each.met += 1;
      if (won !== undefined || !inRange(each.rule.call, each.met)) continue;
      won = each.rule;
      each.used = true;
    }
    return won;
  }
}

function fits({ on, match }: VenueRule, name: string, params: SentParams): boolean {
  return (
    isMeant(on, name, params['type']) && Object.entries(match).every(([key, wanted]) => sameValue(wanted, params[key]))
  );
}

/** Texts that are the same, or decimals of the same value. */
export function sameValue(wanted: string, found: string | undefined): boolean {
  if (found === undefined) return false;
  if (wanted === found) return true;
  const [a, b] = [parseDecimal(wanted), parseDecimal(found)];
  return a !== undefined && b !== undefined && a.eq(b);
}
