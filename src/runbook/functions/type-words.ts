/** The words for types in a runbook: `price`, `list<market>`, `map<order>`. */
import type { ValueType } from '../values.ts';
import { ORDER } from './records.ts';
import { BOOLEAN, DURATION, INTEGER, MARKET, MONEY, NUMBER, PRICE, SIDE, SIZE, TEXT, TIME } from './typing.ts';

/** pct and bps differ from number in how a literal is read, not in their type. */
const WORDS: ReadonlyMap<string, ValueType> = new Map<string, ValueType>([
  ['market', MARKET],
  ['side', SIDE],
  ['price', PRICE],
  ['size', SIZE],
  ['money', MONEY],
  ['number', NUMBER],
  ['integer', INTEGER],
  ['pct', NUMBER],
  ['bps', NUMBER],
  ['duration', DURATION],
  ['boolean', BOOLEAN],
  ['text', TEXT],
  ['time', TIME],
]);

/** The words of an input or a feed, whose values come from outside. */
export const TYPE_WORDS: readonly string[] = [...WORDS.keys(), 'list<…>', 'map<…>'];
/** The words of a variable: an order exists only in a run. */
export const VARIABLE_WORDS: readonly string[] = [...WORDS.keys(), 'order', 'list<…>', 'map<…>'];

/** The type of a word such as `price` or `list<order>`; undefined for an unknown word. */
export function parseTypeWord(text: string): ValueType | undefined {
  const word = text.trim();
  const known = word === 'order' ? ORDER : WORDS.get(word);
  if (known !== undefined || word.length > 200) return known;
  const nested = /^(list|map)\s*<(.*)>$/.exec(word);
  const of = nested === null ? undefined : parseTypeWord(nested[2] as string);
  return of === undefined ? undefined : { kind: nested?.[1] as 'list' | 'map', of };
}

/** Whether values of a type are, or hold, orders. */
export function holdsOrders(type: ValueType): boolean {
  return type.kind === 'list' || type.kind === 'map' ? holdsOrders(type.of) : type === ORDER;
}

/** The word inside `list<…>` or `map<…>`. */
export function getElementWord(typeText: string): string {
  return /^(?:list|map)\s*<(.*)>$/.exec(typeText.trim())?.[1]?.trim() ?? typeText;
}
