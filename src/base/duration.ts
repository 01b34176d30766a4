/**
 * Reads and writes the durations of profiles and fixtures, and writes those of the language: whole milliseconds as `1m30s`
 * or `42ms`. Durations that only people read are written by format.ts.
 */

const UNITS = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['m', 60_000],
  ['s', 1000],
  ['ms', 1],
] as const;

/** Whole units, each at most once, the largest first. For JSON Schemas. */
export const DURATION_PATTERN =
  '^(?=\\d)(?:\\d{1,6}d)?(?:\\d{1,6}h)?(?:\\d{1,6}m(?!s))?(?:\\d{1,9}s)?(?:\\d{1,12}ms)?$';
/** The same, optionally with `-` in front. */
export const SIGNED_DURATION_PATTERN = DURATION_PATTERN.replace('^', '^-?');

/** Milliseconds of a text that fits `SIGNED_DURATION_PATTERN`; undefined for anything else. */
export function parseDurationMs(text: string): number | undefined {
  if (!new RegExp(SIGNED_DURATION_PATTERN).test(text)) return undefined;
  let total = 0;
  for (const [, count, unit] of text.matchAll(/(\d+)(ms|[dhms])/g)) {
    total += Number(count) * (UNITS.find(([name]) => name === unit)?.[1] ?? 0);
  }
  return text.startsWith('-') ? -total : total;
}

/** `1m30s` for 90 000 ms, `0ms` for 0. */
export function writeDuration(ms: number): string {
  let rest = Math.abs(ms);
  let text = '';
  for (const [name, size] of UNITS) {
    const count = Math.floor(rest / size);
    if (count > 0) text += `${count}${name}`;
    rest -= count * size;
  }
  return text === '' ? '0ms' : `${ms < 0 ? '-' : ''}${text}`;
}
