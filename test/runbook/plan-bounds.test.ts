/** Tests the bounds of a plan on small runbooks: exact figures, the paths that attain them, sections, and the hash. */
import { describe, expect, it } from 'vitest';
import { Decimal } from '../../src/base/decimal.ts';
import { checkRunbook } from '../../src/runbook/check.ts';
import { type Plan, planRun } from '../../src/runbook/plan/plan.ts';
import type { PlanContext } from '../../src/runbook/plan/scope.ts';
import { Duration, type Value } from '../../src/runbook/values.ts';
import { makePlanContext } from './plan-context.ts';

function plan(text: string, inputs: Readonly<Record<string, Value>> = {}, context: Partial<PlanContext> = {}): Plan {
  const { runbook, diagnostics } = checkRunbook(
    { file: 'case.yaml', text: `runbook: case\ndsl: 1\n${text}\nleaves: {position: open, because: a case}\n` },
    () => undefined,
  );
  if (runbook === undefined) throw new Error(diagnostics.map(({ message }) => message).join('\n'));
  return planRun(
    makePlanContext(runbook, { inputs, market: () => ({ tick: '1', lot: '0.01' }), markets: ['BTC-USD'], ...context }),
  );
}

const terms = '{type: limit, market: BTC-USD, side: long, size: 2, price: 100}';
const ORDER = `place: ${terms}, allow: reduce`;

/** The most orders and their notional. */
function most({ bounds }: Plan) {
  return { orders: bounds.orders.max, notional: bounds.notional.max };
}

