/**
 * Folds each order's history with the reason for every change: the entry that moved it, what that entry says, and the step
 * that requested it. The states come from the engine's order tracker; this adds the reasons and the prices over time.
 */
import type { DecimalString } from '../../base/decimal.ts';
import { type DataOf, type Entry, type Json, stripRounds } from '../../journal/entry.ts';
import type { OrderTracker, TrackedOrder } from '../../journal/orders.ts';
import { isFraction } from '../../venue/limits/case.ts';
import { ORDER_ALARMS } from '../../venue/order/context.ts';
import { describeOrderState, isTerminal, type OrderState } from '../../venue/order/states.ts';
import { formatAmount, formatPairs, formatQuoteCurrency, formatStepName } from '../format.ts';
import { findMeaning, ORDER_EVENT_MEANING } from '../glossary.ts';
import { type FollowedOrder, OrderFold, type OrderRow } from './orders.ts';

interface OrderMove {
  readonly seq: number;
  /** ms since the run began. */
  readonly at: number;
  readonly from: OrderState;
  readonly to: OrderState;
  readonly event: string;
  /** Explains the event. */
  readonly meaning: string;
  /** The reason in the entry: the venue's text, a conclusion, or the requested terms. */
  readonly because?: string;
  /** The step that requested the change; absent if none did. */
  readonly step?: string;
}

/** A price of the order, and the time from which it applied, ms since the run began. */
interface PriceLevel {
  readonly at: number;
  readonly price: DecimalString;
}

interface OrderAlarmRow {
  readonly seq: number;
  readonly at: number;
  readonly alarm: string;
  readonly meaning?: string;
  readonly detail: string;
}

export interface OrderLife extends OrderRow {
  readonly label: string;
  /** The lane of the step that placed it. */
  readonly step: string;
  readonly createdAt: number;
  readonly seq: number;
  /** `0.25 BTC-USD`, or a fraction of the position. */
  readonly amount: string;
  /** Its size is a fraction of the position. */
  readonly ofPosition: boolean;
  /** The currency of its prices; empty if its market names none. */
  readonly currency: string;
  readonly timeInForce?: string;
  readonly trigger?: DecimalString;
  readonly onAmbiguous?: string;
  /** Explains its state. */
  readonly stateMeaning?: string;
  /** Its state is final. */
  readonly isOver: boolean;
  readonly moves: readonly OrderMove[];
  readonly levels: readonly PriceLevel[];
  readonly alarms: readonly OrderAlarmRow[];
  readonly fills: readonly { readonly at: number; readonly price: DecimalString; readonly size: DecimalString }[];
}

interface Notes {
  readonly seq: number;
  readonly moves: OrderMove[];
  readonly levels: PriceLevel[];
  readonly alarms: OrderAlarmRow[];
}

export class OrderLifeFold {
  private readonly orders = new OrderFold();
  private readonly notes = new Map<string, Notes>();
  private readonly steps = new Map<string, { readonly verb: string; readonly id?: string }>();
  private startedAt = 0;

  apply(entry: Entry): void {
    if (entry.type === 'run.started') this.startedAt = entry.data.startedAt;
    if (entry.type === 'step.started' || entry.type === 'step.ended')
      this.steps.set(stripRounds(entry.step), entry.data);
    const changes = this.orders.apply(entry);
    if (entry.type === 'call.intended' && entry.data.intent !== undefined) this.addIntent(entry.data.intent, entry);
    for (const { order, from, to, event } of changes) {
      const notes = this.findNotes(order, entry.seq);
      this.addLevel(notes, order, entry.at);
      if (from !== to) notes.moves.push(this.describeMove(entry, order, from, to, event));
    }
    if (entry.type === 'order.alarmed') this.addAlarm(entry);
  }

  /** The engine's tracker of the orders. */
  get tracker(): OrderTracker {
    return this.orders.tracker;
  }

  /** The same orders, as the engine's order tracker has them. */
  listTracked(): readonly TrackedOrder[] {
    return this.orders.orders();
  }

  listFollowed(): readonly FollowedOrder[] {
    return this.orders.followed();
  }

  listLives(): readonly OrderLife[] {
    const histories = this.orders.rows();
    return this.orders.orders().flatMap((order, index) => {
      const row = histories[index];
      return row === undefined ? [] : [this.describeLife(order, row)];
    });
  }

