/** Checks that the hint of a common mistake contains its correction. */
import { describe, expect, it } from 'vitest';
import { checkRunbook } from '../../src/runbook/check.ts';

/** A valid runbook, with one place for each mistake. */
const FIELDS = {
  type: 'limit',
  market: 'BTC-USD',
  side: 'long',
  size: 'inputs.size',
  price: 'tick(feeds.mid * 0.99)',
  tif: 'post_only',
  within: '10m',
  is: 'live',
  until: '2026-01-05T08:00:00Z',
  catch: '[{on: [timeout], then: continue}]',
  retry: '{on: [transport], max: 2}',
  cron: '"30 21 * * 1-5"',
  zone: 'UTC',
  input: '{type: size, default: 0.1}',
  feed: '{type: price, max_age: 5s}',
  condition: 'entry.filled > 0',
  markets: '[BTC-USD]',
} as const;
type Field = keyof typeof FIELDS;

function runbook(changed: Partial<Record<Field, string>>): string {
  const f = { ...FIELDS, ...changed };
  return `runbook: case
dsl: 1
inputs:
  size: ${f.input}
feeds:
  mid: ${f.feed}
limits:
  markets: ${f.markets}
schedule:
  cron: ${f.cron}
  tz: ${f.zone}
steps:
  - id: entry
    place:
      type: ${f.type}
      market: ${f.market}
      side: ${f.side}
      size: ${f.size}
      price: ${f.price}
      tif: ${f.tif}
    allow: reduce
  - wait_for: {order: entry, is: ${f.is}, within: ${f.within}}
  - read_account: {}
    retry: ${f.retry}
    catch: ${f.catch}
  - if: ${f.condition}
    wait: {until: ${f.until}}
`;
}

function findings(text: string): readonly { readonly code: string; readonly hint: string; readonly found: string }[] {
  return checkRunbook({ file: 'case.yaml', text }, () => undefined).diagnostics.map(({ code, hint, span }) => ({
    code,
    hint: hint ?? '',
    found: text.slice(span.start, span.end),
  }));
}

