/**
 * Reads a test file (language.md, Test files): YAML, its schema, then what a schema can not say, every fault with its place.
 * Defaults are laid under each case here, so that nobody downstream knows of them. It runs nothing.
 */

import { parseDecimal } from '../../base/decimal.ts';
import type { Diagnostic, SourceText, Span } from '../../base/diagnostic.ts';
import { parseDurationMs } from '../../base/duration.ts';
import { printable } from '../../base/printable.ts';
import { didYouMean } from '../../base/schema.ts';
import { readSimulatorConfig, type SimulatorConfig } from '../../gateway/simulator/config.ts';
import type { CheckCode } from '../../runbook/codes/check.ts';
import { finding } from '../../runbook/codes.ts';
import {
  AUTHORED,
  type DocumentLimits,
  type MapNode,
  type Node,
  plainData,
  readDocument,
} from '../../runbook/document.ts';
import { readTime } from '../../runbook/literals.ts';
import { endpoint } from '../../venue/catalogue.ts';
import { exactData } from '../profile-file.ts';
import { readExpectations } from './expectation-reading.ts';
import { fieldsOf, type ReplyCheck, readReply, recordFindings } from './reply-shape.ts';
import { patternOf } from './request-names.ts';
import type {
  ApprovalScript,
  CallRange,
  Crash,
  Expectations,
  FeedPoint,
  FeedScript,
  TestCase,
  TestFile,
  VenueRule,
} from './test-case.ts';
import { schemaFindings } from './test-file-faults.ts';

/** Long files of cases, whose replies may hold null. */
const LIMITS: DocumentLimits = { ...AUTHORED, maxBytes: 4 * 1024 * 1024, maxNodes: 200_000, nulls: 'kept' };
const DEFAULT_CLOCK = Date.UTC(2026, 0, 5, 8);
const DEFAULT_SEED = 1;
const DEFAULT_DOWN_MS = 1000;
const DEFAULT_ANSWER_MS = 1000;

export interface TestFileReading {
  /** Undefined where something is wrong. */
  readonly file: TestFile | undefined;
  readonly diagnostics: readonly Diagnostic[];
}

/** `load` reads a file named in the test file, relative to it; it throws for the caller to catch. */
export function readTestFile(source: SourceText, load: (path: string) => SourceText): TestFileReading {
  const { root, diagnostics } = readDocument(source, LIMITS);
  if (root === undefined) return { file: undefined, diagnostics };
  const shape = [...diagnostics, ...schemaFindings(root, source)];
  if (shape.length > 0 || root.kind !== 'map') return { file: undefined, diagnostics: shape };
  const reading = new Reading(source, load);
  const file = reading.file(root);
  return { file: reading.diagnostics.length > 0 ? undefined : file, diagnostics: distinct(reading.diagnostics) };
}

/** What is wrong with the defaults is wrong for every case; it is said once. */
function distinct(diagnostics: readonly Diagnostic[]): readonly Diagnostic[] {
  return [
    ...new Map(diagnostics.map((each) => [`${each.source.file} ${each.span.start} ${each.message}`, each])).values(),
  ];
}

class Reading {
  readonly diagnostics: Diagnostic[] = [];
  private readonly source: SourceText;
  private readonly load: (path: string) => SourceText;

  constructor(source: SourceText, load: (path: string) => SourceText) {
    this.source = source;
    this.load = load;
  }

  file(root: MapNode): TestFile {
    const tests = root.get('tests');
    const runbook = textOf(tests) ?? '';
    if (!/^[A-Za-z0-9][A-Za-z0-9_-]*$/.test(runbook))
      this.report(tests ?? root, 'invalid-text', `tests names a runbook beside this file, found ${quoted(runbook)}`);
    const defaults = root.get('defaults');
    const under = defaults?.kind === 'map' ? defaults : undefined;
    const cases = root.get('cases');
    const read = (cases?.kind === 'list' ? cases.items : []).flatMap((item) =>
      item.kind === 'map' ? [this.testCase(item, under)] : [],
    );
    this.sameNames(cases);
    return { source: this.source, runbook, cases: read };
  }

