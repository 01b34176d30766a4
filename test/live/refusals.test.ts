import { chmodSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { JWT } from './mock-venue.ts';
import { document, type Given, LIMIT, scene } from './scene.ts';

interface Refused extends Given {
  readonly words?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly says: RegExp;
}

/** Each case ends with exit 2 before a request is sent. */
const REFUSED: Readonly<Record<string, Refused>> = {
  'a secret in the place of a reference': {
    profile: `auth: {mode: jwt, jwt: ${JWT}}`,
    says: /p\.yaml:6:24 error auth\.jwt looks like a secret; it is not shown here/,
  },
  'a secret in another place': { profile: `account: ${JWT}`, says: /account looks like a secret/ },
  'a file that is no YAML, with a secret in it': {
    profile: `auth: {mode: jwt, jwt: ${JWT}`,
    says: /p\.yaml:\d+:\d+ error \{ without its \} \[yaml-syntax\]/,
  },
  'a key that is a secret, twice': {
    profile: `limits: {${JWT}: 1, ${JWT}: 2}`,
    says: /looks like a secret; it is not shown \[yaml-duplicate-key\]/,
  },
  'an unknown key': { profile: 'colour: red', says: /p\.yaml:7:\d+ error a profile has no "colour"/ },
  'plain http to a foreign host': {
    profile: 'base_url: http://example.com',
    says: /base_url must be https/,
  },
  'certificates that are not checked': {
    env: { VENUE_JWT: JWT, NODE_TLS_REJECT_UNAUTHORIZED: '0' },
    says: /NODE_TLS_REJECT_UNAUTHORIZED=0/,
  },
  'a Node that prints secrets': { env: { VENUE_JWT: JWT, NODE_DEBUG: 'http' }, says: /NODE_DEBUG/ },
  'a missing secret': { env: {}, says: /auth\.jwt: the environment variable VENUE_JWT is not set/ },
  'a plan other than the approved one': {
    words: ['--plan', 'deadbeef'],
    says: /the plan is [0-9a-f]{12}, not deadbeef/,
  },
  'a capability that the profile does not grant': {
    runbook: LIMIT.replace('dsl: 1', 'dsl: 1\nneeds: [cancel_all]'),
    says: /one needs cancel_all; the profile grants no capabilities/,
  },
  'a feed that the venue is asked for by market, and no market': {
    profile:
      "requests: {info: {method: GET, path: /i, query: {market_id: text}, tokens: 1, result: {type: list, of: {mid: price}}}}\nfeeds: {mid: {request: info, with: {market_id: '${market}'}, read: 'result[0].mid'}}",
    runbook: LIMIT.replace('dsl: 1', 'dsl: 1\nfeeds: {mid: {type: price, max_age: 1s}}'),
    says: /one reads the feed mid of one market, and nothing says of which/,
  },
  'an unknown input': { words: ['--input', 'x=1'], says: /one has no input "x"; it has none/ },
  'a missing file of inputs': { words: ['--inputs', 'no.yaml'], says: /no\.yaml cannot be read/ },
  'a deadman timeout too short to act by': {
    runbook: LIMIT.replace('dsl: 1', 'dsl: 1\ndeadman: {market: BTC-USD, timeout: 1s, on_exit: disarm}'),
    says: /a deadman timeout of 1 s is too short/,
  },
  'a deadman timeout that an input makes too short': {
    runbook: LIMIT.replace(
      'dsl: 1',
      'dsl: 1\ninputs: {t: {type: duration}}\ndeadman: {market: BTC-USD, timeout: inputs.t, on_exit: disarm}',
    ),
    words: ['--input', 't=4s'],
    says: /a deadman timeout of 4 s is too short/,
  },
  'a deadman switch whose heartbeat needs more tokens than the limit': {
    runbook: LIMIT.replace(
      'dsl: 1',
      'dsl: 1\ndeadman: {market: BTC-USD, timeout: 5s, keep_alive: 100ms, on_exit: disarm}',
    ),
    says: /the token limit cannot carry the deadman switch: .*6050 tokens in 1 min.*1200.*1120/,
  },
  'a step to stop after that is not there': { words: ['--until', 'nope'], says: /--until matches no step: nope/ },
  'a question without a terminal': { words: ['--step'], says: /standard input is not a terminal/ },
  'a recording that could not be written': {
    words: ['--record', 'no/such/folder/rec.yaml'],
    says: /no\/such\/folder\/rec\.yaml cannot be written: there is no such file or directory; nothing was sent/,
  },
  'a recording that would overwrite a runbook': {
    words: ['--record', 'one.yaml'],
    says: /one\.yaml exists and is not a fixture/,
  },
};

describe.concurrent('refused before anything is sent', () => {
  it.each(Object.entries(REFUSED))('%s', (_name, { words = [], env, says, ...given }) =>
    scene(given, async ({ venue, run }) => {
      const { exit, out, err } = await run(['run', 'one.yaml', '--profile', 'p.yaml', '--json', ...words], env);
      expect([exit, venue.heard]).toEqual([2, []]);
      expect(document(out)).toEqual({ error: { kind: expect.any(String), message: expect.any(String) } });
      expect(err).toMatch(says);
      expect(out + err).not.toContain(JWT);
      expect(err).not.toMatch(/\n +at |node:internal/);
    }),
  );

  it('a secret in a file that others can read; accepted when only its owner can read it', () =>
    scene({ profile: 'auth: {mode: jwt, jwt: {file: token}}' }, async ({ path, venue, write, live }) => {
      write('token', `${JWT}\n`);
      chmodSync(join(path, 'token'), 0o644);
      const open = await live([], {});
      expect([open.exit, venue.heard]).toEqual([2, []]);
      const file = join(path, 'token');
      expect(open.err).toContain(
        `auth.jwt: the file ${file} can be read or written by others (mode 644); set it to 600`,
      );
      chmodSync(join(path, 'token'), 0o600);
      expect([(await live([], {})).exit, venue.placed.length]).toEqual([0, 1]);
    }));

  it('a runbook with errors: diagnostics and exit 1', () =>
    scene({ runbook: 'runbook: one\ndsl: 1\nsteps: &a [*a]\n' }, async ({ venue, run }) => {
      const { exit, err } = await run(['run', 'one.yaml', '--profile', 'p.yaml', '--json']);
      expect([exit, venue.heard]).toEqual([1, []]);
      expect(err).toMatch(/one\.yaml:3:8 error the anchor &a \[yaml-anchor\]/);
    }));

  it('the approved plan, whole or begun, is executed, under its bounds', () =>
    scene({}, async ({ venue, run, live }) => {
      const plan = document((await run(['plan', 'one.yaml', '--profile', 'p.yaml', '--json'])).out) as { hash: string };
      expect(venue.heard).toEqual([]);
      expect([(await live(['--plan', plan.hash])).exit, (await live(['--plan', plan.hash.slice(0, 12)])).exit]).toEqual(
        [0, 0],
      );
      const [first] = (await run(['audit', 'export', 'last', '--format', 'jsonl'])).out.trim().split('\n');
      const started = JSON.parse(first ?? '') as { readonly data: { readonly bounds?: unknown } };
      expect(started.data.bounds).toMatchObject({ orders: 1, exposure: { 'BTC-USD': expect.any(String) } });
    }));
});
