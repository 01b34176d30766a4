/**
 * Turns a result or a refusal into the bytes of an answer (envelope, status, rate-limit headers) and applies the faults that
 * change an answer.
 */
import type { WireAnswer } from '../transport.ts';
import type { FaultRule } from './config/faults.ts';
import type { Settings } from './config/settings.ts';
import { VenueError } from './market/request.ts';
import type { TokenVerdict } from './tokens.ts';

export type Outcome =
  | { readonly kind: 'done'; readonly result: unknown }
  | { readonly kind: 'refused'; readonly refusal: VenueError };

/** An answer, with the `success` and `error` of its envelope for the books. */
export interface VenueAnswer {
  readonly wire: WireAnswer;
  readonly success: boolean;
  readonly error: string;
}

const LIMITED = new VenueError('RATE_LIMIT_EXCEEDED', 'too many requests', 429);

export class Answers {
  private readonly settings: Settings;
  /** The last list that was answered with, and its body. */
  private last: { readonly rows: readonly unknown[]; readonly body: string } = { rows: [], body: '' };

  constructor(settings: Settings) {
    this.settings = settings;
  }

  buildAnswer(outcome: Outcome, verdict: TokenVerdict): VenueAnswer {
    const headers = this.buildHeaders(verdict);
    if (outcome.kind === 'done') return createAnswer(200, headers, this.formatResult(outcome.result), '');
    const { refusalStatus } = this.settings.surprises;
    const status = refusalStatus === 'by_kind' ? outcome.refusal.status : refusalStatus;
    const error = this.formatError(outcome.refusal);
    return createAnswer(status, headers, formatEnvelope(false, error, []), error);
  }

  /** A list is often read again before any of its rows has changed. */
  private formatResult(result: unknown): string {
    if (!Array.isArray(result) || result.length === 0) return formatEnvelope(true, '', result);
    const { rows } = this.last;
    if (rows.length === result.length && rows.every((row, index) => row === result[index])) return this.last.body;
    const body = formatEnvelope(true, '', result);
    this.last = { rows: result, body };
    return body;
  }

  /** Builds a refusal for lack of tokens. `retryAfter`, from a fault, replaces the computed seconds. */
  buildLimited(verdict: TokenVerdict, retryAfter?: string): VenueAnswer {
    const { tokens } = this.settings;
    const seconds = retryAfter ?? String(Math.ceil(verdict.waitMs / 1000));
    const headers = this.buildHeaders(verdict);
    if (tokens.retryAfter === 'x' || tokens.retryAfter === 'both') headers['x-ratelimit-retry-after'] = seconds;
    if (tokens.retryAfter === 'plain' || tokens.retryAfter === 'both') headers['retry-after'] = seconds;
    const error = this.formatError(LIMITED);
    return createAnswer(tokens.status, headers, formatEnvelope(false, error, []), error);
  }

  /** Returns the answer as the fault changes it. */
  applyFault(original: VenueAnswer, fault: FaultRule | undefined): VenueAnswer {
    const { headers, body } = original.wire;
    switch (fault?.do) {
      case 'malformed':
        return createSpoiled(
          200,
          { ...headers, ...fault.headers },
          fault.body ?? body.slice(0, Math.max(1, body.length >> 1)),
        );
      case 'empty':
        return createSpoiled(fault.status ?? 200, headers, '');
      case 'html':
        return createSpoiled(
          fault.status ?? 200,
          { ...headers, 'content-type': 'text/html' },
          fault.body ?? '<html><body>502 Bad Gateway</body></html>',
        );
      case 'status':
        return createSpoiled(
          fault.status ?? 503,
          { 'content-type': 'text/plain', ...fault.headers },
          fault.body ?? 'upstream error',
        );
      case 'error':
        return createAnswer(
          fault.status ?? 200,
          headers,
          formatEnvelope(false, fault.error ?? 'SOMETHING_WENT_WRONG', []),
          fault.error ?? 'SOMETHING_WENT_WRONG',
        );
      case 'no_headers':
        return { ...original, wire: { ...original.wire, headers: withoutLimits(headers) } };
      case 'redirect':
        return createSpoiled(fault.status ?? 307, { location: fault.location ?? 'http://127.0.0.1:9/elsewhere' }, '');
      case 'empty_result':
        return createAnswer(200, headers, formatEnvelope(true, '', []), '');
      case 'two_records':
        return createAnswer(
          200,
          headers,
          rewriteRecords(body, (records) => [...records, ...records]),
          '',
        );
      case 'other_record':
        return createAnswer(
          200,
          headers,
          rewriteRecords(body, (records) =>
            records.map((record) => ({ ...record, client_order_id: 'somebody-elses' })),
          ),
          '',
        );
      default:
        return original;
    }
  }

  private buildHeaders(verdict: TokenVerdict): Record<string, string> {
    const { tokens } = this.settings;
    if (!tokens.headers) return { 'content-type': 'application/json' };
    return {
      'content-type': 'application/json',
      'x-ratelimit-limit': String(tokens.limit),
      'x-ratelimit-remaining': String(verdict.remaining),
      'x-ratelimit-reset': formatInstant(verdict.resetAt, tokens.resetUnit),
    };
  }

  /** Surprise 12: the error is a code, a code and a text, or free text. */
  private formatError(refusal: VenueError): string {
    const forms = { code: refusal.code, code_and_text: `${refusal.code}: ${refusal.message}`, text: refusal.message };
    return forms[this.settings.surprises.errorText];
  }
}

function createAnswer(status: number, headers: Record<string, string>, body: string, error: string): VenueAnswer {
  return { wire: { kind: 'answer', status, headers, body }, success: error === '', error };
}

function createSpoiled(status: number, headers: Record<string, string>, body: string): VenueAnswer {
  return { wire: { kind: 'answer', status, headers, body }, success: false, error: '' };
}

function withoutLimits(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !name.startsWith('x-ratelimit-')));
}

function formatEnvelope(success: boolean, error: string, result: unknown): string {
  return JSON.stringify({ success, error, result });
}

/** Decimals in a body are strings, so parsing it as JSON loses no digits. */
function rewriteRecords(body: string, change: (records: object[]) => object[]): string {
  const { success, error, result } = JSON.parse(body) as { success: boolean; error: string; result: unknown };
  return formatEnvelope(success, error, Array.isArray(result) ? change(result as object[]) : result);
}

function formatInstant(ms: number, unit: Settings['tokens']['resetUnit']): string {
  switch (unit) {
    case 's':
      return String(Math.ceil(ms / 1000));
    case 'ms':
      return String(ms);
    case 'us':
      return String(ms * 1000);
    case 'iso':
      return new Date(ms).toISOString();
    default:
      return unit satisfies never;
  }
}