  private testCase(node: MapNode, defaults: MapNode | undefined): TestCase {
    const own = (key: string) => node.get(key) ?? defaults?.get(key);
    const both = (key: string) =>
      [defaults?.get(key), node.get(key)].filter((each): each is MapNode => each?.kind === 'map');
    const name = textOf(node.get('name')) ?? '';
    const check = (textOf(own('replies')) ?? 'present') as ReplyCheck;
    const expect = both('expect');
    const expectations = expect
      .map((each) => readExpectations(each, this.source, this.diagnostics))
      .reduce<Expectations>((all, each) => ({ ...all, ...each }), {});
    if (Object.keys(expectations).length === 0 && expect.length === 0)
      this.report(
        node.entry('name')?.span ?? node.span,
        'missing-key',
        `case ${quoted(name)} expects nothing: it could not fail`,
        'Add `expect:` with at least `outcome:`.',
      );
    const clock = own('clock');
    const accountNode = own('account');
    const account = accountNode === undefined ? undefined : this.account(accountNode, both('account'), check);
    return {
      name,
      span: node.entry('name')?.span ?? node.span,
      inputs: Object.fromEntries(
        both('inputs').flatMap((each) =>
          each.entries.map(({ key, keySpan, value, span }) => [key, { text: inputText(value), span, keySpan }]),
        ),
      ),
      clock: clock === undefined ? DEFAULT_CLOCK : this.time(clock),
      seed: integerOf(own('seed')) ?? DEFAULT_SEED,
      simulator: this.simulator(both('simulator'), account, node),
      venueDefault: textOf(own('venue_default')) === 'none' ? 'none' : 'simulated',
      rules: [node.get('venue'), defaults?.get('venue')].flatMap((list) =>
        list?.kind === 'list' ? list.items.flatMap((item) => (item.kind === 'map' ? this.rule(item, check) : [])) : [],
      ),
      account,
      feeds: Object.fromEntries(
        both('feeds').flatMap((each) => each.entries.map(({ key, value }) => [key, this.feed(value)])),
      ),
      approvals: Object.fromEntries(
        both('approvals').flatMap((each) => each.entries.map(({ key, value }) => [key, this.approval(value)])),
      ),
      crashes: this.crashes(own('crash_at')),
      expect: expectations,
    };
  }

  private rule(node: MapNode, check: ReplyCheck): readonly VenueRule[] {
    const on = patternOf(textOf(node.get('on')) ?? '');
    if (on === undefined) return [];
    const { parameters } = endpoint(on.endpoint);
    const match = node.get('match');
    for (const { key, keySpan } of match?.kind === 'map' ? match.entries : []) {
      if (Object.hasOwn(parameters, key)) continue;
      const meant = didYouMean(key, Object.keys(parameters));
      const known =
        Object.keys(parameters).length === 0
          ? 'It has none.'
          : `Its parameters are ${Object.keys(parameters).join(', ')}.`;
      this.report(
        keySpan,
        'unknown-key',
        `${on.endpoint} has no parameter "${printable(key, 60)}"`,
        meant === undefined ? known : `Did you mean ${meant}?`,
      );
    }
    this.exclusive(node);
    const reply = node.get('reply');
    const read = reply === undefined ? undefined : readReply(on.endpoint, reply, check, this.source);
    this.diagnostics.push(...(read?.diagnostics ?? []));
    const malformed = node.get('malformed');
    const lost = textOf(node.get('lost'));
    const headers = node.get('headers');
    return [
      {
        on,
        match: match?.kind === 'map' ? texts(match) : {},
        call: this.call(node.get('call')),
        reply: read?.reply,
        http: integerOf(node.get('http')),
        headers:
          headers?.kind === 'map'
            ? Object.fromEntries(Object.entries(texts(headers)).map(([key, text]) => [key.toLowerCase(), text]))
            : {},
        error: textOf(node.get('error')),
        lost: lost === 'before' || lost === 'after' ? lost : undefined,
        delayMs: this.duration(node.get('delay')) ?? 0,
        malformed:
          malformed?.kind !== 'scalar' || malformed.text === 'false'
            ? undefined
            : malformed.type === 'boolean'
              ? ''
              : malformed.text,
        span: node.span,
      },
    ];
  }

