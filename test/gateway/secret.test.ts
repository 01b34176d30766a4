import { generateKeyPairSync } from 'node:crypto';
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inspect } from 'node:util';
import fc from 'fast-check';
import { afterAll, describe, expect, it } from 'vitest';
import { Redactor, redactAnswers } from '../../src/gateway/live/redactor.ts';
import { listSecretVariables, loadSecrets, loadStoreUrl, Secret } from '../../src/gateway/live/secret.ts';
import { readSecretFile, replaceSecretFile } from '../../src/gateway/live/secret-file.ts';
import { chooseTokenStore } from '../../src/gateway/live/token-store.ts';
import { type Profile, SIMULATED_PROFILE } from '../../src/venue/profile/profile.ts';
import { toWireRequest } from '../../src/venue/wire/request.ts';

const folder = mkdtempSync(join(tmpdir(), 'runbook-secret-'));
afterAll(() => rmSync(folder, { recursive: true }));
const TOKEN = 'canary-0123456789/abcdef+XYZ';

function file(name: string, text = TOKEN, mode = 0o600): string {
  const path = join(folder, name);
  writeFileSync(path, text);
  chmodSync(path, mode);
  return path;
}

function jwtProfile(auth: Partial<Extract<Profile['auth'], { mode: 'jwt' }>>): Profile {
  const carrier = { in: 'header', header: 'Authorization', prefix: 'Bearer ' } as const;
  return {
    ...SIMULATED_PROFILE,
    auth: { mode: 'jwt', isClient: true, carrier, jwtLifeMs: 1000, sendJwtOnRefresh: true, ...auth },
  };
}

describe('Secret', () => {
  it('shows its text only through `reveal`', () => {
    const secret = new Secret('auth.jwt', TOKEN);
    const error = new Error('wrapped', { cause: { secret } });
    const shown = [
      String(secret),
      `${secret}`,
      JSON.stringify({ secret }),
      inspect({ secret }, { depth: 9, showHidden: true }),
      inspect(error),
      JSON.stringify(Object.entries(secret)),
    ];
    for (const text of shown) expect(text).not.toContain('canary');
    expect(shown[0]).toBe('[redacted:auth.jwt]');
    expect(secret.reveal()).toBe(TOKEN);
  });
});

