/** Finds an order by its client order id, the venue's id, or the step that placed it. */

import { makePrintable } from '../../base/printable.ts';
import { readEntries } from '../../journal/reading.ts';
import type { JournalReader, RunRow } from '../../journal/store.ts';
import { formatText } from '../../report/format.ts';
import { UserError } from '../errors.ts';
import { isWithin } from './find-step.ts';

export interface NamedOrder {
  readonly clientOrderId: string;
  readonly orderId: string | undefined;
  readonly step: string;
  /** Ids of the calls made for it. */
  readonly calls: ReadonlySet<string>;
}

/** Throws a UserError with the orders of the run where none or several match. */
export async function findOrder(store: JournalReader, run: RunRow, named: string): Promise<NamedOrder> {
  const orders = new Map<
    string,
    { clientOrderId: string; orderId: string | undefined; step: string; calls: Set<string> }
  >();
  const byVenueId = new Map<string, string>();
  for await (const entry of readEntries(store, run.run)) {
    if (entry.type === 'call.intended') {
      const { intent, clientOrderId, call, params } = entry.data;
      if (intent !== undefined && !orders.has(intent.clientOrderId)) {
        orders.set(intent.clientOrderId, {
          clientOrderId: intent.clientOrderId,
          orderId: undefined,
          step: entry.step,
          calls: new Set(),
        });
      }
      const id = intent?.clientOrderId ?? clientOrderId ?? byVenueId.get(String(params.order_id));
      if (id !== undefined) orders.get(id)?.calls.add(call);
    } else if (entry.type === 'order.moved' && entry.data.orderId !== undefined) {
      byVenueId.set(entry.data.orderId, entry.data.clientOrderId);
      const order = orders.get(entry.data.clientOrderId);
      if (order !== undefined) order.orderId = entry.data.orderId;
    }
  }
  const all = [...orders.values()];
  const exact = all.filter(({ clientOrderId, orderId }) => clientOrderId === named || orderId === named);
  const fitting = exact.length > 0 ? exact : all.filter(({ step }) => isWithin(step, named));
  const [order, other] = fitting;
  if (order !== undefined && other === undefined) return order;
  const list = (fitting.length > 0 ? fitting : all)
    .slice(0, 8)
    .map(({ clientOrderId, orderId }) => formatText(orderId ?? clientOrderId));
  if (all.length === 0) throw new UserError(`run ${formatText(run.run)} has no orders`);
  throw new UserError(
    `${makePrintable(named, 100)} ${fitting.length > 0 ? 'could be' : 'is not an order of this run; it has'} ${list.join(', ')}`,
  );
}
