/**
 * Characters that a file of people's writing may not hold, or that are not what they look like: what a terminal obeys,
 * what nobody sees, what stands for an ordinary blank or quote and is none. Knows nothing of YAML or expressions.
 */

// C0 but for tab and line ends, DEL, C1; then what turns the reading direction, breaks lines or hides.
const CONTROL = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f]/;
const HIDDEN = /[\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/;
/** Half of a surrogate pair: it can not be written as UTF-8, and is what a byte that was no UTF-8 was read as. */
const LONE = /\p{Surrogate}/u;
/** Ends no line for YAML nor for most programs; a file that has it in place of line ends is one long line. */
const LONE_RETURN = /\r(?!\n)/;

/** A character at fault. */
interface ForbiddenCharacter {
  readonly code: 'yaml-control-character' | 'yaml-hidden-character';
  readonly at: number;
  readonly message: string;
  readonly hint?: string;
}

/** What is wrong with the characters of a file: of each kind the first. */
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
      message: 'a carriage return without a line feed behind it, U+000D',
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

/** The first character of a text that an escape (`"\u202e"`) has brought in and the file itself may not hold. */
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
    message: `the text holds ${what}`,
  };
}

const ODD_BLANK = /[\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000]/;

/** A blank that neither YAML nor an expression takes for one, such as a no-break space from a web page. */
export function findOddBlank(text: string): { readonly at: number; readonly name: string } | undefined {
  const at = text.search(ODD_BLANK);
  return at === -1 ? undefined : { at, name: formatCodePoint(text, at) };
}

/** What people mean by characters that a word processor, a web page or another keyboard put there. */
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

/** The ordinary spelling of a character that is not of ASCII: of a sign that looks like one, or of a full-width form. */
export function toOrdinary(character: string): string | undefined {
  if (ODD_BLANK.test(character)) return ' ';
  const known = LOOKALIKES[character];
  if (known !== undefined) return known;
  const wide = character.codePointAt(0) ?? 0;
  return wide >= 0xff01 && wide <= 0xff5e ? String.fromCodePoint(wide - 0xfee0) : undefined;
}

/** `U+00A0`. */
export function formatCodePoint(text: string, at: number): string {
  return `U+${(text.codePointAt(at) ?? 0).toString(16).toUpperCase().padStart(4, '0')}`;
}
