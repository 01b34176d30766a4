/**
 * What differs between a recorded run and the one that is answered from it, though both do the same: ids of our own orders
 * and the time. Translates both ways; decides nothing about what matches otherwise.
 */
import { CLIENT_ORDER_PREFIX } from '../venue/order/identity.ts';
import { exactJsonText, parseExactJson } from './exact-json.ts';
import { isRecord } from './fixture.ts';

/** The length of an id of ours without the author's tag (venue/identity.ts). */
const BARE_ID = CLIENT_ORDER_PREFIX.length + 20;

/** Client order ids of the recording and of the run, bound in pairs the first time they meet. */
export class OrderIds {
  private readonly own = new Map<string, string>();
  private readonly recorded = new Map<string, string>();
  /** Orders that were recorded without a client order id: venue id to the run's own. */
  private readonly adopted = new Map<string, string>();

  /** Whether the two can be one order: they are a pair already, or neither has one yet and the author's tag is the same. */
  agree(recorded: string, own: string): boolean {
    if (this.own.has(recorded) || this.recorded.has(own)) return this.own.get(recorded) === own;
    const ours = recorded.startsWith(CLIENT_ORDER_PREFIX) && recorded.length >= BARE_ID && own.length >= BARE_ID;
    return !ours || recorded.slice(BARE_ID) === own.slice(BARE_ID);
  }

  bind(recorded: string, own: string): void {
    this.own.set(recorded, own);
    this.recorded.set(own, recorded);
  }

  /** Gives an order recorded without a client order id the run's, wherever an answer names it by its venue id. */
  adopt(orderId: string, own: string): void {
    this.adopted.set(orderId, own);
  }

  /** A recorded body with the run's ids in it. */
  translate(body: string): string {
    const long = body.replace(/[A-Za-z0-9_-]{10,50}/g, (word) => this.own.get(word) ?? word);
    const all = long.replace(/("client_order_id"\s*:\s*")([A-Za-z0-9_-]+)(?=")/g, (whole, key, id) => {
      const own = this.own.get(id);
      return own === undefined ? whole : `${key}${own}`;
    });
    return this.adopted.size === 0 ? all : this.withAdopted(all);
  }

  private withAdopted(body: string): string {
    const reading = parseExactJson(body);
    return reading.problem === undefined ? exactJsonText(this.named(reading.value)) : body;
  }

  private named(value: unknown): unknown {
    if (Array.isArray(value)) return value.map((each) => this.named(each));
    if (!isRecord(value) || Object.getPrototypeOf(value) !== Object.prototype) return value;
    const fields = Object.fromEntries(Object.entries(value).map(([key, each]) => [key, this.named(each)]));
    const own = typeof fields['id'] === 'string' ? this.adopted.get(fields['id']) : undefined;
    return own !== undefined && (fields['client_order_id'] ?? '') === '' ? { ...fields, client_order_id: own } : fields;
  }
}

/** How far a time in a request may lie from the recorded one, both measured from the start of their run. */
export const TIME_TOLERANCE_MS = 5000;

/** The distance between the recorded run's start and this one's, and what it does to times in requests and answers. */
export class TimeShift {
  private readonly offsetMs: number;

  constructor(recordedStartMs: number, startMs: number) {
    this.offsetMs = startMs - recordedStartMs;
  }

  /**
   * Whether two `start_time`s or `end_time`s (µs) mean the same: the very same instant, as an author may have written it, or
   * equally far from the start of their run. Steps of a dry-run begin some milliseconds earlier or later than those that
   * were recorded, because the program's own work takes no time in it: hence a tolerance.
   */
  agree(recordedUs: string, ownUs: string): boolean {
    if (recordedUs === ownUs) return true;
    if (!/^\d{1,16}$/.test(recordedUs) || !/^\d{1,16}$/.test(ownUs)) return false;
    return Math.abs((Number(ownUs) - Number(recordedUs)) / 1000 - this.offsetMs) <= TIME_TOLERANCE_MS;
  }

  /** A recorded body with its times moved to this run. */
  translate(body: string): string {
    if (this.offsetMs === 0) return body;
    return body.replace(STAMP, (_whole, key: string, digits: string) => key + this.moved(digits));
  }

  /** Recorded headers likewise: the one that holds an instant is the reset of the rate limit. */
  headers(headers: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
    const reset = headers['x-ratelimit-reset'];
    if (this.offsetMs === 0 || reset === undefined) return headers;
    return { ...headers, 'x-ratelimit-reset': /^\d+$/.test(reset) ? this.moved(reset) : this.movedDate(reset) };
  }

  /** Seconds, milliseconds or microseconds by magnitude, as the rest of the program reads such a number. */
  private moved(digits: string): string {
    const perMs = { 10: 0.001, 13: 1, 16: 1000 }[digits.length];
    return perMs === undefined ? digits : String(Number(digits) + Math.round(this.offsetMs * perMs));
  }

  private movedDate(text: string): string {
    const at = Date.parse(text);
    return Number.isNaN(at) ? text : new Date(at + this.offsetMs).toISOString();
  }
}

/** Members that hold an instant in venue-api.md, Resources and their fields. */
const STAMP = /("(?:timestamp|last_update|last_updated|last_liq_check)"\s*:\s*"?)(\d+)(?!\d|\.)/g;