  /** What can not be said of one answer at once. */
  private exclusive(node: MapNode): void {
    const pairs = [
      ['reply', 'error'],
      ['malformed', 'error'],
    ] as const;
    for (const [one, other] of pairs) {
      const entry = node.entry(other);
      if (node.get(one) !== undefined && entry !== undefined)
        this.report(entry.span, 'conflicting-keys', `a rule has either ${one} or ${other}`);
    }
    if (textOf(node.get('lost')) !== 'before') return;
    for (const key of ['reply', 'error', 'http', 'malformed']) {
      const entry = node.entry(key);
      if (entry !== undefined)
        this.report(
          entry.span,
          'conflicting-keys',
          `a request that is lost before it arrives gets no answer: ${key} means nothing here`,
        );
    }
  }

  private call(node: Node | undefined): CallRange | undefined {
    const text = textOf(node);
    if (text === undefined || node === undefined) return undefined;
    const [, from = '', plus, to] = /^(\d+)(\+)?(?:-(\d+))?$/.exec(text) ?? [];
    const first = Number(from);
    const last = plus === undefined ? Number(to ?? from) : Number.POSITIVE_INFINITY;
    if (last < first) this.report(node, 'out-of-range', `call ${text} ends before it begins`);
    return { first, last };
  }

  private account(
    node: Node,
    layers: readonly MapNode[],
    check: ReplyCheck,
  ): Readonly<Record<string, unknown>> | undefined {
    if (node.kind === 'scalar') return this.recordedAccount(node);
    for (const layer of layers)
      this.diagnostics.push(
        ...recordFindings('GET /account', 'account', layer, check === 'strict' ? 'present' : check, this.source),
      );
    return Object.assign({}, ...layers.map((layer) => fieldsOf('account', layer))) as Readonly<Record<string, unknown>>;
  }

  /** A record in a file of its own, bare or in the venue's envelope. */
  private recordedAccount(node: Node): Readonly<Record<string, unknown>> | undefined {
    const path = textOf(node) ?? '';
    let record: Node | undefined;
    let source: SourceText;
    try {
      source = this.load(path);
      record = readDocument(source, LIMITS).root;
    } catch (error) {
      this.report(node, 'invalid-text', error instanceof Error ? error.message : String(error));
      return undefined;
    }
    const result = record?.kind === 'map' ? (record.get('result') ?? record) : undefined;
    const one = result?.kind === 'list' ? result.items[0] : result;
    if (one?.kind !== 'map') {
      this.report(
        node,
        'invalid-text',
        `${printable(path, 200)} holds no account record, nor an answer of GET /account`,
      );
      return undefined;
    }
    const faults = recordFindings('GET /account', 'account', one, 'present', source);
    if (faults.length > 0) this.diagnostics.push(...faults);
    return fieldsOf('account', one);
  }

  /** The simulated account has the equity that the case speaks of, so that its margins agree with what is read. */
  private simulator(
    layers: readonly MapNode[],
    account: Readonly<Record<string, unknown>> | undefined,
    node: MapNode,
  ): SimulatorConfig {
    const data = layers
      .map(plainData)
      .reduce<Readonly<Record<string, unknown>>>(
        (under, over) => deepMerge(under, over as Readonly<Record<string, unknown>>),
        {},
      );
    const equity = account?.['account_equity'] ?? account?.['balance'];
    const whole =
      typeof equity !== 'string' || parseDecimal(equity) === undefined
        ? data
        : deepMerge({ account: { equity } }, data);
    const read = readSimulatorConfig(whole);
    if ('config' in read) return read.config;
    const at = layers.at(-1) ?? node;
    for (const problem of read.problems)
      this.report(
        at,
        'schema-violation',
        `simulator: ${printable(problem, 300)}`,
        'Compare with simulator.schema.json.',
      );
    return {};
  }

  private feed(node: Node): FeedScript {
    if (node.kind !== 'map') return { kind: 'points', points: this.points(node) };
    return {
      kind: 'markets',
      markets: Object.fromEntries(node.entries.map(({ key, value }) => [key, this.points(value)])),
    };
  }

  private points(node: Node): readonly FeedPoint[] {
    if (node.kind === 'scalar') return [{ afterMs: 0, value: this.decimal(node), ageMs: 0 }];
    const points = (node.kind === 'list' ? node.items : []).flatMap((item) => {
      if (item.kind !== 'map') return [];
      const value = item.get('value');
      const readable = value?.kind === 'scalar' && value.type !== 'null' ? this.decimal(value) : undefined;
      return [
        { afterMs: this.duration(item.get('after')) ?? 0, value: readable, ageMs: this.duration(item.get('age')) ?? 0 },
      ];
    });
    return points.sort((a, b) => a.afterMs - b.afterMs);
  }

