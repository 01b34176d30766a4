/**
 * Draws a well-typed runbook from a seed, as text, so that the checker reads it as it reads an author's: every step of the
 * language, with values from literals, inputs, variables, feeds and readings, and with every way to handle a failure. It
 * need not make sense as a strategy. The simulation runs them (drawn-world.ts), one for each seed.
 */
import type { LoadedRunbook } from '../../src/app/files/load.ts';
import type { SourceText } from '../../src/base/diagnostic.ts';
import { readInputs } from '../../src/runbook/check/inputs.ts';
import { ERROR_KINDS, type StepName } from '../../src/runbook/checked.ts';
import { getStepRow } from '../../src/runbook/steps/steps.ts';
import type { Value } from '../../src/runbook/values.ts';
import { NOTICE_SEVERITIES } from '../../src/venue/profile/setting-form.ts';
import { Draws } from './draws.ts';
import {
  type Block,
  type Data,
  type Draft,
  listPieces,
  type Piece,
  type Settled,
  Step,
  settle,
} from './runbook-text.ts';

export interface RandomRunbook {
  readonly loaded: LoadedRunbook;
  readonly inputs: Readonly<Record<string, Value>>;
  readonly given: Readonly<Record<string, string>>;
  readonly sources: readonly SourceText[];
  /** What the checker did not accept. */
  readonly dropped: readonly string[];
  /** How many parts of it can be left out. */
  readonly pieces: number;
}

/** What a runbook has more of than others. */
export interface Leaning {
  /** Steps, by how many times more often. */
  readonly steps?: Readonly<Partial<Record<StepName, number>>>;
  /** How many times more often steps have modifiers. */
  readonly modifiers?: number;
  /** It has limits in any case. */
  readonly limits?: boolean;
  readonly deadman?: boolean;
  /** It does not declare that it may leave anything. */
  readonly strict?: boolean;
  /** It goes on although the fate of an order is unknown. */
  readonly doubts?: boolean;
}

interface MarketFacts {
  readonly id: string;
  readonly prices: readonly string[];
  readonly sizes: readonly string[];
}

/** Prices around that at which the simulated venue starts: some fill at once, some rest. */
const BTC: MarketFacts = {
  id: 'BTC-USD',
  prices: ['64000', '63990', '64010', '63500', '64500', '64100', '60000'],
  sizes: ['0.01', '0.0005', '0.1', '0.02'],
};
const MARKETS: readonly MarketFacts[] = [
  BTC,
  { id: 'ETH-USD', prices: ['3200', '3199.5', '3150', '3250', '3203'], sizes: ['0.1', '0.005', '1'] },
  { id: 'SOL-USD', prices: ['150', '149.5', '152', '149.97'], sizes: ['1', '0.05', '10'] },
];

/** The names that a step may read. */
interface Sight {
  readonly orders: readonly string[];
  /** Orders that may be absent: their step may be skipped or fail. */
  readonly maybes: readonly string[];
  readonly prices: readonly string[];
  readonly counts: readonly string[];
  readonly orderLists: readonly string[];
  readonly fillLists: readonly string[];
  /** Lists of `{o: Order}`. */
  readonly collected: readonly string[];
  readonly accounts: readonly string[];
  /** The market of the surrounding loop. */
  readonly market?: string;
  readonly depth: number;
  /** Only steps that reduce risk: in `finally` and `undo`. */
  readonly reducing: boolean;
  /** In a loop: no long waits. */
  readonly looped: boolean;
  /** How many handlers of failures are around it: each makes further handlers rarer. */
  readonly handlers: number;
}

const WEIGHTS = {
  place: 14,
  protect: 3,
  manage: 3,
  close: 3,
  amend: 6,
  cancel: 5,
  cancel_all: 0.6,
  refresh: 4,
  set_leverage: 1.5,
  read_account: 1.5,
  read_tier: 0.7,
  list_orders: 2.5,
  list_fills: 2.5,
  refresh_session: 0.3,
  arm_deadman: 0.7,
  read_deadman: 0.7,
  disarm_deadman: 0.7,
  let: 3,
  set: 3,
  assert: 1.5,
  wait: 2,
  wait_for: 5,
  for_each: 4,
  repeat: 4,
  parallel: 3,
  if: 3,
  switch: 2,
  call: 2,
  approve: 0.3,
  notify: 0.3,
  stop: 0.3,
  fail: 0.4,
  // Its endpoint is declared by a profile.
  request: 0,
} as const satisfies Record<StepName, number>;

const BLOCKS: readonly StepName[] = ['for_each', 'repeat', 'parallel', 'if', 'switch'];
const DEEPEST = 2;
/** Runbooks are drawn again when the checker finds an error outside of a step. */
const MOST_TRIES = 20;
const NO_NAMES: Sight = {
  orders: [],
  maybes: [],
  prices: ['inputs.price', 'level'],
  counts: ['inputs.n', 'count'],
  orderLists: [],
  fillLists: [],
  collected: [],
  accounts: [],
  depth: 0,
  reducing: false,
  looped: false,
  handlers: 0,
};

/** A runbook as it was drawn, from which parts can be left out. */
interface Drawing {
  readonly given: Readonly<Record<string, string>>;
  readonly pieces: readonly Piece[];
  readonly dropped: readonly string[];
  readonly build: (leftOut: readonly Piece[]) => Built | undefined;
  readonly whole: Built;
}

