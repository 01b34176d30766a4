/**
 * Checks the promises of interface.md to other programs, for every command that opens no socket: exit codes, exact documents,
 * and a standard output with exactly one of them. Commands that act for real are in test/live.
 */
import { describe, expect, it } from 'vitest';
import { type Ended, folder } from './command.ts';

const REST = `runbook: rest
dsl: 1
leaves: {position: open, because: the case is about something else}
inputs:
  size: {type: size, default: 0.001, max: 0.5}
  markets: {type: list<market>, default: [BTC-USD]}
  side: {type: side, default: long}
limits: {markets: [BTC-USD], max_order_notional: 25000}
deadman: {market: BTC-USD, timeout: 60s, on_exit: disarm}
steps:
  - id: entry
    place: {type: limit, market: BTC-USD, side: "\${inputs.side}", size: inputs.size, price: 40000, tif: post_only}
    allow: reduce
  - wait: 20s
  - cancel: entry
    await: terminal
outputs: {filled: entry.filled, id: "\${entry.id}"}
`;
const AT = ['--at', '2026-01-05T08:00:00Z', '--seed', '7'];

const home = folder();
home.write('rest.yaml', REST);

/** The one document on standard output. */
function answer({ out }: Ended): Record<string, unknown> {
  expect(out).toMatch(/^[^\n]*\n$/);
  return JSON.parse(out) as Record<string, unknown>;
}
const TIME = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
const NUMBER = expect.any(Number);
const TEXT = expect.any(String);

describe('validate --json', () => {
  it('prints its document, for valid and invalid files, lines and columns from 1', () => {
    home.write('odd.yaml', 'runbook: odd\ndsl: 1\nsteps:\n  - wiat: 1s\n');
    const ended = home.run('validate', 'rest.yaml', 'odd.yaml', '--json');
    expect(ended.exit).toBe(1);
    expect(answer(ended)).toEqual({
      files: [
        {
          file: 'rest.yaml',
          ok: true,
          diagnostics: [expect.objectContaining({ severity: 'warning', code: 'unused-input' })],
        },
        {
          file: 'odd.yaml',
          ok: false,
          diagnostics: [
            {
              severity: 'error',
              code: 'unknown-key',
              message: expect.stringContaining('"wiat"'),
              hint: 'Did you mean wait?',
              file: 'odd.yaml',
              line: 4,
              column: 5,
              endLine: 4,
              endColumn: 9,
            },
          ],
        },
      ],
    });
  });

  const ATTACKS: Readonly<Record<string, readonly [text: string, code: string]>> = {
    'entities that grow': ['a: &a [x, x]\nb: [*a, *a]\n', 'yaml-anchor'],
    'a merge key': ['steps:\n  - <<: {wait: 1s}\n', 'yaml-merge-key'],
    'a key twice': ['runbook: other\n', 'yaml-duplicate-key'],
    'a tag': ['about: !!js/function "x"\n', 'yaml-tag'],
    'a second document': ['---\nrunbook: other\n', 'yaml-several-documents'],
    'a directive': ['%YAML 1.1\n', 'yaml-directive'],
    'depth without end': [`steps: ${'['.repeat(5000)}${']'.repeat(5000)}\n`, 'yaml-too-deep'],
    'a name that is no name': ['vars: {__proto__: {type: integer, init: 0}}\n', 'yaml-forbidden-key'],
    'an escape': ['about: "\\e[31mred"\n', 'yaml-control-character'],
    'letters that hide': ['about: "\u202eevil"\n', 'yaml-hidden-character'],
    'a number that is none': ['let: {x: .inf}\n', 'yaml-number-form'],
    'a number with an exponent': ['let: {x: 1e-7}\n', 'yaml-number-form'],
    'a number of too many digits': ['let: {x: 1234567890123456789.1234567890123456789}\n', 'yaml-number-too-long'],
    'a file too large': [`# ${'x'.repeat(300_000)}\n`, 'yaml-too-large'],
  };
  it('rejects attacks on YAML readers by name, at once, without executing anything', () => {
    const files = Object.values(ATTACKS).map(([text], index) =>
      home.write(
        `attack-${index}.yaml`,
        text.startsWith('%') ? `${text}---\nrunbook: a\n` : `runbook: a\ndsl: 1\n${text}`,
      ),
    );
    const ended = home.run('validate', ...files, '--json');
    expect(ended.exit).toBe(1);
    const { files: found } = answer(ended) as { files: { ok: boolean; diagnostics: { code: string }[] }[] };
    for (const [index, [name, [, code]]] of Object.entries(ATTACKS).entries()) {
      expect([name, found[index]?.ok, found[index]?.diagnostics.map((each) => each.code)]).toEqual([
        name,
        false,
        expect.arrayContaining([code]),
      ]);
    }
    expect(ended.err).not.toMatch(/\n +at |node:internal/);
    for (const file of files) expect(home.run('dry-run', file).exit).toBe(1);
  });
});

