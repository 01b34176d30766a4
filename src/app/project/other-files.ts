/** Checks the files beside a runbook, each by the reader that uses it: tests, simulator configurations, fixtures and profiles. */
import type { Diagnostic, SourceText } from '../../base/diagnostic.ts';
import { makePrintable } from '../../base/printable.ts';
import { readSimulatorConfig } from '../../gateway/simulator/simulator.ts';
import { makeFinding } from '../../runbook/codes/codes.ts';
import { makeFileFinding } from '../../runbook/codes/files.ts';
import { nodeAt, plainData, readDocument } from '../../runbook/document/document.ts';
import { UserError } from '../errors.ts';
import { readSource } from '../files/files.ts';
import { findFixtureProblems } from '../files/fixture.ts';
import type { FileKind } from '../files/kinds.ts';
import { readProfileSource } from '../files/profile.ts';
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
      return checkSimulator(source);
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

function checkSimulator(source: SourceText): readonly Diagnostic[] {
  const { root, diagnostics } = readDocument(source);
  if (root === undefined || diagnostics.length > 0) return diagnostics;
  const read = readSimulatorConfig(plainData(root));
  if (!('problems' in read)) return [];
  return read.problems.map((problem) => {
    // A problem begins with the path of its value, as `markets.BTC-USD.tick: …`.
    const [, where = '', key] = /^([^:]*): (?:"([^"]*)" is not a key)?/.exec(problem) ?? [];
    const steps = where === 'the configuration' ? [] : where.split('.');
    const { node, span, keySpan } = nodeAt(root, steps);
    const odd = key !== undefined && node.kind === 'map' ? node.entry(key)?.keySpan : undefined;
    return makeFileFinding(source, odd ?? keySpan ?? span, 'simulator-invalid', makePrintable(problem, 400));
  });
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
