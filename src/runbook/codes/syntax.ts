/** The codes of mistakes in the text of a runbook: of its YAML, its literals and its expressions. */
import { type CodeRow, error, warning } from './row.ts';

export const SYNTAX_CODES = {
  // The file's text.
  'yaml-too-large': error({
    summary: 'the file is larger than 256 KiB',
    cause: 'A runbook is written by hand; a larger file is an accident or an attack.',
    example: '(a file of 300 KiB)',
    fix: 'Split the runbook and `call` its parts.',
  }),
  'yaml-too-deep': error({
    summary: 'values nested more than 32 levels deep',
    cause: 'No runbook needs it, and a small, deeply nested text can exhaust the stack.',
    example: '[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]',
    fix: 'Move inner blocks into a runbook of their own and `call` it.',
  }),
  'yaml-too-many-nodes': error({
    summary: 'more than 20,000 values in one file',
    cause: 'People review runbooks, and they cannot review this many values.',
    example: '(a list of 30,000 items)',
    fix: 'Split the runbook and `call` its parts.',
  }),
  'yaml-syntax': error({
    summary: 'the text is not YAML 1.2',
    cause: 'The indentation, a quote or a bracket is wrong.',
    example: 'steps: [a, b',
    fix: 'Look at the line named and the one before it: indentation, a missing bracket or quote.',
  }),
  'yaml-comma': error({
    summary: 'a comma that cuts an expression in two',
    cause: 'Inside {…} and […] a comma ends a value without quotes.',
    example: 'place: {size: min(a, b), …}',
    fix: 'Put the expression in quotes: `size: "min(a, b)"`.',
  }),
  'yaml-empty': error({
    summary: 'the file is empty',
    cause: 'It has no content, or only comments.',
    example: '# nothing',
    fix: 'Write `runbook:`, `dsl:` and `steps:`.',
  }),
  'yaml-anchor': error({
    summary: 'an anchor (&name)',
    cause: 'Repeated nodes make a small file large and a review unreliable.',
    example: 'a: &risk 0.01',
    fix: 'Name values with `let` or `def`, steps with `call`.',
  }),
  'yaml-alias': error({
    summary: 'an alias (*name)',
    cause: 'Repeated nodes make a small file large and a review unreliable.',
    example: 'b: *risk',
    fix: 'Name values with `let` or `def`, steps with `call`.',
  }),
  'yaml-tag': error({
    summary: 'a tag (!name)',
    cause: 'A tag changes the type of a value without showing it.',
    example: 'size: !!str 5',
    fix: 'Remove the tag; quote the value if it is a text.',
  }),
  'yaml-merge-key': error({
    summary: 'a merge key (<<)',
    cause: 'A reviewer would have to merge keys from another place by hand.',
    example: '<<: {a: 1}',
    fix: 'Write the keys where they belong.',
  }),
  'yaml-directive': error({
    summary: 'a directive (%YAML, %TAG)',
    cause: '`%YAML 1.1` alone turns `no` into false and `0777` into 511.',
    example: '%YAML 1.1',
    fix: 'Remove the line; the language is YAML 1.2.',
  }),
  'yaml-several-documents': error({
    summary: 'several documents in one file',
    cause: 'Only the first would run.',
    example: '---\na: 1\n---\nb: 2',
    fix: 'Keep one runbook per file.',
  }),
  'yaml-duplicate-key': error({
    summary: 'a key that occurs twice',
    cause: 'YAML readers disagree on which one counts.',
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
    cause: 'YAML readers disagree on whether such a key is a text.',
    example: '1: x',
    fix: 'Quote the key.',
  }),
  'yaml-forbidden-key': error({
    summary: 'a key named __proto__, constructor or prototype',
    cause: 'In JavaScript these names give access to more than data.',
    example: '__proto__: {a: 1}',
    fix: 'Use another name.',
  }),
  'yaml-null': error({
    summary: 'a null, or a key without a value',
    cause: 'The language has no null: leave out a key that has no value.',
    example: 'read_account:',
    fix: 'Write the value, write `{}` for a step without parameters, or remove the key.',
  }),
  'yaml-boolean-form': error({
    summary: 'a boolean that is not spelled true or false',
    cause: 'There is one spelling for each boolean.',
    example: 'cross: True',
    fix: 'Write `true` or `false`, or quote it if it is a text.',
  }),
  'yaml-number-form': error({
    summary: 'a number that is not a plain decimal',
    cause:
      'Hexadecimal, octal, exponents, underscores, infinities and leading zeros are read differently by different readers.',
    example: 'size: 1e-3',
    fix: 'Write a plain decimal such as 0.001, or quote it if it is a text.',
  }),
  'yaml-number-too-long': error({
    summary: 'a number of more than 36 digits, or more than 18 after the point',
    cause: 'No price or size at the venue has that many.',
    example: 'size: 0.1234567890123456789',
    fix: 'Round it.',
  }),
  'yaml-control-character': error({
    summary: 'a control character or half of a surrogate pair',
    cause: 'It can change how a terminal displays the file.',
    example: 'about: "\\u001b[2J"',
    fix: 'Remove the character.',
  }),
  'yaml-hidden-character': error({
    summary: 'an invisible character, one that changes the reading direction, or one that only looks like a space',
    cause: 'A reviewer would see a different file from the one that runs.',
    example: 'market: "BTC\\u202e-USD"',
    fix: 'Remove the character.',
  }),

  // Expressions.
  'expression-syntax': error({
    summary: 'an expression that cannot be read',
    cause: 'A bracket, an operator or a quote is missing or misplaced.',
    example: 'size: (1 + 2',
    fix: 'Check the expression at the position shown.',
  }),
  'expression-empty': error({
    summary: 'an empty expression',
    cause: 'The field needs a literal or an expression.',
    example: "size: ''",
    fix: 'Write a literal or an expression.',
  }),
  'expression-too-long': error({
    summary: 'an expression of more than 2,000 characters',
    cause: 'It is too long to review.',
    example: '(a very long expression)',
    fix: 'Name its parts with `let` or `def`.',
  }),
  'expression-too-deep': error({
    summary: 'an expression nested more than 64 levels deep',
    cause: 'It is too deep to review.',
    example: '((((…))))',
    fix: 'Name its parts with `let` or `def`.',
  }),
  'expression-fails': error({
    summary: 'an expression of constants that has no value',
    cause: 'For example, it divides by zero in every run.',
    example: 'size: 1 / 0',
    fix: 'Correct the constants.',
  }),
  'number-form': error({
    summary: 'a number in an expression that is not a plain decimal',
    cause:
      'Exponents, hexadecimal, suffixes, leading zeros and more than 36 digits (18 after the point) are not allowed.',
    example: 'size: qty * 1e-3',
    fix: 'Write a plain decimal such as 0.001.',
  }),
  'unknown-name': error({
    summary: 'a name that is not declared',
    cause: 'It is misspelt, or not visible here.',
    example: 'price: inptus.trigger',
    fix: 'Declare it, or correct the spelling.',
  }),
  'unknown-field': error({
    summary: 'a field that the record does not have',
    cause: 'It is misspelt, or belongs to another record.',
    example: 'entry.prise',
    fix: 'Correct the spelling.',
  }),
  'unknown-function': error({
    summary: 'a function that the language does not have',
    cause: 'It is misspelt, or belongs to another language.',
    example: 'floor(x)',
    fix: 'Use one of the functions of the reference.',
  }),
  'refused-function': error({
    summary: 'a CEL function that the language leaves out',
    cause: 'It converts types without a check, depends on the host, or can run without end.',
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
    summary: 'a value of the wrong type',
    cause: 'Types are checked before a run.',
    example: "size: 'big'",
    fix: 'Use a value of the type named.',
  }),
  'unit-mismatch': error({
    summary: 'units that cannot be combined',
    cause: 'Prices, sizes and money are different units: price × size = money, money / price = size.',
    example: 'size: inputs.trigger * 2',
    fix: 'Multiply or divide by the missing quantity.',
  }),
  'not-integer': error({
    summary: 'a number that may have a fraction where a whole number is needed',
    cause: 'Counts and leverage are whole numbers.',
    example: 'leverage: 2.5',
    fix: 'Use a whole number, or `floor_to(x, 1)`.',
  }),
  'not-a-member': error({
    summary: 'a text that is not one of the allowed ones',
    cause: 'The comparison would never be true, or the venue would refuse the value.',
    example: "inputs.side == 'lnog'",
    fix: 'Use one of the allowed texts.',
  }),
  'unlikely-text': warning({
    summary: 'a comparison with a text that the venue is not known to use',
    cause: 'It would never be true: the venue document spells each word in one way, such as canceled.',
    example: "entry.status == 'cancelled'",
    fix: 'Use one of the words of the venue document.',
  }),
  'text-not-evaluated': warning({
    summary: 'a text that reads as an expression, and is taken as it is written',
    cause:
      'A text is a literal; only what is in ${…} is evaluated. A comparison with the value that was meant is never true.',
    example: "set: {state: \"feeds.mid > 64000 ? 'up' : 'down'\"}",
    fix: "Write `${…}` around it, or leave the quotes out: `\"${feeds.mid > 64000 ? 'up' : 'down'}\"`, `flat`.",
  }),
  'market-form': error({
    summary: 'a market id that is not <BASE>-<QUOTE>',
    cause: 'Market ids have a dash.',
    example: 'market: BTCUSD',
    fix: 'Write the market as the venue names it, such as BTC-USD.',
  }),
  'optional-unhandled': error({
    summary: 'a value that may be absent, used without a check',
    cause: 'An average price, for example, does not exist before the first fill.',
    example: 'price: entry.avg_price * 2',
    fix: 'Write `.orValue(x)`, or check `.hasValue()` in `if:` first.',
  }),
  'always-present': warning({
    summary: 'a check for a value that is always present',
    cause: 'The check always has the same result.',
    example: 'inputs.size.orValue(0)',
    fix: 'Remove `.orValue` or `.hasValue`.',
  }),
  'refused-null': error({
    summary: 'null in an expression',
    cause: 'The language has no null.',
    example: 'entry.avg_price == null',
    fix: 'Check `.hasValue()`.',
  }),
  'refused-literal': error({
    summary: 'a bytes literal in an expression',
    cause: 'No field of the language takes one.',
    example: "b'abc'",
    fix: 'Write a text, without the b.',
  }),
  'record-index': error({
    summary: 'a record’s field read by a computed name',
    cause: 'Which fields an expression reads must be known before the run.',
    example: 'inputs[inputs.side]',
    fix: 'Write the field’s name, or use `?:`.',
  }),
  'name-shadowed': error({
    summary: 'a loop variable whose name is already in use',
    cause: 'The reader would not know which one is meant.',
    example: 'ladder.map(inputs, 1)',
    fix: 'Use another name.',
  }),
  'market-unknown': error({
    summary: '`tick` or `lot` without a market',
    cause: 'The market, and so its tick and lot, is not known here.',
    example: 'let: {p: tick(x)}',
    fix: "Write `tick(value, market)`, such as `tick(x, 'BTC-USD')`.",
  }),
  'unknown-zone': error({
    summary: 'an unknown time zone',
    cause: 'Zones are named as in the IANA database.',
    example: "hour(now, 'London')",
    fix: 'Write a zone such as Europe/London or UTC.',
  }),

  // Templates and literals.
  'template-not-here': error({
    summary: '${…} in a field that takes a bare expression',
    cause: 'The type of the field decides whether a text is an expression, never how the text looks.',
    example: 'size: ${inputs.size}',
    fix: 'Write the expression without ${ and }.',
  }),
  'template-unclosed': error({
    summary: '${ without its }',
    cause: 'The text ends inside an expression.',
    example: 'text: "filled ${entry.filled"',
    fix: 'Close it, or write $${ for the characters themselves.',
  }),
  'template-mixed': error({
    summary: 'text around ${…} where only listed words are allowed',
    cause: 'The result could not be checked.',
    example: 'side: "${a}ng"',
    fix: 'Make one ${…} the whole text.',
  }),
  'optional-in-text': warning({
    summary: 'a text that includes a value that may be absent',
    cause: 'The text would say “(absent)”.',
    example: 'text: "at ${entry.avg_price}"',
    fix: 'Write `.orValue(x)` inside the ${…}.',
  }),
  'duration-form': error({
    summary: 'a duration that cannot be read',
    cause: 'A duration needs its unit.',
    example: 'within: 30',
    fix: 'Write 250ms, 30s, 10m, 4h, 7d, combined as 1h30m, or ISO 8601 such as PT10M.',
  }),
  'time-form': error({
    summary: 'a time that cannot be read',
    cause: 'A time is ISO 8601 with its offset; there is no default zone.',
    example: 'until: 2026-01-05 08:00',
    fix: 'Write 2026-01-05T08:00:00Z or 2026-01-05T08:00:00+01:00.',
  }),
  'ratio-not-here': error({
    summary: 'a percentage where no ratio is expected',
    cause: '3% and 25bps are ratios; this field takes another type.',
    example: 'price: 3%',
    fix: 'Write the value it is a percentage of: `price * (1 - pct(3))`.',
  }),
  'literal-form': error({
    summary: 'a literal that is not of the declared type',
    cause: 'Defaults, bounds and given inputs must have the declared type.',
    example: '{type: price, default: high}',
    fix: 'Write a literal of that type.',
  }),
} as const satisfies Record<string, CodeRow>;

export type SyntaxCode = keyof typeof SYNTAX_CODES;
