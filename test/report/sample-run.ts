/** Writes a sample run as the engine would: an order that rests and fills, a skipped step, a retry, a lost answer, a deadman switch. */
import { VirtualClock } from '../../src/base/clock.ts';
import type { Entry, Json, JsonObject } from '../../src/journal/entry.ts';
import { OrderTracker } from '../../src/journal/orders.ts';
import type { JournalStore } from '../../src/journal/store.ts';
import { MemoryStore } from '../../src/journal/stores/memory.ts';
import type { JournalWriter } from '../../src/journal/writer.ts';
import type { OrderTerms } from '../../src/venue/port.ts';
import type { FillRecord, OrderRecord } from '../../src/venue/records.ts';
import { newWriter, START, startedData } from '../journal/sample.ts';

export const TERMS: OrderTerms = {
  clientOrderId: 'k2entry1',
  market: 'BTC-USD',
  side: 'long',
  type: 'limit',
  size: '0.3',
  price: '64200',
  timeInForce: 'good_till_cancel',
  onAmbiguous: 'halt',
};

export function orderRecord(overrides: Partial<OrderRecord>): OrderRecord {
  return {
    id: 'BTC-USD@11',
    client_order_id: 'k2entry1',
    market_id: 'BTC-USD',
    order_type: 'limit',
    side: 'long',
    price: '64200',
    size: '0.3',
    initial_size: '0.3',
    total_filled_size: '0',
    status: 'open',
    reason: '',
    profile_id: 7,
    timestamp: START * 1000,
    time_in_force: 'good_till_cancel',
    ...overrides,
  };
}

export function fillRecord(number: number, size: string, price: string): FillRecord {
  return {
    id: `BTC-USD-${number}`,
    trade_id: `BTC-USD-${number + 1000}`,
    order_id: 'BTC-USD@11',
    market_id: 'BTC-USD',
    profile_id: 7,
    side: 'long',
    price,
    size,
    fee: '-0.01',
    is_maker: true,
    liquidation: false,
    timestamp: START * 1000,
  };
}

/** Writes entries at chosen times, with `order.moved` after each entry that moves an order. */
export class Script {
  readonly entries: Entry[] = [];
  private readonly clock = new VirtualClock(START);
  private readonly writer: JournalWriter;
  private readonly tracker = new OrderTracker();
  private calls = 0;

  constructor(store: JournalStore = new MemoryStore()) {
    this.writer = newWriter(store, 'r1', { clock: this.clock, durable: false });
    this.writer.subscribe((entry) => {
      this.entries.push(entry);
      for (const { order, from, to, event } of this.tracker.apply(entry)) {
        if (from === to) continue;
        const { context } = order.snapshot;
        const id = context.venueId === undefined ? {} : { orderId: context.venueId };
        this.append(
          'order.moved',
          { clientOrderId: order.intent.clientOrderId, ...id, from, to, event, filled: context.filled },
          entry.step,
        );
      }
    });
  }

  /** Writes what was appended. */
  close(): Promise<void> {
    return this.writer.close();
  }

  readonly append: JournalWriter['append'] = (type, data, step, actor) => this.writer.append(type, data, step, actor);

  async at(offsetMs: number): Promise<void> {
    await this.clock.advanceTo(START + offsetMs);
  }

  intend(
    endpoint: string,
    params: JsonObject,
    step: string,
    more: { readonly intent?: OrderTerms; readonly clientOrderId?: string; readonly purpose?: string } = {},
  ): string {
    this.calls += 1;
    const call = `${step}#${this.calls}`;
    this.append('call.intended', { call, endpoint, params, class: 'enter', ...more }, step);
    return call;
  }

  attempt(call: string, endpoint: string, params: JsonObject, tokens: number, step: string, waitedMs = 0): void {
    const [method = '', path = ''] = endpoint.split(' ');
    this.append(
      'call.attempted',
      { call, n: 1, method, path, params, digest: '0'.repeat(64), tokens, epoch: 1, waitedMs },
      step,
    );
  }

  confirm(call: string, result: unknown, step: string): void {
    this.append(
      'call.settled',
      { call, kind: 'confirmed', status: 200, success: true, result: result as Json, sentAt: this.clock.now() - 80 },
      step,
    );
  }

  /** Intends, sends and, 80 ms later, confirms. */
  async exchange(
    endpoint: string,
    params: JsonObject,
    tokens: number,
    result: unknown,
    step: string,
    more: Parameters<Script['intend']>[3] = {},
  ): Promise<void> {
    const call = this.intend(endpoint, params, step, more);
    this.attempt(call, endpoint, params, tokens, step);
    await this.at(this.clock.now() - START + 80);
    this.confirm(call, result, step);
  }
}

