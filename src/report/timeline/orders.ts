/** How what became of orders reads in the timeline: their moves, what was concluded, alarms, what an account had open; and the switch that cancels them. */
import type { DataOf, JsonObject, ResurfacedOrder } from '../../journal/entry.ts';
import { ORDER_ALARMS } from '../../venue/order/context.ts';
import { wordsOf } from '../../venue/order/states.ts';
import { DEADMAN_EVENTS, meaningOf, ORDER_EVENT_MEANING } from '../meanings.ts';
import { bad, doubt, good, jsonText, muted, name, pairs, plain, type Span, shown, spanText } from '../wording.ts';

/** Orders that are named one by one. */
const MOST_NAMED = 20;

export function orderMoved(data: DataOf<'order.moved'>, explain: boolean): readonly Span[] {
  const state = explain ? wordsOf(data.to) : undefined;
  const event = meaningOf(ORDER_EVENT_MEANING, data.event);
  return [
    name(`order ${shown(data.clientOrderId)}`),
    plain(data.orderId === undefined ? '' : ` (${shown(data.orderId)})`),
    plain(data.from === data.to ? ` stays ${shown(data.to)}` : ` ${shown(data.from)} → ${shown(data.to)}`),
    plain(state === undefined ? '' : ` (${state})`),
    muted(`: ${event ?? shown(data.event)}`),
    muted(/^0(\.0*)?$/.test(data.filled) ? '' : `, filled ${shown(data.filled)}`),
  ];
}

export function orderConcluded({ clientOrderId, event, because }: DataOf<'order.concluded'>): readonly Span[] {
  return [
    name(`order ${shown(clientOrderId)}`),
    plain(`: ${meaningOf(ORDER_EVENT_MEANING, event) ?? event}`),
    muted(` (${shown(because)})`),
  ];
}

export function orderAlarmed({ alarm, clientOrderId, detail }: DataOf<'order.alarmed'>): readonly Span[] {
  const meaning = meaningOf(ORDER_ALARMS, alarm);
  return [
    bad(`alarm ${shown(alarm)}`),
    name(` order ${shown(clientOrderId)}`),
    plain(meaning === undefined ? '' : `: ${meaning}`),
    muted(Object.keys(detail).length === 0 ? '' : ` (${pairs(detail)})`),
  ];
}

export function accountReconciled({ open, external, ofOtherRuns }: DataOf<'account.reconciled'>): readonly Span[] {
  const others = [
    ...external.map((each) => `external ${idOf(each)}`),
    ...ofOtherRuns.map((each) => `of another run ${idOf(each)}`),
  ];
  return [
    name(`${ordersText(open, 'open ')} on the account before this run`),
    muted(others.length === 0 ? '' : `, left alone: ${firstOf(others)}`),
  ];
}

export function accountSwept(data: DataOf<'account.swept'>): readonly Span[] {
  const { left, inDoubt, cancels, readings, because } = data;
  const told = left?.map((each) => `${idOf(each)} ${shown(jsonText(each['status'] ?? ''))}`);
  const isClear = told?.length === 0 && inDoubt.length === 0;
  return [
    told === undefined
      ? doubt('what cancel_all left is not known')
      : told.length === 0
        ? good('no order is left that could fill')
        : bad(`${ordersText(told.length)} could still fill: ${firstOf(told)}`),
    doubt(inDoubt.length === 0 ? '' : `, not known of ${shown(firstOf(inDoubt))}`),
    muted(`, after ${cancels} × cancel_all and ${readings} reading${readings === 1 ? '' : 's'}`),
    plain(isClear || because === undefined ? '' : `: ${shown(because)}`),
  ];
}

export function orderResurfaced(found: ResurfacedOrder): readonly Span[] {
  const { clientOrderId, orderId, run, recorded, status, filled } = found;
  return [
    bad(`order ${shown(orderId)} is ${shown(status)} at the venue`),
    plain(filled === undefined ? '' : `, filled ${shown(filled)}`),
    plain(`, although the journal of run ${shown(run)} leaves it ${shown(recorded)}`),
    muted(` (${shown(clientOrderId)}); nobody watches it`),
  ];
}

export function deadmanMoved({ event, market, timeoutMs, because }: DataOf<'deadman.moved'>): readonly Span[] {
  const role = event === 'assumed_fired' ? bad : plain;
  const spans = [name(`deadman switch ${shown(market)} `), role(DEADMAN_EVENTS[event])];
  if (event === 'armed' && timeoutMs !== undefined)
    spans.push(
      plain(
        `: the venue cancels every open order of the account after ${spanText(timeoutMs)} without a request of ours`,
      ),
    );
  if (because !== undefined) spans.push(muted(` (${shown(because)})`));
  return spans;
}

function ordersText(count: number, which = ''): string {
  return `${count} ${which}order${count === 1 ? '' : 's'}`;
}

function idOf(record: JsonObject): string {
  return shown(jsonText(record['id'] ?? ''));
}

function firstOf(all: readonly string[]): string {
  const more = all.length - MOST_NAMED;
  return `${all.slice(0, MOST_NAMED).join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}