describe('loadSecrets', () => {
  it('reads the environment and files, and says which variables to remove', () => {
    const profile = {
      ...jwtProfile({ jwt: { env: 'VENUE_JWT' }, refreshToken: { file: file('refresh', `${TOKEN}\n`) } }),
      notify: { ops: { webhook: { env: 'HOOK' } }, desk: { log: true } },
      heartbeat: { url: { env: 'HEARTBEAT' }, everyMs: 60_000 },
    } as const;
    const { secrets, all, problems } = loadSecrets(profile, {
      VENUE_JWT: ' a.b.cdef \n',
      HEARTBEAT: 'https://outside.example/8f3c',
      HOOK: 'https://hooks.example/T0/B1',
      OTHER: 'x',
    });
    expect(problems).toEqual([]);
    expect([secrets.jwt?.reveal(), secrets.refreshToken?.reveal(), secrets.webhooks['ops']?.reveal()]).toEqual([
      'a.b.cdef',
      TOKEN,
      'https://hooks.example/T0/B1',
    ]);
    expect(secrets.heartbeat?.reveal()).toBe('https://outside.example/8f3c');
    expect(all.map((each) => each.name)).toEqual([
      'auth.jwt',
      'auth.refresh_token',
      'heartbeat.url',
      'notify.ops.webhook',
    ]);
    expect(listSecretVariables(profile)).toEqual(['VENUE_JWT', 'HEARTBEAT', 'HOOK']);
  });

  it('reads the key of anchors, also from a one-line variable, and refuses any other key', () => {
    const anchors = (text: string) =>
      loadSecrets(
        { ...jwtProfile({ jwt: { env: 'A' } }), anchors: { key: { env: 'K' }, copies: {}, patienceMs: 1 } },
        { A: TOKEN, K: text },
      );
    const pem = generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' }).toString().trim();
    expect(anchors(pem).secrets.anchorKey?.reveal()).toBe(pem);
    expect(anchors(pem.replaceAll('\n', '\\n')).secrets.anchorKey?.reveal()).toBe(pem);
    const other = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({
      type: 'pkcs8',
      format: 'pem',
    });
    for (const text of [other.toString(), 'no key at all']) {
      const { problems } = anchors(text);
      expect(problems).toEqual([
        'anchors.key: the environment variable K does not hold an Ed25519 private key in PEM form (openssl genpkey -algorithm ed25519)',
      ]);
    }
  });

  it('needs no JWT when there is a refresh token, but one of the two', () => {
    const both = jwtProfile({ jwt: { env: 'A' }, refreshToken: { env: 'B' } });
    expect(loadSecrets(both, { B: TOKEN }).problems).toEqual([]);
    expect(loadSecrets(both, {}).problems).toEqual(['auth.refresh_token: the environment variable B is not set']);
    expect(loadSecrets(jwtProfile({ jwt: { env: 'A' } }), { A: '  ' }).problems).toEqual([
      'auth.jwt: the environment variable A is not set',
    ]);
  });

  it.each([
    [
      'a line break',
      'abc\ndefgh',
      'holds characters that cannot be sent in a header: blanks, line breaks or others that are not printable',
    ],
    ['too little', 'abc', 'holds fewer than 6 characters'],
  ])('refuses a JWT of %s without repeating it', (_, text, why) => {
    expect(loadSecrets(jwtProfile({ jwt: { env: 'A' } }), { A: text }).problems).toEqual([
      `auth.jwt: the environment variable A ${why}`,
    ]);
  });

  it('refuses an API secret that is not hex', () => {
    const auth = {
      mode: 'api_key',
      apiKey: { env: 'K' },
      secret: { env: 'S' },
      signatureLifeMs: 1,
      headers: { key: 'k', expiry: 't', signature: 's', chain: 'e' },
    } as const;
    const { secrets, problems } = loadSecrets({ ...SIMULATED_PROFILE, auth }, { K: 'key-123', S: 'not-hex-at-all' });
    expect(problems).toEqual(['auth.secret: the environment variable S does not hold hex digits, with or without 0x']);
    expect(secrets.apiKey?.reveal()).toBe('key-123');
  });

  it('refuses a heartbeat that is no address', () => {
    const profile = { ...jwtProfile({ jwt: { env: 'A' } }), heartbeat: { url: { env: 'B' }, everyMs: 60_000 } };
    expect(loadSecrets(profile, { A: TOKEN, B: 'outside.example/8f3c' }).problems).toEqual([
      'heartbeat.url: the environment variable B does not hold an http or https URL',
    ]);
  });

  it.each(['hooks.example/T0/B1', 'ftp://hooks.example/T0'])('refuses %s as the address of a webhook', (text) => {
    const profile = { ...jwtProfile({ jwt: { env: 'A' } }), notify: { ops: { webhook: { env: 'H' } } } };
    expect(loadSecrets(profile, { A: TOKEN, H: text }).problems).toEqual([
      'notify.ops.webhook: the environment variable H does not hold an http or https URL',
    ]);
  });

  it('does not treat inherited properties as variables', () => {
    expect(loadSecrets(jwtProfile({ jwt: { env: 'constructor' } }), {}).problems).toEqual([
      'auth.jwt: the environment variable constructor is not set',
    ]);
  });
});

describe('readSecretFile', () => {
  const problem = (path: string) => {
    const read = readSecretFile(path);
    return 'problem' in read ? read.problem : 'read';
  };

  it('reads a file that only its owner can read', () => {
    expect(readSecretFile(file('good', ` ${TOKEN} \n`))).toEqual({ text: TOKEN });
    expect(readSecretFile(file('readonly', TOKEN, 0o400))).toEqual({ text: TOKEN });
  });

  it.each([[0o640], [0o604], [0o660], [0o644], [0o602]])('refuses a file of mode %o', (mode) => {
    expect(problem(file(`mode-${mode}`, TOKEN, mode))).toBe(
      `can be read or written by others (mode ${mode.toString(8)}); set it to 600`,
    );
  });

  it('refuses a link, a folder, a missing file, and a file that is too large', () => {
    symlinkSync(file('target'), join(folder, 'link'));
    expect(problem(join(folder, 'link'))).toBe('is a link; name the file itself');
    expect(problem(folder)).toBe('is not a regular file');
    expect(problem(join(folder, 'missing'))).toBe('does not exist');
    expect(problem(file('large', 'x'.repeat(70_000)))).toBe('has more than 65536 bytes');
  });

  it('refuses a file in a folder that others can write to', () => {
    const open = join(folder, 'open');
    mkdirSync(open);
    writeFileSync(join(open, 'token'), TOKEN, { mode: 0o600 });
    chmodSync(open, 0o777);
    expect(problem(join(open, 'token'))).toBe('is in a folder that others can write to (mode 777)');
  });
});

