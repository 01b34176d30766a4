/**
 * Decides which requests the review page's server answers. Any web page in any browser of this machine can send requests to
 * loopback; so a request must name this server (against DNS rebinding), come from the page itself (same origin), and carry the
 * token printed at start. Pure: reads only the request's head.
 */
import { createHash, timingSafeEqual } from 'node:crypto';
import { formatList } from '../../base/format.ts';

export interface RequestHead {
  readonly method: string;
  /** Path without the query. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
}

export interface ServerFacts {
  readonly port: number;
  readonly token: string;
  readonly allowActions: boolean;
}

interface Denial {
  readonly status: 400 | 401 | 403 | 405 | 415 | 421;
  readonly message: string;
  readonly headers?: Readonly<Record<string, string>>;
}

export const TOKEN_HEADER = 'x-runbook-token';

/** Undefined when the request is allowed. */
export function findDenial(request: RequestHead, facts: ServerFacts): Denial | undefined {
  return (
    checkHost(request, facts) ??
    checkMethod(request) ??
    checkSite(request) ??
    (isData(request.path) ? (checkToken(request, facts) ?? checkPost(request, facts)) : undefined)
  );
}

/** Paths of data. */
function isData(path: string): boolean {
  return path.startsWith('/api/');
}

function checkHost({ headers }: RequestHead, { port }: ServerFacts): Denial | undefined {
  const host = readSingle(headers.host);
  if (host !== undefined && listHosts(port).includes(host.toLowerCase())) return undefined;
  return { status: 421, message: `this server answers to ${formatList(listHosts(port))} only` };
}

function listHosts(port: number): readonly string[] {
  const names = ['127.0.0.1', 'localhost'];
  // A browser omits the default port.
  return names.flatMap((name) => (port === 80 ? [name, `${name}:80`] : [`${name}:${port}`]));
}

function checkMethod({ method, path }: RequestHead): Denial | undefined {
  const allowed = path === ACTIONS_PATH ? ['POST'] : ['GET', 'HEAD'];
  if (allowed.includes(method)) return undefined;
  const headers = { allow: allowed.join(', ') };
  return {
    status: 405,
    message: `${path === ACTIONS_PATH ? 'actions are' : 'this is'} asked for with ${formatList(allowed, 'or')}`,
    headers,
  };
}

const ACTIONS_PATH = '/api/actions';

/** Browsers state where a request comes from; a client that sends neither header is no browser and still needs the token. */
function checkSite({ headers, path, method }: RequestHead): Denial | undefined {
  const site = readSingle(headers['sec-fetch-site']);
  const fitting = isData(path) ? ['same-origin'] : ['same-origin', 'none'];
  if (site !== undefined && !fitting.includes(site)) return denyForeignSite('Sec-Fetch-Site', site);
  const origin = readSingle(headers.origin);
  if (origin !== undefined && origin !== `http://${readSingle(headers.host)}`) return denyForeignSite('Origin', origin);
  if (method === 'POST' && origin === undefined)
    return { status: 403, message: 'an action needs an Origin: use the page, or the command line' };
  return undefined;
}

function denyForeignSite(header: string, found: string): Denial {
  return { status: 403, message: `only this server's own page may send requests (${header}: ${found.slice(0, 60)})` };
}

function checkToken({ headers }: RequestHead, { token }: ServerFacts): Denial | undefined {
  const given = readSingle(headers[TOKEN_HEADER]);
  if (given !== undefined && isEqual(given, token)) return undefined;
  return {
    status: 401,
    message: 'open the address that `runbook audit serve` printed: it contains the token',
  };
}

function checkPost({ method, headers }: RequestHead, { allowActions }: ServerFacts): Denial | undefined {
  if (method !== 'POST') return undefined;
  if (!allowActions) return { status: 403, message: 'this server is read-only: start it with --allow-actions' };
  const type = readSingle(headers['content-type'])?.toLowerCase().replaceAll(' ', '');
  if (type === 'application/json' || type === 'application/json;charset=utf-8') return undefined;
  return { status: 415, message: 'actions are JSON: Content-Type application/json' };
}

/** Takes the same time for any input. */
function isEqual(given: string, expected: string): boolean {
  const digestText = (text: string) => createHash('sha256').update(text).digest();
  return timingSafeEqual(digestText(given), digestText(expected));
}

/** A header that occurs once; a repeated one is ignored. */
function readSingle(value: string | string[] | undefined): string | undefined {
  return typeof value === 'string' ? value : undefined;
}
