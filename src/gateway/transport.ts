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

/**
 * No usable answer. `sent` is false only when certainly no byte of the request was sent. `held`: the last gate was closed, or
 * the connection had been idle for too long; the same request may be sent again.
 */
export interface WireFailure {
  readonly kind: 'failure';
  readonly sent: boolean;
  readonly held?: true;
  /** Short and free of secrets: `ECONNREFUSED`, `timeout: response`, `body over 8 MiB`. */
  readonly message: string;
}
export type WireReply = WireAnswer | WireFailure;

/** A connection to the venue, held for one request: it carries that one, or is released. */
export interface Connection {
  release(): void;
}

export interface SendOptions {
  /** Bounds the whole exchange. */
  readonly timeoutMs: number;
  /** The one that `connect` gave; without it the transport takes one itself. */
  readonly connection?: Connection | undefined;
  /**
   * The last gate (reliability.md, The last gate): called once, directly before the first byte is handed to the socket and with
   * nothing between that could wait. Where it gives false no byte is sent, and the reply is `held`.
   */
  readonly mayLeave?: (() => boolean) | undefined;
}

export interface Transport {
  /** Never rejects. The promise settles inside a turn of the clock. */
  send(request: WireRequest, options: SendOptions): Promise<WireReply>;
  /**
   * Takes a connection for one request, which then need not wait for one after its last checks. Settles inside a turn of the
   * clock, and never rejects. Undefined, or without this method: the transport needs none.
   */
  connect?(withinMs: number): Connection | undefined | Promise<Connection | WireFailure | undefined>;
  /** For a recording: true when it has an answer to the request. */
  knows?(request: WireRequest): boolean;
  close?(): Promise<void>;
}

/** Longest time for a whole exchange, ms; a later answer counts as none. */
export const EXCHANGE_TIMEOUT_MS = 10_000;

/** The reply of a request that the last gate held back. */
export const HELD: WireFailure = { kind: 'failure', sent: false, held: true, message: 'it was held back' };
