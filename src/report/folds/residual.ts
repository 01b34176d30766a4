/**
 * What a run leaves behind at the venue, as its journal knows it: the position that its own fills made and that none of its
 * stops covers, and a deadman switch that is still armed. For the last lines of a run, and for the reviewer's answers.
 */
import { Decimal, type DecimalString, decimal, decimalText } from '../../base/decimal.ts';
import type { Entry } from '../../journal/entry.ts';
import type { TrackedOrder } from '../../journal/orders.ts';
import { isResting } from '../../venue/order/states.ts';
import type { Side } from '../../venue/records.ts';
import { shown } from '../format.ts';
import { DeadmanRecordFold } from './deadman.ts';

export interface Residual {
  readonly uncovered: readonly Uncovered[];
  /** It had halted before it was taken up again. */
  readonly hadHalted: boolean;
  /** Epoch ms on the run's own clock: when the venue cancels everything unless something renews the switch. Only while it is armed. */
  readonly deadmanFiresAt?: number;
}

/** A position without a stop. What the account held before, or others have traded since, is not in it. */
export interface Uncovered {
  readonly market: string;
  readonly side: Side;
  /** What the run's own fills left, base currency. */
  readonly held: DecimalString;
  /** The part of it that no working stop of the run covers, base currency. */
  readonly bare: DecimalString;
}

/** Of what is said of it, the beginning. */
export const WITHOUT_STOP = 'position without a stop:';

/** The rest. `long 0.25 BTC-USD is held …`. */
export function uncoveredText({ market, side, held, bare }: Uncovered): string {
  const part = bare === held ? 'it' : `${bare} of it`;
  return `${side} ${held} ${shown(market)} is held from this run's own fills, and no stop of this run works for ${part}`;
}

export class ResidualFold {
  private readonly deadman = new DeadmanRecordFold();
  private halts = 0;
  private hadHalted = false;
  /** The orders that calls place. */
  private readonly placed = new Map<string, string>();
  /** Orders that only lower what was there. */
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

  residual(orders: readonly TrackedOrder[]): Residual {
    const { firesAt } = this.deadman.record();
    return {
      uncovered: uncoveredOf(orders, this.reducing),
      hadHalted: this.hadHalted,
      ...(firesAt === undefined ? {} : { deadmanFiresAt: firesAt }),
    };
  }
}

/**
 * By market. An order that only reduces closes what the run opened and never opens anything: what it closed beyond that was
 * there before the run.
 */
function uncoveredOf(orders: readonly TrackedOrder[], reducing: ReadonlySet<string>): readonly Uncovered[] {
  const found: Uncovered[] = [];
  for (const market of new Set(orders.map(({ intent }) => intent.market))) {
    const here = orders.filter(({ intent }) => intent.market === market);
    const reduces = ({ intent }: TrackedOrder) => isOfPosition(intent.type) || reducing.has(intent.clientOrderId);
    const opened = netOf(here.filter((order) => !reduces(order)));
    const closed = netOf(here.filter(reduces));
    const left = opened.plus(closed);
    if (opened.isZero() || left.isZero() || left.isNegative() !== opened.isNegative()) continue;
    const side: Side = left.isNegative() ? 'short' : 'long';
    // What reduced the other way round can not have made more of it.
    const held = Decimal.min(left.abs(), opened.abs());
    const covered = here.reduce((sum, order) => sum.plus(coverOf(order, side, held)), new Decimal(0));
    const bare = held.minus(covered);
    if (bare.isPositive() && !bare.isZero())
      found.push({ market, side, held: decimalText(held), bare: decimalText(bare) });
  }
  return found;
}

function netOf(orders: readonly TrackedOrder[]): Decimal {
  let net = new Decimal(0);
  for (const { intent, snapshot } of orders) {
    const { filled, recordFilled } = snapshot.context;
    const size = Decimal.max(decimal(filled), decimal(recordFilled));
    net = intent.side === 'long' ? net.plus(size) : net.minus(size);
  }
  return net;
}

/** How much of a position a stop works for; one that the venue has not been seen to hold works for none. */
function coverOf({ intent, snapshot: { state, context } }: TrackedOrder, side: Side, held: Decimal): Decimal {
  const nothing = new Decimal(0);
  if (intent.side === side || !isResting(state)) return nothing;
  if (intent.type === 'stop_loss') {
    // A venue that says a size may have fixed it when less was held; one that repeats the fraction says no less by it.
    const share = held.times(decimal(intent.size));
    return context.authorised === undefined ? share : Decimal.min(share, decimal(context.remaining));
  }
  return intent.type === 'stop_market' || intent.type === 'stop_limit' ? decimal(context.remaining) : nothing;
}

function isOfPosition(type: TrackedOrder['intent']['type']): boolean {
  return type === 'stop_loss' || type === 'take_profit';
}
