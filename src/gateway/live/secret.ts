/**
 * Loads the secrets of a profile and wraps them in values that print as a placeholder, wherever they end up by accident. Does
 * not decide where a secret is sent.
 */
import { inspect } from 'node:util';
import { isSigningKey } from '../../journal/anchors/anchors.ts';
import type { Profile, SecretReference } from '../../venue/profile/profile.ts';
import { parseSecret } from '../../venue/wire/signing.ts';
import { readSecretFile } from './secret-file.ts';

/** A secret text. Only `reveal` returns it; printing, serialising or inspecting shows its name in brackets. */
export class Secret {
  /** Name of its setting in the profile, as `auth.jwt`. */
  readonly name: string;
  readonly #text: string;
  constructor(name: string, text: string) {
    this.name = name;
    this.#text = text;
  }
  reveal(): string {
    return this.#text;
  }
  toString(): string {
    return `[redacted:${this.name}]`;
  }
  toJSON(): string {
    return this.toString();
  }
  [inspect.custom](): string {
    return this.toString();
  }
}

/** The secrets that a profile refers to, by the setting's name. */
export interface ProfileSecrets {
  readonly jwt?: Secret;
  readonly refreshToken?: Secret;
  readonly apiKey?: Secret;
  /** Hex, with or without `0x`. */
  readonly apiSecret?: Secret;
  readonly postgres?: Secret;
  /** PEM of an Ed25519 private key. */
  readonly anchorKey?: Secret;
  /** A URL. */
  readonly heartbeat?: Secret;
  /** By name of the copy. */
  readonly anchorAddresses: Readonly<Record<string, Secret>>;
  /** By name of the target. */
  readonly webhooks: Readonly<Record<string, Secret>>;
}

/** The parts of a profile that refer to secrets. */
type SecretSettings = Pick<Profile, 'auth' | 'store' | 'notify' | 'anchors' | 'heartbeat'>;
export type Variables = Readonly<Record<string, string | undefined>>;

type SecretsReading = {
  readonly secrets: ProfileSecrets;
  readonly all: readonly Secret[];
  /** One sentence each, with the setting and what is wrong, without any value. */
  readonly problems: readonly string[];
};

/**
 * Loads every secret of a profile; `variables` is the environment. A missing JWT is not a problem when there is a refresh
 * token, which obtains one.
 */
export function loadSecrets(profile: SecretSettings, variables: Variables): SecretsReading {
  const problems: string[] = [];
  const all: Secret[] = [];
  const load = (
    name: string,
    reference: SecretReference | undefined,
    form: Form,
    optional = false,
  ): Secret | undefined => {
    if (reference === undefined) return undefined;
    const read = readSecret(name, reference, variables, form);
    if ('secret' in read) {
      all.push(read.secret);
      return read.secret;
    }
    if (!(optional && read.absent)) problems.push(read.problem);
    return undefined;
  };
  const { auth, store, notify, anchors } = profile;
  const jwt = auth.mode === 'jwt' ? load('auth.jwt', auth.jwt, 'header', auth.refreshToken !== undefined) : undefined;
  const refreshToken = auth.mode === 'jwt' ? load('auth.refresh_token', auth.refreshToken, 'header') : undefined;
  const apiKey = auth.mode === 'api_key' ? load('auth.api_key', auth.apiKey, 'header') : undefined;
  const apiSecret = auth.mode === 'api_key' ? load('auth.secret', auth.secret, 'hex') : undefined;
  const postgres =
    store !== undefined && 'postgres' in store ? load('store.postgres', store.postgres, 'database') : undefined;
  const anchorKey = load('anchors.key', anchors.key, 'key');
  const heartbeat = load('heartbeat.url', profile.heartbeat?.url, 'address');
  const addresses = (within: string, targets: Profile['notify'] | Profile['anchors']['copies']) =>
    Object.fromEntries(
      Object.entries(targets).flatMap(([name, target]): [string, Secret][] => {
        const [kind = '', reference] = findAddress(target) ?? [];
        const secret = load(`${within}.${name}.${kind}`, reference, 'address');
        return secret === undefined ? [] : [[name, secret]];
      }),
    );
  const given = { jwt, refreshToken, apiKey, apiSecret, postgres, anchorKey, heartbeat };
  const present = Object.fromEntries(Object.entries(given).filter(([, secret]) => secret !== undefined));
  const webhooks = addresses('notify', notify);
  const anchorAddresses = addresses('anchors.copies', anchors.copies);
  return { secrets: { ...present, webhooks, anchorAddresses }, all, problems };
}

