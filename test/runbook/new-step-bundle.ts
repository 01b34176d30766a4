/** The parts of the program that know steps, as one bundle for new-step.test.ts. */
import { planFor } from '../../src/app/plan.ts';
import { dryRun } from '../../src/app/run/virtual-run.ts';
import type { Diagnostic } from '../../src/base/diagnostic.ts';
import { makeReferencePages } from '../../src/cli/generate/reference.ts';
import { renderMermaidChart } from '../../src/engine/chart/chart.ts';
import type { Entry } from '../../src/journal/entry.ts';
import { MemoryStore } from '../../src/journal/stores/memory.ts';
import { checkRunbook } from '../../src/runbook/check.ts';
import type { CheckedRunbook } from '../../src/runbook/checked.ts';
import { buildRunbookSchema } from '../../src/runbook/schema.ts';
import { makeRunReport } from '../report/whole-run.ts';

export { buildRunbookSchema, makeReferencePages, planFor, renderMermaidChart };

export function check(text: string): {
  readonly runbook: CheckedRunbook | undefined;
  readonly diagnostics: readonly Diagnostic[];
} {
  return checkRunbook({ file: 'lower.yaml', text }, () => undefined);
}

/** Dry-runs against the simulated venue; gives the report, and the requests that were sent. */
export async function run(text: string) {
  const { runbook } = check(text);
  if (runbook === undefined) throw new Error('the runbook was refused');
  const entries: Entry[] = [];
  const source = { file: 'lower.yaml', text };
  await dryRun({
    loaded: { runbook, sources: [{ name: 'lower', source }] },
    inputs: {},
    run: 'added',
    at: 0,
    seed: 1,
    store: new MemoryStore(),
    venue: { kind: 'simulated', config: {} },
    onEntry: (entry) => entries.push(entry),
  });
  const books = entries.flatMap((entry) => (entry.type === 'call.intended' ? [entry.data] : []));
  return { report: makeRunReport(entries), books };
}
