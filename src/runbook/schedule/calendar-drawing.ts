/**
 * Draws a month of schedules as a self-contained SVG: no script, no font, no external reference, light or dark like the
 * reader's system. Everything from a runbook is text, never markup.
 */
import { formatCount } from '../../base/format.ts';
import { escapeXml, makePrintable } from '../../base/printable.ts';
import type { ScheduledSlot } from './collisions.ts';
import { formatClock, formatDate, listZoneChanges, listZoneStretches, type ZoneChange } from './local-time.ts';
import { type Occurrence, walkOccurrences } from './schedule.ts';

interface CalendarMonth {
  readonly year: number;
  /** From 1. */
  readonly month: number;
  /** IANA zone whose days are drawn; slots of other zones appear at their time in this zone. */
  readonly zone: string;
}

interface Line {
  readonly text: string;
  /** Whether a daylight-saving change affected it. */
  readonly changed: boolean;
  /** The full text, shown as a tooltip. */
  readonly title: string;
}

/** Wide enough for `MOST_SHOWN` characters, even in bold, as on the day of a clock change. */
const CELL = { width: 174, height: 112, line: 15, lines: 5 } as const;
const HEAD = 78;
const MARGIN = 16;
const DAY_MS = 86_400_000;
const WEEKDAYS = ['Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday', 'Sunday'] as const;
const MONTHS = [
  'January',
  'February',
  'March',
  'April',
  'May',
  'June',
  'July',
  'August',
  'September',
  'October',
  'November',
  'December',
] as const;

