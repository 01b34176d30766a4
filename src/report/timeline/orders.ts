/** Writes the timeline's rows about orders: moves, conclusions, alarms, open orders of the account, and the deadman switch. */
import { formatCount, formatFirst, formatSpan } from '../../base/format.ts';
import type { DataOf, JsonObject, LateOrder } from '../../journal/entry.ts';
import { ORDER_ALARMS } from '../../venue/order/context.ts';
import { describeOrderState } from '../../venue/order/states.ts';
import { bad, doubt, formatJson, formatPairs, formatText, good, muted, name, plain, type Span } from '../format.ts';
import { DEADMAN_EVENTS, findMeaning, ORDER_EVENT_MEANING } from '../glossary.ts';

/** Orders that are listed one by one. */
const MOST_NAMED = 20;

export function describeMove(data: DataOf<'order.moved'>): readonly Span[] {
  const state = describeOrderState(data.to);
  const event = findMeaning(ORDER_EVENT_MEANING, data.event);
  return [
    name(`order ${formatText(data.clientOrderId)}`),
    plain(data.orderId === undefined ? '' : ` (${formatText(data.orderId)})`),
    plain(
      data.from === data.to ? ` stays ${formatText(data.to)}` : ` ${formatText(data.from)} → ${formatText(data.to)}`,
    ),
    plain(state === undefined ? '' : ` (${state})`),
    muted(`: ${event ?? formatText(data.event)}`),
    muted(/^0(\.0*)?$/.test(data.filled) ? '' : `, filled ${formatText(data.filled)}`),
  ];
}

export function describeConclusion({ clientOrderId, event, because }: DataOf<'order.concluded'>): readonly Span[] {
  return [
    name(`order ${formatText(clientOrderId)}`),
    plain(`: ${findMeaning(ORDER_EVENT_MEANING, event) ?? event}`),
    muted(` (${formatText(because)})`),
  ];
}

export function describeAlarm({ alarm, clientOrderId, detail }: DataOf<'order.alarmed'>): readonly Span[] {
  const meaning = findMeaning(ORDER_ALARMS, alarm);
  return [
    bad(`alarm ${formatText(alarm)}`),
    name(` order ${formatText(clientOrderId)}`),
    plain(meaning === undefined ? '' : `: ${meaning}`),
    muted(Object.keys(detail).length === 0 ? '' : ` (${formatPairs(detail)})`),
  ];
}

export function describeReconciliation(data: DataOf<'account.reconciled'>): readonly Span[] {
  const { open, external, ofOtherRuns, unread = [] } = data;
  const others = [
    ...external.map((each) => `external ${getId(each)}`),
    ...ofOtherRuns.map((each) => `of another run ${getId(each)}`),
    ...unread.map((why) => `one that cannot be read (${formatText(why)})`),
  ];
  return [
    name(`${formatCount(open, 'open order')} on the account before this run`),
    muted(others.length === 0 ? '' : `, left alone: ${formatFirst(others, MOST_NAMED)}`),
  ];
}

export function describeSweep(data: DataOf<'account.swept'>): readonly Span[] {
  const { left, unread = [], inDoubt, cancels, readings, because } = data;
  const odd = unread.map(
    ({ orderId = 'one', why }) => `${formatText(orderId)}, which cannot be read (${formatText(why)})`,
  );
  const remaining = left && [
    ...left.map((each) => `${getId(each)} ${formatText(formatJson(each['status'] ?? ''))}`),
    ...odd,
  ];
  const isClear = remaining?.length === 0 && inDoubt.length === 0;
  return [
    remaining === undefined
      ? doubt('it is unknown what cancel_all left')
      : remaining.length === 0
        ? good('no order is left that could fill')
        : bad(`${formatCount(remaining.length, 'order')} could still fill: ${formatFirst(remaining, MOST_NAMED)}`),
    doubt(inDoubt.length === 0 ? '' : `, unknown for ${formatText(formatFirst(inDoubt, MOST_NAMED))}`),
    muted(`, after ${cancels} × cancel_all and ${formatCount(readings, 'reading')}`),
    plain(isClear || because === undefined ? '' : `: ${formatText(because)}`),
  ];
}

export function describeLateOrder(found: LateOrder): readonly Span[] {
  const { clientOrderId, orderId, run, recorded, status, filled } = found;
  return [
    bad(`order ${formatText(orderId)} is ${formatText(status)} at the venue`),
    plain(filled === undefined ? '' : `, filled ${formatText(filled)}`),
    plain(`, although the journal of run ${formatText(run)} last has it as ${formatText(recorded)}`),
    muted(` (${formatText(clientOrderId)}); no run watches it`),
  ];
}

export function describeDeadman({ event, market, timeoutMs, because }: DataOf<'deadman.moved'>): readonly Span[] {
  const role = event === 'assumed_fired' ? bad : plain;
  const spans = [name(`deadman switch ${formatText(market)} `), role(DEADMAN_EVENTS[event])];
  if (event === 'armed' && timeoutMs !== undefined)
    spans.push(
      plain(
        `: the venue cancels every open order of the account after ${formatSpan(timeoutMs)} without a request from us`,
      ),
    );
  if (because !== undefined) spans.push(muted(` (${formatText(because)})`));
  return spans;
}

function getId(record: JsonObject): string {
  return formatText(formatJson(record['id'] ?? ''));
}