describe('the bounds of a plan', () => {
  it('are the sum of the steps that run once', () => {
    const { bounds, pathTokensPerMinute } = plan(`steps: [{read_account: {}}, {place: ${terms}, await: accepted}]`);
    expect(bounds.orders).toEqual({ min: 1, max: 1 });
    expect(bounds.notional).toEqual({ min: '200', max: '200' });
    expect(bounds.exposure).toEqual({ 'BTC-USD': { min: '0', max: '200' } });
    expect(bounds.requests['GET /account']?.min).toBe(1);
    // The order, the account, and the two readings with which a live run begins.
    expect(pathTokensPerMinute).toBe(1 + 20 + 2 * 10);
  });

  it('count no round of a loop whose time is over before it begins', () => {
    const loop = `repeat: {for: "inputs.t - seconds(10)", every: 1s, do: [{${ORDER}}]}`;
    const text = `inputs: {t: {type: duration}}\nsteps: [{${loop}}, {${ORDER}}]`;
    const bounds = (s: number) => most(plan(text, { t: new Duration(s * 1000) }));
    expect([0, 10, 12].map(bounds)).toEqual([
      { orders: 1, notional: '200' },
      { orders: 1, notional: '200' },
      { orders: 3, notional: '600' },
    ]);
  });

  it('bound what an order was filled with by its size and price, and what is computed from that', () => {
    const entry = `id: entry, ${ORDER}`;
    const exit = (size: string, price: string) =>
      plan(
        `vars: {left: {type: size, init: 1}}\nsteps: [{${entry}}, {refresh: entry}, {place: {type: limit, market: BTC-USD, side: short, size: "${size}", price: "${price}"}, allow: reduce}]`,
      ).bounds.notional.max;
    expect(exit('entry.filled', '100')).toBe('400');
    // Bought at 100 or below, and sold at most half a tick above that, less 3 %.
    expect(exit('entry.filled', 'tick(entry.avg_price.orValue(100) * (1 - pct(3)))')).toBe('395');
    expect(exit('min(entry.filled, 1.5)', '100')).toBe('350');
    expect(exit('lot(entry.remaining / 2)', '100')).toBe('300');
    expect(exit('entry.filled > 1 ? entry.filled : 5', '100')).toBe('700');
    expect(exit('2 - entry.filled', '100')).toBe('400');
    expect(exit('floor_to(entry.filled * 0.9, 0.5)', '100')).toBe('350');
    expect(exit('max(entry.filled, 3)', '100')).toBe('500');
    expect(exit('entry.filled * (entry.filled / (entry.filled + 2))', '100')).toBe('400');
    expect(exit('entry.filled * (entry.initial_size / entry.filled)', '100')).toBeUndefined();
  });

  it('bound no order by terms that an amend may change, nor by a variable', () => {
    const amended = `steps: [{id: entry, ${ORDER}}, {amend: {order: entry, size: 7, price: 100}}, {place: {type: limit, market: BTC-USD, side: short, size: entry.filled, price: 100}, allow: reduce}]`;
    expect(plan(amended).bounds.notional.max).toBeUndefined();
    const changed = `vars: {left: {type: size, init: 1}}\nsteps: [{repeat: {max: 3, every: 1s, do: [{set: {left: left * 2}}]}}, {place: {type: limit, market: BTC-USD, side: long, size: left, price: 100}, allow: reduce}]`;
    expect(plan(changed).bounds.notional.max).toBeUndefined();
    expect(plan(`limits: {max_order_size: 3}\n${changed}`).bounds.notional.max).toBe('300');
  });

  it('spread steps that run once over several minutes when they need more than one', () => {
    const { bounds } = plan('steps: [{for_each: {each: k, in: range(500), do: [{read_account: {}}]}}]');
    expect(bounds.requests['GET /account']?.min).toBe(500);
    expect(bounds.tokensPerMinute.max).toBe(1200);
  });

  it('count rounds by the bound that is reached first', () => {
    const loop = (bound: string) => most(plan(`steps: [{repeat: {${bound}, do: [{${ORDER}}]}}]`));
    expect(loop('every: 1m, for: 1h')).toEqual({ orders: 60, notional: '12000' });
    expect(loop('every: 1m, for: 1h, max: 7')).toEqual({ orders: 7, notional: '1400' });
    expect(loop('max: 7')).toEqual({ orders: 7, notional: '1400' });
  });

  it('count a pause in the body as a pause of the loop, as far as it is certain', () => {
    const loop = (wait: string) =>
      plan(`steps: [{repeat: {for: 1h, do: [{set_leverage: {market: BTC-USD, leverage: 2}}, {${wait}}]}}]`).bounds
        .requests['PUT /account/leverage']?.max;
    const paced = loop('wait: 10s');
    expect(paced).toBeGreaterThan(0);
    expect(loop('wait: 10s, timeout: 5s')).toBe(2 * (paced ?? 0));
    expect(loop('wait: 10s, catch: [{on: any, then: continue}]')).toBeUndefined();
  });

  it('count the pause of the shortest branch where the first to end ends the others', () => {
    const rounds = (join: string) =>
      most(
        plan(
          `steps: [{repeat: {for: 1m, do: [{${ORDER}, await: accepted}, {parallel: {join: ${join}, branches: {a: [{wait: 10s}], b: [{wait: 30s}]}}}, {wait: 5s}]}}]`,
        ),
      ).orders;
    expect(rounds('all')).toBe(2);
    expect(rounds('any')).toBe(4);
  });

  it('do not take attempts that fail for the time of a round', () => {
    const { bounds } = plan(
      `steps: [{repeat: {for: 5s, every: 2s, do: [{${ORDER}, retry: {on: [rate_limited], max: 9}}]}}]`,
    );
    expect(bounds.orders.max).toBe(3);
  });

  it('have no end over a list of unknown length, unless the limits give one', () => {
    const steps = `inputs: {markets: {type: list<market>}}\nsteps: [{for_each: {each: m, in: inputs.markets, do: [{${ORDER.replace('BTC-USD', '"${m}"')}}]}}]`;
    const open = { inputs: undefined };
    expect(most(plan(steps, {}, open))).toEqual({ orders: undefined, notional: undefined });
    expect(plan(`limits: {max_writes: 5}\n${steps}`, {}, open).bounds.orders.max).toBe(5);
    expect(most(plan(steps, { markets: ['BTC-USD', 'ETH-USD', 'SOL-USD'] }))).toEqual({ orders: 3, notional: '600' });
  });

  it('follow the length of a collected list', () => {
    const text = `inputs: {n: {type: integer}}
steps:
  - id: rungs
    for_each: {each: k, in: range(inputs.n), do: [{id: o, ${ORDER}}], collect: {o: o}}
  - for_each: {each: r, in: 'rungs.filter(r, r.o.open)', do: [{${ORDER}}]}`;
    expect(plan(text, { n: new Decimal(4) }).bounds.orders).toMatchObject({ min: 4, max: 8 });
  });

  it('take the most expensive case of a switch and all branches of a parallel block', () => {
    const cases = `feeds: {mid: {type: price, max_age: 5s}}\nsteps: [{switch: [{when: feeds.mid > 100, do: [{${ORDER}}, {${ORDER}}]}, {else: [{${ORDER}}]}]}]`;
    expect(plan(cases).bounds.orders).toMatchObject({ min: 1, max: 2 });
    expect(
      plan(`steps: [{parallel: {branches: {a: [{${ORDER}}], b: [{${ORDER}}, {read_account: {}}]}}}]`).bounds.orders,
    ).toMatchObject({ min: 2, max: 2 });
  });

  it('take the more expensive block of an if, and know what its steps placed', () => {
    const blocks = (condition: string) => `inputs: {on: {type: boolean, default: true}}
feeds: {mid: {type: price, max_age: 5s}}
steps:
  - if: ${condition}
    do: [{id: o, ${ORDER}}, {${ORDER}}]
    else: [{id: p, ${ORDER}}]
  - if: o.hasValue()
    place: ${terms.replace('size: 2', 'size: o.initial_size')}
    allow: reduce
  - if: p.hasValue()
    ${ORDER.replace(', allow', '\n    allow')}`;
    expect(plan(blocks('feeds.mid > 100')).bounds.orders).toMatchObject({ min: 1, max: 4 });
    expect(plan(blocks('inputs.on'), { on: true }).bounds).toMatchObject({
      orders: { min: 3, max: 3 },
      notional: { max: '600' },
    });
  });

  it('touch no more orders of a list than the run has placed, unless it may hold those of others', () => {
    const kept = (cancel: string, more = '') =>
      plan(`vars: {kept: {type: list<order>, init: []}}
steps:
  - repeat: {max: 3, do: [{id: o, ${ORDER}}, {set: {kept: "kept + [o]"}}]}
  - refresh: kept
  - cancel: ${cancel}
${more}`).bounds.requests;
    const own = kept('kept');
    expect(own['DELETE /orders']).toEqual(kept('{mine: BTC-USD}')['DELETE /orders']);
    expect(own['GET /orders']?.max).toBeDefined();
    const listed =
      '  - id: all\n    list_orders: {market: BTC-USD, since: run.started_at}\n  - set: {kept: all.orders}\n';
    const others = kept('kept', listed);
    expect(others['DELETE /orders']?.max).toBeUndefined();
  });

  describe('a list variable', () => {
    const TERMS = `place: ${terms}, allow: reduce`;
    const grid = (inner: string, more = '') =>
      plan(`vars: {kept: {type: list<order>, init: []}}
steps:
  - for_each: {each: k, in: range(4), do: [{id: o, ${TERMS}}, {set: {kept: "kept + [o]"}}]}
  - repeat:
      max: 3
      do:
        - for_each:
            each: done
            in: kept.filter(o, o.terminal)
            do: ${inner}
${more}`).bounds.orders.max;

    it('has no more items than were added', () => {
      expect(grid(`[{${TERMS}}]`)).toBe(4 + 3 * 4);
    });

    it('does not grow where each item is replaced by one', () => {
      expect(grid(`[{id: n, ${TERMS}}, {set: {kept: "kept.remove(done) + [n]"}}]`)).toBe(4 + 3 * 4);
      expect(grid(`[{if: done.filled > 0, do: [{id: n, ${TERMS}}, {set: {kept: "remove(kept, done) + [n]"}}]}]`)).toBe(
        16,
      );
    });

    it('has no bound where items may be added without one being taken out', () => {
      expect(grid(`[{id: n, ${TERMS}}, {set: {kept: "kept + [n]"}}]`)).toBeUndefined();
      expect(grid(`[{id: n, ${TERMS}}, {set: {kept: "kept.remove(done) + [n, n]"}}]`)).toBeUndefined();
      // The round takes the item out once, and adds as often as it repeats.
      expect(
        grid(`[{repeat: {max: 2, do: [{id: n, ${TERMS}}, {set: {kept: "kept.remove(done) + [n]"}}]}}]`),
      ).toBeUndefined();
      // An order that is in the list twice is taken out at once, and then again without success.
      expect(
        grid(
          `[{id: n, ${TERMS}}, {set: {kept: "kept.remove(done) + [n]"}}]`,
          `  - id: p\n    place: ${terms}\n    allow: reduce\n  - set: {kept: "kept + [p, p]"}`,
        ),
      ).toBeUndefined();
    });
  });

  it('poll no longer than a wait lasts', () => {
    const reads = (within: string) =>
      plan(`steps: [{id: o, ${ORDER}, await: accepted}, {wait_for: {order: o, is: terminal, within: ${within}}}]`)
        .bounds.requests['GET /orders']?.max ?? Number.NaN;
    // At 0.5, 2, 4, 6, 8 and 10 s, and two more in the next four; each may be sent again after a refused session.
    expect(reads('14s') - reads('10s')).toBe(2 * 2);
  });

  it('name the decisions on the path that attains them', () => {
    const { bounds } = plan(`feeds: {mid: {type: price, max_age: 5s}}
steps:
  - switch: [{when: feeds.mid > 100, do: [{${ORDER}}, {${ORDER}}]}, {else: [{${ORDER}}]}]
  - if: feeds.mid > 200
    ${ORDER.replace(', allow', '\n    allow')}`);
    expect(bounds.orders).toEqual({ min: 1, max: 3, path: ['feeds.mid > 100', 'feeds.mid > 200'] });
  });

  it('count the attempts of an order only where they may follow one that is at the venue', () => {
    const retried = (kinds: string) =>
      plan(`steps: [{place: ${terms}, retry: {on: [${kinds}], max: 3}}]`).bounds.orders.max;
    expect(retried('rate_limited, transport')).toBe(1);
    expect(retried('denied, stale_feed, assertion')).toBe(1);
    expect(retried('rejected')).toBe(4);
    expect(retried('rate_limited, timeout')).toBe(4);
  });

  it('count no notional for the legs of protect, and their orders', () => {
    const { bounds } = plan(
      'steps: [{protect: {market: BTC-USD, side: short, stop_loss: {fraction: 1, trigger: 90, price: 80}, take_profit: {fraction: 1, trigger: 120, price: 120}}}]',
    );
    expect(bounds.orders).toMatchObject({ min: 2, max: 2 });
    expect(bounds.notional).toEqual({ min: '0', max: '0' });
    expect(bounds.exposure).toEqual({});
  });

  it('let an order with allow: reduce pass the caps, and no other', () => {
    const capped = (allow: string) =>
      plan(`limits: {max_run_notional: 500}\nsteps: [{repeat: {max: 4, do: [{place: ${terms}${allow}}]}}]`).bounds
        .notional.max;
    expect(capped('')).toBe('500');
    expect(capped(', allow: reduce')).toBe('800');
  });

  it('let exits whose size or price only the run knows pass the cap of an order, which bounds what they open', () => {
    const bounded = (limits: string, steps: string) =>
      plan(`limits: {${limits}}\nfeeds: {mid: {type: price, max_age: 5s}}\nsteps: [{${steps}}]`);
    const at = 'tick(feeds.mid)';
    const order = (allow: string) =>
      `place: {type: limit, market: BTC-USD, side: short, size: 2, price: "${at}"}${allow}`;
    const cap = 'max_order_notional: 300';
    expect(bounded(cap, order('')).bounds.notional.max).toBe('300');
    const reducing = bounded(cap, order(', allow: reduce'));
    expect(reducing.bounds.notional.max).toBeUndefined();
    expect(reducing.bounds.exposure['BTC-USD']?.max).toBe('300');
    expect(reducing.opening.max).toBe('300');
    const closing = 'close: {market: BTC-USD, feed: feeds.mid}';
    for (const steps of [closing, closing.replace('close:', 'manage:').replace('}', ', side: short, time_limit: 1s}')])
      expect(bounded(cap, steps).bounds.notional.max).toBeUndefined();
    // Five orders of the exit, each within the cap where nothing proves that it reduces.
    expect(bounded(cap, closing).opening.max).toBe('1500');
    expect(bounded(`max_run_notional: 500`, closing).opening.max).toBe('500');
    // Without a cap the gate takes an exit for what it is.
    expect(bounded('max_open_orders: 5', closing).opening.max).toBe('0');
    expect(bounded(`max_run_notional: 500`, closing).bounds.notional.max).toBeUndefined();
  });

  it('count an order whose market only the run knows in every market', () => {
    const { bounds } = plan(`feeds: {mid: {type: price, max_age: 5s}}
steps:
  - place: ${terms}
  - place: ${terms.replace('BTC-USD', "\"${feeds.mid > 1 ? 'BTC-USD' : 'ETH-USD'}\"")}`);
    expect(bounds.exposure).toEqual({ '': { min: '0', max: '200' }, 'BTC-USD': { min: '0', max: '400' } });
  });
});

