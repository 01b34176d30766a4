/**
 * Compares the fills a run booked with the venue's list, by fill id. The list covers the whole account, so fills of orders
 * that are not the run's are only counted. It reports differences, and does not judge which side is right.
 */
import type { TrackedOrder } from '../../journal/orders.ts';
import { isSameDecimal } from '../../venue/order/fills.ts';
import { isInDoubt, isWorking } from '../../venue/order/states.ts';
import type { FillRecord } from '../../venue/records.ts';
import { type FillRow, makeFillRow, summarizeFills } from '../folds/fills.ts';

/** `audit reconcile --json`, without the times. */
export interface Reconciliation {
  readonly ok: boolean;
  /** The number of fills that both have, with equal fields. */
  readonly agreed: number;
  /** Fills that the venue lists for orders of the run, and the run did not book. */
  readonly notBooked: readonly FillRow[];
  /** Fills that the run booked, and the venue does not list in that time. */
  readonly notListed: readonly FillRow[];
  readonly different: readonly {
    readonly booked: FillRow;
    readonly listed: FillRow;
    readonly fields: readonly string[];
  }[];
  /** The number of fills of the account in that time that are not the run's. */
  readonly others: number;
  /** Orders without a venue id: the venue's fills cannot be matched to them. */
  readonly withoutId: readonly string[];
}

const COMPARED = ['market', 'side', 'price', 'size', 'fee', 'maker', 'liquidation'] as const;

/** `orders`: those of the run, as its journal has them. */
export function reconcileFills(orders: readonly TrackedOrder[], listed: Iterable<FillRecord>): Reconciliation {
  const booked = new Map(summarizeFills(orders).fills.map((row) => [row.id, row]));
  const byOrderId = new Map(
    orders.flatMap((order) => {
      const id = order.snapshot.context.venueId;
      return id === undefined ? [] : [[id, order] as const];
    }),
  );
  const notBooked: FillRow[] = [];
  const different: Reconciliation['different'][number][] = [];
  const seen = new Set<string>();
  let others = 0;
  for (const record of listed) {
    if (seen.has(record.id)) continue;
    seen.add(record.id);
    const order = byOrderId.get(record.order_id);
    if (order === undefined) {
      others += 1;
      continue;
    }
    const there = makeFillRow(order, record);
    const here = booked.get(record.id);
    if (here === undefined) notBooked.push(there);
    else {
      const fields = COMPARED.filter((field) => !isEqual(here[field], there[field]));
      if (fields.length > 0) different.push({ booked: here, listed: there, fields });
    }
  }
  const notListed = [...booked.values()].filter(({ id }) => !seen.has(id));
  const withoutId = orders
    .filter(({ snapshot: { state, context } }) => context.venueId === undefined && isWorking(state) && isInDoubt(state))
    .map(({ intent }) => intent.clientOrderId);
  return {
    ok: notBooked.length === 0 && notListed.length === 0 && different.length === 0 && withoutId.length === 0,
    agreed: booked.size - notListed.length - different.length,
    notBooked,
    notListed,
    different,
    others,
    withoutId,
  };
}

function isEqual(a: string | boolean, b: string | boolean): boolean {
  return (
    a === b || (typeof a === 'string' && typeof b === 'string' && isNumber(a) && isNumber(b) && isSameDecimal(a, b))
  );
}

function isNumber(text: string): boolean {
  return /^-?\d+(\.\d+)?$/.test(text);
}
