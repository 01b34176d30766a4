/**
 * Finds values that a comma has cut into pieces. Inside {…} and […] a comma ends a value without quotes, so a call with two
 * arguments becomes a broken value and an extra key or item. Independent of YAML's nodes.
 */
import type { Span } from '../../base/diagnostic.ts';

/** A value without quotes, or the text read as the next key or item. */
export interface Piece {
  readonly text: string;
  readonly span: Span;
}

interface CutValue {
  readonly span: Span;
  /** How many pieces it was cut into. */
  readonly pieces: number;
}

/** The most arguments of a call; more pieces are not a call. */
const MOST_PIECES = 32;

/**
 * Finds the value that begins with piece 0, if commas have cut it. `piece` returns undefined after the last piece, and for a
 * value in quotes, a list or a map.
 */
export function findCutValue(piece: (index: number) => Piece | undefined, inMap: boolean): CutValue | undefined {
  const first = piece(0);
  if (first === undefined) return undefined;
  let open = countBracketsLeft(first.text);
  // 64,000 is one number cut in two; in a list it may be two numbers.
  const thousands = inMap && /^-?\d+$/.test(first.text) && /^\d+(?:\.\d+)?$/.test(piece(1)?.text ?? '');
  if (open <= 0 && !thousands) return undefined;
  for (let index = 1; index <= MOST_PIECES; index += 1) {
    const next = piece(index);
    if (next === undefined) return undefined;
    open += countBracketsLeft(next.text);
    if (open < 0) return undefined;
    if (open === 0) return { span: { start: first.span.start, end: next.span.end }, pieces: index + 1 };
  }
  return undefined;
}

/** How to write the value in one piece; undefined if it is too long to show. `before`: the text in front of it. */
export function suggestQuotes(before: string, text: string): string | undefined {
  if (/\d,\d/.test(text)) return 'A number is a plain decimal: a point before the fraction, nothing between thousands.';
  if (text.includes('\n') || text.length > 120) return undefined;
  return `Write ${before}${text.includes('"') ? `'${text.replaceAll("'", "''")}'` : `"${text}"`}.`;
}

/** The number of brackets that a text opens minus those it closes. */
function countBracketsLeft(text: string): number {
  const outside = text.replace(/'[^']*'|"[^"]*"/g, '');
  return (outside.match(/[([]/g)?.length ?? 0) - (outside.match(/[)\]]/g)?.length ?? 0);
}
