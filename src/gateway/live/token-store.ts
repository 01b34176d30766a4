/**
 * Where a rotated refresh token is kept. The venue spends the old one when it gives a new one: whoever loses the new one has
 * lost the session, so it is on the disk before it is used (assumption `jwtResult`).
 */
import { createHash } from 'node:crypto';
import type { Profile } from '../../venue/profile/profile.ts';
import { readJson } from '../../venue/wire/request.ts';
import { Secret } from './secret.ts';
import { readSecretFile, replaceSecretFile } from './secret-file.ts';

export interface TokenStore {
  /** The token kept last; undefined where none was, or where it can not be read. */
  load(): Secret | undefined;
  /** Resolves when the token is durable. Rejects with a sentence. */
  save(token: Secret): Promise<void>;
}

const NAME = 'auth.refresh_token';

/**
 * The store that suits the profile: the token's own file where it came from one, else `stateFile`, because an environment
 * can not be written to. Undefined where no refresh token is used.
 */
export function tokenStoreFor(
  profile: Pick<Profile, 'auth'>,
  given: Secret | undefined,
  stateFile: string,
): TokenStore | undefined {
  if (profile.auth.mode !== 'jwt' || profile.auth.refreshToken === undefined || given === undefined) return undefined;
  const reference = profile.auth.refreshToken;
  return 'file' in reference ? ownFile(reference.file) : besideEnvironment(stateFile, given);
}

function ownFile(path: string): TokenStore {
  return {
    load() {
      const read = readSecretFile(path);
      return 'text' in read && read.text !== '' ? new Secret(NAME, read.text) : undefined;
    },
    save: (token) => replaceSecretFile(path, token.reveal()),
  };
}

/** Keeps what the token of the environment has become. Once the operator sets another one there, what was kept is void. */
function besideEnvironment(path: string, given: Secret): TokenStore {
  const origin = createHash('sha256').update(given.reveal()).digest('hex');
  return {
    load() {
      const read = readSecretFile(path);
      const { value } = 'text' in read ? (readJson(read.text) as { value?: unknown }) : {};
      if (value === null || typeof value !== 'object') return undefined;
      const kept = value as Readonly<Record<string, unknown>>;
      return kept['origin'] === origin && typeof kept['refresh_token'] === 'string'
        ? new Secret(NAME, kept['refresh_token'])
        : undefined;
    },
    save: (token) => replaceSecretFile(path, JSON.stringify({ origin, refresh_token: token.reveal() })),
  };
}
