/** The third part of the code table: what is provably wrong in a runbook of the right shape, or probably a mistake. */
import { type CodeRow, error, warning } from './row.ts';

export const MEANING_CODES = {
  'constant-condition': error({
    summary: 'a condition that always has the same value',
    cause: 'It reads no input, feed or step, so it decides nothing.',
    example: 'if: 1 < 2',
    fix: 'Remove the condition, or the step.',
  }),
  'unreachable-step': error({
    summary: 'a step that is never reached',
    cause: 'The step before it ends the run.',
    example: '- stop: {outcome: done}\n- read_account: {}',
    fix: 'Remove it, or add an `if` to the step before it.',
  }),
  'size-not-positive': error({
    summary: 'a size of zero or less',
    cause: 'The venue refuses it; `side` gives the direction.',
    example: 'size: -1',
    fix: 'Use a size above zero.',
  }),
  'price-not-positive': error({
    summary: 'a price of zero or less',
    cause: 'The venue refuses it.',
    example: 'price: 0',
    fix: 'Use a price above zero.',
  }),
  'order-over-limit': error({
    summary: 'an order larger than the runbook’s own limits',
    cause: 'It would be denied every time.',
    example: 'limits: {max_order_size: 1}\nsteps: [{place: {size: 2, …}}]',
    fix: 'Lower the order, or raise the limit.',
  }),
  'price-outside-band': error({
    summary: 'a price outside limits.price_band',
    cause: 'It would be denied every time.',
    example: 'limits: {price_band: {around: 100, within: 3%}}\nsteps: [{place: {price: 110, …}}]',
    fix: 'Correct the price, or the band.',
  }),
  'market-not-allowed': error({
    summary: 'a market that is not in limits.markets',
    cause: 'It would be denied every time.',
    example: 'limits: {markets: [BTC-USD]}\nsteps: [{place: {market: ETH-USD, …}}]',
    fix: 'Add the market to the limits, or correct it.',
  }),
  'side-not-allowed': error({
    summary: 'a side that is not in limits.sides',
    cause: 'It would be denied every time.',
    example: 'limits: {sides: [long]}\nsteps: [{place: {side: short, …}}]',
    fix: 'Add the side to the limits, or correct it.',
  }),
  'write-under-halted': error({
    summary: 'an order in a runbook whose limits are halted',
    cause: '`mode: halted` allows cancels only.',
    example: 'limits: {mode: halted}\nsteps: [{place: …}]',
    fix: 'Use `mode: reducing` or `active`, or remove the step.',
  }),
  'leverage-out-of-range': error({
    summary: 'a leverage that is not a whole number from 1 to 20',
    cause: 'The venue accepts no other value (Account operations).',
    example: 'leverage: 50',
    fix: 'Use a whole number from 1 to 20.',
  }),
  'leverage-over-limit': error({
    summary: 'a leverage above limits.max_leverage',
    cause: 'It would be denied every time.',
    example: 'limits: {max_leverage: 3}\nsteps: [{set_leverage: {leverage: 5, …}}]',
    fix: 'Lower it, or raise the limit.',
  }),
  'fraction-out-of-range': error({
    summary: 'a fraction of a position that is 0 or less, or more than 1',
    cause:
      '`protect` and `manage` take a fraction (0.5 for half), not a size in the base currency and not a percentage. The stop-loss of `manage` holds the whole position.',
    example: 'fraction: 50',
    fix: 'Use a number above 0, at most 1.',
  }),
  'ratio-out-of-range': error({
    summary: 'a distance of `manage` that is no ratio',
    cause:
      'The distances of `trail`, `break_even` and `escalate` are ratios of a price: 0.01 for one per cent, not 1 and not a price.',
    example: 'trail: {by: 1.5, step: 0.001}',
    fix: 'Write the ratio, or the unit: `1.5%`, `20bps`.',
  }),
  'manage-without-end': warning({
    summary: 'a `manage` that nothing ends but its orders',
    cause:
      'While the market reaches neither side it holds the position, and reads it, for ever: the plan has no bound. A stop that the market has gapped through rests as long.',
    example: 'manage: {stop_loss: {…}, take_profit: {…}}',
    fix: 'Give it a `time_limit`, which closes the position by market orders, or the step a `timeout`.',
  }),
  'manage-without-price': error({
    summary: 'a `manage` that follows a price and has none',
    cause:
      '`trail` and `break_even` compare the price of the market with that of the stop. Where the runbook has exactly one price feed it is that one; else nothing says which it is.',
    example: 'feeds: {}\nsteps: [{manage: {break_even: {after: 0.01, offset: 0}, …}}]',
    fix: 'Declare a price feed, or name it: `feed: feeds.mid`.',
  }),
  'stop-reversed': warning({
    summary: 'stop prices on the wrong side of each other, or of the entry that they protect',
    cause:
      'A long position is closed by a short order, and its stop-loss lies below and its take-profit above; for a short position it is the other way round. The check uses the default values of the inputs.',
    example: 'protect: {side: short, stop_loss: {trigger: price * 1.02, …}, take_profit: {trigger: price * 0.98, …}}',
    fix: 'First look at `side`: it is that of the closing order, short for a long position. If it is right, swap the prices, or correct the sign of the distance.',
  }),
  'price-beyond-feed': warning({
    summary: 'a price on the wrong side of the feed that it is computed from',
    cause:
      'A market order buys at its price or below and sells at its price or above: with a bound that the market is beyond it fills nothing. A stop whose trigger the market has passed triggers at once. The check uses the default values of the inputs.',
    example: 'place: {type: market, side: long, price: tick(feeds.mid * 0.99), …}',
    fix: 'Correct the sign of the distance: a buy is bounded above the market, and a stop that sells triggers below it.',
  }),
  'stop-room': warning({
    summary: 'the limit of a stop closer to its trigger than `stop.room` of the profile, 1 % by default',
    cause:
      'A stop that has triggered is a limit order. Where the market jumps beyond its limit it rests unfilled, and the position stays open. The check uses the default values of the inputs.',
    example: 'protect: {side: short, stop_loss: {fraction: 1, trigger: p * 0.98, price: p * 0.976}}',
    fix: 'Move the limit further from the trigger, or set `stop: {room: …}` in the profile.',
  }),
  'rows-out-of-range': error({
    summary: 'a number of rows outside 1 to 1000, or a page below 0',
    cause: 'The venue returns at most 1000 rows (Limits).',
    example: 'list_fills: {limit: 5000}',
    fix: 'Use 1 to 1000, and `all_pages: true` for more.',
  }),
  'resend-not-safe': error({
    summary: '`on_ambiguous: resend` on an order that must not be sent twice',
    cause: 'A second copy of an order that takes liquidity, or that triggers on its own, opens a second position.',
    example: 'place: {type: market, on_ambiguous: resend, …}',
    fix: 'Keep `halt`; `resend` is only for good-till-cancel and post-only limit orders.',
  }),
  'retry-without-resend': error({
    summary: 'a retry of `not_placed` that would send an order again which is not to be sent twice',
    cause:
      'Its first request had no answer. That it is not at the venue is proven; sending it again is a decision of its own.',
    example: 'place: {type: limit, …}\nretry: {on: [not_placed], max: 2}',
    fix: 'Add `on_ambiguous: resend` to the order, or do something else in `catch: [{on: [not_placed], do: […]}]`.',
  }),
  'risk-in-cleanup': error({
    summary: 'a step that can add risk in `finally` or `undo`',
    cause: 'Cleanup runs when the state may be unknown, so it may only reduce risk.',
    example: 'finally: [{place: {type: limit, …}}]',
    fix: 'Move the step, or write `allow: reduce` on an order that only closes.',
  }),
  'protect-under-deadman': error({
    summary: 'protective orders placed while a deadman switch stays armed',
    cause: 'When it fires it cancels them too, and leaves the position without a stop (Deadman switch, rule 2).',
    example: 'deadman: {…}\nsteps: [{protect: …}]',
    fix: 'Add `release_after:` with the id of the protecting step to the deadman block.',
  }),
  'deadman-beside-block': warning({
    summary: 'a step that arms or disarms the deadman switch beside a `deadman` block',
    cause: 'The block keeps the switch as it declares: the next heartbeat arms it again with its own timeout.',
    example: 'deadman: {…}\nsteps: [{disarm_deadman: {market: BTC-USD}}]',
    fix: 'End the block with `release_after`, or leave the block out and arm the switch by steps.',
  }),
  'deadman-unattended': error({
    summary: 'a wait longer than the deadman timeout while nothing keeps the switch alive',
    cause: 'The switch fires during the wait and cancels every order of the account.',
    example: 'deadman: {timeout: 30s, keep_alive: 0s, …}\nsteps: [{wait: 5m}]',
    fix: 'Keep the keep-alive on, shorten the wait, or disarm the switch before it.',
  }),
  'deadman-keep-alive': error({
    summary: 'keep-alives that come too late',
    cause: 'The time between two keep-alives is not shorter than the timeout, so the switch fires first.',
    example: 'deadman: {timeout: 30s, keep_alive: 45s, …}',
    fix: 'Use a quarter of the timeout, which is the default.',
  }),
  'deadman-timeout': error({
    summary: 'a deadman timeout below 1 ms',
    cause: 'The venue’s smallest is 1 millisecond (Deadman switch, rule 3).',
    example: 'deadman: {timeout: 0s, …}',
    fix: 'Use about 60s.',
  }),
  'token-rate': error({
    summary: 'more requests in a minute than the venue allows',
    cause: 'The worst case of a loop or wait needs more tokens than the account has.',
    example: 'repeat: {every: 100ms, for: 1h, do: [{read_account: {}}]}',
    fix: 'Use a longer `every`, or read less in the loop.',
  }),
  'deadman-timeout-short': warning({
    summary: 'a deadman timeout under 5 s',
    cause: 'One slow response cancels every order. A live run refuses it.',
    example: 'deadman: {timeout: 1s, …}',
    fix: 'Use 20s to 60s.',
  }),
  'token-rate-high': warning({
    summary: 'more than half of the tokens available in a minute',
    cause: 'Little is left for cancels, for other runs and for other programs on the same address.',
    example: 'repeat: {every: 1s, for: 1h, do: [{read_account: {}}]}',
    fix: 'Use a longer `every`, or read less in the loop.',
  }),
  'market-order-without-price': warning({
    summary: 'a market order without a price',
    cause: 'The venue document does not say whether the price may be absent; a price also bounds the worst fill.',
    example: 'place: {type: market, market: BTC-USD, side: long, size: 1}',
    fix: 'Give the worst acceptable price.',
  }),
  'slip-outside-band': warning({
    summary: 'a market exit that may go further than limits.price_band',
    cause: 'Each of its orders has the worst acceptable price, which the band denies: the position stays open.',
    example: 'limits: {price_band: {around: feeds.mid, within: 1%}}\nsteps: [{close: {market: BTC-USD, slip: 5%}}]',
    fix: 'Widen the band, or lower `slip`, which is 1% where nothing is written.',
  }),
  'market-order-may-rest': warning({
    summary: 'a market order that may rest in the book',
    cause: 'With this time in force the part that does not fill at once stays in the book.',
    example: 'place: {type: market, tif: good_till_cancel, …}',
    fix: 'Leave `tif` out: immediate_or_cancel is the default.',
  }),
  'stale-after-place': error({
    summary: 'a field of an order that may have changed since it was placed',
    cause:
      'A `place` or `protect` that ends when the order is live or accepted yields the order as it was then. `filled`, `remaining`, `avg_price`, `status` and `terminal` may have changed, and after `await: accepted` also `open`. `open` of a live order may be read, but it does not decide on a `stop`, a `fail` or an order. `position(market)` and the other functions over fills have changed too, also by an order without an id and by one of an earlier round.',
    example: '- id: entry\n  place: …\n- if: entry.filled == 0\n  stop: …',
    fix: 'Use the order before it is read: `refresh`, `wait_for`, `amend` or `cancel`; or place it with `await: any_fill` or `terminal`.',
  }),
  'stale-after-cancel': error({
    summary: 'a field of an order that may have changed since its cancel was accepted',
    cause: 'With `await: accepted` the order may still work, and fill, when the `cancel` ends.',
    example: '- cancel: entry\n  await: accepted\n- if: entry.filled == 0\n  stop: …',
    fix: 'Leave `await: accepted` out: a cancel is done when the order has ended and its fills are read. Or use `refresh` or `wait_for` before the order is read.',
  }),
  'leaves-violated': error({
    summary: 'a path on which more is left than `leaves` says',
    cause:
      'An order may have filled on it, in part or whole, also after a time-out and while a cancel was on its way, and no working stop of the run covers it. The run would fail with kind `unprotected_position`. The message names the path.',
    example: 'on_timeout: [{cancel: entry}, {stop: {outcome: expired}}]',
    fix: 'Protect or close what may have filled, or ask first: `if: entry.filled == 0`. Under `leaves: {position: none}` close it: `close: MARKET` as the last step. If it is meant: `leaves: {position: open, because: …}`.',
  }),
  'leaves-unproven': warning({
    summary: 'a path on which only the run knows whether `leaves` holds',
    cause:
      'It depends on values, rounds, branches or a called runbook that only the run knows. The run is held to it in any case.',
    example: '- if: done > 0\n  protect: {…}',
    fix: 'Ask the order itself, such as `entry.filled == 0`; the run, as in `if: position(MARKET) != 0`; a variable that only adds what orders filled; or a whole list of fills: `net_size(mine.fills) == 0`. Or leave it to the run.',
  }),
  'quotient-not-rounded': warning({
    summary: 'a price or size that comes of a division and is not rounded',
    cause:
      'A third of a size has sixty digits. What is not a multiple of the lot or tick of the market is denied, often when a position is there already.',
    example: 'place: {size: entry.filled / 3, …}',
    fix: 'Round it: `lot(entry.filled / 3)`, `tick(…)`, or `floor_to(…, step)` where the profile does not describe the market.',
  }),
  'product-not-rounded': warning({
    summary: 'a price or size that comes of a product and is not rounded',
    cause:
      'A price times 1.001 is hardly ever a multiple of the tick, nor a size times a share one of the lot. What is none is denied (`PRICE_OFF_TICK`, `SIZE_OFF_LOT`). A product with a whole number is not reported.',
    example: 'place: {price: feeds.ask * 1.001, …}',
    fix: 'Round it: `tick(feeds.ask * 1.001)`, `lot(…)`, or `floor_to(…, step)` where the profile does not describe the market.',
  }),
  'exit-may-open': warning({
    summary: 'a resting order that closes beside a stop-loss, and can open',
    cause:
      'Both can fill. The stop closes the position, the order is still there, and what it fills then is a position on the other side, which no stop covers.',
    example:
      '- protect: {side: short, stop_loss: …}\n- place: {type: limit, side: short, size: lot(entry.filled / 3), price: …}',
    fix: 'Use a take-profit of `protect` or `manage`: it is for a fraction of the position and only closes.',
  }),
  'parallel-closes': warning({
    summary: 'steps in two branches of a `parallel` that both close the position in one market',
    cause:
      'Each takes the position for its own. `close` and the exit of `manage` take turns; a `place` with `allow: reduce` does not, and both together may open the opposite position.',
    example: 'parallel: {branches: {a: [{close: BTC-USD}], b: [{close: BTC-USD}]}}',
    fix: 'Close the position in one branch, or after the `parallel`.',
  }),
  'protect-before-fill': warning({
    summary: 'protection placed before any fill is known',
    cause: 'Without a position the venue may reject it, and its size is a fraction of the position at that time.',
    example: '- place: …\n- protect: …',
    fix: 'Wait first: `wait_for: {order: …, is: any_fill, within: …}`.',
  }),
  'amend-uncaught': warning({
    summary: 'an amend after whose failure nothing looks after what its order has filled',
    cause:
      'An order may fill while its amend is on the way, which fails with `not_found` then, or with `rejected`. The run fails with it, and the steps that would have protected the position are not reached.',
    example: '- amend: {order: entry, price: feeds.bid}\n- cancel: entry\n- protect: …',
    fix: 'Go on after it: `catch: [{on: [not_found, rejected], then: continue}]`. Or close what has filled in `on_error`.',
  }),
  'read-without-since': warning({
    summary: 'a listing without `since`',
    cause: 'The venue reads the whole history, which is up to ten times slower.',
    example: 'list_fills: {market: BTC-USD}',
    fix: 'Add `since:`, such as now - days(7).',
  }),
  'unused-input': warning({
    summary: 'an input that nothing reads',
    cause:
      'A person who gives it expects an effect, such as no orders for `dry=true`, and the run is the same. It is no longer needed, or a use of it is misspelt.',
    example: 'inputs: {dry: {type: boolean, default: false}}',
    fix: 'Remove it, or use it.',
  }),
  'feed-without-market': warning({
    summary: 'a price of one market, and nothing says of which',
    cause:
      'It is the price of the only market under `limits.markets`, else of the only input of type market, else of the deadman switch. Without one the step that reads it fails, often when a position is there already.',
    example:
      'feeds: {mid: {type: price, max_age: 5s}}\nsteps:\n  - place: {market: BTC-USD, price: tick(feeds.mid), …}',
    fix: 'Write one market under `limits.markets`, or declare the feed as `map<price>` and read `feeds.mid[MARKET]`.',
  }),
  'percent-as-number': warning({
    summary: 'an input of type pct or bps is compared with a number above 1',
    cause:
      'Such an input is a ratio, 0.02 for 2%, so that the comparison with 2 is one with 200% and has always one result.',
    example: 'inputs: {risk: {type: pct}}\nsteps:\n  - assert: inputs.risk < 2',
    fix: 'Write `pct(2)` or `bps(20)`; or, where 200% is meant, give the input `max: 200%`.',
  }),
  'unused-feed': warning({
    summary: 'a feed that nothing reads',
    cause: 'It is no longer needed, or a use of it is misspelt.',
    example: 'feeds: {mid: {type: price, max_age: 3s}}',
    fix: 'Remove it, or use it.',
  }),
  'unused-name': warning({
    summary: 'a let, def or variable that nothing reads',
    cause: 'It is no longer needed, or a use of it is misspelt.',
    example: 'let: {x: 1}',
    fix: 'Remove it, or use it.',
  }),
} as const satisfies Record<string, CodeRow>;
