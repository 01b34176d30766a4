/**
 * Reads a test file (testing.md, What a case says): YAML, its schema, then what a schema cannot check; every error has its
 * position. Defaults are merged into each case here, so that later code does not see them. Executes nothing.
 */

import { parseDecimal } from '../../../base/decimal.ts';
import type { Diagnostic, SourceText } from '../../../base/diagnostic.ts';
import { isRecord } from '../../../base/json.ts';
import { makePrintable } from '../../../base/printable.ts';
import { hintMeant } from '../../../base/spelling.ts';
import { readSimulatorConfig, type SimulatorConfig } from '../../../gateway/simulator/config/config.ts';
import { makeFinding } from '../../../runbook/codes/codes.ts';
import {
  AUTHORED,
  type DocumentLimits,
  type MapNode,
  type Node,
  plainData,
  readDocument,
  readExactData,
} from '../../../runbook/document/document.ts';
import type { ScalarNode } from '../../../runbook/document/nodes.ts';
import { readTime } from '../../../runbook/expression/literals.ts';
import { suggestWord } from '../../../runbook/foreign-words.ts';
import { placeProblem } from '../../files/simulator.ts';
import { readExpectations } from './expectations.ts';
import { findSchemaErrors } from './faults.ts';
import { listMaps, quoteText, type Report, readDuration, readInteger, readScalarText } from './nodes.ts';
import { pruneRefused } from './pruning.ts';
import { checkRecord, type ReplyCheck, readFields } from './reply-shape.ts';
import { readCrashes, readRules } from './rules.ts';
import type { ApprovalScript, Expectations, FeedPoint, FeedScript, TestCase, TestFile } from './test-case.ts';

/** For long files of cases; replies may contain null. */
export const TEST_FILE_LIMITS: DocumentLimits = {
  ...AUTHORED,
  maxBytes: 4 * 1024 * 1024,
  maxNodes: 200_000,
  nulls: 'kept',
};
const DEFAULT_CLOCK = Date.UTC(2026, 0, 5, 8);
const DEFAULT_SEED = 1;
const DEFAULT_ANSWER_MS = 1000;

export interface TestFileReading {
  /** Undefined when there are errors. */
  readonly file: TestFile | undefined;
  /** What could be read, errors or not: its names can still be checked. */
  readonly readable: TestFile | undefined;
  readonly diagnostics: readonly Diagnostic[];
}

/** `load` reads a file named in the test file, relative to it; it may throw. */
export function readTestFile(source: SourceText, load: (path: string) => SourceText): TestFileReading {
  const { root, diagnostics } = readDocument(source, TEST_FILE_LIMITS);
  if (root === undefined) return { file: undefined, readable: undefined, diagnostics };
  const shape = [...diagnostics, ...findSchemaErrors(root, source)];
  const sound = shape.length === 0 ? root : pruneRefused(root);
  if (sound?.kind !== 'map') return { file: undefined, readable: undefined, diagnostics: shape };
  const reading = new Reading(source, load);
  const readable = reading.readFile(sound);
  const found = dropDuplicates(reading.diagnostics);
  if (shape.length === 0) return { file: found.length > 0 ? undefined : readable, readable, diagnostics: found };
  // What seems to be missing may be what was refused, and what is wrong with a value may follow from what was refused in it.
  const follows = ({ code, span }: Diagnostic) =>
    code === 'missing-key' || shape.some(({ span: { start, end } }) => span.start <= start && end <= span.end);
  return { file: undefined, readable, diagnostics: [...shape, ...found.filter((each) => !follows(each))] };
}

