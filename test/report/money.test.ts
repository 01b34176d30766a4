import { describe, expect, it } from 'vitest';
import { ResultFold } from '../../src/report/folds/run.ts';
import type { OrderTerms } from '../../src/venue/port.ts';
import type { FillRecord } from '../../src/venue/records.ts';
import { START, startedData } from '../journal/sample.ts';
import { fillRecord, Script, TERMS } from './sample-run.ts';

let count = 0;

/** A run as its journal has it: feed readings, and orders that are acknowledged and whose fills are read. */
class Trading {
  readonly script = new Script();

  constructor(mode: 'simulated' | 'live' = 'simulated') {
    this.script.append('run.started', startedData({ mode }));
  }

  price(value: string, key: string | null = 'BTC-USD', name = 'mid'): void {
    const { script } = this;
    script.append('feed.read', { call: 'f', name, ...(key === null ? {} : { key }), value, at: START }, 'steps/0');
  }

  /** Intends and places an order; `reference` is the price of its band. */
  async place(terms: Partial<OrderTerms>, reference?: string): Promise<string> {
    count += 1;
    const intent = { ...TERMS, ...terms, clientOrderId: `k2order${count}` };
    const id = `${intent.market}@${count}`;
    const ack = {
      market_id: intent.market,
      side: intent.side,
      size: intent.size,
      type: intent.type,
      price: intent.price,
    };
    await this.script.exchange(
      'POST /orders',
      {},
      1,
      [{ ...ack, id, status: 'processing', client_order_id: intent.clientOrderId }],
      `steps/o${count}`,
      { intent, ...(reference === undefined ? {} : { reference }) },
    );
    return id;
  }

  async fill(order: string, ...fills: readonly Partial<FillRecord>[]): Promise<void> {
    const rows = fills.map((fill) => {
      count += 1;
      return {
        ...fillRecord(count, '1', '100'),
        order_id: order,
        market_id: order.split('@')[0],
        timestamp: count,
        fee: '0',
        ...fill,
      };
    });
    await this.script.exchange('GET /fills/order', { order_id: order }, 10, rows.reverse(), 'watch');
  }

  result() {
    const fold = new ResultFold();
    for (const entry of this.script.entries) fold.apply(entry);
    return fold.result();
  }
}

describe('the money of a run', () => {
  it('is its position, realised and unrealised PnL and fees, by market', async () => {
    const run = new Trading();
    run.price('100');
    const entry = await run.place({ size: '3' });
    await run.fill(entry, { size: '1', price: '100', fee: '0.1' }, { size: '2', price: '103', fee: '0.2' });
    const exit = await run.place({ side: 'short', size: '1' });
    await run.fill(exit, { side: 'short', size: '1', price: '110', fee: '0.1' });
    run.price('105');
    await run.place({ market: 'ETH-USD' });
    expect(run.result().money).toMatchObject({
      'BTC-USD': {
        position: '2',
        averageEntry: '102',
        realized: '8',
        unrealized: '6',
        fees: '0.4',
        net: '13.6',
        maxExposure: '309',
      },
      'ETH-USD': { position: '0', realized: '0', fees: '0', net: '0', maxExposure: '0', maxDrawdown: '0' },
    });
  });

  it('has no unrealised PnL and no slippage where no price was seen', async () => {
    const run = new Trading();
    await run.fill(await run.place({ size: '1' }), { size: '1', price: '100' });
    // A rate is no price of the market, and another market's price neither.
    run.price('0.0001', 'BTC-USD', 'funding');
    run.price('101', 'ETH-USD');
    const money = run.result().money['BTC-USD'];
    expect(money).not.toHaveProperty('unrealized');
    expect(money).not.toHaveProperty('slippage');
  });

  it('takes a feed that names no market for the only market of the run', async () => {
    const run = new Trading();
    run.price('100', null);
    await run.fill(await run.place({ size: '1' }), { size: '1', price: '101' });
    run.price('99', null);
    expect(run.result().money).toMatchObject({ 'BTC-USD': { slippage: '1', unrealized: '-2', maxDrawdown: '2' } });
    await run.place({ market: 'ETH-USD' });
    expect(run.result().money['BTC-USD']).not.toHaveProperty('unrealized');
  });

  it('measures slippage from the price at the decision, worse fills positive; a stop from its trigger', async () => {
    const run = new Trading();
    run.price('100');
    await run.fill(await run.place({ size: '2' }), { size: '2', price: '101' });
    run.price('200');
    expect(run.result().money).toMatchObject({ 'BTC-USD': { slippage: '2' } });
    const banded = await run.place({ size: '1', side: 'short' }, '105');
    await run.fill(banded, { size: '1', side: 'short', price: '106' });
    const stop = await run.place({ type: 'stop_loss', size: '1', side: 'short', trigger: '90' });
    await run.fill(stop, { size: '1', side: 'short', price: '88' });
    expect(run.result().money).toMatchObject({ 'BTC-USD': { slippage: '3' } });
  });

  it('knows the largest exposure and drawdown on the way, at the prices then', async () => {
    const run = new Trading();
    run.price('100');
    await run.fill(await run.place({ size: '2' }), { size: '2', price: '100', fee: '1' });
    for (const price of ['110', '95', '97']) run.price(price);
    await run.fill(await run.place({ size: '2', side: 'short' }), { size: '2', side: 'short', price: '120', fee: '1' });
    run.price('50');
    expect(run.result().money).toMatchObject({
      'BTC-USD': { position: '0', realized: '40', net: '38', maxExposure: '220', maxDrawdown: '30' },
    });
  });

  it('counts a fill that is read after later ones where it traded', async () => {
    const run = new Trading();
    const entry = await run.place({ size: '1' });
    const exit = await run.place({ size: '1', side: 'short' });
    await run.fill(exit, { size: '1', side: 'short', price: '110', timestamp: 2_000_000_000 });
    await run.fill(entry, { size: '1', price: '100', timestamp: 1_000_000_000 });
    expect(run.result().money).toMatchObject({ 'BTC-USD': { position: '0', realized: '10' } });
  });
});

describe('the notices of a run', () => {
  it('say whether each reached its channel', () => {
    const run = new Trading('live');
    const { script } = run;
    script.append('notification.sent', { to: 'ops', text: 'entered' }, 'steps/0:notify');
    script.append('notification.sent', { to: 'desk', text: 'entered' }, 'steps/1:notify');
    script.append('notification.sent', { to: 'ops', text: 'left' }, 'steps/2:notify');
    script.append('notification.settled', { to: 'ops', delivered: true }, 'steps/0:notify');
    script.append('notification.settled', { to: 'desk', delivered: false, because: 'no answer' }, 'steps/1:notify');
    const { notices } = run.result();
    expect(notices.map(({ at, ...notice }) => notice)).toMatchObject([
      { to: 'ops', text: 'entered', delivered: true },
      { to: 'desk', delivered: false, reason: 'no answer' },
      { to: 'ops', text: 'left', delivered: false },
    ]);
    expect(notices[0]).not.toHaveProperty('reason');
  });

  it('of a dry-run reached no one', () => {
    const run = new Trading();
    run.script.append('notification.sent', { to: 'ops', text: 'entered' }, 'steps/0:notify');
    expect(run.result().notices).toMatchObject([{ to: 'ops', text: 'entered', delivered: false }]);
  });
});
