/**
 * `runbook audit reconcile`: compares the fills a live run booked with the venue's own list for that time. Reads only, under the
 * profile that the run was started with; secrets come from the environment again.
 */

import { type Account, openAccount } from '../../app/account/account.ts';
import { sendOnce } from '../../app/account/one-request.ts';
import { EXIT, type ExitCode, UserError } from '../../app/errors.ts';
import { readRecordedProfile } from '../../app/run/first-entry.ts';
import { withRun } from '../../app/stores/review.ts';
import { formatCount } from '../../base/format.ts';
import { makePrintable } from '../../base/printable.ts';
import { foldEntries, readFirstEntry } from '../../journal/reading.ts';
import { type Reconciliation, reconcileFills } from '../../report/compare/reconcile.ts';
import type { FillRow } from '../../report/folds/fills.ts';
import { OrderFold } from '../../report/folds/orders.ts';
import { formatIsoTime, formatText } from '../../report/format.ts';
import { PAGE_ROWS } from '../../venue/order/requests.ts';
import { Pages } from '../../venue/pages.ts';
import type { FillRecord } from '../../venue/records.ts';
import type { Given } from '../actions/actions.ts';
import type { Invocation } from '../invocation.ts';
import type { Output } from '../terminal/output.ts';
import { formatStyledTable } from '../terminal/text-table.ts';

/** Clocks differ and a fill may be late: margin before the run's begin and after its end, ms. */
const MARGIN_MS = 3_600_000;

export async function reconcileRun({ run: name }: Given<'audit reconcile'>, review: Invocation): Promise<ExitCode> {
  const { terminal } = review;
  const { run, first, orders } = await withRun(review, name, async (store, run) => {
    const first = await readFirstEntry(store, run.run);
    return { run, first, orders: (await foldEntries(store, run.run, new OrderFold())).orders() };
  });
  if (first.data.mode !== 'live')
    throw new UserError(`run ${makePrintable(run.run, 100)} was a dry-run: there is no venue to compare it with`);
  const account = await openAccount(readRecordedProfile(first), review);
  try {
    const from = first.data.startedAt - MARGIN_MS;
    const until = Math.min(account.clock.now(), (run.endedAt ?? account.clock.now()) + MARGIN_MS);
    const reconciliation = reconcileFills(orders, await listFills(account, from, until));
    const document = { run: run.run, from: formatIsoTime(from), until: formatIsoTime(until), ...reconciliation };
    terminal.answer(document, () => formatReconciliation(document, terminal));
    return reconciliation.ok ? EXIT.done : EXIT.failed;
  } finally {
    await account.close();
  }
}

/** Oldest first, page by page: new fills come after those already read. */
async function listFills(account: Account, fromMs: number, untilMs: number): Promise<readonly FillRecord[]> {
  const list = new Pages<FillRecord>();
  for (let page = 0; ; page += 1) {
    const range = { start_time: fromMs * 1000, end_time: untilMs * 1000 };
    const answer = await sendOnce(
      account,
      'GET /fills',
      { ...range, p_limit: PAGE_ROWS, p_page: page, p_order: 'ASC' },
      'read',
    );
    if (answer.kind !== 'confirmed') {
      const why =
        answer.kind === 'refused'
          ? `it refused with status ${answer.reply.status}: ${makePrintable(answer.text, 200)}`
          : answer.why;
      throw makeUnreadError(why);
    }
    if (list.take(answer.result)) continue;
    if (list.cut !== undefined) throw makeUnreadError(list.cut);
    return list.rows;
  }
}

function makeUnreadError(why: string): UserError {
  const text = `the venue's fills could not be read, so nothing was compared: ${makePrintable(why, 300)}`;
  return new UserError(text, EXIT.failed, 'unanswered');
}

function formatReconciliation(
  document: Reconciliation & { readonly run: string; readonly from: string; readonly until: string },
  terminal: Output,
): string {
  const { run, from, until, ok, agreed, notBooked, notListed, different, others, withoutId } = document;
  const lines = [
    `${terminal.style(ok ? 'good' : 'bad', ok ? 'the same' : 'differs')}: run ${formatText(run)}, ${formatCount(agreed, 'fill')} as the venue lists them`,
    terminal.style(
      'faint',
      `asked for ${from} to ${until}; ${formatCount(others, 'fill')} of other orders of the account in that time`,
    ),
  ];
  if (notBooked.length > 0)
    lines.push('', 'the venue lists, the run did not book', formatFillTable(notBooked, terminal));
  if (notListed.length > 0)
    lines.push('', 'the run booked, the venue does not list', formatFillTable(notListed, terminal));
  for (const { booked, listed, fields } of different)
    lines.push(
      '',
      `fill ${formatText(booked.id)} of order ${formatText(booked.orderId)}`,
      ...fields.map((field) => {
        const [here, there] = [booked, listed].map((row) => String(row[field as keyof FillRow]));
        return `  ${field}: booked ${formatText(here ?? '')}, listed ${formatText(there ?? '')}`;
      }),
    );
  if (withoutId.length > 0)
    lines.push(
      '',
      terminal.style(
        'warning',
        `these orders have no venue id, so their fills could not be compared: ${withoutId.map(formatText).join(', ')}`,
      ),
    );
  return lines.join('\n');
}

function formatFillTable(rows: readonly FillRow[], terminal: Output): string {
  return formatStyledTable(
    ['at', 'fill', 'order', 'market', 'side', '#size', '#price', '#fee'],
    rows.map(({ at, id, orderId, market, side, size, price, fee }) => [
      at,
      formatText(id),
      formatText(orderId),
      formatText(market),
      formatText(side),
      size,
      price,
      fee,
    ]),
    terminal,
  );
}
