/**
 * Reads and writes fixture files in three formats, chosen by extension (`.yaml`, `.yml`, `.jsonl`, `.har`). Numbers keep every
 * digit; problems are reported with their position. The gateway defines the format itself.
 */

import { accessSync, constants, existsSync, statSync } from 'node:fs';
import { dirname, extname } from 'node:path';
import { type Diagnostic, findPosition, type SourceText, type Span } from '../../base/diagnostic.ts';
import { formatFirst } from '../../base/format.ts';
import { makePrintable } from '../../base/printable.ts';
import { toExactNumber } from '../../gateway/fixture/exact-json.ts';
import { type Fixture, readFixture, readFixtureLines } from '../../gateway/fixture/fixture.ts';
import { convertFixtureToHar, convertHarToFixture } from '../../gateway/fixture/har.ts';
import { writeFixture, writeFixtureLines } from '../../gateway/fixture/text.ts';
import { makeFileFinding } from '../../runbook/codes/files.ts';
import { type DocumentLimits, nodeAt, readDocument, readExactData } from '../../runbook/document/document.ts';
import { EXIT, UserError } from '../errors.ts';
import { ENGINE_VERSION } from '../version.ts';
import { describeReason, LARGEST_RECORDING, readSource, readText, replaceText } from './files.ts';
import { refuseOtherKind } from './kinds.ts';

const FORMATS = { '.yaml': 'yaml', '.yml': 'yaml', '.jsonl': 'lines', '.har': 'har' } as const;
type Format = (typeof FORMATS)[keyof typeof FORMATS];

/** Limits of a recording in YAML; longer ones need JSON lines. */
const RECORDED: DocumentLimits = { maxBytes: 64 * 1024 * 1024, maxNodes: 2_000_000, maxDepth: 64, nulls: 'kept' };

export interface FixtureFile {
  readonly fixture: Fixture;
  /** The text as read, for its hash. */
  readonly source: SourceText;
  /** Notes for the reader, such as what was left out of a HAR. Printable. */
  readonly notes: readonly string[];
}

/** Reads a fixture; throws a UserError with the first problems of an unusable one. */
export function readFixtureFile(path: string): FixtureFile {
  const format = detectFormat(path);
  const source = readSource(path, 'fixture', LARGEST_RECORDING);
  switch (format) {
    case 'yaml':
      refuseOtherKind({ ...source, text: source.text.slice(0, 65_536) }, 'fixture');
      return { fixture: readYamlFixture(source), source, notes: [] };
    case 'lines':
      return { fixture: readLinesFixture(source), source, notes: [] };
    case 'har': {
      const { fixture, notes } = convertHarToFixture(source.text);
      if (fixture === undefined) throw makeFixtureError(source, notes);
      return { fixture, source, notes };
    }
    default:
      return format satisfies never;
  }
}

/** What is wrong with a fixture, each problem at its place. Throws a UserError for a file that cannot be read. */
export function findFixtureProblems(path: string): readonly Diagnostic[] {
  const format = detectFormat(path);
  const source = readSource(path, 'fixture', LARGEST_RECORDING);
  const whole = { start: 0, end: 0 };
  switch (format) {
    case 'yaml': {
      const { root, diagnostics } = readDocument(source, RECORDED);
      if (root === undefined || diagnostics.length > 0) return diagnostics;
      return (readFixture(readExactData(root, toExactNumber)).problems ?? []).map((problem) =>
        makeFileFinding(
          source,
          nodeAt(root, problem.path).span,
          'fixture-invalid',
          makePrintable(problem.message, 400),
        ),
      );
    }
    case 'lines':
      return (readFixtureLines(source.text).problems ?? []).map(({ message }) => {
        const [, line] = /^line (\d+) /.exec(message) ?? [];
        const at = line === undefined ? whole : findLine(source.text, Number(line));
        return makeFileFinding(source, at, 'fixture-invalid', makePrintable(message, 400));
      });
    case 'har': {
      const { fixture, notes } = convertHarToFixture(source.text);
      if (fixture !== undefined) return [];
      return notes.map((note) => makeFileFinding(source, whole, 'fixture-invalid', makePrintable(note, 400)));
    }
    default:
      return format satisfies never;
  }
}