interface Built {
  readonly main: Settled;
  readonly sub: Settled | undefined;
}

/** Of the seed that was drawn last: a search for a smaller one draws it again and again. */
let last: { readonly seed: number; readonly leaning: Leaning; readonly drawing: Drawing } | undefined;

/** `without`: the numbers of the parts that are left out; undefined where nothing that can be checked remains. */
export function drawRunbook(seed: number, leaning?: Leaning): RandomRunbook;
export function drawRunbook(seed: number, leaning: Leaning, without: ReadonlySet<number>): RandomRunbook | undefined;
export function drawRunbook(
  seed: number,
  leaning: Leaning = {},
  without: ReadonlySet<number> = new Set(),
): RandomRunbook | undefined {
  const drawing = last?.seed === seed && last.leaning === leaning ? last.drawing : draw(seed, leaning);
  last = { seed, leaning, drawing };
  const { given, pieces, dropped, whole } = drawing;
  const built = without.size === 0 ? whole : drawing.build(pieces.filter((_, index) => without.has(index)));
  if (built === undefined) return undefined;
  const { main, sub } = built;
  const called = sub === undefined || !Object.hasOwn(main.runbook.calls, 'sub') ? [] : [sub.source];
  const loaded: LoadedRunbook = {
    runbook: main.runbook,
    sources: [{ name: 'main', source: main.source }, ...called.map((source) => ({ name: 'sub', source }))],
  };
  const read = readInputs(loaded.runbook, given);
  if ('problems' in read) throw new Error(read.problems.join('\n'));
  const sources = loaded.sources.map(({ source }) => source);
  return { loaded, inputs: read.values, given, sources, dropped, pieces: pieces.length };
}

function draw(seed: number, leaning: Leaning): Drawing {
  const dropped: string[] = [];
  for (let tries = 0; tries < MOST_TRIES; tries += 1) {
    const draws = new Draws(seed, `runbook ${tries}`);
    const onExit = draws.of(['disarm', 'disarm', 'leave_armed']);
    const callee = draws.chance(0.4) ? new Author(draws, leaning, undefined, onExit).draft() : undefined;
    const subDraft = callee && ({ runbook: 'sub', ...callee } as const);
    const mainDraft = {
      runbook: 'main',
      ...withExcess(new Author(draws, leaning, subDraft && 'sub', onExit).draft(), seed),
    };
    const given = drawInputs(draws);
    const pieces = [...listPieces(mainDraft), ...(subDraft === undefined ? [] : listPieces(subDraft))];
    const build = (leftOut: readonly Piece[]): Built | undefined => {
      const sub = subDraft && settle('sub', subDraft, { leftOut });
      const load = (name: string) => (name === 'sub' ? sub?.source : undefined);
      const main = settle('main', mainDraft, { load, leftOut, unheld: true });
      return main === undefined || (subDraft !== undefined && sub === undefined) ? undefined : { main, sub };
    };
    const whole = build([]);
    if (whole === undefined) dropped.push('a whole runbook');
    else {
      dropped.push(...(whole.sub?.dropped ?? []), ...whole.main.dropped);
      return { given, pieces, dropped, build, whole };
    }
  }
  throw new Error(`no runbook for seed ${seed}: ${dropped.join('; ')}`);
}

/** Conditions that hold, and spend more than an evaluation may. */
export const EXCESSIVE = [
  'range(300).all(a, range(300).all(b, a + b + inputs.n >= 0))',
  'range(400).all(a, range(200).exists(b, a * b + inputs.n >= 0 && b == 199))',
] as const;

/** In some runbooks a step that evaluates one. A stream of its own shifts no draw. */
function withExcess(draft: Draft, seed: number): Draft {
  const draws = new Draws(seed, 'excess');
  if (!draws.chance(0.04)) return draft;
  const text = draws.of(EXCESSIVE);
  const steps = draft['steps'] as Block;
  const at = draws.within(0, steps.length);
  const step = new Step({
    ...draws.of<Readonly<Record<string, Data>>>([
      { assert: text },
      { let: { excess: text } },
      { if: text, wait: '100ms' },
    ]),
    ...(draws.chance(0.7) ? { catch: [{ on: 'any', then: 'continue' }] } : {}),
  });
  return { ...draft, steps: [...steps.slice(0, at), step, ...steps.slice(at)] };
}

function drawInputs(draws: Draws): Readonly<Record<string, string>> {
  const all: Readonly<Record<string, string>> = {
    n: String(draws.within(0, 4)),
    price: draws.of(BTC.prices),
    size: draws.of(BTC.sizes),
    side: draws.of(['long', 'short']),
    on: draws.of(['true', 'false']),
    markets: JSON.stringify(MARKETS.slice(0, draws.within(0, 3)).map(({ id }) => id)),
    within: draws.of(['2s', '10s', '40s']),
  };
  return Object.fromEntries(Object.entries(all).filter(() => draws.chance(0.6)));
}

class Author {
  private readonly draws: Draws;
  private readonly leaning: Leaning;
  private readonly callee: string | undefined;
  private readonly onExit: string;
  private named = 0;
  /** Steps so far: a runbook that never ends helps no one. */
  private steps = 0;
  private readonly used = new Set<StepName>();

