/**
 * The money of a report against a computation of its own: plain numbers over the fills and prices of the raw journal, without
 * the folds, the order tracker and the decimal library of the program.
 */
import { describe, expect, it } from 'vitest';
import { dryRun } from '../../src/index.ts';
import type { Entry } from '../../src/journal/entry.ts';
import { START } from '../engine/stage.ts';
import { loadShipped, shippedInputs, shippedVenue } from '../shipped-runbooks.ts';

interface Fill {
  readonly trade_id: string;
  readonly order_id: string;
  readonly market_id: string;
  readonly side: string;
  readonly price: string;
  readonly size: string;
  readonly fee: string;
  /** Epoch µs. */
  readonly timestamp: number;
}

interface Held {
  readonly size: number;
  readonly cost: number;
  readonly realized: number;
  readonly fees: number;
}

/** Adds a fill by average cost. */
function add({ size, cost, realized, fees }: Held, fill: Fill): Held {
  const [price, signed] = [Number(fill.price), fill.side === 'long' ? Number(fill.size) : -Number(fill.size)];
  const side = Math.sign(size);
  const closed = Math.sign(signed) === -side ? Math.min(Math.abs(signed), Math.abs(size)) : 0;
  const entry = size === 0 ? 0 : cost / size;
  const opened = signed - closed * Math.sign(signed);
  const left = Math.abs(size + signed) < 1e-9 ? 0 : size + signed;
  return {
    size: left,
    cost: left === 0 ? 0 : cost - closed * side * entry + opened * price,
    realized: realized + closed * (price - entry) * side,
    fees: fees + Number(fill.fee),
  };
}

const NOTHING: Held = { size: 0, cost: 0, realized: 0, fees: 0 };

/** One market. */
class Account {
  private readonly fills: Fill[] = [];
  private slippage = 0;
  private peak = 0;
  private drawdown = 0;
  private exposure = 0;
  /** The newest that was seen; NaN where none was, and then what is measured by it. */
  private price: number;

  constructor(price = Number.NaN) {
    this.price = price;
  }

  /** A fill that is read after later ones counts where it traded, and changes what was held after each of them. */
  fill(fill: Fill, decided: number): void {
    this.fills.push(fill);
    this.fills.sort((one, other) => one.timestamp - other.timestamp);
    this.slippage += (Number(fill.price) - decided) * Number(fill.size) * (fill.side === 'long' ? 1 : -1);
    const first = this.fills.indexOf(fill);
    for (const [index, held] of this.listHeld().entries())
      if (index >= first) this.note(held, Number(this.fills[index]?.price));
  }

  see(price: number): void {
    this.price = price;
    const held = this.listHeld().at(-1) ?? NOTHING;
    if (held.size !== 0) this.note(held, price);
  }

  /** After each fill. */
  private listHeld(): readonly Held[] {
    let held = NOTHING;
    return this.fills.map((fill) => {
      held = add(held, fill);
      return held;
    });
  }

  private note({ size, cost, realized, fees }: Held, price: number): void {
    const equity = realized + size * price - cost - fees;
    this.peak = Math.max(this.peak, equity);
    this.drawdown = Math.max(this.drawdown, this.peak - equity);
    this.exposure = Math.max(this.exposure, Math.abs(size * price));
  }

  collect(endedAt: number) {
    const all = this.listHeld();
    const { size, cost, realized, fees } = all.at(-1) ?? NOTHING;
    const unrealized = size * this.price - cost;
    const times = [...this.fills.map(({ timestamp }) => Math.floor(timestamp / 1000)), endedAt];
    return {
      position: size,
      realized,
      unrealized,
      fees,
      net: realized + (Number.isNaN(unrealized) ? 0 : unrealized) - fees,
      slippage: this.slippage,
      maxExposure: this.exposure,
      maxDrawdown: this.drawdown,
      timeInMarketMs: all.reduce(
        (sum, held, index) => sum + (held.size === 0 ? 0 : (times[index + 1] ?? 0) - (times[index] ?? 0)),
        0,
      ),
    };
  }
}

function compute(entries: readonly Entry[]) {
  const accounts = new Map<string, Account>();
  const seen = new Map<string, number>();
  const endpoints = new Map<string, string>();
  /** The price when an order was decided: its trigger, that of its band, else the newest that was seen. */
  const decided = new Map<string, number>();
  const fromCall = new Map<string, number>();
  const known = new Set<string>();
  for (const { type, data } of entries) {
    if (type === 'feed.read' && data.key !== undefined && data.value !== undefined) {
      seen.set(data.key, Number(data.value));
      accounts.get(data.key)?.see(Number(data.value));
    }
    if (type === 'call.intended') {
      endpoints.set(data.call, data.endpoint);
      const { intent, reference } = data;
      if (intent === undefined) continue;
      const price = seen.get(intent.market);
      if (!accounts.has(intent.market)) accounts.set(intent.market, new Account(price));
      fromCall.set(data.call, Number(intent.trigger ?? reference ?? price));
    }
    if (type !== 'call.settled' || !Array.isArray(data.result)) continue;
    const endpoint = endpoints.get(data.call);
    const rows = data.result as unknown as readonly (Fill & { readonly id: string })[];
    if (endpoint === 'POST /orders') for (const { id } of rows) decided.set(id, fromCall.get(data.call) ?? Number.NaN);
    if (endpoint !== 'GET /fills/order' && endpoint !== 'GET /fills') continue;
    const fresh = rows.filter(({ trade_id, order_id }) => decided.has(order_id) && !known.has(trade_id));
    for (const fill of [...fresh].sort((a, b) => a.timestamp - b.timestamp)) {
      known.add(fill.trade_id);
      accounts.get(fill.market_id)?.fill(fill, decided.get(fill.order_id) ?? Number.NaN);
    }
  }
  const endedAt = entries.at(-1)?.at ?? 0;
  return Object.fromEntries([...accounts].map(([market, account]) => [market, account.collect(endedAt)]));
}

describe('every figure of the report', () => {
  it.each(['twap', 'grid', 'dca', 'triple-barrier', 'scale-out', 'pair', 'iceberg', 'weekly-buy'])(
    'of %s is what its fills and prices add up to',
    async (name) => {
      const loaded = loadShipped(name);
      const venue = { kind: 'simulated', config: shippedVenue(name) } as const;
      const inputs = shippedInputs(name, loaded);
      const { report, entries } = await dryRun(loaded, { inputs, at: START, seed: 3, venue });
      const expected = compute(entries);
      expect(Object.keys(expected)).toEqual(Object.keys(report.money));
      for (const [market, figures] of Object.entries(expected))
        for (const [figure, value] of Object.entries(figures)) {
          const found = Number(report.money[market]?.[figure as 'net']);
          expect([market, figure, found]).toEqual([
            market,
            figure,
            Number.isNaN(value) ? value : expect.closeTo(value, 6),
          ]);
        }
      expect(Object.values(expected).some(({ timeInMarketMs }) => timeInMarketMs > 0)).toBe(true);
    },
  );
});
