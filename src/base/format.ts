/**
 * Formats time spans, offsets on a time line, counts, lists and tables for people. Durations that are read back, such as
 * `1m30s` in a profile or a runbook, are written by duration.ts. The review page runs this file in the browser: it imports
 * nothing.
 */

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

const SPAN_UNITS = [
  ['d', DAY],
  ['h', HOUR],
  ['min', MINUTE],
  ['s', SECOND],
] as const;

/**
 * A length of time in prose, from milliseconds: `450 ms`, `1.768 s`, `1 min 2 s`, `3 h 5 min`, `2 d 4 h`. Below a minute to the
 * millisecond; from there on the two largest units, and the rest is left out.
 */
export function formatSpan(ms: number): string {
  const whole = Math.round(Math.abs(ms));
  if (ms < 0 && whole > 0) return `−${formatSpan(whole)}`;
  if (whole < SECOND) return `${whole} ms`;
  if (whole < MINUTE) return `${whole / SECOND} s`;
  const first = SPAN_UNITS.findIndex(([, size]) => whole >= size);
  let rest = whole;
  const parts: string[] = [];
  for (const [unit, size] of SPAN_UNITS.slice(first, first + 2)) {
    const count = Math.floor(rest / size);
    rest -= count * size;
    if (count > 0) parts.push(`${count} ${unit}`);
  }
  return parts.join(' ');
}

/** The same from milliseconds to the nearest second, for what goes on while it is read: `0 s`, `12 s`, `1 min 2 s`. */
export function formatWholeSeconds(ms: number): string {
  const seconds = Math.round(ms / SECOND);
  return seconds === 0 ? '0 s' : formatSpan(seconds * SECOND);
}

/**
 * Where something is on a time line, from milliseconds after its start: `+0.450`, `+1:02.002`, `+1:02:03.456`, that is seconds,
 * minutes and hours. `digits` after the second; without any, seconds alone have their unit: `+5 s`, `+1:05`.
 */
export function formatOffset(ms: number, digits = 3): string {
  const sign = ms < 0 ? '−' : '+';
  const grain = SECOND / 10 ** digits;
  const whole = Math.round(Math.abs(ms) / grain) * grain;
  const seconds = ((whole % MINUTE) / SECOND).toFixed(digits);
  const minutes = Math.floor(whole / MINUTE);
  if (minutes === 0) return `${sign}${seconds}${digits === 0 ? ' s' : ''}`;
  const padded = seconds.padStart(digits === 0 ? 2 : digits + 3, '0');
  const hours = Math.floor(minutes / 60);
  return hours === 0
    ? `${sign}${minutes}:${padded}`
    : `${sign}${hours}:${String(minutes % 60).padStart(2, '0')}:${padded}`;
}

/** An instant in microseconds since the epoch, ISO 8601 in UTC: `2026-01-05T08:00:00.000Z`; six digits where they matter. */
export function formatMicros(us: number): string {
  const ms = Math.floor(us / 1000);
  const rest = us - ms * 1000;
  const iso = new Date(ms).toISOString();
  return rest === 0 ? iso : `${iso.slice(0, -1)}${String(rest).padStart(3, '0')}Z`;
}

/** `1 order`, `3 orders`; `many` where adding an s is not enough: `2 entries`, `3 orders were`. */
export function formatCount(count: number, one: string, many?: string): string {
  return `${count} ${pluralize(count, one, many)}`;
}

/** The word alone, in the singular or plural that the count needs. */
export function pluralize(count: number, one: string, many = `${one}s`): string {
  return count === 1 ? one : many;
}

/** `a`, `a and b`, `a, b and c`; or with another word before the last. */
export function capitalize(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}`;
}

export function toSentence(text: string): string {
  return `${capitalize(text)}${/[.!?]$/.test(text) ? '' : '.'}`;
}

export function formatList(items: readonly string[], word = 'and'): string {
  if (items.length < 2) return items.join('');
  return `${items.slice(0, -1).join(', ')} ${word} ${items.at(-1)}`;
}

/** The first `most` items of a list: `a, b, c`, or `a, b, c and 4 more`. */
export function formatFirst(items: readonly string[], most: number, separator = ', '): string {
  const first = items.slice(0, most).join(separator);
  return items.length > most ? `${first} and ${items.length - most} more` : first;
}

/**
 * Rows in columns as wide as their widest cell, two blanks apart. Cells may hold colour codes, which have no width; texts from
 * outside must already be printable. `right`: columns aligned to the right, by index. No line ends with blanks.
 */
export function formatTable(rows: readonly (readonly string[])[], right: readonly number[] = []): string {
  const widths: number[] = [];
  for (const row of rows)
    for (const [column, cell] of row.entries()) widths[column] = Math.max(widths[column] ?? 0, measureWidth(cell));
  return rows
    .map((row) =>
      row
        .map((cell, column) => {
          const blanks = ' '.repeat((widths[column] ?? 0) - measureWidth(cell));
          return right.includes(column) ? blanks + cell : cell + blanks;
        })
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

const COLOUR = new RegExp(`${String.fromCharCode(27)}\\[[0-9;]*m`, 'g');

function measureWidth(cell: string): number {
  return cell.replace(COLOUR, '').length;
}
