/** Analyses a runbook's text for an editor: its tree, its findings, and every expression with the names known at its place. */
import type { Diagnostic, SourceText, Span } from '../../base/diagnostic.ts';
import { checkRunbook, type ScheduleLint } from '../../runbook/check.ts';
import type { CheckedRunbook } from '../../runbook/checked.ts';
import type { Node } from '../../runbook/document/document.ts';
import type { ExpressionUse } from '../../runbook/expression/compiler.ts';

export type Load = (name: string) => SourceText | undefined;

export interface Analysis {
  readonly source: SourceText;
  readonly root: Node | undefined;
  readonly runbook: CheckedRunbook | undefined;
  readonly diagnostics: readonly Diagnostic[];
  readonly uses: readonly ExpressionUse[];
}

export function analyse(source: SourceText, load: Load, scheduleLint?: ScheduleLint): Analysis {
  const uses: ExpressionUse[] = [];
  const { root, runbook, diagnostics } = checkRunbook(source, load, {
    observe: (use) => void uses.push(use),
    ...(scheduleLint === undefined ? {} : { scheduleLint }),
  });
  return { source, root, runbook, diagnostics, uses };
}

/** The expression at an offset, with the part of its text that is one: all of it, or the inside of a `${…}`. */
export function findExpression(
  { uses }: Analysis,
  offset: number,
):
  | {
      readonly use: ExpressionUse;
      readonly text: string;
      readonly at: number;
      readonly toSpan: (from: number, to: number) => Span;
    }
  | undefined {
  // A field may be compiled twice, the later time with more names.
  const use = uses.findLast(({ node: { span } }) => span.start <= offset && offset <= span.end);
  if (use === undefined) return undefined;
  const { node } = use;
  for (const { from, to } of listExpressionParts(use)) {
    const [start, end] = [node.offset(from), node.offset(to)];
    if (offset < start || offset > end) continue;
    let at = from;
    while (at < to && node.offset(at) < offset) at += 1;
    return {
      use,
      text: node.text.slice(from, to),
      at: at - from,
      toSpan: (a, b) => ({ start: node.offset(from + a), end: node.offset(from + b) }),
    };
  }
  return undefined;
}

/** The parts of a value's text that are expressions. */
export function listExpressionParts({
  node: { text },
  expected,
  type,
}: ExpressionUse): readonly { readonly from: number; readonly to: number }[] {
  const kind = expected === 'any' ? 'any' : expected.kind === 'optional' ? expected.of.kind : expected.kind;
  if (kind !== 'text' && !text.includes('${'))
    return type === undefined || kind === 'any' || text !== '' ? [{ from: 0, to: text.length }] : [];
  const parts: { from: number; to: number }[] = [];
  for (let at = text.indexOf('${'); at !== -1; at = text.indexOf('${', at + 2)) {
    if (text[at - 1] === '$') continue;
    const close = text.indexOf('}', at);
    parts.push({ from: at + 2, to: close === -1 ? text.length : close });
  }
  return parts;
}
