/** `runbook audit fills`: shows the fills of a run, one by one and summed by market and side. */
import { EXIT, type ExitCode } from '../../app/errors.ts';
import { withRun } from '../../app/stores/review.ts';
import { formatList } from '../../base/format.ts';
import { foldEntries } from '../../journal/reading.ts';
import type { RunRow } from '../../journal/store.ts';
import { type FillsDocument, summarizeFills } from '../../report/folds/fills.ts';
import { OrderFold } from '../../report/folds/orders.ts';
import { formatQuoteCurrency, formatText } from '../../report/format.ts';
import type { Given } from '../actions/actions.ts';
import type { Invocation } from '../invocation.ts';
import type { Output } from '../terminal/output.ts';
import { type Cell, formatStyledTable } from '../terminal/text-table.ts';

export async function showFills({ run: name }: Given<'audit fills'>, review: Invocation): Promise<ExitCode> {
  const { terminal } = review;
  return withRun(review, name, async (store, run) => {
    const document = summarizeFills((await foldEntries(store, run.run, new OrderFold())).orders());
    terminal.answer(document, () =>
      document.fills.length === 0
        ? `nothing traded in run ${formatText(run.run)}`
        : formatFills(document, run, terminal),
    );
    return EXIT.done;
  });
}

function formatFills({ fills, totals, net }: FillsDocument, run: RunRow, terminal: Output): string {
  const rows = fills.map((fill): readonly Cell[] => [
    fill.at,
    formatText(fill.orderId),
    formatText(fill.market),
    formatText(fill.side),
    fill.size,
    fill.price,
    fill.value,
    fill.fee,
    `${fill.maker ? 'maker' : 'taker'}${fill.liquidation ? ', liquidation' : ''}`,
  ]);
  const sums = totals.map((total): readonly Cell[] => [
    formatText(total.market),
    formatText(total.side),
    String(total.fills),
    total.size,
    total.averagePrice,
    total.value,
    total.fee,
    net[total.market] ?? '',
  ]);
  return [
    formatStyledTable(['at', 'order', 'market', 'side', '#size', '#price', '#value', '#fee', 'as'], rows, terminal),
    formatStyledTable(
      ['market', 'side', '#fills', '#size', '#average price', '#value', '#fees', '#net position change'],
      sums,
      terminal,
    ),
    formatQuoteNote(['price', 'value', 'fee'], fills, run, terminal),
  ].join('\n\n');
}

/** The quote currencies of columns, because the tables name markets only; and the run, because `last` may be a dry-run. */
export function formatQuoteNote(
  columns: readonly string[],
  rows: readonly { readonly market: string }[],
  { run, mode }: RunRow,
  terminal: Output,
): string {
  const quotes = [...new Set(rows.map(({ market }) => formatQuoteCurrency(market).trim()))];
  const unit = quotes.length === 1 && quotes[0] !== '' ? quotes[0] : "each market's quote currency";
  return terminal.style('faint', `${formatList(columns)} in ${unit}, of run ${formatText(run)}, ${mode}`);
}
