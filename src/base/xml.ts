/** Escapes texts for XML. */
import { makePrintable } from './printable.ts';

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&apos;',
};

/** A text for an element or a quoted attribute. XML 1.0 cannot hold most control characters, not even as references: they are written as `\u001b`. */
export function escapeXml(text: string): string {
  return makePrintable(text, 4000)
    .replace(/[\ufffe\uffff]/g, (character) => `\\u${character.charCodeAt(0).toString(16)}`)
    .replace(/[&<>"']/g, (character) => ENTITIES[character] ?? character);
}