describe('plan --json', () => {
  it('prints hash, requests and the worst case, with a stable hash', () => {
    const ended = home.run('plan', 'rest.yaml', '--json');
    expect(ended.exit).toBe(0);
    const plan = answer(ended);
    expect(Object.keys(plan)).toEqual(['hash', 'requests', 'sections', 'bounds', 'worstCase']);
    expect(plan).toMatchObject({
      hash: expect.stringMatching(/^[0-9a-f]{64}$/),
      // For the order as the inputs define it, not as the limits would allow it.
      worstCase: { tokensPerMinute: NUMBER, orders: 1, notional: '40' },
    });
    expect(plan['requests']).toContainEqual(
      expect.objectContaining({
        method: 'POST',
        path: '/orders',
        params: expect.objectContaining({ market_id: 'BTC-USD', price: '40000', side: 'long', size: '0.001' }),
        tokens: 1,
      }),
    );
    expect(answer(home.run('plan', 'rest.yaml', '--json'))['hash']).toBe(plan['hash']);
    expect(answer(home.run('plan', 'rest.yaml', '--json', '--input', 'size=0.002'))['hash']).not.toBe(plan['hash']);
  });
});

describe('dry-run --json', () => {
  it('prints the exact report; the given time is the start, and the same seed gives the same document', () => {
    const ended = home.run('dry-run', 'rest.yaml', '--json', ...AT);
    expect(ended.exit).toBe(0);
    const report = answer(ended);
    expect(report).toEqual({
      run: TEXT,
      runbook: 'rest',
      inputs: { markets: ['BTC-USD'], side: 'long', size: '0.001' },
      mode: 'simulated',
      outcome: 'succeeded',
      startedAt: '2026-01-05T08:00:00.000Z',
      endedAt: TIME,
      steps: [
        {
          path: 'steps/entry',
          id: 'entry',
          verb: 'place',
          outcome: 'succeeded',
          startedAt: TIME,
          endedAt: TIME,
          attempts: 1,
        },
        { path: 'steps/2:wait', verb: 'wait', outcome: 'succeeded', startedAt: TIME, endedAt: TIME, attempts: 1 },
        { path: 'steps/3:cancel', verb: 'cancel', outcome: 'succeeded', startedAt: TIME, endedAt: TIME, attempts: 1 },
      ],
      requests: expect.arrayContaining([
        {
          method: 'POST',
          path: '/orders',
          params: {
            market_id: 'BTC-USD',
            price: '40000',
            side: 'long',
            size: '0.001',
            type: 'limit',
            client_order_id: expect.stringMatching(/^[A-Za-z0-9_-]{1,50}$/),
            time_in_force: 'post_only',
          },
          tokens: 1,
          status: 200,
          success: true,
          at: TIME,
        },
      ]),
      orders: [
        {
          clientOrderId: TEXT,
          orderId: expect.stringMatching(/^BTC-USD@\d+$/),
          step: 'steps/entry',
          at: TIME,
          market: 'BTC-USD',
          side: 'long',
          type: 'limit',
          price: '40000',
          size: '0.001',
          filled: '0',
          state: 'canceled',
        },
      ],
      outputs: { filled: '0', id: expect.stringMatching(/^BTC-USD@\d+$/) },
      leaves: { position: 'open', ok: true },
      residual: [],
      money: {
        'BTC-USD': {
          position: '0',
          realized: '0',
          fees: '0',
          net: '0',
          maxExposure: '0',
          maxDrawdown: '0',
          timeInMarketMs: 0,
        },
      },
      notices: [],
      alarms: [],
      tokens: { used: NUMBER, peakPerMinute: NUMBER },
      deadman: expect.arrayContaining([
        { at: TIME, event: 'armed' },
        { at: TIME, event: 'renewed' },
        { at: TIME, event: 'disarmed' },
      ]),
    });
    const again = answer(home.run('dry-run', 'rest.yaml', '--json', ...AT));
    expect(neutral(again)).toEqual(neutral(report));
  });

  it.each([
    ['an input of the wrong type', ['--input', 'side=up'], /side.*'up'.*'long', 'short'/],
    ['an unknown input', ['--input', 'sise=1'], /has no input "sise"; did you mean s/],
    ['an input out of its bounds', ['--input', 'size=9'], /input size must be at most 0\.5, found 9/],
    ['a number with an exponent', ['--input', 'size=1e-3'], /input size: size is a plain decimal .*found "1e-3"/],
    ['a list that is no JSON', ['--input', 'markets=BTC-USD'], /input markets: list<market> is written as JSON/],
    [
      'a fixture that is not there',
      ['--fixtures', 'nope.yaml'],
      /the fixture nope\.yaml cannot be read: there is no such file/,
    ],
    ['a fixture that is none', ['--fixtures', 'rest.yaml'], /rest\.yaml is a runbook, not a recording/],
    ['a time without an offset', ['--at', 'yesterday'], /--at takes a time in ISO 8601 .*found yesterday/],
    ['a seed that is no number', ['--seed', 'x'], /--seed takes a whole number, found x/],
  ])('%s: exit 2 and a sentence that says what was found and what is accepted', (_name, words, sentence) => {
    const ended = home.run('dry-run', 'rest.yaml', '--json', ...words);
    expect(ended.exit).toBe(2);
    expect(answer(ended)).toEqual({ error: { kind: TEXT, message: expect.stringMatching(sentence) } });
  });

  it('shows how a missing list is written', () => {
    home.write(
      'list.yaml',
      'runbook: list\ndsl: 1\ninputs: {markets: {type: list<market>}, to: {type: price}}\nsteps:\n  - assert: inputs.markets.size() > 0 && inputs.to > 0\n',
    );
    const ended = home.run('dry-run', 'list.yaml');
    expect([ended.exit, ended.err]).toEqual([2, expect.stringContaining(`--input 'markets=["…"]' --input to=…`)]);
  });

  it('names the nearest exchange and the difference for a fixture that does not match', () => {
    expect(home.run('dry-run', 'rest.yaml', ...AT, '--record', 'rest.fixture.yaml').exit).toBe(0);
    expect(home.run('dry-run', 'rest.yaml', '--fixtures', 'rest.fixture.yaml', '--json').exit).toBe(0);
    const ended = home.run(
      'dry-run',
      'rest.yaml',
      '--fixtures',
      'rest.fixture.yaml',
      '--input',
      'size=0.002',
      '--json',
    );
    expect(ended.exit).not.toBe(0);
    expect(ended.out + ended.err).toMatch(/size[^"]*0\.00[12][^"]*0\.00[12]/);
  });

  it('stop ends with its reason and exit 0; fail with exit 1', () => {
    home.write('stop.yaml', 'runbook: stop\ndsl: 1\nsteps:\n  - stop: {outcome: enough, because: seen}\n');
    home.write('fail.yaml', 'runbook: fail\ndsl: 1\nsteps:\n  - fail: {because: no good}\n');
    const stopped = home.run('dry-run', 'stop.yaml', '--json');
    expect([stopped.exit, answer(stopped)]).toMatchObject([0, { outcome: 'stopped', reason: 'enough' }]);
    const failed = home.run('dry-run', 'fail.yaml', '--json');
    expect([failed.exit, answer(failed)]).toMatchObject([
      1,
      { outcome: 'failed', error: { message: 'no good', step: 'steps/1:fail' } },
    ]);
  });
});

