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
  it('are read by their types, with defaults for those not given', () => {
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

  it('name every problem: missing, unknown, of another type, outside of their bounds', () => {
    const read = given({ size: '0.75', sied: 'long', mode: 'quick', patience: '10s', risk: 'much' });
    const problems = 'problems' in read ? read.problems : [];
    expect(problems.map((each) => each.replace(/^(input risk): .*$/, '$1: …'))).toEqual([
      'input size must be at most 0.5, found 0.75',
      'case has no input "sied"; did you mean side?',
      "input mode: 'quick' is none of 'fast', 'slow'",
      'input patience must be at least 1m, found 10s',
      'input risk: …',
      'input side (side) is missing: it has no default',
    ]);
  });

  it.each(['__proto__', 'constructor', 'toString'])('does not take %s for an input', (name) => {
    const read = given({ side: 'long', size: '0.1', [name]: 'x' });
    expect('problems' in read ? read.problems : []).toHaveLength(1);
  });
});
