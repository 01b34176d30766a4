/**
 * Texts for messages about shapes: what a shape accepts, what was found instead, and what was probably meant.
 */
import { formatList } from '../../base/format.ts';
import { shorten } from '../../base/printable.ts';
import { isScalar, type Node, type ScalarNode } from '../document/nodes.ts';
import { suggestWord } from '../foreign-words.ts';
import type { FieldsShape, Shape } from '../shapes.ts';
import type { ValueType } from '../values.ts';

/** Descriptions of shapes with a single form. */
export const SPELLINGS = {
  duration: 'a duration such as 30s',
  time: 'a time such as 2026-01-05T08:00:00Z',
  type: 'a type such as price or list<market>',
} as const;

/** How to write a value of a shape, for a hint to add one. */
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

/** A list of words that is longer is not written out inside braces. */
const MOST_WORDS = 4;

/** How to write a map that one word decides about, and with the word where it was written alone: `none` of `{position: none}`. */
export function suggestVariant(by: string, words: readonly string[], node: Node): string {
  const meant = isScalar(node, 'text') ? suggestWord(node.text, words) : undefined;
  const written = `Write {${by}: ${words.length > MOST_WORDS ? '…' : words.join('|')}}.`;
  return meant === undefined ? written : `Did you mean {${by}: ${meant}}? ${written}`;
}

/** The map of a shape: its required keys, examples of it, or its first optional keys. */
export function describeMap(shape: FieldsShape): string {
  const all = Object.entries(shape.fields);
  const required = all.filter(([, field]) => field.required);
  if (required.length === 0 && shape.examples !== undefined) return `one of ${shape.examples.join(', ')}`;
  const shown = (required.length > 0 ? required : all.slice(0, 3)).map(([key]) => `${key}: …`);
  return `{${shown.join(', ')}}`;
}

/** Suggests what to write instead of braces around a value that is not a map. */
export function suggestForBraces(type: ValueType | 'any'): string {
  return type !== 'any' && type.kind === 'text'
    ? 'An expression in a text is written "${…}", with the dollar sign.'
    : 'Write the value or expression without braces.';
}

/** Suggests a unit for a number where a duration is needed. */
export function suggestUnit(node: Node, kind: string): string | undefined {
  return kind === 'duration' && isScalar(node, 'number')
    ? `Write its unit: ${node.text}s, or ${node.text}m.`
    : undefined;
}

/** Suggests how to write a literal of another type as one of `type`. */
export function suggestValue(node: ScalarNode, type: ValueType | 'any'): string | undefined {
  if (type === 'any') return undefined;
  if (type.kind === 'text') return type.of === undefined ? 'Put it in quotes.' : `Write ${formatList(type.of, 'or')}.`;
  if (type.kind === 'duration') return suggestUnit(node, type.kind);
  return type.kind === 'decimal' ? 'Write a number, or an expression that gives one.' : undefined;
}

/** Suggests the nearest name that the pattern allows. */
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

export function formatOneOf(values: readonly string[]): string {
  return values.length === 1 ? (values[0] ?? '') : `one of ${values.join(', ')}`;
}

export function addArticle(spelling: string): string {
  return /^any/.test(spelling) ? spelling : `${/^[aeiou]/.test(spelling) ? 'an' : 'a'} ${spelling}`;
}
