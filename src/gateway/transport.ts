/**
 * The transport port: how one prepared request reaches something that answers. Live (got), recorded exchanges and the
 * simulator each implement it; none of them retries, waits for budget, or decides what an answer means.
 */
import type { EndpointName } from '../venue/catalogue.ts';

/** A request as it leaves: parameters in wire order; a decimal is its exact literal, marked as a number. */
export interface WireRequest {
  /** A catalogue name, or `GET /path` for a request that the profile declares. */
  readonly endpoint: EndpointName | `GET ${string}`;
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** Path below the base URL, without query. */
  readonly path: string;
  /** `number`: the text is a JSON number literal; `text`: a JSON string; `boolean`. */
  readonly params: Readonly<Record<string, WireValue>>;
  /** Where the parameters travel. */
  readonly placement: 'query' | 'body';
}
export interface WireValue {
  readonly as: 'text' | 'number' | 'boolean';
  readonly text: string;
}

/** An answer with a status: the body as it came, at most 8 MiB. Header names in lower case. */
export interface WireAnswer {
  readonly kind: 'answer';
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** No usable answer. `sent: false` only where it is certain that no byte of the request left. */
export interface WireFailure {
  readonly kind: 'failure';
  readonly sent: boolean;
  /** Short and free of secrets: `ECONNREFUSED`, `timeout: response`, `body over 8 MiB`. */
  readonly message: string;
}
export type WireReply = WireAnswer | WireFailure;

export interface Transport {
  /** Never rejects. The promise settles inside a turn of the clock. `timeoutMs` bounds the whole exchange. */
  send(request: WireRequest, options: { readonly timeoutMs: number }): Promise<WireReply>;
  close?(): Promise<void>;
}
