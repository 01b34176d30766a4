/**
 * Projects a journal to what the chart of its runbook knows of it: the beginnings, decisions and ends of steps, and the moves of the run.
 * The items of a parallel step, which run at the same time, are put one after another; what a called runbook wrote is put at the
 * beginning of the step that calls it.
 */
import { actorId } from '../../src/engine/chart/model.ts';
import type { Entry, EntryOf } from '../../src/journal/entry.ts';

type Kind =
  | 'step.started'
  | 'step.decided'
  | 'step.retried'
  | 'step.ended'
  | 'run.moved'
  | 'run.ended'
  | 'run.residual'
  | 'call.intended';

/** An entry of the journal, as far as the chart knows of it. */
export type JournalRecord = { readonly [K in Kind]: RecordOf<K> }[Kind];
export interface RecordOf<K extends Kind> {
  readonly type: K;
  readonly seq: number;
  /** With iterations and attempts. */
  readonly path: string;
  /** As in the file. */
  readonly step: string;
  readonly data: EntryOf<K>['data'];
  /** What a call of a runbook wrote. */
  readonly inside?: readonly JournalRecord[];
}

const KINDS: ReadonlySet<string> = new Set([
  'step.started',
  'step.decided',
  'step.retried',
  'step.ended',
  'run.moved',
  'run.ended',
  'run.residual',
]);

export function takeRecords(entries: readonly Entry[]): readonly JournalRecord[] {
  const undone = new Set<string>();
  return entries.flatMap(({ type, seq, step: path, data }) => {
    // A cancel by default writes no entries of a step; its first request shows it.
    const isUndo = type === 'call.intended' && path.endsWith('/undo') && !undone.has(path);
    if (isUndo) undone.add(path);
    return KINDS.has(type) || isUndo ? [{ type, seq, path, step: toStatic(path), data } as JournalRecord] : [];
  });
}

export const toStatic = (path: string): string => path.replace(/\[\d+\]|~\d+/g, '');

export type EndRecord = RecordOf<'step.ended'> | RecordOf<'step.retried'>;

export function isEndOf(record: JournalRecord, step: string): record is EndRecord {
  return record.step === step && (record.type === 'step.ended' || record.type === 'step.retried');
}

export function hasSucceeded(record: EndRecord): boolean {
  return record.type === 'step.ended' && record.data.outcome === 'succeeded' && record.data.error === undefined;
}

export function isBeginning(record: JournalRecord): boolean {
  return record.type === 'step.started' || record.type === 'run.moved';
}

/** Whether a record shows that the steps go on: a step that is skipped has come to its turn too. */
export function goesOn(record: JournalRecord): boolean {
  return isBeginning(record) || (record.type === 'step.ended' && record.data.outcome === 'skipped');
}

/** The steps in whose handlers a step is, outermost first. */
export function listOwners(step: string): string[] {
  return [...step.matchAll(/\/(?:catch\/\d+|on_timeout)\//g)].map(({ index }) => step.slice(0, index));
}

/** The steps around a step, innermost first. */
export function listOuter(step: string): string[] {
  const parts = step.split('/');
  return parts.slice(1).map((_, index) => parts.slice(0, -1 - index).join('/'));
}

/** The rounds in a path, outermost first: the loop's path, and the number of the round. */
export function listRounds(path: string): { readonly loop: string; readonly round: number }[] {
  return [...path.matchAll(/\[(\d+)\]/g)].map(({ 1: round, index }) => ({
    loop: path.slice(0, index),
    round: Number(round),
  }));
}

/** Whether a path is of what undoes a step of a round: it comes when all rounds have ended, the newest first. */
export const undoesIn = (loop: string, path: string): boolean => /\/undo(?:\/|$)/.test(path.slice(loop.length));

export const escapeText = (text: string): string => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');

/** Takes what a called runbook wrote to the beginning of its step. */
export function gatherCalls(
  records: readonly JournalRecord[],
  calls: ReadonlyMap<string, unknown>,
): readonly JournalRecord[] {
  if (calls.size === 0) return records;
  const taken = new Set<JournalRecord>();
  return records.flatMap((record, index) => {
    if (taken.has(record)) return [];
    if (record.type !== 'step.started' || !calls.has(actorId(record.step))) return [record];
    const own = new RegExp(`^${escapeText(record.path)}(?:~\\d+)?/(?=(?:steps|on_error|finally)/)`);
    const inside: JournalRecord[] = [];
    for (const each of records.slice(index + 1)) {
      if (isEndOf(each, record.step) && each.path === record.path) break;
      // What it left belongs to the step that calls it, as what the run left belongs to no step.
      const isLeft = each.type === 'run.residual' && each.path.replace(/~\d+$/, '') === record.path;
      if (!(isLeft || own.test(each.path)) || each.type === 'call.intended') continue;
      taken.add(each);
      const path = isLeft ? '' : each.path.replace(own, '');
      inside.push({ ...localizeError(each, own), path, step: toStatic(path) });
    }
    return [{ ...record, inside }];
  });
}

/** The record, with the step that its error names as the called runbook knows it: one there may have the path of one of the caller's. */
function localizeError(record: JournalRecord, own: RegExp): JournalRecord {
  if (record.type !== 'step.ended') return record;
  const { error } = record.data;
  if (error?.step === undefined) return record;
  return { ...record, data: { ...record.data, error: { ...error, step: error.step.replace(own, '') } } };
}

/** Projects the items of a parallel step to one after another. */
export function lineUpItems(records: readonly JournalRecord[], each: ReadonlySet<string>): readonly JournalRecord[] {
  const lined = [...records];
  for (const step of [...each].sort((a, b) => a.length - b.length)) {
    const places = new Map<
      string,
      { readonly index: number; readonly round: number; readonly record: JournalRecord }[]
    >();
    for (const [index, record] of lined.entries()) {
      const at = listRounds(record.path).find(({ loop }) => toStatic(loop) === step);
      if (at === undefined || record.type === 'call.intended' || undoesIn(at.loop, record.path)) continue;
      places.set(at.loop, [...(places.get(at.loop) ?? []), { index, round: at.round, record }]);
    }
    for (const found of places.values()) {
      const sorted = [...found].sort((a, b) => a.round - b.round || a.index - b.index);
      for (const [position, { index }] of found.entries()) lined[index] = sorted[position]?.record as JournalRecord;
    }
  }
  return lined;
}
