/**
 * Shapes, what was found in their place, and what was probably meant, in the words of a message. Knows no grammar: the walk
 * says which shape it is about.
 */
import { isScalar, type Node, type ScalarNode } from '../document/nodes.ts';
import type { ValueType } from '../values.ts';
import type { FieldsShape, Shape } from './shape.ts';

/** Shapes of one kind, as an author would write them. */
export const SPELLINGS = {
  duration: 'a duration such as 30s',
  time: 'a time such as 2026-01-05T08:00:00Z',
  type: 'a type such as price or list<market>',
} as const;

/** How a value of a shape is written, for who has to add one. */
export function describeShape(shape: Shape | undefined): string {
  switch (shape?.kind) {
    case 'word':
      return shape.values.join(' or ');
    case 'value':
      return addArticle(shape.spelling);
    case 'duration':
    case 'time':
    case 'type':
      return SPELLINGS[shape.kind];
    case 'steps':
    case 'list':
      return `a list${shape.kind === 'steps' ? ' of steps' : ''}`;
    case 'integer':
      return shape.max === shape.min ? `${shape.min}` : 'a whole number';
    case 'number':
      return 'a number';
    case 'fields':
      return describeMap(shape);
    case 'choice':
      return shape.accepts;
    case 'text':
      return shape.accepts ?? 'a text';
    default:
      return 'its value';
  }
}

/** The map a shape asks for: its required keys, or those it may have. */
export function describeMap(shape: FieldsShape): string {
  const all = Object.entries(shape.fields);
  const required = all.filter(([, field]) => field.required);
  const shown = (required.length > 0 ? required : all.slice(0, 3)).map(([key]) => `${key}: …`);
  return `{${shown.join(', ')}}`;
}

/** What braces around a value that is no map were probably meant for. */
export function suggestForBraces(type: ValueType | 'any'): string {
  return type !== 'any' && type.kind === 'text'
    ? 'An expression in a text is written "${…}", with the dollar sign.'
    : 'Write the value or expression without braces.';
}

/** A number where a length of time is needed: 30 of what? */
export function suggestUnit(node: Node, kind: string): string | undefined {
  return kind === 'duration' && isScalar(node, 'number')
    ? `Write its unit: ${node.text}s, or ${node.text}m.`
    : undefined;
}

/** How a literal of another kind is written as one of `type`. */
export function suggestValue(node: ScalarNode, type: ValueType | 'any'): string | undefined {
  if (type === 'any') return undefined;
  if (type.kind === 'text') return 'Put it in quotes.';
  if (type.kind === 'duration') return suggestUnit(node, type.kind);
  return type.kind === 'decimal' ? 'Write a number, or an expression that gives one.' : undefined;
}

/** A name as near to a text as the pattern allows. */
export function suggestName(text: string, pattern: RegExp): string | undefined {
  const plain = text.trim().replace(/\.ya?ml$/, '');
  const meant = [plain, plain.replaceAll(/\W+/g, '_')].find((each) => pattern.test(each));
  return meant && `Write it as ${shorten(meant)}.`;
}

export function describe(node: Node): string {
  if (node.kind === 'map') return 'a map';
  if (node.kind === 'list') return 'a list';
  return node.type === 'text' ? quote(node.text) : `the ${node.type} ${node.text}`;
}

export function quote(text: string): string {
  return `"${shorten(text)}"`;
}

export function shorten(text: string): string {
  return text.length > 60 ? `${text.slice(0, 60)}…` : text;
}

export function formatOneOf(values: readonly string[]): string {
  return values.length === 1 ? (values[0] ?? '') : `one of ${values.join(', ')}`;
}

export function addArticle(spelling: string): string {
  return /^any/.test(spelling) ? spelling : `${/^[aeiou]/.test(spelling) ? 'an' : 'a'} ${spelling}`;
}
