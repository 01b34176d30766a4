/** Analyses a runbook's text for an editor: its tree, its findings, and every expression with the names known at its place. */
import type { Diagnostic, SourceText, Span } from '../../base/diagnostic.ts';
import { checkRunbook, type ScheduleLint } from '../../runbook/check.ts';
import type { CheckedRunbook } from '../../runbook/checked.ts';
import type { Node } from '../../runbook/document/document.ts';
import type { ExpressionUse } from '../../runbook/expression/compiler.ts';
import { splitTemplate } from '../../runbook/expression/template.ts';

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

/** The parts of a value's text that are expressions: all of it, or in a text what is inside of `${…}`. */
export function listExpressionParts({
  node: { text },
  expected,
}: ExpressionUse): readonly { readonly from: number; readonly to: number }[] {
  const plain = expected === 'any' || expected.kind !== 'optional' ? expected : expected.of;
  const isTemplate = (plain !== 'any' && plain.kind === 'text') || text.includes('${');
  if (!isTemplate) return text === '' ? [] : [{ from: 0, to: text.length }];
  const { parts, unclosed } = splitTemplate(text);
  return [
    ...parts.flatMap((part) =>
      part.kind === 'expression' ? [{ from: part.start, to: part.start + part.text.length }] : [],
    ),
    ...(unclosed === undefined ? [] : [{ from: unclosed + 2, to: text.length }]),
  ];
}
