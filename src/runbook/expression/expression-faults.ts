/**
 * Describes syntax errors of expressions in terms of their author: what was found, and what to write instead. The most common
 * habits from other languages have messages of their own.
 */
import type { Span } from '../../base/diagnostic.ts';
import { shorten } from '../../base/printable.ts';
import { formatCodePoint, toOrdinary } from '../document/characters.ts';

/** An error of the parser: its message, and the range where it stopped. */
interface ParserStop {
  readonly summary: string;
  readonly span: Span;
}

interface ExpressionFault {
  readonly message: string;
  readonly hint?: string;
  readonly span: Span;
}

/** Describes why `text` cannot be read. */
export function describeExpressionFault(text: string, stop: ParserStop): ExpressionFault {
  const at = Math.min(stop.span.start, text.length);
  return (
    findLookalike(text, at) ?? findHabit(text, at) ?? findUnfinished(text, at, stop) ?? describePlainly(text, stop)
  );
}

/** Finds a character outside ASCII: a lookalike of an operator, a space or a letter. */
function findLookalike(text: string, at: number): ExpressionFault | undefined {
  const character = String.fromCodePoint(text.codePointAt(at) ?? 0);
  if (character <= '\u007f') return undefined;
  const span = { start: at, end: at + character.length };
  const meant = toOrdinary(character);
  return {
    span,
    message: `the character ${character.trim() === '' ? '' : `${character} `}(${formatCodePoint(text, at)}) means nothing in an expression`,
    hint:
      meant === undefined
        ? 'Names use plain letters: a letter of another alphabet may look the same.'
        : `Write ${meant === ' ' ? 'an ordinary space' : meant} instead.`,
  };
}

const UNITS: Readonly<Record<string, (count: string) => string>> = {
  '%': (count) => `A ratio is written pct(${count}) in an expression.`,
  bps: (count) => `A ratio is written bps(${count}) in an expression.`,
  ms: () => 'A duration is written seconds(0.25) in an expression.',
  s: (count) => `A duration is written seconds(${count}) in an expression.`,
  m: (count) => `A duration is written minutes(${count}) in an expression.`,
  h: (count) => `A duration is written hours(${count}) in an expression.`,
  d: (count) => `A duration is written days(${count}) in an expression.`,
};

const WORDS: Readonly<Record<string, string>> = {
  and: '&&',
  or: '||',
  not: '!',
  is: '==',
  if: '? :',
  then: '?',
  else: ':',
};

/** Finds habits from other languages: units after numbers, words for operators, other signs. */
function findHabit(text: string, at: number): ExpressionFault | undefined {
  for (const found of text.matchAll(/(?<![\w.])(\d+(?:\.\d+)?)\s?(%|bps|ms|[smhd])(?!\w)/g)) {
    const [written, count = '', unit = ''] = found;
    const end = found.index + written.length;
    // The parser reads a percentage as a remainder without its right side.
    const stopped = unit === '%' ? text.slice(end, at).trim() === '' && at >= end : at >= found.index && at <= end;
    if (stopped)
      return {
        span: { start: found.index, end },
        message: `${written} is not allowed in an expression`,
        hint: UNITS[unit]?.(count) ?? '',
      };
  }
  for (const { 0: written, index } of text.matchAll(
    /\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:\d\d)?/g,
  )) {
    const span = { start: index, end: index + written.length };
    if (at >= span.start && at <= span.end)
      return {
        span,
        message: `the time ${written} is not allowed in an expression`,
        hint: 'Give it as an input of type time, with it as default, and read inputs.NAME here.',
      };
  }
  for (const word of [findWordAt(text, at), findWordBefore(text, at)]) {
    const operator = word && Object.hasOwn(WORDS, word.text) ? WORDS[word.text] : undefined;
    if (word !== undefined && operator !== undefined)
      return { span: word, message: `${word.text} is not a word of expressions`, hint: `Write ${operator} instead.` };
  }
  const near = text.slice(Math.max(0, at - 2), at + 2);
  const sign = { span: { start: at, end: at + 1 }, message: `${text[at] ?? ''} is not allowed here` };
  if (/[<]>/.test(near)) return { ...sign, hint: 'Write != for “is not”.' };
  if (text[at] === '=') return { ...sign, hint: 'Write == to compare; an expression cannot assign.' };
  if (text[at] === '&' || text[at] === '|') return { ...sign, hint: 'Write && or ||.' };
  if (text[at] === '^' || near.startsWith('**') || near.slice(1).startsWith('**'))
    return { ...sign, hint: 'There is no power operator: multiply the value by itself.' };
  if (text[at] === '$')
    return {
      ...sign,
      hint: /^\$[A-Za-z_]/.test(text.slice(at))
        ? 'Write the name without $: inputs.NAME, feeds.NAME, or the id of a step.'
        : 'Write the number without a currency sign.',
    };
  if (/\d[,_]\d/.test(text.slice(Math.max(0, at - 1), at + 2)))
    return { ...sign, hint: 'A number is a plain decimal: a point before the fraction, nothing between thousands.' };
  return undefined;
}

