/** Names the core, what must not be wrong with an order open, and the tests that judge changes of it. */

/** Percent of the mutants of a file that the tests are to catch. */
export const GOAL = 90;

/** Each file with the tests that are run first. */
export const CORE = {
  'src/venue/order/life.ts': ['test/venue/order'],
  'src/venue/order/transitions.ts': ['test/venue/order', 'test/engine/machines'],
  'src/venue/order/guards.ts': ['test/venue/order', 'test/venue/surprises'],
  'src/venue/order/change.ts': ['test/venue/order'],
  'src/venue/order/fills.ts': ['test/venue/order', 'test/venue/fills'],
  'src/venue/limits/check.ts': ['test/venue/limits'],
  'src/venue/limits/rules.ts': ['test/venue/limits', 'test/venue/profile'],
  'src/venue/limits/price.ts': ['test/venue/limits'],
  'src/venue/tokens/ledger.ts': ['test/venue/budget', 'test/venue/rate-limit', 'test/venue/headers'],
  'src/venue/deadman.ts': ['test/venue/deadman'],
  'src/engine/orders/orders.ts': ['test/engine'],
  'src/engine/orders/place.ts': ['test/engine'],
  'src/engine/orders/cancel.ts': ['test/engine'],
  'src/engine/orders/amend.ts': ['test/engine'],
  'src/engine/orders/watch.ts': ['test/engine'],
  'src/engine/orders/resolution.ts': ['test/engine'],
  'src/engine/deadman/heartbeat.ts': ['test/engine'],
  'src/engine/steps/interpreter.ts': ['test/engine'],
  'src/engine/playback/playback.ts': ['test/engine'],
  'src/engine/run.ts': ['test/engine'],
  'src/gateway/client.ts': ['test/gateway', 'test/engine'],
  'src/gateway/live/session.ts': ['test/gateway/session', 'test/gateway/live'],
  'src/gateway/limits/facts.ts': ['test/gateway', 'test/engine/limits'],
  'src/journal/chain.ts': ['test/journal'],
  'src/journal/writer.ts': ['test/journal'],
};

/** These judge what the first left of a file that misses the goal: tests in process, of rooms that use the core, and worlds. */
export const OTHERS = ['test/venue', 'test/journal', 'test/gateway', 'test/engine', 'test/simulation/each-seed'];

/** Of these: what is slow and far from the core. */
export const LEFT_OUT = /\/(scheduler|decide|sweep|chart|archive|anchors|newest-anchors|postgres|sqlite|har|webhook)/;

/**
 * Mutators that are left out. The compiler refuses nearly every other text where a text is a code or the name of a state, and
 * what remains are messages, whose text no test holds.
 */
export const EXCLUDED = ['StringLiteral'];
