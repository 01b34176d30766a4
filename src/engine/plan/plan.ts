/** Plans a run: lists the requests it would send, without sending any, and computes the hash that an approval is bound to. */
import { createHash } from 'node:crypto';
import { toCanonicalJson } from '../../base/json.ts';
import type { CheckedRunbook } from '../../runbook/checked.ts';
import { toJson } from '../../runbook/values.ts';
import type { PlanRow } from './rows.ts';
import type { PlanContext } from './scope.ts';
import { PlanWalk } from './walk.ts';

export type { PlannedRequest, PlanRow } from './rows.ts';

export interface Plan {
  /** sha256 over definitions, inputs, the profile's limits and rows, hex. `run --plan` and an approval are bound to it. */
  readonly hash: string;
  readonly rows: readonly PlanRow[];
}

export function planRun(context: PlanContext): Plan {
  const { runbook } = context;
  const walk = new PlanWalk(context);
  walk.runbook(runbook, context.inputs, '');
  const rows = walk.rows.list;
  const inputs = Object.fromEntries(Object.entries(context.inputs).map(([name, value]) => [name, toJson(value)]));
  // The failure handlers of a called runbook are in no row, but are approved with the rest.
  const called = listCalledDefinitions(runbook);
  const essence = {
    definition: runbook.sha256,
    ...(called.length === 0 ? {} : { called }),
    deployment: context.deployment,
    ...(context.limits === undefined ? {} : { limits: context.limits as { readonly [control: string]: unknown } }),
    inputs,
    rows,
  };
  return { hash: createHash('sha256').update(toCanonicalJson(essence)).digest('hex'), rows };
}

/** The definitions of all runbooks that are called from here, at any depth, each once. */
function listCalledDefinitions({ calls }: CheckedRunbook): readonly string[] {
  const all = Object.values(calls).flatMap((callee) => [callee.sha256, ...listCalledDefinitions(callee)]);
  return [...new Set(all)].sort();
}