describe('the sections of a plan', () => {
  const text = `limits: {max_run_notional: 500, max_writes: 10}
steps:
  - id: entry
    place: ${terms}
    timeout: 10s
    on_timeout: [{${ORDER}}]
    catch: [{on: [rejected], do: [{${ORDER}}, {${ORDER}}], then: continue}]
    undo: [{cancel: entry}]
on_error: [{read_account: {}}]`;

  it('are one for each failure, with the limits that it would meet', () => {
    const { sections } = plan(text);
    const titles = (wanted: string) => sections.flatMap(({ when, kind }) => (kind === wanted ? [when] : []));
    expect(titles('doubt')[0]).toBe('if an answer of entry is lost or late');
    expect(titles('failure').filter((title) => !title.includes(' place '))).toEqual([
      'if entry fails: rejected',
      'if entry times out',
      'if the run fails after entry, its undo',
      'if the run fails',
      'if the run is resumed',
    ]);
    const verdicts = Object.fromEntries(
      sections.map(({ when, limits }) => [when, limits.find(({ limit }) => limit === 'max_run_notional')]),
    );
    expect(verdicts['if entry fails: rejected']).toEqual({
      limit: 'max_run_notional',
      verdict: 'exceeded',
      value: '600',
      max: '500',
    });
    expect(verdicts['if entry times out']?.verdict).toBe('within');
  });

  it('are part of the hash, and estimates are not', () => {
    const feeds = `feeds: {mid: {type: price, max_age: 5s}}
steps: [{place: {type: limit, market: BTC-USD, side: long, size: 2, price: tick(feeds.mid)}}]`;
    const at = (price: string) => plan(feeds, {}, { feed: () => price });
    expect(at('100').rows).not.toEqual(at('101').rows);
    expect(at('100').hash).toBe(at('101').hash);
    const original = plan(text);
    const [section] = original.sections;
    expect(section?.rows.length).toBeGreaterThan(0);
    expect(plan(text.replace('{cancel: entry}', '{read_tier: {}}')).hash).not.toBe(original.hash);
  });

  it('arm and disarm the switch where only a failure leads to an order', () => {
    const { sections, bounds } = plan(`deadman: {market: BTC-USD, timeout: 60s, on_exit: disarm}
steps: [{read_account: {}, catch: [{on: any, do: [{${ORDER}}], then: continue}]}]`);
    const listed = sections.flatMap(({ rows }) =>
      rows.flatMap((row) => (row.kind === 'request' ? [`${row.method} ${row.path}`] : [])),
    );
    expect(listed).toEqual(expect.arrayContaining(['POST /cancel_all_after', 'DELETE /cancel_all_after']));
    expect(bounds.requests['DELETE /cancel_all_after']?.min).toBe(0);
  });
});

