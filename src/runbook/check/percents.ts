/** Finds inputs of type pct or bps that are compared with a number as if they were per cent: they are ratios, 0.02 for 2%. */
import { parseAuthoredDecimal } from '../../base/decimal.ts';
import type { Span } from '../../base/diagnostic.ts';
import type { CheckedRunbook } from '../checked.ts';
import { listParsed } from '../expression/expression.ts';
import type { SyntaxNode } from '../expression/syntax.ts';
import { findPath, listParts } from '../expression/tree.ts';
import type { Expr } from '../values.ts';
import type { Checking } from './checking.ts';

const COMPARISONS: ReadonlySet<string> = new Set(['<', '<=', '>', '>=', '==', '!=']);

export function lintPercents(checking: Checking, runbook: CheckedRunbook): void {
  const ratios = new Map<string, CheckedRunbook['inputs'][number]>(
    runbook.inputs.flatMap((input) =>
      input.typeText === 'pct' || input.typeText === 'bps' ? [[`inputs.${input.name}`, input] as const] : [],
    ),
  );
  if (ratios.size === 0) return;
  const visit = (node: SyntaxNode, locate: (node: SyntaxNode) => Span): void => {
    const [left, right] = COMPARISONS.has(node.op) ? listParts(node) : [];
    for (const [side, other] of [
      [left, right],
      [right, left],
    ]) {
      const input = side && ratios.get(findPath(side) ?? '');
      const text = other?.op === 'value' ? other.input.slice(other.start, other.end) : '';
      const value = parseAuthoredDecimal(text);
      // A bound of the input that lets it be as large says that it is meant.
      if (input === undefined || other === undefined || value === undefined || value.lte(1)) continue;
      if (input.max !== undefined && value.lte(String(input.max))) continue;
      const meant = value.times(100).toFixed();
      checking.report(
        locate(other),
        'percent-as-number',
        `inputs.${input.name} is a ratio, and ${text} is ${meant}%`,
        `For ${text}${input.typeText === 'pct' ? '%' : ' bps'}, write ${input.typeText}(${text}).`,
      );
    }
    for (const part of listParts(node)) visit(part, locate);
  };
  for (const expr of listExpressions(runbook)) for (const { tree, locate } of listParsed(expr)) visit(tree, locate);
}

function listExpressions({ steps, onError, finally: last, let: lets, outputs }: CheckedRunbook): ReadonlySet<Expr> {
  const found = new Set<Expr>();
  const visit = (value: unknown): void => {
    if (typeof value !== 'object' || value === null) return;
    if ('evaluate' in value && 'reads' in value) found.add(value as unknown as Expr);
    else for (const each of Object.values(value)) visit(each);
  };
  for (const each of [steps, onError, last, lets, outputs]) visit(each);
  return found;
}
