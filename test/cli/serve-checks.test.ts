import { describe, expect, it } from 'vitest';
import { findDenial, type RequestHead, TOKEN_HEADER } from '../../src/cli/serve/checks.ts';

const TOKEN = 'the-token-of-this-start';
const FACTS = { port: 8787, token: TOKEN, allowActions: true };
const HOST = '127.0.0.1:8787';
const SAME = { host: HOST, origin: `http://${HOST}`, 'sec-fetch-site': 'same-origin', [TOKEN_HEADER]: TOKEN };

function statusOf(head: Partial<RequestHead>, facts: Partial<typeof FACTS> = {}): number | undefined {
  return findDenial({ method: 'GET', path: '/api/runs', headers: SAME, ...head }, { ...FACTS, ...facts })?.status;
}

describe('a request is answered', () => {
  it.each([
    ['of the page itself', {}],
    ['of a program with the token, which says nothing of sites', { headers: { host: HOST, [TOKEN_HEADER]: TOKEN } }],
    [
      'by the other name of loopback',
      { headers: { ...SAME, host: 'localhost:8787', origin: 'http://localhost:8787' } },
    ],
    ['for the document, typed into the address bar', { path: '/', headers: { host: HOST, 'sec-fetch-site': 'none' } }],
    [
      'for a script, without a token',
      { path: '/assets/page.js', headers: { host: HOST, 'sec-fetch-site': 'same-origin' } },
    ],
    ['with HEAD', { method: 'HEAD' }],
    [
      'to act',
      { method: 'POST', path: '/api/actions', headers: { ...SAME, 'content-type': 'application/json; charset=UTF-8' } },
    ],
  ])('%s', (_which, head) => expect(statusOf(head)).toBeUndefined());

  it('at the default port, which browsers omit', () => {
    const headers = { ...SAME, host: '127.0.0.1', origin: 'http://127.0.0.1' };
    expect(statusOf({ headers }, { port: 80 })).toBeUndefined();
    expect(statusOf({ headers })).toBe(421);
  });
});

describe('a request is not answered', () => {
  const act = { method: 'POST', path: '/api/actions' };
  const json = { ...SAME, 'content-type': 'application/json' };
  it.each([
    ['under a name that was rebound', 421, { headers: { ...SAME, host: 'evil.example:8787' } }],
    ['under a name that only begins well', 421, { headers: { ...SAME, host: '127.0.0.1:8787.evil.example' } }],
    ['at another port', 421, { headers: { ...SAME, host: '127.0.0.1:9999' } }],
    ['without a name', 421, { headers: { ...SAME, host: undefined } }],
    ['with two names', 421, { headers: { ...SAME, host: [HOST, HOST] } }],
    [
      'with a name in the address bar of another page',
      403,
      { path: '/', headers: { host: HOST, 'sec-fetch-site': 'cross-site' } },
    ],
    ['from another site', 403, { headers: { ...SAME, 'sec-fetch-site': 'cross-site' } }],
    ['from another port of this machine', 403, { headers: { ...SAME, 'sec-fetch-site': 'same-site' } }],
    ['for data, typed into the address bar', 403, { headers: { ...SAME, 'sec-fetch-site': 'none' } }],
    ['from another origin', 403, { headers: { ...SAME, origin: 'http://127.0.0.1:3000' } }],
    ['from no origin at all, as a sandboxed frame says', 403, { headers: { ...SAME, origin: 'null' } }],
    ['by the other name than its origin', 403, { headers: { ...SAME, origin: 'http://localhost:8787' } }],
    ['without a token', 401, { headers: { ...SAME, [TOKEN_HEADER]: undefined } }],
    ['with another token', 401, { headers: { ...SAME, [TOKEN_HEADER]: 'the-token-of-this-star' } }],
    ['with an empty token', 401, { headers: { ...SAME, [TOKEN_HEADER]: '' } }],
    ['with two tokens', 401, { headers: { ...SAME, [TOKEN_HEADER]: [TOKEN, TOKEN] } }],
    ['with a method that changes', 405, { method: 'DELETE' }],
    ['with the question whether it may', 405, { method: 'OPTIONS' }],
    ['to write where one reads', 405, { method: 'POST' }],
    ['to read where one acts', 405, { path: '/api/actions' }],
    [
      'to act as a form would',
      415,
      { ...act, headers: { ...SAME, 'content-type': 'application/x-www-form-urlencoded' } },
    ],
    ['to act as plain text', 415, { ...act, headers: { ...SAME, 'content-type': 'text/plain' } }],
    ['to act without a type', 415, { ...act, headers: SAME }],
    ['to act from nowhere', 403, { ...act, headers: { ...json, origin: undefined } }],
  ])('%s: %d', (_which, status, head) => expect(statusOf(head)).toBe(status));

  it('to act where the server is read-only', () => {
    expect(statusOf({ ...act, headers: json }, { allowActions: false })).toBe(403);
    expect(statusOf({ ...act, headers: json })).toBeUndefined();
  });

  it('names the allowed methods', () => {
    const denial = findDenial({ method: 'PUT', path: '/', headers: SAME }, FACTS);
    expect(denial?.headers).toEqual({ allow: 'GET, HEAD' });
  });
});
