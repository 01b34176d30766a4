/**
 * The runbooks of the simulation: small ones, generated, that together use every verb which sends something, the blocks
 * around them, and the clauses that decide what a failure leads to. They are texts, checked like anybody's, and a seed has
 * the same one for ever.
 */
import type { CheckedRunbook } from '../../src/runbook/checked.ts';
import type { Value } from '../../src/runbook/values.ts';
import { checkUnheld } from '../runbook/check-unheld.ts';
import { Draws } from './draws.ts';

/** How many different runbooks there are; seeds share them, for checking one costs as much as running it. */
export const SHAPES = 640;
/** And how many have the newer steps too: those of seeds from here on, so that no kept seed deals another world. */
const NEWER_SHAPES = 160;
export const NEWER_FROM = 1_000_000;

export interface Shape {
  readonly index: number;
  readonly text: string;
  readonly runbook: CheckedRunbook;
  readonly inputs: Readonly<Record<string, Value>>;
  /** What its `deadman` block asks for; `plain`: nothing else in it decides when the switch is armed and renewed. */
  readonly deadman:
    | {
        readonly market: string;
        readonly timeoutMs: number;
        readonly onExit: 'disarm' | 'leave_armed';
        readonly plain: boolean;
      }
    | undefined;
  /** Of its `limits`. */
  readonly maxOpenOrders: number;
  readonly maxWrites: number;
  readonly cancelsAll: boolean;
  /** Has an `approve` step. */
  readonly asksPeople: boolean;
  /** What it places is cancelled where a later step fails. */
  readonly undoesAll: boolean;
}

export const BTC = 'BTC-USD';
/** A market whose prices a JavaScript number prints with an exponent. */
export const DUST = 'DUST-USD';
/** Where each market's price begins, and its tick. */
export const MARKETS = {
  [BTC]: { start: '64000', tick: '1', lot: '0.0001', sizes: ['0.01', '0.0301', '0.1', '0.25'] },
  [DUST]: { start: '0.0000005', tick: '0.000000001', lot: '0.001', sizes: ['1', '1000.001', '73000', '250'] },
} as const;
type Market = keyof typeof MARKETS;

/** Every eighth seed is a crowded world, and has the runbooks of crowded worlds (crowd.ts). */
export function isCrowded(seed: number): boolean {
  return seed % 8 === 7;
}

const OPEN = '{position: open, because: the simulation decides}';
/** By index and not drawn, so that no seed deals another world. */
const LEAVES = [
  OPEN,
  '{position: protected}',
  '{position: none}',
  OPEN,
  OPEN,
  '{position: protected}',
  OPEN,
  OPEN,
] as const;

const checked = new Map<number, Shape>();

/** The runbook of a seed. Throws where the generator made one that the checker refuses: that is our mistake. */
export function shapeOf(seed: number): Shape {
  const index = seed < NEWER_FROM ? seed % SHAPES : SHAPES + (seed % NEWER_SHAPES);
  const known = checked.get(index);
  if (known !== undefined) return known;
  const made = new Generator(index).make();
  const { runbook, diagnostics } = checkUnheld({ file: `shape-${index}.yaml`, text: made.text }, () => undefined);
  if (runbook === undefined) {
    throw new Error(
      `shape ${index} is no runbook: ${diagnostics.map(({ message }) => message).join('; ')}\n${made.text}`,
    );
  }
  const shape = { ...made, index, runbook, inputs: {} };
  checked.set(index, shape);
  return shape;
}

const VERBS = {
  limit: 6,
  market: 2,
  stop: 1.5,
  amend: 3,
  cancel: 2,
  wait: 2,
  wait_for: 2,
  refresh: 0.7,
  requote: 1.2,
  parallel: 2,
  leverage: 0.7,
  protect: 1.2,
  cancel_all: 0.4,
  cancel_mine: 0.7,
  list: 0.4,
  account: 0.3,
} as const;

/** The checker refuses to read `open` of an order that was only accepted; the worlds do so, and it sees through no list. */
const isOpen = (id: string) => `"[${id}].exists(o, o.open)"`;