/** The span of a line, counted from 1. */
function findLine(text: string, line: number): Span {
  let start = 0;
  for (let at = 1; at < line; at += 1) start = text.indexOf('\n', start) + 1;
  const end = text.indexOf('\n', start);
  return { start, end: end === -1 ? text.length : end };
}

export function writeFixtureFile(path: string, fixture: Fixture): void {
  replaceText(path, formatFixture(chooseFormat(path), fixture), 'fixture');
}

/**
 * The format for writing a fixture to `path`; throws a UserError for an unknown extension or where another kind of file exists:
 * a recording must not overwrite a runbook. Checked before a long run, so that the recording is not lost at the end.
 */
export function chooseFormat(path: string): Format {
  const format = detectFormat(path);
  if (existsSync(path) && !LOOKS_RECORDED[format].test(readText(path, 'file', LARGEST_RECORDING))) {
    throw new UserError(`${makePrintable(path, 300)} exists and is not a fixture; it was not changed`);
  }
  return format;
}

/** Checked before a run that acts: an unwritable target must not lose the recording or hide how the run ended. */
export function refuseUnwritable(path: string): void {
  chooseFormat(path);
  const folder = dirname(path);
  try {
    accessSync(folder, constants.W_OK | constants.X_OK);
    if (!statSync(folder).isDirectory()) throw new UserError(`${makePrintable(folder, 300)} is not a folder`);
  } catch (error) {
    if (error instanceof UserError) throw error;
    throw new UserError(
      `the fixture ${makePrintable(path, 300)} cannot be written: ${describeReason(error)}; nothing was sent`,
    );
  }
}

/** Recognizes a fixture by its beginning; an empty file may be replaced too. */
const LOOKS_RECORDED: Readonly<Record<Format, RegExp>> = {
  yaml: /^(?:\s*#.*\n)*\s*(?:fixture:|$)/,
  lines: /^\s*(?:\{"fixture"|$)/,
  har: /^\s*(?:\{\s*"log"|$)/,
};

function formatFixture(format: Format, fixture: Fixture): string {
  switch (format) {
    case 'yaml':
      return writeFixture(fixture);
    case 'lines':
      return writeFixtureLines(fixture);
    case 'har':
      return convertFixtureToHar(fixture, ENGINE_VERSION);
    default:
      return format satisfies never;
  }
}

/** The format of a path's extension; throws a UserError for any other. */
function detectFormat(path: string): Format {
  const ending = extname(path).toLowerCase();
  if (Object.hasOwn(FORMATS, ending)) return FORMATS[ending as keyof typeof FORMATS];
  throw new UserError(
    `${makePrintable(path, 300)} is not a fixture by its name: it must end in ${Object.keys(FORMATS).join(', ')}`,
  );
}

function readYamlFixture(source: SourceText): Fixture {
  const { root, diagnostics } = readDocument(source, RECORDED);
  if (root === undefined || diagnostics.length > 0)
    throw makeFixtureError(
      source,
      diagnostics.map((each) => describePlaced(source, each.span.start, each)),
    );
  const reading = readFixture(readExactData(root, toExactNumber));
  if (reading.fixture !== undefined) return reading.fixture;
  throw makeFixtureError(
    source,
    reading.problems.map((problem) => describePlaced(source, nodeAt(root, problem.path).span.start, problem)),
  );
}

function readLinesFixture(source: SourceText): Fixture {
  const reading = readFixtureLines(source.text);
  if (reading.fixture !== undefined) return reading.fixture;
  throw makeFixtureError(
    source,
    reading.problems.map(({ message }) => message),
  );
}

function describePlaced(source: SourceText, offset: number, { message }: Pick<Diagnostic, 'message'>): string {
  const { line, column } = findPosition(source.text, offset);
  return `line ${line}, column ${column}: ${message}`;
}

const MOST_SHOWN = 5;

function makeFixtureError(source: SourceText, problems: readonly string[]): UserError {
  const shown = problems.map((each) => makePrintable(each, 400));
  return new UserError(
    `${makePrintable(source.file, 300)} is no fixture: ${formatFirst(shown, MOST_SHOWN, '; ')}`,
    EXIT.usage,
    'configuration',
  );
}
