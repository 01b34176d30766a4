/**
 * What a schedule that can be read will do that its author may not expect: never fire, meet a change of the clocks, meet
 * itself (language.md, Checks 5). Looks at the next twelve months; says nothing of syntax, which is checked where the
 * schedule is read.
 */
import type { Diagnostic, Span } from '../../base/diagnostic.ts';
import type { CheckedRunbook, ScheduleDeclaration } from '../checked.ts';
import { finding } from '../codes/codes.ts';
import { SCHEDULE_CODES, type ScheduleCode } from '../codes/schedule.ts';
import { readDocument } from '../document/document.ts';
import { type Collision, findCollisions, scheduledSlots } from './collisions.ts';
import { describeEffect, findNextOccurrence, listClockEffects, occurrences } from './schedule.ts';

/** What the lints read of a runbook; a whole one will do. */
export type ScheduledRunbook = Pick<CheckedRunbook, 'name' | 'source' | 'inputs' | 'schedule' | 'concurrency'>;

/** The findings about a runbook's schedule as of `nowMs`: fits the `scheduleLint` of the check with the time filled in. */
export function scheduleDiagnostics(runbook: ScheduledRunbook, nowMs: number): readonly Diagnostic[] {
  if (runbook.schedule.length === 0) return [];
  const year = { fromMs: nowMs, toMs: yearAfter(nowMs) };
  const places = new Places(runbook);
  const warn = (slot: ScheduleDeclaration, code: ScheduleCode, message: string): Diagnostic => {
    const row = SCHEDULE_CODES[code];
    return { severity: row.severity, code, message, hint: row.fix, source: runbook.source, span: places.of(slot) };
  };
  const found: Diagnostic[] = [];
  for (const slot of runbook.schedule) {
    if (saysNoTime(slot)) continue;
    if (findNextOccurrence(slot, nowMs) === undefined) {
      const bounds = slot.from === undefined && slot.to === undefined ? ': no date fits' : ' between its from and to';
      if (neverFires(slot))
        found.push(
          finding(runbook.source, places.of(slot), 'schedule-never', `${formatWhen(slot)} never fires${bounds}`),
        );
      else found.push(warn(slot, 'schedule-over', `${formatWhen(slot)} fires no more: its last time has passed`));
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
  for (const collision of findCollisions(scheduledSlots(runbook), year))
    found.push(warn(collision.second.declaration, 'schedule-collision', formatCollision(collision)));
  return found;
}

/** Twelve months later by the calendar. */
function yearAfter(nowMs: number): number {
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

/** Refused where it was read: an interval of nothing, or a window that ends before it begins. */
function saysNoTime({ when, from, to }: ScheduleDeclaration): boolean {
  if (when.kind === 'every' && when.every.ms <= 0) return true;
  return from !== undefined && to !== undefined && from.us >= to.us;
}

/** Whenever one asks, past or future: what has merely passed is not an error, or files would break by lying there. */
function neverFires(slot: ScheduleDeclaration): boolean {
  const fromMs = slot.when.kind === 'at' ? Math.min(0, slot.when.at.ms) : 0;
  return occurrences(slot, { fromMs, toMs: Number.POSITIVE_INFINITY, most: 1 }).length === 0;
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

/** Where the slots stand in the text, by the key that says when; the text is read only when there is something to say. */
class Places {
  private readonly runbook: ScheduledRunbook;
  private spans: readonly (Span | undefined)[] | undefined;

  constructor(runbook: ScheduledRunbook) {
    this.runbook = runbook;
  }

  of(slot: ScheduleDeclaration): Span {
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
