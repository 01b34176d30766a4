import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { findPosition } from '../../src/base/diagnostic.ts';
import { type Node, readDocument } from '../../src/runbook/document/document.ts';
import { readDuration, readInputText, readLiteral } from '../../src/runbook/expression/literals.ts';
import { parseTypeWord } from '../../src/runbook/functions/type-words.ts';
import { formatType } from '../../src/runbook/functions/typing.ts';
import { durationText, toJson, type ValueType } from '../../src/runbook/values.ts';
import { itHolds } from '../property.ts';

/** The value of a literal of type `word` as JSON, or `code line:column` of its errors. */
function literal(word: string, yaml: string): unknown {
  const source = { file: 'a.yaml', text: `a: ${yaml}\n` };
  const { root, diagnostics } = readDocument(source);
  expect(diagnostics).toEqual([]);
  const node = root?.kind === 'map' ? (root.get('a') as Node) : undefined;
  const type = parseTypeWord(word);
  const { value, diagnostics: found } = readLiteral(type as ValueType, word, node as Node, source);
  if (found.length === 0) return toJson(value);
  return found.map(({ code, span }) => `${code} ${Object.values(findPosition(source.text, span.start)).join(':')}`);
}

describe('words of types', () => {
  it.each([
    ['price', 'price'],
    ['pct', 'number'],
    ['bps', 'number'],
    ['integer', 'integer'],
    ['side', 'side'],
    ['list<market>', 'list<market>'],
    ['map<price>', 'map<price>'],
    ['list<list<integer>>', 'list<list<integer>>'],
    ['list< size >', 'list<size>'],
  ])('%s', (word, name) => {
    expect(formatType(parseTypeWord(word) as ValueType)).toBe(name);
  });

  it.each([
    '',
    'Price',
    'list',
    'list<>',
    'list<foo>',
    'set<price>',
    'constructor',
    '__proto__',
    'list<price',
    `${'list<'.repeat(2000)}price${'>'.repeat(2000)}`,
  ])('%s is not a type', (word) => {
    expect(parseTypeWord(word)).toBeUndefined();
  });
});

describe('literals by declared type', () => {
  it.each([
    ['price', '64000.50', '64000.5'],
    ['price', '"64000"', '64000'],
    ['price', 'high', ['literal-form 1:4']],
    ['price', '3%', ['ratio-not-here 1:4']],
    ['price', '[1]', ['literal-form 1:4']],
    ['size', '-1', '-1'],
    ['integer', '5', '5'],
    ['integer', '2.5', ['not-integer 1:4']],
    ['pct', '1.5', '0.015'],
    ['pct', '3%', '0.03'],
    ['pct', '25bps', '0.0025'],
    ['bps', '10', '0.001'],
    ['bps', '0.1%', '0.001'],
    ['number', '2', '2'],
    ['number', '3%', '0.03'],
    ['boolean', 'true', true],
    ['boolean', 'no', ['literal-form 1:4']],
    ['duration', '4h', '4h'],
    ['duration', 'PT90S', '1m30s'],
    ['duration', '30', ['duration-form 1:4']],
    ['time', '2026-01-05T08:00:00Z', '2026-01-05T08:00:00.000Z'],
    ['time', '2026-01-05T08:00:00', ['time-form 1:4']],
    ['time', '2026-01-05T08:00:00+14:00', '2026-01-04T18:00:00.000Z'],
    ['time', '2026-01-05T08:00:00-09:30', '2026-01-05T17:30:00.000Z'],
    ['time', '2026-01-05T08:00:00+14:01', ['time-form 1:4']],
    ['time', '2026-01-05T08:00:00+30:00', ['time-form 1:4']],
    ['time', '2026-01-05T08:00:00+01:60', ['time-form 1:4']],
    ['side', 'long', 'long'],
    ['side', 'lnog', ['not-a-member 1:4']],
    ['market', 'BTC-USD', 'BTC-USD'],
    ['market', 'BTCUSD', ['market-form 1:4']],
    ['market', '"${inputs.x}"', ['literal-form 1:4']],
    ['text', '5', '5'],
    ['text', 'hello', 'hello'],
    ['list<market>', '[BTC-USD, ETH-USD]', ['BTC-USD', 'ETH-USD']],
    ['list<market>', '[BTC-USD, ETHUSD, X]', ['market-form 1:14', 'market-form 1:22']],
    ['list<bps>', '[10, 25]', ['0.001', '0.0025']],
    ['list<price>', '5', ['literal-form 1:4']],
    ['map<price>', '{BTC-USD: 1, ETH-USD: 2}', { 'BTC-USD': '1', 'ETH-USD': '2' }],
    ['map<price>', '{BTC-USD: x}', ['literal-form 1:14']],
    ['map<price>', '[1]', ['literal-form 1:4']],
  ])('%s: %s', (word, yaml, expected) => {
    expect(literal(word, yaml)).toEqual(expected);
  });
});