  /** `onExit`: the same for a runbook and the one it calls, because a run has one end. */
  constructor(draws: Draws, leaning: Leaning, callee: string | undefined, onExit: string) {
    this.draws = draws;
    this.leaning = leaning;
    this.callee = callee;
    this.onExit = onExit;
  }

  draft(): Draft {
    const { draws, leaning } = this;
    const steps = this.block(NO_NAMES, draws.within(2, 7));
    const deadman = draws.chance(leaning.deadman ? 0.95 : 0.35) ? this.deadman(steps) : undefined;
    const maybes = steps.flatMap(({ fields }) =>
      fields['place'] !== undefined && typeof fields['id'] === 'string' ? [fields['id']] : [],
    );
    const end: Sight = { ...NO_NAMES, maybes, depth: DEEPEST - 1 };
    const reducing: Sight = { ...end, reducing: true };
    const onError = draws.chance(0.3) ? this.block(end, draws.within(1, 3)) : undefined;
    const last = draws.chance(0.35) ? this.block(reducing, draws.within(1, 3)) : undefined;
    return {
      dsl: 1,
      leaves: this.leaves(),
      inputs: {
        market: { type: 'market', default: 'BTC-USD' },
        n: { type: 'integer', default: 2 },
        price: { type: 'price', default: 64000 },
        size: { type: 'size', default: '0.01' },
        side: { type: 'side', default: 'long' },
        on: { type: 'boolean', default: true },
        markets: { type: 'list<market>', default: ['BTC-USD', 'ETH-USD'] },
        within: { type: 'duration', default: '10s' },
        ratio: { type: 'pct', default: 1 },
      },
      feeds: { mid: { type: 'price', max_age: '5s' }, mark: { type: 'map<price>', max_age: '5s' } },
      ...(draws.chance(0.5) ? { let: { pinned: 'feeds.mid' } } : { let: { pinned: 'inputs.price' } }),
      def: { wanted: draws.of(['feeds.mid * (1 - inputs.ratio)', 'inputs.price * (1 - inputs.ratio)']) },
      vars: {
        count: { type: 'integer', init: draws.of(['0', '2', 'inputs.n']) },
        level: { type: 'price', init: draws.of(['inputs.price', 'pinned']) },
        held: { type: 'size', init: draws.of(['inputs.size', '0.01']) },
        kept: { type: 'list<order>', init: [] },
        legs: { type: 'map<order>', init: {} },
      },
      ...(draws.chance(leaning.limits ? 0.9 : 0.5) ? { limits: this.limits() } : {}),
      ...(deadman === undefined ? {} : { deadman }),
      steps,
      ...(onError === undefined ? {} : { on_error: onError }),
      ...(last === undefined ? {} : { finally: last }),
      ...(this.used.has('cancel_all') ? { needs: ['cancel_all'] } : {}),
      outputs: { level: 'level', count: 'count' },
    };
  }

  /** Drawn orders are rarely closed again: most runs that may not leave them open fail. */
  private leaves(): Draft {
    const open = { position: 'open', because: 'drawn' };
    if (!this.leaning.strict && this.draws.chance(0.6)) return open;
    return { position: this.draws.of(['protected', 'protected', 'none']) };
  }

  private limits(): Draft {
    const { draws } = this;
    const all: Readonly<Record<string, Data>> = {
      max_order_size: '50',
      max_order_notional: draws.of(['50000', '700', 'inputs.size * inputs.price * 2']),
      max_run_notional: draws.of(['100000', '1500', 'inputs.size * inputs.price * inputs.n']),
      max_open_orders: draws.of([1, 3, 20, 'inputs.n + 1']),
      max_writes: draws.of([3, 12, 200]),
      sides: draws.of([['long'], ['long', 'short']]),
      markets: draws.of([
        ['BTC-USD', 'ETH-USD'],
        ['BTC-USD', 'ETH-USD', 'SOL-USD'],
      ]),
      price_band: draws.chance(0.5)
        ? { around: draws.of(['feeds.mid', 'inputs.price', 'level']), within: '5%' }
        : {
            'BTC-USD': { around: draws.of(['feeds.mid', "feeds.mark['BTC-USD']"]), within: '5%' },
            'ETH-USD': { around: "feeds.mark['ETH-USD']", within: draws.of(['1%', '10%']) },
          },
      mode: draws.of(['active', 'active', 'active', 'reducing', 'reducing', 'halted']),
      max_leverage: draws.of([10, 2, 'inputs.n + 1']),
      unknown_price: 'deny',
    };
    const some = Object.fromEntries(Object.entries(all).filter(() => draws.chance(0.2)));
    // The market of the feeds; the checker drops the orders in others.
    return draws.chance(0.1) ? { ...some, markets: ['${inputs.market}'] } : some;
  }

  /** Protective orders need a switch that is released after them. */
  private deadman(steps: Block): Draft | undefined {
    const { draws } = this;
    const guard = steps.findLast(({ fields }) => (fields['protect'] ?? fields['manage']) !== undefined)?.fields['id'];
    if (guard === undefined && (this.used.has('protect') || this.used.has('manage'))) return undefined;
    return {
      market: '${inputs.market}',
      timeout: draws.of(['20s', '60s', 'inputs.within * 3']),
      on_exit: this.onExit,
      ...(typeof guard === 'string' ? { release_after: guard } : {}),
      ...(draws.chance(0.2) ? { keep_alive: draws.of(['0s', '7s']) } : {}),
    };
  }

