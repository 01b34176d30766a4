/** Reads the two times in a JWT, `iat` and `exp`. It verifies nothing and looks at no other claim. */
import { isLosslessNumber } from 'lossless-json';
import { readJson } from './request.ts';

interface JwtTimes {
  /** Epoch ms; absent where the claim is missing or makes no sense. */
  readonly issuedAt?: number;
  readonly expiresAt?: number;
}

const CLAIM_LIMITS = { maxLength: 16_384, maxDepth: 8, maxValues: 500 } as const;

/** Reads `iat` and `exp`. Never throws: a text that is not a JWT has no times. */
export function readJwtTimes(token: string): JwtTimes {
  const [, payload] = token.split('.');
  const { value } = readJson(Buffer.from(payload ?? '', 'base64url').toString('utf8'), CLAIM_LIMITS) as {
    value?: unknown;
  };
  if (value === null || typeof value !== 'object') return {};
  const { iat, exp } = value as Readonly<Record<string, unknown>>;
  const issuedAt = readInstant(iat);
  const expiresAt = readInstant(exp);
  return { ...(issuedAt === undefined ? {} : { issuedAt }), ...(expiresAt === undefined ? {} : { expiresAt }) };
}

/** A NumericDate is in seconds; a number that can only be milliseconds is read as milliseconds. */
function readInstant(claim: unknown): number | undefined {
  const seconds = isLosslessNumber(claim) ? Number(claim.value) : Number.NaN;
  if (!(seconds >= 1e9 && seconds < 1e14)) return undefined;
  return Math.floor(seconds < 1e11 ? seconds * 1000 : seconds);
}
