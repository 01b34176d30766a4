/** `runbook audit budget`: shows the tokens that a run used, over time and by endpoint. */
import { EXIT, type ExitCode } from '../../app/errors.ts';
import { withRun } from '../../app/stores/review.ts';
import { formatCount, formatOffset, formatSpan } from '../../base/format.ts';
import { foldEntries } from '../../journal/reading.ts';
import { type BudgetBucket, type BudgetDocument, BudgetFold } from '../../report/folds/budget.ts';
import { formatText } from '../../report/format.ts';
import type { Given } from '../actions/actions.ts';
import type { Invocation } from '../invocation.ts';
import type { Output, Style } from '../terminal/output.ts';
import { type Cell, formatStyledTable } from '../terminal/text-table.ts';

export async function showBudget({ run: name }: Given<'audit budget'>, review: Invocation): Promise<ExitCode> {
  const { terminal } = review;
  return withRun(review, name, async (store, run) => {
    const document = (await foldEntries(store, run.run, new BudgetFold())).document();
    terminal.answer(document, () => formatBudget(document, run.startedAt, terminal));
    return EXIT.done;
  });
}

const BAR_WIDTH = 40;

function formatBudget(document: BudgetDocument, startedAt: number, terminal: Output): string {
  const {
    used,
    peak,
    limit,
    windowMs,
    requests,
    waits,
    limited,
    refused,
    leastRemaining,
    endpoints,
    bucketMs,
    buckets,
  } = document;
  if (requests === 0) return 'nothing was sent';
  const window = formatSpan(windowMs);
  const top = Math.max(limit ?? 0, peak);
  const lines = [
    `${terminal.style('strong', formatCount(used, 'token'))} in ${formatCount(requests, 'request')}; at most ${peak} within ${window}${limit === undefined ? '' : `, of ${limit}`}`,
    ...(leastRemaining === undefined ? [] : [`lowest remaining count from the venue: ${leastRemaining}`]),
    ...(waits.count === 0
      ? []
      : [
          `${formatCount(waits.count, 'request')} waited for tokens, ${formatSpan(waits.totalMs)} in total, at most ${formatSpan(waits.longestMs)}`,
        ]),
    ...(limited === 0
      ? []
      : [terminal.style('warning', `the venue refused ${formatCount(limited, 'request')} for its rate limit`)]),
    ...(refused === 0
      ? []
      : [terminal.style('warning', `${formatCount(refused, 'call')} not sent: no tokens in time`)]),
    '',
    terminal.style(
      'faint',
      `highest token use within ${window}, in each ${formatSpan(bucketMs)}; a full bar is ${top}`,
    ),
    ...drawBuckets(buckets, { startedAt, bucketMs, top, limit }, terminal),
    '',
    formatStyledTable(
      ['endpoint', '#requests', '#tokens'],
      endpoints.map((each): readonly Cell[] => [formatText(each.endpoint), String(each.requests), String(each.tokens)]),
      terminal,
    ),
  ];
  return lines.join('\n');
}

interface ChartScale {
  readonly startedAt: number;
  readonly bucketMs: number;
  readonly top: number;
  readonly limit: number | undefined;
}

function drawBuckets(
  buckets: readonly BudgetBucket[],
  { startedAt, bucketMs, top, limit }: ChartScale,
  terminal: Output,
): readonly string[] {
  const lines: string[] = [];
  let expected: number | undefined;
  for (const bucket of buckets) {
    const at = Date.parse(bucket.at);
    if (expected !== undefined && at > expected)
      lines.push(terminal.style('faint', `${''.padStart(12)}  nothing for ${formatSpan(at - expected)}`));
    expected = at + bucketMs;
    const share = bucket.peak / top;
    const style: Style = limit !== undefined && bucket.peak > limit * 0.8 ? 'warning' : 'good';
    const bar = `${'█'.repeat(Math.floor(share * BAR_WIDTH))}${PARTS[Math.floor(((share * BAR_WIDTH) % 1) * 8)] ?? ''}`;
    const left = bucket.remaining === undefined ? '' : `, ${bucket.remaining} left`;
    const after = terminal.style('faint', formatOffset(at - startedAt, 0).padStart(12));
    lines.push(
      `${after}  ${terminal.style(style, bar.padEnd(BAR_WIDTH))}  ${bucket.peak}${terminal.style('faint', ` (${formatCount(bucket.requests, 'request')}${left})`)}`,
    );
  }
  return lines;
}
const PARTS = ['', '▏', '▎', '▍', '▌', '▋', '▊', '▉'];