const placement = {
  market_id: 'BTC-USD',
  side: 'long',
  size: '0.3',
  type: 'limit',
  price: '64200',
  client_order_id: 'k2entry1',
};

export async function sampleRun(): Promise<readonly Entry[]> {
  const script = new Script();
  const { append } = script;
  append('run.started', startedData({ runbook: 'sample', inputs: { side: 'long', size: '0.3' } }));

  append(
    'step.decided',
    { what: 'if', expression: 'inputs.side == "short"', inputs: { inputs: { side: 'long' } }, value: false },
    'steps/0:set_leverage',
  );
  append('step.ended', { verb: 'set_leverage', outcome: 'skipped', attempts: 0 }, 'steps/0:set_leverage');

  await script.exchange(
    'POST /cancel_all_after',
    { market_id: 'BTC-USD', timeout: 60_000 },
    10,
    { profile_id: 7, timeout: 60_000, last_updated: START * 1000, status: 'active' },
    'deadman',
  );
  append('deadman.moved', { event: 'armed', market: 'BTC-USD', timeoutMs: 60_000 }, 'deadman');

  const entry = 'steps/entry';
  append('step.started', { verb: 'place', id: 'entry', attempt: 1, now: START + 80 }, entry);
  const refused = script.intend('POST /orders', placement, entry, { intent: TERMS });
  append(
    'call.settled',
    { call: refused, kind: 'denied', code: 'DEADLINE', message: 'the budget grants it too late' },
    entry,
  );
  await script.at(1000);
  append(
    'step.retried',
    { verb: 'place', attempt: 1, error: { kind: 'rate_limited', message: 'too many' }, retryAt: START + 2000 },
    entry,
  );
  await script.at(2000);
  append('step.started', { verb: 'place', id: 'entry', attempt: 2, now: START + 2000 }, entry);
  const terms = { ...TERMS, clientOrderId: 'k2entry2' };
  const ack = { ...placement, id: 'BTC-USD@11', status: 'processing', client_order_id: 'k2entry2' };
  await script.exchange('POST /orders', { ...placement, client_order_id: 'k2entry2' }, 1, [ack], `${entry}~2`, {
    intent: terms,
  });
  const record = orderRecord({ client_order_id: 'k2entry2' });
  const query = { market_id: 'BTC-USD', order_id: 'BTC-USD@11' };
  await script.exchange('GET /orders', query, 10, [record], 'watch', { purpose: 'confirm', clientOrderId: 'k2entry2' });
  append('step.ended', { verb: 'place', id: 'entry', outcome: 'succeeded', attempts: 2, value: { ...record } }, entry);

  await script.at(65_000);
  const loop = 'steps/1:repeat';
  append('step.started', { verb: 'repeat', attempt: 1, now: START + 65_000 }, loop);
  append('step.started', { verb: 'list_fills', id: 'seen', attempt: 1, now: START + 65_000 }, `${loop}[0]/seen`);
  const fills = [fillRecord(2, '0.2', '64190'), fillRecord(1, '0.1', '64200')];
  await script.exchange('GET /fills/order', { order_id: 'BTC-USD@11' }, 10, fills, `${loop}[0]/seen`);
  append('step.ended', { verb: 'list_fills', id: 'seen', outcome: 'succeeded', attempts: 1 }, `${loop}[0]/seen`);
  await script.exchange(
    'GET /orders',
    query,
    10,
    [{ ...record, status: 'closed', size: '0', total_filled_size: '0.3' }],
    'watch',
    { purpose: 'confirm' },
  );
  append('step.ended', { verb: 'repeat', outcome: 'succeeded', attempts: 1 }, loop);

  append('step.started', { verb: 'read_account', attempt: 1, now: START + 65_160 }, 'steps/2:read_account');
  const lost = script.intend('GET /account', {}, 'steps/2:read_account');
  script.attempt(lost, 'GET /account', {}, 20, 'steps/2:read_account', 250);
  await script.at(75_160);
  append(
    'call.settled',
    { call: lost, kind: 'unresolved', message: 'timeout: response \u001b[31m' },
    'steps/2:read_account',
  );
  append(
    'step.ended',
    {
      verb: 'read_account',
      outcome: 'failed',
      attempts: 1,
      error: { kind: 'transport', message: 'timeout: response' },
    },
    'steps/2:read_account',
  );

  append('deadman.moved', { event: 'disarmed', market: 'BTC-USD' }, 'deadman');
  append('run.ended', {
    outcome: 'failed',
    error: { kind: 'transport', message: 'timeout: response', step: 'steps/2:read_account' },
    outputs: { filled: '0.3' },
  });
  return script.entries;
}
