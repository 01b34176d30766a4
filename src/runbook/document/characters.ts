/**
 * Finds characters that a runbook file may not contain, or that only look like ordinary ones: control characters, invisible
 * characters, and lookalikes of spaces, quotes and operators.
 */

// CONTROL: C0 without tab and line ends, DEL, C1. HIDDEN: characters that change the reading direction, break lines or are invisible.
const CONTROL = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f]/;
const HIDDEN = /[\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/;
/** Half of a surrogate pair: it cannot be encoded as UTF-8; a byte that is not UTF-8 is read as one. */
const LONE = /\p{Surrogate}/u;
/** Not a line end in YAML or in most programs, so a file with such line ends would be one long line. */
const LONE_RETURN = /\r(?!\n)/;

/** A forbidden character, with its offset in the text. */
interface ForbiddenCharacter {
  readonly code: 'yaml-control-character' | 'yaml-hidden-character';
  readonly at: number;
  readonly message: string;
  readonly hint?: string;
}

/** The first forbidden character of each kind in a file. */
export function findForbiddenInFile(text: string): readonly ForbiddenCharacter[] {
  const found: ForbiddenCharacter[] = [];
  const lone = text.search(LONE);
  if (lone !== -1)
    return [
      {
        code: 'yaml-control-character',
        at: lone,
        message: 'a byte that is not UTF-8, or half of a surrogate pair',
        hint: 'Save the file as UTF-8.',
      },
    ];
  const control = text.search(CONTROL);
  if (control !== -1)
    found.push({
      code: 'yaml-control-character',
      at: control,
      message: `the control character ${formatCodePoint(text, control)}`,
    });
  const alone = text.search(LONE_RETURN);
  if (alone !== -1)
    found.push({
      code: 'yaml-control-character',
      at: alone,
      message: 'a carriage return without a line feed after it, U+000D',
      hint: 'Save the file with LF or CRLF at the ends of its lines.',
    });
  // A byte order mark may open a file; anywhere else it is an invisible character like the others.
  const body = text.startsWith('\ufeff') ? 1 : 0;
  const hidden = text.slice(body).search(HIDDEN);
  if (hidden !== -1)
    found.push({
      code: 'yaml-hidden-character',
      at: hidden + body,
      message: `the invisible or direction-changing character ${formatCodePoint(text, hidden + body)}`,
    });
  return found;
}

/** The first forbidden character of a text: an escape (`"\u202e"`) can produce one. */
export function findForbiddenInText(text: string): ForbiddenCharacter | undefined {
  const control = text.search(CONTROL);
  const hidden = text.search(HIDDEN);
  const lone = text.search(LONE);
  const at = [control, hidden, lone].find((each) => each !== -1);
  if (at === undefined) return undefined;
  const what = control === -1 && hidden === -1 ? 'half of a surrogate pair' : formatCodePoint(text, at);
  return {
    code: at === hidden ? 'yaml-hidden-character' : 'yaml-control-character',
    at,
    message: `the text contains ${what}`,
  };
}

const ODD_BLANK = /[\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000]/;

/** The first space character that neither YAML nor an expression treats as a space, such as a no-break space from a web page. */
export function findOddBlank(text: string): { readonly at: number; readonly name: string } | undefined {
  const at = text.search(ODD_BLANK);
  return at === -1 ? undefined : { at, name: formatCodePoint(text, at) };
}

/** The ASCII spelling of characters that word processors, web pages and other keyboards insert. */
const LOOKALIKES: Readonly<Record<string, string>> = {
  '‘': "'",
  '’': "'",
  '‚': "'",
  '“': "'",
  '”': "'",
  '„': "'",
  '«': "'",
  '»': "'",
  '−': '-',
  '–': '-',
  '—': '-',
  '×': '*',
  '·': '*',
  '÷': '/',
  '≤': '<=',
  '≥': '>=',
  '≠': '!=',
  '：': ':',
  '，': ',',
  '（': '(',
  '）': ')',
};

/** The ASCII spelling of a lookalike or of a full-width character; undefined for any other character. */
export function toOrdinary(character: string): string | undefined {
  if (ODD_BLANK.test(character)) return ' ';
  const known = LOOKALIKES[character];
  if (known !== undefined) return known;
  const wide = character.codePointAt(0) ?? 0;
  return wide >= 0xff01 && wide <= 0xff5e ? String.fromCodePoint(wide - 0xfee0) : undefined;
}

/** Names the first character of a value that only looks like the ordinary one, and says which to write; undefined where there is none. */
export function nameLookalike(text: string): string | undefined {
  for (const character of text) {
    const meant = toOrdinary(character);
    if (meant === undefined) continue;
    const shown = meant === ' ' ? '' : `${character} `;
    return `The character ${shown}(${formatCodePoint(character, 0)}) is not ${meant === ' ' ? 'an ordinary space: write one' : `${meant}: write that`}.`;
  }
  return undefined;
}

/** The code point of the character at an offset, as `U+00A0`. */
export function formatCodePoint(text: string, at: number): string {
  return `U+${(text.codePointAt(at) ?? 0).toString(16).toUpperCase().padStart(4, '0')}`;
}
