/**
 * Stores a rotated refresh token. The venue invalidates the old token when it gives a new one, so losing the new one would end
 * the session: it is on the disk before it is used (assumption `jwtResult`).
 */
import { createHash } from 'node:crypto';
import type { Profile } from '../../venue/profile/profile.ts';
import { readJson } from '../../venue/wire/request.ts';
import { Secret } from './secret.ts';
import { readSecretFile, replaceSecretFile } from './secret-file.ts';

export interface TokenStore {
  /** Loads the token stored last; undefined when there is none, or when it cannot be read. */
  load(): Secret | undefined;
  /** Resolves when the token is durable. Rejects with an Error whose message says why. */
  save(token: Secret): Promise<void>;
}

const NAME = 'auth.refresh_token';

/**
 * Chooses the store for the profile: the token's own file when it came from one, otherwise `stateFile`, because an environment
 * variable cannot be written. Undefined when no refresh token is used.
 */
export function chooseTokenStore(
  profile: Pick<Profile, 'auth'>,
  given: Secret | undefined,
  stateFile: string,
): TokenStore | undefined {
  if (profile.auth.mode !== 'jwt' || profile.auth.refreshToken === undefined || given === undefined) return undefined;
  const reference = profile.auth.refreshToken;
  return 'file' in reference ? openOwnFile(reference.file) : openStateFile(stateFile, given);
}

function openOwnFile(path: string): TokenStore {
  return {
    load() {
      const read = readSecretFile(path);
      return 'text' in read && read.text !== '' ? new Secret(NAME, read.text) : undefined;
    },
    save: (token) => replaceSecretFile(path, token.reveal()),
  };
}

/** Stores the successor of the token in the environment variable. It is void once the operator sets another token there. */
function openStateFile(path: string, given: Secret): TokenStore {
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
