/** Reads the parts of a case about single requests: the venue's rules, and the points where the process dies. */
import { parseDecimal } from '../../../base/decimal.ts';
import type { Diagnostic, SourceText } from '../../../base/diagnostic.ts';
import { makePrintable } from '../../../base/printable.ts';
import { hintMeant, suggestSpelling } from '../../../base/spelling.ts';
import type { MapNode, Node } from '../../../runbook/document/document.ts';
import { suggestWord } from '../../../runbook/foreign-words.ts';
import { getEndpoint, type Parameter } from '../../../venue/catalogue.ts';
import { listMaps, type Report, readDuration, readInteger, readScalarText, readTexts } from './nodes.ts';
import { type ReplyCheck, readReply } from './reply-shape.ts';
import { parseRequestPattern } from './request-names.ts';
import type { CallRange, Crash, RequestPattern, VenueRule } from './test-case.ts';

const DEFAULT_DOWN_MS = 1000;

export interface RuleContext {
  readonly source: SourceText;
  readonly check: ReplyCheck;
  readonly report: Report;
  /** Collects the errors in a reply. */
  readonly found: (diagnostics: readonly Diagnostic[]) => void;
}

export function readRules(list: Node | undefined, context: RuleContext): readonly VenueRule[] {
  return listMaps(list).flatMap((node) => {
    const on = parseRequestPattern(readScalarText(node.get('on')) ?? '');
    return on === undefined ? [] : [readRule(node, on, context)];
  });
}

function readRule(node: MapNode, on: RequestPattern, { source, check, report, found }: RuleContext): VenueRule {
  checkParameters(node.get('match'), on, report);
  checkExclusive(node, report);
  const replyNode = node.get('reply');
  const read = replyNode === undefined ? undefined : readReply(on.endpoint, replyNode, check, source);
  found(read?.diagnostics ?? []);
  const lost = readScalarText(node.get('lost'));
  const headers = Object.entries(readTexts(node.get('headers'))).map(([key, text]) => [key.toLowerCase(), text]);
  return {
    on,
    match: readTexts(node.get('match')),
    call: readCallRange(node.get('call'), report),
    reply: read?.reply,
    http: readInteger(node.get('http')),
    headers: Object.fromEntries(headers),
    error: readScalarText(node.get('error')),
    lost: lost === 'before' || lost === 'after' ? lost : undefined,
    delayMs: readDuration(node.get('delay')) ?? 0,
    malformed: readMalformedBody(node.get('malformed')),
    fills: node.get('fills') === undefined ? undefined : readTexts(node.get('fills')),
    jump: readPrices(node.get('jump'), report),
    span: node.span,
  };
}

function checkParameters(match: Node | undefined, on: RequestPattern, report: Report): void {
  const { parameters } = getEndpoint(on.endpoint);
  const names = Object.keys(parameters);
  for (const { key, keySpan, value } of match?.kind === 'map' ? match.entries : []) {
    if (names.includes(key)) {
      checkWord(key, value, parameters[key], report);
      continue;
    }
    const known = names.length === 0 ? 'It has none.' : `Its parameters are ${names.join(', ')}.`;
    const hint = hintMeant(suggestSpelling(key, names)) ?? known;
    report(keySpan, 'unknown-key', `${on.endpoint} has no parameter "${makePrintable(key, 60)}"`, hint);
  }
}

/** A word that no request has would keep the rule from ever answering. */
function checkWord(key: string, value: Node, parameter: Parameter | undefined, report: Report): void {
  const text = readScalarText(value) ?? '';
  if (parameter?.type !== 'enum' || parameter.values.includes(text)) return;
  const message = `${key} is one of ${parameter.values.join(', ')}; found ${makePrintable(text, 60)}`;
  report(value, 'unknown-word', message, hintMeant(suggestWord(text, parameter.values)));
}

/** Keys that exclude each other in a rule. */
function checkExclusive(node: MapNode, report: Report): void {
  const error = node.entry('error');
  for (const key of ['reply', 'malformed']) {
    if (node.get(key) !== undefined && error !== undefined)
      report(error.span, 'conflicting-keys', `a rule has either ${key} or error`);
  }
  if (readScalarText(node.get('lost')) !== 'before') return;
  for (const key of ['reply', 'error', 'http', 'malformed']) {
    const span = node.entry(key)?.span;
    const message = `a request that is lost before it arrives gets no answer: ${key} has no effect here`;
    if (span !== undefined) report(span, 'conflicting-keys', message);
  }
}

function readCallRange(node: Node | undefined, report: Report): CallRange | undefined {
  const text = readScalarText(node);
  if (text === undefined || node === undefined) return undefined;
  const [, from = '', plus, to] = /^(\d+)(\+)?(?:-(\d+))?$/.exec(text) ?? [];
  const first = Number(from);
  const last = plus === undefined ? Number(to ?? from) : Number.POSITIVE_INFINITY;
  if (last < first) report(node, 'out-of-range', `call ${text} ends before it begins`);
  return { first, last };
}

function readPrices(node: Node | undefined, report: Report): Readonly<Record<string, string>> {
  const prices = readTexts(node);
  for (const { key, value } of node?.kind === 'map' ? node.entries : [])
    if (!parseDecimal(prices[key] ?? '')?.greaterThan(0))
      report(value, 'invalid-text', `a price is a decimal above 0, found ${makePrintable(prices[key] ?? '', 60)}`);
  return prices;
}

/** The body to send instead; empty for the real one cut off. */
function readMalformedBody(node: Node | undefined): string | undefined {
  if (node?.kind !== 'scalar' || (node.type === 'boolean' && node.text === 'false')) return undefined;
  return node.type === 'boolean' ? '' : node.text;
}

export function readCrashes(node: Node | undefined, report: Report): readonly Crash[] {
  return listMaps(node).flatMap((item): readonly Crash[] => {
    const [before, after] = [readScalarText(item.get('before')), readScalarText(item.get('after'))];
    const on = parseRequestPattern(before ?? after ?? '');
    if (on === undefined || (before !== undefined && after !== undefined)) {
      const hint = 'Write `crash_at: {after: POST /orders, answer: lost}`.';
      report(item, 'conflicting-keys', 'a crash is either before or after a request', hint);
      return [];
    }
    const answer = item.entry('answer');
    if (before !== undefined && answer !== undefined)
      report(answer.span, 'conflicting-keys', 'before a request is sent there is no answer to lose or keep');
    return [
      {
        when: before === undefined ? 'after' : 'before',
        on,
        call: readInteger(item.get('call')) ?? 1,
        answer: readScalarText(answer?.value) === 'kept' ? 'kept' : 'lost',
        downMs: readDuration(item.get('down')) ?? DEFAULT_DOWN_MS,
      },
    ];
  });
}
