/**
 * Writes violations that the stories of a test file showed as cases of a test file: each has what its case has, what happens in
 * the story, and the expectation that the run is sound. So it fails until its cause is fixed, and then guards it.
 */
import { existsSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import type { SourceText } from '../../base/diagnostic.ts';
import { writeDuration } from '../../base/duration.ts';
import { escapeUnprintable, makePrintable } from '../../base/printable.ts';
import { type MapNode, type Node, readDocument } from '../../runbook/document/document.ts';
import { UserError } from '../errors.ts';
import { readSource, rewriteText, writeNewText } from '../files/files.ts';
import type { FoundViolation } from './exploration.ts';
import { formatRequestName } from './file/request-names.ts';
import { readTestFile, TEST_FILE_LIMITS } from './file/test-file.ts';
import { DOWN_MS, describeStory, type Story } from './story.ts';
import type { ReadyTests } from './tests.ts';

/** What a file says for all its cases: a case means the same in another file only where this is equal. */
const COMMON = ['tests', 'always', 'defaults'] as const;
/** Keys of the case that its story replaces. */
const REPLACED: readonly string[] = ['name', 'about', 'expect', 'venue', 'crash_at', 'simulator'];

/**
 * Appends the cases to the file at `path`, or makes it; returns their names. Throws a UserError for a file that is not about the
 * same runbook with the same defaults, or cannot be written.
 */
export function writeCases(path: string, tested: ReadyTests, found: readonly FoundViolation[]): readonly string[] {
  if (found.length === 0) return [];
  const { source } = tested.file;
  const isNew = !existsSync(path);
  if (dirname(resolve(path)) !== dirname(resolve(tested.path)))
    throw new UserError(`--write-case takes a file beside ${makePrintable(tested.path, 300)}`);
  const target = isNew ? { file: path, text: `${formatCommon(source)}cases:\n` } : readSource(path, 'test file');
  if (formatCommon(target) !== formatCommon(source))
    throw new UserError(
      `${makePrintable(path, 300)} has another \`tests\`, \`always\` or \`defaults\`: its cases mean something else`,
    );
  const cases = readCaseNodes(source);
  const taken = new Set(readCaseNodes(target).map((each) => textOf(each.get('name'))));
  const written = found.map((violation) => {
    const node = cases[violation.index] as MapNode;
    const name = chooseName(`${textOf(node.get('name'))}; ${describeStory(violation.story)}`, taken);
    taken.add(name);
    return { name, lines: formatCase(node, name, violation) };
  });
  const text = appendItems(
    target,
    written.map(({ lines }) => lines),
  );
  const { file } = readTestFile({ file: path, text }, (name) => readSource(resolve(dirname(path), name), 'account'));
  if (file?.cases.length !== readCaseNodes(target).length + written.length)
    throw new UserError(
      `${makePrintable(path, 300)} was not changed: a case cannot be appended to the way it is written`,
    );
  if (isNew) writeNewText(path, text, 'test file');
  else rewriteText(path, text, 'test file');
  return written.map(({ name }) => name);
}

function formatCase(node: MapNode, name: string, { story, problem }: FoundViolation): readonly string[] {
  const rules = story.events.flatMap(({ on, call, change }) =>
    change === undefined ? [] : [formatFlow({ on: formatRequestName(on), call, ...change })],
  );
  const crashes = story.events.flatMap(({ on, call, crash }) => {
    if (crash === undefined) return [];
    const { when, answer } = crash;
    const kept = when === 'before' ? {} : { answer };
    return [formatFlow({ [when]: formatRequestName(on), call, ...kept, down: writeDuration(DOWN_MS) })];
  });
  const own = (key: string): readonly string[] => {
    const value = node.get(key);
    return value === undefined ? [] : value.kind === 'list' ? value.items.map(formatNode) : [formatNode(value)];
  };
  const list = (key: string, items: readonly string[]) =>
    items.length === 0 ? [] : [`${key}:`, ...items.map((item) => `  - ${item}`)];
  return [
    `name: ${formatFlow(name)}`,
    `about: ${formatFlow(makePrintable(problem.text, 500))}`,
    ...node.entries
      .filter(({ key }) => !REPLACED.includes(key))
      .map(({ key, value }) => `${key}: ${formatNode(value)}`),
    ...formatSimulator(node.get('simulator'), story),
    ...list('venue', [...rules, ...own('venue')]),
    ...list('crash_at', [...own('crash_at'), ...crashes]),
    'expect: {sound: true}',
  ];
}

function formatSimulator(given: Node | undefined, { fillLagMs }: Story): readonly string[] {
  const fields =
    given?.kind === 'map' ? given.entries.filter(({ key }) => fillLagMs === undefined || key !== 'fillLagMs') : [];
  const late = fillLagMs === undefined ? [] : [`fillLagMs: ${fillLagMs}`];
  const parts = [...fields.map(({ key, value }) => `${formatKey(key)}: ${formatNode(value)}`), ...late];
  return parts.length === 0 ? [] : [`simulator: {${parts.join(', ')}}`];
}

/** A node on one line, with its values as they were written. */
function formatNode(node: Node): string {
  if (node.kind === 'list') return `[${node.items.map(formatNode).join(', ')}]`;
  if (node.kind === 'map')
    return `{${node.entries.map(({ key, value }) => `${formatKey(key)}: ${formatNode(value)}`).join(', ')}}`;
  return node.style === 'plain' && (node.type !== 'text' || /^[A-Za-z0-9.][\w.+ /-]*$/.test(node.text))
    ? node.text
    : formatFlow(node.text);
}

function formatFlow(value: unknown): string {
  if (typeof value !== 'object' || value === null) return escapeUnprintable(JSON.stringify(value));
  return `{${Object.entries(value)
    .map(([key, each]) => `${formatKey(key)}: ${formatFlow(each)}`)
    .join(', ')}}`;
}

function formatKey(key: string): string {
  return /^[A-Za-z_][\w/ -]*$/.test(key) ? key : formatFlow(key);
}

/** Behind the last case, with its indentation; unchanged where the cases are on one line in brackets. */
function appendItems({ text, file }: SourceText, items: readonly (readonly string[])[]): string {
  const last = readCaseNodes({ file, text }).at(-1);
  const before = last === undefined ? '  - ' : (/[^\n]*$/.exec(text.slice(0, last.span.start))?.[0] ?? '');
  const indent = /^( *)- +$/.exec(before)?.[1];
  if (indent === undefined) return text;
  const written = items.map((lines) => `${indent}- ${lines.join(`\n${indent}  `)}\n`);
  const end = last === undefined ? text.length : endOfLine(text, last.span.end);
  const head = text.slice(0, end);
  const gap = `${head.endsWith('\n') ? '' : '\n'}${last === undefined ? '' : '\n'}`;
  return `${head}${gap}${written.join('\n')}${text.slice(end)}`;
}

/** Behind the line break after a position, which may itself lie behind one. */
function endOfLine(text: string, at: number): number {
  const back = text.slice(0, at).trimEnd().length;
  const next = text.indexOf('\n', back);
  return next === -1 ? text.length : next + 1;
}

function readCaseNodes(source: SourceText): readonly MapNode[] {
  const { root } = readDocument(source, TEST_FILE_LIMITS);
  const cases = root?.kind === 'map' ? root.get('cases') : undefined;
  return cases?.kind === 'list' ? cases.items.filter((item): item is MapNode => item.kind === 'map') : [];
}

function formatCommon(source: SourceText): string {
  const { root } = readDocument(source, TEST_FILE_LIMITS);
  const entries = root?.kind === 'map' ? COMMON.flatMap((key) => root.entry(key) ?? []) : [];
  return entries.map(({ span }) => `${source.text.slice(span.start, span.end).trimEnd()}\n`).join('');
}

function textOf(node: Node | undefined): string {
  return node?.kind === 'scalar' ? node.text : '';
}

function chooseName(name: string, taken: ReadonlySet<string>): string {
  for (let number = 2, chosen = name; ; number += 1) {
    if (!taken.has(chosen)) return chosen;
    chosen = `${name} (${number})`;
  }
}
