/**
 * Reads the scheduler's timetable: runbooks with a schedule, from files and folders, each fully checked before it counts. When
 * files change they are reloaded: a file that became invalid keeps its last valid state.
 */
import { readdirSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { makePrintable } from '../../../base/printable.ts';
import type { TimetableSlot } from '../../../engine/schedule/scheduler.ts';
import type { CheckedRunbook, ScheduleDeclaration } from '../../../runbook/checked.ts';
import { evaluateConcurrency, getSlotInputs } from '../../../runbook/schedule/collisions.ts';
import { listRunbooks, listSteps } from '../../../runbook/steps/walk.ts';
import { durationText, formatTime, type Value } from '../../../runbook/values.ts';
import { findPriceFeed, NO_PRICE_FEED } from '../../../venue/profile/price-feed.ts';
import type { Profile } from '../../../venue/profile/profile.ts';
import { refuseUnready } from '../../account/readiness.ts';
import { type ExitCode, UserError } from '../../errors.ts';
import { describeReason, readText } from '../../files/files.ts';
import type { LoadedRunbook } from '../../files/load.ts';
import { loadRunbook } from '../../files/load.ts';
import type { Voice } from '../../voice.ts';

/** A slot with the parts of its runs. */
export interface PlannedSlot extends TimetableSlot {
  readonly loaded: LoadedRunbook;
  readonly inputs: Readonly<Record<string, Value>>;
}

export interface FileProblem {
  readonly path: string;
  readonly message: string;
  /** Exit code of a command that cannot continue without the file. */
  readonly exit: ExitCode;
  /** An earlier state of the file stays in force. */
  readonly kept: boolean;
}

export interface TimetableReading {
  readonly slots: readonly PlannedSlot[];
  readonly problems: readonly FileProblem[];
}

interface UsableFile {
  readonly runbook: string;
  readonly slots: readonly PlannedSlot[];
}

/** Intermediate results of one reading of all files. */
interface Reading {
  readonly usable: Map<string, UsableFile>;
  /** The file that owns each runbook name. */
  readonly owners: Map<string, string>;
  readonly problems: FileProblem[];
  readonly voice: Pick<Voice, 'diagnostics'>;
}

export class TimetableFiles {
  private readonly places: readonly Place[];
  private readonly profile: Profile;
  private usable: ReadonlyMap<string, UsableFile> = new Map();
  private readAt: string | undefined;

  /** `paths`: runbook files, and folders of them. Throws a UserError for a path that does not exist. */
  constructor(paths: readonly string[], profile: Profile) {
    this.places = readPlaces(paths);
    this.profile = profile;
  }

  /** Reads all files again; diagnostics go to `voice`. */
  read(voice: Pick<Voice, 'diagnostics'>): TimetableReading {
    const problems: FileProblem[] = [];
    const usable = new Map<string, UsableFile>();
    this.readAt = this.computeSignature();
    const files = new Map<string, { readonly named: boolean }>();
    for (const { path, folder } of this.places)
      for (const file of folder ? this.listFiles(path, problems) : [path])
        if (!files.has(file)) files.set(file, { named: !folder });
    // A name belongs to the file it is in force from: a file that keeps its last state must not conflict with a copy of itself.
    const owners = new Map(
      [...this.usable].flatMap(([file, { runbook }]) => (files.has(file) ? [[runbook, file]] : [])),
    );
    for (const [file, { named }] of files) this.readFile(file, named, { usable, owners, problems, voice });
    this.usable = usable;
    return { slots: [...usable.values()].flatMap(({ slots }) => slots), problems };
  }

  /** The timetable in force; reads all files again only where one may have changed since. */
  readInForce(voice: Pick<Voice, 'diagnostics'>): TimetableReading {
    if (this.readAt !== this.computeSignature()) return this.read(voice);
    return { slots: [...this.usable.values()].flatMap(({ slots }) => slots), problems: [] };
  }

  /** Changes whenever a relevant file may have changed: the named files, and all files beside them, which they may call. */
  computeSignature(): string {
    const folders = new Set(this.places.map(({ path, folder }) => (folder ? path : dirname(path))));
    return [...folders].map((folder) => `${folder}\n${stampFolder(folder).join('\n')}`).join('\n\n');
  }

  /** A folder that cannot be read keeps its previous files: it may be about to be replaced. */
  private listFiles(folder: string, problems: FileProblem[]): readonly string[] {
    try {
      return listYamlFiles(folder).filter((file) => this.usable.has(file) || isRunbook(file));
    } catch (error) {
      if (!(error instanceof UserError)) throw error;
      const before = [...this.usable.keys()].filter((file) => dirname(file) === folder);
      problems.push({ path: folder, message: error.message, exit: error.exit, kept: before.length > 0 });
      return before;
    }
  }

  private readFile(path: string, named: boolean, { usable, owners, problems, voice }: Reading): void {
    const kept = this.usable.get(path);
    try {
      const file = this.loadFile(path, voice);
      const owner = owners.get(file.runbook) ?? path;
      if (owner !== path)
        throw new UserError(
          `${makePrintable(path, 300)} and ${makePrintable(owner, 300)} are both the runbook ${file.runbook}`,
        );
      if (named && file.slots.length === 0)
        throw new UserError(`${makePrintable(path, 300)} has no schedule: it would never run`);
      usable.set(path, file);
      if (kept !== undefined) owners.delete(kept.runbook);
      owners.set(file.runbook, path);
    } catch (error) {
      if (!(error instanceof UserError)) throw error;
      problems.push({ path, message: error.message, exit: error.exit, kept: kept !== undefined });
      if (kept !== undefined) usable.set(path, kept);
    }
  }

  private loadFile(path: string, voice: Pick<Voice, 'diagnostics'>): UsableFile {
    const loaded = loadRunbook(path, voice, this.profile);
    const { runbook } = loaded;
    if (runbook.schedule.length > 0) refuseUnready(runbook, this.profile);
    if (runbook.schedule.some(({ paper }) => paper) && findPriceFeed(this.profile) === undefined)
      throw new UserError(`${runbook.name} has a schedule on paper, which needs a price: ${NO_PRICE_FEED}`);
    return { runbook: runbook.name, slots: planSlots(loaded) };
  }
}

/** Every slot of files and folders, for read-only commands. Throws a UserError for a runbook with errors. */
export function readScheduled(paths: readonly string[], voice: Pick<Voice, 'diagnostics'>): readonly PlannedSlot[] {
  const files = readPlaces(paths).flatMap(({ path, folder }) =>
    folder ? listYamlFiles(path).filter(isRunbook) : [path],
  );
  return [...new Set(files)].flatMap((path) => planSlots(loadRunbook(path, voice)));
}

function planSlots(loaded: LoadedRunbook): readonly PlannedSlot[] {
  const { runbook } = loaded;
  const exclusive = listExclusive(runbook);
  const ids = new Map<string, number>();
  return runbook.schedule.map((declaration) => {
    const text = `${runbook.name}/${formatTimes(declaration)}`;
    const { paper = false } = declaration;
    const count = (ids.get(text) ?? 0) + 1;
    ids.set(text, count);
    const inputs = getSlotInputs(runbook, declaration);
    const concurrency = resolveConcurrency(runbook, inputs, declaration);
    return {
      id: count === 1 ? text : `${text} (${count})`,
      // In the names of its runs, and in every message about them.
      runbook: paper ? `${runbook.name}-paper` : runbook.name,
      declaration,
      loaded,
      inputs,
      // A simulated venue has a switch of its own.
      exclusive: paper ? [] : exclusive,
      ...(concurrency === undefined ? {} : { concurrency }),
    };
  });
}

/**
 * The times of a slot as text: its permanent id. A slot with edited times is a new slot without missed occurrences, and so is one
 * that is not on paper any more: no occurrence of paper is made up for with real orders. Moving it within the file changes nothing.
 */
function formatTimes({ when, from, to, paper }: ScheduleDeclaration): string {
  const bounds = [
    ...(from === undefined ? [] : [`from ${formatTime(from)}`]),
    ...(to === undefined ? [] : [`to ${formatTime(to)}`]),
  ];
  return [formatWhen(when), ...bounds, ...(paper ? ['on paper'] : [])].join(' ');
}

function formatWhen(when: ScheduleDeclaration['when']): string {
  switch (when.kind) {
    case 'cron':
      return `${when.cron.trim().replace(/\s+/g, ' ')} ${when.tz}`;
    case 'every':
      return `every ${durationText(when.every)}`;
    case 'at':
      return `at ${formatTime(when.at)}`;
    default:
      return when satisfies never;
  }
}

/** Throws a UserError where the key cannot be computed: a run without it would start beside one that has it. */
export function resolveConcurrency(
  runbook: CheckedRunbook,
  inputs: Readonly<Record<string, Value>>,
  of: Pick<ScheduleDeclaration, 'paper'> = {},
): TimetableSlot['concurrency'] {
  const concurrency = evaluateConcurrency(runbook, inputs, of);
  if (concurrency === undefined && runbook.concurrency !== undefined)
    throw new UserError(`the concurrency key of ${runbook.name} cannot be computed from its inputs`);
  return concurrency;
}

/** Resources that only one run of the account may use at a time: the venue has one deadman switch, and each run has its own heartbeat. */
export function listExclusive(runbook: CheckedRunbook): readonly string[] {
  return usesSwitch(runbook) ? ['deadman switch'] : [];
}

function usesSwitch(runbook: CheckedRunbook): boolean {
  return (
    listRunbooks(runbook).some(({ deadman }) => deadman !== undefined) ||
    listSteps(runbook).some(({ verb }) => verb === 'arm_deadman' || verb === 'disarm_deadman')
  );
}

interface Place {
  readonly path: string;
  readonly folder: boolean;
}

function readPlaces(paths: readonly string[]): readonly Place[] {
  return paths.map((path) => {
    const folder = isFolder(path);
    if (!folder) readText(path, 'runbook');
    return { path, folder };
  });
}

function isFolder(path: string): boolean {
  try {
    return statSync(path).isDirectory();
  } catch (error) {
    throw new UserError(`${makePrintable(path, 300)} cannot be read: ${describeReason(error)}`);
  }
}

function listYamlFiles(folder: string): readonly string[] {
  let names: readonly string[];
  try {
    names = readdirSync(folder);
  } catch (error) {
    throw new UserError(`the folder ${makePrintable(folder, 300)} cannot be read: ${describeReason(error)}`);
  }
  return names
    .filter((name) => /\.ya?ml$/.test(name) && !/\.test\.ya?ml$/.test(name))
    .sort()
    .map((name) => join(folder, name));
}

/** Profiles, fixtures and simulator files may be in the same folder. */
function isRunbook(path: string): boolean {
  try {
    return /^runbook\s*:/m.test(readText(path, 'runbook'));
  } catch (error) {
    if (error instanceof UserError) return false;
    throw error;
  }
}

function stampFolder(folder: string): readonly string[] {
  try {
    return listYamlFiles(folder).map((path) => `${path} ${stampFile(path)}`);
  } catch {
    // Deleted between two checks: reading reports it.
    return ['gone'];
  }
}

/** A missing file, such as an editor's dangling lock link, must not hide the changes of all others. */
function stampFile(path: string): string {
  try {
    const { mtimeMs, size, ino } = statSync(path);
    return `${mtimeMs} ${size} ${ino}`;
  } catch {
    return 'gone';
  }
}