/** The field, the written value, the text pointed at, and the correction. */
const MISTAKES: readonly (readonly [field: Field, written: string, found: string, correction: string])[] = [
  // Words of other venues.
  ['side', 'buy', 'buy', "'long'"],
  ['side', 'SHORT', 'SHORT', "'short'"],
  ['tif', 'ioc', 'ioc', 'immediate_or_cancel'],
  ['type', 'Limit', 'Limit', 'limit'],
  ['input', '{type: qty, default: 1}', 'qty', 'size'],
  // An expression in a plain text, and a text in an expression.
  ['side', 'inputs.side', 'inputs.side', '"${inputs.side}"'],
  ['market', 'inputs.market', 'inputs.market', '"${inputs.market}"'],
  ['condition', 'entry.side == long', 'long', "'long'"],
  // Markets.
  ['side', '1', '1', 'Write long or short.'],
  // Two names and a minus.
  ['condition', 'position(BTC-USD) > 0', 'BTC-USD', "'BTC-USD'"],
  ['market', 'BTC/USD', 'BTC/USD', 'BTC-USD'],
  ['market', 'BTCUSD', 'BTCUSD', 'BTC-USD'],
  ['market', 'BTC–USD', 'BTC–USD', 'BTC-USD'],
  ['market', 'ВTC-USD', 'ВTC-USD', 'U+0412'],
  ['markets', 'BTC-USD', 'BTC-USD', '[BTC-USD]'],
  // Durations and times.
  ['within', '10min', '10min', '10m'],
  ['within', '10 m', '10 m', '10m'],
  ['within', '1.5h', '1.5h', '1h30m'],
  ['within', '36526d', '36526d', 'The longest duration is 36525d.'],
  ['within', '90 Seconds', '90 Seconds', '1m30s'],
  ['within', '10', '10', '10s, or 10m'],
  ['feed', '{type: price, max_age: 5}', '5', '5s'],
  ['until', '2026-01-05 08:00', '2026-01-05 08:00', '2026-01-05T08:00Z'],
  ['until', '2026-02-30T08:00:00Z', '2026-02-30T08:00:00Z', 'no such day'],
  ['until', '16:55', '16:55', '2026-01-05T16:55Z'],
  ['until', '"9:05"', '"9:05"', '2026-01-05T09:05Z'],
  ['zone', 'New York', 'New York', 'America/New_York'],
  ['zone', 'Gotham', 'Gotham', 'such as Europe/London'],
  // Habits of other languages.
  ['condition', 'entry.filled = 0', '=', '=='],
  ['condition', 'entry.open and true', 'and', '&&'],
  ['condition', 'not entry.open', 'not', '!'],
  ['condition', 'entry.filled <> 0', '>', '!='],
  ['condition', 'entry.filled', 'entry.filled', 'x > 0'],
  ['condition', 'now > 2026-01-05T16:55:00Z', '2026-01-05T16:55:00Z', 'an input of type time'],
  ['condition', 'entry.avg_price.hasValue', 'hasValue', '.hasValue()'],
  ['condition', 'entry.avg_price.orValue > 0', 'orValue', '.orValue(x)'],
  ['condition', 'entry.avg_price', 'entry.avg_price', '.hasValue()'],
  ['price', 'feeds.mid - 1%', '1%', 'pct(1)'],
  ['price', 'feeds.mid * (1 - 25bps)', '25bps', 'bps(25)'],
  ['price', 'feeds.mid ** 2', '*', 'multiply'],
  ['price', 'floor(feeds.mid)', 'floor', 'floor_to'],
  ['price', '$64000', '$', 'currency'],
  ['until', 'now() + minutes(5)', 'now', 'write now without'],
  ['until', 'now + 5m', '5m', 'minutes(5)'],
  ['price', 'mid * 0.99', 'mid', 'feeds.mid'],
  ['size', 'size', 'size', 'inputs.size'],
  ['size', '$size', '$', 'inputs.NAME'],
  ['size', '0.1 BTC', 'BTC', 'such as 0.1: the field'],
  ['price', '63.5k', 'k', 'in full'],
  ['price', '64_000.5', '64_000.5', 'Write 64000.5,'],
  ['size', '+25E-4', '+25E-4', 'Write 0.0025,'],
  ['size', '0x10', '0x10', 'a plain decimal such as'],
  ['type', 'stop_loss', 'stop_loss', 'protect'],
  ['cron', '* * * * *', '*', 'quotes'],
  // Lookalike characters.
  ['price', 'feeds.mid × 0.99', '×', '*'],
  ['price', 'feeds.mid − 1', '−', '-'],
  ['price', 'feeds.mid\u00a0* 0.99', '\u00a0', 'space'],
  ['price', 'feeds.mid * ０.99', '０', '0'],
  ['condition', 'entry.side == ‘long’', '‘', "'"],
  // Brackets and operators.
  ['price', 'tick(feeds.mid', '', ')'],
  ['price', 'feeds.mid *', '', 'value that is missing'],
  ['price', 'feeds.mid)', ')', 'Remove it'],
  // Shapes.
  ['catch', '{on: any, then: stop}', '{on: any, then: stop}', '"- "'],
  ['catch', '[{on: timeout, then: stop}]', 'timeout', '[timeout]'],
  ['retry', '3', '3', '{on: …, max: …}'],
  ['feed', 'price', 'price', '{type: …, max_age: …}'],
  ['cron', '"0 8 * *"', '"0 8 * *"', '"30 21 * * 1-5"'],
  ['cron', '"0 0 8 * * *"', '"0 0 8 * * *"', 'seconds'],
];

describe('a hint contains the correction', () => {
  it('names the side first, where the prices of a stop are reversed for it', () => {
    const protect = `  - protect:
      {market: BTC-USD, side: long, stop_loss: {fraction: 1, trigger: tick(feeds.mid * 0.98), price: tick(feeds.mid * 0.96)}}
`;
    const found = findings(`${runbook({})}${protect}`).filter(({ code }) => code === 'stop-reversed');
    expect(found).toMatchObject([{ hint: expect.stringMatching(/^First look at `side`.*short for a long/) as string }]);
  });

  it('is absent when nothing is wrong', () => expect(findings(runbook({}))).toEqual([]));

  it.each(MISTAKES)('%s: %s', (field, written, found, correction) => {
    const errors = findings(runbook({ [field]: written })).filter(({ code }) => !code.startsWith('unused-'));
    expect(errors).toHaveLength(1);
    expect(errors[0]?.hint).toContain(correction);
    if (found !== '') expect(errors[0]?.found).toBe(found);
  });
});

