/** Draws a simulated venue that misbehaves: lost and late answers, refusals, foreign tokens, thin books, wandering prices. */
import type { FaultKind, FaultRule } from '../../src/gateway/simulator/config/faults.ts';
import type { SimulatorConfig } from '../../src/gateway/simulator/simulator.ts';
import { Draws } from '../simulation/draws.ts';

const ANY_CALL: readonly FaultKind[] = [
  'lost_before',
  'lost_after',
  'lost_after',
  'delay',
  'refused',
  'reset_before',
  'reset_after',
  'slow_loris',
  'truncated',
  'status',
  'error',
  'error',
  'rate_limited',
  'rate_limited',
  'unauthorized',
  'malformed',
  'empty',
  'html',
];
const OF_CALL: Readonly<Record<string, readonly FaultKind[]>> = {
  'POST /orders': ['late_reject', 'late_reject', 'stuck', 'invisible', 'empty_result', 'two_records', 'other_record'],
  'PUT /orders': ['amend_lost', 'stuck'],
  'DELETE /orders': ['cancel_lost', 'fill_first', 'stuck'],
};
const CALLS = {
  'POST /orders': 10,
  'PUT /orders': 4,
  'DELETE /orders': 4,
  'GET /orders': 4,
  'GET /fills/order': 1,
  'GET /fills': 1,
  'POST /cancel_all_after': 1,
  'DELETE /cancel_all_after': 1,
  'GET /cancel_all_after': 1,
  'DELETE /orders/cancel_all': 1,
  'PUT /account/leverage': 1,
  'GET /account': 1,
  'POST /jwt': 0.3,
  '*': 2,
};

export function drawVenue(seed: number): SimulatorConfig {
  const draws = new Draws(seed, 'venue');
  const market = (start: string, tick: number) => ({
    depth: draws.of(['0.003', '0.05', '100']),
    path: draws.chance(0.5)
      ? { kind: 'walk' as const, volatilityBps: draws.of([1, 5, 20]), stepMs: 1000 }
      : { kind: 'points' as const, stepMs: 500, points: drawPoints(draws, Number(start), tick) },
  });
  return {
    markets: { 'BTC-USD': market('64000', 1), 'ETH-USD': market('3200', 0.1), 'SOL-USD': market('150', 0.01) },
    account: {
      equity: draws.chance(0.15) ? '300' : '1000000',
      positions: draws.chance(0.5)
        ? [{ market: 'BTC-USD', size: draws.of(['0.1', '-0.2']), price: '64000', agoMs: 60_000 }]
        : [],
      resting: draws.chance(0.2)
        ? [{ market: 'BTC-USD', side: 'long', size: '0.1', price: '50000', agoMs: 100_000 }]
        : [],
      maxOpenOrders: draws.of([1000, 1000, 2]),
    },
    latencyMs: draws.of([
      { min: 10, max: 10 },
      { min: 20, max: 60 },
      { min: 5, max: 400 },
    ]),
    processingMs: draws.of([
      { min: 20, max: 80 },
      { min: 0, max: 10 },
      { min: 50, max: 4000 },
    ]),
    visibilityLagMs: { min: 0, max: draws.of([0, 150, 1500]) },
    readLagMs: draws.of([0, 0, 300, 1500]),
    fillLagMs: draws.of([0, 0, 400, 1500]),
    tokens: {
      limit: draws.of([1200, 1200, 400]),
      algorithm: draws.of(['sliding_log', 'fixed_window', 'token_bucket', 'sliding_counter']),
      resetUnit: draws.of(['s', 'ms', 'us', 'iso']),
      retryAfter: draws.of(['x', 'plain', 'both', 'none']),
      foreign: draws.chance(0.15) ? [{ afterMs: draws.within(0, 5000), tokens: draws.within(100, 1100) }] : [],
    },
    surprises: {
      stopStatus: draws.of(['open', 'open', 'placed']),
      amendFlickerMs: draws.of([0, 0, 300, 1200]),
      iocRest: draws.of(['canceled', 'canceled', 'rejected']),
      duplicateIds: draws.of(['accept', 'refuse']),
      errorText: draws.of(['code', 'code_and_text']),
      refusalStatus: draws.of(['by_kind', 200, 400]),
      deadmanEmpty: draws.of(['object', 'array', 'null']),
      cancelAllSkipsProcessing: draws.chance(0.2),
    },
    faults: draws.chance(0.25) ? [] : Array.from({ length: draws.within(1, 4) }, () => drawFault(draws)),
  };
}

/** A price that wanders within one percent for two minutes. */
function drawPoints(draws: Draws, start: number, tick: number): { afterMs: number; price: string }[] {
  const digits = Math.round(-Math.log10(tick));
  return Array.from({ length: 30 }, (_, index) => {
    const ticks = index === 0 ? 0 : draws.within(-Math.floor(start / tick / 100), Math.floor(start / tick / 100));
    return { afterMs: index * 4000, price: (start + ticks * tick).toFixed(digits) };
  });
}

function drawFault(draws: Draws): FaultRule {
  const on = draws.weighted(CALLS);
  const what = draws.of([...ANY_CALL, ...(OF_CALL[on] ?? []), ...(OF_CALL[on] ?? [])]);
  const often = draws.weighted({ once: 5, some: 3, burst: 2, always: 0.5 });
  const untilMs = draws.of([15_000, 60_000, 300_000]);
  const when = {
    once: { call: draws.within(1, 4) },
    some: { probability: 0.3, untilMs },
    burst: { afterMs: draws.within(0, 5000), probability: 0.8, untilMs },
    always: { untilMs: 2 * untilMs },
  }[often];
  return {
    on,
    when,
    do: what,
    ms: draws.of([100, 3000, 20_000, 70_000]),
    status: what === 'error' ? draws.of([200, 400]) : draws.of([500, 502, 503, 404]),
    processed: draws.chance(0.4),
    ...(what === 'error'
      ? { error: draws.of(['SOMETHING_WENT_WRONG', 'INSUFFICIENT_MARGIN', 'try again later']) }
      : {}),
    ...(what === 'empty' ? { status: 200 } : {}),
    ...(what === 'rate_limited' ? { retryAfter: draws.of(['1', '3', '0.5', 'soon', '']) } : {}),
    ...(what === 'fill_first' ? { fraction: draws.of(['1', '0.5']) } : {}),
    way: draws.of(['request', 'reply']),
  };
}
