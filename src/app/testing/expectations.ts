/**
 * What a case expects against what happened. Each expectation that does not hold gives one failure: what was expected, what
 * was found, and its place in the file. Pure.
 */
import { positionAt, type SourceText, type Span } from '../../base/diagnostic.ts';
import { durationWord } from '../../base/duration.ts';
import { printable } from '../../base/printable.ts';
import type { Json } from '../../journal/entry.ts';
import type { OrderRow } from '../../report/folds/orders.ts';
import type { RunReport } from '../../report/folds/run.ts';
import { type EndpointName, endpoint, isEndpointName } from '../../venue/catalogue.ts';
import type { CaseResult } from './case-run.ts';
import { requestName } from './file/request-names.ts';
import {
  type Bound,
  type Expectations,
  isMeant,
  type Plain,
  type RequestPattern,
  type RequestRun,
  type WordRun,
} from './file/test-case.ts';
import { sameValue } from './venue/rules.ts';
import type { Sent } from './venue/venue.ts';

/** A failure as `--json` prints it: line and column from 1. */
export interface Failure {
  /** Key of the expectation, or `run` where the case could not be executed as it is written. */
  readonly expectation: string;
  readonly expected: string;
  readonly found: string;
  readonly file: string;
  readonly line: number;
  readonly column: number;
}

/** What of a result is judged. */
export type Judged = Pick<CaseResult, 'entries' | 'report'> & { readonly sent: readonly Sent[] };

export function failuresOf(expect: Expectations, judged: Judged, source: SourceText): readonly Failure[] {
  const failures: Failure[] = [];
  const fail = (expectation: string, span: Span, expected: string, found: string) => {
    failures.push(failure(source, span, expectation, expected, found));
  };
  for (const [key, check] of Object.entries(CHECKS))
    check(expect, judged, (span, expected, found) => fail(key, span, expected, found));
  return failures.sort((a, b) => a.line - b.line || a.column - b.column);
}

export function failure(source: SourceText, span: Span, expectation: string, expected: string, found: string): Failure {
  const { line, column } = positionAt(source.text, span.start);
  return {
    expectation,
    expected: printable(expected, 2000),
    found: printable(found, 2000),
    file: source.file,
    line,
    column,
  };
}

type Fail = (span: Span, expected: string, found: string) => void;
type Check = (expect: Expectations, judged: Judged, fail: Fail) => void;

