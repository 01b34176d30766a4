/** Checks the files beside a runbook, each by the reader that uses it: tests, simulator configurations, fixtures and profiles. */
import type { Diagnostic, SourceText } from '../../base/diagnostic.ts';
import { makeFinding } from '../../runbook/codes/codes.ts';
import { UserError } from '../errors.ts';
import { readSource } from '../files/files.ts';
import { findFixtureProblems } from '../files/fixture.ts';
import type { FileKind } from '../files/kinds.ts';
import { readProfileSource } from '../files/profile.ts';
import { readSimulatorSource } from '../files/simulator.ts';
import { readTests } from '../testing/tests.ts';

/** Every finding of one file. Throws a UserError for a file that cannot be read. */
export function checkOtherFile(path: string, kind: FileKind): readonly Diagnostic[] {
  return kind === 'fixture' ? findFixtureProblems(path) : checkOtherText(readSource(path, ROLES[kind]), kind);
}

const ROLES: Readonly<Record<FileKind, string>> = {
  runbook: 'runbook',
  test: 'test file',
  simulator: 'simulator configuration',
  fixture: 'fixture',
  profile: 'profile',
};

/** The same for a text that may not be on the disk; recordings are not edited. */
export function checkOtherText(source: SourceText, kind: FileKind): readonly Diagnostic[] {
  switch (kind) {
    case 'test':
      return checkTests(source);
    case 'simulator':
      return readSimulatorSource(source).diagnostics;
    case 'profile':
      return checkProfile(source);
    case 'fixture':
    case 'runbook':
      return [];
    default:
      return kind satisfies never;
  }
}

function checkTests(source: SourceText): readonly Diagnostic[] {
  const read = readTests(source, { diagnostics: () => {} });
  if (read.kind === 'ready') return [];
  if (read.kind === 'invalid') return read.diagnostics;
  const at = Math.max(0, source.text.search(/^tests\s*:/m));
  const message = `the runbook it tests has errors, so its names are not checked: ${read.message}`;
  return [...read.diagnostics, makeFinding(source, { start: at, end: at + 5 }, 'called-runbook-invalid', message)];
}

function checkProfile(source: SourceText): readonly Diagnostic[] {
  const found: Diagnostic[] = [];
  try {
    readProfileSource(source, { diagnostics: (list) => void found.push(...list) });
  } catch (error) {
    if (!(error instanceof UserError) || found.length === 0) throw error;
  }
  return found;
}
