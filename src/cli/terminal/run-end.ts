/**
 * Shows how a live run ended: the report, then what needs a person: the known state at the venue, what to do next, where to read
 * more. Returns the exit code.
 */

import { EXIT, type ExitCode } from '../../app/errors.ts';
import { findStepPlace, readPinned, showInputs } from '../../app/files/load.ts';
import { exitAfter } from '../../app/process.ts';
import type { EndedRun } from '../../app/run/outcome.ts';
import { describeUnsettled } from '../../app/run/unsettled.ts';
import { toSystemError } from '../../app/system-errors.ts';
import { SystemClock } from '../../base/clock.ts';
import { makePrintable } from '../../base/printable.ts';
import { type ReportSource, readRows, writeRunReport } from '../../report/export/run-report.ts';
import { getOrderState, type OrderRow } from '../../report/folds/orders.ts';
import { describeUnseen, POSITION_LEFT, type Residual } from '../../report/folds/residual.ts';
import type { RunOutline } from '../../report/folds/run.ts';
import { printSummary, SummaryRows } from '../../report/summary.ts';
import { isWorking } from '../../venue/order/states.ts';
import { describeLeft } from '../../venue/position/residual.ts';
import type { Output } from './output.ts';

/** Shows the report, or has `answer` do it, and what needs a person; returns the exit code. */
export async function showEnd(
  { source, residual, signal }: EndedRun,
  terminal: Output,
  answer: (source: ReportSource, terminal: Output) => Promise<void> | void = showReport,
): Promise<ExitCode> {
  const report = source.known.outline();
  const unread = await Promise.resolve(answer(source, terminal)).then(() => undefined, describeUnread);
  if (unread !== undefined) terminal.complain(unread);
  if (report.outcome === 'halted') reportHalted(report, residual, terminal);
  else reportLeft(report, residual, terminal);
  for (const order of residual.unseen) terminal.complain(describeUnseen(order));
  for (const left of residual.left) {
    const said = `${POSITION_LEFT} ${describeLeft(left)}`;
    if (residual.beyond.includes(left))
      terminal.complain(
        `${said}. Look at the position at the venue, and place a stop or close it there; see docs/live.md, Exit codes`,
      );
    else terminal.note(said);
  }
  if (report.outcome === 'halted') return EXIT.halted;
  if (signal !== undefined) return exitAfter(signal);
  return report.outcome === 'failed' || unread !== undefined ? EXIT.failed : EXIT.done;
}

/** What needs a person is said even where the store does not answer any more. */
function describeUnread(error: unknown): string {
  const trouble = toSystemError(error);
  if (trouble === undefined) throw error;
  return `the run has ended, and its report cannot be read: ${trouble.message}`;
}

/** Reads the journal of the run while it writes the report. */
export async function showReport(source: ReportSource, terminal: Output): Promise<void> {
  if (terminal.json) return terminal.answerInPieces(writeRunReport(source));
  const { outline, place } = await describeRun(source);
  const rows = new SummaryRows(outline);
  await readRows(source, rows);
  terminal.print(printSummary(outline, rows, (role, text) => terminal.style(role, text), place));
}

/** What is known of the run, with its inputs as they can be given again, and where the step that failed is written. */
async function describeRun(source: ReportSource): Promise<{ readonly outline: RunOutline; readonly place?: string }> {
  const outline = source.known.outline();
  for await (const entry of source.entries()) {
    if (entry.type !== 'run.started') break;
    const step = outline.error?.step;
    const runbook = step === undefined ? undefined : readPinned(entry.data.sources);
    const place = runbook === undefined || step === undefined ? undefined : findStepPlace(runbook, step);
    const { inputs } = showInputs(entry).data;
    return { outline: { ...outline, inputs }, ...(place === undefined ? {} : { place }) };
  }
  return { outline };
}

function reportHalted(report: RunOutline, residual: Residual, terminal: Output): void {
  terminal.complain(`halted: ${makePrintable(report.reason ?? '', 400)}`);
  for (const line of describeUnsettled(report, residual, new SystemClock().now())) terminal.complain(line);
  terminal.complain('what to do now, step by step: docs/live.md, Exit 4');
}

/** For a resumed run that is settled now: orders it left, and that the reason of its halt no longer holds. */
function reportLeft(report: RunOutline, { hadHalted }: Residual, terminal: Output): void {
  if (report.outcome !== 'failed') return;
  const left = report.orders.filter((order) => isWorking(getOrderState(order)));
  for (const order of left)
    terminal.complain(
      `left at the venue: ${describeOrder(order)} is ${order.state}; cancel it there if it should not be, \`runbook audit show ${report.run}\` shows its history`,
    );
  if (hadHalted && left.length === 0)
    terminal.note(
      'it had halted, and every doubt of that time is settled now: none of its orders is left at the venue, and there is nothing to resume. The reason above is the one it halted for',
    );
}

function describeOrder({ type, side, market, clientOrderId, orderId }: OrderRow): string {
  return `order ${clientOrderId} (${orderId ?? 'no id yet'}), ${type} ${side} of ${market},`;
}