it.each([
  ['a no-break space in a duration', '  - wait: 5\u00a0s\n', 'U+00A0'],
  ['a no-break space behind the colon', '  - wait:\u00a05s\n', 'U+00A0'],
  ['a full-width digit in a duration', '  - wait: ５s\n', 'Write 5 instead'],
  [
    'curly quotes around a word',
    '  - place: {type: “limit”, market: BTC-USD, side: long, size: 1, price: 1}\n',
    'U+201C',
  ],
  [
    'curly quotes around a side',
    '  - place: {type: limit, market: BTC-USD, side: ’long’, size: 1, price: 1}\n',
    'U+2019',
  ],
  [
    'a full-width letter in a key',
    '  - place: {type: limit, market: BTC-USD, side: long, ｓize: 1, price: 1}\n',
    'U+FF53',
  ],
  ['a long dash in a market', '  - place: {type: limit, market: BTC–USD, side: long, size: 1, price: 1}\n', 'U+2013'],
  ['a full-width letter in the name of a step', '  - ｗait: 5s\n', 'U+FF57'],
  ['a no-break space in a time', '  - wait: {until: "2026-01-05T08:00:00\u00a0Z"}\n', 'U+00A0'],
])('%s is named by its code point', (_what, steps, point) => {
  const found = findings(`runbook: case\ndsl: 1\nleaves: {position: open, because: a test}\nsteps:\n${steps}`);
  expect(JSON.stringify(found)).toContain(point);
});

describe('a misplaced key gets its place in the hint', () => {
  const findingsOf = (steps: string): readonly string[] =>
    findings(`runbook: case\ndsl: 1\nsteps:\n${steps}`).map(({ code, hint }) => `${code}: ${hint}`);

  it('fields that are beside the name of their step, once', () =>
    expect(findingsOf('  - set_leverage:\n    market: BTC-USD\n    leverage: 3\n')).toEqual([
      expect.stringMatching(/^unknown-key: Indent/),
    ]));
  it.each([
    ['place: {type: limit, market: BTC-USD, side: long, size: 1, price: 9, post_only: true}', 'tif: post_only'],
    ['place: {type: market, market: BTC-USD, side: long, size: 1, stop_loss: 9}', 'protect'],
    ['buy: 1', 'side: long'],
    ['while: true', 'repeat'],
    ['log: hello', 'notify'],
  ])('a word that is a construct here: %s', (step, expected) =>
    expect(findingsOf(`  - ${step}\n`).filter((each) => each.startsWith('unknown-key'))).toEqual([
      expect.stringContaining(expected),
    ]),
  );
  it('a schedule and a declaration that are no map', () => {
    const of = (head: string) => findings(`runbook: case\ndsl: 1\n${head}\nsteps: [wait: 1s]`).map(({ hint }) => hint);
    expect(of("schedule: '0 8 * * *'")).toEqual([expect.stringContaining('{cron: "0 8 * * *", tz: UTC}, {every: 1d}')]);
    for (const word of ['none', 'flat'])
      expect(of(`leaves: ${word}`)).toEqual(['Did you mean {position: none}? Write {position: none|protected|open}.']);
    expect(of('leaves: 1')).toEqual(['Write {position: none|protected|open}.']);
    expect(of('limits: {max_daily_loss: 100}')).toEqual([expect.stringContaining('limits of the profile')]);
    expect(of('leaves: {position: flat}')).toEqual([expect.stringContaining('none')]);
  });
  it("a modifier inside the step's own map", () => {
    const [first, ...others] = findingsOf('  - read_deadman: {market: BTC-USD, timeout: 3s}\n');
    expect(first).toMatch(/^unknown-key: .*modifier/);
    expect(others).toEqual([]);
  });
  it('a field beside the name of the step', () => {
    const [first, ...others] = findingsOf('  - set_leverage: {market: BTC-USD, leverage: 2}\n    leverage: 3\n');
    expect(first).toMatch(/^unknown-key: .*field of set_leverage/);
    expect(others).toEqual([]);
  });
  it('the name of a step alone', () =>
    expect(findingsOf('  - read_account\n')).toEqual([
      expect.stringMatching(/^wrong-type: .*"- read_account: \{…\}"/),
    ]));
});

