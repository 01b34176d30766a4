/**
 * Compares a case's expectations with what happened. Each failed expectation gives the expected value, the found value, and its
 * position in the file. Pure.
 */
import { findPosition, type SourceText, type Span } from '../../base/diagnostic.ts';
import { writeDuration } from '../../base/duration.ts';
import { makePrintable } from '../../base/printable.ts';
import type { Json } from '../../journal/entry.ts';
import type { OrderRow } from '../../report/folds/orders.ts';
import type { RunReport } from '../../report/folds/run.ts';
import { formatAmount } from '../../report/format.ts';
import { isEndpointName, isRunbookWrite } from '../../venue/catalogue.ts';
import type { CaseResult } from './case-run.ts';
import { formatRequestName } from './file/request-names.ts';
import {
  type Expectations,
  fitsBounds,
  formatBounds,
  isMeant,
  MONEY_SUMS,
  type Plain,
  type RequestPattern,
  type RequestRun,
  type WordRun,
} from './file/test-case.ts';
import { checkPosition, checkSum } from './money.ts';
import { isSameValue } from './venue/rules.ts';
import type { Sent } from './venue/venue.ts';

/** A failure in the form of `--json`: line and column count from 1. */
export interface Failure {
  /** Key of the expectation, or `run` where the case could not be executed. */
  readonly expectation: string;
  readonly expected: string;
  readonly found: string;
  readonly file: string;
  readonly line: number;
  readonly column: number;
}

/** The judged parts of a result. */
export type Judged = Pick<CaseResult, 'entries' | 'report'> & { readonly sent: readonly Sent[] };

export function findFailures(expect: Expectations, judged: Judged, source: SourceText): readonly Failure[] {
  const failures: Failure[] = [];
  const fail = (expectation: string, span: Span, expected: string, found: string) => {
    failures.push(makeFailure(source, span, expectation, expected, found));
  };
  for (const [key, check] of Object.entries(CHECKS))
    check(expect, judged, (span, expected, found) => fail(key, span, expected, found));
  return failures.sort((a, b) => a.line - b.line || a.column - b.column);
}

