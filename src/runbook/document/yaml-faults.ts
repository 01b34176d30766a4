/**
 * Describes the errors of the YAML parser in terms of the file's author. A syntax error breaks everything after it, so only the
 * first is reported, at the character that has to change, and every other value that lacks its quotes.
 */
import type { Span } from '../../base/diagnostic.ts';
import { shorten } from '../../base/printable.ts';
import type { SyntaxCode } from '../codes/syntax.ts';
import { findOddBlank, formatCodePoint } from './characters.ts';

/** An error of the parser: its own code, its message, and two offsets. */
interface ParserProblem {
  readonly code: string;
  readonly message: string;
  readonly pos: readonly [number, number];
}

interface YamlFault {
  readonly code: SyntaxCode;
  readonly span: Span;
  readonly message: string;
  readonly hint?: string;
  /** The part of a value because of which it needs quotes. */
  readonly unquoted?: Span;
}

const MOST_FAULTS = 20;
/** Characters that are parsed again for it: a long file shows fewer values at a time. */
const MOST_REREAD = 500_000;

/**
 * Describes the first of the problems, and each value that lacks its quotes: with the one before it out of the way, the parser
 * finds the next. `unclosed`: offsets of brackets and quotes that are never closed.
 */
export function describeFaults(
  text: string,
  problems: readonly ParserProblem[],
  unclosed: readonly number[],
  findProblems: (text: string) => readonly ParserProblem[],
): readonly YamlFault[] {
  const faults: YamlFault[] = [];
  let before = -1;
  const mostReads = 1 + Math.floor(MOST_REREAD / Math.max(1, text.length));
  let [read, left] = [text, problems];
  for (let reads = 0; left.length > 0 && faults.length < MOST_FAULTS; reads += 1) {
    const fault = describeFirstFault(read, left, unclosed);
    const { unquoted } = fault;
    // Quotes around one value are one correction.
    const isNew = before === -1 || (unquoted !== undefined && /[,:{}\n]/.test(text.slice(before, unquoted.start)));
    if (isNew) faults.push(fault);
    if (unquoted === undefined) break;
    before = unquoted.end;
    const { start, end } = unquoted;
    read = read.slice(0, start) + 'x'.repeat(end - start) + read.slice(end);
    left = reads < mostReads ? findProblems(read) : [];
  }
  return faults;
}

function describeFirstFault(text: string, problems: readonly ParserProblem[], unclosed: readonly number[]): YamlFault {
  const [first, ...others] = problems;
  if (first === undefined) throw new Error('there is no problem to describe');
  const problem = others.reduce((least, each) => (each.pos[0] < least.pos[0] ? each : least), first);
  const line = findLine(text, problem.pos[0]);
  return findLookalike(text, line) ?? describeMisread(text, problem, line, unclosed);
}

