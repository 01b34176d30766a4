/** The code table's first half: what can be wrong with a file's text, an expression, a template or a literal. */
import type { Diagnostic, SourceText, Span } from '../../base/diagnostic.ts';
import type { CodeRow } from './row.ts';

const error = (row: Omit<CodeRow, 'severity'>): CodeRow => ({ severity: 'error', ...row });
const warning = (row: Omit<CodeRow, 'severity'>): CodeRow => ({ severity: 'warning', ...row });

export const SYNTAX_CODES = {
  // The file's text.
  'yaml-too-large': error({
    summary: 'the file is larger than 256 KiB',
    cause: 'A runbook is written by hand; a larger one is an accident or an attack on whoever reads it.',
    example: '(a file of 300 KiB)',
    fix: 'Split the runbook and `call` its parts.',
  }),
  'yaml-too-deep': error({
    summary: 'values nested more than 32 levels deep',
    cause: 'No runbook needs it, and depth is how a small text exhausts a stack.',
    example: '[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]',
    fix: 'Move inner blocks into a runbook of their own and `call` it.',
  }),
  'yaml-too-many-nodes': error({
    summary: 'more than 20,000 values in one file',
    cause: 'A runbook is reviewed by people; this many values can not be.',
    example: '(a list of 30,000 items)',
    fix: 'Split the runbook and `call` its parts.',
  }),
  'yaml-syntax': error({
    summary: 'the text is not YAML 1.2',
    cause: 'Indentation, quotes or brackets do not add up.',
    example: 'steps: [a, b',
    fix: 'Look at the line named and the one before it: indentation, a missing bracket or quote.',
  }),
  'yaml-comma': error({
    summary: 'a comma that cuts an expression in two',
    cause: 'Inside of {…} and […] a comma ends a value that stands without quotes.',
    example: 'place: {size: min(a, b), …}',
    fix: 'Put the expression in quotes: `size: "min(a, b)"`.',
  }),
  'yaml-empty': error({
    summary: 'the file holds nothing',
    cause: 'It is empty or holds comments only.',
    example: '# nothing',
    fix: 'Write `runbook:`, `dsl:` and `steps:`.',
  }),
  'yaml-anchor': error({
    summary: 'an anchor (&name)',
    cause: 'Repeated nodes make a small file large and a review uncertain.',
    example: 'a: &risk 0.01',
    fix: 'Name values with `let` or `def`, steps with `call`.',
  }),
  'yaml-alias': error({
    summary: 'an alias (*name)',
    cause: 'Repeated nodes make a small file large and a review uncertain.',
    example: 'b: *risk',
    fix: 'Name values with `let` or `def`, steps with `call`.',
  }),
  'yaml-tag': error({
    summary: 'a tag (!name)',
    cause: 'A tag changes what a value is behind the reader’s back.',
    example: 'size: !!str 5',
    fix: 'Leave the tag out; quote the value where a text is meant.',
  }),
  'yaml-merge-key': error({
    summary: 'a merge key (<<)',
    cause: 'A reviewer would have to merge in the head what stands elsewhere.',
    example: '<<: {a: 1}',
    fix: 'Write the keys where they belong.',
  }),
  'yaml-directive': error({
    summary: 'a directive (%YAML, %TAG)',
    cause: '`%YAML 1.1` alone turns `no` into false and `0777` into 511.',
    example: '%YAML 1.1',
    fix: 'Leave the line out; the language is YAML 1.2.',
  }),
  'yaml-several-documents': error({
    summary: 'several documents in one file',
    cause: 'Only the first would be run.',
    example: '---\na: 1\n---\nb: 2',
    fix: 'Keep one runbook per file.',
  }),
  'yaml-duplicate-key': error({
    summary: 'a key that stands twice',
    cause: 'Readers disagree which one counts.',
    example: '{size: 1, size: 2}',
    fix: 'Remove one of the two.',
  }),
  'yaml-complex-key': error({
    summary: 'a key that is not a text, or empty',
    cause: 'A key is a name.',
    example: '? [a, b]\n: 1',
    fix: 'Write `name: value`.',
  }),
  'yaml-key-form': error({
    summary: 'a bare key that reads as a number, a boolean or null',
    cause: 'YAML readers disagree whether such a key is a text.',
    example: '1: x',
    fix: 'Quote the key.',
  }),
  'yaml-forbidden-key': error({
    summary: 'a key named __proto__, constructor or prototype',
    cause: 'These names reach behind the data of a JavaScript program.',
    example: '__proto__: {a: 1}',
    fix: 'Use another name.',
  }),
  'yaml-null': error({
    summary: 'a null, or a key without a value',
    cause: 'The language has no null: a value is there or its key is not.',
    example: 'read_account:',
    fix: 'Write the value, `{}` for a verb without parameters, or leave the key out.',
  }),
  'yaml-boolean-form': error({
    summary: 'a boolean that is not spelled true or false',
    cause: 'One spelling for one thing.',
    example: 'cross: True',
    fix: 'Write `true` or `false`, or quote it where a text is meant.',
  }),
  'yaml-number-form': error({
    summary: 'a number that is not a plain decimal',
    cause:
      'Hexadecimal, octal, exponents, underscores, infinities and leading zeros are read differently by different readers.',
    example: 'size: 1e-3',
    fix: 'Write a plain decimal such as 0.001, or quote it where a text is meant.',
  }),
  'yaml-number-too-long': error({
    summary: 'a number of more than 36 digits, or more than 18 after the point',
    cause: 'No price or size at the venue has as many.',
    example: 'size: 0.1234567890123456789',
    fix: 'Round it.',
  }),
  'yaml-control-character': error({
    summary: 'a control character or half of a surrogate pair',
    cause: 'It can rewrite what a terminal shows of the file.',
    example: 'about: "\\u001b[2J"',
    fix: 'Remove the character.',
  }),
  'yaml-hidden-character': error({
    summary:
      'an invisible character, one that changes the reading direction, or one that looks like a blank and is none',
    cause: 'The file would not be what a reviewer sees of it.',
    example: 'market: "BTC\\u202e-USD"',
    fix: 'Remove the character.',
  }),

  // Expressions.
  'expression-syntax': error({
    summary: 'an expression that can not be read',
    cause: 'Brackets, operators or quotes do not add up.',
    example: 'size: (1 + 2',
    fix: 'Look at the place named.',
  }),
  'expression-empty': error({
    summary: 'no expression where one is needed',
    cause: 'The text is empty.',
    example: "size: ''",
    fix: 'Write a literal or an expression.',
  }),
  'expression-too-long': error({
    summary: 'an expression of more than 2,000 characters',
    cause: 'Nobody can review it.',
    example: '(a very long expression)',
    fix: 'Name its parts with `let` or `def`.',
  }),
  'expression-too-deep': error({
    summary: 'an expression nested more than 64 levels deep',
    cause: 'Nobody can review it.',
    example: '((((…))))',
    fix: 'Name its parts with `let` or `def`.',
  }),
  'expression-fails': error({
    summary: 'an expression of constants that can not be worked out',
    cause: 'It divides by zero, say, whatever happens at run time.',
    example: 'size: 1 / 0',
    fix: 'Correct the constants.',
  }),
  'number-form': error({
    summary: 'a number in an expression that is not a plain decimal',
    cause:
      'Exponents, hexadecimal, suffixes, leading zeros and more than 36 digits (18 after the point) are not numbers of the language.',
    example: 'size: qty * 1e-3',
    fix: 'Write a plain decimal such as 0.001.',
  }),
  'unknown-name': error({
    summary: 'a name nobody declared',
    cause: 'It is misspelt, or not visible here.',
    example: 'price: inptus.trigger',
    fix: 'Declare it, or correct the spelling.',
  }),
  'unknown-field': error({
    summary: 'a field the record does not have',
    cause: 'It is misspelt, or belongs to another record.',
    example: 'entry.prise',
    fix: 'Correct the spelling.',
  }),
  'unknown-function': error({
    summary: 'a function the language does not have',
    cause: 'It is misspelt, or of another language.',
    example: 'floor(x)',
    fix: 'Use one of the functions of the reference.',
  }),
  'refused-function': error({
    summary: 'a function of CEL that the language leaves out',
    cause: 'It converts types behind the checker’s back, depends on the host, or can run for ever.',
    example: "inputs.market.matches('^(a+)+$')",
    fix: 'Use one of the functions of the reference.',
  }),
  'argument-count': error({
    summary: 'too few or too many arguments',
    cause: 'The function takes another number of arguments.',
    example: 'abs(1, 2)',
    fix: 'Look the function up in the reference.',
  }),
  'type-mismatch': error({
    summary: 'a value of another type than is needed',
    cause: 'Types are checked before a run.',
    example: "size: 'big'",
    fix: 'Use a value of the type named.',
  }),
  'unit-mismatch': error({
    summary: 'units that do not go together',
    cause: 'Prices, sizes and money are different things: price × size = money, money / price = size.',
    example: 'size: inputs.trigger * 2',
    fix: 'Multiply or divide by the quantity that is missing.',
  }),
  'not-integer': error({
    summary: 'a number that may have a fraction where a whole one is needed',
    cause: 'Counts and leverage are whole numbers.',
    example: 'leverage: 2.5',
    fix: 'Use a whole number, or `floor_to(x, 1)`.',
  }),
  'not-a-member': error({
    summary: 'a text that is not among the possible ones',
    cause: 'The comparison could never hold, or the venue would refuse the value.',
    example: "inputs.side == 'lnog'",
    fix: 'Use one of the possible texts.',
  }),
  'unlikely-text': warning({
    summary: 'a comparison with a text that the venue is not known to use',
    cause: 'It would never hold: the venue document spells its words in one way, such as canceled.',
    example: "entry.status == 'cancelled'",
    fix: 'Use one of the words of the venue document.',
  }),
  'market-form': error({
    summary: 'a market id that is not <BASE>-<QUOTE>',
    cause: 'Market ids have a dash.',
    example: 'market: BTCUSD',
    fix: 'Write the market as the venue names it, such as BTC-USD.',
  }),
  'optional-unhandled': error({
    summary: 'a value that may be absent, used as if it were there',
    cause: 'An average price does not exist before the first fill; there is no null to stand for it.',
    example: 'price: entry.avg_price * 2',
    fix: 'Write `.orValue(x)`, or ask `.hasValue()` in `if:` first.',
  }),
  'always-present': warning({
    summary: 'a value asked whether it is there, though it always is',
    cause: 'The question has one answer.',
    example: 'inputs.size.orValue(0)',
    fix: 'Leave `.orValue` or `.hasValue` out.',
  }),
  'refused-null': error({
    summary: 'null in an expression',
    cause: 'The language has no null.',
    example: 'entry.avg_price == null',
    fix: 'Ask `.hasValue()`.',
  }),
  'refused-literal': error({
    summary: 'a bytes or map literal in an expression',
    cause: 'No field of the language takes one.',
    example: "{'a': 1}",
    fix: 'Write a list, or use an input of type map.',
  }),
  'record-index': error({
    summary: 'a record’s field looked up by a computed name',
    cause: 'What is read must be known before the run.',
    example: 'inputs[inputs.side]',
    fix: 'Write the field’s name, or use `?:`.',
  }),
  'name-shadowed': error({
    summary: 'a loop variable named like something else',
    cause: 'The reader could not tell which is meant.',
    example: 'ladder.map(inputs, 1)',
    fix: 'Use another name.',
  }),
  'market-unknown': error({
    summary: '`tick` or `lot` without a market',
    cause: 'Here it is not known which market’s step is meant.',
    example: 'let: {p: tick(x)}',
    fix: "Write `tick(value, market)`, such as `tick(x, 'BTC-USD')`.",
  }),
  'unknown-zone': error({
    summary: 'a time zone nobody knows',
    cause: 'Zones are named as in the IANA database.',
    example: "hour(now, 'London')",
    fix: 'Write a zone such as Europe/London or UTC.',
  }),

  // Templates and literals.
  'template-not-here': error({
    summary: '${…} in a field that takes a bare expression',
    cause: 'Whether a text is an expression is decided by the field’s type, never by its looks.',
    example: 'size: ${inputs.size}',
    fix: 'Write the expression without ${ and }.',
  }),
  'template-unclosed': error({
    summary: '${ without its }',
    cause: 'The text ends inside an expression.',
    example: 'text: "filled ${entry.filled"',
    fix: 'Close it, or write $${ where the characters themselves are meant.',
  }),
  'template-mixed': error({
    summary: 'text around ${…} where one of a closed set is needed',
    cause: 'What comes out could not be checked.',
    example: 'side: "${a}ng"',
    fix: 'Let one ${…} be the whole text.',
  }),
  'optional-in-text': warning({
    summary: 'a text with a value that may be absent',
    cause: 'It would read “(absent)”.',
    example: 'text: "at ${entry.avg_price}"',
    fix: 'Write `.orValue(x)` inside.',
  }),
  'duration-form': error({
    summary: 'a duration that can not be read',
    cause: 'A duration has its unit with it.',
    example: 'within: 30',
    fix: 'Write 250ms, 30s, 10m, 4h, 7d, joined as 1h30m, or ISO 8601 such as PT10M.',
  }),
  'time-form': error({
    summary: 'a time that can not be read',
    cause: 'A time is ISO 8601 and says its offset; there is no implicit zone.',
    example: 'until: 2026-01-05 08:00',
    fix: 'Write 2026-01-05T08:00:00Z or 2026-01-05T08:00:00+01:00.',
  }),
  'ratio-not-here': error({
    summary: 'a percentage where no ratio is expected',
    cause: '3% and 25bps are ratios; this field takes something else.',
    example: 'price: 3%',
    fix: 'Write what it is a percentage of: `price * (1 - pct(3))`.',
  }),
  'literal-form': error({
    summary: 'a literal that is not of the type declared',
    cause: 'Defaults, bounds and given inputs are read by the declared type.',
    example: '{type: price, default: high}',
    fix: 'Write a literal of that type.',
  }),
} as const satisfies Record<string, CodeRow>;

export type SyntaxCode = keyof typeof SYNTAX_CODES;

/** Makes a diagnostic from its row: the severity, and the row's hint where the caller has none. */
export function diagnose(source: SourceText, span: Span, code: SyntaxCode, message: string, hint?: string): Diagnostic {
  const row = SYNTAX_CODES[code];
  return { severity: row.severity, code, message, hint: hint ?? row.fix, source, span };
}