export function makeFailure(
  source: SourceText,
  span: Span,
  expectation: string,
  expected: string,
  found: string,
): Failure {
  const { line, column } = findPosition(source.text, span.start);
  return {
    expectation,
    expected: makePrintable(expected, 2000),
    found: makePrintable(found, 2000),
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
    fail(outcome.span, outcome.value, describeOutcome(report));
  },

  reason({ reason }, { report }, fail) {
    if (reason === undefined) return;
    const found = report.reason ?? '';
    // The reason of a `stop` is compared whole; of a failure's message the expectation may give a part.
    const holds = report.outcome === 'stopped' ? found === reason.value : found.includes(reason.value);
    if (!holds) fail(reason.span, reason.value, report.reason ?? `no reason; ${describeOutcome(report)}`);
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
        formatFields(error.value),
        found === undefined ? `no error; ${describeOutcome(report)}` : formatFields({ ...found }),
      );
  },

  steps({ steps }, { report }, fail) {
    if (steps === undefined) return;
    const ran = report.steps.flatMap(({ id, outcome }) => (id === undefined || outcome === 'skipped' ? [] : [id]));
    if (!followsWords(steps.value, ran)) fail(steps.span, formatWords(steps.value), formatRuns(ran));
  },

  requests({ requests }, { sent }, fail) {
    if (requests === undefined) return;
    const named = new Set(requests.value.map(({ pattern }) => pattern.endpoint));
    const compared = sent.filter(({ name }) => isEndpointName(name) && (isRunbookWrite(name) || named.has(name)));
    const at = findFirstDifference(requests.value, compared);
    if (at === undefined) return;
    const found = compared.map(({ name, type }) => formatRequestName({ endpoint: name, type }));
    const expected = requests.value.flatMap(({ times, text }) => Array.from({ length: times }, () => text));
    const where = ` (from the ${formatOrdinal(at + 1)} on: ${expected[at] ?? 'nothing more'} expected, ${found[at] ?? 'nothing more'} found)`;
    fail(requests.span, formatRuns(expected), `${formatRuns(found)}${where}`);
  },

  requests_exactly({ requestsExactly = [] }, { sent }, fail) {
    for (const { value, span } of requestsExactly) {
      const count = countRequests(value.pattern, sent);
      if (count !== value.count) fail(span, `${value.text} ${formatTimes(value.count)}`, formatTimes(count));
    }
  },

  at_least({ atLeast = [] }, { sent }, fail) {
    for (const { value, span } of atLeast) {
      const count = countRequests(value.pattern, sent);
      if (count < value.count) fail(span, `${value.text} at least ${formatTimes(value.count)}`, formatTimes(count));
    }
  },

  never({ never = [] }, { sent }, fail) {
    for (const { value, span } of never) {
      const which = sent.find(({ name, type }) => isMeant(value.pattern, name, type));
      if (which !== undefined)
        fail(
          span,
          `no ${value.text}`,
          `${formatTimes(countRequests(value.pattern, sent))}, first as request ${which.number}: ${JSON.stringify(which.params)}`,
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
        `${name}: ${formatPlain(value.value)}`,
        has
          ? `${name}: ${formatPlain(found as Plain)}`
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
          formatFields(value),
          report.orders.length === 0
            ? 'no orders'
            : `none such${from === 0 ? '' : ` behind order ${from}`}; ${report.orders.map(describeOrder).join('; ')}`,
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
    const ms = measureElapsed(report);
    if (!fitsBounds(elapsed.value, (bound) => ms - bound))
      fail(elapsed.span, formatBounds(elapsed.value), writeDuration(ms));
  },

  tokens({ tokens }, { report }, fail) {
    if (tokens === undefined) return;
    const { used } = report.tokens;
    if (!fitsBounds(tokens.value, (bound) => used - bound)) fail(tokens.span, formatBounds(tokens.value), String(used));
  },

  deadman({ deadman }, { report }, fail) {
    if (deadman === undefined) return;
    const renewals = deadman.value.some(({ word }) => word === 'renewed');
    const found = report.deadman.map(({ event }) => event).filter((event) => renewals || event !== 'renewed');
    if (!followsWords(deadman.value, found)) fail(deadman.span, formatWords(deadman.value), formatRuns(found));
  },

  position: (expect, { report }, fail) => checkPosition(expect, report, fail),
  ...Object.fromEntries(MONEY_SUMS.map((name) => [name, checkSum(name)])),
};

/** Virtual time from start to end, ms. */
export function measureElapsed({ startedAt, endedAt }: Pick<RunReport, 'startedAt' | 'endedAt'>): number {
  return Date.parse(endedAt) - Date.parse(startedAt);
}

function describeOutcome({ outcome, reason }: RunReport): string {
  return reason === undefined ? outcome : `${outcome}: ${reason}`;
}

function countRequests(pattern: RequestPattern, sent: readonly Sent[]): number {
  return sent.filter(({ name, type }) => isMeant(pattern, name, type)).length;
}

function findFirstDifference(expected: readonly RequestRun[], found: readonly Sent[]): number | undefined {
  const each = expected.flatMap(({ pattern, times: count }) => Array.from({ length: count }, () => pattern));
  for (let index = 0; index < Math.max(each.length, found.length); index += 1) {
    const [pattern, request] = [each[index], found[index]];
    if (pattern === undefined || request === undefined || !isMeant(pattern, request.name, request.type)) return index;
  }
  return undefined;
}

/** A `*` takes all repetitions: a different word or the end follows it. */
function followsWords(expected: readonly WordRun[], found: readonly string[]): boolean {
  let at = 0;
  for (const { word, many } of expected) {
    if (found[at] !== word) return false;
    at += 1;
    while (many && found[at] === word) at += 1;
  }
  return at === found.length;
}

/** Compares maps in part, lists as a whole, decimals by value. */
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
  return isSameValue(String(expected), String(found));
}

const ORDER_FIELDS: Readonly<Record<string, keyof OrderRow>> = {
  average_price: 'averagePrice',
  order_id: 'orderId',
  client_order_id: 'clientOrderId',
};

function isOrder(expected: Readonly<Record<string, string>>, order: OrderRow): boolean {
  return Object.entries(expected).every(([key, value]) =>
    isSameValue(value, order[ORDER_FIELDS[key] ?? (key as keyof OrderRow)]),
  );
}

function describeOrder({
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
  return `${orderId ?? clientOrderId} ${type} ${side} ${formatAmount({ type, size, market })}${at}, filled ${filled}${average}, ${state}`;
}

function formatFields(fields: object): string {
  return Object.entries(fields)
    .filter(([, value]) => value !== undefined)
    .map(([key, value]) => `${key}: ${String(value)}`)
    .join(', ');
}

function formatPlain(value: Plain): string {
  return value === null ? 'absent' : typeof value === 'object' ? JSON.stringify(value) : String(value);
}

function formatWords(words: readonly WordRun[]): string {
  return words.length === 0 ? 'none' : words.map(({ word, many }) => (many ? `${word}*` : word)).join(', ');
}

/** `POST /orders limit x5, PUT /orders`. */
function formatRuns(words: readonly string[]): string {
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

function formatTimes(count: number): string {
  return count === 0 ? 'never' : count === 1 ? 'once' : `${count} times`;
}

function formatOrdinal(number: number): string {
  const last = number % 100;
  const ending = last >= 11 && last <= 13 ? 'th' : ({ 1: 'st', 2: 'nd', 3: 'rd' }[number % 10] ?? 'th');
  return `${number}${ending}`;
}