  private name(prefix: string): string {
    this.named += 1;
    return `${prefix}${this.named}`;
  }

  private block(outer: Sight, length: number): Block {
    let sight = outer;
    return Array.from({ length }, (_, index) => {
      const { step, names } = this.step(sight, index === length - 1);
      sight = { ...sight, ...names };
      return step;
    });
  }

  private inner(sight: Sight, changes: Partial<Sight> = {}, length = this.draws.within(1, 3)): Block {
    return this.block({ ...sight, depth: sight.depth + 1, ...changes }, length);
  }

  /** One step, and the names in sight after it. */
  private step(sight: Sight, isLast: boolean): { readonly step: Step; readonly names: Partial<Sight> } {
    const { draws } = this;
    this.steps += 1;
    const { steps: more = {} } = this.leaning;
    const allowed = (Object.entries(WEIGHTS) as [StepName, number][]).flatMap(([verb, weight]) =>
      this.mayDraw(verb, sight, isLast) ? [[verb, weight * (more[verb] ?? 1)]] : [],
    );
    const verb = draws.weighted(Object.fromEntries(allowed) as Record<StepName, number>);
    this.used.add(verb);
    const maybe = sight.maybes.at(-1);
    if (maybe !== undefined && draws.chance(0.25))
      return { step: new Step({ if: `${maybe}.hasValue()`, ...this.withOrder(maybe) }), names: {} };
    const { args, id, yields, wait, beside } = this.args(verb, sight);
    const { fields, sure } = this.modifiers(verb, sight, wait === true);
    const step = new Step({ ...(id === undefined ? {} : { id }), [verb]: args as Data, ...beside, ...fields });
    if (yields === undefined || id === undefined) return { step, names: yields ?? {} };
    if (yields.orders !== undefined && !sure) return { step, names: { maybes: [...sight.maybes, id] } };
    return { step, names: sure ? yields : {} };
  }

  /** A step about an order that is there when the step runs. */
  private withOrder(order: string): Readonly<Record<string, Data>> {
    const { draws } = this;
    const ignored = [{ on: ['rejected', 'not_found', 'denied'], then: 'continue' }];
    return draws.of<Readonly<Record<string, Data>>>([
      { cancel: order, await: 'terminal' },
      { refresh: order },
      { amend: { order, price: draws.of(['63000', `tick(${order}.price * 0.999)`]) }, catch: ignored },
      { wait_for: { order, is: 'terminal', within: '4s' } },
    ]);
  }

  private mayDraw(verb: StepName, sight: Sight, isLast: boolean): boolean {
    if (sight.reducing && ['increases'].includes(getStepRow(verb).risk)) return false;
    if (BLOCKS.includes(verb) && (sight.depth >= DEEPEST || this.steps > 25)) return false;
    if (verb === 'call') return this.callee !== undefined && !sight.reducing && !sight.looped;
    if (['amend', 'refresh'].includes(verb)) return sight.orders.length > 0;
    if (verb === 'stop' || verb === 'fail') return isLast && sight.depth > 0;
    return true;
  }

  /** The modifiers of a step; `sure`: whether its id names a value in any case. */
  private modifiers(verb: StepName, sight: Sight, bounded: boolean) {
    const { draws } = this;
    const { modifiers, await: awaits, undo } = getStepRow(verb);
    const undoWords = undo?.words;
    const may = (name: (typeof modifiers)[number], probability: number) =>
      modifiers.includes(name) &&
      draws.chance(Math.min(0.9, probability * (this.leaning.modifiers ?? 1)) / (1 + 2 * sight.handlers));
    const fields: Record<string, Data | Block> = {};
    let sure = true;
    const target = awaits !== undefined && may('await', 0.35) ? draws.of(awaits.allowed) : undefined;
    if (target !== undefined) fields['await'] = target;
    const waits = target !== undefined && ['any_fill', 'filled', 'terminal'].includes(target) && verb === 'place';
    if (may('if', 0.15) && verb !== 'let') {
      fields['if'] = this.condition(sight);
      sure = false;
    }
    if (may('retry', 0.2))
      fields['retry'] = {
        on: draws.chance(0.5) ? ['rejected', 'transport'] : [draws.of(ERROR_KINDS), 'timeout'],
        max: draws.within(0, 3),
        ...(draws.chance(0.5) ? { first: '300ms' } : {}),
        ...(draws.chance(0.3) ? { max_delay: '2s', jitter: false, factor: draws.of([1, 3]) } : {}),
      };
    if (may('because', 0.05)) fields['because'] = 'drawn at ${count}';
    if (waits || may('timeout', bounded ? 0.5 : 0.12)) {
      fields['timeout'] = draws.of(['1s', '5s', '20s', 'inputs.within', 'seconds(count + 1)']);
      if (draws.chance(0.6)) {
        fields['on_timeout'] = this.exceptional(sight);
        sure = false;
      }
    } else if (verb === 'wait_for' && draws.chance(0.8)) {
      fields['on_timeout'] = this.exceptional(sight);
      sure = false;
    }
    // A run that ends at its first failure shows little.
    if (
      may('catch', ['protect', 'manage', 'close', 'place', 'approve', 'wait_for', 'amend'].includes(verb) ? 0.5 : 0.3)
    ) {
      const clauses = Array.from({ length: draws.within(1, 2) }, () => ({
        on:
          this.leaning.doubts === true && draws.chance(0.4)
            ? ['unknown_outcome']
            : draws.chance(0.7)
              ? 'any'
              : [draws.of(ERROR_KINDS)],
        ...(draws.chance(0.2) ? { if: "error.kind != 'denied'" } : {}),
        ...(draws.chance(0.6) ? { do: this.exceptional(sight) } : {}),
        then: draws.of(['continue', 'continue', 'continue', 'continue', 'retry', 'fail', 'stop']),
      }));
      fields['catch'] = clauses as unknown as Data;
      sure = false;
    }
    if (may('undo', 0.25))
      fields['undo'] =
        undoWords !== undefined && draws.chance(0.5)
          ? draws.of(undoWords)
          : this.inner(sight, { reducing: true, depth: DEEPEST, handlers: sight.handlers + 1 }, draws.within(1, 2));
    if (may('allow', 0.15)) fields['allow'] = 'reduce';
    return { fields, sure };
  }

