/**
 * Checks files and folders of a project, each file by its kind, and collects what is found. A file that is named is checked as a
 * runbook unless its first keys say otherwise; in a folder the files that are no part of a project are listed as skipped.
 */
import { SystemClock } from '../../base/clock.ts';
import type { Diagnostic, SourceText } from '../../base/diagnostic.ts';
import { makePrintable } from '../../base/printable.ts';
import { checkRunbook, type ScheduleLint } from '../../runbook/check.ts';
import { EXIT, UserError } from '../errors.ts';
import { readBeginning } from '../files/files.ts';
import { detectKind, type FileKind } from '../files/kinds.ts';
import { type RunbookFile, readRunbook } from '../files/runbook.ts';
import { isFolder, listFolder } from './folder.ts';

export interface CheckedFile {
  readonly file: string;
  readonly kind: FileKind;
  readonly diagnostics: readonly Diagnostic[];
  /** Why the file could not be read. */
  readonly refused: UserError | undefined;
}

export interface ProjectCheck {
  readonly files: readonly CheckedFile[];
  /** Files of folders that are no part of a project; undefined where no folder was named. */
  readonly skipped: readonly string[] | undefined;
}

/** Extensions that a runbook, a test, a profile, a simulator's configuration or a fixture can have. */
const READ = /\.(?:ya?ml|json|jsonl|har)$/i;

/** Throws a UserError for a folder that cannot be read, or with nothing in it that could be checked. */
export async function checkProject(paths: readonly string[]): Promise<ProjectCheck> {
  const skipped: string[] = [];
  const found = paths.flatMap((path): readonly Found[] => {
    if (!isFolder(path)) return [readNamed(path)];
    const inside = listFolder(path).flatMap((file) => {
      // Undefined for a file of another program.
      const each = READ.test(file) ? identify(file, undefined) : undefined;
      if (each === undefined) skipped.push(file);
      return each ?? [];
    });
    if (inside.length > 0) return inside;
    const message = `the folder ${makePrintable(path, 300)} holds no runbook, test, simulator configuration, fixture or profile`;
    throw new UserError(message, EXIT.usage, 'configuration');
  });
  const runbooks = found.flatMap(({ runbook }) => (runbook === undefined ? [] : [runbook.source]));
  spareOptimizing(runbooks);
  const scheduleLint = await loadScheduleLint(runbooks);
  const others = found.some(({ kind, refused }) => kind !== 'runbook' && refused === undefined)
    ? await import('./other-files.ts')
    : undefined;
  const files = found.map(({ file, kind, runbook, refused }): CheckedFile => {
    if (refused !== undefined) return { file, kind, diagnostics: [], refused };
    const diagnostics = catchUserError(() =>
      runbook === undefined
        ? (others?.checkOtherFile(file, kind) ?? [])
        : checkRunbook(runbook.source, runbook.load, { scheduleLint }).diagnostics,
    );
    return diagnostics instanceof UserError
      ? { file, kind, diagnostics: [], refused: diagnostics }
      : { file, kind, diagnostics, refused: undefined };
  });
  return { files, skipped: paths.some(isFolder) ? skipped : undefined };
}

/** A file to check, with its text where it is a runbook. */
interface Found {
  readonly file: string;
  readonly kind: FileKind;
  readonly runbook?: RunbookFile;
  readonly refused?: UserError;
}

function readNamed(file: string): Found {
  const otherwise = /\.(?:jsonl|har)$/i.test(file) ? 'fixture' : 'runbook';
  return identify(file, otherwise) ?? { file, kind: otherwise };
}

/** Recognizes a file by its beginning: it may be a recording, which is long, or of another program. */
function identify(file: string, otherwise: FileKind | undefined): Found | undefined {
  const beginning = catchUserError(() => readBeginning(file, 'runbook'));
  // A file that cannot be read might be a runbook: that it was left out must not look like success.
  if (beginning instanceof UserError) return { file, kind: otherwise ?? 'runbook', refused: beginning };
  const kind = detectKind(file, beginning) ?? otherwise;
  if (kind !== 'runbook') return kind && { file, kind };
  const runbook = catchUserError(() => readRunbook(file));
  return runbook instanceof UserError ? { file, kind, refused: runbook } : { file, kind, runbook };
}

function catchUserError<T>(work: () => T): T | UserError {
  try {
    return work();
  } catch (error) {
    if (error instanceof UserError) return error;
    throw error;
  }
}

/**
 * File sizes, in characters, at which a check ends before optimised code has paid for its compilation: by default the runtime
 * spends a third of the time of a thousand steps on it. Below this range it does not start; above it, it pays.
 */
const UNOPTIMIZED = { from: 16_384, to: 262_144 } as const;

function spareOptimizing(sources: readonly SourceText[]): void {
  const length = sources.reduce((sum, { text }) => sum + text.length, 0);
  if (length < UNOPTIMIZED.from || length > UNOPTIMIZED.to) return;
  process.getBuiltinModule('node:v8').setFlagsFromString('--no-opt');
}

/** The lint of schedules; calendars are loaded only where a text mentions one. */
async function loadScheduleLint(sources: readonly SourceText[]): Promise<ScheduleLint> {
  if (!sources.some(({ text }) => text.includes('schedule'))) return () => [];
  const { lintSchedule: scheduleDiagnostics } = await import('../../runbook/schedule/lints.ts');
  const nowMs = new SystemClock().now();
  return (runbook) => scheduleDiagnostics(runbook, nowMs);
}
