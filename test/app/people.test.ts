import { execFileSync } from 'node:child_process';
import { generateKeyPairSync } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { describeActor, makeAct } from '../../src/app/account/acts.ts';
import { refuseApproval, signWith } from '../../src/app/account/people.ts';
import { environment } from '../../src/app/environment.ts';
import type { NewAct } from '../../src/journal/account/acts.ts';
import { isSameKey, isSigned, readPublicKey, signAct } from '../../src/journal/account/signature.ts';
import { restoreProfile, writeProfileSettings } from '../../src/venue/profile/in-force.ts';
import { type Profile, readProfile } from '../../src/venue/profile/profile.ts';

const folder = mkdtempSync(join(tmpdir(), 'people-'));
afterAll(() => rmSync(folder, { recursive: true }));

function makeKey(name: string) {
  const { publicKey, privateKey } = generateKeyPairSync('ed25519');
  const der = publicKey.export({ format: 'der', type: 'spki' });
  const length = (bytes: Buffer) => Buffer.concat([Buffer.from([0, 0, 0, bytes.length]), bytes]);
  const ssh = Buffer.concat([length(Buffer.from('ssh-ed25519')), length(der.subarray(12))]).toString('base64');
  const pem = privateKey.export({ format: 'pem', type: 'pkcs8' }).toString();
  const file = join(folder, `${name}.pem`);
  writeFileSync(file, pem);
  return { der: der.toString('base64'), ssh: `ssh-ed25519 ${ssh} ${name}@desk`, pem, file };
}
const ADA = makeKey('ada');
const EVE = makeKey('eve');
const KEY = 'https://venue.example main';
const approval = makeAct('command.given', describeActor('ada'), 1, { run: 'r1', command: 'approve', step: 'ask' });

const signed = (file: string | undefined, people: Profile['people']) =>
  signWith(KEY, approval, { file, people, environment });

/** What `ssh-keygen -Y sign` of OpenSSH 9.2 gave for `LOST` and this key, for this program and for git. */
const OPENSSH = {
  key: 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIKuu09GDuhM6vXvfw5vkD6JqMgno25kGBgkmfL7ht6r/ ada@desk',
  signature:
    'U1NIU0lHAAAAAQAAADMAAAALc3NoLWVkMjU1MTkAAAAgq67T0YO6Ezq9e9/Dm+QPomoyCejbmQYGCSZ8vuG3qv8AAAAMcGVycC1ydW5ib29rAAAAAAAAAAZzaGE1MTIAAABTAAAAC3NzaC1lZDI1NTE5AAAAQBreohW0OubNH1k7itJyn1pK985uN3hAGuOIaMJb+dCnkWnHR7CqPF4JZdKVOUEsNn7dh5Hni3A7OKtJoYk1qgg=',
  forGit:
    'U1NIU0lHAAAAAQAAADMAAAALc3NoLWVkMjU1MTkAAAAgq67T0YO6Ezq9e9/Dm+QPomoyCejbmQYGCSZ8vuG3qv8AAAADZ2l0AAAAAAAAAAZzaGE1MTIAAABTAAAAC3NzaC1lZDI1NTE5AAAAQGbDBSACT9O5v1pxOlWE/0yNvEnHU0APHCIoeYfGJAVoHxq55/YYeYK2pRXVp7icb0zMvZmSqPfgj1mDk1tutQ0=',
};
const LOST: NewAct = { type: 'schedule.lost', by: 'scheduler', at: 1, data: { run: 'r' } };
const armor = (body: string) =>
  `-----BEGIN SSH SIGNATURE-----\n${body.replace(/.{70}/g, '$&\n')}\n-----END SSH SIGNATURE-----\n`;

describe('an act signed by ssh-keygen', () => {
  it('is verified without it, and fits no other act, key or use', () => {
    const act = signAct(KEY, LOST, () => armor(OPENSSH.signature));
    const other = { ...act, at: 2 };
    expect([isSigned(KEY, act, OPENSSH.key), isSigned(KEY, act)]).toEqual([true, true]);
    expect([isSigned(KEY, act, ADA.ssh), isSigned(KEY, other), isSigned('elsewhere', act)]).toEqual([
      false,
      false,
      false,
    ]);
    for (const text of [armor(OPENSSH.forGit), armor(OPENSSH.signature.slice(0, -8)), 'none'])
      expect(() => signAct(KEY, LOST, () => text)).toThrow();
    const flipped = { ...act, data: { ...act.data, signature: { ...act.data.signature, value: OPENSSH.forGit } } };
    expect(isSigned(KEY, flipped as NewAct, OPENSSH.key)).toBe(false);
  });

  it('takes the key from a file of OpenSSH, and says where ssh-keygen refuses it', { tags: ['ssh-keygen'] }, () => {
    const file = join(folder, 'id_ed25519');
    execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', file]);
    const key = readFileSync(`${file}.pub`, 'utf8').trim();
    expect(isSigned(KEY, signed(file, { ada: { key, roles: [] } }), key)).toBe(true);
    expect(() => signed(file, { ada: { key: ADA.ssh, roles: [] } })).toThrow('is not the key');
    rmSync(file);
    expect(() => signed(`${file}.pub`, {})).toThrow('ssh-keygen cannot sign');
  });
});

