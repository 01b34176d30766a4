/** Renames a name in its file, and refuses what would change the meaning: a name that is taken, or none that expressions can use. */
import type { Span } from '../../base/diagnostic.ts';
import { FORBIDDEN_KEYS } from '../../runbook/document/nodes.ts';
import { RESERVED_GLOBALS } from '../../runbook/expression/scope.ts';
import { RESERVED_WORDS } from '../../runbook/expression/syntax.ts';
import { NAME_PATTERN } from '../../runbook/shapes.ts';
import { type Analysis, analyse, type Load } from './analysis.ts';
import { findSymbol, listDeclarations } from './symbols.ts';

export interface Edit {
  readonly span: Span;
  readonly text: string;
}

export type Renaming = { readonly edits: readonly Edit[] } | { readonly refused: string };

export function rename(analysis: Analysis, offset: number, name: string, load: Load): Renaming {
  const symbol = findSymbol(analysis, offset);
  if (symbol === undefined) return { refused: 'there is no name of this file here' };
  const { declaration, uses } = symbol;
  if (name === declaration.name) return { edits: [] };
  if (!new RegExp(NAME_PATTERN, 'u').test(name))
    return { refused: `${name} is no name: letters, digits and underscores, not beginning with a digit` };
  if (FORBIDDEN_KEYS.has(name) || RESERVED_WORDS.has(name) || (RESERVED_GLOBALS as readonly string[]).includes(name))
    return { refused: `${name} is reserved by the language` };
  // Inputs and feeds are read behind their block's name; all others share one space of names.
  const space = (kind: string) => (kind === 'input' || kind === 'feed' ? kind : 'name');
  const taken = listDeclarations(analysis).find(
    (each) => each.name === name && space(each.kind) === space(declaration.kind),
  );
  if (taken !== undefined) return { refused: `${name} is taken: it is a ${taken.kind} of this file` };
  const edits = [declaration.span, ...uses].map((span) => ({ span, text: name }));
  const after = analyse({ ...analysis.source, text: applyEdits(analysis.source.text, edits) }, load);
  const broken = after.diagnostics.filter(({ severity }) => severity === 'error').length;
  const before = analysis.diagnostics.filter(({ severity }) => severity === 'error').length;
  if (broken > before) return { refused: `with the name ${name} the file would have a new error` };
  return { edits };
}

/** The text after edits that do not overlap. */
export function applyEdits(text: string, edits: readonly Edit[]): string {
  return [...edits]
    .sort((a, b) => b.span.start - a.span.start)
    .reduce((done, { span, text: put }) => done.slice(0, span.start) + put + done.slice(span.end), text);
}