/** An error in the defaults affects every case; it is reported once. */
function dropDuplicates(diagnostics: readonly Diagnostic[]): readonly Diagnostic[] {
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
    this.diagnostics.push(makeFinding(this.source, 'kind' in at ? at.span : at, code, message, hint));
  };

  constructor(source: SourceText, load: (path: string) => SourceText) {
    this.source = source;
    this.load = load;
  }

  readFile(root: MapNode): TestFile {
    const tests = root.get('tests');
    const runbook = readScalarText(tests) ?? '';
    if (!/^[A-Za-z0-9][A-Za-z0-9_-]*$/.test(runbook))
      this.report(tests ?? root, 'invalid-text', `tests names a runbook beside this file, found ${quoteText(runbook)}`);
    const defaults = root.get('defaults');
    const under = defaults?.kind === 'map' ? defaults : undefined;
    const cases = root.get('cases');
    const always = listScalars(root.get('always'));
    const read = listMaps(cases).map((item) => this.readTestCase(item, under, always));
    this.checkNames(listMaps(cases));
    return { source: this.source, runbook, cases: read };
  }

  private readTestCase(node: MapNode, defaults: MapNode | undefined, always: readonly ScalarNode[]): TestCase {
    const own = (key: string) => node.get(key) ?? defaults?.get(key);
    const both = (key: string) =>
      [defaults?.get(key), node.get(key)].filter((each): each is MapNode => each?.kind === 'map');
    const name = readScalarText(node.get('name')) ?? '';
    const check = (readScalarText(own('replies')) ?? 'present') as ReplyCheck;
    const expect = both('expect');
    const read = expect.map((each) => readExpectations(each, this.report));
    const expectations: Expectations = Object.assign({}, ...read);
    if (Object.keys(expectations).length === 0 && expect.length === 0)
      this.report(
        node.entry('name')?.span ?? node.span,
        'missing-key',
        `case ${quoteText(name)} expects nothing: it could not fail`,
        'Add `expect:` with at least `outcome:`.',
      );
    const found = (diagnostics: readonly Diagnostic[]) => void this.diagnostics.push(...diagnostics);
    const rules = { source: this.source, check, report: this.report, found };
    const clock = own('clock');
    const account = this.readAccount([defaults?.get('account'), node.get('account')], check);
    return {
      name,
      span: node.entry('name')?.span ?? node.span,
      inputs: Object.fromEntries(
        both('inputs').flatMap((each) =>
          each.entries.map(({ key, keySpan, value, span }) => [key, { text: formatInput(value), span, keySpan }]),
        ),
      ),
      clock: clock === undefined ? DEFAULT_CLOCK : this.readTime(clock),
      seed: readInteger(own('seed')) ?? DEFAULT_SEED,
      simulator: this.readSimulator(both('simulator'), account, node),
      venueDefault: readScalarText(own('venue_default')) === 'none' ? 'none' : 'simulated',
      rules: [...readRules(node.get('venue'), rules), ...readRules(defaults?.get('venue'), rules)],
      account,
      feeds: Object.fromEntries(
        both('feeds').flatMap((each) =>
          each.entries.map(({ key, value, keySpan }) => [key, { ...this.readFeed(value), keySpan }]),
        ),
      ),
      approvals: Object.fromEntries(
        both('approvals').flatMap((each) =>
          each.entries.map(({ key, value, keySpan }) => [key, { ...this.readApproval(value), keySpan }]),
        ),
      ),
      crashes: readCrashes(own('crash_at'), this.report),
      always: [...always, ...listScalars(node.get('always'))],
      expect: expectations,
    };
  }

  /** Fields over fields, or over a record from a file; undefined where the account is not mentioned. */
  private readAccount(layers: readonly (Node | undefined)[], check: ReplyCheck): AccountFields | undefined {
    const given = layers.filter((layer) => layer !== undefined);
    if (given.length === 0) return undefined;
    return Object.assign({}, ...given.map((layer) => this.readAccountLayer(layer, check))) as AccountFields;
  }

  private readAccountLayer(layer: Node, check: ReplyCheck): AccountFields {
    if (layer.kind !== 'map') return this.readRecordedAccount(layer);
    // The strict check does not apply here: cases do not give whole accounts.
    const needed = check === 'strict' ? 'present' : check;
    this.diagnostics.push(...checkRecord('GET /account', 'account', layer, needed, this.source));
    return readFields('account', layer);
  }

  /** A record in a separate file, bare or in the venue's envelope. */
  private readRecordedAccount(node: Node): AccountFields {
    const path = readScalarText(node) ?? '';
    let record: Node | undefined;
    let source: SourceText;
    try {
      source = this.load(path);
      record = readDocument(source, TEST_FILE_LIMITS).root;
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
        `${makePrintable(path, 200)} contains no account record and no answer of GET /account`,
      );
      return {};
    }
    this.diagnostics.push(...checkRecord('GET /account', 'account', one, 'present', source));
    return readFields('account', one);
  }

  /** The simulated account gets the equity of the case, so that its margins agree with the account record. */
  private readSimulator(
    layers: readonly MapNode[],
    account: AccountFields | undefined,
    node: MapNode,
  ): SimulatorConfig {
    const data = layers.map((layer) => plainData(layer) as Data).reduce(mergeDeep, {});
    const equity = account?.['account_equity'] ?? account?.['balance'];
    const known = typeof equity === 'string' && parseDecimal(equity) !== undefined;
    const whole = known ? mergeDeep({ account: { equity } }, data) : data;
    const read = readSimulatorConfig(whole);
    if ('config' in read) return read.config;
    for (const problem of read.problems) {
      const { span, message, hint } = placeProblem(problem, layers.length === 0 ? [node] : layers);
      this.report(span, 'schema-violation', `simulator: ${message}`, hint ?? 'Compare with simulator.schema.json.');
    }
    return {};
  }

  private readFeed(node: Node): FeedScript {
    if (node.kind !== 'map') return { kind: 'points', points: this.readPoints(node) };
    return {
      kind: 'markets',
      markets: Object.fromEntries(node.entries.map(({ key, value }) => [key, this.readPoints(value)])),
    };
  }

  private readPoints(node: Node): readonly FeedPoint[] {
    if (node.kind === 'scalar') return [{ afterMs: 0, value: this.readDecimal(node), ageMs: 0 }];
    const points = (node.kind === 'list' ? node.items : []).flatMap((item) => {
      if (item.kind !== 'map') return [];
      const value = item.get('value');
      const readable = value?.kind === 'scalar' && value.type !== 'null' ? this.readDecimal(value) : undefined;
      return [
        { afterMs: readDuration(item.get('after')) ?? 0, value: readable, ageMs: readDuration(item.get('age')) ?? 0 },
      ];
    });
    return points.sort((a, b) => a.afterMs - b.afterMs);
  }

  private readApproval(node: Node): ApprovalScript {
    const word = readScalarText(node.kind === 'map' ? node.get('answer') : node);
    if (word !== 'approve' && word !== 'reject') {
      this.report(
        node,
        'unknown-word',
        `an approval is approve or reject, found ${quoteText(word ?? '')}`,
        hintMeant(suggestWord(word ?? '', ['approve', 'reject'])),
      );
    }
    return {
      answer: word === 'reject' ? 'reject' : 'approve',
      afterMs: (node.kind === 'map' ? readDuration(node.get('after')) : undefined) ?? DEFAULT_ANSWER_MS,
    };
  }

  private checkNames(cases: readonly MapNode[]): void {
    const seen = new Set<string>();
    for (const item of cases) {
      const name = item.get('name');
      const text = readScalarText(name);
      if (text === undefined || name === undefined) continue;
      if (seen.has(text)) this.report(name, 'name-taken', `another case has the name ${quoteText(text)}`);
      seen.add(text);
    }
  }

  private readTime(node: Node): number {
    const time = readTime(readScalarText(node) ?? '');
    if ('value' in time) return time.value.ms;
    this.report(node, 'invalid-text', time.problem);
    return DEFAULT_CLOCK;
  }

  private readDecimal(node: Node): string | undefined {
    const text = readScalarText(node) ?? '';
    if (parseDecimal(text) !== undefined) return text;
    this.report(node, 'invalid-text', `a feed's value is a plain decimal, found ${quoteText(text)}`);
    return undefined;
  }
}

function listScalars(node: Node | undefined): readonly ScalarNode[] {
  return node?.kind === 'list' ? node.items.filter((item) => item.kind === 'scalar') : [];
}

/** In the form of `--input`: a list or a map as JSON. */
function formatInput(node: Node): string {
  return node.kind === 'scalar' ? node.text : JSON.stringify(readExactData(node));
}

type Data = Readonly<Record<string, unknown>>;

/** Merges maps by key, replaces everything else. */
function mergeDeep(under: Data, over: Data): Data {
  const merged: Record<string, unknown> = { ...under };
  for (const [key, value] of Object.entries(over)) {
    const below = merged[key];
    merged[key] = isRecord(below) && isRecord(value) ? mergeDeep(below, value) : value;
  }
  return merged;
}