  private describeLife(order: TrackedOrder, row: OrderRow): OrderLife {
    const { intent, step, createdAt, snapshot } = order;
    const { seq, moves, levels, alarms } = this.findNotes(order, 0);
    const stateMeaning = describeOrderState(snapshot.state);
    const wanted = this.steps.get(stripRounds(step));
    return {
      ...row,
      label: formatStepName(step, wanted?.id),
      step: stripRounds(step),
      createdAt: createdAt - this.startedAt,
      seq,
      amount: formatAmount(row),
      ofPosition: isFraction(row.type),
      currency: formatQuoteCurrency(intent.market).trim(),
      ...(intent.timeInForce === undefined ? {} : { timeInForce: intent.timeInForce }),
      ...(intent.trigger === undefined ? {} : { trigger: intent.trigger }),
      ...(intent.onAmbiguous === undefined ? {} : { onAmbiguous: intent.onAmbiguous }),
      ...(stateMeaning === undefined ? {} : { stateMeaning }),
      isOver: isTerminal(snapshot.state),
      moves,
      levels,
      alarms,
      fills: [...snapshot.context.fills.values()].map(({ timestamp, price, size }) => ({
        at: Math.floor(timestamp / 1000) - this.startedAt,
        price,
        size,
      })),
    };
  }

  private addIntent(intent: NonNullable<DataOf<'call.intended'>['intent']>, { seq, at }: Entry): void {
    if (this.notes.has(intent.clientOrderId)) return;
    const levels = intent.price === undefined ? [] : [{ at: at - this.startedAt, price: intent.price }];
    this.notes.set(intent.clientOrderId, { seq, moves: [], levels, alarms: [] });
  }

  private findNotes({ intent }: TrackedOrder, seq: number): Notes {
    const known = this.notes.get(intent.clientOrderId);
    if (known !== undefined) return known;
    const notes: Notes = { seq, moves: [], levels: [], alarms: [] };
    this.notes.set(intent.clientOrderId, notes);
    return notes;
  }

  private addLevel({ levels }: Notes, { snapshot }: TrackedOrder, at: number): void {
    const { price } = snapshot.context;
    if (price !== undefined && levels.at(-1)?.price !== price) levels.push({ at: at - this.startedAt, price });
  }

  private describeMove(entry: Entry, order: TrackedOrder, from: OrderState, to: OrderState, event: string): OrderMove {
    const because = findReason(entry, order);
    const asked = entry.type === 'call.attempted' && entry.step !== '' ? { step: this.nameAskingStep(entry.step) } : {};
    return {
      seq: entry.seq,
      at: entry.at - this.startedAt,
      from,
      to,
      event,
      meaning: findMeaning(ORDER_EVENT_MEANING, event) ?? event,
      ...(because === undefined ? {} : { because }),
      ...asked,
    };
  }

  /** The name of the step that requested a change, with its verb: `expired (cancel)`. */
  private nameAskingStep(step: string): string {
    const known = this.steps.get(stripRounds(step));
    const name = formatStepName(step, known?.id);
    return known === undefined || known.verb === name ? name : `${name} (${known.verb})`;
  }

  private addAlarm({ data, seq, at }: Extract<Entry, { type: 'order.alarmed' }>): void {
    const meaning = findMeaning(ORDER_ALARMS, data.alarm);
    this.notes.get(data.clientOrderId)?.alarms.push({
      seq,
      at: at - this.startedAt,
      alarm: data.alarm,
      ...(meaning === undefined ? {} : { meaning }),
      detail: formatPairs(data.detail),
    });
  }
}

/** The reason that the entry gives for an order's move. */
function findReason(entry: Entry, order: TrackedOrder): string | undefined {
  switch (entry.type) {
    case 'order.concluded':
    case 'deadman.moved':
      return entry.data.because;
    case 'call.attempted':
      return formatTerms(entry.data);
    case 'call.settled': {
      const { message, code, failure, status, result } = entry.data;
      const said = message ?? code ?? failure;
      if (said !== undefined) return status === undefined ? said : `${said} (HTTP ${status})`;
      return findVenueReason(result, order);
    }
    default:
      return undefined;
  }
}

const TERMS = ['type', 'side', 'price', 'trigger_price', 'size', 'time_in_force'] as const;

function formatTerms({ params }: DataOf<'call.attempted'>): string | undefined {
  const terms = TERMS.flatMap((name) => (params[name] === undefined ? [] : [[name, params[name] as Json] as const]));
  return terms.length === 0 ? undefined : formatPairs(Object.fromEntries(terms));
}

/** The reason in the venue's record of the order. */
function findVenueReason(result: Json | undefined, { snapshot }: TrackedOrder): string | undefined {
  if (!Array.isArray(result)) return undefined;
  for (const each of result as readonly Json[]) {
    if (typeof each !== 'object' || each === null || Array.isArray(each)) continue;
    const { id, reason } = each as { readonly id?: Json; readonly reason?: Json };
    if (id === snapshot.context.venueId && typeof reason === 'string' && reason !== '')
      return `the venue says: ${reason}`;
  }
  return undefined;
}
