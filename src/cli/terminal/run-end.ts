/**
 * Shows how a live run ended: the report, then what needs a person: the known state at the venue, what to do next, where to read
 * more. Returns the exit code.
 */

import { EXIT, type ExitCode } from '../../app/errors.ts';
import { exitAfter } from '../../app/process.ts';
import type { EndedRun } from '../../app/run/outcome.ts';
import { describeUnsettled } from '../../app/run/unsettled.ts';
import { SystemClock } from '../../base/clock.ts';
import { makePrintable } from '../../base/printable.ts';
import { getOrderState, type OrderRow } from '../../report/folds/orders.ts';
import { POSITION_LEFT, type Residual } from '../../report/folds/residual.ts';
import type { RunReport } from '../../report/folds/run.ts';
import { printSummary } from '../../report/summary.ts';
import { isWorking } from '../../venue/order/states.ts';
import { describeLeft } from '../../venue/position/residual.ts';
import type { Output } from './output.ts';

/** Shows the report, or has `answer` do it, and what needs a person; returns the exit code. */
export function showEnd(
  { report, residual, signal }: EndedRun,
  terminal: Output,
  answer: (report: RunReport, terminal: Output) => void = showReport,
): ExitCode {
  answer(report, terminal);
  if (report.outcome === 'halted') reportHalted(report, residual, terminal);
  else reportLeft(report, residual, terminal);
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
  return report.outcome === 'failed' ? EXIT.failed : EXIT.done;
}

export function showReport(report: RunReport, terminal: Output): void {
  terminal.answer(report, () => printSummary(report, (role, text) => terminal.style(role, text)));
}

function reportHalted(report: RunReport, residual: Residual, terminal: Output): void {
  terminal.complain(`halted: ${makePrintable(report.reason ?? '', 400)}`);
  for (const line of describeUnsettled(report, residual, new SystemClock().now())) terminal.complain(line);
  terminal.complain('what to do now, step by step: docs/live.md, Exit 4');
}

/** For a resumed run that is settled now: orders it left, and that the reason of its halt no longer holds. */
function reportLeft(report: RunReport, { hadHalted }: Residual, terminal: Output): void {
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