/** The setting of a target that holds its address, with its name. */
function findAddress(
  target: Profile['notify'][string] | Profile['anchors']['copies'][string],
): readonly [setting: string, reference: SecretReference] | undefined {
  if ('webhook' in target) return ['webhook', target.webhook];
  return 'bucket' in target ? ['bucket', target.bucket] : undefined;
}

/** Lists the environment variables that hold a profile's secrets, which are removed from the environment once loaded. */
export function listSecretVariables(profile: SecretSettings): readonly string[] {
  const references: (SecretReference | undefined)[] = [
    ...(profile.auth.mode === 'jwt' ? [profile.auth.jwt, profile.auth.refreshToken] : []),
    ...(profile.auth.mode === 'api_key' ? [profile.auth.apiKey, profile.auth.secret] : []),
    ...(profile.store !== undefined && 'postgres' in profile.store ? [profile.store.postgres] : []),
    profile.anchors.key,
    profile.heartbeat?.url,
    ...[...Object.values(profile.notify), ...Object.values(profile.anchors.copies)].map(
      (target) => findAddress(target)?.[1],
    ),
  ];
  return references.flatMap((reference) => (reference !== undefined && 'env' in reference ? [reference.env] : []));
}

/** Loads only the URL of a profile's PostgreSQL store, for commands that need nothing else of the profile. */
export function loadStoreUrl(
  reference: SecretReference,
  variables: Variables,
): { readonly secret: Secret } | { readonly problem: string } {
  return readSecret('store.postgres', reference, variables, 'database');
}

/** `header`: sent in a header unchanged; `hex`: the bytes of a key; `key`: a private key that signs anchors; `address`: a URL. `database`: one of PostgreSQL, or a socket. */
type Form = 'header' | 'hex' | 'database' | 'key' | 'address';

/** Shorter texts are not real secrets, and filtering them would damage harmless texts. */
const SHORTEST = 6;

function readSecret(
  name: string,
  reference: SecretReference,
  variables: Variables,
  form: Form,
): { readonly secret: Secret } | { readonly problem: string; readonly absent: boolean } {
  const where = 'env' in reference ? `the environment variable ${reference.env}` : `the file ${reference.file}`;
  const refuse = (why: string, absent = false) => ({ problem: `${name}: ${where} ${why}`, absent });
  let text: string;
  if ('env' in reference) {
    const value = Object.hasOwn(variables, reference.env) ? variables[reference.env] : undefined;
    if (value === undefined || value.trim() === '') return refuse('is not set', true);
    text = value.trim();
  } else {
    const file = readSecretFile(reference.file);
    if ('problem' in file) return refuse(file.problem, file.absent);
    text = file.text;
  }
  if (text.length < SHORTEST) return refuse(`holds fewer than ${SHORTEST} characters`);
  if (form === 'header' && !/^[\x21-\x7e]{1,8192}$/.test(text))
    return refuse(
      'holds characters that cannot be sent in a header: blanks, line breaks or others that are not printable',
    );
  if (form === 'hex' && parseSecret(text) === undefined) return refuse('does not hold hex digits, with or without 0x');
  if (form === 'address' && !(URL.canParse(text) && /^https?:/i.test(text)))
    return refuse('does not hold an http or https URL');
  if (form === 'database' && !/^(?:postgres(?:ql)?:\/\/|socket:|\/)/i.test(text))
    return refuse('does not hold the URL of a PostgreSQL database, such as postgres://user@host/name');
  if (form === 'key') {
    // In a file of variables, a variable has one line.
    text = text.replaceAll('\\n', '\n');
    if (!isSigningKey(text))
      return refuse('does not hold an Ed25519 private key in PEM form (openssl genpkey -algorithm ed25519)');
  }
  return { secret: new Secret(name, text) };
}