const CHECKS: Readonly<Record<string, Check>> = {
  outcome({ outcome }, { report }, fail) {
    if (outcome === undefined || outcome.value === report.outcome) return;
    fail(outcome.span, outcome.value, outcomeText(report));
  },

  reason({ reason }, { report }, fail) {
    if (reason === undefined) return;
    const found = report.reason ?? '';
    // The word of a `stop` is a word; the message of a failure is a sentence of which a part may be told.
    const holds = report.outcome === 'stopped' ? found === reason.value : found.includes(reason.value);
    if (!holds) fail(reason.span, reason.value, report.reason ?? `no reason; ${outcomeText(report)}`);
  },

  error({ error }, { report }, fail) {
    if (error === undefined) return;
    const { kind, message, step } = error.value;
    const found = report.error;
    const holds =
      found !== undefined &&
      (kind === undefined || found.kind === kind) &&
      (message === undefined || found.message.includes(message)) &&
      (step === undefined || found.step === step || (found.step ?? '').endsWith(`/${step}`));
    if (!holds)
      fail(
        error.span,
        fieldsText(error.value),
        found === undefined ? `no error; ${outcomeText(report)}` : fieldsText({ ...found }),
      );
  },

  steps({ steps }, { report }, fail) {
    if (steps === undefined) return;
    const ran = report.steps.flatMap(({ id, outcome }) => (id === undefined || outcome === 'skipped' ? [] : [id]));
    if (!followsWords(steps.value, ran))
      fail(steps.span, wordsText(steps.value), ran.length === 0 ? 'none' : inRuns(ran));
  },

  requests({ requests }, { sent }, fail) {
    if (requests === undefined) return;
    const named = new Set(requests.value.map(({ pattern }) => pattern.endpoint));
    const compared = sent.filter(({ name }) => isEndpointName(name) && (isWrite(name) || named.has(name)));
    const at = firstDifference(requests.value, compared);
    if (at === undefined) return;
    const found = compared.map(nameOf);
    const expected = requests.value.flatMap(({ times, text }) => Array.from({ length: times }, () => text));
    const where = ` (from the ${ordinal(at + 1)} on: ${expected[at] ?? 'nothing more'} expected, ${found[at] ?? 'nothing more'} found)`;
    fail(requests.span, inRuns(expected), `${found.length === 0 ? 'none' : inRuns(found)}${where}`);
  },

  requests_exactly({ requestsExactly = [] }, { sent }, fail) {
    for (const { value, span } of requestsExactly) {
      const count = countOf(value.pattern, sent);
      if (count !== value.count) fail(span, `${value.text} ${times(value.count)}`, times(count));
    }
  },

  at_least({ atLeast = [] }, { sent }, fail) {
    for (const { value, span } of atLeast) {
      const count = countOf(value.pattern, sent);
      if (count < value.count) fail(span, `${value.text} at least ${times(value.count)}`, times(count));
    }
  },

  never({ never = [] }, { sent }, fail) {
    for (const { value, span } of never) {
      const which = sent.find(({ name, type }) => isMeant(value.pattern, name, type));
      if (which !== undefined)
        fail(
          span,
          `no ${value.text}`,
          `${times(countOf(value.pattern, sent))}, first as request ${which.number}: ${JSON.stringify(which.params)}`,
        );
    }
  },

  outputs({ outputs = [] }, { report }, fail) {
    for (const { value, span } of outputs) {
      const { name } = value;
      const has = Object.hasOwn(report.outputs, name);
      const found: Json = report.outputs[name] ?? null;
      if (agrees(value.value, found)) continue;
      const others = Object.keys(report.outputs);
      fail(
        span,
        `${name}: ${plainText(value.value)}`,
        has
          ? `${name}: ${plainText(found as Plain)}`
          : `no output ${name}${others.length === 0 ? '' : `; there are ${others.join(', ')}`}`,
      );
    }
  },

  orders({ orders = [] }, { report }, fail) {
    let from = 0;
    for (const { value, span } of orders) {
      const at = report.orders.findIndex((order, index) => index >= from && isOrder(value, order));
      if (at !== -1) from = at + 1;
      else
        fail(
          span,
          fieldsText(value),
          report.orders.length === 0
            ? 'no orders'
            : `none such${from === 0 ? '' : ` behind order ${from}`}; ${report.orders.map(orderText).join('; ')}`,
        );
    }
  },

  notified({ notified = [] }, { entries }, fail) {
    const sent = entries.flatMap((entry) => (entry.type === 'notification.sent' ? [entry.data] : []));
    for (const { value, span } of notified) {
      const holds = sent.some(
        ({ to, text }) => (value.to === undefined || value.to === to) && text.includes(value.text),
      );
      const all = sent.map(({ to, text }) => `${to}: ${text}`);
      if (!holds)
        fail(
          span,
          `${value.to === undefined ? '' : `${value.to}: `}${value.text}`,
          all.length === 0 ? 'no notification' : all.join('; '),
        );
    }
  },

  elapsed({ elapsed }, { report }, fail) {
    if (elapsed === undefined) return;
    const ms = elapsedMs(report);
    if (!elapsed.value.every((bound) => holds(bound, ms)))
      fail(elapsed.span, boundsText(elapsed.value), durationWord(ms));
  },

  tokens({ tokens }, { report }, fail) {
    if (tokens === undefined) return;
    const { used } = report.tokens;
    if (!tokens.value.every((bound) => holds(bound, used))) fail(tokens.span, boundsText(tokens.value), String(used));
  },

  deadman({ deadman }, { report }, fail) {
    if (deadman === undefined) return;
    const renewals = deadman.value.some(({ word }) => word === 'renewed');
    const found = report.deadman.map(({ event }) => event).filter((event) => renewals || event !== 'renewed');
    if (!followsWords(deadman.value, found))
      fail(deadman.span, wordsText(deadman.value), found.length === 0 ? 'none' : inRuns(found));
  },
};

/** Virtual time from start to end, ms. */
export function elapsedMs({ startedAt, endedAt }: Pick<RunReport, 'startedAt' | 'endedAt'>): number {
  return Date.parse(endedAt) - Date.parse(startedAt);
}

function outcomeText({ outcome, reason }: RunReport): string {
  return reason === undefined ? outcome : `${outcome}: ${reason}`;
}

/** The switch and the session are looked after by the engine; everything else that is not a read is the runbook's doing. */
function isWrite(name: EndpointName): boolean {
  const { method, path } = endpoint(name);
  return method !== 'GET' && path !== '/cancel_all_after' && path !== '/jwt';
}