interface Line {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

function findLine(text: string, at: number): Line {
  const start = text.lastIndexOf('\n', at - 1) + 1;
  const next = text.indexOf('\n', at);
  const end = next === -1 ? text.length : next;
  return { start, end, text: text.slice(start, end) };
}

/** Finds a character of the line, or of the line before, that only looks like the one YAML needs. */
function findLookalike(text: string, line: Line): YamlFault | undefined {
  for (const each of line.start === 0 ? [line] : [findLine(text, line.start - 1), line]) {
    const blank = findOddBlank(each.text);
    // In the line before it matters only in the indentation, or after a dash or a colon.
    if (blank !== undefined && (each === line || /(?:^|[:-])\s*$/.test(each.text.slice(0, blank.at))))
      return {
        code: 'yaml-hidden-character',
        span: spanOne(each.start + blank.at),
        message: `the character ${blank.name} only looks like a space`,
        hint: 'Write an ordinary space.',
      };
    const sign = each === line ? each.text.search(/[“”„‟‘’：]/) : -1;
    if (sign !== -1)
      return {
        code: 'yaml-syntax',
        span: spanOne(each.start + sign),
        message: `${each.text[sign] ?? ''} (${formatCodePoint(each.text, sign)}) means nothing to YAML`,
        hint: each.text[sign] === '：' ? 'Write an ordinary colon.' : `Write " or ' instead.`,
      };
  }
  return undefined;
}

function describeMisread(
  text: string,
  { code, message, pos }: ParserProblem,
  line: Line,
  unclosed: readonly number[],
): YamlFault {
  const [start, end] = pos;
  const fault = (span: Span, description: string, hint: string): YamlFault => ({
    code: 'yaml-syntax',
    span,
    message: description,
    hint,
  });
  switch (code) {
    case 'TAB_AS_INDENT':
      return fault(spanOne(start), 'a tab in the indentation', 'Indent with spaces: YAML does not allow tabs there.');
    case 'BAD_SCALAR_START':
      return fault(spanOne(start), `a value cannot begin with ${text[start] ?? ''}`, 'Put the value in quotes.');
    case 'BAD_DQ_ESCAPE':
      return fault(
        { start, end: start + 2 },
        `${text.slice(start, start + 2)} means nothing in double quotes`,
        String.raw`Write \\ for a backslash, or put the text in single quotes.`,
      );
    case 'BLOCK_IN_FLOW':
      return fault(
        { start, end: Math.min(end, line.end) },
        'a second colon in one value of {…} or […]',
        'Put a comma between two keys; put a value with a colon in quotes.',
      );
    case 'UNEXPECTED_TOKEN':
      return describeUnexpected(text, start, fault);
    case 'BLOCK_AS_IMPLICIT_KEY':
    case 'MULTILINE_IMPLICIT_KEY':
    case 'MISSING_CHAR':
    case 'BAD_INDENT':
      break;
    default:
      return fault(
        { start, end: Math.max(start, end) },
        `not YAML: ${takeFirstSentence(message)}`,
        'Also check the line above.',
      );
  }
  const opened = unclosed.filter((each) => each < start).at(-1);
  if (/Missing closing/.test(message) && opened !== undefined)
    return fault(
      spanOne(opened),
      `a text that begins with ${text[opened] ?? ''} and is not closed`,
      'Add the closing quote.',
    );
  if (/must be sufficiently indented and end with/.test(message)) return describeUnclosed(text, start, opened, fault);
  if (/same column|without - indicator/.test(message)) return describeMisaligned(line, fault);
  if (code === 'BLOCK_AS_IMPLICIT_KEY') {
    const value = { start, end: line.end };
    const written = text.slice(start, line.end).trim();
    if (/^- /.test(written))
      return fault(
        { start: line.end - line.text.trimStart().length, end: line.end },
        'an item of a list behind keys without a dash',
        'Begin the first item above with "- " too.',
      );
    const unquoted = { start, end: start + written.length };
    return /:\s/.test(written)
      ? {
          ...fault(unquoted, 'a value without quotes that contains a colon and a space', hintQuotes(written)),
          unquoted,
        }
      : fault(value, 'the next line does not belong to this value', 'Indent the next line like its neighbours.');
  }
  return /\w\[/.test(text.slice(start - 1, start + 1))
    ? describeUnexpected(text, start, fault)
    : describeKeyless(text, start, fault);
}

type MakeFault = (span: Span, message: string, hint: string) => YamlFault;

/** Describes a character after the end of a value. */
function describeUnexpected(text: string, start: number, fault: MakeFault): YamlFault {
  const found = text[start] ?? '';
  const before = text.slice(0, start).trimEnd().at(-1) ?? '';
  if (found === '{' && text[start - 1] === '$') {
    const end = text.indexOf('}', start);
    const written = text.slice(start - 1, end === -1 ? start + 1 : end + 1);
    const span = { start: start - 1, end: start - 1 + written.length };
    const hint = `Put it in quotes: "${written}". For a number or a condition, write the expression alone.`;
    return { ...fault(span, '${…} without quotes inside {…} or […]', hint), unquoted: span };
  }
  if (before === "'" || before === '"')
    return fault(
      spanOne(start),
      `text after the closing ${before}`,
      before === "'"
        ? "Write '' for a quote inside '…', or put the whole value in double quotes."
        : 'Put the whole value in quotes; a closing quote may be missing before this place.',
    );
  if (found === '}' || found === ']')
    return fault(
      spanOne(start),
      `a closing ${found} that nothing opened`,
      'Remove it, or check for an extra closing bracket before it.',
    );
  if (found === '{' || found === '[') {
    const message = `a ${found} in a value without quotes, inside {…} or […]`;
    const unquoted = findFlowValue(text, start);
    const hint =
      unquoted === undefined
        ? 'Put the value in quotes, such as "sizes[0]".'
        : hintQuotes(text.slice(unquoted.start, unquoted.end));
    return { ...fault(spanOne(start), message, hint), ...(unquoted === undefined ? {} : { unquoted }) };
  }
  if (found === '-')
    return fault(
      spanOne(start),
      'a list that begins on the line of its key',
      'Begin it on the next line, or write [a, b].',
    );
  return fault(spanOne(start), `${found} is not expected here`, 'Put a value that contains it in quotes.');
}

/** A hint with the value in quotes, where double quotes around it are enough. */
function hintQuotes(value: string): string {
  return /["\\\n]/.test(value) ? 'Put the value in quotes.' : `Put it in quotes: "${value}".`;
}

/**
 * The value of {…} or […] around an opening bracket within it, up to the comma or bracket that ends it: one between round
 * brackets belongs to the value. Undefined where the line does not show where it begins or ends.
 */
function findFlowValue(text: string, at: number): Span | undefined {
  const line = findLine(text, at);
  const isOpening = (each: string) => '([{'.includes(each);
  const isClosing = (each: string) => ')]}'.includes(each);
  let start = text.lastIndexOf(': ', at - 1) + 2;
  // An item of a list.
  if (start <= line.start + 1 || /^\s*[[{]/.test(text.slice(start, at)))
    start = Math.max(text.lastIndexOf(',', at - 1), text.lastIndexOf('[', at - 1)) + 1;
  while (text[start] === ' ') start += 1;
  let end = start;
  for (let depth = 0; end < line.end; end += 1) {
    const each = text[end] ?? '';
    if (/["#]/.test(each)) return undefined;
    if (depth === 0 && (each === ',' || isClosing(each))) break;
    if (isOpening(each)) depth += 1;
    if (isClosing(each)) depth -= 1;
  }
  return start <= line.start || end === line.end || end <= at ? undefined : { start, end };
}

/** Describes a bracket that is not closed, is closed by the wrong kind, or is closed by a line with too little indentation. */
function describeUnclosed(text: string, start: number, opened: number | undefined, fault: MakeFault): YamlFault {
  const found = text[start] ?? '';
  if (found === '}' || found === ']')
    return fault(
      spanOne(start),
      `${found} closes what ${found === '}' ? '[' : '{'} opened`,
      'Close each bracket with its own kind.',
    );
  if (opened === undefined)
    return fault(spanOne(start), 'this line is not indented enough', 'Indent the lines that continue {…} or […].');
  const closing = text[opened] === '{' ? '}' : ']';
  const swallowed = /\s#/.test(text.slice(opened, findLine(text, opened).end));
  return fault(
    spanOne(opened),
    `${text[opened] ?? ''} without its ${closing}`,
    swallowed
      ? 'A # after a space begins a comment: quote it, or close the bracket before it.'
      : `Add the ${closing}; indent the lines that continue it.`,
  );
}

function describeMisaligned(line: Line, fault: MakeFault): YamlFault {
  const content = line.text.trimStart();
  const start = line.start + line.text.length - content.length;
  const word = /^\S+/.exec(content)?.[0] ?? '';
  const span = { start, end: start + Math.max(1, word.length) };
  return /^-[^\s-]/.test(content)
    ? fault(span, 'no space after the dash', `Write "- ${word.slice(1)}".`)
    : fault(
        span,
        'this line is not indented like its neighbours',
        'Give all keys of a map, and all dashes of a list, the same indentation.',
      );
}

/** Describes a line that is not `key: value`. */
function describeKeyless(text: string, start: number, fault: MakeFault): YamlFault {
  const line = findLine(text, start);
  // A call whose last argument is in quotes: the comma before it has ended the value.
  const cut = text[start] === ')' ? findFlowValue(text, start) : undefined;
  if (cut !== undefined)
    return {
      ...fault(
        cut,
        'inside {…} and […] the comma ends a value without quotes',
        hintQuotes(text.slice(cut.start, cut.end)),
      ),
      unquoted: cut,
    };
  const written = line.text.slice(start - line.start).trimEnd();
  const span = { start, end: start + Math.max(1, written.length) };
  const message = `"${shorten(written)}" is not a key with a value`;
  const glued = /^(\w+):(\S.*)$/.exec(written);
  if (glued !== null) return fault(span, message, `Put a space after the colon: ${glued[1]}: ${glued[2]}`);
  const measureIndentation = (each: string): number => each.length - each.trimStart().length;
  const next = findLine(text, Math.min(line.end + 1, text.length)).text;
  return /^\w+$/.test(written) && measureIndentation(next) > measureIndentation(line.text)
    ? fault(span, message, `Write the colon: ${written}:`)
    : fault(span, message, 'Write it as key: value.');
}

function spanOne(at: number): Span {
  return { start: at, end: at + 1 };
}

function takeFirstSentence(message: string): string {
  return (message.replace(/\s+at line .*$/s, '').split('\n', 1)[0] ?? '').replace(/[:\s]+$/, '');
}
