/** Lists what may be written at a cursor: keys, words, types, and the names, fields and functions of an expression. */

import type { FunctionRow } from '../../runbook/functions/function-row.ts';
import { FUNCTIONS } from '../../runbook/functions/functions.ts';
import { formatSignatures } from '../../runbook/functions/signature-text.ts';
import { TYPE_WORDS, VARIABLE_WORDS } from '../../runbook/functions/type-words.ts';
import { formatType } from '../../runbook/functions/typing.ts';
import type { Shape } from '../../runbook/shapes.ts';
import type { ValueType } from '../../runbook/values.ts';
import { type Analysis, analyse, findExpression, type Load } from './analysis.ts';
import { type Cursor, findCursor } from './cursor.ts';
import { findType, METHODS, unwrap } from './expression-names.ts';
import { findShape, listKeys } from './grammar-at.ts';
import { listDeclarations } from './symbols.ts';

export interface Completion {
  readonly label: string;
  readonly kind: 'key' | 'verb' | 'word' | 'type' | 'name' | 'field' | 'function' | 'id';
  readonly detail?: string;
  readonly doc?: string;
  /** What is written instead of the word before the cursor. */
  readonly insert: string;
}

/** Everything that fits at an offset; the editor keeps what begins like the word before it. */
export function complete(file: string, text: string, offset: number, load: Load): readonly Completion[] {
  const cursor = findCursor(text, offset);
  if (cursor === undefined) return [];
  if (cursor.at === 'key') return completeKey(cursor);
  const shape = findShape(cursor.root, cursor.path)?.shape;
  if (shape === undefined) return [];
  const words = listWords(shape, cursor.path[0] === 'vars' ? VARIABLE_WORDS : TYPE_WORDS);
  const analysis = analyse({ file, text: cursor.text }, load);
  if (cursor.path.at(-1) === 'release_after') return listIds(analysis);
  return [...words, ...completeExpression(analysis, offset)];
}

function completeKey({ root, path, complete: hasColon }: Cursor): readonly Completion[] {
  const own = String(path.at(-1));
  return listKeys(root, path.slice(0, -1), own).map(({ key, doc, field, verb }) => ({
    label: key,
    kind: verb === true ? 'verb' : 'key',
    doc: field?.default === undefined ? doc : `${doc} (default: ${field.default})`,
    detail: verb === true ? 'step' : field?.required === true ? 'required' : 'optional',
    insert: hasColon ? key : `${key}: `,
  }));
}

function listWords(shape: Shape, types: readonly string[]): readonly Completion[] {
  const word = (label: string): Completion => ({ label, kind: 'word', insert: label });
  switch (shape.kind) {
    case 'word':
      return shape.values.map(word);
    case 'flag':
      return (shape.only === true ? ['true'] : ['true', 'false']).map(word);
    case 'type':
      return types.map((label) => ({ label, kind: 'type', insert: label.replace('…', '') }));
    case 'choice':
      return shape.scalar === undefined ? [] : listWords(shape.scalar, types);
    case 'value':
      return shape.type !== 'any' && shape.type.kind === 'text' ? (shape.type.of ?? []).map(word) : [];
    default:
      return [];
  }
}

function listIds(analysis: Analysis): readonly Completion[] {
  return listDeclarations(analysis)
    .filter(({ kind }) => kind === 'id')
    .map(({ name }) => ({ label: name, kind: 'id', insert: name }));
}

function completeExpression(analysis: Analysis, offset: number): readonly Completion[] {
  const found = findExpression(analysis, offset);
  if (found === undefined) return [];
  const before = found.text.slice(0, found.at);
  const { names } = found.use;
  const [, quoted] = /([\w.]+)\s*(?:==|!=)\s*'\w*$/.exec(before) ?? [];
  if (quoted !== undefined) return listMembers(findType(names, quoted.split('.')));
  if (((before.match(/'/g) ?? []).length & 1) === 1) return [];
  const [, path] = /((?:[A-Za-z_]\w*\s*(?:\?\s*)?\.\s*(?:\?\s*)?)+)\w*$/.exec(before) ?? [];
  if (path !== undefined) {
    const prefix = path.replaceAll(/[\s?]/g, '');
    return [...listFields(findType(names, prefix.split('.').slice(0, -1))), ...listFunctions(prefix)];
  }
  if (/\.\w*$/.test(before)) return listMethods(undefined);
  return [
    ...[...names].map(
      ([label, type]): Completion => ({ label, kind: 'name', detail: formatType(type), insert: label }),
    ),
    ...listFunctions(''),
  ];
}

/** The functions whose names begin so; what is inserted is the rest of the name. */
function listFunctions(prefix: string): readonly Completion[] {
  return Object.entries(FUNCTIONS as Readonly<Record<string, FunctionRow>>).flatMap(([name, row]): Completion[] => {
    if (!name.startsWith(prefix)) return [];
    const label = name.slice(prefix.length);
    return [{ label, kind: 'function', detail: formatSignatures(name, row).join('\n'), doc: row.doc, insert: label }];
  });
}

function listMembers(type: ValueType | undefined): readonly Completion[] {
  const text = type === undefined ? undefined : unwrap(type);
  const words = text?.kind === 'text' ? (text.of ?? text.usual ?? []) : [];
  return words.map((label) => ({ label, kind: 'word', insert: label }));
}

function listFields(type: ValueType | undefined): readonly Completion[] {
  if (type === undefined) return [];
  const record = unwrap(type);
  const fields = record.kind === 'record' ? Object.entries(record.fields) : [];
  return [
    ...fields.map(([label, of]): Completion => ({ label, kind: 'field', detail: formatType(of), insert: label })),
    ...listMethods(type),
  ];
}

/** What may follow a point; all of it where the type before it is not known. */
function listMethods(type: ValueType | undefined): readonly Completion[] {
  const fits = (of: 'list' | 'optional') =>
    type === undefined || (of === 'optional' ? type.kind === of : unwrap(type).kind === of);
  return Object.entries(METHODS)
    .filter(([, { of }]) => fits(of))
    .map(([label, { doc }]) => ({ label, kind: 'function', doc, insert: label }));
}
