/** Writes the timeline's rows about requests: what was sent, its answer, the fills an answer shows first, and what got no answer. */
import { formatCount, formatSpan } from '../../base/format.ts';
import { PassingMap } from '../../base/passing-map.ts';
import type { DataOf, EntryOf, Json, JsonObject } from '../../journal/entry.ts';
import { CATALOGUE, ENDPOINT_NAMES } from '../../venue/catalogue.ts';
import {
  bad,
  doubt,
  formatJson,
  formatPairs,
  formatQuoteCurrency,
  formatText,
  good,
  muted,
  name,
  plain,
  type Span,
  summarizeResult,
  value,
} from '../format.ts';
import { findMeaning, PURPOSES } from '../glossary.ts';

interface Call {
  readonly endpoint: string;
  readonly purpose: string | undefined;
  readonly title: string;
  /** Absent while nothing was sent. */
  readonly sentAt?: number;
}

export class RequestRows {
  /** Tokens of all requests sent so far. */
  tokens = 0;
  private readonly calls = new PassingMap<string, Call>();
  private readonly ownOrderIds = new Set<string>();
  private readonly fills = new Set<string>();
  private readonly explained = new Set<string>();

  addIntent({ call, endpoint, purpose }: DataOf<'call.intended'>): void {
    this.calls.set(call, { endpoint, purpose, title: formatText(endpoint) });
  }

  /** Adds an order of the run: only fills of these get a row each. */
  addOwnOrder(orderId: string): void {
    this.ownOrderIds.add(orderId);
  }

  describeSent({ data, at }: EntryOf<'call.attempted'>): readonly Span[] {
    const known = this.calls.get(data.call);
    const title = `${data.method} ${data.path}`;
    this.calls.set(data.call, {
      endpoint: known?.endpoint ?? title,
      purpose: known?.purpose,
      title: formatText(title),
      sentAt: at,
    });
    this.tokens += data.tokens;
    const purpose = known?.purpose === undefined ? undefined : (findMeaning(PURPOSES, known.purpose) ?? known.purpose);
    const spans = [
      plain('sends '),
      name(formatText(title)),
      value(Object.keys(data.params).length === 0 ? '' : ` ${formatPairs(data.params)}`),
    ];
    if (purpose !== undefined) spans.push(plain(`, ${formatText(purpose)}`));
    spans.push(muted(`, ${formatCount(data.tokens, 'token')}`));
    if (data.n > 1) spans.push(doubt(`, attempt ${data.n}`));
    if (data.waitedMs > 0) spans.push(muted(`, after waiting ${formatSpan(data.waitedMs)} for tokens`));
    const about = this.explainOnce(title);
    if (about !== undefined) spans.push(muted(`  (${about})`));
    return spans;
  }

  /** The answer, and the fills that it shows for the first time. */
  describeAnswer({ data, at }: EntryOf<'call.settled'>): {
    readonly answer: readonly Span[];
    readonly fills: readonly (readonly Span[])[];
  } {
    const call = this.calls.get(data.call);
    this.calls.delete(data.call);
    const fills = data.kind === 'confirmed' ? this.describeNewFills(call, data.result) : [];
    return { answer: writeAnswer(data, call, at), fills };
  }

  /** A row for each request that was sent and has no answer in the journal, as a crash leaves them. */
  listUnanswered(): readonly (readonly Span[])[] {
    return [...this.calls.values()]
      .filter((call) => call.sentAt !== undefined)
      .map((call) => [
        doubt('? '),
        name(call.title),
        doubt(' was sent, and the journal ends before its answer: it may have happened'),
      ]);
  }

  /** Fills of the run's orders that no earlier answer showed. */
  private describeNewFills(call: Call | undefined, result: Json | undefined): readonly (readonly Span[])[] {
    if (call === undefined || !call.endpoint.startsWith('GET /fills') || !Array.isArray(result)) return [];
    const records = (result as readonly Json[]).filter(
      (each): each is JsonObject => typeof each === 'object' && each !== null && !Array.isArray(each),
    );
    const rows: (readonly Span[])[] = [];
    for (const { id, order_id: orderId, market_id: market, size, price, fee, is_maker: isMaker } of sortOldestFirst(
      records,
    )) {
      if (typeof id !== 'string' || this.fills.has(id) || typeof orderId !== 'string' || !this.ownOrderIds.has(orderId))
        continue;
      this.fills.add(id);
      const [of, quote] =
        typeof market === 'string' ? [` ${formatText(market)}`, formatQuoteCurrency(market)] : ['', ''];
      rows.push([
        good('traded '),
        value(`${formatJson(size ?? null)}${of} at ${formatJson(price ?? null)}${quote}`),
        plain(` of order ${formatText(orderId)}`),
        muted(
          `, fee ${formatJson(fee ?? null)}${quote}${isMaker === true ? ', as maker' : isMaker === false ? ', as taker' : ''}, fill ${formatText(id)}`,
        ),
      ]);
    }
    return rows;
  }

  /** The catalogue's sentence about an endpoint, the first time it is used. */
  private explainOnce(title: string): string | undefined {
    const endpoint = ENDPOINT_NAMES.find((each) => each === title);
    if (endpoint === undefined || this.explained.has(endpoint)) return undefined;
    this.explained.add(endpoint);
    return CATALOGUE[endpoint].about;
  }
}

function writeAnswer(data: DataOf<'call.settled'>, call: Call | undefined, at: number): readonly Span[] {
  const took = call?.sentAt === undefined ? '' : `, after ${formatSpan(at - call.sentAt)}`;
  const status = data.status === undefined ? '' : ` (HTTP ${data.status})`;
  const about = plain(`${call?.title ?? formatText(data.call)} `);
  const message = formatText(data.message ?? data.code ?? data.failure ?? 'no reason given');
  const notes = data.notes === undefined || data.notes.length === 0 ? '' : `; ${formatText(data.notes.join('; '))}`;
  switch (data.kind) {
    case 'confirmed': {
      const result = data.result === undefined || data.result === null ? '' : `: ${summarizeResult(data.result)}`;
      return [about, good('succeeded'), value(result), muted(`${took}${notes}`)];
    }
    case 'rejected':
      return [about, bad('was refused: '), value(message), muted(`${status}${took}${notes}`)];
    case 'denied':
      return [
        about,
        bad('was not sent: '),
        value(message),
        muted(data.code === undefined ? '' : ` (${formatText(data.code)})`),
      ];
    case 'unresolved':
      return [
        about,
        doubt(call?.title.startsWith('GET ') ? 'got no answer: ' : 'got no reliable answer, so it may have happened: '),
        value(message),
        muted(`${status}${took}`),
      ];
    default:
      data.kind satisfies never;
      return [];
  }
}

/** Sorted by time; the venue lists fills newest first unless asked otherwise. */
function sortOldestFirst(fills: readonly JsonObject[]): readonly JsonObject[] {
  const time = (fill: JsonObject) => (typeof fill.timestamp === 'number' ? fill.timestamp : 0);
  return [...fills].reverse().sort((a, b) => time(a) - time(b));
}
