/** Finds the words of words.ts in texts. Reads no file: paths and texts are given. */
import { RIDDLE, WORD_RULES, type WordRule } from './words.ts';

export interface Finding {
  readonly file: string;
  /** From 1. */
  readonly line: number;
  readonly found: string;
  readonly say: string;
}

const CODE = /\.(?:ts|js|cjs|mjs|css)$/;
/** Comments and texts of code; texts that run over several lines are found line by line afterwards. */
const PROSE_OF_CODE =
  /\/\*[\s\S]*?\*\/|(?<![:\w])\/\/[^\n]*|'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*"|`(?:\\.|[^`\\])*`/g;

export function findWords(file: string, text: string, rules: readonly WordRule[] = WORD_RULES): Finding[] {
  const isCode = CODE.test(file);
  const lines = text.split('\n');
  const prose = isCode ? onlyProse(text).split('\n') : lines;
  const named = lines.map((line) => (isCode ? wordsOfNames(line) : line));
  const findings: Finding[] = [];
  for (const { pattern, say, within, except } of rules) {
    const searched = within === 'names' ? named : prose;
    for (const [index, line] of searched.entries()) {
      const found = pattern.exec(line);
      if (found !== null && except?.test(lines[index] ?? '') !== true)
        findings.push({ file, line: index + 1, found: found[0], say });
    }
  }
  const riddle = isCode ? headerRiddle(text) : undefined;
  if (riddle !== undefined) findings.push({ file, line: riddle.line, found: riddle.word, say: 'what the file does' });
  return findings.sort((a, b) => a.line - b.line);
}

/** The text with everything blank that is neither comment nor text; lines stay where they are. */
function onlyProse(text: string): string {
  const blank = (part: string) => part.replace(/[^\n]/g, ' ');
  let shown = '';
  let end = 0;
  for (const match of text.matchAll(PROSE_OF_CODE)) {
    shown += blank(text.slice(end, match.index)) + match[0];
    end = match.index + match[0].length;
  }
  return shown + blank(text.slice(end));
}

/** Names taken apart: `openSeat` and `OPEN_SEAT` read `open Seat` and `OPEN SEAT`. */
function wordsOfNames(line: string): string {
  return line.replace(/(?<=[a-z\d])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])/g, ' ').replaceAll('_', ' ');
}

/** The first word of the comment with which a file begins, where it makes a riddle of the header. */
function headerRiddle(text: string): { readonly line: number; readonly word: string } | undefined {
  const header = /^(?:#![^\n]*\n)?\s*\/\*\* *(?:\n \* )?([^\n]*)/.exec(text);
  const word = header === null ? undefined : RIDDLE.exec(header[1] ?? '')?.[0];
  return word === undefined || header === null ? undefined : { line: header[0].split('\n').length, word };
}
