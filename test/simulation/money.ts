/**
 * The money of a simulated account: its ledger, folded from the journals, against the venue's own fills. These are added up by another
 * program, in fractions of whole numbers (report/exact-pnl.ts): neither the fold nor the decimals of the engine are believed.
 */
import { decimal } from '../../src/base/decimal.ts';
import { AccountLedger } from '../../src/gateway/limits/account-ledger.ts';
import { RunLedgerFold } from '../../src/gateway/limits/run-ledger.ts';
import { describeLedger } from '../../src/report/results/ledger.ts';
import type { FillRecord } from '../../src/venue/records.ts';
import { addUp, isPrinted } from '../report/exact-pnl.ts';
import type { Facts } from './facts.ts';

const FIELDS = ['order_id', 'market_id', 'side', 'size', 'price', 'fee', 'timestamp'] as const;

/** Fills that the ledger counts and the venue has otherwise or not, and sums that are not what the venue's fills come to. */
export function* findWrongMoney(facts: Facts): Iterable<string> {
  const { happened, intents, own } = facts;
  const ofVenue = new Map(happened.books.fills.map((fill) => [fill.id, fill]));
  const runs = happened.runs.flatMap(({ entries }) => {
    const fold = new RunLedgerFold();
    for (const entry of entries) fold.apply(entry);
    return fold.finish() ?? [];
  });
  const counted = new Set<string>();
  const lacking = new Set<string>();
  for (const { run, fills } of runs)
    for (const fill of fills) {
      const booked = ofVenue.get(fill.id);
      const odd = FIELDS.find((field) => booked?.[field] !== fill[field]);
      if (booked === undefined || odd !== undefined)
        yield `the ledger has fill ${fill.id} of ${run} with another ${odd} than the venue`;
      if (intents.get(fill.clientOrderId)?.run.name !== run) yield `the ledger has fill ${fill.id} for ${run}`;
      if (counted.has(fill.id)) yield `the ledger has fill ${fill.id} twice`;
      counted.add(fill.id);
    }
  const ledger = new AccountLedger({ runs, baselines: [], listed: [], gone: {} });
  const { markets, unread = [] } = describeLedger('main', ledger, happened.books.at);
  const filled = ledger.listFilled([]);
  const left = new Set(ledger.listLeft().map(({ market }) => market));
  // The journal itself lacks fills that a record shows: the ledger has to say so.
  for (const { intent, snapshot } of facts.bookOrders()) {
    const { filled: read, recordFilled, venueId } = snapshot.context;
    if (venueId === undefined || left.has(intent.market) || !decimal(read).lt(decimal(recordFilled))) continue;
    if (!unread.includes(venueId)) yield `the ledger does not say that fills of ${venueId} were not read`;
    lacking.add(intent.market);
  }
  for (const order of own) {
    const run = intents.get(order.client_order_id)?.run;
    if (run !== undefined && facts.wasShownLate(order, run)) lacking.add(order.market_id);
  }
  const isOwn = new Set(own.filter(({ client_order_id: id }) => intents.has(id)).map(({ id }) => id));
  const ofOwn = happened.books.fills.filter((fill) => isOwn.has(fill.order_id));
  for (const market of new Set([...Object.keys(markets), ...ofOwn.map((fill) => fill.market_id)])) {
    const isKnown = !left.has(market) && !lacking.has(market) && (filled.get(market)?.unread ?? []).length === 0;
    // Of what may not be read yet, only what is counted must be right.
    const fills = ofOwn.filter((fill) => fill.market_id === market && (isKnown || counted.has(fill.id)));
    const row = markets[market] ?? { position: '0', realized: '0', fees: '0' };
    for (const [figure, exact] of sumUp(fills))
      if (!isPrinted(row[figure], exact))
        yield `the ledger has ${figure} ${row[figure]} of ${market}, the venue's fills ${exact.n}/${exact.d}`;
  }
}

function sumUp(fills: readonly FillRecord[]) {
  const rows = [...fills]
    .sort((a, b) => a.timestamp - b.timestamp)
    .map((fill) => ({ ...fill, account: 'main', market: fill.market_id }));
  const zero = { n: 0n, d: 1n };
  const { size, realized, fees } = addUp(rows, () => 'all').get('all') ?? { size: zero, realized: zero, fees: zero };
  return [
    ['position', size],
    ['realized', realized],
    ['fees', fees],
  ] as const;
}
