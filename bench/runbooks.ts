/** Writes the runbooks that are measured, for any size. All of them pass the checks without a warning. */

/** A line of calls, each a read of the account. */
export function writeLine(steps: number): string {
  return `runbook: line\ndsl: 1\nsteps:\n${'  - read_account: {}\n'.repeat(steps)}`;
}

/** One call, repeated. */
export function writeLoop(iterations: number): string {
  return `runbook: loop\ndsl: 1\nsteps:\n  - repeat:\n      max: ${iterations}\n      do:\n        - read_account: {}\n`;
}

/** One condition, repeated. */
export function writeConditions(iterations: number): string {
  return `runbook: conditions
dsl: 1
vars:
  n: {type: number, init: 0}
steps:
  - repeat:
      max: ${iterations}
      do:
        - assert: n < 1
`;
}

/** One condition in each of `width` parallel branches. */
export function writeConditionBranches(width: number): string {
  return `runbook: condition-branches
dsl: 1
steps:
  - parallel:
      each: n
      in: range(${width})
      max: ${width}
      on_fail: let_others_finish
      do:
        - assert: n >= 0
`;
}

/** One call in each of `width` parallel branches. */
export function writeBranches(width: number): string {
  return `runbook: branches
dsl: 1
steps:
  - parallel:
      each: n
      in: range(${width})
      max: ${width}
      on_fail: let_others_finish
      do:
        - read_account: {}
`;
}

/** `count` waits of one second, with a check of the time after each. */
export function writePolls(count: number): string {
  return `runbook: polls
dsl: 1
steps:
  - repeat:
      every: 1s
      max: ${count}
      do:
        - assert: now >= run.started_at
`;
}

/** `count` rounds of a reading that finds nothing. */
export function writeWatch(count: number, every = '1s'): string {
  return `runbook: watch
dsl: 1
steps:
  - repeat:
      every: ${every}
      max: ${count}
      do:
        - id: mine
          list_orders: {market: BTC-USD, status: open, since: run.started_at}
        - if: size(mine.orders) > 0
          stop: {outcome: found}
`;
}

/** A loop that polls a moving price and counts its rounds. */
export function writeCountingWatch(count: number): string {
  return `runbook: counting-watch
dsl: 1
limits: {markets: [BTC-USD]}
feeds: {mid: {type: price, max_age: 500ms}}
vars:
  seen: {type: integer, init: 0}
  high: {type: price, init: 0}
steps:
  - repeat:
      every: 1s
      max: ${count}
      do:
        - set: {seen: seen + 1, high: "max(high, feeds.mid)"}
        - if: feeds.mid < 1
          stop: {outcome: fell}
`;
}

/** The watch while an order rests under a deadman switch; `size`: what of it rests, base currency. */
export function writeArmedWatch(count: number, { every = '1s', timeout = '60s', size = '0.001' } = {}): string {
  return `runbook: armed-watch
dsl: 1
leaves: {position: open, because: only its journal is measured}
deadman: {market: BTC-USD, timeout: ${timeout}, on_exit: disarm}
steps:
  - place: {type: limit, market: BTC-USD, side: long, size: ${size}, price: 1000, tif: post_only}
  - repeat:
      every: ${every}
      max: ${count}
      do:
        - id: mine
          list_orders: {market: BTC-USD, status: open, since: run.started_at}
        - if: size(mine.orders) > 1
          stop: {outcome: found}
`;
}

/** `count` orders one after another, of which half is filled and half cancelled. */
export function writeManyOrders(count: number): string {
  return `runbook: many-orders
dsl: 1
leaves: {position: open, because: only its time is measured}
limits: {max_open_orders: 10}
steps:
  - repeat:
      every: 4s
      max: ${count / 4}
      do:
        - place: {type: market, market: BTC-USD, side: long, size: 0.001}
        - place: {type: market, market: BTC-USD, side: short, size: 0.001}
        - id: first
          place: {type: limit, market: BTC-USD, side: long, size: 0.001, price: 1000, tif: post_only}
        - cancel: first
        - id: second
          place: {type: limit, market: BTC-USD, side: long, size: 0.001, price: 1001, tif: post_only}
        - cancel: second
`;
}

const BUSY = `dsl: 1
leaves: {position: open, because: only its time is measured}
deadman: {market: BTC-USD, timeout: 20s, on_exit: disarm}
`;
const QUOTE = 'place: {type: limit, market: BTC-USD, side: long, size: 0.001, price: 1000, tif: post_only}';
const READING = 'list_orders: {market: BTC-USD, status: open, since: run.started_at}';

