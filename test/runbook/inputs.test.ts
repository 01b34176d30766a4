import { describe, expect, it } from 'vitest';
import { Decimal } from '../../src/base/decimal.ts';
import { checkRunbook, readInputs } from '../../src/runbook/check.ts';
import { Duration } from '../../src/runbook/values.ts';

const TEXT = `runbook: case
dsl: 1
inputs:
  side: {type: side}
  size: {type: size, max: 0.5}
  risk: {type: pct, default: 1.5}
  markets: {type: list<market>, default: [BTC-USD]}
  mode: {type: text, enum: [fast, slow], default: slow}
  patience: {type: duration, min: 1m, default: 4h}
steps: []
`;

function given(inputs: Readonly<Record<string, string>>) {
  const { runbook } = checkRunbook({ file: 'case.yaml', text: TEXT }, () => undefined);
  if (runbook === undefined) throw new Error('the case is not a runbook');
  return readInputs(runbook, inputs);
}

describe('inputs of a run', () => {
  it('are read by their types, with defaults for missing ones', () => {
    const read = given({ side: 'long', size: '0.25', markets: '["ETH-USD","BTC-USD"]', patience: '1h30m' });
    expect('values' in read && { ...read.values }).toEqual({
      side: 'long',
      size: new Decimal('0.25'),
      risk: new Decimal('0.015'),
      markets: ['ETH-USD', 'BTC-USD'],
      mode: 'slow',
      patience: new Duration(5_400_000),
    });
  });

  it('report every problem: missing, unknown, wrong type, outside the bounds', () => {
    const read = given({ size: '0.75', sied: 'long', mode: 'quick', patience: '10s', risk: 'much' });
    const problems = 'problems' in read ? read.problems : [];
    expect(problems).toEqual([
      expect.stringMatching(/size .*0\.5.*0\.75/),
      expect.stringMatching(/"sied".*side/),
      expect.stringMatching(/mode.*'quick'.*'fast', 'slow'/),
      expect.stringMatching(/patience.*1m.*10s/),
      expect.stringContaining('risk'),
      expect.stringMatching(/side \(side\).*missing/),
    ]);
  });

  it.each(['__proto__', 'constructor', 'toString'])('does not accept %s as an input', (name) => {
    const read = given({ side: 'long', size: '0.1', [name]: 'x' });
    expect('problems' in read ? read.problems : []).toHaveLength(1);
  });
});

describe('a ratio that is compared with a number above 1', () => {
  const findings = (input: string, condition: string) => {
    const text = `runbook: a\ndsl: 1\ninputs: {risk: {${input}}}\nsteps:\n  - {assert: "${condition}", because: why}\n`;
    return checkRunbook({ file: 'a.yaml', text }, () => undefined).diagnostics.map(({ code }) => code);
  };

  it('is warned of, on either side, unless the input may be as large', () => {
    expect(findings('type: pct', 'inputs.risk > 2')).toEqual(['percent-as-number']);
    expect(findings('type: bps', '20 >= inputs.risk')).toEqual(['percent-as-number']);
    expect(findings('type: pct', 'inputs.risk > pct(2) || inputs.risk == 1 || inputs.risk < 0.02')).toEqual([]);
    expect(findings('type: pct, max: 300%', 'inputs.risk > 2')).toEqual([]);
    expect(findings('type: number', 'inputs.risk > 2')).toEqual([]);
  });
});
