/**
 * Evaluates a runbook's globals when it starts: inputs, `run`, lets in sequence, variables, limits. Serves the run's own
 * runbook and those it calls.
 */
import { type Decimal, formatDecimal, toWholeNumber } from '../base/decimal.ts';
import type { CheckedRunbook, LimitsDeclaration } from '../runbook/checked.ts';
import { EvaluationFailure, type Expr, Time, type Value } from '../runbook/values.ts';
import { type LimitRules, tighter } from '../venue/limits/check.ts';
import type { Side } from '../venue/records.ts';
import type { RunContext } from './context.ts';
import { StepFailure } from './interruption.ts';
import { Frame, type RunbookGlobals, StepScope } from './scope.ts';

/** Creates the globals, and reads the feeds that lets and variables need. Throws StepFailure where an expression fails. */
export async function startGlobals(
  run: Pick<RunContext, 'setup' | 'venue' | 'wall' | 'feeds'>,
  runbook: CheckedRunbook,
  inputs: Readonly<Record<string, Value>>,
  at: { readonly path: string; readonly limits: LimitRules | undefined },
): Promise<RunbookGlobals> {
  const values = new Map<string, Value>([
    ['inputs', inputs],
    ['run', { id: run.setup.run, started_at: Time.ofMs(run.setup.startedAt) }],
  ]);
  const band = runbook.limits?.priceBand;
  const globals: { -readonly [K in keyof RunbookGlobals]: RunbookGlobals[K] } = {
    runbook,
    values,
    defs: new Map(runbook.def.map(({ name, value }) => [name, value])),
    feeds: (scope) => run.feeds.makeRecord(runbook.feeds, scope),
    rules: (market) => run.venue.market(market),
    limits: at.limits,
    bandFeeds: band === undefined ? [] : listFeeds(band.around),
    reference: (scope) => band?.around.evaluate(scope),
  };
  const frame = new Frame(globals, { staticPath: '', path: at.path });
  const scope = () => new StepScope(frame, run.wall.now());
  const evaluate = async (expr: Expr): Promise<Value> => {
    await run.feeds.ensure(listFeeds(expr), runbook.feeds, scope(), at.path);
    return evaluateGlobal(expr, scope(), at.path);
  };
  for (const { name, value } of runbook.let) values.set(name, await evaluate(value));
  for (const { name, init } of runbook.vars) values.set(name, await evaluate(init));
  const own =
    runbook.limits === undefined
      ? undefined
      : evaluateLimits(runbook.limits, (expr) => evaluateGlobal(expr, scope(), at.path));
  globals.limits = own === undefined ? at.limits : at.limits === undefined ? own : tighter(at.limits, own);
  return globals;
}

function listFeeds(expr: Expr): readonly string[] {
  return expr.reads.filter((root) => root.startsWith('feeds.')).map((root) => root.slice('feeds.'.length));
}

function evaluateGlobal<T extends Value>(expr: Expr<T>, scope: StepScope, path: string): T {
  try {
    return expr.evaluate(scope);
  } catch (error) {
    if (error instanceof EvaluationFailure) throw new StepFailure('assertion', `${expr.text}: ${error.message}`, path);
    throw error;
  }
}

/** The limits of a runbook as the checks take them, decimals as strings. Leaves out those for which `value` gives undefined. */
export function evaluateLimits(
  limits: LimitsDeclaration,
  value: <T extends Value>(expr: Expr<T>) => T | undefined,
): LimitRules {
  const known = (expr: Expr<Decimal> | undefined) => (expr === undefined ? undefined : value(expr));
  const text = (expr: Expr<Decimal> | undefined) => {
    const decimal = known(expr);
    return decimal === undefined ? undefined : formatDecimal(decimal);
  };
  const count = (expr: Expr<Decimal> | undefined) => {
    const decimal = known(expr);
    return decimal === undefined ? undefined : toWholeNumber(decimal);
  };
  const all = (list: readonly Expr<string>[] | undefined) => {
    const values = list?.map(value);
    return values?.includes(undefined) ? undefined : (values as readonly string[] | undefined);
  };
  const rules = {
    markets: all(limits.markets),
    sides: all(limits.sides) as readonly Side[] | undefined,
    maxOrderSize: text(limits.maxOrderSize),
    maxOrderNotional: text(limits.maxOrderNotional),
    maxRunNotional: text(limits.maxRunNotional),
    maxOpenOrders: count(limits.maxOpenOrders),
    maxLeverage: text(limits.maxLeverage),
    maxWrites: count(limits.maxWrites),
    priceBandWithin: text(limits.priceBand?.within),
    mode: limits.mode,
  };
  return Object.fromEntries(Object.entries(rules).filter(([, value]) => value !== undefined)) as LimitRules;
}