  private approval(node: Node): ApprovalScript {
    const word = textOf(node.kind === 'map' ? node.get('answer') : node);
    if (word !== 'approve' && word !== 'reject')
      this.report(node, 'unknown-word', `an approval is approve or reject, found ${quoted(word ?? '')}`);
    return {
      answer: word === 'reject' ? 'reject' : 'approve',
      afterMs: (node.kind === 'map' ? this.duration(node.get('after')) : undefined) ?? DEFAULT_ANSWER_MS,
    };
  }

  private crashes(node: Node | undefined): readonly Crash[] {
    const items = node === undefined ? [] : node.kind === 'list' ? node.items : [node];
    return items.flatMap((item) => {
      if (item.kind !== 'map') return [];
      const [before, after] = [textOf(item.get('before')), textOf(item.get('after'))];
      const on = patternOf(before ?? after ?? '');
      if (on === undefined || (before !== undefined && after !== undefined)) {
        this.report(
          item,
          'conflicting-keys',
          'a crash is either before or after a request',
          'Write `crash_at: {after: POST /orders, answer: lost}`.',
        );
        return [];
      }
      const answer = item.entry('answer');
      if (before !== undefined && answer !== undefined)
        this.report(answer.span, 'conflicting-keys', 'before a request leaves there is no answer to lose or to keep');
      return [
        {
          when: before === undefined ? 'after' : 'before',
          on,
          call: integerOf(item.get('call')) ?? 1,
          answer: textOf(answer?.value) === 'kept' ? 'kept' : 'lost',
          downMs: this.duration(item.get('down')) ?? DEFAULT_DOWN_MS,
        } as const,
      ];
    });
  }

  private sameNames(cases: Node | undefined): void {
    const seen = new Set<string>();
    for (const item of cases?.kind === 'list' ? cases.items : []) {
      const name = item.kind === 'map' ? item.get('name') : undefined;
      const text = textOf(name);
      if (text === undefined || name === undefined) continue;
      if (seen.has(text)) this.report(name, 'name-taken', `another case is called ${quoted(text)}`);
      seen.add(text);
    }
  }

  private time(node: Node): number {
    const time = readTime(textOf(node) ?? '');
    if ('value' in time) return time.value.ms;
    this.report(node, 'invalid-text', time.problem);
    return DEFAULT_CLOCK;
  }

  private decimal(node: Node): string | undefined {
    const text = textOf(node) ?? '';
    if (parseDecimal(text) !== undefined) return text;
    this.report(node, 'invalid-text', `a feed's value is a plain decimal, found ${quoted(text)}`);
    return undefined;
  }

  private duration(node: Node | undefined): number | undefined {
    const text = textOf(node);
    return text === undefined ? undefined : parseDurationMs(text);
  }

  private report(at: Node | Span, code: CheckCode, message: string, hint?: string): void {
    this.diagnostics.push(finding(this.source, 'kind' in at ? at.span : at, code, message, hint));
  }
}

export function textOf(node: Node | undefined): string | undefined {
  return node?.kind === 'scalar' && node.type !== 'null' ? node.text : undefined;
}

export function integerOf(node: Node | undefined): number | undefined {
  const text = textOf(node);
  return text !== undefined && /^\d{1,15}$/.test(text) ? Number(text) : undefined;
}

function texts(node: MapNode): Record<string, string> {
  return Object.fromEntries(node.entries.map(({ key, value }) => [key, textOf(value) ?? '']));
}

/** As `--input` would have it: a list or a map as JSON. */
function inputText(node: Node): string {
  return node.kind === 'scalar' ? node.text : JSON.stringify(exactData(node));
}

export function quoted(text: string): string {
  return JSON.stringify(printable(text, 80));
}

type Data = Readonly<Record<string, unknown>>;

/** Maps by key, everything else as a whole. */
function deepMerge(under: Data, over: Data): Data {
  const merged: Record<string, unknown> = { ...under };
  for (const [key, value] of Object.entries(over)) {
    const below = merged[key];
    merged[key] = isData(below) && isData(value) ? deepMerge(below, value) : value;
  }
  return merged;
}

function isData(value: unknown): value is Data {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
