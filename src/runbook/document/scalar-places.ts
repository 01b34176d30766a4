/**
 * Maps the characters of a YAML scalar's text to their offsets in the file, through quotes, escapes and folded lines, so that
 * an error inside an expression has a line and column.
 */
import type { Span } from '../../base/diagnostic.ts';

export interface ScalarWriting {
  readonly span: Span;
  readonly style: 'plain' | 'single' | 'double' | 'block';
}

/** Length of an escape in a double-quoted scalar, by the character after the backslash; 2 for all others. */
const ESCAPE_LENGTH: Readonly<Record<string, number>> = { x: 4, u: 6, U: 10 };

/**
 * Returns the offset of each character of a scalar's text in the source. Despite folding, text and source contain the same
 * visible characters in the same sequence, with blanks between them; only escapes and doubled quotes are spelled differently.
 */
export function locateCharacters(source: string, writing: ScalarWriting, text: string): Int32Array {
  const { start, end } = writing.span;
  const places = new Int32Array(text.length + 1);
  const double = writing.style === 'double';
  const single = writing.style === 'single';
  const isBlankAt = (index: number): boolean => index < end && /\s/.test(source[index] ?? 'x');
  const isContinuedAt = (index: number): boolean =>
    double && source[index] === '\\' && /[\r\n]/.test(source[index + 1] ?? '');
  let at = start;
  if (double || single) at += 1;
  else if (writing.style === 'block') at = source.indexOf('\n', start) + 1 || end;

  for (let index = 0; index < text.length; index += 1) {
    const isBlank = /\s/.test(text[index] as string);
    // A line that ends in a backslash continues on the next: backslash, line end and indentation are not part of the text.
    while (isContinuedAt(at)) for (at += 1; isBlankAt(at); ) at += 1;
    const escaped = double && source[at] === '\\';
    if (!isBlank && !escaped) {
      while (isBlankAt(at)) at += 1;
      while (isContinuedAt(at)) for (at += 1; isBlankAt(at); ) at += 1;
    }
    places[index] = Math.min(at, end);
    if (double && source[at] === '\\') {
      // An escape may produce a pair of UTF-16 units.
      if (source[at + 1] === 'U' && (text.codePointAt(index) ?? 0) > 0xffff) places[++index] = Math.min(at, end);
      at += ESCAPE_LENGTH[source[at + 1] as string] ?? 2;
    } else if (single && source[at] === "'") at += 2;
    else if (!isBlank || isBlankAt(at)) at += 1;
  }
  places[text.length] = Math.min(at, end);
  return places;
}