  private exceptional(sight: Sight): Block {
    return this.inner(sight, { depth: DEEPEST, handlers: sight.handlers + 1 }, this.draws.within(1, 2));
  }

  private condition(sight: Sight): string {
    const { draws } = this;
    const order = sight.orders.at(-1);
    const maybe = sight.maybes.at(-1);
    if (maybe !== undefined && draws.chance(0.4)) return `${draws.chance(0.3) ? '!' : ''}${maybe}.hasValue()`;
    return draws.of([
      'inputs.on',
      '!inputs.on',
      'count < 2',
      'feeds.mid > inputs.price',
      'inputs.n > 1',
      'position(inputs.market) > 0',
      "avg_entry('BTC-USD').orValue(1) < 64000 && fees('ETH-USD') >= 0",
      ...(order === undefined ? [] : [`${order}.open`, `${order}.filled > 0`]),
    ]);
  }

  private args(
    verb: StepName,
    sight: Sight,
  ): {
    readonly args: unknown;
    readonly id?: string;
    readonly yields?: Partial<Sight>;
    readonly wait?: boolean;
    /** The keys beside its name. */
    readonly beside?: Readonly<Record<string, Block>>;
  } {
    const { draws } = this;
    switch (verb) {
      case 'place': {
        const id = this.name('o');
        return { args: this.order(sight), id, yields: { orders: [...sight.orders, id] } };
      }
      case 'protect': {
        const id = this.name('guard');
        const at = this.market(sight);
        const leg = () => ({
          fraction: draws.of(['1', '0.5', 'inputs.n > 1 ? 0.5 : 1']),
          trigger: this.price(sight, at),
          price: this.price(sight, at),
        });
        const both = draws.within(0, 2);
        return {
          args: {
            market: at.text,
            side: this.side(sight),
            ...(both === 0 ? {} : { stop_loss: leg() }),
            ...(both === 1 ? {} : { take_profit: leg() }),
          },
          id,
        };
      }
      case 'close': {
        const at = this.market(sight);
        return {
          args: draws.chance(0.6) ? at.text : { market: at.text, feed: 'feeds.mid', slip: draws.of(['1%', '20%']) },
        };
      }
      case 'manage': {
        const id = this.name('held');
        const at = this.market(sight);
        const leg = () => ({ trigger: this.price(sight, at), price: this.price(sight, at) });
        const [stops, takes] = [draws.chance(0.8), draws.chance(0.6)];
        return {
          args: {
            market: at.text,
            side: this.side(sight),
            ...(stops ? { stop_loss: leg() } : {}),
            ...(takes ? { take_profit: { ...leg(), fraction: draws.of(['1', '0.5']) } } : {}),
            ...(stops && draws.chance(0.5) ? { trail: { feed: 'feeds.mid', by: '0.1%', step: '1bps' } } : {}),
            ...(stops && draws.chance(0.3) ? { break_even: { after: '2bps', offset: 0 } } : {}),
            ...(draws.chance(0.4) ? { escalate: { after: draws.of(['2s', 'inputs.within']), slip: '1%' } } : {}),
            time_limit: draws.of(['2s', '12s', 'inputs.within']),
          },
          id,
        };
      }
      case 'amend': {
        const order = draws.of(sight.orders);
        const at = { text: '', facts: BTC };
        return {
          args: {
            order,
            price: draws.chance(0.3) ? `tick(${order}.price * 0.999)` : this.price(sight, at),
            ...(draws.chance(0.4) ? { size: draws.of([`${order}.initial_size`, '0.02', 'inputs.size']) } : {}),
          },
          id: this.name('a'),
        };
      }
      case 'cancel':
        return { args: this.cancelled(sight) };
      case 'cancel_all':
        return { args: { everyone: true } };
      case 'refresh':
        return {
          args: draws.of<Data>([draws.of(sight.orders), sight.orders.slice(-2), 'kept', 'values(legs)']),
          id: this.name('r'),
        };
      case 'set_leverage':
        return {
          args: { market: this.market(sight).text, leverage: draws.of([2, 5, 'inputs.n + 1', 'inputs.n + 2.5']) },
        };
      case 'read_account': {
        const id = this.name('acct');
        return { args: {}, id, yields: { accounts: [...sight.accounts, id] } };
      }
      case 'list_orders': {
        const id = this.name('l');
        return { args: this.listing(sight, verb), id, yields: { orderLists: [...sight.orderLists, id] } };
      }
      case 'list_fills': {
        const id = this.name('f');
        return { args: this.listing(sight, verb), id, yields: { fillLists: [...sight.fillLists, id] } };
      }
      case 'arm_deadman':
        return { args: { market: '${inputs.market}', timeout: draws.of(['30s', '2m']) } };
      case 'read_deadman':
      case 'disarm_deadman':
        return { args: { market: '${inputs.market}' } };
      case 'let': {
        const [price, count] = [this.name('px'), this.name('n')];
        return {
          args: {
            [price]: draws.of(['feeds.mid', 'wanted', 'inputs.price * 0.999', 'level']),
            [count]: draws.of(['inputs.n', 'count + 1', '3', 'inputs.on ? 1 : 2']),
          },
          yields: { prices: [...sight.prices, price], counts: [...sight.counts, count] },
        };
      }
      case 'set':
        return {
          args: draws.of<Data>([
            { count: 'count + 1' },
            { level: draws.of(['feeds.mid', 'level * 1.01', 'inputs.price']) },
            { held: draws.of(['held * 2', 'inputs.size * 3']) },
            ...sight.orders
              .slice(-1)
              .flatMap((order) => [
                { kept: `kept + [${order}]` },
                { kept: `kept.remove(${order})` },
                { legs: `legs + {${order}.market_id: ${order}}` },
              ]),
          ]),
        };
      case 'assert':
        return { args: draws.of(['inputs.n < 3', 'count < 3', 'feeds.mid > 1', this.condition(sight)]) };
      case 'wait':
        return {
          args: draws.of<Data>([
            '500ms',
            '3s',
            sight.looped ? '1s' : '70s',
            'inputs.within',
            { until: 'run.started_at + seconds(20)' },
            { for: '250ms' },
          ]),
        };
      case 'wait_for':
        return this.wait(sight);
      case 'for_each':
        return this.forEach(sight);
      case 'repeat':
        return { args: this.repeat(sight) };
      case 'parallel':
        return { args: this.parallel(sight) };
      case 'if': {
        const taken = this.inner(sight);
        const other = draws.chance(0.6) ? this.inner(sight) : undefined;
        const placed = [...taken, ...(other ?? [])].flatMap(({ fields: { place, id } }) =>
          place !== undefined && typeof id === 'string' ? [id] : [],
        );
        return {
          args: this.condition(sight),
          beside: { do: taken, ...(other === undefined ? {} : { else: other }) },
          // The ids of its blocks may be absent after it.
          yields: { maybes: [...sight.maybes, ...placed] },
        };
      }
      case 'switch': {
        const cases = Array.from({ length: draws.within(1, 2) }, () => ({
          when: this.condition(sight),
          do: this.inner(sight),
        }));
        return { args: [...cases, ...(draws.chance(0.6) ? [{ else: this.inner(sight) }] : [])] };
      }
      case 'call': {
        const id = this.name('sub');
        return {
          args: {
            runbook: this.callee,
            ...(draws.chance(0.7)
              ? { with: { size: this.size(sight, BTC), n: draws.of(sight.counts), price: draws.of(sight.prices) } }
              : {}),
          },
          id,
          yields: { prices: [...sight.prices, `${id}.level`], counts: [...sight.counts, `${id}.count`] },
        };
      }
      case 'approve':
        return { args: { ask: 'go on?', by: ['trader'], within: '5s' } };
      case 'notify':
        return {
          args: {
            to: 'ops',
            text: 'at ${count}',
            ...(draws.chance(0.3) ? { severity: draws.of(NOTICE_SEVERITIES) } : {}),
          },
        };
      case 'stop':
        return { args: { outcome: 'enough' } };
      case 'fail':
        return { args: { because: 'drawn' } };
      default:
        return { args: {} };
    }
  }