class Generator {
  private readonly index: number;
  private readonly draws: Draws;
  private readonly guarded: boolean;
  private readonly orders: {
    readonly id: string;
    readonly market: Market;
    readonly amendable: boolean;
    readonly side: string;
  }[] = [];
  private count = 0;
  private cancelsAll = false;
  private asksPeople = false;

  constructor(index: number) {
    this.index = index;
    this.draws = new Draws(index, 'shape');
    this.guarded = this.draws.chance(0.4);
  }

  make(): Omit<Shape, 'index' | 'runbook' | 'inputs'> {
    const { draws } = this;
    const steps = Array.from(
      { length: draws.within(1, 5) },
      (_, at) => this.step(at) + this.more() + this.newer(),
    ).join('');
    const failing = draws.chance(0.12) ? '  - fail: {because: as it was meant to}\n' : '';
    const stopping =
      failing === '' && draws.chance(0.05) ? '  - stop: {outcome: enough, because: as it was meant to}\n' : '';
    const timeoutMs = draws.of([5000, 8000, 20_000]);
    const onExit = draws.chance(0.75) ? 'disarm' : 'leave_armed';
    const maxOpenOrders = draws.of([1, 2, 2, 3, 8]);
    const head = [
      `runbook: shape-${this.index}`,
      'dsl: 1',
      ...(this.cancelsAll ? ['needs: [cancel_all]'] : []),
      `leaves: ${LEAVES[this.index % LEAVES.length]}`,
      `limits: {markets: [${BTC}, ${DUST}], max_open_orders: ${maxOpenOrders}, max_writes: 200}`,
      ...(this.guarded ? [`deadman: {market: ${BTC}, timeout: ${timeoutMs}ms, on_exit: ${onExit}}`] : []),
      ...(this.index < SHAPES
        ? []
        : ['vars: {kept: {type: list<order>, init: []}}', `feeds: {mid: {type: price, max_age: 5s}}`]),
      'steps:\n',
    ].join('\n');
    const strict = LEAVES[this.index % LEAVES.length] !== OPEN;
    const tidy = draws.chance(0.3) ? `finally:\n  - cancel: {mine: ${BTC}}\n` : '';
    const deadman = this.guarded ? ({ market: BTC, timeoutMs, onExit, plain: true } as const) : undefined;
    const text = `${head}${steps}${failing}${stopping}${tidy}${this.handling(strict)}`;
    const { cancelsAll, asksPeople } = this;
    const undoesAll = !text.includes('undo: keep');
    return { text, deadman, maxOpenOrders, maxWrites: 200, cancelsAll, asksPeople, undoesAll };
  }

  /** An `on_error` that means to reduce, in a block, without knowing what is held; one that only notifies where leaving too much leads to it. */
  private handling(strict: boolean): string {
    const { draws } = this;
    if (!draws.chance(0.2)) return strict ? 'on_error:\n  - notify: {to: ops, text: "${error.kind}"}\n' : '';
    const market = draws.chance(0.8) ? BTC : DUST;
    const terms = `{type: market, market: ${market}, side: ${draws.of(['long', 'short'])}, size: ${draws.of(MARKETS[market].sizes)}}`;
    const block = draws.of(['repeat: {max: 1, every: 1s', 'for_each: {each: item, in: "[1]"']);
    return `on_error:\n  - ${block}, do: [{place: ${terms}, allow: reduce}]}\n    catch: [{on: [denied, rejected, cancelled, transport, rate_limited], then: continue}]\n`;
  }

  /** Only in runbooks of crowded worlds: questions, which no person answers in the others, and more amends. */
  private more(): string {
    if (!isCrowded(this.index)) return '';
    if (this.draws.chance(0.25)) return this.question();
    return this.draws.chance(0.4) && this.orders.some(({ amendable }) => amendable) ? this.amend() : '';
  }

