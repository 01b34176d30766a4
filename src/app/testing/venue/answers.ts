/** The answers of a test's venue as they come over the wire: results in the envelope, refusals, bodies that are spoiled. */
import type { WireAnswer } from '../../../gateway/transport.ts';
import { envelope } from '../file/reply-shape.ts';
import type { VenueRule } from '../file/test-case.ts';

type Headers = Readonly<Record<string, string>>;

const JSON_HEADERS = { 'content-type': 'application/json' } as const;
/** Texts of refusals where the rule gives a status alone. */
const REFUSALS: Readonly<Record<number, string>> = {
  401: 'UNAUTHORIZED',
  404: 'ORDER_NOT_FOUND',
  429: 'RATE_LIMIT_EXCEEDED',
};

export function success(result: unknown): WireAnswer {
  return { kind: 'answer', status: 200, headers: JSON_HEADERS, body: envelope(result) };
}

export function refusal(status: number, error: string, headers: Headers = {}): WireAnswer {
  return { kind: 'answer', status, headers: { ...JSON_HEADERS, ...headers }, body: envelope([], error) };
}

/** Whether a rule answers; one that only delays or loses leaves the answering to others. */
export function saysSomething({ reply, http, error, malformed, headers }: VenueRule): boolean {
  const keys = [reply, http, error, malformed];
  return keys.some((key) => key !== undefined) || Object.keys(headers).length > 0;
}

/** Whether a rule answers that it was not done. */
export function refuses({ reply, http, error }: VenueRule): boolean {
  return error !== undefined || (reply === undefined && (http ?? 200) >= 400);
}

/** Who speaks of an error has been asked: it counts for the switch. A limit, or a server in trouble, does not. */
export function wasAsked({ http = 400 }: VenueRule): boolean {
  return http < 500 && http !== 429;
}

export function ruleRefusal({ http: status = 400, error, headers }: VenueRule): WireAnswer {
  if (error !== undefined || status < 500) return refusal(status, error ?? REFUSALS[status] ?? 'REFUSED', headers);
  const body = '<html><body>error</body></html>';
  return { kind: 'answer', status, headers: { 'content-type': 'text/html', ...headers }, body };
}

/** A result with the status and headers of a rule, its body spoiled where the rule says so. */
export function ruleAnswer({ http: status = 200, headers, malformed }: VenueRule, result: unknown): WireAnswer {
  const whole = success(result);
  const body = malformed === '' ? whole.body.slice(0, Math.max(1, whole.body.length >> 1)) : (malformed ?? whole.body);
  return { ...whole, status, headers: { ...whole.headers, ...headers }, body };
}

/** The same answer with another result. Decimals in a body of the simulated venue are texts: reading it loses nothing. */
export function withResult(answer: WireAnswer, change: (result: unknown) => unknown): WireAnswer {
  const {
    success: done,
    error,
    result,
  } = JSON.parse(answer.body) as {
    success: boolean;
    error: string;
    result: unknown;
  };
  return done ? { ...answer, body: envelope(change(result), error) } : answer;
}
