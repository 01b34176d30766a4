/**
 * What a YAML parser finds wrong, in the words of who wrote the file. A fault of syntax breaks all that follows it, so of
 * everything that is found the first alone is said, at the character a reader has to change.
 */
import type { Span } from '../../base/diagnostic.ts';
import type { SyntaxCode } from '../codes/syntax.ts';
import { findOddBlank, formatCodePoint } from './characters.ts';

/** As the parser gives it: its own code, its sentence, and two offsets. */
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
}

/** The first of the problems. `unclosed`: where brackets and quotes begin that have no end. */
export function describeFirstFault(
  text: string,
  problems: readonly ParserProblem[],
  unclosed: readonly number[],
): YamlFault {
  const [first, ...others] = problems;
  if (first === undefined) throw new Error('no problem to tell of');
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

/** A character of the line, or of the one before, that only looks like what YAML needs there. */
function findLookalike(text: string, line: Line): YamlFault | undefined {
  for (const each of line.start === 0 ? [line] : [findLine(text, line.start - 1), line]) {
    const blank = findOddBlank(each.text);
    // In the line before it is to blame only where it indents, or stands behind a dash or a colon.
    if (blank !== undefined && (each === line || /(?:^|[:-])\s*$/.test(each.text.slice(0, blank.at))))
      return {
        code: 'yaml-hidden-character',
        span: spanOne(each.start + blank.at),
        message: `the character ${blank.name} looks like a blank and is none`,
        hint: 'Write an ordinary blank.',
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
  const fault = (span: Span, said: string, hint: string): YamlFault => ({
    code: 'yaml-syntax',
    span,
    message: said,
    hint,
  });
  switch (code) {
    case 'TAB_AS_INDENT':
      return fault(spanOne(start), 'a tab in the indentation', 'Indent with blanks: YAML takes no tabs there.');
    case 'BAD_SCALAR_START':
      return fault(spanOne(start), `a value can not begin with ${text[start] ?? ''}`, 'Put the value in quotes.');
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
        'Put a comma between two keys; put a value that holds a colon in quotes.',
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
        'Look at the line above as well.',
      );
  }
  const opened = unclosed.filter((each) => each < start).at(-1);
  if (/Missing closing/.test(message) && opened !== undefined)
    return fault(
      spanOne(opened),
      `a text that begins with ${text[opened] ?? ''} and has no end`,
      'Add the closing quote.',
    );
  if (/must be sufficiently indented and end with/.test(message)) return describeUnclosed(text, start, opened, fault);
  if (/same column|without - indicator/.test(message)) return describeMisaligned(line, fault);
  if (code === 'BLOCK_AS_IMPLICIT_KEY') {
    const value = { start, end: line.end };
    return /:\s/.test(text.slice(start, line.end))
      ? fault(value, 'a value without quotes that holds a colon and a blank', 'Put the value in quotes.')
      : fault(value, 'what follows this value does not belong to it', 'Indent the next line as its neighbours are.');
  }
  return describeKeyless(text, start, fault);
}

type MakeFault = (span: Span, message: string, hint: string) => YamlFault;

/** Something stands where a value has ended already. */
function describeUnexpected(text: string, start: number, fault: MakeFault): YamlFault {
  const found = text[start] ?? '';
  const before = text.slice(0, start).trimEnd().at(-1) ?? '';
  if (found === '{' && text[start - 1] === '$') {
    const end = text.indexOf('}', start);
    const written = text.slice(start - 1, end === -1 ? start + 1 : end + 1);
    return fault(
      { start: start - 1, end: start - 1 + written.length },
      '${…} without quotes inside of {…} or […]',
      `Put it in quotes: "${written}". Where a number or a condition is needed, write the expression alone.`,
    );
  }
  if (before === "'" || before === '"')
    return fault(
      spanOne(start),
      `text behind the closing ${before}`,
      before === "'"
        ? "Write '' for a quote inside of '…', or put the whole in double quotes."
        : 'Put the whole value in quotes; a closing quote may be missing before it.',
    );
  if (found === '}' || found === ']')
    return fault(
      spanOne(start),
      `a closing ${found} that nothing opened`,
      'Remove it, or look for one too many before it.',
    );
  if (found === '{' || found === '[')
    return fault(
      spanOne(start),
      `a ${found} in a value without quotes, inside of {…} or […]`,
      'Put the value in quotes, such as "sizes[0]".',
    );
  if (found === '-')
    return fault(spanOne(start), 'a list that begins behind its key', 'Begin it in the next line, or write [a, b].');
  return fault(spanOne(start), `${found} is not expected here`, 'Put a value that holds it in quotes.');
}

/** A bracket that has no end, or one of another kind, or an end that is not indented. */
function describeUnclosed(text: string, start: number, opened: number | undefined, fault: MakeFault): YamlFault {
  const found = text[start] ?? '';
  if (found === '}' || found === ']')
    return fault(
      spanOne(start),
      `${found} closes what ${found === '}' ? '[' : '{'} opened`,
      'Close each with its own.',
    );
  if (opened === undefined)
    return fault(spanOne(start), 'this line is not indented enough', 'Indent what goes on inside of {…} or […].');
  const closing = text[opened] === '{' ? '}' : ']';
  const swallowed = /\s#/.test(text.slice(opened, findLine(text, opened).end));
  return fault(
    spanOne(opened),
    `${text[opened] ?? ''} without its ${closing}`,
    swallowed
      ? 'A # behind a blank begins a comment: quote it, or close before it.'
      : `Add the ${closing}; indent the lines over which it goes on.`,
  );
}

function describeMisaligned(line: Line, fault: MakeFault): YamlFault {
  const content = line.text.trimStart();
  const start = line.start + line.text.length - content.length;
  const word = /^\S+/.exec(content)?.[0] ?? '';
  const span = { start, end: start + Math.max(1, word.length) };
  return /^-[^\s-]/.test(content)
    ? fault(span, 'no blank behind the dash', `Write "- ${word.slice(1)}".`)
    : fault(
        span,
        'this line is not indented as its neighbours are',
        'Give all keys of a map, and all dashes of a list, one indentation.',
      );
}

/** A line that is no `key: value`. */
function describeKeyless(text: string, start: number, fault: MakeFault): YamlFault {
  const line = findLine(text, start);
  const written = line.text.slice(start - line.start).trimEnd();
  const span = { start, end: start + Math.max(1, written.length) };
  const message = `"${written.length > 60 ? `${written.slice(0, 60)}…` : written}" is no key with a value`;
  const glued = /^(\w+):(\S.*)$/.exec(written);
  if (glued !== null) return fault(span, message, `A blank follows the colon: ${glued[1]}: ${glued[2]}`);
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