describe('what a plan takes as known', () => {
  const sizes = ({ rows }: Plan) =>
    rows.flatMap((row) =>
      row.kind === 'request' && row.path === '/orders' && row.method === 'POST' ? [row.params['size']] : [],
    );
  const OPEN = '(known after run)';

  it('leaves out variables that a handler may have changed', () => {
    const held = `vars: {held: {type: size, init: 2}}
steps:
  - wait: 1s
    timeout: 2s
    on_timeout: [{set: {held: held * 2}}]
  - place: {type: limit, market: BTC-USD, side: long, size: held, price: 100}`;
    expect(sizes(plan(held))).toEqual([OPEN]);
    expect(sizes(plan(held.replace('set: {held: held * 2}', 'wait: 1s')))).toEqual(['2']);
  });

  it('leaves out the terms of an order that an amend may have changed, and what has filled', () => {
    const again = (size: string, amend = '') =>
      sizes(
        plan(`steps:
  - id: o
    place: ${terms}
  - read_account: {}
${amend}  - place: {type: limit, market: BTC-USD, side: long, size: o.${size}, price: 100}`),
      ).at(-1);
    expect(again('initial_size')).toBe('2');
    expect(again('size')).toBe(OPEN);
    expect(again('initial_size', '  - amend: {order: o, price: 99}\n')).toBe(OPEN);
  });

  it('leaves open what a step that may have no value leads to', () => {
    const { rows } = plan(`steps:
  - id: o
    place: ${terms}
    catch: [{on: [rejected], then: continue}]
  - if: "!o.hasValue()"
    set_leverage: {market: BTC-USD, leverage: 2}
  - if: o.hasValue()
    cancel: o`);
    const requests = rows.flatMap((row) =>
      row.kind === 'request' && row.step !== 'reconcile' && row.when?.includes('hasValue')
        ? [[`${row.method} ${row.path}`, row.when, row.params['market_id']]]
        : [],
    );
    expect(requests).toEqual(
      expect.arrayContaining([
        ['PUT /account/leverage', '!o.hasValue()', 'BTC-USD'],
        ['DELETE /orders', 'o.hasValue() && the order has not ended', 'BTC-USD'],
      ]),
    );
  });
});

