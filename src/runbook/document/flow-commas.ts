/**
 * Values that a comma has cut to pieces: inside of {…} and […] it ends what stands without quotes, so that a call with two
 * arguments becomes a broken value and a key or item more. Finds what was one value before. Knows nothing of YAML's nodes.
 */
import type { Span } from '../../base/diagnostic.ts';

/** A value without quotes, or what stands in place of the next key or item. */
export interface Piece {
  readonly text: string;
  readonly span: Span;
}

interface CutValue {
  readonly span: Span;
  /** How many pieces it makes up. */
  readonly pieces: number;
}

/** As many arguments as a call may have; what goes on for longer is no call. */
const MOST_PIECES = 32;

/**
 * The value that begins with piece 0, where a comma has cut it. `piece` gives undefined behind the last, and where a value in
 * quotes, a list or a map stands.
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

/** How it is written in one piece; undefined where only the rule can be told. `before`: what stands in front of it. */
export function suggestQuotes(before: string, text: string): string | undefined {
  if (/\d,\d/.test(text)) return 'A number is a plain decimal: a point before the fraction, nothing between thousands.';
  if (text.includes('\n') || text.length > 120) return undefined;
  return `Write ${before}${text.includes('"') ? `'${text.replaceAll("'", "''")}'` : `"${text}"`}.`;
}

/** How many brackets a text opens more than it closes. */
function countBracketsLeft(text: string): number {
  const outside = text.replace(/'[^']*'|"[^"]*"/g, '');
  return (outside.match(/[([]/g)?.length ?? 0) - (outside.match(/[)\]]/g)?.length ?? 0);
}
