/** Parses and formats requests in test files: `PUT /orders`, `POST /orders stop_limit`; in sequences also `PUT /orders x3`. */
import { type EndpointName, isEndpointName } from '../../../venue/catalogue.ts';
import { ORDER_TYPES } from '../../../venue/records.ts';
import type { RequestPattern, RequestRun } from './test-case.ts';

/** Undefined for a text that names no request. */
export function parseRequestPattern(text: string): RequestPattern | undefined {
  if (isEndpointName(text)) return { endpoint: text, type: undefined };
  const at = text.lastIndexOf(' ');
  const [name, type] = [text.slice(0, at), text.slice(at + 1)];
  return name === 'POST /orders' && (ORDER_TYPES as readonly string[]).includes(type)
    ? { endpoint: name, type }
    : undefined;
}

/** One request, or several of the same in a row. */
export function parseRequestRun(text: string): RequestRun | undefined {
  const [, name = text, count] = /^(.*\S)\s+x\s?([1-9]\d{0,4})$/.exec(text) ?? [];
  const pattern = parseRequestPattern(name);
  return pattern === undefined ? undefined : { pattern, times: Number(count ?? 1), text: name };
}

export function formatRequestName({
  endpoint,
  type,
}: {
  readonly endpoint: EndpointName | string;
  readonly type: string | undefined;
}): string {
  return type === undefined || endpoint !== 'POST /orders' ? endpoint : `${endpoint} ${type}`;
}
