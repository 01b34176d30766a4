/**
 * Warns of valid schedules that may surprise their author: they never fire, fall on a clock change, or collide with
 * themselves (language.md, Checks 5). Covers the next twelve months; check/schedule-entries.ts checks the syntax.
 */
import type { Diagnostic, Span } from '../../base/diagnostic.ts';
import type { CheckedRunbook, ScheduleDeclaration } from '../checked.ts';
import { makeFinding } from '../codes/codes.ts';
import { SCHEDULE_CODES, type ScheduleCode } from '../codes/schedule.ts';
import { readDocument } from '../document/document.ts';
import { type Collision, findCollisions, listScheduledSlots } from './collisions.ts';
import { describeEffect, findNextOccurrence, listClockEffects, listOccurrences } from './schedule.ts';

/** The parts of a runbook that the lints read. */
export type ScheduledRunbook = Pick<CheckedRunbook, 'name' | 'source' | 'inputs' | 'schedule' | 'concurrency'>;

/** The findings about a runbook's schedule as of `nowMs`, epoch ms; the `scheduleLint` of the check calls it. */
export function lintSchedule(runbook: ScheduledRunbook, nowMs: number): readonly Diagnostic[] {
  if (runbook.schedule.length === 0) return [];
  const year = { fromMs: nowMs, toMs: addYear(nowMs) };
  const places = new Places(runbook);
  const warn = (slot: ScheduleDeclaration, code: ScheduleCode, message: string): Diagnostic => {
    const row = SCHEDULE_CODES[code];
    return { severity: row.severity, code, message, hint: row.fix, source: runbook.source, span: places.find(slot) };
  };
  const found: Diagnostic[] = [];
  for (const slot of runbook.schedule) {
    if (hasInvalidTimes(slot)) continue;
    if (findNextOccurrence(slot, nowMs) === undefined) {
      const bounds = slot.from === undefined && slot.to === undefined ? ': no date fits' : ' between its from and to';
      if (neverFires(slot))
        found.push(
          makeFinding(runbook.source, places.find(slot), 'schedule-never', `${formatWhen(slot)} never fires${bounds}`),
        );
      else found.push(warn(slot, 'schedule-over', `${formatWhen(slot)} does not fire again: its last time has passed`));
      continue;
    }
    const effects = listClockEffects(slot, year).filter(({ outcome }) => outcome !== 'real_time');
    const gap = effects.find(({ kind }) => kind === 'gap');
    const overlap = effects.find(({ kind }) => kind === 'overlap');
    if (gap !== undefined)
      found.push(warn(slot, 'schedule-dst-gap', `in ${gap.zone}, ${describeEffect(gap)} (gap: ${slot.dst.gap})`));
    if (overlap !== undefined)
      found.push(
        warn(
          slot,
          'schedule-dst-overlap',
          `in ${overlap.zone}, ${describeEffect(overlap)} (overlap: ${slot.dst.overlap})`,
        ),
      );
  }
  for (const collision of findCollisions(listScheduledSlots(runbook), year))
    found.push(warn(collision.second.declaration, 'schedule-collision', formatCollision(collision)));
  return found;
}

/** Twelve months later, by the calendar. */
function addYear(nowMs: number): number {
  const now = new Date(nowMs);
  return Date.UTC(
    now.getUTCFullYear() + 1,
    now.getUTCMonth(),
    now.getUTCDate(),
    now.getUTCHours(),
    now.getUTCMinutes(),
    now.getUTCSeconds(),
  );
}

/** Whether the check has already refused the times: an interval of zero, or a window that ends before it begins. */
function hasInvalidTimes({ when, from, to }: ScheduleDeclaration): boolean {
  if (when.kind === 'every' && when.every.ms <= 0) return true;
  return from !== undefined && to !== undefined && from.us >= to.us;
}

/** Whether a slot fires at no time, past or future. A slot that has passed is not an error: files must not break with age. */
function neverFires(slot: ScheduleDeclaration): boolean {
  const fromMs = slot.when.kind === 'at' ? Math.min(0, slot.when.at.ms) : 0;
  return listOccurrences(slot, { fromMs, toMs: Number.POSITIVE_INFINITY, most: 1 }).length === 0;
}

function formatWhen({ when }: ScheduleDeclaration): string {
  switch (when.kind) {
    case 'cron':
      return JSON.stringify(when.cron);
    case 'every':
      return 'the interval';
    case 'at':
      return 'the one time';
    default:
      return when satisfies never;
  }
}

function formatCollision({ first, second, key, occurrence }: Collision): string {
  const onBusy = second.concurrency?.onBusy ?? 'queue';
  const then = { queue: 'one waits for the other', skip: 'one of them is skipped', fail: 'one of them fails' }[onBusy];
  return `slots ${first.declaration.slot} and ${second.declaration.slot} are both due at ${occurrence.local} under the concurrency key ${JSON.stringify(key)}: ${then}`;
}

/** The places of the slots in the text, at the key with the time; the text is read only if there is a finding. */
class Places {
  private readonly runbook: ScheduledRunbook;
  private spans: readonly (Span | undefined)[] | undefined;

  constructor(runbook: ScheduledRunbook) {
    this.runbook = runbook;
  }

  find(slot: ScheduleDeclaration): Span {
    this.spans ??= this.read();
    const span = this.spans.find(
      (each) => each !== undefined && each.start >= slot.span.start && each.end <= slot.span.end,
    );
    return span ?? slot.span;
  }

  private read(): readonly (Span | undefined)[] {
    const { root } = readDocument(this.runbook.source);
    const schedule = root?.kind === 'map' ? root.get('schedule') : undefined;
    const entries = schedule?.kind === 'list' ? schedule.items : schedule === undefined ? [] : [schedule];
    return entries.map((entry) =>
      entry.kind === 'map' ? (entry.get('cron') ?? entry.get('every') ?? entry.get('at'))?.span : undefined,
    );
  }
}