describe('replaceSecretFile', () => {
  it('leaves one complete file, for its owner only', async () => {
    const inside = join(folder, 'replaced');
    mkdirSync(inside);
    const path = join(inside, 'token');
    await replaceSecretFile(path, 'first-token');
    await replaceSecretFile(path, 'second-token');
    expect([readFileSync(path, 'utf8'), statSync(path).mode & 0o777, readdirSync(inside)]).toEqual([
      'second-token\n',
      0o600,
      ['token'],
    ]);
  });

  it('reports a failure without the secret', async () => {
    const path = join(folder, 'nowhere', 'token');
    await expect(replaceSecretFile(path, TOKEN)).rejects.toThrow(`the file ${path} cannot be written (ENOENT)`);
  });
});

describe('tokenStoreFor', () => {
  const kept = join(folder, 'kept.json');
  const original = new Secret('auth.refresh_token', 'original-token');

  it('keeps a token from the environment beside it, until the operator sets another one', async () => {
    const profile = jwtProfile({ refreshToken: { env: 'R' } });
    const store = chooseTokenStore(profile, original, kept);
    expect(store?.load()).toBeUndefined();
    await store?.save(new Secret('auth.refresh_token', 'rotated-token'));
    expect(chooseTokenStore(profile, original, kept)?.load()?.reveal()).toBe('rotated-token');
    expect(chooseTokenStore(profile, new Secret('auth.refresh_token', 'another-token'), kept)?.load()).toBeUndefined();
    expect(readFileSync(kept, 'utf8')).not.toContain('original-token');
  });

  it('keeps a token from a file in that file', async () => {
    const path = file('own', 'original-token');
    const store = chooseTokenStore(jwtProfile({ refreshToken: { file: path } }), original, kept);
    await store?.save(new Secret('auth.refresh_token', 'rotated-again'));
    expect([store?.load()?.reveal(), readFileSync(path, 'utf8')]).toEqual(['rotated-again', 'rotated-again\n']);
  });

  it('reads nothing from a file that is not its own', () => {
    writeFileSync(kept, '{"origin": 1', { mode: 0o600 });
    expect(chooseTokenStore(jwtProfile({ refreshToken: { env: 'R' } }), original, kept)?.load()).toBeUndefined();
    expect(chooseTokenStore(SIMULATED_PROFILE, original, kept)).toBeUndefined();
  });
});

