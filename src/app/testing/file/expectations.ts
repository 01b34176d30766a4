/** Reads `expect:` of a case after the schema check, and reports what a schema cannot check. */
import { parseDecimal } from '../../../base/decimal.ts';
import type { Span } from '../../../base/diagnostic.ts';
import { parseDurationMs } from '../../../base/duration.ts';
import { makePrintable } from '../../../base/printable.ts';
import { hintMeant, suggestSpelling } from '../../../base/spelling.ts';
import { type ListNode, type MapNode, type Node, readExactData } from '../../../runbook/document/document.ts';
import { type Report, readScalarText, readTexts } from './nodes.ts';
import { parseRequestPattern, parseRequestRun } from './request-names.ts';
import { REQUEST_NAMES } from './schema.ts';
import {
  type Bound,
  type Expectations,
  type Expected,
  MONEY_SUMS,
  type Plain,
  type RequestPattern,
  type RequestRun,
  type WordRun,
} from './test-case.ts';

const AMOUNT = 'a number, such as 0, `> 10` or `>= -5, < 5`';

const DEADMAN_EVENTS = ['armed', 'renewed', 'disarmed', 'assumed_fired'] as const;

export function readExpectations(node: MapNode, report: Report): Expectations {
  const item = <T>(
    key: string,
    read: (value: Node, span: Span) => T | undefined,
  ): { readonly [K in string]: Expected<T> } => {
    const entry = node.entry(key);
    const value = entry === undefined ? undefined : read(entry.value, entry.span);
    return entry === undefined || value === undefined ? {} : { [key]: { value, span: entry.span } };
  };
  const list = (key: string): ListNode['items'] => {
    const value = node.get(key);
    return value?.kind === 'list' ? value.items : [];
  };
  const entries = (key: string): MapNode['entries'] => {
    const value = node.get(key);
    return value?.kind === 'map' ? value.entries : [];
  };
  const counts = (key: string) =>
    entries(key).flatMap(({ key: text, value, span }) => {
      const pattern = parseRequestPattern(text);
      return pattern === undefined ? [] : [{ value: { pattern, count: Number(readScalarText(value)), text }, span }];
    });
  const has = (key: string) => node.get(key) !== undefined;

  const read = {
    ...item('outcome', readScalarText),
    ...item('reason', readScalarText),
    ...item('sound', readScalarText),
    ...item('error', (value) =>
      value.kind === 'map'
        ? Object.fromEntries(value.entries.map((each) => [each.key, readScalarText(each.value)]))
        : undefined,
    ),
    ...item('steps', (value) => readWords(value)),
    ...item('requests', (value) => readRequestRuns(value, report)),
    ...item('elapsed', (value, span) =>
      readBounds(
        readScalarText(value),
        parseDuration,
        span,
        'a duration, such as 4s, `>= 4s` or `>= 4s, < 1m`',
        report,
      ),
    ),
    ...item('tokens', (value, span) =>
      readBounds(readScalarText(value), parseWholeNumber, span, 'a number, such as 120 or `<= 400`', report),
    ),
    ...item('deadman', (value) => readDeadmanWords(value, report)),
    ...Object.assign(
      {},
      ...MONEY_SUMS.map((name) =>
        item(name, (value, span) => readBounds(readScalarText(value), parseDecimal, span, AMOUNT, report)),
      ),
    ),
    ...(has('position')
      ? {
          position: entries('position').flatMap(({ key, value, span }) => {
            const bounds = readBounds(readScalarText(value), parseDecimal, span, AMOUNT, report);
            return bounds === undefined ? [] : [{ value: { market: key, bounds }, span }];
          }),
        }
      : {}),
    ...(has('requests_exactly') ? { requestsExactly: counts('requests_exactly') } : {}),
    ...(has('at_least') ? { atLeast: counts('at_least') } : {}),
    ...(has('never') ? { never: list('never').flatMap((each) => readRequests(each)) } : {}),
    ...(has('outputs')
      ? {
          outputs: entries('outputs').map(({ key, value, span }) => ({
            value: { name: key, value: readExactData(value) as Plain },
            span,
          })),
        }
      : {}),
    ...(has('orders') ? { orders: list('orders').map((each) => ({ value: readTexts(each), span: each.span })) } : {}),
    ...(has('notified')
      ? { notified: list('notified').map((each) => ({ value: readNotification(each), span: each.span })) }
      : {}),
  };
  return read as Expectations;
}

function readWords(node: Node): readonly WordRun[] {
  return (node.kind === 'list' ? node.items : []).map((item) => {
    const text = readScalarText(item) ?? '';
    return text.endsWith('*') ? { word: text.slice(0, -1), many: true } : { word: text, many: false };
  });
}

function readDeadmanWords(node: Node, report: Report): readonly WordRun[] {
  const read = readWords(node);
  for (const [index, { word }] of read.entries()) {
    if ((DEADMAN_EVENTS as readonly string[]).includes(word)) continue;
    const span = node.kind === 'list' ? node.items[index]?.span : undefined;
    report(
      span ?? node.span,
      'unknown-word',
      `the deadman switch is ${DEADMAN_EVENTS.join(', ')}; found ${makePrintable(word, 60)}`,
      hintMeant(suggestSpelling(word, DEADMAN_EVENTS)),
    );
  }
  return read;
}

function readRequestRuns(node: Node, report: Report): readonly RequestRun[] {
  return (node.kind === 'list' ? node.items : []).flatMap((item) => {
    const text = readScalarText(item) ?? '';
    const read = parseRequestRun(text);
    if (read !== undefined) return [read];
    report(
      item.span,
      'unknown-word',
      `${makePrintable(text, 80)} is not a request of the venue`,
      hintMeant(suggestSpelling(text, REQUEST_NAMES)) ?? `The requests are ${REQUEST_NAMES.join(', ')}.`,
    );
    return [];
  });
}

function readRequests(node: Node): readonly Expected<{ readonly pattern: RequestPattern; readonly text: string }>[] {
  const text = readScalarText(node) ?? '';
  const pattern = parseRequestPattern(text);
  return pattern === undefined ? [] : [{ value: { pattern, text }, span: node.span }];
}

function readNotification(node: Node): { readonly to?: string; readonly text: string } {
  if (node.kind !== 'map') return { text: readScalarText(node) ?? '' };
  const { to, text = '' } = readTexts(node);
  return { text, ...(to === undefined ? {} : { to }) };
}

/** `>= 4s, < 1m`: all bounds must hold. */
function readBounds<T>(
  text: string | undefined,
  read: (text: string) => T | undefined,
  span: Span,
  accepts: string,
  report: Report,
): readonly Bound<T>[] | undefined {
  const parts = (text ?? '').split(',').map((each) => each.trim());
  const found = parts.map((part): Bound<T> | undefined => {
    const [, operator = '=', rest = ''] = /^(<=|>=|<|>|=)?\s*(.+)$/.exec(part) ?? [];
    const value = read(rest);
    return value === undefined ? undefined : { operator: operator as Bound<T>['operator'], value, text: part };
  });
  if (found.every((each) => each !== undefined)) return found;
  report(span, 'invalid-text', `this takes ${accepts}; found ${makePrintable(text ?? '', 60)}`);
  return undefined;
}

function parseDuration(text: string): number | undefined {
  const ms = parseDurationMs(text);
  return ms === undefined || ms < 0 ? undefined : ms;
}

function parseWholeNumber(text: string): number | undefined {
  return /^\d{1,9}$/.test(text) ? Number(text) : undefined;
}
