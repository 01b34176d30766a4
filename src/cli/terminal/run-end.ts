/**
 * Shows how a live run ended: the report, then what needs a person: the known state at the venue, what to do next, where to read
 * more. Returns the exit code.
 */

import { EXIT, type ExitCode } from '../../app/errors.ts';
import { exitAfter } from '../../app/process.ts';
import type { EndedRun } from '../../app/run/outcome.ts';
import { SystemClock } from '../../base/clock.ts';
import { formatWholeSeconds } from '../../base/format.ts';
import { makePrintable } from '../../base/printable.ts';
import { getOrderState, type OrderRow } from '../../report/folds/orders.ts';
import { POSITION_LEFT, type Residual } from '../../report/folds/residual.ts';
import type { RunReport } from '../../report/folds/run.ts';
import { printSummary } from '../../report/summary.ts';
import { isGone, isInDoubt, isWorking } from '../../venue/order/states.ts';
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

function reportHalted(report: RunReport, { deadmanFiresAt }: Residual, terminal: Output): void {
  const { run } = report;
  terminal.complain(`halted: ${makePrintable(report.reason ?? '', 400)}`);
  for (const order of report.orders) {
    const state = getOrderState(order);
    if (isGone(state)) continue;
    const [what, next] = isInDoubt(state)
      ? ['look it up at the venue by its client order id', 'asks again']
      : ['it may still fill', 'asks once more and cancels it'];
    terminal.complain(
      `order ${order.clientOrderId} (${order.orderId ?? 'no id yet'}) of ${order.market} is ${order.state}: ${what}; \`runbook resume ${run}\` ${next}, \`runbook audit show ${run}\` shows its history`,
    );
  }
  if (deadmanFiresAt !== undefined) terminal.complain(describeDeadman(deadmanFiresAt, new SystemClock().now()));
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

/** The venue's clock may differ from ours, so the message gives both the time and the span. */
function describeDeadman(firesAt: number, now: number): string {
  const at = new Date(firesAt).toISOString();
  return now >= firesAt
    ? `the deadman switch was left armed and its time is over (${at}): unless something renewed it, the venue has cancelled EVERY open order of the account, including stops`
    : `the deadman switch stays armed: at ${at}, in ${formatWholeSeconds(firesAt - now)}, the venue cancels EVERY open order of the account, including stops, unless something renews it`;
}
