/** Reads a test file with the runbook it tests: its cases ready to execute, or everything that is wrong with them. */
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Diagnostic, SourceText } from '../../base/diagnostic.ts';
import { makePrintable } from '../../base/printable.ts';
import { makeFinding } from '../../runbook/codes/codes.ts';
import { readSource } from '../files/files.ts';
import { Invalid, type LoadedRunbook, loadRunbook } from '../files/load.ts';
import type { Voice } from '../voice.ts';
import { type NamedCase, readCases } from './file/runbook-names.ts';
import type { TestFile } from './file/test-case.ts';
import { readTestFile } from './file/test-file.ts';

export interface ReadyTests {
  readonly kind: 'ready';
  readonly path: string;
  readonly file: TestFile;
  readonly loaded: LoadedRunbook;
  readonly cases: readonly NamedCase[];
}

export type TestsReading =
  | ReadyTests
  | { readonly kind: 'invalid'; readonly diagnostics: readonly Diagnostic[] }
  | {
      readonly kind: 'runbook-invalid';
      readonly runbook: string;
      readonly message: string;
      readonly diagnostics: readonly Diagnostic[];
    };

/** The voice gets what is wrong with the runbook. Throws a UserError for a file beside it that cannot be read. */
export function readTests(source: SourceText, voice: Pick<Voice, 'diagnostics'>): TestsReading {
  const { file: path } = source;
  const { file, readable, diagnostics } = readTestFile(source, (name) =>
    readSource(join(dirname(path), name), 'account'),
  );
  if (readable === undefined || readable.runbook === '') return { kind: 'invalid', diagnostics };
  const runbook = join(dirname(path), `${readable.runbook}.yaml`);
  if (!existsSync(runbook)) {
    const at = Math.max(0, source.text.indexOf('tests:'));
    const message = `there is no runbook ${makePrintable(readable.runbook, 100)}.yaml beside this file`;
    const missing = makeFinding(source, { start: at, end: at + 6 }, 'unknown-runbook', message);
    return { kind: 'invalid', diagnostics: [...diagnostics, missing] };
  }
  let loaded: LoadedRunbook;
  try {
    loaded = loadRunbook(runbook, file === undefined ? { diagnostics: () => {} } : voice);
  } catch (error) {
    if (!(error instanceof Invalid)) throw error;
    if (file === undefined) return { kind: 'invalid', diagnostics };
    return { kind: 'runbook-invalid', runbook: file.runbook, message: error.message, diagnostics };
  }
  const named = readCases(readable, loaded.runbook);
  if (file !== undefined && named.diagnostics.length === 0)
    return { kind: 'ready', path, file, loaded, cases: named.cases };
  // An input that seems to be missing may have been refused by an earlier stage.
  const names =
    file === undefined ? named.diagnostics.filter(({ code }) => code !== 'missing-input') : named.diagnostics;
  return { kind: 'invalid', diagnostics: [...diagnostics, ...names] };
}
