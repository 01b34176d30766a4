/** Builds the answers of a test's venue in wire form: results in the envelope, refusals, broken bodies. */
import type { WireAnswer } from '../../../gateway/transport.ts';
import { formatEnvelope } from '../file/reply-shape.ts';
import type { VenueRule } from '../file/test-case.ts';

type Headers = Readonly<Record<string, string>>;

const JSON_HEADERS = { 'content-type': 'application/json' } as const;
/** Texts of refusals where the rule gives only a status. */
const REFUSALS: Readonly<Record<number, string>> = {
  401: 'UNAUTHORIZED',
  404: 'ORDER_NOT_FOUND',
  429: 'RATE_LIMIT_EXCEEDED',
};

export function makeSuccess(result: unknown): WireAnswer {
  return { kind: 'answer', status: 200, headers: JSON_HEADERS, body: formatEnvelope(result) };
}

export function makeRefusal(status: number, error: string, headers: Headers = {}): WireAnswer {
  return { kind: 'answer', status, headers: { ...JSON_HEADERS, ...headers }, body: formatEnvelope([], error) };
}

/** Whether a rule answers; a rule that only delays or loses leaves the answer to others. */
export function hasAnswer({ reply, http, error, malformed, headers }: VenueRule): boolean {
  const keys = [reply, http, error, malformed];
  return keys.some((key) => key !== undefined) || Object.keys(headers).length > 0;
}

/** Whether a rule rejects the request. */
export function isRefusal({ reply, http, error }: VenueRule): boolean {
  return error !== undefined || (reply === undefined && (http ?? 200) >= 400);
}

/** Whether the venue handled the request, so that it renews the deadman switch: a rate limit or a server error does not. */
export function wasHandled({ http = 400 }: VenueRule): boolean {
  return http < 500 && http !== 429;
}

export function makeRuleRefusal({ http: status = 400, error, headers }: VenueRule): WireAnswer {
  if (error !== undefined || status < 500) return makeRefusal(status, error ?? REFUSALS[status] ?? 'REFUSED', headers);
  const body = '<html><body>error</body></html>';
  return { kind: 'answer', status, headers: { 'content-type': 'text/html', ...headers }, body };
}

/** A result with the status and headers of a rule, its body broken where the rule says so. */
export function makeRuleAnswer({ http: status = 200, headers, malformed }: VenueRule, result: unknown): WireAnswer {
  const whole = makeSuccess(result);
  const body = malformed === '' ? whole.body.slice(0, Math.max(1, whole.body.length >> 1)) : (malformed ?? whole.body);
  return { ...whole, status, headers: { ...whole.headers, ...headers }, body };
}

/** The same answer with another result. Decimals in bodies of the simulated venue are texts, so parsing loses nothing. */
export function replaceResult(answer: WireAnswer, change: (result: unknown) => unknown): WireAnswer {
  const {
    success: done,
    error,
    result,
  } = JSON.parse(answer.body) as {
    success: boolean;
    error: string;
    result: unknown;
  };
  return done ? { ...answer, body: formatEnvelope(change(result), error) } : answer;
}