  /** Steps that the first runbooks do not have: blocks with `if`, waits for one of several and for a condition, kept orders. */
  private newer(): string {
    const { draws } = this;
    if (this.index < SHAPES || draws.chance(0.25)) return '';
    const kind = draws.of(['if', 'any', 'until', 'keep', 'ladder', 'touch', 'flatten', 'manage', 'manage'] as const);
    // A position is read where every order of the market has been.
    const settled = `  - cancel: {mine: ${BTC}}\n`;
    const [first, second] = [this.orders.at(-1), this.orders.at(-2)];
    switch (kind) {
      case 'if':
        if (first === undefined) return '';
        return `  - refresh: ${first.id}\n  - if: ${first.id}.${draws.of(['open', 'filled > 0', 'terminal'])}\n    do:\n      - cancel: ${first.id}\n    else:\n      - refresh: ${first.id}\n${CAUGHT}`;
      case 'any': {
        if (first === undefined || second === undefined) return '';
        const is = draws.of(['any_fill', 'filled', 'terminal']);
        return `  - wait_for: {any: [${first.id}, ${second.id}], is: ${is}, within: ${draws.within(2, 8)}s}\n    on_timeout:\n      - cancel: [${first.id}, ${second.id}]\n    catch: [{on: [timeout, cancelled, rejected, not_found, transport], then: continue}]\n`;
      }
      case 'until':
        return `${settled}  - wait_for: {until: "position('${BTC}') != 0", within: ${draws.within(1, 6)}s, every: 700ms}\n    on_timeout:\n      - notify: {to: ops, text: "flat"}\n`;
      case 'keep':
        return first === undefined ? '' : `  - set:\n      kept: kept + [${first.id}]\n`;
      case 'ladder': {
        this.count += 1;
        const id = `rung${this.count}`;
        const away = draws.within(3, 12);
        const place = `place: {type: limit, market: ${BTC}, side: long, size: 0.01, price: "level - ${away}"}`;
        return `  - for_each:\n      each: level\n      in: [63990, 63980]\n      do:\n        - id: ${id}\n          ${place}\n        - set:\n            kept: kept + [${id}]\n    catch: [{on: [denied, rejected, cancelled, transport, rate_limited], then: continue}]\n`;
      }
      case 'touch':
        return `  - ${draws.of(['refresh', 'cancel'])}: ${draws.of(['kept', 'kept.filter(o, o.open)'])}\n${CAUGHT}`;
      case 'manage':
        return this.guarded ? '' : `${settled}${this.held()}`;
      case 'flatten': {
        const terms = (side: string) =>
          `      - place: {type: market, market: ${BTC}, side: ${side}, size: "lot(abs(position('${BTC}')))"}\n        allow: reduce\n    ${CAUGHT}`;
        return `${settled}  - if: position('${BTC}') > 0\n    do:\n${terms('short')}    else:\n      - wait: 100ms\n`;
      }
      default:
        return kind satisfies never;
    }
  }

  /** A position that is held, behind an entry of its own: its stop, its target, a stop that trails, a market exit. */
  private held(): string {
    const { draws } = this;
    const side = draws.of(['long', 'short']);
    const away = side === 'long' ? -1 : 1;
    const leg = (distance: number) =>
      `{trigger: ${priceOf(BTC, distance)}, price: ${priceOf(BTC, distance + away * draws.of([0, 40]))}}`;
    const parts = [
      `stop_loss: ${leg(away * draws.within(5, 30))}`,
      ...(draws.chance(0.6) ? [`take_profit: ${leg(-away * draws.within(5, 30))}`] : []),
      ...(draws.chance(0.5) ? ['trail: {feed: feeds.mid, by: 0.0003, step: 0.00005}'] : []),
      ...(draws.chance(0.3) ? ['break_even: {after: 0.0001, offset: 0}'] : []),
      ...(draws.chance(0.4) ? ['escalate: {after: 3s, slip: 0.01}'] : []),
      `time_limit: ${draws.of(['5s', '20s', '60s'])}`,
    ];
    const entry = `place: {type: market, market: ${BTC}, side: ${side}, size: 0.05}`;
    const exit = side === 'long' ? 'short' : 'long';
    return `  - ${entry}\n${CAUGHT}  - manage: {market: ${BTC}, side: ${exit}, ${parts.join(', ')}}\n    catch: [{on: [not_found, unprotected_position, denied, rejected, cancelled, transport, rate_limited, stale_feed], then: continue}]\n`;
  }