describe('Redactor', () => {
  const redactor = new Redactor([new Secret('a', TOKEN)]);
  it.each([
    ['as it is', TOKEN],
    ['in a URL', encodeURIComponent(TOKEN)],
    ['in a URL, small letters', encodeURIComponent(TOKEN).toLowerCase().replace('xyz', 'XYZ')],
    ['in hex', Buffer.from(TOKEN).toString('hex')],
    ['in base 64', Buffer.from(TOKEN).toString('base64')],
    ['in base 64 for URLs', Buffer.from(TOKEN).toString('base64url')],
    ['in base 64 behind one byte', Buffer.from(`a${TOKEN}`).toString('base64')],
    ['in base 64 behind a user name', Buffer.from(`user:${TOKEN}`).toString('base64')],
    ['cut short', TOKEN.slice(5, 20)],
  ])('takes out a secret %s', (_, text) => {
    const redacted = redactor.redact(`before ${text} after`);
    expect(redacted).toContain('[redacted]');
    expect(redacted).toMatch(/^before .* after$/);
    for (let at = 0; at + 12 <= text.length; at += 1) expect(redacted).not.toContain(text.slice(at, at + 12));
  });

  it('removes a secret that JSON escapes', () => {
    const odd = 'quote"and\\back\nslash-and-more';
    const line = JSON.stringify({ error: `bad token ${odd}!` });
    const redacted = new Redactor([new Secret('a', odd)]).redact(line);
    expect(JSON.parse(redacted)).toEqual({ error: 'bad token [redacted]!' });
  });

  it('removes every occurrence, and secrets added later', () => {
    const later = new Redactor();
    later.add(new Secret('a', TOKEN));
    later.add(new Secret('b', 'short-1'));
    expect(later.redact(`${TOKEN}${TOKEN} x ${TOKEN}, short-1.`)).toBe('[redacted] x [redacted], [redacted].');
  });

  it('forgets the oldest of many obtained under one name, which have expired: a run of months obtains thousands', () => {
    const long = new Redactor([new Secret('auth.jwt', 'given-at-the-start')]);
    const name = (at: number) => `jwt-number-${String(at).padStart(4, '0')}`;
    long.add(new Secret('auth.refresh_token', TOKEN));
    for (let at = 0; at < 40; at += 1) long.add(new Secret('auth.jwt', name(at)));
    const hides = (text: string) => long.redact(text) === '[redacted]';
    const hidden = Array.from({ length: 40 }, (_, at) => name(at)).filter(hides);
    expect(hidden).toEqual(Array.from({ length: 16 }, (_, at) => name(at + 24)));
    expect([hides('given-at-the-start'), hides(TOKEN)]).toEqual([true, true]);
  });

  it('leaves other texts as they are', () => {
    fc.assert(
      fc.property(fc.string({ maxLength: 60 }), (text) => {
        fc.pre(!TOKEN.includes(text.slice(0, 12)) || text.length < 12);
        expect(redactor.redact(text)).toBe(text);
      }),
    );
  });

  it('takes a secret that an answer echoes out of its body and its headers', async () => {
    const echo = { kind: 'answer', status: 200, headers: { 'x-ratelimit-key': `t:${TOKEN}` }, body: TOKEN } as const;
    const transport = redactAnswers({ send: async () => echo }, redactor);
    const list = toWireRequest('GET /account', {}, SIMULATED_PROFILE);
    expect(await transport.send(list, { timeoutMs: 1 })).toEqual({
      ...echo,
      headers: { 'x-ratelimit-key': 't:[redacted]' },
      body: '[redacted]',
    });
  });

  it('hides the secret parts of a URL, not scheme, host, user and database', () => {
    const url = new Redactor([
      new Secret('store.postgres', 'postgres://runbook:p4ssw0rd-p4ssw0rd@db.example:5432/runbook'),
      new Secret('notify.ops', 'https://hooks.example/services/T0/B0/abc'),
    ]);
    expect(url.redact('/srv/runbook: connect to db.example:5432 as runbook failed for p4ssw0rd-p4ssw0rd')).toBe(
      '/srv/runbook: connect to db.example:5432 as runbook failed for [redacted]',
    );
    expect(url.redact('POST https://hooks.example/services/T0/B0/abc')).toBe('POST https://hooks.example[redacted]');
  });

  it('hides a password with a percent sign that encodes nothing', () => {
    const url = new Redactor([new Secret('store.postgres', 'postgres://runbook:p4ss%word-p4ss@db.example/runbook')]);
    expect(url.redact('refused p4ss%word-p4ss')).toBe('refused [redacted]');
  });
});

describe('the URL of a store', () => {
  const load = (url: string) => loadStoreUrl({ env: 'DESK_DB' }, { DESK_DB: url });

  it.each(['postgres://ada:pw@127.0.0.1/desk', 'postgresql:///desk?host=/run', 'socket:/run?db=desk', '/run/pg desk'])(
    'is one of PostgreSQL: %s',
    (url) => expect('secret' in load(url)).toBe(true),
  );

  it.each(['notaurl', 'db.example/desk', 'mysql://ada@db.example/desk', 'https://db.example'])(
    'is refused, and not shown, before a server is looked for: %s',
    (url) => expect(load(url)).toEqual({ problem: expect.not.stringContaining(url), absent: false }),
  );
});
