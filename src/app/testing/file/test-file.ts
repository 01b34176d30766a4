/**
 * Reads a test file (testing.md, What a case says): YAML, its schema, then what a schema cannot say, every fault with its place.
 * Defaults are laid under each case here, so that nobody downstream knows of them. It runs nothing.
 */

import { parseDecimal } from '../../../base/decimal.ts';
import type { Diagnostic, SourceText } from '../../../base/diagnostic.ts';
import { printable } from '../../../base/printable.ts';
import { readSimulatorConfig, type SimulatorConfig } from '../../../gateway/simulator/config/config.ts';
import { finding } from '../../../runbook/codes/codes.ts';
import {
  AUTHORED,
  type DocumentLimits,
  type MapNode,
  type Node,
  plainData,
  readDocument,
} from '../../../runbook/document/document.ts';
import { readTime } from '../../../runbook/expression/literals.ts';
import { exactData } from '../../files/profile.ts';
import { readExpectations } from './expectations.ts';
import { schemaFindings } from './faults.ts';
import { durationOf, integerOf, mapsOf, quoted, type Report, textOf } from './nodes.ts';
import { fieldsOf, type ReplyCheck, recordFindings } from './reply-shape.ts';
import { readCrashes, readRules } from './rules.ts';
import type { ApprovalScript, Expectations, FeedPoint, FeedScript, TestCase, TestFile } from './test-case.ts';

/** Long files of cases, whose replies may hold null. */
const LIMITS: DocumentLimits = { ...AUTHORED, maxBytes: 4 * 1024 * 1024, maxNodes: 200_000, nulls: 'kept' };
const DEFAULT_CLOCK = Date.UTC(2026, 0, 5, 8);
const DEFAULT_SEED = 1;
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

type AccountFields = Readonly<Record<string, unknown>>;

class Reading {
  readonly diagnostics: Diagnostic[] = [];
  private readonly source: SourceText;
  private readonly load: (path: string) => SourceText;
  private readonly report: Report = (at, code, message, hint) => {
    this.diagnostics.push(finding(this.source, 'kind' in at ? at.span : at, code, message, hint));
  };

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
    const read = mapsOf(cases).map((item) => this.testCase(item, under));
    this.sameNames(mapsOf(cases));
    return { source: this.source, runbook, cases: read };
  }

  private testCase(node: MapNode, defaults: MapNode | undefined): TestCase {
    const own = (key: string) => node.get(key) ?? defaults?.get(key);
    const both = (key: string) =>
      [defaults?.get(key), node.get(key)].filter((each): each is MapNode => each?.kind === 'map');
    const name = textOf(node.get('name')) ?? '';
    const check = (textOf(own('replies')) ?? 'present') as ReplyCheck;
    const expect = both('expect');
    const read = expect.map((each) => readExpectations(each, this.source, this.diagnostics));
    const expectations: Expectations = Object.assign({}, ...read);
    if (Object.keys(expectations).length === 0 && expect.length === 0)
      this.report(
        node.entry('name')?.span ?? node.span,
        'missing-key',
        `case ${quoted(name)} expects nothing: it could not fail`,
        'Add `expect:` with at least `outcome:`.',
      );
    const found = (diagnostics: readonly Diagnostic[]) => void this.diagnostics.push(...diagnostics);
    const rules = { source: this.source, check, report: this.report, found };
    const clock = own('clock');
    const account = this.account([defaults?.get('account'), node.get('account')], check);
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
      rules: [...readRules(node.get('venue'), rules), ...readRules(defaults?.get('venue'), rules)],
      account,
      feeds: Object.fromEntries(
        both('feeds').flatMap((each) => each.entries.map(({ key, value }) => [key, this.feed(value)])),
      ),
      approvals: Object.fromEntries(
        both('approvals').flatMap((each) => each.entries.map(({ key, value }) => [key, this.approval(value)])),
      ),
      crashes: readCrashes(own('crash_at'), this.report),
      expect: expectations,
    };
  }

  /** Fields over fields, or over a record in a file; undefined where nothing is said of the account. */
  private account(layers: readonly (Node | undefined)[], check: ReplyCheck): AccountFields | undefined {
    const given = layers.filter((layer) => layer !== undefined);
    if (given.length === 0) return undefined;
    return Object.assign({}, ...given.map((layer) => this.accountLayer(layer, check))) as AccountFields;
  }

  private accountLayer(layer: Node, check: ReplyCheck): AccountFields {
    if (layer.kind !== 'map') return this.recordedAccount(layer);
    // Nobody writes a whole account into a case, however strict its replies are.
    const needed = check === 'strict' ? 'present' : check;
    this.diagnostics.push(...recordFindings('GET /account', 'account', layer, needed, this.source));
    return fieldsOf('account', layer);
  }

  /** A record in a file of its own, bare or in the venue's envelope. */
  private recordedAccount(node: Node): AccountFields {
    const path = textOf(node) ?? '';
    let record: Node | undefined;
    let source: SourceText;
    try {
      source = this.load(path);
      record = readDocument(source, LIMITS).root;
    } catch (error) {
      this.report(node, 'invalid-text', error instanceof Error ? error.message : String(error));
      return {};
    }
    const result = record?.kind === 'map' ? (record.get('result') ?? record) : undefined;
    const one = result?.kind === 'list' ? result.items[0] : result;
    if (one?.kind !== 'map') {
      this.report(
        node,
        'invalid-text',
        `${printable(path, 200)} holds no account record, nor an answer of GET /account`,
      );
      return {};
    }
    this.diagnostics.push(...recordFindings('GET /account', 'account', one, 'present', source));
    return fieldsOf('account', one);
  }

  /** The simulated account has the equity that the case speaks of, so that its margins agree with what is read. */
  private simulator(layers: readonly MapNode[], account: AccountFields | undefined, node: MapNode): SimulatorConfig {
    const data = layers.map((layer) => plainData(layer) as Data).reduce(deepMerge, {});
    const equity = account?.['account_equity'] ?? account?.['balance'];
    const known = typeof equity === 'string' && parseDecimal(equity) !== undefined;
    const whole = known ? deepMerge({ account: { equity } }, data) : data;
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
        { afterMs: durationOf(item.get('after')) ?? 0, value: readable, ageMs: durationOf(item.get('age')) ?? 0 },
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
      afterMs: (node.kind === 'map' ? durationOf(node.get('after')) : undefined) ?? DEFAULT_ANSWER_MS,
    };
  }

  private sameNames(cases: readonly MapNode[]): void {
    const seen = new Set<string>();
    for (const item of cases) {
      const name = item.get('name');
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
}

/** As `--input` would have it: a list or a map as JSON. */
function inputText(node: Node): string {
  return node.kind === 'scalar' ? node.text : JSON.stringify(exactData(node));
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