  private question(): string {
    this.asksPeople = true;
    this.count += 1;
    const onTimeout = this.draws.of(['reject', 'fail']);
    const caught = this.draws.chance(0.5) ? '    catch: [{on: [approval_rejected, timeout], then: continue}]\n' : '';
    return `  - id: ask${this.count}\n    approve: {ask: "Go on?", by: [desk], within: ${this.draws.within(2, 8)}s, on_timeout: ${onTimeout}}\n${caught}`;
  }

  private step(at: number): string {
    const verb =
      at === 0
        ? this.draws.weighted({ limit: 4, market: 1, stop: 1, parallel: 2, leverage: 0.5 })
        : this.draws.weighted(VERBS);
    switch (verb) {
      case 'limit':
      case 'market':
      case 'stop':
        return this.place(verb, '  ');
      case 'amend':
        return this.amend();
      case 'cancel':
        return this.withOrder(({ id }) => `  - cancel: ${id}\n${this.maybe(0.3, '    await: accepted\n')}${CAUGHT}`);
      case 'wait':
        return `  - wait: ${this.draws.of(['100ms', '1s', '3s', '6s'])}\n`;
      case 'wait_for':
        return this.withOrder(
          ({ id }) =>
            `  - wait_for: {order: ${id}, is: ${this.draws.of(['any_fill', 'filled', 'terminal'])}, within: ${this.draws.within(2, 8)}s}\n    on_timeout:\n      - cancel: ${id}\n    catch: [{on: [timeout, cancelled, rejected, not_found, transport], then: continue}]\n`,
        );
      case 'refresh':
        return this.withOrder(({ id }) => `  - refresh: ${id}\n${CAUGHT}`);
      case 'requote':
        return this.requote();
      case 'parallel':
        return this.parallel();
      case 'leverage':
        return `  - set_leverage: {market: ${BTC}, leverage: ${this.draws.within(5, 20)}}\n    catch: [{on: [transport, rate_limited, rejected], then: continue}]\n`;
      case 'protect':
        return this.protect();
      case 'cancel_all':
        this.cancelsAll = true;
        return '  - cancel_all: {everyone: true}\n    catch: [{on: [transport, rate_limited], then: continue}]\n';
      case 'cancel_mine':
        return `  - cancel: {mine: ${BTC}}\n${CAUGHT}`;
      case 'list':
        return `  - list_orders: {market: ${BTC}, limit: 50}\n${CAUGHT}`;
      case 'account':
        return `  - read_account: {}\n${CAUGHT}`;
      default:
        return verb satisfies never;
    }
  }

  private place(kind: 'limit' | 'market' | 'stop', indent: string): string {
    const { draws } = this;
    this.count += 1;
    const id = `o${this.count}`;
    const market = draws.chance(0.8) ? BTC : DUST;
    const side = draws.of(['long', 'short']);
    const size = draws.of(MARKETS[market].sizes);
    const away = draws.of([-30, -12, -6, -3, 0, 4]) * (side === 'long' ? 1 : -1);
    const tif = draws.weighted({ good_till_cancel: 5, post_only: 3, immediate_or_cancel: 1, fill_or_kill: 0.5 });
    const stays = kind === 'limit' && (tif === 'good_till_cancel' || tif === 'post_only');
    const terms = [
      `type: ${kind === 'stop' ? draws.of(['stop_limit', 'stop_market']) : kind}`,
      `market: ${market}`,
      `side: ${side}`,
      `size: ${size}`,
    ];
    const stop = kind === 'stop';
    if (kind === 'limit' || (stop && terms[0] === 'type: stop_limit')) terms.push(`price: ${priceOf(market, away)}`);
    if (stop) terms.push(`trigger: ${priceOf(market, (side === 'long' ? 1 : -1) * draws.within(2, 10))}`);
    if (kind === 'limit' && tif !== 'good_till_cancel') terms.push(`tif: ${tif}`);
    if (stays && draws.chance(0.4)) terms.push('on_ambiguous: resend');
    if (draws.chance(0.1)) terms.push('tag: sim');
    this.orders.push({ id, market, amendable: stays, side });
    const more = [
      ...(draws.chance(0.25) ? ['await: accepted'] : kind === 'market' && draws.chance(0.3) ? ['await: terminal'] : []),
      ...(draws.chance(0.35)
        ? [
            `retry: {on: [${draws.of(['rejected', 'rate_limited', 'rate_limited, transport', 'rejected, rate_limited'])}], max: ${draws.within(1, 2)}, first: 500ms}`,
          ]
        : []),
      ...(draws.chance(0.1) ? ['undo: keep'] : []),
    ];
    return `${indent}- id: ${id}\n${indent}  place: {${terms.join(', ')}}\n${more.map((line) => `${indent}  ${line}\n`).join('')}`;
  }