  private market({ market, orders }: Sight): { readonly text: string; readonly facts: MarketFacts | undefined } {
    const { draws } = this;
    if (market !== undefined && draws.chance(0.7)) return { text: `\${${market}}`, facts: undefined };
    if (draws.chance(0.6)) return { text: draws.of(['${inputs.market}', 'BTC-USD']), facts: BTC };
    const order = orders.at(-1);
    if (order !== undefined && draws.chance(0.15)) return { text: `\${${order}.market_id}`, facts: undefined };
    if (draws.chance(0.2)) return { text: "${feeds.mid > inputs.price ? 'BTC-USD' : 'ETH-USD'}", facts: undefined };
    const facts = draws.of(MARKETS);
    return { text: facts.id, facts };
  }

  private side({ orders }: Sight): string {
    const order = orders.at(-1);
    if (order !== undefined && this.draws.chance(0.2)) return `\${opposite(${order}.side)}`;
    return this.draws.of(['long', 'short', 'long', '${inputs.side}', '${opposite(inputs.side)}']);
  }

  private size({ orders }: Sight, facts: MarketFacts | undefined): string {
    const { draws } = this;
    const order = orders.at(-1);
    if (this.leaning.limits === true && draws.chance(0.06)) return draws.of(['0.01005', '0.00001', '0.00000001']);
    if (order !== undefined && draws.chance(0.15))
      return `lot(max(${order}.${draws.of(['size', 'initial_size', 'filled', 'remaining'])}, 0.01))`;
    return draws.of([
      ...(facts?.sizes ?? ['0.1']),
      'lot(inputs.size)',
      'lot(inputs.size * (inputs.n + 1))',
      'lot(held)',
      'lot(abs(position(inputs.market)) + 0.01)',
    ]);
  }

