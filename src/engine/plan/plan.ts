/**
 * What a run would send, without sending anything, and the hash that an approval is bound to.
 */
import { createHash } from 'node:crypto';
import { canonicalJson } from '../../base/json.ts';
import type { CheckedRunbook } from '../../runbook/checked.ts';
import { valueJson } from '../../runbook/values.ts';
import type { PlanRow } from './rows.ts';
import type { PlanContext } from './scope.ts';
import { PlanWalk } from './walk.ts';

export type { PlannedRequest, PlanRow } from './rows.ts';

export interface Plan {
  /** sha256 over definitions, inputs, the profile's limits and rows, hex: what `run --plan` and an approver are bound to. */
  readonly hash: string;
  readonly rows: readonly PlanRow[];
}

export function planRun(context: PlanContext): Plan {
  const { runbook } = context;
  const walk = new PlanWalk(context);
  walk.runbook(runbook, context.inputs, '');
  const rows = walk.rows.list;
  const inputs = Object.fromEntries(Object.entries(context.inputs).map(([name, value]) => [name, valueJson(value)]));
  // What a called runbook does on a failure is in no row, and is approved with the rest all the same.
  const called = calledDefinitions(runbook);
  const essence = {
    definition: runbook.sha256,
    ...(called.length === 0 ? {} : { called }),
    deployment: context.deployment,
    ...(context.limits === undefined ? {} : { limits: context.limits as { readonly [control: string]: unknown } }),
    inputs,
    rows,
  };
  return { hash: createHash('sha256').update(canonicalJson(essence)).digest('hex'), rows };
}

/** The definitions of all runbooks that are called from here, at any depth, each once. */
function calledDefinitions({ calls }: CheckedRunbook): readonly string[] {
  const all = Object.values(calls).flatMap((callee) => [callee.sha256, ...calledDefinitions(callee)]);
  return [...new Set(all)].sort();
}
