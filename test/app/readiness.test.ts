/** Refuses live runs before anything is sent. */
import { describe, expect, it } from 'vitest';
import { refuseUnready } from '../../src/app/account/readiness.ts';
import { checkText } from '../../src/app/library.ts';
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
});
