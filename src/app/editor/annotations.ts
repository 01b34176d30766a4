/** Lists what an editor shows beside the text: the types of names that the author did not write, and what a run costs at worst. */

import { readInputs } from '../../runbook/check/inputs.ts';
import type { CheckedRunbook } from '../../runbook/checked.ts';
import type { MapNode, Node } from '../../runbook/document/document.ts';
import { formatType } from '../../runbook/functions/typing.ts';
import { planFor } from '../plan.ts';
import type { Analysis } from './analysis.ts';

export interface InlayHint {
  /** Behind the name. */
  readonly offset: number;
  readonly text: string;
}

/** The types of `let`, `def` and `outputs`, and of the names that a step declares. */
export function listInlayHints({ root, uses }: Analysis, start: number, end: number): readonly InlayHint[] {
  const types = new Map(uses.map(({ node, type }) => [node.span.start, type]));
  const found: InlayHint[] = [];
  const addMap = (map: Node | undefined): void => {
    for (const { keySpan, value } of map?.kind === 'map' ? map.entries : []) {
      const type = types.get(value.span.start);
      if (type !== undefined) found.push({ offset: keySpan.end, text: formatType(type) });
    }
  };
  const visit = (node: Node): void => {
    if (node.kind === 'list') node.items.forEach(visit);
    if (node.kind !== 'map') return;
    for (const { key, value } of node.entries) {
      if (key === 'let' || key === 'def' || key === 'outputs') addMap(value);
      else visit(value);
    }
  };
  if (root !== undefined) visit(root);
  return found.filter(({ offset }) => start <= offset && offset <= end);
}

export interface Lens {
  readonly offset: number;
  readonly title: string;
  /** Absent: it only says something. */
  readonly command?: 'runbook.dryRun';
}

/** Above the steps: the worst case of the plan with the default inputs, and a dry-run. */
export function listLenses({ root, runbook }: Analysis, nowMs: number): readonly Lens[] {
  const at = root?.kind === 'map' ? (root as MapNode).entry('steps')?.keySpan.start : undefined;
  if (at === undefined || runbook === undefined) return [];
  const missing = runbook.inputs.filter((each) => each.default === undefined).map(({ name }) => name);
  if (missing.length > 0) return [{ offset: at, title: `plan and dry-run need ${missing.join(', ')}` }];
  return [
    { offset: at, title: describeWorstCase(runbook, nowMs) },
    { offset: at, title: 'dry-run', command: 'runbook.dryRun' },
  ];
}

function describeWorstCase(runbook: CheckedRunbook, nowMs: number): string {
  const read = readInputs(runbook, {});
  if (!('values' in read)) return 'the plan needs inputs';
  const { bounds } = planFor(runbook, read.values, { now: nowMs });
  const orders = bounds.orders.max ?? 'unbounded';
  const notional = bounds.notional.max === undefined ? '' : `, notional ${bounds.notional.max}`;
  return `worst case: ${orders} orders${notional}, ${bounds.tokensPerMinute.max} tokens/min`;
}
