import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { folder } from './command.ts';

const SIDED = `runbook: sided
dsl: 1
inputs: {side: {type: side}}
steps:
  - place: {type: limit, market: BTC-USD, side: "\${inputs.side}", size: 0.0001, price: 19800}
    allow: reduce
`;
const PROFILE = `profile: p
base_url: http://127.0.0.1:1
account: main
auth: {mode: jwt, jwt: {env: VENUE_JWT}}
markets: {BTC-USD: {tick: "1", lot: "0.0001", min_size: "0.0001"}}
`;

describe('ambiguous or meaningless arguments', () => {
  const here = folder();
  here.write('sided.yaml', SIDED);
  here.write('p.yaml', PROFILE);
  const run = ['run', 'sided.yaml', '--profile', 'p.yaml'];

  it.each([
    [
      'an input given twice',
      ['plan', 'sided.yaml', '--input', 'side=long', '--input', 'side=short'],
      '--input side is given twice',
    ], // prettier-ignore
    ['an empty plan', [...run, '--input', 'side=long', '--plan', ''], '--plan takes the hash of an approved plan'],
    ['an empty state folder', ['audit', 'list', '--state', ''], '--state takes a folder, found nothing'],
    ['a file without its ending', ['plan', 'sided'], 'did you mean sided.yaml?'],
    ['an input that is missing', ['plan', 'sided.yaml'], 'give --input side=…'],
    ['a word of another venue', ['plan', 'sided.yaml', '--input', 'side=buy'], "Did you mean 'long'?"],
    ['help for an unknown command', ['help', 'bogus'], "unknown command 'bogus'"],
    ['a run of another folder', ['cancel', 'last', '--by', 'ada'], 'in the state folder .runbook'],
  ])('%s: exit 2, and what is accepted', (_what, words, sentence) => {
    const { exit, out, err } = here.run(...words);
    expect([exit, out, err]).toEqual([2, '', expect.stringContaining(sentence)]);
  });

  it('no command, with --json', () => {
    const { exit, out } = here.run('--json');
    expect([exit, JSON.parse(out)]).toEqual([
      2,
      { error: { kind: 'usage', message: expect.stringContaining('runbook help') } },
    ]);
  });

  it('an unusable folder of the user is a user error', () => {
    mkdirSync(join(here.path, 'user'));
    here.write('user/.local', 'a file');
    const { exit, err } = here.runWith(
      { env: { HOME: join(here.path, 'user'), VENUE_JWT: 'a.test.token' } },
      ...run,
      '--input',
      'side=long',
    );
    expect([exit, err]).toEqual([2, expect.not.stringContaining('internal error')]);
    expect(err).toContain('/user/.local');
  });

  it('doctor gives advice, and does not wait for each read in turn', () => {
    const { exit, out } = here.runWith({ env: { VENUE_JWT: 'a.test.token' } }, 'doctor', '--profile', 'p.yaml');
    expect([exit, out]).toEqual([1, expect.stringContaining('nothing listens at that address')]);
    expect(out).toContain('not tried: the first got no answer');
  });
});
