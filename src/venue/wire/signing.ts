/**
 * Signs requests with an API key (venue-notes.md, Signed requests; off by default). Pure: the secret's bytes and the expiry are
 * passed in. The session puts the signature into the headers.
 */
import { createHash, createHmac } from 'node:crypto';
import { jsonLiteral, type WireRequest } from './request.ts';

/**
 * The text to sign: `key=value` for every top-level key of the body and for `method` and `path` (without query), sorted by key,
 * without separators, then the expiry in UNIX seconds. Values are the literals of the body, without outer quotes; the query is
 * not signed.
 */
export function signedMessage(request: WireRequest, expirySeconds: number): string {
  const body = request.placement === 'body' ? Object.entries(request.params) : [];
  const pairs: [key: string, text: string][] = [
    ...body.map(([key, value]): [string, string] => [
      key,
      value.as === 'text' ? jsonLiteral(value).slice(1, -1) : value.text,
    ]),
    ['method', request.method],
    ['path', request.path],
  ];
  const sorted = pairs.sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));
  return `${sorted.map(([key, text]) => `${key}=${text}`).join('')}${expirySeconds}`;
}

/** `0x` and the hex of HMAC-SHA256, keyed with the secret's bytes, over the SHA-256 of the message. */
export function signRequest(request: WireRequest, expirySeconds: number, secret: Uint8Array): string {
  const digest = createHash('sha256').update(signedMessage(request, expirySeconds)).digest();
  return `0x${createHmac('sha256', secret).update(digest).digest('hex')}`;
}

/** The bytes of a hex secret, with or without `0x`; undefined where it is not hex. */
export function parseSecret(hex: string): Uint8Array | undefined {
  const digits = hex.replace(/^0x/i, '');
  return /^(?:[0-9a-fA-F]{2})+$/.test(digits) ? Buffer.from(digits, 'hex') : undefined;
}
