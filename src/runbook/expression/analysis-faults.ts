/**
 * What is wrong with a piece of an expression, said in words: what was found, what is known there, and what was probably
 * meant. Decides nothing: the analysis finds the fault.
 */
import type { Span } from '../../base/diagnostic.ts';
import { ORDER_STATUSES, ORDER_TYPES, SIDES, TIMES_IN_FORCE } from '../../venue/records.ts';
import type { SyntaxCode } from '../codes/syntax.ts';
import { suggestWord } from '../foreign-words.ts';
import { isTypeMismatch, type Term, type TypeMismatch } from '../functions/term.ts';
import type { ValueType } from '../values.ts';
import type { SyntaxNode } from './syntax.ts';

/** A fault with its place in the expression's text. */
export interface Fault {
  readonly code: SyntaxCode;
  readonly message: string;
  readonly hint?: string;
  readonly span: Span;
}

/** Blocks whose names people put in front, as they do with `inputs` and `feeds`. */
const BLOCKS: ReadonlySet<string> = new Set(['vars', 'let', 'def', 'steps', 'outputs']);
/** Texts that people write without their quotes. */
const WRITTEN_WORDS: ReadonlySet<string> = new Set<string>([
  ...SIDES,
  ...ORDER_TYPES,
  ...ORDER_STATUSES,
  ...TIMES_IN_FORCE,
]);
/** What CEL has and the language has not: conversions, host-dependent calendars, and a search that can run for ever. */
const REFUSED: ReadonlySet<string> = new Set(
  (
    'matches has dyn int double uint string bytes bool type timestamp duration bind optional of none value or optMap optFlatMap exists_one ' +
    'getDate getDayOfMonth getDayOfWeek getDayOfYear getFullYear getHours getMilliseconds getMinutes getMonth getSeconds'
  ).split(' '),
);

/** Records that a file declares itself, with the block that does. */
const DECLARED: Readonly<Record<string, string>> = { Inputs: 'inputs', Feeds: 'feeds' };

export abstract class AnalysisFaults {
  readonly faults: Fault[] = [];
  protected readonly text: string;

  constructor(text: string) {
    this.text = text;
  }

  /** The names in sight. */
  protected abstract listKnown(): readonly string[];

  /** A name that nobody has declared. */
  protected reportUnknownName(name: string, place: Span): undefined {
    const message = `nothing here is called ${shown(name)}`;
    if (BLOCKS.has(name))
      return this.reportFault('unknown-name', place, message, 'What a block names is read by its name alone.');
    if (WRITTEN_WORDS.has(name))
      return this.reportFault('unknown-name', place, message, `A text is quoted: '${name}'.`);
    return this.unknown('unknown-name', place, message, name, this.listKnown());
  }

  /** A word the venue is not known to use may be one that is new, or one that is misspelt. */
  protected noteUnlikely(terms: readonly Term[], nodes: readonly SyntaxNode[]): void {
    for (const [index, { type, bare }] of terms.entries()) {
      const other = terms[1 - index]?.type;
      const usual = other?.kind === 'text' ? other.usual : undefined;
      const unusual =
        bare && type.kind === 'text' ? type.of?.find((each) => usual?.includes(each) === false) : undefined;
      if (unusual === undefined || usual === undefined) continue;
      const meant = suggestWord(unusual, usual);
      const message = `the venue is not known to use '${shown(unusual)}' here`;
      const hint = meant === undefined ? `It uses ${usual.join(', ')}.` : `Did you mean '${meant}'?`;
      this.reportFault('unlikely-text', nodes[index] as SyntaxNode, message, hint);
    }
  }

  protected settle(found: Term | TypeMismatch, operands: readonly SyntaxNode[], whole: SyntaxNode): Term | undefined {
    if (!isTypeMismatch(found)) return found;
    const place = found.at === undefined ? (operands.length === 1 ? operands[0] : whole) : operands[found.at];
    const { start, end } = place ?? whole;
    const message =
      found.refused === 'optional-unhandled' ? `${shown(this.text.slice(start, end))} may be absent` : found.message;
    return this.reportFault(found.refused, { start, end }, message, found.hint);
  }

  protected reportUnknownFunction(name: string, place: Span, known: readonly string[]): undefined {
    if (this.listKnown().includes(name))
      return this.reportFault(
        'unknown-function',
        place,
        `${name} is no function`,
        `It is a value: write ${name} without ( ).`,
      );
    if (REFUSED.has(name)) return this.reportFault('refused-function', place, `${name} is left out of the language`);
    return this.unknown('unknown-function', place, `there is no function ${shown(name)}`, name, known);
  }

  protected reportUnknownField(record: Extract<ValueType, { kind: 'record' }>, name: string, place: Span): undefined {
    const declared = Object.keys(record.fields);
    const block = DECLARED[record.name];
    if (block === undefined)
      return this.unknown('unknown-field', place, `${record.name} has no field ${shown(name)}`, name, declared);
    const message = `there is no ${block.slice(0, -1)} ${shown(name)}`;
    if (declared.length > 0) return this.unknown('unknown-field', place, message, name, declared);
    return this.reportFault('unknown-field', place, message, `Declare it in ${block}, which has none yet.`);
  }

  protected unknown(code: SyntaxCode, place: Span, message: string, name: string, known: readonly string[]): undefined {
    const meant = suggestWord(name, known);
    if (meant !== undefined) return this.reportFault(code, place, message, `Did you mean ${meant}?`);
    const some = [...known].sort().slice(0, 12).join(', ');
    return this.reportFault(
      code,
      place,
      message,
      some === '' ? undefined : `Known here: ${some}${known.length > 12 ? ', …' : ''}.`,
    );
  }

  protected reportFault(code: SyntaxCode, place: Span, message: string, hint?: string): undefined {
    this.faults.push({
      code,
      message,
      span: { start: place.start, end: place.end },
      ...(hint === undefined ? {} : { hint }),
    });
    return undefined;
  }
}

export function shown(text: string): string {
  return text.length > 60 ? `${text.slice(0, 60)}…` : text;
}