describe('a signed act', () => {
  it('is verified with the key of the person, in either form, and with no other', () => {
    const act = signAct(KEY, approval, ADA.pem);
    expect(act.data.who).toMatchObject({ name: 'ada', how: 'signed' });
    expect([ADA.ssh, ADA.der, undefined].map((key) => isSigned(KEY, act, key))).toEqual([true, true, true]);
    expect([EVE.ssh, 'ssh-rsa AAAA', ''].map((key) => isSigned(KEY, act, key))).toEqual([false, false, false]);
    expect([isSameKey(ADA.ssh, ADA.der), isSameKey(ADA.ssh, EVE.ssh)]).toEqual([true, false]);
    expect(isSigned(KEY, approval)).toBe(false);
  });

  it.each<[string, { by?: string; at?: number; data?: object }]>([
    ['another name', { by: 'eve' }],
    ['another time', { at: 2 }],
    ['another step', { data: { run: 'r1', command: 'approve', step: 'other' } }],
  ])('does not fit %s', (_what, change) => {
    const act = signAct(KEY, approval, ADA.pem);
    const changed = { ...act, ...change, data: { ...act.data, ...change.data } } as typeof act;
    expect([isSigned(KEY, changed, ADA.ssh), isSigned(`${KEY}2`, act, ADA.ssh)]).toEqual([false, false]);
  });

  it('needs the private key that the profile has the public one of', () => {
    const people = { ada: { key: ADA.ssh, roles: [] } };
    expect(signed(ADA.file, people).data.signature).toBeDefined();
    expect(signed(undefined, people)).toBe(approval);
    expect(() => signed(EVE.file, people)).toThrow(expect.objectContaining({ exit: 2 }));
    writeFileSync(join(folder, 'none.pem'), 'no key');
    expect(() => signed(join(folder, 'none.pem'), people)).toThrow(expect.objectContaining({ exit: 2 }));
  });
});

describe('an approval', () => {
  const people = {
    ada: { key: ADA.ssh, roles: ['trader'] },
    bob: { roles: ['risk'] },
  };
  const given = { asked: ['risk', 'carl'], startedBy: 'ada', account: KEY, act: undefined };
  const refuse = (by: string, rest: object = {}, fourEyes = false) =>
    refuseApproval({ people, fourEyes }, { ...given, by, ...rest });

  it('counts from who has a role that is asked, or is asked by name, signed where the profile has a key', () => {
    expect(refuse('bob')).toBeUndefined();
    expect(refuse('bob', { asked: ['bob'] })).toBeUndefined();
    expect(refuse('ada')).toBeDefined();
    expect(refuse('carl')).toBeDefined();
    expect(refuse('constructor')).toBeDefined();
    expect(refuse('ada', { asked: ['trader'], act: approval })).toBeDefined();
    expect(refuse('ada', { asked: ['trader'], act: signAct(KEY, approval, EVE.pem) })).toBeDefined();
    expect(refuse('ada', { asked: ['trader'], act: signAct(KEY, approval, ADA.pem) })).toBeUndefined();
  });

  it('by who started the run is refused under four_eyes alone', () => {
    expect(refuse('bob', { startedBy: 'bob' })).toBeUndefined();
    expect(refuse('bob', { startedBy: 'bob' }, true)).toBeDefined();
    expect(refuseApproval({ people: {}, fourEyes: true }, { ...given, by: 'eve' })).toBeUndefined();
    expect(refuseApproval({ people: {}, fourEyes: true }, { ...given, by: 'ada' })).toBeDefined();
  });
});

it('a profile takes public keys, keeps people in the first entry of a run, and refuses what is no public key', () => {
  const read = (people: object) =>
    readProfile(
      {
        profile: 'p',
        base_url: 'http://127.0.0.1:1',
        account: 'main',
        auth: { mode: 'none' },
        people,
        four_eyes: true,
      },
      { file: 'p.yaml', text: '' },
      () => ({ start: 0, end: 0 }),
    );
  const { profile, diagnostics } = read({ ada: { key: ADA.ssh, roles: ['trader'] }, bob: { key: ADA.der } });
  expect(diagnostics).toEqual([]);
  expect(profile).toMatchObject({ fourEyes: true, people: { ada: { roles: ['trader'] }, bob: { roles: [] } } });
  expect(profile && restoreProfile({ ...writeProfileSettings(profile) })).toMatchObject({ people: profile?.people });
  expect(readPublicKey(profile?.people['ada']?.key ?? '')).toBeDefined();
  for (const key of [ADA.pem, 'ssh-rsa AAAAB3NzaC1yc2E', ADA.ssh.slice(0, -20), 'eyJhbGciOiJI.eyJzdWIiOiIx.c2lnbmF0'])
    expect(read({ ada: { key } }).diagnostics.length).toBeGreaterThan(0);
});
