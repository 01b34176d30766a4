/** Says what a key, a name, a field or a function means, in Markdown: its type and unit, its value where it is a constant, its words. */

import type { Span } from '../../base/diagnostic.ts';
import { formatCount } from '../../base/format.ts';
import { toText } from '../../runbook/functions/evaluation.ts';
import type { FunctionRow } from '../../runbook/functions/function-row.ts';
import { findFunction } from '../../runbook/functions/functions.ts';
import { RECORDS } from '../../runbook/functions/records.ts';
import { formatSignatures } from '../../runbook/functions/signature-text.ts';
import { formatType } from '../../runbook/functions/typing.ts';
import type { Shape } from '../../runbook/shapes.ts';
import type { Value, ValueType } from '../../runbook/values.ts';
import { type Analysis, findExpression } from './analysis.ts';
import { findCursor } from './cursor.ts';
import { findType, listNames, METHODS, unwrap } from './expression-names.ts';
import { findShape } from './grammar-at.ts';
import { findSymbol, listDeclarations } from './symbols.ts';

export interface Hover {
  readonly markdown: string;
  readonly span: Span | undefined;
}

export function hover(analysis: Analysis, offset: number): Hover | undefined {
  return (
    hoverExpression(analysis, offset) ??
    hoverDeclaration(analysis, offset) ??
    hoverGrammar(analysis.source.text, offset)
  );
}

function hoverExpression(analysis: Analysis, offset: number): Hover | undefined {
  const found = findExpression(analysis, offset);
  const token = found && listNames(found.text).find(({ from, to }) => from <= found.at && found.at <= to);
  if (found === undefined || token === undefined) return undefined;
  const span = found.toSpan(token.from, token.to);
  const { use } = found;
  const called = [token.path.join('.'), token.name].find((name) => token.called && findFunction(name) !== undefined);
  const row = called === undefined ? undefined : findFunction(called);
  if (called !== undefined && row !== undefined) return { markdown: describeFunction(called, row), span };
  if (token.called && Object.hasOwn(METHODS, token.name)) return { markdown: METHODS[token.name]?.doc ?? '', span };
  const type = findType(use.names, token.path);
  if (type === undefined) return undefined;
  const constant = readConstant(use.constants, token.path);
  const lines = [
    `**${token.path.join('.')}**: ${describeType(type)}`,
    ...(constant === undefined ? [] : [`Value: \`${constant}\``]),
    ...describeName(analysis, token.path, use.names),
  ];
  return { markdown: lines.join('\n\n'), span };
}

function describeType(type: ValueType): string {
  const inner = unwrap(type);
  const unit = inner.kind === 'decimal' ? UNITS[inner.unit] : undefined;
  return `\`${formatType(type)}\`${unit === undefined ? '' : `, ${unit}`}${type.kind === 'optional' ? '; it may be absent' : ''}`;
}

const UNITS = {
  price: 'in quote currency for one unit of the base currency',
  size: 'in base currency',
  money: 'in quote currency',
  number: 'without unit',
} as const;

function readConstant(
  constants: ReadonlyMap<string, Value>,
  [root = '', ...fields]: readonly string[],
): string | undefined {
  const value = fields.length === 0 ? constants.get(root) : undefined;
  return value === undefined || (typeof value === 'object' && Object.getPrototypeOf(value) === null)
    ? undefined
    : toText(value, root);
}

/** What the author or the table of records says of a name. */
function describeName(
  analysis: Analysis,
  path: readonly string[],
  names: ReadonlyMap<string, ValueType>,
): readonly string[] {
  const field = path.at(-1) ?? '';
  const holder = path.length > 1 ? findType(names, path.slice(0, -1)) : undefined;
  const record = holder === undefined ? undefined : unwrap(holder);
  const row = record?.kind === 'record' ? RECORDS.find(({ type }) => type.name === record.name) : undefined;
  const said = row?.fields?.[field];
  const name = path[0] === 'inputs' || path[0] === 'feeds' ? path[1] : path.length === 1 ? path[0] : undefined;
  const declared = listDeclarations(analysis).find(
    (each) => each.name === name && (path.length === 1 || each.kind === path[0]?.slice(0, -1)),
  );
  return [
    ...(said === undefined ? [] : [said]),
    ...(declared === undefined || (path.length > 1 && field !== name) ? [] : [`${declared.words}`]),
  ];
}

/** A name where it is declared, with the type that it has for the expressions after it. */
function hoverDeclaration(analysis: Analysis, offset: number): Hover | undefined {
  const found = findSymbol(analysis, offset);
  if (found === undefined || found.span.start !== found.declaration.span.start) return undefined;
  const { name, kind, words } = found.declaration;
  const path = kind === 'input' || kind === 'feed' ? [`${kind}s`, name] : [name];
  const type = analysis.uses.map(({ names }) => findType(names, path)).findLast((each) => each !== undefined);
  const shown = type === undefined ? '' : `: ${describeType(type)}`;
  return {
    markdown: [`**${name}**${shown}`, words, formatCount(found.uses.length, 'use')].join('\n\n'),
    span: found.span,
  };
}

function hoverGrammar(text: string, offset: number): Hover | undefined {
  const cursor = findCursor(text, offset);
  if (cursor === undefined || cursor.at !== 'key' || cursor.text !== text) return undefined;
  const at = findShape(cursor.root, cursor.path);
  if (at?.field === undefined) return undefined;
  const { doc, required, default: byDefault } = at.field;
  const parent = cursor.parents.at(-1);
  const span = parent?.kind === 'map' ? parent.entry(String(cursor.path.at(-1)))?.keySpan : undefined;
  const facts = [
    `**${String(cursor.path.at(-1))}**: ${nameShape(at.shape)}${required ? '' : ', optional'}`,
    doc,
    ...(byDefault === undefined ? [] : [`Default: \`${byDefault}\``]),
  ];
  return { markdown: facts.join('\n\n'), span };
}

function nameShape(shape: Shape): string {
  switch (shape.kind) {
    case 'value':
      return shape.spelling;
    case 'word':
      return shape.values.map((each) => `\`${each}\``).join(' ');
    case 'choice':
      return shape.accepts;
    case 'list':
      return `list of ${nameShape(shape.of)}`;
    case 'fields':
      return 'a map';
    case 'variants':
      return `by \`${shape.by}\``;
    default:
      return shape.kind;
  }
}

function describeFunction(name: string, row: FunctionRow): string {
  const examples = row.examples.slice(0, 2).map(({ expression, value }) => `\`${expression}\` gives \`${value}\``);
  return [`\`\`\`\n${formatSignatures(name, row).join('\n')}\n\`\`\``, row.doc, ...examples].join('\n\n');
}