function nameOf({ name, type }: Sent): string {
  return requestName({ endpoint: name, type });
}

function countOf(pattern: RequestPattern, sent: readonly Sent[]): number {
  return sent.filter(({ name, type }) => isMeant(pattern, name, type)).length;
}

function firstDifference(expected: readonly RequestRun[], found: readonly Sent[]): number | undefined {
  const each = expected.flatMap(({ pattern, times: count }) => Array.from({ length: count }, () => pattern));
  for (let index = 0; index < Math.max(each.length, found.length); index += 1) {
    const [pattern, request] = [each[index], found[index]];
    if (pattern === undefined || request === undefined || !isMeant(pattern, request.name, request.type)) return index;
  }
  return undefined;
}

/** A `*` takes as many as there are: what follows it is another word, or the end. */
function followsWords(expected: readonly WordRun[], found: readonly string[]): boolean {
  let at = 0;
  for (const { word, many } of expected) {
    if (found[at] !== word) return false;
    at += 1;
    while (many && found[at] === word) at += 1;
  }
  return at === found.length;
}

function holds({ operator, value }: Bound<number>, found: number): boolean {
  switch (operator) {
    case '<':
      return found < value;
    case '<=':
      return found <= value;
    case '>':
      return found > value;
    case '>=':
      return found >= value;
    case '=':
      return found === value;
    default:
      return operator satisfies never;
  }
}

/** Maps in part, lists as a whole, decimals by value. */
function agrees(expected: Plain, found: Json): boolean {
  if (expected === null || found === null) return expected === found;
  if (Array.isArray(expected))
    return (
      Array.isArray(found) &&
      found.length === expected.length &&
      expected.every((each, index) => agrees(each as Plain, found[index] as Json))
    );
  if (typeof expected === 'object') {
    if (typeof found !== 'object' || Array.isArray(found)) return false;
    return Object.entries(expected).every(([key, each]) =>
      agrees(each as Plain, (found as Readonly<Record<string, Json>>)[key] ?? null),
    );
  }
  if (typeof found === 'object') return false;
  return sameValue(String(expected), String(found));
}

const ORDER_FIELDS: Readonly<Record<string, keyof OrderRow>> = {
  average_price: 'averagePrice',
  order_id: 'orderId',
  client_order_id: 'clientOrderId',
};

function isOrder(expected: Readonly<Record<string, string>>, order: OrderRow): boolean {
  return Object.entries(expected).every(([key, value]) =>
    sameValue(value, order[ORDER_FIELDS[key] ?? (key as keyof OrderRow)]),
  );
}

function orderText({
  orderId,
  clientOrderId,
  type,
  side,
  size,
  market,
  price,
  filled,
  averagePrice,
  state,
}: OrderRow): string {
  const at = price === undefined ? '' : ` at ${price}`;
  const average = averagePrice === undefined ? '' : ` at ${averagePrice}`;
  return `${orderId ?? clientOrderId} ${type} ${side} ${size} ${market}${at}, filled ${filled}${average}, ${state}`;
}

function fieldsText(fields: object): string {
  return Object.entries(fields)
    .filter(([, value]) => value !== undefined)
    .map(([key, value]) => `${key}: ${String(value)}`)
    .join(', ');
}

function plainText(value: Plain): string {
  return value === null ? 'absent' : typeof value === 'object' ? JSON.stringify(value) : String(value);
}

function wordsText(words: readonly WordRun[]): string {
  return words.length === 0 ? 'none' : words.map(({ word, many }) => (many ? `${word}*` : word)).join(', ');
}

function boundsText(bounds: readonly Bound<number>[]): string {
  return bounds.map(({ text }) => text).join(', ');
}

/** `POST /orders limit x5, PUT /orders`. */
function inRuns(words: readonly string[]): string {
  const runs: { readonly word: string; count: number }[] = [];
  for (const word of words) {
    const last = runs.at(-1);
    if (last?.word === word) last.count += 1;
    else runs.push({ word, count: 1 });
  }
  return runs.length === 0
    ? 'none'
    : runs.map(({ word, count }) => (count === 1 ? word : `${word} x${count}`)).join(', ');
}

function times(count: number): string {
  return count === 0 ? 'never' : count === 1 ? 'once' : `${count} times`;
}

function ordinal(number: number): string {
  const last = number % 100;
  const ending = last >= 11 && last <= 13 ? 'th' : ({ 1: 'st', 2: 'nd', 3: 'rd' }[number % 10] ?? 'th');
  return `${number}${ending}`;
}