describe('what a run sends beside its steps', () => {
  const declared: PlanContext['declared'] = {
    costOf: () => 7,
    requestOf: (feed) => (feed === 'mid' ? 'ticker' : undefined),
    renewsSession: false,
  };
  const feeds = 'feeds: {mid: {type: price, max_age: 5s}, marks: {type: map<price>, max_age: 5s}}\n';
  const bounds = (steps: string, context: Partial<PlanContext> = {}) =>
    plan(`${feeds}${steps}`, {}, { declared, ...context }).bounds;

  it('has each reading of a feed: of a step, of its condition, and of a round', () => {
    const most = (steps: string) => bounds(steps).feeds['mid']?.max;
    expect(most('steps: [{assert: feeds.mid > 1}]')).toBe(1);
    expect(most('steps: [{assert: feeds.mid > 1, catch: [{on: [stale_feed], do: [], then: retry}]}]')).toBe(11);
    expect(most('steps: [{notify: {to: ops, text: now}, if: feeds.mid > 1}]')).toBe(2);
    // The feeds of its arguments are read once the condition holds.
    expect(most('inputs: {on: {type: boolean, default: false}}\nsteps: [{assert: feeds.mid > 1, if: inputs.on}]')).toBe(
      1,
    );
    expect(most('let: {at: feeds.mid}\nsteps: [{assert: at > 1}, {assert: feeds.mid > at}]')).toBe(2);
    expect(most('steps: [{repeat: {max: 3, while: feeds.mid > 1, do: [{wait: 1s}]}}]')).toBe(1 + 3);
    expect(most('steps: [{for_each: {each: k, in: range(4), do: [{assert: feeds.mid > 1}]}}]')).toBe(4);
    expect(most('steps: [{repeat: {for: 1m, do: [{assert: feeds.mid > 1}]}}]')).toBeUndefined();
    expect(most('steps: [{wait: 1s}]')).toBeUndefined();
    const band = 'limits: {price_band: {around: feeds.mid, within: 3%}}\n';
    expect(most(`${band}steps: [{place: ${terms}, retry: {max: 2, on: [rejected]}}]`)).toBe(3);
    const ofMap = (around: string) =>
      bounds(`limits: {price_band: {around: "${around}", within: 3%}}\nsteps: [{place: ${terms}}]`, {
        markets: ['BTC-USD', 'ETH-USD', 'SOL-USD'],
      }).feeds['marks']?.max;
    expect([ofMap("feeds.marks['BTC-USD']"), ofMap("feeds.marks['BTC-USD'] * 2")]).toEqual([5, 15]);
  });

  it('has none of a step that is skipped, unless its condition reads one: that may fail', () => {
    const skipped = (condition: string) => {
      const handler =
        'catch: [{on: [stale_feed], do: [{set_leverage: {market: BTC-USD, leverage: 2}}], then: continue}]';
      const inputs = 'inputs: {on: {type: boolean, default: false}}\n';
      const text = `${feeds}${inputs}steps: [{assert: feeds.mid > 2, if: ${condition}, ${handler}}]`;
      const { bounds: all, sections } = plan(text, { on: false }, { declared });
      return [all.feeds['mid']?.max, sections.some(({ when }) => when.includes('stale_feed'))];
    };
    expect(skipped('inputs.on')).toEqual([undefined, false]);
    expect(skipped('inputs.on && feeds.mid > 1')).toEqual([2, true]);
  });

  it('has the request of each, with its tokens and its time', () => {
    const { requests, tokensPerMinute, duration } = bounds('steps: [{wait: 1s}, {assert: feeds.mid > 1}]');
    expect(requests['request ticker']).toEqual({ min: 0, max: 1 });
    // With the reading at the start of a live run.
    expect(tokensPerMinute.max).toBeGreaterThanOrEqual(10 + 7);
    expect(duration).toEqual({ min: 1000 });
    // A map is read market by market; nothing is sent where the profile has no request for it.
    const two = bounds('steps: [{assert: feeds.marks.size() > 0}]', { markets: ['BTC-USD', 'ETH-USD'] });
    expect([two.feeds['marks']?.max, two.requests['request ticker']]).toEqual([2, undefined]);
  });

  it('has the attempts of a declared request', () => {
    const one = bounds('steps: [{id: r, request: {name: ticker}}]');
    expect(one.requests['request ticker']).toMatchObject({ min: 1, max: 5 });
    const twice = bounds('steps: [{id: r, request: {name: ticker}, retry: {max: 1, on: [transport]}}]');
    expect(twice.requests['request ticker']).toMatchObject({ min: 1, max: 2 });
  });

  it('has the renewals of the session, as far as the requests are bounded that lead to them', () => {
    const session = { declared: { ...declared, renewsSession: true } };
    const step = 'steps: [{refresh_session: {}}]';
    const sum = ({ requests }: Plan['bounds']) =>
      Object.values(requests).reduce((all, bound) => all + (bound?.max ?? Number.POSITIVE_INFINITY), 0);
    const own = bounds(step);
    const all = bounds(step, session);
    expect(all.requests['POST /jwt']?.max).toBe((own.requests['POST /jwt']?.max ?? 0) + 4 * sum(own));
    expect(all.tokensPerMinute.max).toBeGreaterThan(own.tokensPerMinute.max ?? 0);
    expect(bounds('steps: [{wait: 1s}]').requests['POST /jwt']).toBeUndefined();
    const guarded = 'deadman: {market: BTC-USD, timeout: 60s, on_exit: disarm}\n';
    // Five attempts, each sent five times while no answer comes.
    expect(own.requests['POST /jwt']?.max).toBeGreaterThanOrEqual(5 * 5);
    const endless = bounds(`${guarded}steps: [{place: ${terms}}]`, session);
    expect(endless.requests['POST /jwt']).toEqual({ min: 0 });
  });

  it('has heartbeats and their readings, without a bound: nothing bounds how long requests take', () => {
    const { requests, duration } = bounds(`deadman: {market: BTC-USD, timeout: 60s, on_exit: disarm}
steps: [{place: ${terms}}]`);
    expect(requests['POST /cancel_all_after']).toEqual({ min: 1 });
    expect(requests['GET /cancel_all_after']).toEqual({ min: 1 });
    expect(duration.max).toBeUndefined();
  });

  it('has the tokens of heartbeats that are refused, and follow sooner', () => {
    const both = (timeout: string) => {
      const { bounds: all, pathTokensPerMinute } = plan(
        `deadman: {market: BTC-USD, timeout: ${timeout}, on_exit: leave_armed}\nsteps: [{place: ${terms}}]`,
        {},
        { tokensPerMinute: 1_000_000 },
      );
      return { path: pathTokensPerMinute, most: all.tokensPerMinute.max ?? 0 };
    };
    const [quick, slow] = [both('1m'), both('1h')];
    // Every 15 s, and every 4 min a reading; of the slower switch a sixtieth.
    const extra = (4 * 10 + 10 / 4) * (59 / 60);
    expect(quick.path - slow.path).toBeCloseTo(extra, -1);
    // Each a quarter of the pause after one that failed, and each again with another session.
    expect(quick.most - slow.most).toBeCloseTo(extra * 4 * 2, -1);
    expect(slow.most - slow.path).toBeGreaterThan(10 * 11);
  });
});
