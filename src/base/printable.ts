/**
 * Makes hostile text safe to print: a text of a venue, a file or a recording may hold terminal escapes, line breaks or marks
 * that change the reading direction. It does not quote for HTML pages or CSV.
 */

/** C0, DEL, C1, the bidirectional marks and controls, line and paragraph separators, zero-width characters, byte order mark. */
const UNPRINTABLE =
  /[\u0000-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb]|\p{Cs}/gu;

/**
 * `text` with every unprintable character written as an escape such as `\u001b`, cut after at most `max` characters; `…` marks
 * a cut. Never splits a surrogate pair or an escape.
 */
export function makePrintable(text: string, max = 512): string {
  if (text.length <= max && ORDINARY.test(text)) return text;
  let out = '';
  for (const character of text) {
    const shown = escapeUnprintable(character);
    if (out.length + shown.length > max) return `${out}…`;
    out += shown;
  }
  return out;
}

/** Nearly every text holds only these, and checking for them costs a fraction of searching for unprintable characters. */
const ORDINARY = /^[ -~]*$/;

/** Every unprintable character as its JSON escape; nothing is cut. Inside a JSON string literal the meaning stays the same. */
export function escapeUnprintable(text: string): string {
  if (ORDINARY.test(text)) return text;
  return text.replace(UNPRINTABLE, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

/** The beginning of an author's text, for a message. It escapes nothing. */
export function shorten(text: string, most = 60): string {
  return text.length > most ? `${text.slice(0, most)}…` : text;
}

/** A place in data, `orders[2].price`; `whole` is the name of the data itself. */
export function formatPlace(path: readonly PropertyKey[], whole: string): string {
  if (path.length === 0) return whole;
  return path
    .map((part, index) =>
      typeof part === 'number' ? `[${part}]` : `${index === 0 ? '' : '.'}${makePrintable(String(part), 60)}`,
    )
    .join('');
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&apos;',
};

/** A line for an element or a quoted attribute of XML 1.0, which cannot hold most control characters, not even as references. */
export function escapeXml(text: string): string {
  return makePrintable(text, 4000)
    .replace(/[\ufffe\uffff]/g, (character) => `\\u${character.charCodeAt(0).toString(16)}`)
    .replace(/[&<>"']/g, (character) => ENTITIES[character] ?? character);
}

/** A word as a shell takes it. */
export function quoteWord(word: string): string {
  return /^[\w=.,:/%@+-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}

/** Decodes percent-encoded text. What is not encoded as it should be is taken as it is: people write a `%` of a password as `%`. */
export function decodePercent(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
