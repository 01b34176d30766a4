/**
 * Makes HTML of pieces that are safe by construction: a text becomes `Html` only by escaping, and only `Html` goes into a
 * page. A text of a venue, a file or a person cannot become a tag, an attribute or a style.
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

/** `html`<b>${text}</b>``: escapes every piece that is not `Html`. Attributes must be quoted. */
export function html(literal: TemplateStringsArray, ...pieces: readonly Piece[]): Html {
  let text = literal[0] ?? '';
  for (const [index, piece] of pieces.entries()) text += toMarkup(piece) + (literal[index + 1] ?? '');
  return { [MARKUP]: text };
}

/** Escapes several lines and keeps the line feeds. */
export function escapeLines(text: string): Html {
  return { [MARKUP]: text.split('\n').map(escapeHtml).join('\n') };
}

/** The finished markup. */
export function toMarkup(piece: Piece): string {
  if (piece === undefined) return '';
  if (typeof piece === 'string') return escapeHtml(piece);
  if (typeof piece === 'number') return escapeHtml(String(piece));
  if (isHtml(piece)) return piece[MARKUP];
  return piece.map(toMarkup).join('');
}

function isHtml(piece: Exclude<Piece, undefined>): piece is Html {
  return typeof piece === 'object' && MARKUP in piece;
}

function escapeHtml(text: string): string {
  return escapeUnprintable(text).replace(/[&<>"'`]/g, (character) => ENTITIES[character] ?? '');
}

/** A text of this program, such as a style sheet, that goes into the page unescaped. Never pass a text from outside. */
export function trustHtml(literal: TemplateStringsArray): Html {
  return { [MARKUP]: literal[0] ?? '' };
}