describe('the hint of what other lines decide', () => {
  const of = (head: string, step: string) => findings(`runbook: case\ndsl: 1\n${head}steps:\n  - ${step}\n`);
  it.each([
    [
      'a def that is declared further on',
      'def: {half: whole / 2, whole: 4}\n',
      'assert: half > 1',
      'whole is declared in def',
    ],
    ['a let that reads a def', 'let: {early: half}\ndef: {half: 2}\n', 'assert: early > 1', 'half is declared in def'],
    ['a close without a price', '', 'close: BTC-USD', '`feed:`'],
  ])('%s', (_what, head, step, expected) => {
    expect(of(head, step).map(({ hint }) => hint)).toContainEqual(expect.stringContaining(expected));
  });
});

describe('values that lack their quotes', () => {
  const hintsOf = (step: string) =>
    findings(`runbook: case\ndsl: 1\nsteps:\n  - ${step}\n`).map(({ hint }) => /"(.*)"/.exec(hint)?.[1]);
  it.each([
    [
      'request: {name: a, with: {x: lot(inputs.of / feeds.mid[inputs.m], inputs.m), y: 1}}',
      ['lot(inputs.of / feeds.mid[inputs.m], inputs.m)'],
    ],
    [
      "request: {name: a, with: {x: tick(inputs.a[0], 'B-C'), y: feeds.mid['B-C']}}",
      ["tick(inputs.a[0], 'B-C')", "feeds.mid['B-C']"],
    ],
    ['request: {name: a, with: {x: [inputs.a[0], 2]}}', ['inputs.a[0]']],
    ["let:\n      a: inputs.x ? 'l' : 's'\n      b: inputs.y ? 1 : 2", ["inputs.x ? 'l' : 's'", 'inputs.y ? 1 : 2']],
  ])('are named in full: %s', (step, values) => expect(hintsOf(step)).toEqual(values));
  it('are not what an item without its dash is', () => {
    const [first] = findings('runbook: case\ndsl: 1\nsteps:\n    wait: 1s\n  - wait_for: {order: a, is: filled}\n');
    expect([first?.found, first?.hint]).toEqual([
      '- wait_for: {order: a, is: filled}',
      expect.stringContaining('"- "'),
    ]);
  });
});

it('a value that may be absent is one mistake, however often it is read', () => {
  const stop = '{fraction: 1, trigger: entry.avg_price * 0.9, price: entry.avg_price * 0.8}';
  const steps = `  - id: entry\n    place: {type: limit, market: BTC-USD, side: long, size: 1, price: 9}\n  - refresh: entry\n  - protect: {market: BTC-USD, side: short, stop_loss: ${stop}}\n`;
  const codes = findings(`runbook: case\ndsl: 1\nsteps:\n${steps}`).map(({ code }) => code);
  expect(codes.filter((code) => code === 'optional-unhandled')).toHaveLength(1);
});

it.each([
  'entry.avg_price',
  'entry.avg_price.hasValue',
  'entry.filled = 1',
  'entry.filled > 0 and entry.open',
  'not entry.open',
  'entry.filled == inputs.within',
])('what a wrong condition would have assured is no second mistake: %s', (condition) => {
  const stop = '{fraction: 1, trigger: tick(entry.avg_price * 0.9), price: tick(entry.avg_price * 0.8)}';
  const steps = `  - id: entry\n    place: {type: limit, market: BTC-USD, side: long, size: 1, price: 9}\n  - refresh: entry\n  - if: ${condition}\n    protect: {market: BTC-USD, side: short, stop_loss: ${stop}}\n`;
  const head =
    'runbook: case\ndsl: 1\ninputs: {within: {type: duration}}\nlet: {wait: inputs.within}\noutputs: {wait: wait}\nleaves: {position: open, because: a case}\n';
  expect(findings(`${head}steps:\n${steps}`).map(({ code }) => code)).toHaveLength(1);
});

it('the legs of a protect are named where an order is needed', () => {
  const stop = '{fraction: 1, trigger: 8, price: 7}';
  const steps = `  - id: guard\n    protect: {market: BTC-USD, side: short, stop_loss: ${stop}}\n  - refresh: guard\n`;
  const hints = findings(`runbook: case\ndsl: 1\nsteps:\n${steps}`).map(({ hint }) => hint);
  expect(hints).toContain('Write guard.stop_loss.');
});