export function drawCalendar(slots: readonly ScheduledSlot[], { year, month, zone }: CalendarMonth): string {
  const firstDay = Date.UTC(year, month - 1, 1);
  const days = new Date(Date.UTC(year, month, 0)).getUTCDate();
  const blank = (new Date(firstDay).getUTCDay() + 6) % 7;
  const weeks = Math.ceil((blank + days) / 7);
  const width = 2 * MARGIN + 7 * CELL.width;
  const height = HEAD + weeks * CELL.height + MARGIN;
  const title = `Schedules, ${MONTHS[month - 1]} ${year}`;
  const byDay = groupLinesByDay(slots, firstDay, days, zone);
  const changes = groupChangesByDay(firstDay, days, zone);
  const total = [...byDay.values()].reduce((sum, { count }) => sum + count, 0);
  const cells = Array.from({ length: days }, (_, index) => {
    const date = formatDate(firstDay + index * DAY_MS);
    const place = {
      x: MARGIN + ((blank + index) % 7) * CELL.width,
      y: HEAD + Math.floor((blank + index) / 7) * CELL.height,
    };
    return drawDay(index + 1, place, byDay.get(date)?.lines ?? [], changes.get(date));
  });
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-labelledby="calendar-title calendar-desc">`,
    `<title id="calendar-title">${escapeText(title)}</title>`,
    `<desc id="calendar-desc">${escapeText(describeMonth(total, byDay, changes, zone))}</desc>`,
    `<style>${STYLE}</style>`,
    `<rect class="page" width="${width}" height="${height}"/>`,
    `<text class="title" x="${MARGIN}" y="32">${escapeText(title)}</text>`,
    `<text class="quiet" x="${width - MARGIN}" y="32" text-anchor="end">times in ${escapeText(zone)}</text>`,
    ...WEEKDAYS.map(
      (name, index) => `<text class="quiet" x="${MARGIN + index * CELL.width + 8}" y="${HEAD - 10}">${name}</text>`,
    ),
    ...cells,
    '</svg>\n',
  ].join('\n');
}

/** Clock changes of the zone, by the date on which they begin. */
function groupChangesByDay(firstDay: number, days: number, zone: string): ReadonlyMap<string, ZoneChange> {
  const begins = ({ atMs, offsetBeforeMs }: ZoneChange): number => atMs + offsetBeforeMs;
  const changes = listZoneChanges(zone, firstDay - DAY_MS, firstDay + (days + 1) * DAY_MS).filter(
    (change) => begins(change) >= firstDay && begins(change) < firstDay + days * DAY_MS,
  );
  return new Map(changes.map((change) => [formatDate(begins(change)), change]));
}

const STYLE = [
  'text{font:12px system-ui,sans-serif;fill:#1f2328}.title{font-size:20px;font-weight:600}.quiet{fill:#59636e}.day{font-weight:600}',
  '.page{fill:#fff}.cell{fill:none;stroke:#d1d9e0}.shifted .cell{fill:#fff8c5}.changed{fill:#9a6700;font-weight:600}',
  '@media (prefers-color-scheme:dark){text{fill:#f0f6fc}.quiet{fill:#9198a1}.page{fill:#0d1117}.cell{stroke:#3d444d}.shifted .cell{fill:#2e2a1f}.changed{fill:#d29922}}',
].join('');

function drawDay(
  day: number,
  { x, y }: { readonly x: number; readonly y: number },
  lines: readonly Line[],
  change: ZoneChange | undefined,
): string {
  const room = CELL.lines - (change === undefined ? 0 : 1);
  const shown = lines.length > room ? lines.slice(0, room - 1) : lines;
  const texts = shown.map(({ text, changed, title }) => ({
    text: shorten(text),
    title,
    name: changed ? ' class="changed"' : '',
  }));
  if (shown.length < lines.length) {
    const rest = lines.slice(shown.length);
    texts.push({
      text: `and ${rest.length} more`,
      title: rest.map(({ title }) => title).join('\n'),
      name: ' class="quiet"',
    });
  }
  if (change !== undefined)
    texts.unshift({ text: formatChange(change), title: formatChange(change), name: ' class="changed"' });
  return [
    `<g${change === undefined ? '' : ' class="shifted"'}><rect class="cell" x="${x}" y="${y}" width="${CELL.width}" height="${CELL.height}"/>`,
    `<text class="day" x="${x + 8}" y="${y + 18}">${day}</text>`,
    ...texts.map(
      ({ text, title, name }, index) =>
        `<text${name} x="${x + 8}" y="${y + 36 + index * CELL.line}"><title>${escapeText(title)}</title>${escapeText(text)}</text>`,
    ),
    '</g>',
  ].join('');
}

function formatChange({ atMs, offsetBeforeMs, offsetAfterMs }: ZoneChange): string {
  const before = atMs + offsetBeforeMs;
  const after = atMs + offsetAfterMs;
  return formatDate(before) === formatDate(after)
    ? `clocks ${formatClock(before)} → ${formatClock(after)}`
    : `clocks → ${formatDate(after)} ${formatClock(after)}`;
}

interface Day {
  readonly lines: readonly Line[];
  readonly count: number;
}

interface Due {
  readonly slot: ScheduledSlot;
  /** Local time in the calendar's zone, counted in ms as if it were UTC. */
  readonly wallMs: number;
  readonly occurrence: Occurrence;
}

function groupLinesByDay(
  slots: readonly ScheduledSlot[],
  firstDay: number,
  days: number,
  zone: string,
): ReadonlyMap<string, Day> {
  const byDay = new Map<string, Due[]>();
  for (const due of listDueInMonth(slots, firstDay, firstDay + days * DAY_MS, zone)) {
    const date = formatDate(due.wallMs);
    const others = byDay.get(date);
    if (others === undefined) byDay.set(date, [due]);
    else others.push(due);
  }
  return new Map(
    [...byDay].map(([date, due]) => [
      date,
      { lines: slots.flatMap((slot) => formatSlotLines(slot, due)).sort((a, b) => a.atMs - b.atMs), count: due.length },
    ]),
  );
}

function* listDueInMonth(
  slots: readonly ScheduledSlot[],
  wallFromMs: number,
  wallToMs: number,
  zone: string,
): Generator<Due, void, undefined> {
  const fromMs = wallFromMs - DAY_MS;
  const toMs = wallToMs + DAY_MS;
  const stretches = [...listZoneStretches(zone, fromMs, toMs)];
  for (const slot of slots) {
    for (const occurrence of walkOccurrences(slot.declaration, fromMs, toMs)) {
      const wallMs =
        occurrence.nominalMs + (stretches.find(({ endMs }) => occurrence.nominalMs < endMs)?.offsetMs ?? 0);
      if (wallMs >= wallFromMs && wallMs < wallToMs) yield { slot, wallMs, occurrence };
    }
  }
}

/** The most occurrences of a slot on a day that are listed; more are summed up in one line. */
const MOST_WRITTEN = 3;

function formatSlotLines(slot: ScheduledSlot, due: readonly Due[]): readonly (Line & { readonly atMs: number })[] {
  const name = makePrintable(slot.runbook, 60);
  const lines = due
    .filter((each) => each.slot === slot)
    .map(({ wallMs, occurrence: { nominalMs, notes } }) => ({
      atMs: nominalMs,
      clock: formatClock(wallMs),
      text: `${formatClock(wallMs)} ${name}`,
      changed: notes.length > 0,
      title: [`${formatClock(wallMs)} ${name} slot ${slot.declaration.slot}`, ...notes.map(({ text }) => text)].join(
        ': ',
      ),
    }));
  const [first] = lines;
  const last = lines.at(-1);
  if (first === undefined || last === undefined || lines.length <= MOST_WRITTEN) return lines;
  const text = `${first.clock}–${last.clock} ×${lines.length} ${name}`;
  const changed = lines.filter((line) => line.changed);
  return [
    {
      atMs: first.atMs,
      text,
      changed: changed.length > 0,
      title: [
        `${text} slot ${slot.declaration.slot}`,
        ...changed.slice(0, MOST_WRITTEN).map(({ title }) => title),
      ].join('\n'),
    },
  ];
}

function describeMonth(
  total: number,
  byDay: ReadonlyMap<string, Day>,
  changes: ReadonlyMap<string, ZoneChange>,
  zone: string,
): string {
  const shifts = [...changes].map(([date, change]) => ` On ${date} the ${formatChange(change)}.`).join('');
  return `${formatCount(total, 'occurrence')} on ${formatCount(byDay.size, 'day')}, at local times of ${zone}.${shifts}`;
}

/** The most characters of a line in a cell; its tooltip shows the full text. */
const MOST_SHOWN = 21;

function shorten(text: string): string {
  const characters = [...text];
  return characters.length <= MOST_SHOWN ? text : `${characters.slice(0, MOST_SHOWN - 1).join('')}…`;
}

/** Line breaks stay. */
function escapeText(text: string): string {
  return text.split('\n').map(escapeXml).join('\n');
}