  private price(
    { prices, orders, accounts, market }: Sight,
    { facts }: { readonly facts: MarketFacts | undefined },
  ): string {
    const { draws } = this;
    // Off the tick, or near nothing that is traded.
    if (this.leaning.limits === true && draws.chance(0.06)) return draws.of(['63990.5', '0.5', '64000.25']);
    if (facts === undefined) return market === undefined ? 'tick(feeds.mid)' : `tick(feeds.mark[${market}] * 0.999)`;
    if (facts !== BTC || draws.chance(0.35)) return draws.of(facts.prices);
    const [order, account] = [orders.at(-1), accounts.at(-1)];
    return draws.of([
      'tick(feeds.mid)',
      'tick(feeds.mid * (1 - inputs.ratio))',
      'tick(feeds.mid * 1.002)',
      'tick(wanted)',
      'tick(pinned * 0.9995)',
      ...prices.map((price) => `tick(${price})`),
      ...(order === undefined ? [] : [`tick(${order}.price)`, `tick(${order}.avg_price.orValue(64000))`]),
      ...(account === undefined ? [] : [`${account}.account_equity > 1 ? 64000 : 63000`]),
    ]);
  }

  private order(sight: Sight): Draft {
    const { draws } = this;
    const at = this.market(sight);
    const type = draws.weighted({ limit: 7, market: 2, stop_limit: 1, stop_market: 1 });
    const isLimit = type === 'limit';
    const tif = draws.of(
      isLimit ? ['good_till_cancel', 'post_only', 'immediate_or_cancel', 'fill_or_kill'] : ['immediate_or_cancel'],
    );
    const resends = isLimit && draws.chance(0.3);
    const hasPrice = type === 'limit' || type === 'stop_limit' || draws.chance(0.6);
    return {
      type,
      market: at.text,
      side: this.side(sight),
      size: this.size(sight, at.facts),
      ...(hasPrice ? { price: this.price(sight, at) } : {}),
      ...(type.startsWith('stop') ? { trigger: this.price(sight, at) } : {}),
      ...(resends
        ? { on_ambiguous: 'resend', ...(draws.chance(0.5) ? { tif: 'post_only' } : {}) }
        : isLimit && draws.chance(0.4)
          ? { tif }
          : {}),
      ...(draws.chance(0.1) ? { tag: 'drawn' } : {}),
    };
  }

  private cancelled({ orders, orderLists, collected }: Sight): Data {
    const { draws } = this;
    const [order, list, rows] = [orders.at(-1), orderLists.at(-1), collected.at(-1)];
    return draws.of<Data>([
      { mine: draws.of(['${inputs.market}', 'ETH-USD', 'BTC-USD']) },
      ...(order === undefined ? [] : [order, draws.of(orders), orders, 'kept', { ids: `[${orders.join(', ')}]` }]),
      ...(list === undefined ? [] : [{ ids: `${list}.orders` }, { ids: `${list}.orders.map(x, x.id)` }]),
      ...(rows === undefined
        ? []
        : [{ ids: `${rows}.map(x, x.o)` }, { ids: `${rows}.filter(x, x.o.open).map(x, x.o)` }]),
    ]);
  }

  private listing(sight: Sight, verb: 'list_orders' | 'list_fills'): Draft {
    const { draws } = this;
    const order = sight.orders.at(-1);
    if (order !== undefined && draws.chance(0.2)) return { order };
    return {
      ...(draws.chance(0.7) ? { market: this.market(sight).text } : {}),
      ...(verb === 'list_orders' && draws.chance(0.4) ? { status: draws.of(['open', 'closed', 'canceled']) } : {}),
      ...(draws.chance(0.7)
        ? { since: draws.of(['run.started_at', 'now - days(2)', 'run.started_at - minutes(5)']) }
        : {}),
      ...(draws.chance(0.2) ? { until: 'now + hours(1)' } : {}),
      ...(draws.chance(0.35)
        ? { all_pages: true }
        : {
            ...(draws.chance(0.3) ? { limit: draws.of([10, 1000, 'inputs.n + 1']) } : {}),
            ...(draws.chance(0.2) ? { page: 0 } : {}),
            ...(draws.chance(0.3) ? { sort: draws.of(['asc', 'desc']) } : {}),
          }),
    };
  }

