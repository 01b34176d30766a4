/** `runbook audit schedule`: shows of every occurrence whether its run was started, and how late, or why it was not. */

import { EXIT, type ExitCode } from '../../app/errors.ts';
import { readOccurrences } from '../../app/stores/occurrences.ts';
import { formatSpan } from '../../base/format.ts';
import { formatIsoTime, formatText } from '../../report/format.ts';
import type { Given } from '../actions/actions.ts';
import type { Invocation } from '../invocation.ts';
import { readWholeOption } from '../option-values.ts';
import { formatStyledTable } from '../terminal/text-table.ts';
import { readSpan } from './trading.ts';

/** Where `--limit` says nothing. */
const MOST_SHOWN = 100;
const STYLES = { started: 'good', skipped: 'warning', missed: 'bad', due: 'plain' } as const;

export async function showSchedule(
  options: Given<'audit schedule'>,
  { terminal, state }: Invocation,
): Promise<ExitCode> {
  const limit = options.limit === undefined ? MOST_SHOWN : readWholeOption('--limit', options.limit);
  const found = await readOccurrences(state, { runbook: options.runbook, limit, ...readSpan(options) });
  const occurrences = found.map(({ account, runbook: name, slot, nominalMs, verdict, why, run, lateMs }) => ({
    runbook: name,
    slot,
    at: formatIsoTime(nominalMs),
    verdict,
    ...(why === undefined ? {} : { why }),
    ...(run === undefined ? {} : { run }),
    ...(lateMs === undefined ? {} : { lateMs }),
    account,
  }));
  terminal.answer({ occurrences }, () => {
    if (occurrences.length === 0) return 'no occurrence was decided';
    return formatStyledTable(
      ['due', 'runbook', 'slot', 'verdict', 'late by', 'why or run'],
      occurrences.map(({ at, runbook: name, slot, verdict, why, run, lateMs }) => [
        at,
        formatText(name),
        formatText(slot),
        STYLES[verdict] === 'plain' ? verdict : { text: verdict, style: STYLES[verdict] },
        lateMs === undefined ? '' : formatSpan(lateMs),
        formatText(why ?? run ?? ''),
      ]),
      terminal,
    );
  });
  return EXIT.done;
}
