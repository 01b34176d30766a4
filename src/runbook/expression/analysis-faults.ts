/**
 * Describes the errors that the analysis of an expression finds: what was found, what is known at that place, and what was
 * probably meant.
 */
import type { Span } from '../../base/diagnostic.ts';
import { shorten } from '../../base/printable.ts';
import { ORDER_STATUSES, ORDER_TYPES, SIDES, TIMES_IN_FORCE } from '../../venue/records.ts';
import type { SyntaxCode } from '../codes/syntax.ts';
import { suggestWord } from '../foreign-words.ts';
import { isTypeMismatch, type Term, type TypeMismatch } from '../functions/term.ts';
import type { ValueType } from '../values.ts';
import type { SyntaxNode } from './syntax.ts';

/** An error with its place in the expression's text. */
export interface Fault {
  readonly code: SyntaxCode;
  readonly message: string;
  readonly hint?: string;
  readonly span: Span;
}

/** Blocks that people write as a prefix, as with `inputs` and `feeds`. */
const BLOCKS: ReadonlySet<string> = new Set(['vars', 'let', 'def', 'steps', 'outputs']);
/** Texts that people write without quotes. */
const WRITTEN_WORDS: ReadonlySet<string> = new Set<string>([
  ...SIDES,
  ...ORDER_TYPES,
  ...ORDER_STATUSES,
  ...TIMES_IN_FORCE,
]);
/** CEL functions that the language leaves out: conversions, host-dependent calendars, and a search that can run without end. */
const REFUSED: ReadonlySet<string> = new Set(
  (
    'matches has dyn int double uint string bytes bool type timestamp duration bind optional of none value or optMap optFlatMap exists_one ' +
    'getDate getDayOfMonth getDayOfWeek getDayOfYear getFullYear getHours getMilliseconds getMinutes getMonth getSeconds'
  ).split(' '),
);

/** Records that the file itself declares, with the name of the block. */
const DECLARED: Readonly<Record<string, string>> = { Inputs: 'inputs', Feeds: 'feeds' };

export abstract class AnalysisFaults {
  readonly faults: Fault[] = [];
  protected readonly text: string;

  constructor(text: string) {
    this.text = text;
  }

  /** The visible names. */
  protected abstract listKnown(): readonly string[];

  /** An input or a feed of this name, with its block in front. */
  protected abstract findDeclared(name: string): string | undefined;

  /** Reports a name that is not declared. */
  protected reportUnknownName(name: string, place: Span): undefined {
    const message = `the name ${shorten(name)} is not declared here`;
    if (BLOCKS.has(name))
      return this.reportFault('unknown-name', place, message, 'Write the name alone, without the block in front.');
    if (WRITTEN_WORDS.has(name))
      return this.reportFault('unknown-name', place, message, `A text is quoted: '${name}'.`);
    const declared = this.findDeclared(name);
    if (declared !== undefined) return this.reportFault('unknown-name', place, message, `Did you mean ${declared}?`);
    return this.reportUnknown('unknown-name', place, message, name, this.listKnown());
  }

  protected reportBareMarket(place: Span): undefined {
    const market = this.text.slice(place.start, place.end);
    return this.reportFault(
      'unknown-name',
      place,
      `${shorten(market)} without quotes is a difference of names that are not declared here`,
      `A market is a text: '${shorten(market)}'.`,
    );
  }

  /** Warns of a word that the venue is not known to use: it may be new, or misspelt. */
  protected noteUnlikely(terms: readonly Term[], nodes: readonly SyntaxNode[]): void {
    for (const [index, { type, bare }] of terms.entries()) {
      const other = terms[1 - index]?.type;
      const usual = other?.kind === 'text' ? other.usual : undefined;
      const unusual =
        bare && type.kind === 'text' ? type.of?.find((each) => usual?.includes(each) === false) : undefined;
      if (unusual === undefined || usual === undefined) continue;
      const meant = suggestWord(unusual, usual);
      const message = `the venue is not known to use '${shorten(unusual)}' here`;
      const hint = meant === undefined ? `It uses ${usual.join(', ')}.` : `Did you mean '${meant}'?`;
      this.reportFault('unlikely-text', nodes[index] as SyntaxNode, message, hint);
    }
  }

  protected settle(found: Term | TypeMismatch, operands: readonly SyntaxNode[], whole: SyntaxNode): Term | undefined {
    if (!isTypeMismatch(found)) return found;
    const place = found.at === undefined ? (operands.length === 1 ? operands[0] : whole) : operands[found.at];
    const { start, end } = place ?? whole;
    const message =
      found.refused === 'optional-unhandled' ? `${shorten(this.text.slice(start, end))} may be absent` : found.message;
    return this.reportFault(found.refused, { start, end }, message, found.hint);
  }

  protected reportUnknownFunction(name: string, place: Span, known: readonly string[]): undefined {
    if (this.listKnown().includes(name))
      return this.reportFault(
        'unknown-function',
        place,
        `${name} is not a function`,
        `It is a value: write ${name} without ( ).`,
      );
    if (REFUSED.has(name)) return this.reportFault('refused-function', place, `${name} is left out of the language`);
    return this.reportUnknown('unknown-function', place, `there is no function ${shorten(name)}`, name, known);
  }

  protected reportUnknownField(record: Extract<ValueType, { kind: 'record' }>, name: string, place: Span): undefined {
    const declared = Object.keys(record.fields);
    const block = DECLARED[record.name];
    if (block === undefined)
      return this.reportUnknown('unknown-field', place, `${record.name} has no field ${shorten(name)}`, name, declared);
    const message = `there is no ${block.slice(0, -1)} ${shorten(name)}`;
    if (declared.length > 0) return this.reportUnknown('unknown-field', place, message, name, declared);
    return this.reportFault('unknown-field', place, message, `Declare it in ${block}, which has none yet.`);
  }

  protected reportUnknown(
    code: SyntaxCode,
    place: Span,
    message: string,
    name: string,
    known: readonly string[],
  ): undefined {
    const meant = suggestWord(name, known);
    if (meant !== undefined) return this.reportFault(code, place, message, `Did you mean ${meant}?`);
    const some = [...known].sort().slice(0, 12).join(', ');
    return this.reportFault(
      code,
      place,
      message,
      some === ''
        ? undefined
        : `Known here: ${some}${known.length > 12 ? ', …' : ''}.${code === 'unknown-name' ? ' A step is known by its `id:`.' : ''}`,
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