  private wait(sight: Sight): ReturnType<Author['args']> {
    const { draws } = this;
    if (sight.orders.length > 1 && draws.chance(0.3)) {
      const id = this.name('first');
      return {
        args: {
          any: [draws.of(sight.orders), ...sight.orders.slice(-2)],
          is: draws.of(['live', 'any_fill', 'filled', 'terminal']),
          within: draws.of(['1s', '6s', 'inputs.within']),
        },
        id,
        yields: { counts: [...sight.counts, `${id}.which`] },
        wait: true,
      };
    }
    if (draws.chance(0.2))
      return {
        args: {
          until: this.condition(sight),
          ...(draws.chance(0.5) ? { every: draws.of(['500ms', '2s', '5s']) } : {}),
          within: draws.of(['3s', 'inputs.within', '20s']),
        },
        wait: true,
      };
    if (sight.orders.length > 0 && draws.chance(0.65))
      return {
        args: {
          order: draws.of(sight.orders),
          is: draws.of(['live', 'any_fill', 'filled', 'terminal']),
          within: draws.of(['1s', '6s', 'inputs.within', sight.looped ? '3s' : '90s', 'seconds(count + 2)']),
        },
        wait: true,
      };
    const id = this.name('w');
    const [read, until] = draws.of<readonly [Step, string]>([
      [new Step({ id, read_account: {} }), `${id}.account_equity < 0`],
      [
        new Step({ id, list_fills: { market: '${inputs.market}', since: 'run.started_at' } }),
        `${id}.fills.size() > count`,
      ],
      [new Step({ id, list_orders: { status: 'open', since: 'run.started_at' } }), `${id}.orders.size() == 0`],
    ]);
    return {
      args: { read, until, every: draws.of(['500ms', '2s', '5s']), within: draws.of(['3s', 'inputs.within', '20s']) },
      wait: true,
    };
  }

  private forEach(sight: Sight) {
    const { draws } = this;
    const each = this.name('k');
    const id = this.name('list');
    const collects = draws.chance(0.5);
    const rows = sight.collected.at(-1);
    const order = this.name('o');
    if (rows !== undefined && draws.chance(0.5)) {
      const of = draws.of([rows, `${rows}.filter(x, x.o.open)`]);
      return {
        args: { each, in: of, do: this.inner(sight, { orders: [...sight.orders, `${each}.o`], looped: true }) },
      };
    }
    if (!sight.reducing && draws.chance(0.2)) {
      // As a grid does: each order that has ended is replaced by another.
      const next = new Step({ id: order, place: this.order(sight) as Data });
      const swap = new Step({ set: { kept: `kept.remove(${each}) + [${order}]` } });
      const inside = { orders: [...sight.orders, each, order], looped: true };
      return {
        args: {
          each,
          in: draws.of(['kept', 'kept.filter(x, x.terminal)']),
          do: [next, swap, ...this.inner(sight, inside, 1)],
        },
      };
    }
    const listed = sight.orderLists.at(-1);
    if (listed !== undefined && draws.chance(0.25)) {
      // Orders of other programs too, which it can only read and cancel.
      const inside = { orders: [...sight.orders, each], looped: true };
      return { args: { each, in: `${listed}.orders`, do: this.inner(sight, inside) } };
    }
    if (draws.chance(0.25)) {
      const inside = { market: each, looped: true };
      return { args: { each, in: 'inputs.markets', do: this.inner(sight, inside) } };
    }
    const list = draws.of([
      `range(${draws.within(0, 4)})`,
      `range(${draws.of(sight.counts)})`,
      'range(inputs.n)',
      '[1, 2]',
      'kept',
      'keys(legs)',
      ...sight.orderLists.map((each) => `${each}.orders`),
      ...sight.fillLists.map((each) => `${each}.fills`),
    ]);
    const first = new Step({ id: order, place: this.order(sight) as Data });
    const rest = this.inner(
      sight,
      { orders: [...sight.orders, ...(collects ? [order] : [])], looped: true },
      draws.within(0, 2),
    );
    return {
      args: {
        each,
        in: list,
        ...(draws.chance(0.3) ? { at: this.name('i') } : {}),
        do: collects && !sight.reducing ? [first, ...rest] : this.inner(sight, { looped: true }),
        ...(collects && !sight.reducing ? { collect: { o: order } } : {}),
      },
      ...(collects && !sight.reducing ? { id, yields: { collected: [...sight.collected, id] } } : {}),
    };
  }

  private repeat(sight: Sight): Draft {
    const { draws } = this;
    const bound = draws.within(0, 2);
    return {
      ...(bound === 1 ? {} : { max: draws.of([1, 2, 3, 'inputs.n', 'count + 1', draws.of(sight.counts)]) }),
      ...(bound === 0 ? {} : { for: draws.of(['5s', 'inputs.within', '15s']) }),
      ...(bound !== 0 || draws.chance(0.5) ? { every: draws.of(['2s', '5s', 'inputs.within / 4']) } : {}),
      ...(draws.chance(0.5) ? { [draws.of(['while', 'until'])]: this.condition(sight) } : {}),
      do: this.inner(sight, { looped: true }, draws.within(1, 3)),
    };
  }

  private parallel(sight: Sight): Draft {
    const { draws } = this;
    const onFail = draws.chance(0.6) ? { on_fail: draws.of(['cancel_others', 'let_others_finish']) } : {};
    if (draws.chance(0.5)) {
      const names = Array.from({ length: draws.within(2, 3) }, () => this.name('b'));
      return {
        branches: Object.fromEntries(names.map((name) => [name, this.inner(sight)])),
        ...(draws.chance(0.6) ? { join: draws.of(['all', 'any']) } : {}),
        ...onFail,
      };
    }
    const each = this.name('p');
    const markets = draws.chance(0.4);
    return {
      each,
      in: markets ? 'inputs.markets' : draws.of(['range(3)', 'range(inputs.n)', `range(${draws.of(sight.counts)})`]),
      max: draws.of([1, 2, 4]),
      ...onFail,
      do: this.inner(sight, { looped: true, ...(markets ? { market: each } : {}) }),
    };
  }
}
