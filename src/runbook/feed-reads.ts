/** Which feeds an expression reads, and of a feed by market which value. */
import type { Expr, RecordValue, Value } from './values.ts';

/** The feeds that an expression reads. */
export function listFeeds(expr: Expr | undefined): readonly string[] {
  return (expr?.reads ?? []).filter((root) => root.startsWith('feeds.')).map((root) => root.slice('feeds.'.length));
}

/**
 * The market whose value alone an expression reads of a feed by market: `feeds.mid[inputs.market]`, `feeds.mid['BTC-USD']`. `own`: how
 * the step names its market, and which one that is. Undefined where the expression may read more.
 */
export function findFeedMarket(
  expr: Expr | undefined,
  inputs: Value,
  own?: { readonly text: string; readonly market: string },
): string | undefined {
  const key = findKey(expr);
  if (key === undefined) return undefined;
  if (key === own?.text.trim()) return own.market;
  const input = INPUT.exec(key)?.[1];
  const value = input === undefined ? LITERAL.exec(key)?.[2] : (inputs as RecordValue)[input];
  return typeof value === 'string' ? value : undefined;
}

/** Whether an expression reads the value of one market, the same one in the whole run. */
export function readsOneMarket(expr: Expr): boolean {
  const key = findKey(expr) ?? '';
  return INPUT.test(key) || LITERAL.test(key);
}

const INPUT = /^inputs\.(\w+)$/;
const LITERAL = /^(['"])([^'"\\]+)\1$/;

function findKey(expr: Expr | undefined): string | undefined {
  return /^feeds\.\w+\[(.*)\]$/.exec(expr?.text.trim() ?? '')?.[1]?.trim();
}
