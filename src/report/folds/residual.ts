/**
 * Folds what a run leaves behind at the venue, according to its journal: the position from its fills that none of its stops
 * covers, and a deadman switch that is still armed. The end of a run and the reviewer's answers show it.
 */
import { Decimal, type DecimalString, decimal, formatDecimal } from '../../base/decimal.ts';
import type { Entry } from '../../journal/entry.ts';
import type { TrackedOrder } from '../../journal/orders.ts';
import { isResting } from '../../venue/order/states.ts';
import type { Side } from '../../venue/records.ts';
import { formatText } from '../format.ts';
import { DeadmanRecordFold } from './deadman.ts';

export interface Residual {
  readonly uncovered: readonly Uncovered[];
  /** The run had halted before it was resumed. */
  readonly hadHalted: boolean;
  /** When the venue cancels all orders unless the switch is renewed, epoch ms on the run's clock. Only while it is armed. */
  readonly deadmanFiresAt?: number;
}

/** A position without a stop. What the account held before, or others traded since, is not counted. */
export interface Uncovered {
  readonly market: string;
  readonly side: Side;
  /** The position that the run's fills left, base currency. */
  readonly held: DecimalString;
  /** The part of it that no working stop of the run covers, base currency. */
  readonly bare: DecimalString;
}

/** Precedes `uncoveredText`. */
export const WITHOUT_STOP = 'position without a stop:';

/** `long 0.25 BTC-USD from this run's fills, and no working stop …`. */
export function formatUncovered({ market, side, held, bare }: Uncovered): string {
  const part = bare === held ? 'it' : `${bare} of it`;
  return `${side} ${held} ${formatText(market)} from this run's fills, and no working stop of this run covers ${part}`;
}

export class ResidualFold {
  private readonly deadman = new DeadmanRecordFold();
  private halts = 0;
  private hadHalted = false;
  /** The client order id that each call places. */
  private readonly placed = new Map<string, string>();
  /** Orders that only reduce a position. */
  private readonly reducing = new Set<string>();

  apply(entry: Entry): void {
    this.deadman.apply(entry);
    if (entry.type === 'run.ended' && entry.data.outcome === 'halted') this.halts += 1;
    if (entry.type === 'run.ended' && entry.data.outcome !== 'halted') this.hadHalted = this.halts > 0;
    if (entry.type === 'call.intended' && entry.data.intent !== undefined) {
      const { clientOrderId, allow } = entry.data.intent;
      this.placed.set(entry.data.call, clientOrderId);
      if (allow === 'reduce') this.reducing.add(clientOrderId);
    }
    if (entry.type !== 'call.checked' || entry.data.limits['mode'] !== 'reducing') return;
    const order = this.placed.get(entry.data.call);
    if (order !== undefined) this.reducing.add(order);
  }

  findResidual(orders: readonly TrackedOrder[]): Residual {
    const { firesAt } = this.deadman.getRecord();
    return {
      uncovered: findUncovered(orders, this.reducing),
      hadHalted: this.hadHalted,
      ...(firesAt === undefined ? {} : { deadmanFiresAt: firesAt }),
    };
  }
}

/**
 * By market. An order that only reduces closes what the run opened and opens nothing: anything it closed beyond that was held
 * before the run.
 */
function findUncovered(orders: readonly TrackedOrder[], reducing: ReadonlySet<string>): readonly Uncovered[] {
  const found: Uncovered[] = [];
  for (const market of new Set(orders.map(({ intent }) => intent.market))) {
    const here = orders.filter(({ intent }) => intent.market === market);
    const isReducing = ({ intent }: TrackedOrder) => isOfPosition(intent.type) || reducing.has(intent.clientOrderId);
    const opened = sumNet(here.filter((order) => !isReducing(order)));
    const closed = sumNet(here.filter(isReducing));
    const left = opened.plus(closed);
    if (opened.isZero() || left.isZero() || left.isNegative() !== opened.isNegative()) continue;
    const side: Side = left.isNegative() ? 'short' : 'long';
    // A reducing order on the opening side cannot have enlarged the position.
    const held = Decimal.min(left.abs(), opened.abs());
    const covered = here.reduce((sum, order) => sum.plus(sumCovered(order, side, held)), new Decimal(0));
    const bare = held.minus(covered);
    if (bare.isPositive() && !bare.isZero())
      found.push({ market, side, held: formatDecimal(held), bare: formatDecimal(bare) });
  }
  return found;
}

function sumNet(orders: readonly TrackedOrder[]): Decimal {
  let net = new Decimal(0);
  for (const { intent, snapshot } of orders) {
    const { filled, recordFilled } = snapshot.context;
    const size = Decimal.max(decimal(filled), decimal(recordFilled));
    net = intent.side === 'long' ? net.plus(size) : net.minus(size);
  }
  return net;
}

/** The part of a position that a stop covers; nothing unless the venue has been seen to hold the stop. */
function sumCovered({ intent, snapshot: { state, context } }: TrackedOrder, side: Side, held: Decimal): Decimal {
  const nothing = new Decimal(0);
  if (intent.side === side || !isResting(state)) return nothing;
  if (intent.type === 'stop_loss') {
    // A size that the venue reports may have been fixed when less was held; the repeated fraction never lowers the share.
    const share = held.times(decimal(intent.size));
    return context.authorised === undefined ? share : Decimal.min(share, decimal(context.remaining));
  }
  return intent.type === 'stop_market' || intent.type === 'stop_limit' ? decimal(context.remaining) : nothing;
}

function isOfPosition(type: TrackedOrder['intent']['type']): boolean {
  return type === 'stop_loss' || type === 'take_profit';
}