describe('review', () => {
  const own = folder();
  own.write('rest.yaml', REST);
  const dryRun = () => answer(own.run('dry-run', 'rest.yaml', '--json', ...AT));

  it('audit and replay print documents of the run', () => {
    const run = dryRun()['run'] as string;
    expect(answer(own.run('audit', 'list', '--json'))).toEqual({
      runs: [
        {
          run,
          runbook: 'rest',
          mode: 'simulated',
          outcome: 'succeeded',
          startedAt: TIME,
          endedAt: TIME,
          trigger: 'manual',
        },
      ],
    });
    expect(answer(own.run('audit', 'verify', '--json'))).toEqual({
      ok: true,
      runs: [{ run, ok: true, entries: NUMBER }],
    });
    const { orders } = answer(own.run('audit', 'orders', run, '--json')) as { orders: { history: object[] }[] };
    expect(orders).toEqual([expect.objectContaining({ state: 'canceled', filled: '0', size: '0.001' })]);
    expect(orders[0]?.history[0]).toEqual({ at: TIME, from: 'draft', to: 'submitting', event: 'SUBMIT' });
    for (const verb of ['show', 'fills', 'budget']) expect(own.run('audit', verb, run, '--json').exit).toBe(0);
    for (const format of ['jsonl', 'csv', 'html', 'otlp'])
      expect(own.run('audit', 'export', run, '--format', format).exit).toBe(0);
    expect(own.run('audit', 'diff', run, run, '--json').exit).toBe(0);
    const replayed = own.run('replay', run, '--json');
    expect([replayed.exit, answer(replayed)]).toMatchObject([0, { run, ok: true }]);
  });

  it('an unknown run is named, exit 2', () => {
    for (const words of [
      ['audit', 'show', 'nope'],
      ['replay', 'nope'],
      ['cancel', 'nope'],
      ['approve', 'nope', 's', '--by', 'me'],
    ]) {
      const ended = own.run(...words, '--json');
      expect([words, ended.exit, answer(ended)]).toMatchObject([
        words,
        2,
        { error: { message: expect.stringContaining('nope') } },
      ]);
    }
  });
});

