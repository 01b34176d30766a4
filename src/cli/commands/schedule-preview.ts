/** `runbook schedule preview`: lists the next occurrences of schedules, and draws a month of them. Starts nothing. */

import { EXIT, type ExitCode, UserError } from '../../app/errors.ts';
import { replaceText } from '../../app/files/files.ts';
import { readScheduled } from '../../app/schedule/runs/timetable.ts';
import { makePrintable } from '../../base/printable.ts';
import { drawCalendar } from '../../runbook/schedule/calendar-drawing.ts';
import { formatPreview, previewSchedule, toPreviewJson } from '../../runbook/schedule/preview.ts';
import type { Given } from '../actions/actions.ts';
import type { Invocation } from '../invocation.ts';
import { readDrawingOption, readTimeOption } from '../option-values.ts';

const DEFAULT_NEXT = 20;
const MOST_NEXT = 10_000;

export async function previewSchedules(
  options: Given<'schedule preview'>,
  { terminal }: Invocation,
): Promise<ExitCode> {
  const next = readNextOption(options.next);
  const fromMs = options.from === undefined ? Date.now() : readTimeOption('--from', options.from);
  const drawn = options.calendar === undefined ? undefined : readDrawingOption('--calendar', options.calendar);
  const slots = readScheduled(options.files, terminal);
  if (slots.length === 0)
    throw new UserError(
      `nothing in ${options.files.map((path) => makePrintable(path, 100)).join(', ')} has a schedule`,
    );
  if (options.calendar !== undefined && drawn !== undefined) {
    const zone =
      slots.flatMap(({ declaration: { when } }) => ('tz' in when && when.tz !== undefined ? [when.tz] : []))[0] ??
      'UTC';
    const svg = drawCalendar(slots, { ...findMonth(fromMs, zone), zone });
    replaceText(options.calendar, drawn === 'html' ? makePage(svg) : svg, 'calendar');
    terminal.note(`${makePrintable(options.calendar, 300)}: the month in the time zone ${zone}`);
  }
  const rows = previewSchedule(slots, { fromMs, next });
  terminal.answer(toPreviewJson(rows), () => formatPreview(rows));
  return EXIT.done;
}

function readNextOption(text: string | undefined): number {
  if (text === undefined) return DEFAULT_NEXT;
  const next = /^\d{1,6}$/.test(text) ? Number(text) : Number.NaN;
  if (!(next >= 1 && next <= MOST_NEXT))
    throw new UserError(`--next takes a number from 1 to ${MOST_NEXT}, found ${makePrintable(text, 60)}`);
  return next;
}

/** The month of an instant in a time zone. */
function findMonth(ms: number, zone: string): { readonly year: number; readonly month: number } {
  const parts = new Intl.DateTimeFormat('en-US', { timeZone: zone, year: 'numeric', month: 'numeric' }).formatToParts(
    ms,
  );
  const number = (type: 'year' | 'month') => Number(parts.find((part) => part.type === type)?.value);
  return { year: number('year'), month: number('month') };
}

/** A page with only the drawing: no script, no external resources. */
function makePage(svg: string): string {
  return [
    '<!doctype html>',
    '<html lang="en">',
    '<head><meta charset="utf-8"><title>Schedules</title>',
    '<meta http-equiv="content-security-policy" content="default-src \'none\'; style-src \'unsafe-inline\'">',
    '<style>body{margin:0;color-scheme:light dark}svg{max-width:100%;height:auto}</style></head>',
    '<body>',
    svg.trimEnd(),
    '</body>',
    '</html>\n',
  ].join('\n');
}
