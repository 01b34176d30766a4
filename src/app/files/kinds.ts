/**
 * Recognizes the files of a project: runbooks, their tests, configurations of the simulated venue, fixtures and profiles. Looks
 * at the keys at the beginning of lines, so that a file with mistakes in it is recognized too; opens nothing.
 */
import type { SourceText } from '../../base/diagnostic.ts';
import { makePrintable } from '../../base/printable.ts';
import { SIMULATOR_SCHEMA } from '../../gateway/simulator/config/schema.ts';
import { readDocument } from '../../runbook/document/document.ts';
import { UserError } from '../errors.ts';

export type FileKind = 'runbook' | 'test' | 'simulator' | 'fixture' | 'profile';

/** Keys at the top of a file that only this kind has, the most telling first. */
const MARKS: readonly (readonly [kind: FileKind, keys: readonly string[]])[] = [
  ['fixture', ['fixture']],
  ['test', ['tests', 'cases']],
  ['profile', ['profile', 'base_url']],
  ['runbook', ['runbook', 'dsl', 'steps']],
];

/** Keys of a simulator's configuration; at least half of a file's keys must be among them. */
const SIMULATOR_KEYS: ReadonlySet<string> = new Set(Object.keys(SIMULATOR_SCHEMA.properties));

const NAMES: Readonly<Record<FileKind, string>> = {
  runbook: 'a runbook',
  test: 'a test file',
  simulator: 'a configuration of the simulated venue',
  fixture: 'a recording',
  profile: 'a profile',
};

/** For a file that cannot be read as this kind: throws a UserError where it is of another one, before its mistakes are listed. */
export function refuseOtherKind({ file, text }: SourceText, kind: FileKind): void {
  const found = detectKind(file, text);
  const [, marks = []] = MARKS.find(([each]) => each === kind) ?? [];
  const keys = listTopKeys(file, text);
  if (found === undefined || found === kind || marks.some((mark) => keys.has(mark))) return;
  const tests = found === 'runbook' && kind === 'test' ? file.replace(/(\.ya?ml)$/, '.test$1') : undefined;
  const hint = tests === undefined ? '' : `; its tests belong in ${makePrintable(tests, 300)} (docs/testing.md)`;
  throw new UserError(`${makePrintable(file, 300)} is ${NAMES[found]}, not ${NAMES[kind]}${hint}`);
}

/** The kind of a file by its name and its text, or the beginning of it; undefined for one that is none of these. */
export function detectKind(path: string, text: string): FileKind | undefined {
  if (/\.har$/i.test(path)) return 'fixture';
  if (/\.jsonl$/i.test(path)) return /^\s*\{\s*"fixture"/.test(text) ? 'fixture' : undefined;
  if (!/\.(?:ya?ml|json)$/i.test(path)) return undefined;
  const keys = listTopKeys(path, text);
  const marked = MARKS.find(([, marks]) => marks.some((mark) => keys.has(mark)));
  if (marked !== undefined) return marked[0];
  if (/\.test\.ya?ml$/i.test(path)) return 'test';
  if (/\.sim(?:ulator)?\.ya?ml$/i.test(path)) return 'simulator';
  const known = [...keys].filter((key) => SIMULATOR_KEYS.has(key)).length;
  return known > 0 && known * 2 >= keys.size ? 'simulator' : undefined;
}

function listTopKeys(path: string, text: string): ReadonlySet<string> {
  const block = [...text.matchAll(/^["']?([A-Za-z_]\w*)["']?[ \t]*:/gm)].map((match) => match[1] ?? '');
  if (block.length > 0 || !/^\s*(?:#[^\n]*\n\s*)*\{/.test(text)) return new Set(block);
  const { root } = readDocument({ file: path, text });
  return new Set(root?.kind === 'map' ? root.entries.map(({ key }) => key) : []);
}
