/**
 * The port of transports, which send one prepared request and return its answer. Implemented live (got), by recorded exchanges
 * and by the simulator. A transport does not retry, wait for tokens or interpret answers.
 */
import type { WireRequest } from '../venue/wire/request.ts';

export type { WireRequest, WireValue } from '../venue/wire/request.ts';

/** An answer with a status: the body as received, at most 8 MiB. Header names are in lower case. */
export interface WireAnswer {
  readonly kind: 'answer';
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** No usable answer. `sent` is false only when certainly no byte of the request was sent. */
export interface WireFailure {
  readonly kind: 'failure';
  readonly sent: boolean;
  /** Short and free of secrets: `ECONNREFUSED`, `timeout: response`, `body over 8 MiB`. */
  readonly message: string;
}
export type WireReply = WireAnswer | WireFailure;

/** A connection to the venue, held for one request: it carries that one, or is released. */
export interface Connection {
  release(): void;
}

export interface Transport {
  /** Never rejects. The promise settles inside a turn of the clock. `timeoutMs` bounds the whole exchange. */
  send(request: WireRequest, options: { readonly timeoutMs: number }): Promise<WireReply>;
  /** For a recording: true when it has an answer to the request. */
  knows?(request: WireRequest): boolean;
  close?(): Promise<void>;
}

/** Longest time for a whole exchange, ms; a later answer counts as none. */
export const EXCHANGE_TIMEOUT_MS = 10_000;
