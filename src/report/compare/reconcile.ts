/**
 * What a run booked against what the venue says now: every fill of the run's orders, by its id. The venue's list is the
 * account's, so fills of orders that are not the run's are counted and left alone. It compares; what is right it can not say.
 */
import type { Entry } from '../../journal/entry.ts';
import { sameDecimal } from '../../venue/order/fills.ts';
import { isInDoubt, isWorking } from '../../venue/order/states.ts';
import type { FillRecord } from '../../venue/records.ts';
import { type FillRow, fillRow, fillsOf } from '../folds/fills.ts';
import { foldOrders } from '../folds/orders.ts';

/** `audit reconcile --json`, but for the times. */
export interface Reconciliation {
  readonly ok: boolean;
  /** Fills that both have, alike. */
  readonly agreed: number;
  /** The venue lists them for orders of the run; the run did not book them. */
  readonly notBooked: readonly FillRow[];
  /** The run booked them; the venue does not list them in that time. */
  readonly notListed: readonly FillRow[];
  readonly different: readonly {
    readonly booked: FillRow;
    readonly listed: FillRow;
    readonly fields: readonly string[];
  }[];
  /** Fills of the account in that time that are none of the run's. */
  readonly others: number;
  /** Orders of which the run never learned an id: the venue's fills can not be matched to them. */
  readonly withoutId: readonly string[];
}

const COMPARED = ['market', 'side', 'price', 'size', 'fee', 'maker', 'liquidation'] as const;

export function reconcileFills(entries: Iterable<Entry>, listed: Iterable<FillRecord>): Reconciliation {
  const orders = foldOrders(entries);
  const booked = new Map(fillsOf(orders).fills.map((row) => [row.id, row]));
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
    const there = fillRow(order, record);
    const here = booked.get(record.id);
    if (here === undefined) notBooked.push(there);
    else {
      const fields = COMPARED.filter((field) => !alike(here[field], there[field]));
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

function alike(a: string | boolean, b: string | boolean): boolean {
  return a === b || (typeof a === 'string' && typeof b === 'string' && isNumber(a) && isNumber(b) && sameDecimal(a, b));
}

function isNumber(text: string): boolean {
  return /^-?\d+(\.\d+)?$/.test(text);
}
