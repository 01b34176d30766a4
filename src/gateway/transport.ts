/**
 * The transport port: how one prepared request reaches something that answers. Live (got), recorded exchanges and the
 * simulator each implement it; none of them retries, waits for budget, or decides what an answer means.
 */
import type { WireRequest } from '../venue/wire/request.ts';

export type { WireRequest, WireValue } from '../venue/wire/request.ts';

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
  /** Of a recording: whether it has an answer to a request. */
  knows?(request: WireRequest): boolean;
  close?(): Promise<void>;
}
