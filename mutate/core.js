/** Names the core, what must not be wrong with an order open, and the tests that judge changes of it. */

/** Percent of the mutants of a file that the tests are to catch. */
export const GOAL = 90;

const inEngine = (...names) => [...names, 'journals', 'golden'].map((name) => `test/engine/${name}`);

/** Each file with the tests that are run first, in this order: at last those that hold every entry and request of whole runs. */
export const CORE = {
  'src/venue/order/life.ts': ['test/venue/order'],
  'src/venue/order/transitions.ts': ['test/venue/order', 'test/engine/machines'],
  'src/venue/order/guards.ts': ['test/venue/order', 'test/venue/surprises'],
  'src/venue/order/change.ts': ['test/venue/order'],
  'src/venue/order/fills.ts': ['test/venue/order', 'test/venue/fills'],
  'src/venue/limits/check.ts': ['test/venue/limits'],
  'src/venue/limits/control-checks.ts': ['test/venue/limits'],
  'src/venue/limits/rules.ts': ['test/venue/limits', 'test/venue/profile'],
  'src/venue/limits/price.ts': ['test/venue/limits'],
  'src/venue/tokens/ledger.ts': ['test/venue/token-ledger', 'test/venue/budget', 'test/gateway/budget'],
  'src/venue/deadman.ts': ['test/venue/deadman'],
  'src/engine/orders/orders.ts': inEngine('order-parts', 'orders', 'completion', 'settling', 'withdrawal', 'denials'),
  'src/engine/orders/place.ts': inEngine(
    'order-parts',
    'orders',
    'refused-but-placed',
    'withdrawal',
    'denials',
    'gateway-crash',
  ),
  'src/engine/orders/cancel.ts': inEngine('cancel', 'withdrawal', 'settling', 'orders'),
  'src/engine/orders/amend.ts': inEngine('amend', 'orders', 'withdrawal'),
  'src/engine/readings/watch.ts': inEngine('watch'),
  'src/engine/readings/completion.ts': inEngine('order-completion', 'completion', 'settling'),
  'src/engine/readings/completing.ts': inEngine('completing', 'fill-pages', 'completion', 'settling', 'withdrawal'),
  'src/engine/readings/seen-ends.ts': inEngine('seen-ends', 'order-looks', 'last-look', 'completion'),
  'src/engine/readings/last-look.ts': inEngine('order-looks', 'last-look', 'completion'),
  'src/engine/readings/exit-look.ts': inEngine('order-looks', 'last-look', 'completion'),
  'src/engine/orders/settle.ts': inEngine('settling', 'orders', 'cancel'),
  'src/engine/orders/refused.ts': inEngine('refused', 'orders', 'resume'),
  'src/engine/orders/confirm.ts': inEngine('confirming', 'orders', 'watch'),
  'src/engine/orders/resolution.ts': inEngine('order-parts', 'refused-but-placed', 'orders', 'resume', 'unread-rows'),
  'src/engine/deadman/heartbeat.ts': inEngine('heartbeat', 'run-end', 'passed-rounds', 'clock-adjusted', 'resume'),
  'src/engine/steps/interpreter.ts': inEngine('orders', 'limits', 'resume', 'withdrawal', 'run-end'),
  'src/engine/playback/playback.ts': inEngine('playback', 'passed-rounds', 'resume', 'clock-adjusted', 'gateway-crash'),
  'src/engine/run.ts': inEngine(
    'run-end',
    'orders',
    'resume',
    'settling',
    'withdrawal',
    'completion',
    'clock-adjusted',
    'heartbeat',
  ),
  'src/gateway/client.ts': [
    'test/gateway/client',
    'test/gateway/exchange',
    'test/gateway/declared-call',
    ...inEngine('orders', 'resume', 'refused-but-placed'),
  ],
  'src/gateway/exchange.ts': ['test/gateway/exchange', 'test/gateway/client', ...inEngine('orders', 'resume')],
  'src/gateway/send-checks.ts': [
    'test/gateway/send-checks',
    'test/gateway/client',
    'test/gateway/exchange',
    ...inEngine('orders', 'denials', 'limits'),
  ],
  'src/gateway/live/session.ts': ['test/gateway/session'],
  'src/gateway/limits/facts.ts': [
    'test/gateway/limit-facts',
    'test/gateway/account-ledger',
    'test/gateway/deadman-facts',
    'test/engine/limits',
  ],
  'src/journal/repeated-rows.ts': ['test/journal/repeated-rows'],
  'src/journal/chain.ts': [
    'test/journal/chain',
    'test/journal/repeated-rows',
    'test/journal/reading',
    'test/journal/writer',
    'test/journal/golden-journals',
  ],
  'src/journal/writer.ts': [
    'test/journal/writer',
    'test/journal/idle-rounds',
    'test/journal/held-lines',
    'test/journal/account-guard',
  ],
};

/** These judge what the first left of a file that misses the goal: tests in process, of rooms that use the core, and worlds. */
export const OTHERS = ['test/venue', 'test/journal', 'test/gateway', 'test/engine', 'test/simulation/each-seed'];

/** Of these: what is slow, or far from the core. */
export const LEFT_OUT =
  /\/(scheduler|decide|determinism|pace|sweep|chart|archive|anchors|newest-anchors|postgres|sqlite|har|webhook)/;

/**
 * Mutators that are left out. The compiler refuses nearly every other text where a text is a code or the name of a state, and
 * what remains are messages, whose text no test holds.
 */
export const EXCLUDED = ['StringLiteral'];
