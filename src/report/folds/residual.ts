/**
 * Folds what a run leaves behind at the venue, according to its journal: what it opened against what it declares to leave, and a
 * deadman switch that is still armed. The end of a run and the reviewer's answers show it.
 */
import { decimal } from '../../base/decimal.ts';
import { makePrintable } from '../../base/printable.ts';
import type { DataOf, Entry, Json } from '../../journal/entry.ts';
import type { TrackedOrder } from '../../journal/orders.ts';
import { isPositionStop } from '../../venue/order/context.ts';
import {
  findBeyond,
  findLeft,
  type LeftPosition,
  type LeftSide,
  type SwitchCancels,
} from '../../venue/position/residual.ts';
import { DeadmanRecordFold } from './deadman.ts';

export interface Residual {
  /** What the runbook declares to leave; undefined while the run has no end. */
  readonly leaves?: LeftPosition;
  /** What is left of what the run opened. What the account held before, or others traded since, is not counted. */
  readonly left: readonly LeftSide[];
  /** The sides of `left` on which it is more than declared; of a run without an end, what no working stop covers. */
  readonly beyond: readonly LeftSide[];
  /** Client order ids of those of which no answer showed what is left of them, and none has since. */
  readonly unseen: readonly string[];
  /** The run had halted before it was resumed. */
  readonly hadHalted: boolean;
  /** When the venue cancels all orders unless the switch is renewed, epoch ms on the run's clock. Only while it is armed. */
  readonly deadmanFiresAt?: number;
  /** What it cancels of this run then, as the run itself said at its end. */
  readonly cancels?: SwitchCancels;
}

/** Whether its fills, which no record shows, are all that it asked for. */
function isFilled({ snapshot: { context } }: TrackedOrder): boolean {
  return decimal(context.filled).gte(context.size) && !isPositionStop(context.intent);
}

/** What a person has to know of an order that no answer has shown. */
export function describeUnseen(clientOrderId: string): string {
  return `not known: no answer shows what order ${makePrintable(clientOrderId, 60)} has filled, or whether it works; look at it, and at the position, at the venue`;
}

/** Precedes `describeLeft`. */
export const POSITION_LEFT = 'position left:';

export class ResidualFold {
  private readonly deadman = new DeadmanRecordFold();
  private halts = 0;
  private hadHalted = false;
  private readonly unseen = new Set<string>();
  /** What the run itself said at its end. */
  private said: DataOf<'run.residual'> | undefined;

  apply(entry: Entry): void {
    this.deadman.apply(entry);
    if (entry.type === 'order.alarmed' && entry.data.alarm === 'UnseenAtEnd') this.unseen.add(entry.data.clientOrderId);
    if (entry.type === 'call.settled' && this.unseen.size > 0) this.forgetSeen(entry.data);
    if (entry.type === 'run.ended' && entry.data.outcome === 'halted') this.halts += 1;
    if (entry.type === 'run.ended' && entry.data.outcome !== 'halted') this.hadHalted = this.halts > 0;
    if (entry.type === 'run.residual' && entry.data.when === 'end') this.said = entry.data;
    // A resumed run goes on; only its last end counts.
    if (entry.type === 'run.resumed') this.said = undefined;
  }

  private forgetSeen({ kind, result }: DataOf<'call.settled'>): void {
    if (kind !== 'confirmed' || !Array.isArray(result)) return;
    for (const row of result as readonly Json[]) {
      const shown =
        typeof row === 'object' && row !== null && 'client_order_id' in row ? row.client_order_id : undefined;
      if (typeof shown === 'string') this.unseen.delete(shown);
    }
  }

  /** `orders`: those of the run, as its journal has them. */
  findResidual(orders: readonly TrackedOrder[]): Residual {
    const { firesAt } = this.deadman.getRecord();
    const left = this.said?.left ?? findLeft(orders, { when: 'steps', staysArmed: false });
    return {
      ...(this.said === undefined ? {} : { leaves: this.said.leaves }),
      left,
      beyond: findBeyond(left, this.said?.leaves ?? 'protected'),
      unseen: [...this.unseen].filter(
        (id) => !orders.some((order) => order.intent.clientOrderId === id && isFilled(order)),
      ),
      hadHalted: this.hadHalted,
      ...(firesAt === undefined ? {} : { deadmanFiresAt: firesAt }),
      ...(this.said?.cancels === undefined ? {} : { cancels: this.said.cancels }),
    };
  }
}
