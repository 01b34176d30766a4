/**
 * The scheduler's timetable: runbooks with a schedule, from files and folders, each checked whole before any of it counts.
 * Read again when files change: a file that became unusable leaves its last usable state in force.
 */
import { readdirSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { printable } from '../base/printable.ts';
import type { TimetableSlot } from '../engine/daemon.ts';
import type { CheckedRunbook, ScheduleDeclaration } from '../runbook/checked.ts';
import { everyStep } from '../runbook/risk.ts';
import { concurrencyOf, slotInputs } from '../runbook/schedule-collisions.ts';
import { durationText, timeText, type Value } from '../runbook/values.ts';
import type { Profile } from '../venue/profile.ts';
import { type ExitCode, Refusal } from './exit.ts';
import { readText, reasonOf } from './files.ts';
import { loadRunbook } from './loading.ts';
import { refuseUnready } from './readiness.ts';
import type { Voice } from './terminal.ts';
import type { LoadedRunbook } from './wire.ts';

/** A slot with what its runs are made of. */
export interface PlannedSlot extends TimetableSlot {
  readonly loaded: LoadedRunbook;
  readonly inputs: Readonly<Record<string, Value>>;
}

export interface FileProblem {
  readonly path: string;
  readonly message: string;
  /** What a command ends with that can not do without the file. */
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

export class TimetableFiles {
  private readonly paths: readonly string[];
  private readonly profile: Profile;
  private usable: ReadonlyMap<string, UsableFile> = new Map();

  /** `paths`: runbook files, and folders of them. Throws a Refusal for a path that leads nowhere. */
  constructor(paths: readonly string[], profile: Profile) {
    this.paths = paths;
    this.profile = profile;
    for (const path of paths) if (!isFolder(path)) readText(path, 'runbook');
  }

  /** Reads everything anew; diagnostics go to `voice`. */
  read(voice: Pick<Voice, 'diagnostics'>): TimetableReading {
    const problems: FileProblem[] = [];
    const usable = new Map<string, UsableFile>();
    for (const { path, named } of runbookFiles(this.paths)) {
      const kept = this.usable.get(path);
      try {
        const file = this.usableFile(path, voice);
        const twin = [...usable].find(([, { runbook }]) => runbook === file.runbook);
        if (twin !== undefined)
          throw new Refusal(`${printable(path, 300)} is the runbook ${file.runbook}, and so is ${printable(twin[0], 300)}`);
        if (named && file.slots.length === 0) throw new Refusal(`${printable(path, 300)} has no schedule: it would never run`);
        usable.set(path, file);
      } catch (error) {
        if (!(error instanceof Refusal)) throw error;
        problems.push({ path, message: error.message, exit: error.exit, kept: kept !== undefined });
        if (kept !== undefined) usable.set(path, kept);
      }
    }
    this.usable = usable;
    return { slots: [...usable.values()].flatMap(({ slots }) => slots), problems };
  }

  /** Changes whenever a file that counts may have changed: those named, and all that lie beside them and may be called. */
  signature(): string {
    const folders = new Set(this.paths.map((path) => (isFolder(path) ? path : dirname(path))));
    return [...folders].map((folder) => `${folder}\n${yamlFiles(folder).map(stamp).join('\n')}`).join('\n\n');
  }

  private usableFile(path: string, voice: Pick<Voice, 'diagnostics'>): UsableFile {
    const loaded = loadRunbook(path, voice);
    const { runbook } = loaded;
    if (runbook.schedule.length > 0) refuseUnready(runbook, this.profile);
    return { runbook: runbook.name, slots: plannedSlots(loaded) };
  }
}

/** Every slot of files and folders, for whoever only looks at them. Throws a Refusal for a runbook with errors. */
export function readScheduled(paths: readonly string[], voice: Pick<Voice, 'diagnostics'>): readonly PlannedSlot[] {
  return runbookFiles(paths).flatMap(({ path }) => plannedSlots(loadRunbook(path, voice)));
}

/** The files meant by paths; `named`: by itself, not as one of a folder. */
function runbookFiles(paths: readonly string[]): readonly { readonly path: string; readonly named: boolean }[] {
  const found = new Map<string, boolean>();
  for (const path of paths) {
    if (!isFolder(path)) found.set(path, true);
    else for (const each of yamlFiles(path)) if (!found.has(each) && isRunbook(each)) found.set(each, false);
  }
  return [...found].map(([path, named]) => ({ path, named }));
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
    const concurrency = concurrencyOf(runbook, inputs);
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

function isFolder(path: string): boolean {
  try {
    return statSync(path).isDirectory();
  } catch (error) {
    throw new Refusal(`${printable(path, 300)} can not be read: ${reasonOf(error)}`);
  }
}

function yamlFiles(folder: string): readonly string[] {
  return readdirSync(folder)
    .filter((name) => /\.ya?ml$/.test(name) && !/\.test\.ya?ml$/.test(name))
    .sort()
    .map((name) => join(folder, name));
}

/** Profiles, fixtures and simulator files may lie in the same folder. */
function isRunbook(path: string): boolean {
  try {
    return /^runbook\s*:/m.test(readText(path, 'runbook'));
  } catch (error) {
    if (error instanceof Refusal) return false;
    throw error;
  }
}

function stamp(path: string): string {
  try {
    const { mtimeMs, size, ino } = statSync(path);
    return `${path} ${mtimeMs} ${size} ${ino}`;
  } catch {
    return `${path} gone`;
  }
}
