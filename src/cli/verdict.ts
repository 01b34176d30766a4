/** How a live run ended, told to whoever waited for it: the report, what needs a person, the exit code. */
import { printable } from '../base/printable.ts';
import type { RunReport } from '../report/run.ts';
import { printSummary } from '../report/summary.ts';
import { EXIT, type ExitCode } from './exit.ts';
import type { Terminal } from './terminal.ts';

/** States of an order that somebody has to look up at the venue. */
const UNSETTLED: readonly string[] = ['unknown', 'absent', 'quarantined', 'submitting'];
/** States of an order that a run which halted has left at the venue. */
const LEFT: readonly string[] = ['processing', 'open', 'amending', 'canceling'];

/** Prints the report, or has `answer` do it, and gives the exit code; `signalled`: that of the signal that ended the run in order. */
export function verdictOn(
  report: RunReport,
  signalled: ExitCode | undefined,
  terminal: Terminal,
  answer: (report: RunReport, terminal: Terminal) => void = printReport,
): ExitCode {
  answer(report, terminal);
  if (report.outcome === 'halted') {
    terminal.complain(`halted: ${printable(report.reason ?? '', 400)}`);
    for (const order of report.orders) {
      const left = LEFT.includes(order.state);
      if (!left && !UNSETTLED.includes(order.state)) continue;
      const [what, next] = left
        ? ['it may still fill', 'asks once more and cancels it']
        : ['look it up at the venue by its client order id', 'asks again'];
      terminal.complain(
        `order ${order.clientOrderId} (${order.orderId ?? 'no id yet'}) of ${order.market} is ${order.state}: ${what}; \`runbook resume ${report.run}\` ${next}, \`runbook audit show ${report.run}\` tells the story`,
      );
    }
    return EXIT.halted;
  }
  if (signalled !== undefined) return signalled;
  return report.outcome === 'failed' ? EXIT.failed : EXIT.done;
}

export function printReport(report: RunReport, terminal: Terminal): void {
  terminal.answer(report, () => printSummary(report, (role, text) => terminal.style(role, text)));
}
