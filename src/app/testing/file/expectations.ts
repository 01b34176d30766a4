/** Reads `expect:` of a case, whose shape the schema has seen already; what a schema cannot say of it is said here. */
import type { Diagnostic, SourceText, Span } from '../../../base/diagnostic.ts';
import { parseDurationMs } from '../../../base/duration.ts';
import { printable } from '../../../base/printable.ts';
import { didYouMean } from '../../../base/spelling.ts';
import type { CheckCode } from '../../../runbook/codes/check.ts';
import { finding } from '../../../runbook/codes/codes.ts';
import type { ListNode, MapNode, Node } from '../../../runbook/document/document.ts';
import { patternOf, requestRunOf } from './request-names.ts';
import { REQUEST_NAMES } from './schema.ts';
import type { Bound, Expectations, Expected, Plain, RequestPattern, RequestRun, WordRun } from './test-case.ts';

const DEADMAN_EVENTS = ['armed', 'renewed', 'disarmed', 'assumed_fired'] as const;

export function readExpectations(node: MapNode, source: SourceText, found: Diagnostic[]): Expectations {
  const report = (span: Span, code: CheckCode, message: string, hint?: string) =>
    void found.push(finding(source, span, code, message, hint));
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
      const pattern = patternOf(text);
      return pattern === undefined ? [] : [{ value: { pattern, count: Number(scalar(value)), text }, span }];
    });
  const has = (key: string) => node.get(key) !== undefined;

  const read = {
    ...item('outcome', scalar),
    ...item('reason', scalar),
    ...item('error', (value) =>
      value.kind === 'map'
        ? Object.fromEntries(value.entries.map((each) => [each.key, scalar(each.value)]))
        : undefined,
    ),
    ...item('steps', (value) => words(value)),
    ...item('requests', (value) => requestRuns(value, report)),
    ...item('elapsed', (value, span) =>
      bounds(scalar(value), durationMs, span, 'a duration, such as 4s, `>= 4s` or `>= 4s, < 1m`', report),
    ),
    ...item('tokens', (value, span) =>
      bounds(scalar(value), wholeNumber, span, 'a number, such as 120 or `<= 400`', report),
    ),
    ...item('deadman', (value) => deadmanWords(value, report)),
    ...(has('requests_exactly') ? { requestsExactly: counts('requests_exactly') } : {}),
    ...(has('at_least') ? { atLeast: counts('at_least') } : {}),
    ...(has('never') ? { never: list('never').flatMap((each) => meant(each)) } : {}),
    ...(has('outputs')
      ? {
          outputs: entries('outputs').map(({ key, value, span }) => ({
            value: { name: key, value: plain(value) },
            span,
          })),
        }
      : {}),
    ...(has('orders') ? { orders: list('orders').map((each) => ({ value: fields(each), span: each.span })) } : {}),
    ...(has('notified')
      ? { notified: list('notified').map((each) => ({ value: notification(each), span: each.span })) }
      : {}),
  };
  return read as Expectations;
}

type Report = (span: Span, code: CheckCode, message: string, hint?: string) => void;

function scalar(node: Node): string | undefined {
  return node.kind === 'scalar' ? node.text : undefined;
}

function words(node: Node): readonly WordRun[] {
  return (node.kind === 'list' ? node.items : []).map((item) => {
    const text = scalar(item) ?? '';
    return text.endsWith('*') ? { word: text.slice(0, -1), many: true } : { word: text, many: false };
  });
}

function deadmanWords(node: Node, report: Report): readonly WordRun[] {
  const read = words(node);
  for (const [index, { word }] of read.entries()) {
    if ((DEADMAN_EVENTS as readonly string[]).includes(word)) continue;
    const span = node.kind === 'list' ? node.items[index]?.span : undefined;
    const meant = didYouMean(word, DEADMAN_EVENTS);
    report(
      span ?? node.span,
      'unknown-word',
      `the deadman switch is ${DEADMAN_EVENTS.join(', ')}; found ${printable(word, 60)}`,
      meant && `Did you mean ${meant}?`,
    );
  }
  return read;
}

function requestRuns(node: Node, report: Report): readonly RequestRun[] {
  return (node.kind === 'list' ? node.items : []).flatMap((item) => {
    const text = scalar(item) ?? '';
    const read = requestRunOf(text);
    if (read !== undefined) return [read];
    const near = didYouMean(text, REQUEST_NAMES);
    report(
      item.span,
      'unknown-word',
      `${printable(text, 80)} is no request of the venue`,
      near === undefined ? `The requests are ${REQUEST_NAMES.join(', ')}.` : `Did you mean ${near}?`,
    );
    return [];
  });
}

function meant(node: Node): readonly Expected<{ readonly pattern: RequestPattern; readonly text: string }>[] {
  const text = scalar(node) ?? '';
  const pattern = patternOf(text);
  return pattern === undefined ? [] : [{ value: { pattern, text }, span: node.span }];
}

function fields(node: Node): Readonly<Record<string, string>> {
  return node.kind === 'map'
    ? Object.fromEntries(node.entries.map(({ key, value }) => [key, scalar(value) ?? '']))
    : {};
}

function notification(node: Node): { readonly to?: string; readonly text: string } {
  if (node.kind !== 'map') return { text: scalar(node) ?? '' };
  const { to, text = '' } = fields(node);
  return { text, ...(to === undefined ? {} : { to }) };
}

function plain(node: Node): Plain {
  switch (node.kind) {
    case 'list':
      return node.items.map(plain);
    case 'map':
      return Object.fromEntries(node.entries.map(({ key, value }) => [key, plain(value)]));
    case 'scalar':
      if (node.type === 'null') return null;
      return node.type === 'boolean' ? node.text === 'true' : node.text;
    default:
      return node satisfies never;
  }
}

/** `>= 4s, < 1m`: every bound must hold. */
function bounds<T>(
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
  report(span, 'invalid-text', `this takes ${accepts}; found ${printable(text ?? '', 60)}`);
  return undefined;
}

function durationMs(text: string): number | undefined {
  const ms = parseDurationMs(text);
  return ms === undefined || ms < 0 ? undefined : ms;
}

function wholeNumber(text: string): number | undefined {
  return /^\d{1,9}$/.test(text) ? Number(text) : undefined;
}
