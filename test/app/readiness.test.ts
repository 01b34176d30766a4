/** Refuses live runs before anything is sent. */
import { describe, expect, it } from 'vitest';
import { refuseUnready } from '../../src/app/account/readiness.ts';
import { checkText } from '../../src/app/library.ts';
import { Duration } from '../../src/runbook/values.ts';
import { type Profile, SIMULATED_PROFILE } from '../../src/venue/profile/profile.ts';

const PROFILE: Profile = { ...SIMULATED_PROFILE, capabilities: [] };
const CALLER = (name: string, callee: string) =>
  `dsl: 1\nrunbook: ${name}\nsteps:\n  - call: {runbook: ${callee}, with: {}}\n`;

/** A runbook that calls one that calls one with these lines. */
function load(lines: string) {
  const texts: Readonly<Record<string, string>> = {
    middle: CALLER('middle', 'inner'),
    inner: `dsl: 1\nrunbook: inner\n${lines}`,
  };
  const { loaded, diagnostics } = checkText({ file: 'outer.yaml', text: CALLER('outer', 'middle') }, (name) => {
    const text = texts[name];
    return text === undefined ? undefined : { file: `${name}.yaml`, text };
  });
  if (loaded === undefined) throw new Error(JSON.stringify(diagnostics));
  return loaded.runbook;
}

describe('the inputs of a run', () => {
  const arm = (timeout: string) => `  - arm_deadman: {market: BTC-USD, timeout: ${timeout}}\n`;
  const declared = 'inputs: {t: {type: duration}}\n';
  const block = 'deadman: {market: BTC-USD, timeout: inputs.t, on_exit: disarm}\nsteps:\n  - read_account: {}\n';
  it.each([
    ['its block', `${declared}${block}`],
    ['a step', `${declared}steps:\n${arm('inputs.t * 2')}`],
  ])('refuse it where they make the timeout of %s too short', (_what, lines) => {
    const { loaded } = checkText({ file: 'one.yaml', text: `dsl: 1\nrunbook: one\n${lines}` }, () => undefined);
    if (loaded === undefined) throw new Error('errors');
    const refuse = (ms: number) => () => refuseUnready(loaded.runbook, PROFILE, { t: new Duration(ms) });
    expect(refuse(2_000)).toThrow(/is too short; live it is at least 5 s; nothing was sent$/);
    expect(refuse(10_000)).not.toThrow();
    expect(() => refuseUnready(loaded.runbook, PROFILE)).not.toThrow();
  });

  it('are not those of a runbook that it calls', () => {
    const runbook = load(`inputs: {t: {type: duration, default: 10s}}\n${block}`);
    expect(() => refuseUnready(runbook, PROFILE, { t: new Duration(1_000) })).not.toThrow();
  });
});

describe('a runbook that a called one calls', () => {
  it.each([
    ['a capability', 'needs: [cancel_all]\nsteps:\n  - cancel_all: {everyone: true}\n', /^outer needs cancel_all;/],
    [
      'a feed',
      'feeds: {mid: {type: price, max_age: 5s}}\nsteps:\n  - assert: feeds.mid > 1\n',
      /^outer reads the feed mid;/,
    ],
    ['a channel', 'steps:\n  - notify: {to: ops, text: hello}\n', /^outer notifies ops;/],
  ])('refuses the run where the profile lacks %s of it', (_what, lines, says) => {
    expect(() => refuseUnready(load(lines), PROFILE)).toThrow(says);
  });

  it('refuses the run where its deadman switch is too short for a live one', () => {
    const lines = (timeout: string) =>
      `deadman: {market: BTC-USD, timeout: ${timeout}, on_exit: disarm}\nsteps:\n  - read_account: {}\n`;
    expect(() => refuseUnready(load(lines('4s')), PROFILE)).toThrow(/^a deadman timeout of 4 s is too short/);
    expect(() => refuseUnready(load(lines('10s')), PROFILE)).not.toThrow();
  });

  it('refuses the run where a step of it arms the switch for too short a time', () => {
    const lines = (timeout: string) => `steps:\n  - arm_deadman: {market: BTC-USD, timeout: ${timeout}}\n`;
    expect(() => refuseUnready(load(lines('4s')), PROFILE)).toThrow(/^a deadman timeout of 4 s is too short/);
    expect(() => refuseUnready(load(lines('5s')), PROFILE)).not.toThrow();
  });
});