  private amend(): string {
    return this.withOrder(({ id, market, side, amendable }) => {
      if (!amendable) return `  - refresh: ${id}\n${CAUGHT}`;
      const price = priceOf(market, this.draws.of([-31, -13, -7, -4, -2, 5]) * (side === 'long' ? 1 : -1));
      const size = this.draws.chance(0.2) ? `, size: ${this.draws.of(MARKETS[market].sizes)}` : '';
      return `  - if: ${isOpen(id)}\n    amend: {order: ${id}, price: ${price}${size}}\n${CAUGHT}`;
    });
  }

  private requote(): string {
    return this.withOrder(({ id, market, side, amendable }) => {
      const price = priceOf(market, -this.draws.within(3, 9) * (side === 'long' ? 1 : -1));
      const amend = amendable
        ? `        - if: ${isOpen(id)}\n          amend: {order: ${id}, price: ${price}}\n    ${CAUGHT.replaceAll('\n    ', '\n        ').replace('    catch', '      catch')}`
        : '';
      return `  - repeat:\n      every: ${this.draws.of(['500ms', '2s'])}\n      max: ${this.draws.within(2, 3)}\n      do:\n        - refresh: ${id}\n    ${CAUGHT.replace('    catch', '      catch')}${amend}`;
    });
  }

  private parallel(): string {
    const { draws } = this;
    const branch = (name: string) =>
      `        ${name}:\n${this.place(draws.of(['limit', 'limit', 'market']), '          ')}`;
    const onFail = draws.of(['cancel_others', 'let_others_finish']);
    // What a branch placed is seen after the join only as far as it got: no step refers to it.
    const before = this.orders.length;
    const text = `  - parallel:\n      join: all\n      on_fail: ${onFail}\n      branches:\n${branch(`one${this.count}`)}${branch(`two${this.count}`)}    catch: [{on: [denied, rejected, cancelled, transport, rate_limited], then: ${draws.of(['continue', 'fail'])}}]\n`;
    this.orders.length = before;
    return text;
  }

  private protect(): string {
    if (this.guarded) return '  - wait: 2s\n';
    const side = this.draws.of(['long', 'short']);
    const away = side === 'short' ? -1 : 1;
    const leg = (distance: number) =>
      `{fraction: ${this.draws.of(['1', '0.5'])}, trigger: ${priceOf(BTC, distance)}, price: ${priceOf(BTC, distance + away * 40)}}`;
    return `  - protect: {market: ${BTC}, side: ${side}, stop_loss: ${leg(away * this.draws.within(5, 40))}, take_profit: ${leg(-away * this.draws.within(5, 40))}}\n    catch: [{on: [rejected, cancelled, transport, rate_limited], then: continue}]\n`;
  }

  /** A step about an order that is there for certain; a pause where there is none yet. */
  private withOrder(make: (order: { id: string; market: Market; amendable: boolean; side: string }) => string): string {
    return this.orders.length === 0 ? '  - wait: 500ms\n' : make(this.draws.of(this.orders));
  }

  private maybe(probability: number, text: string): string {
    return this.draws.chance(probability) ? text : '';
  }
}

/** What a step that may come too late forgives. */
const CAUGHT = '    catch: [{on: [rejected, not_found, denied, transport, rate_limited, cancelled], then: continue}]\n';

/** A price so many ticks from the start, as a literal. */
export function priceOf(market: Market, ticks: number): string {
  if (market === BTC) return String(64_000 + ticks);
  return `0.000000${String(500 + ticks).padStart(3, '0')}`;
}
