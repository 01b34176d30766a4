/** `runbook audit list`: lists the runs. */

import { EXIT, type ExitCode } from '../../app/errors.ts';
import { describeNoRuns, withJournal } from '../../app/stores/review.ts';
import { formatSpan } from '../../base/format.ts';
import { makePrintable } from '../../base/printable.ts';
import type { RunRow } from '../../journal/store.ts';
import { formatIsoTime, formatText } from '../../report/format.ts';
import type { Given } from '../actions/actions.ts';
import type { Invocation } from '../invocation.ts';
import { readWholeOption } from '../option-values.ts';
import type { Style } from '../terminal/output.ts';
import { type Cell, formatStyledTable } from '../terminal/text-table.ts';

export async function listRuns({ runbook, limit }: Given<'audit list'>, review: Invocation): Promise<ExitCode> {
  const { terminal, state } = review;
  const most = limit === undefined ? undefined : readWholeOption('--limit', limit);
  const rows = await withJournal(review, async (store) => {
    const found = await store.runs(runbook === undefined ? {} : { runbook });
    // By name, which begins with the time of creation: a dry-run's own times are virtual.
    return [...found].sort((a, b) => (a.run < b.run ? 1 : -1)).slice(0, most);
  });
  const runs = (rows ?? []).map(({ run, runbook: name, mode, outcome, startedAt, endedAt, trigger }) => ({
    run,
    runbook: name,
    mode,
    outcome: outcome ?? null,
    startedAt: formatIsoTime(startedAt),
    endedAt: endedAt === undefined ? null : formatIsoTime(endedAt),
    trigger,
  }));
  terminal.answer({ runs }, () => {
    if (rows === undefined) return describeNoRuns(state);
    if (rows.length === 0)
      return runbook === undefined ? describeNoRuns(state) : `there is no run of ${makePrintable(runbook, 100)}`;
    return formatStyledTable(
      ['run', 'runbook', 'mode', 'outcome', 'started', '#took', 'trigger'],
      rows.map(formatRun),
      terminal,
    );
  });
  return EXIT.done;
}

function formatRun({ run, runbook, mode, outcome, startedAt, endedAt, trigger }: RunRow): readonly Cell[] {
  const took = endedAt === undefined ? '' : formatSpan(endedAt - startedAt);
  const ending: Cell =
    outcome === undefined
      ? { text: 'no end yet', style: 'warning' }
      : { text: outcome, style: OUTCOME_STYLE[outcome] ?? 'faint' };
  return [
    formatText(run),
    formatText(runbook),
    formatText(mode),
    ending,
    formatIsoTime(startedAt),
    took,
    formatText(trigger),
  ];
}

export const OUTCOME_STYLE: Readonly<Record<string, Style>> = {
  succeeded: 'good',
  stopped: 'good',
  failed: 'bad',
  halted: 'warning',
};
