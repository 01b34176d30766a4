/**
 * Evaluates a runbook's globals when it starts: inputs, `run`, lets in sequence, variables, limits. Serves the run's own
 * runbook and those it calls.
 */
import type { CheckedRunbook } from '../runbook/checked.ts';
import { findFeedMarket, listFeeds } from '../runbook/feed-reads.ts';
import { evaluateLimits, findBand } from '../runbook/limit-values.ts';
import { type Expr, Time, type Value } from '../runbook/values.ts';
import { type LimitRules, tighter } from '../venue/limits/check.ts';
import type { RunContext } from './context.ts';
import { evaluate, Frame, type RunbookGlobals, StepScope } from './scope.ts';

/** Creates the globals, and reads the feeds that lets and variables need. Throws StepFailure where an expression fails. */
export async function startGlobals(
  run: Pick<RunContext, 'setup' | 'venue' | 'wall' | 'feeds' | 'positions'>,
  runbook: CheckedRunbook,
  inputs: Readonly<Record<string, Value>>,
  at: { readonly path: string; readonly limits: LimitRules | undefined },
): Promise<RunbookGlobals> {
  const values = new Map<string, Value>([
    ['inputs', inputs],
    ['run', { id: run.setup.run, started_at: Time.ofMs(run.setup.startedAt) }],
  ]);
  const findOwnBand = (market: string) => runbook.limits && findBand(runbook.limits, market);
  const globals: { -readonly [K in keyof RunbookGlobals]: RunbookGlobals[K] } = {
    runbook,
    values,
    defs: new Map(runbook.def.map(({ name, value }) => [name, value])),
    feeds: (scope) => run.feeds.makeRecord(runbook.feeds, scope),
    rules: (market) => run.venue.market(market),
    position: (market) => run.positions.get(market),
    accountPosition: (market) => run.feeds.getAccountPosition(market),
    limits: at.limits,
    bandFeeds: (market) => {
      const around = findOwnBand(market)?.around;
      return { names: listFeeds(around), only: findFeedMarket(around, inputs) };
    },
    reference: (market, scope) => findOwnBand(market)?.around.evaluate(scope),
  };
  const frame = new Frame(globals, { staticPath: '', path: at.path });
  const scope = () => new StepScope(frame, run.wall.now());
  const evaluateFresh = async (expr: Expr): Promise<Value> => {
    await run.feeds.ensure(listFeeds(expr), runbook.feeds, scope(), at.path);
    return evaluate(expr, scope(), at.path);
  };
  for (const { name, value } of runbook.let) values.set(name, await evaluateFresh(value));
  for (const { name, init } of runbook.vars) values.set(name, await evaluateFresh(init));
  const own =
    runbook.limits === undefined
      ? undefined
      : evaluateLimits(runbook.limits, (expr) => evaluate(expr, scope(), at.path));
  globals.limits = own === undefined ? at.limits : at.limits === undefined ? own : tighter(at.limits, own);
  return globals;
}
