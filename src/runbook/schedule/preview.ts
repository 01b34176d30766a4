/**
 * Lists the next occurrences of several slots with the effects of clock changes and shared concurrency keys, as data, as
 * text and as the JSON of `schedule preview` (interface.md, JSON). The engine decides later whether a run starts.
 */
import { formatSpan, formatTable } from '../../base/format.ts';
import { makePrintable } from '../../base/printable.ts';
import type { ScheduledSlot } from './collisions.ts';
import { shortenTime } from './local-time.ts';
import {
  computeLongestDelayMs,
  describeEffect,
  listClockEffects,
  type Occurrence,
  walkOccurrences,
} from './schedule.ts';

interface PreviewRow {
  readonly runbook: string;
  readonly slot: string;
  readonly nominalMs: number;
  /** UTC, ISO 8601. */
  readonly at: string;
  /** The same instant in the slot's zone, ISO 8601 with the offset. */
  readonly local: string;
  readonly zone: string;
  /** Notes about clock changes, jitter and collisions; each is half a sentence. */
  readonly notes: readonly string[];
}

/** The next `next` occurrences of all slots, from `fromMs` on (inclusive), by instant, then by position of the slot. */
export function previewSchedule(
  slots: readonly ScheduledSlot[],
  options: { readonly fromMs: number; readonly next: number },
): readonly PreviewRow[] {
  const due = mergeNext(slots, options.fromMs, options.next);
  return due.map((each, index) => ({
    runbook: each.slot.runbook,
    slot: each.slot.declaration.slot,
    nominalMs: each.occurrence.nominalMs,
    at: new Date(each.occurrence.nominalMs).toISOString(),
    local: each.occurrence.local,
    zone: each.occurrence.zone,
    notes: [
      ...(each.slot.declaration.paper ? ['on paper'] : []),
      ...each.occurrence.notes.map(({ text }) => text),
      ...noteJitter(each),
      ...noteSkipped(due, index, options.fromMs),
      ...noteCollisions(due, each),
    ],
  }));
}

interface Due {
  readonly slot: ScheduledSlot;
  readonly occurrence: Occurrence;
}

/** Merges the slots one occurrence at a time, so that a slot of every minute is not listed for the whole year of another. */
function mergeNext(slots: readonly ScheduledSlot[], fromMs: number, most: number): readonly Due[] {
  const sources = slots.flatMap((slot) => {
    const rest = walkOccurrences(slot.declaration, fromMs, Number.POSITIVE_INFINITY);
    const head = rest.next().value;
    return head ? [{ slot, rest, head }] : [];
  });
  const due: Due[] = [];
  while (due.length < most) {
    let first = sources[0];
    for (const source of sources)
      if (first !== undefined && source.head.nominalMs < first.head.nominalMs) first = source;
    if (first === undefined) break;
    due.push({ slot: first.slot, occurrence: first.head });
    const head = first.rest.next().value;
    if (head) first.head = head;
    else sources.splice(sources.indexOf(first), 1);
  }
  return due;
}

/** Notes the jitter: the times are those of the schedule, and the scheduler draws the delay. */
function noteJitter({ slot: { declaration }, occurrence }: Due): readonly string[] {
  const { jitter } = declaration;
  const mostMs = computeLongestDelayMs(declaration, occurrence.nominalMs);
  if (jitter === undefined || mostMs <= 0) return [];
  const cut =
    mostMs < jitter.ms
      ? ` of ${formatSpan(jitter.ms)}, as far as misfire.within and the next occurrence leave room`
      : '';
  return [`starts up to ${formatSpan(mostMs)} later (jitter${cut})`];
}

/** Notes times skipped by a gap since the slot's previous row; with `gap: skip` no row of their own shows them. */
function noteSkipped(due: readonly Due[], index: number, fromMs: number): readonly string[] {
  const row = due[index] as Due;
  const previous = due.slice(0, index).findLast(({ slot }) => slot === row.slot);
  return listClockEffects(row.slot.declaration, {
    fromMs: previous?.occurrence.nominalMs ?? fromMs,
    toMs: row.occurrence.nominalMs,
  })
    .filter(({ outcome }) => outcome === 'skipped')
    .map((effect) => `before it, ${describeEffect(effect)}`);
}

/** Notes other slots that are due at the same instant under the same concurrency key. */
function noteCollisions(due: readonly Due[], row: Due): readonly string[] {
  const mine = row.slot.concurrency;
  if (mine === undefined) return [];
  const then = { queue: 'one waits for the other', skip: 'one is skipped', fail: 'one fails' }[mine.onBusy];
  return due
    .filter(
      (other) =>
        other !== row &&
        other.occurrence.nominalMs === row.occurrence.nominalMs &&
        other.slot.concurrency?.key === mine.key,
    )
    .map(
      ({ slot }) =>
        `due together with ${slot.runbook} slot ${slot.declaration.slot} under the concurrency key ${JSON.stringify(mine.key)}: ${then}`,
    );
}

/** The document of `schedule preview --json`. */
export function toPreviewJson(rows: readonly PreviewRow[]): {
  readonly occurrences: readonly (Pick<PreviewRow, 'runbook' | 'slot' | 'at' | 'local'> & { readonly note?: string })[];
} {
  return {
    occurrences: rows.map(({ runbook, slot, at, local, notes }) => ({
      runbook,
      slot,
      at,
      local,
      ...(notes.length > 0 && { note: notes.join('; ') }),
    })),
  };
}

/** Text for a terminal: a line for each occurrence, with its notes on separate lines below. */
export function formatPreview(rows: readonly PreviewRow[]): string {
  if (rows.length === 0) return 'Nothing would fire.\n';
  const cells = rows.map((row) => [
    formatUtc(row),
    `${formatLocalDay(row)} ${row.zone}`,
    makePrintable(row.runbook),
    `slot ${makePrintable(row.slot)}`,
  ]);
  const lines = formatTable(cells)
    .split('\n')
    .flatMap((line, index) => [line, ...(rows[index]?.notes ?? []).map((note) => `    ${makePrintable(note)}`)]);
  return `${lines.join('\n')}\n`;
}

function formatUtc(row: PreviewRow): string {
  return `${row.at.slice(0, 10)} ${shortenTime(row.at.slice(11, 23))}Z`;
}

const WEEKDAYS = ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat'] as const;

function formatLocalDay({ local }: PreviewRow): string {
  const date = local.slice(0, 10);
  return `${WEEKDAYS[new Date(`${date}T00:00:00Z`).getUTCDay()]} ${date} ${shortenTime(local.slice(11, 23))} ${local.slice(23)}`;
}