describe('the other commands', () => {
  it('schedule preview: the occurrences', () => {
    home.write(
      'nightly.yaml',
      'runbook: nightly\ndsl: 1\nschedule: {cron: "30 2 * * *", tz: Europe/Berlin, misfire: {within: 5m, then: skip}, overlap: skip}\nsteps:\n  - wait: 1s\n',
    );
    const words = ['--next', '3', '--from', '2026-03-28T00:00:00Z', '--json'];
    const ended = home.run('schedule', 'preview', 'nightly.yaml', ...words);
    expect(ended.exit).toBe(0);
    const { occurrences } = answer(ended) as { occurrences: Record<string, string>[] };
    expect(occurrences.map(({ at, local }) => [at, local])).toEqual([
      ['2026-03-28T01:30:00.000Z', '2026-03-28T02:30:00.000+01:00'],
      // 02:30 does not exist on the 29th: the first minute that does.
      ['2026-03-29T01:00:00.000Z', '2026-03-29T03:00:00.000+02:00'],
      ['2026-03-30T00:30:00.000Z', '2026-03-30T02:30:00.000+02:00'],
    ]);
    expect(occurrences.map(({ note }) => typeof note)).toEqual(['undefined', 'string', 'undefined']);
    expect(occurrences.every((each) => each['runbook'] === 'nightly' && 'slot' in each)).toBe(true);
  });

  it('new creates a valid, executable runbook, and overwrites nothing', () => {
    expect(home.run('new', 'mine', '--json').exit).toBe(0);
    expect(answer(home.run('validate', 'mine.yaml', '--json'))).toEqual({
      files: [{ file: 'mine.yaml', ok: true, diagnostics: [] }],
    });
    expect(home.run('dry-run', 'mine.yaml', '--json', ...AT).exit).toBe(0);
    expect(home.run('new', 'mine', '--json').exit).toBe(2);
  });

  it('graph prints each of its formats', () => {
    expect(home.run('graph', 'rest.yaml').out).toMatch(/^stateDiagram-v2\n/);
    expect(answer(home.run('graph', 'rest.yaml', '--format', 'xstate', '--json'))).toMatchObject({
      runbook: 'rest',
      format: 'xstate',
    });
  });

  it('record converts a recording into another format with the same answers', () => {
    expect(home.run('dry-run', 'rest.yaml', ...AT, '--record', 'rest.har').exit).toBe(0);
    expect(home.run('record', '--from', 'rest.har', '--to', 'back.jsonl', '--json').exit).toBe(0);
    expect(answer(home.run('dry-run', 'rest.yaml', '--fixtures', 'back.jsonl', '--json', ...AT))).toMatchObject({
      mode: 'fixtures',
      outcome: 'succeeded',
    });
  });

  it('wrong usage is exit 2, with one document', () => {
    for (const words of [
      ['frobnicate'],
      ['run', 'rest.yaml'],
      ['graph', 'rest.yaml', '--format', 'pdf'],
      ['release', '--by', 'me'],
      [],
    ]) {
      const ended = home.run(...words, '--json');
      expect([words, ended.exit]).toEqual([words, 2]);
      expect([words, Object.keys(answer(ended))]).toEqual([words, ['error']]);
    }
  });
});

/** Without the run's id and what derives from it. */
function neutral(report: Record<string, unknown>): unknown {
  return JSON.parse(JSON.stringify({ ...report, run: '' }).replace(/rb[a-z2-7]{10,}/g, 'id'));
}