interface Word extends Span {
  readonly text: string;
}

function findWordAt(text: string, at: number): Word | undefined {
  const start = at - (/\w*$/.exec(text.slice(0, at))?.[0].length ?? 0);
  const found = /^[A-Za-z]\w*/.exec(text.slice(start))?.[0];
  return found === undefined ? undefined : { text: found, start, end: start + found.length };
}

function findWordBefore(text: string, at: number): Word | undefined {
  const found = /([A-Za-z]+)\s+\w*$/.exec(text.slice(0, at));
  if (found === null) return undefined;
  const word = found[1] ?? '';
  return { text: word, start: found.index, end: found.index + word.length };
}

/** Finds brackets, quotes and operators without their other side. */
function findUnfinished(text: string, at: number, { summary, span }: ParserStop): ExpressionFault | undefined {
  const before = text.slice(0, at).trimEnd();
  const ended = text.slice(at).trim() === '';
  const here = { span };
  if (/^Unterminated/.test(summary))
    return { ...here, message: 'a text without its closing quote', hint: 'Add the quote.' };
  const missing = /^Expected (RPAREN|RBRACKET|COLON)/.exec(summary)?.[1];
  if (missing === 'COLON')
    return { ...here, message: 'a choice without its other side', hint: 'Write condition ? value : other value.' };
  if (missing !== undefined && ended) {
    const [open, close] = missing === 'RPAREN' ? ['(', ')'] : ['[', ']'];
    return { ...here, message: `a ${open} without its ${close}`, hint: `Add the ${close}.` };
  }
  const operator = /(?:[-+*/%<>!?:,]|[=!<>]=|&&|\|\||\bin)$/.exec(before)?.[0];
  if (operator !== undefined && (ended || /[)\],:?]/.test(text[at] ?? '')))
    return { ...here, message: `a value is missing after ${operator}`, hint: 'Write the value that is missing.' };
  if (ended && before.endsWith('.'))
    return { ...here, message: 'a field is missing after the point', hint: 'Write a field.' };
  if (text[at] === ')' || text[at] === ']')
    return { ...here, message: `a ${text[at]} that nothing opened`, hint: `Remove it, or open it before.` };
  if (/[\w)\]'"]$/.test(before) && /[\w('"[]/.test(text[at] ?? ''))
    return {
      ...here,
      message: `there is no operator between ${takeTail(before)} and ${takeHead(text.slice(at))}`,
      hint: describeUnit(before) ?? 'Write an operator between them; a text is written in single quotes.',
    };
  return undefined;
}

/** What to write instead of a number with a unit behind it: `0.1 BTC`, `63.5k`, `5x`. */
function describeUnit(before: string): string | undefined {
  const number = /(?<![\w.])\d+(?:\.\d+)?$/.exec(before)?.[0];
  return number && `Write the number in full and alone, such as ${number}: the field says its unit.`;
}

function describePlainly(text: string, { summary, span }: ParserStop): ExpressionFault {
  const found = text.slice(span.start, span.end).trim();
  const where = found === '' ? 'its end' : shorten(found, 40);
  return /^Reserved identifier/.test(summary)
    ? { span, message: `${where} is a keyword of expressions, not a name`, hint: 'Use another name.' }
    : { span, message: `the expression cannot be read at ${where}` };
}

function takeTail(text: string): string {
  return /[\w.]+$/.exec(text)?.[0] ?? text.slice(-1);
}

function takeHead(text: string): string {
  return /^[\w.]+/.exec(text)?.[0] ?? text.slice(0, 1);
}
