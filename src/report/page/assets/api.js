/**
 * Asks the server. Every request carries the token of the server's start in a header; a browser never sends it by itself, so no
 * other page can send requests with it. The token is kept in this tab alone and removed from the address at once.
 */

const KEY = 'runbook-token';
const HEADER = 'x-runbook-token';

export class ApiError extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

/** Keeps the token after `#token=` in the address; true if there is a token now. */
export function takeToken() {
  const found = /^#token=([\w-]{16,200})$/.exec(location.hash);
  if (found !== null) {
    sessionStorage.setItem(KEY, found[1]);
    history.replaceState(null, '', location.pathname + location.search);
  }
  return sessionStorage.getItem(KEY) !== null;
}

export function keepToken(text) {
  const found = /(?:#token=)?([\w-]{16,200})\s*$/.exec(text.trim());
  if (found !== null) sessionStorage.setItem(KEY, found[1]);
  return found !== null;
}

/** `get('/api/runs', { text: 'ladder' })`: parameters that are undefined or empty are left out. */
export async function get(path, parameters = {}, signal = undefined) {
  const given = Object.entries(parameters).filter(([, value]) => value !== undefined && value !== '');
  const query = new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString();
  return readAnswer(await ask(query === '' ? path : `${path}?${query}`, { signal }));
}

export async function post(path, body) {
  const headers = { 'content-type': 'application/json' };
  const response = await ask(path, { method: 'POST', body: JSON.stringify(body), headers });
  return response.status === 409 ? response.json() : readAnswer(response);
}

export function makeRunPath(run, ...rest) {
  return ['/api/runs', encodeURIComponent(run), ...rest.map((each) => encodeURIComponent(each))].join('/');
}

async function ask(path, { headers = {}, ...options }) {
  try {
    return await fetch(path, {
      ...options,
      headers: { ...headers, [HEADER]: sessionStorage.getItem(KEY) ?? '' },
      cache: 'no-store',
      credentials: 'omit',
      redirect: 'error',
    });
  } catch (error) {
    if (error instanceof DOMException && error.name === 'AbortError') throw error;
    throw new ApiError(0, 'the server does not answer: is `runbook audit serve` still running?');
  }
}

async function readAnswer(response) {
  const document = await response.json().catch(() => ({ error: `HTTP ${response.status}` }));
  if (!response.ok) throw new ApiError(response.status, document.error ?? `HTTP ${response.status}`);
  return document;
}
