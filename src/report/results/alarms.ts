/** Lists what an entry of a run wants a person to look at. */
import type { Entry } from '../../journal/entry.ts';
import { ORDER_ALARMS } from '../../venue/order/context.ts';
import { formatText } from '../format.ts';
import { findMeaning } from '../glossary.ts';

export interface Alarm {
  /** Empty where it is about no order of ours. */
  readonly clientOrderId: string;
  readonly alarm: string;
  /** Printable. */
  readonly meaning?: string;
}

export function listAlarms(entry: Entry): readonly Alarm[] {
  if (entry.type !== 'order.alarmed') return listOtherAlarms(entry);
  const { clientOrderId, alarm } = entry.data;
  const meaning = findMeaning(ORDER_ALARMS, alarm);
  return [{ clientOrderId, alarm, ...(meaning === undefined ? {} : { meaning }) }];
}

/** Alarms that are no change of an order of the run. */
export type OtherAlarmName = ReturnType<typeof listOtherAlarms>[number]['alarm'];

function listOtherAlarms(entry: Entry) {
  switch (entry.type) {
    case 'notification.settled': {
      const { to, delivered, because = '' } = entry.data;
      const meaning = `the message to ${formatText(to)} was not delivered: ${formatText(because)}`;
      return delivered ? [] : [{ clientOrderId: '', alarm: 'Undelivered' as const, meaning }];
    }
    case 'account.swept': {
      const { left = [], unread = [] } = entry.data;
      const alarm = 'LeftByCancelAll' as const;
      return [
        ...left.map(({ id, client_order_id }) => ({
          clientOrderId: String(client_order_id),
          alarm,
          meaning: `${formatText(String(id))} could still fill`,
        })),
        ...unread.map(({ clientOrderId = '', orderId = 'an order', why }) => ({
          clientOrderId,
          alarm,
          meaning: `${formatText(orderId)} may still fill, and cannot be read: ${formatText(why)}`,
        })),
      ];
    }
    case 'account.late_orders':
      return entry.data.late.map(({ clientOrderId, orderId, run, recorded, status }) => ({
        clientOrderId,
        alarm: 'LateOrderOfEarlierRun' as const,
        meaning: `${formatText(orderId)} is ${formatText(status)}, although the journal of run ${run} last has it as ${recorded}`,
      }));
    default:
      return [];
  }
}