describe('inputs given as text', () => {
  it.each([
    ['price', '64200', '64200'],
    ['price', '0.123456789012345678', '0.123456789012345678'],
    ['bps', '10', '0.001'],
    ['duration', '1h30m', '1h30m'],
    ['boolean', 'false', false],
    ['side', 'short', 'short'],
    ['list<market>', '["BTC-USD", "ETH-USD"]', ['BTC-USD', 'ETH-USD']],
    ['list<price>', '[0.100000000000000001, "2"]', ['0.100000000000000001', '2']],
    ['map<price>', '{"BTC-USD": 12345678901234567.25}', { 'BTC-USD': '12345678901234567.25' }],
    ['list<list<integer>>', '[[1], []]', [['1'], []]],
  ])('%s %s', (word, text, expected) => {
    const reading = readInputText(parseTypeWord(word) as ValueType, word, text);
    expect('value' in reading ? toJson(reading.value) : reading.problem).toEqual(expected);
  });

  it.each([
    ['price', '1e3', /price.*plain decimal.*"1e3"/],
    ['price', '', /price.*plain decimal.*""/],
    ['integer', '1.5', /integer.*"1\.5"/],
    ['side', 'flat', /'flat'.*'long', 'short'/],
    ['list<market>', 'BTC-USD', /list<market>.*JSON.*"BTC-USD"/],
    ['list<market>', '{"a": 1}', /list<market>.*JSON list/],
    ['list<price>', '[null]', /price.*null/],
    ['list<price>', '[1e3]', /price.*plain decimal.*"1e3"/],
    ['map<price>', '[1]', /map<price>.*JSON object/],
    ['map<price>', '5', /map<price>.*JSON object/],
    ['map<price>', '{"__proto__": 1}', /map<price>.*__proto__/],
    ['time', '9999-12-31T23:59:59Z', /ISO 8601.*"9999-12-31T23:59:59Z"/],
  ])('%s %s is refused', (word, text, problem) => {
    expect(readInputText(parseTypeWord(word) as ValueType, word, text)).toMatchObject({
      problem: expect.stringMatching(problem),
    });
  });

  itHolds('never throws', 2000, (numRuns) => {
    const word = fc.constantFrom(
      'price',
      'bps',
      'duration',
      'time',
      'side',
      'market',
      'boolean',
      'text',
      'list<price>',
      'map<duration>',
      'list<list<time>>',
    );
    const text = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.json(),
      fc.constantFrom(
        'PT',
        'P',
        '1h',
        '9'.repeat(40),
        '[[[[',
        '2026-13-45T99:99:99Z',
        '0000-01-01T00:00:00Z',
        '9999-12-31T23:59:59Z',
      ),
    );
    fc.assert(
      fc.property(word, text, (type, given) => {
        const reading = readInputText(parseTypeWord(type) as ValueType, type, given);
        expect('value' in reading || reading.problem.length > 0).toBe(true);
      }),
      { numRuns },
    );
  });
});

describe('durations', () => {
  it('are read back from their written form', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 10_000 * 86_400_000 }), (ms) => {
        const written = durationText({ ms } as never);
        const reading = readDuration(written);
        expect('value' in reading && reading.value.ms).toBe(ms);
      }),
    );
  });
});