/** `count` rounds of 5 s under a switch, each of which reads and amends the order that rests. */
export function writeAmendingRounds(count: number): string {
  return `runbook: amending-rounds
${BUSY}vars: {up: {type: boolean, init: true}}
steps:
  - id: quote
    ${QUOTE}
  - repeat:
      every: 5s
      max: ${count}
      do:
        - ${READING}
        - amend: {order: quote, price: "up ? 1001 : 1000"}
        - set: {up: "!up"}
  - cancel: quote
`;
}

/** The same of rounds each of which places an order, reads, and cancels it. */
export function writePlacingRounds(count: number): string {
  return writeQuoteRounds('placing-rounds', count, '');
}

/** The same of rounds each of which amends its order as well. */
export function writeBusyRounds(count: number): string {
  return writeQuoteRounds('busy-rounds', count, '        - amend: {order: quote, price: 1001}\n');
}

function writeQuoteRounds(name: string, count: number, amend: string): string {
  return `runbook: ${name}
${BUSY}steps:
  - repeat:
      every: 5s
      max: ${count}
      do:
        - id: quote
          ${QUOTE}
        - ${READING}
${amend}        - cancel: quote
`;
}

/** Rounds of 5 s that buy, read the newest hundred fills, and sell. */
export function writeFillingRounds(count: number): string {
  const place = (side: string, price: number) =>
    `place: {type: limit, market: BTC-USD, side: ${side}, size: 0.001, price: ${price}}`;
  return `runbook: filling-rounds
${BUSY}steps:
  - repeat:
      every: 5s
      max: ${count}
      do:
        - ${place('long', 70_000)}
        - list_fills: {market: BTC-USD, since: run.started_at}
        - ${place('short', 60_000)}
`;
}

/** A line of writes; each is durable before its first byte is sent. */
export function writeWrites(count: number, every?: string): string {
  return `runbook: writes
dsl: 1
steps:
  - repeat:
${every === undefined ? '' : `      every: ${every}\n`}      max: ${count}
      do:
        - set_leverage: {market: BTC-USD, leverage: 3}
`;
}

/** `count` orders that stay open far below the market, and then a wait. */
export function writeRestingOrders(count: number): string {
  return `runbook: resting
dsl: 1
leaves: {position: open, because: only its time is measured}
steps:
  - repeat:
      max: ${count}
      do:
        - place: {type: limit, market: BTC-USD, side: long, size: 0.001, price: 1000, tif: post_only}
  - wait: {for: 1h}
`;
}

/** A schedule of ten slots in several time zones; `n` makes its times differ from those of other schedules. */
export function writeSchedule(n: number): string {
  const zones = ['Europe/Berlin', 'America/New_York', 'Asia/Tokyo', 'UTC', 'Australia/Sydney'];
  const slots = Array.from(
    { length: 10 },
    (_, slot) =>
      `  - {cron: "${(n * 7 + slot * 11) % 60} ${(n + slot) % 24} * * ${(n % 5) + 1}", tz: ${zones[slot % 5]}}\n`,
  );
  return `runbook: scheduled-${n}\ndsl: 1\nschedule:\n${slots.join('')}steps:\n  - read_account: {}\n`;
}

const MIXTURE = [
  (n: number) => `  - id: account_${n}\n    read_account: {}\n`,
  (n: number) =>
    `  - assert: account_${n}.account_equity * 3 > inputs.size * inputs.price\n    because: the notional stays under three times the equity\n`,
  (n: number) => `  - let:\n      limit_${n}: tick(inputs.price * (1 - bps(${(n % 40) + 1})), 'BTC-USD')\n`,
  (n: number) =>
    `  - if: account_${n}.withdrawable_balance > 0\n    notify: {to: ops, text: "level ${n}: \${limit_${n}} for \${account_${n}.account_equity}"}\n`,
  (n: number) =>
    `  - list_fills: {market: BTC-USD, since: run.started_at}\n    retry: {on: [transport], max: ${(n % 3) + 1}, first: 250ms}\n`,
];

/** A typical runbook: reads, checks, values, messages and lists, a fifth of each. */
export function writeMixture(steps: number): string {
  const head = `runbook: mixture
dsl: 1
inputs:
  size:  {type: size, default: 0.25}
  price: {type: price, default: 64200}
steps:
`;
  const lines = Array.from({ length: steps }, (_, index) => MIXTURE[index % 5]?.(Math.floor(index / 5)) ?? '');
  return head + lines.join('');
}

/** A variable that is turned round and round: no round does what the one before it did, so that each keeps its entries. */
export function writeCounter(rounds: number): string {
  return `runbook: counter
dsl: 1
vars:
  odd: {type: boolean, init: false}
steps:
  - repeat:
      max: ${rounds}
      do:
        - set: {odd: "!odd"}
`;
}
