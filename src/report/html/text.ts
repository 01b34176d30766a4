/**
 * HTML made of pieces that are safe by construction: text becomes `Html` only by being escaped here, and only `Html` is put
 * into a page. What a venue, a file or a person wrote can not become a tag, an attribute or a style.
 */
import { escapeUnprintable } from '../../base/printable.ts';

const MARKUP: unique symbol = Symbol('markup');

/** A piece of a page. */
export interface Html {
  readonly [MARKUP]: string;
}

export type Piece = Html | string | number | readonly Piece[] | undefined;

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
  '`': '&#96;',
};

/** `html`<b>${text}</b>``: everything put in is escaped, unless it is `Html` itself. Attributes must be quoted. */
export function html(literal: TemplateStringsArray, ...pieces: readonly Piece[]): Html {
  let text = literal[0] ?? '';
  for (const [index, piece] of pieces.entries()) text += markupOf(piece) + (literal[index + 1] ?? '');
  return { [MARKUP]: text };
}

/** Several lines, each escaped; line feeds stay. */
export function preformatted(text: string): Html {
  return { [MARKUP]: text.split('\n').map(escaped).join('\n') };
}

/** The finished text. */
export function markupOf(piece: Piece): string {
  if (piece === undefined) return '';
  if (typeof piece === 'string') return escaped(piece);
  if (typeof piece === 'number') return escaped(String(piece));
  if (isHtml(piece)) return piece[MARKUP];
  return piece.map(markupOf).join('');
}

function isHtml(piece: Exclude<Piece, undefined>): piece is Html {
  return typeof piece === 'object' && MARKUP in piece;
}

function escaped(text: string): string {
  return escapeUnprintable(text).replace(/[&<>"'`]/g, (character) => ENTITIES[character] ?? '');
}

/** A text from this program, such as a style sheet, that goes into the page as it is. Nothing from outside may come near it. */
export function trusted(literal: TemplateStringsArray): Html {
  return { [MARKUP]: literal[0] ?? '' };
}
