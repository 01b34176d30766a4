/**
 * The scheduler's timetable: runbooks with a schedule, from files and folders, each checked whole before any of it counts.
 * Read again when files change: a file that became unusable leaves its last usable state in force.
 */
import { readdirSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { printable } from '../../base/printable.ts';
import type { TimetableSlot } from '../../engine/schedule/scheduler.ts';
import { everyStep } from '../../runbook/check/risk.ts';
import type { CheckedRunbook, ScheduleDeclaration } from '../../runbook/checked.ts';
import { concurrencyOf, slotInputs } from '../../runbook/schedule/collisions.ts';
import { durationText, timeText, type Value } from '../../runbook/values.ts';
import type { Profile } from '../../venue/profile/profile.ts';
import { refuseUnready } from '../account/readiness.ts';
import { type ExitCode, UserError } from '../errors.ts';
import { readText, reasonOf } from '../files/files.ts';
import type { LoadedRunbook } from '../files/load.ts';
import { loadRunbook } from '../files/load.ts';
import type { Voice } from '../voice.ts';

/** A slot with what its runs are made of. */
export interface PlannedSlot extends TimetableSlot {
  readonly loaded: LoadedRunbook;
  readonly inputs: Readonly<Record<string, Value>>;
}

export interface FileProblem {
  readonly path: string;
  readonly message: string;
  /** What a command ends with that cannot do without the file. */
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

/** What one reading of all files gathers. */
interface Reading {
  readonly usable: Map<string, UsableFile>;
  /** By the name of a runbook, the file that may be it. */
  readonly owners: Map<string, string>;
  readonly problems: FileProblem[];
  readonly voice: Pick<Voice, 'diagnostics'>;
}

export class TimetableFiles {
  private readonly places: readonly Place[];
  private readonly profile: Profile;
  private usable: ReadonlyMap<string, UsableFile> = new Map();
  private readAt: string | undefined;

  /** `paths`: runbook files, and folders of them. Throws a UserError for a path that leads nowhere. */
  constructor(paths: readonly string[], profile: Profile) {
    this.places = placesOf(paths);
    this.profile = profile;
  }

  /** Reads everything anew; diagnostics go to `voice`. */
  read(voice: Pick<Voice, 'diagnostics'>): TimetableReading {
    const problems: FileProblem[] = [];
    const usable = new Map<string, UsableFile>();
    this.readAt = this.signature();
    const files = new Map<string, { readonly named: boolean }>();
    for (const { path, folder } of this.places)
      for (const file of folder ? this.filesOf(path, problems) : [path])
        if (!files.has(file)) files.set(file, { named: !folder });
    // A name belongs to the file it is in force from: the state it may have to keep must not meet a copy of itself.
    const owners = new Map(
      [...this.usable].flatMap(([file, { runbook }]) => (files.has(file) ? [[runbook, file]] : [])),
    );
    for (const [file, { named }] of files) this.readFile(file, named, { usable, owners, problems, voice });
    this.usable = usable;
    return { slots: [...usable.values()].flatMap(({ slots }) => slots), problems };
  }

  /** What is in force; reads everything anew only where a file may have changed since. */
  inForce(voice: Pick<Voice, 'diagnostics'>): TimetableReading {
    if (this.readAt !== this.signature()) return this.read(voice);
    return { slots: [...this.usable.values()].flatMap(({ slots }) => slots), problems: [] };
  }

  /** Changes whenever a file that counts may have changed: those named, and all that lie beside them and may be called. */
  signature(): string {
    const folders = new Set(this.places.map(({ path, folder }) => (folder ? path : dirname(path))));
    return [...folders].map((folder) => `${folder}\n${stamps(folder).join('\n')}`).join('\n\n');
  }

  /** A folder that cannot be read keeps what it gave before: it may only be on its way to another state. */
  private filesOf(folder: string, problems: FileProblem[]): readonly string[] {
    try {
      return yamlFiles(folder).filter((file) => this.usable.has(file) || isRunbook(file));
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
      const file = this.usableFile(path, voice);
      const owner = owners.get(file.runbook) ?? path;
      if (owner !== path)
        throw new UserError(
          `${printable(path, 300)} is the runbook ${file.runbook}, and so is ${printable(owner, 300)}`,
        );
      if (named && file.slots.length === 0)
        throw new UserError(`${printable(path, 300)} has no schedule: it would never run`);
      usable.set(path, file);
      if (kept !== undefined) owners.delete(kept.runbook);
      owners.set(file.runbook, path);
    } catch (error) {
      if (!(error instanceof UserError)) throw error;
      problems.push({ path, message: error.message, exit: error.exit, kept: kept !== undefined });
      if (kept !== undefined) usable.set(path, kept);
    }
  }

  private usableFile(path: string, voice: Pick<Voice, 'diagnostics'>): UsableFile {
    const loaded = loadRunbook(path, voice);
    const { runbook } = loaded;
    if (runbook.schedule.length > 0) refuseUnready(runbook, this.profile);
    return { runbook: runbook.name, slots: plannedSlots(loaded) };
  }
}

/** Every slot of files and folders, for whoever only looks at them. Throws a UserError for a runbook with errors. */
export function readScheduled(paths: readonly string[], voice: Pick<Voice, 'diagnostics'>): readonly PlannedSlot[] {
  const files = placesOf(paths).flatMap(({ path, folder }) => (folder ? yamlFiles(path).filter(isRunbook) : [path]));
  return [...new Set(files)].flatMap((path) => plannedSlots(loadRunbook(path, voice)));
}

function plannedSlots(loaded: LoadedRunbook): readonly PlannedSlot[] {
  const { runbook } = loaded;
  const exclusive = exclusiveOf(runbook);
  const ids = new Map<string, number>();
  return runbook.schedule.map((declaration) => {
    const text = `${runbook.name}/${timesText(declaration)}`;
    const count = (ids.get(text) ?? 0) + 1;
    ids.set(text, count);
    const inputs = slotInputs(runbook, declaration);
    const concurrency = knownConcurrency(runbook, inputs);
    return {
      id: count === 1 ? text : `${text} (${count})`,
      runbook: runbook.name,
      declaration,
      loaded,
      inputs,
      exclusive,
      ...(concurrency === undefined ? {} : { concurrency }),
    };
  });
}

/**
 * The times of a slot as one would say them: its name for ever. Edited times are another slot, which nobody missed before;
 * one that only moves within the file stays itself.
 */
function timesText({ when, from, to }: ScheduleDeclaration): string {
  const bounds = [
    ...(from === undefined ? [] : [`from ${timeText(from)}`]),
    ...(to === undefined ? [] : [`to ${timeText(to)}`]),
  ];
  return [whenText(when), ...bounds].join(' ');
}

function whenText(when: ScheduleDeclaration['when']): string {
  switch (when.kind) {
    case 'cron':
      return `${when.cron.trim().replace(/\s+/g, ' ')} ${when.tz}`;
    case 'every':
      return `every ${durationText(when.every)}`;
    case 'at':
      return `at ${timeText(when.at)}`;
    default:
      return when satisfies never;
  }
}

/** Throws a UserError where the key cannot be worked out: a run without it would start beside one that has it. */
export function knownConcurrency(
  runbook: CheckedRunbook,
  inputs: Readonly<Record<string, Value>>,
): TimetableSlot['concurrency'] {
  const concurrency = concurrencyOf(runbook, inputs);
  if (concurrency === undefined && runbook.concurrency !== undefined)
    throw new UserError(`the concurrency key of ${runbook.name} cannot be worked out from its inputs`);
  return concurrency;
}

/** What only one run of the account may use at a time: the venue has one deadman switch, and each run keeps a keeper of its own. */
export function exclusiveOf(runbook: CheckedRunbook): readonly string[] {
  return usesSwitch(runbook) ? ['deadman switch'] : [];
}

function usesSwitch({ deadman, steps, onError, finally: last, calls }: CheckedRunbook): boolean {
  if (deadman !== undefined || Object.values(calls).some(usesSwitch)) return true;
  return [...everyStep([...steps, ...onError, ...last])].some(
    ({ verb }) => verb === 'arm_deadman' || verb === 'disarm_deadman',
  );
}

interface Place {
  readonly path: string;
  readonly folder: boolean;
}

function placesOf(paths: readonly string[]): readonly Place[] {
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
    throw new UserError(`${printable(path, 300)} cannot be read: ${reasonOf(error)}`);
  }
}

function yamlFiles(folder: string): readonly string[] {
  let names: readonly string[];
  try {
    names = readdirSync(folder);
  } catch (error) {
    throw new UserError(`the folder ${printable(folder, 300)} cannot be read: ${reasonOf(error)}`);
  }
  return names
    .filter((name) => /\.ya?ml$/.test(name) && !/\.test\.ya?ml$/.test(name))
    .sort()
    .map((name) => join(folder, name));
}

/** Profiles, fixtures and simulator files may lie in the same folder. */
function isRunbook(path: string): boolean {
  try {
    return /^runbook\s*:/m.test(readText(path, 'runbook'));
  } catch (error) {
    if (error instanceof UserError) return false;
    throw error;
  }
}

function stamps(folder: string): readonly string[] {
  try {
    return yamlFiles(folder).map((path) => `${path} ${stampOf(path)}`);
  } catch {
    // Gone between two looks: what that means is found out by reading.
    return ['gone'];
  }
}

/** One file that is not there, such as an editor's lock that leads nowhere, must not hide the changes of all others. */
function stampOf(path: string): string {
  try {
    const { mtimeMs, size, ino } = statSync(path);
    return `${mtimeMs} ${size} ${ino}`;
  } catch {
    return 'gone';
  }
}
