/**
 * The state of an abstract run for the check of `leaves`: what is known of each order that can open a position, on one path. A
 * condition narrows it where its text says so. Rather too little is concluded than too much: what a condition says in another
 * way leaves a doubt.
 */
import type { CheckedRunbook, CheckedStep } from '../checked.ts';
import { walkSteps } from '../steps/walk.ts';
import type { Expr } from '../values.ts';

/** An order that can open a position, on one path. */
export interface OrderFact {
  readonly step: CheckedStep;
  /** Whether it may have filled, in part or whole. */
  readonly fill: 'none' | 'may' | 'some';
  /** It may still fill. */
  readonly working: boolean;
}

export interface PathState {
  /** By the path of the step that places it; an earlier round of a loop has a key of its own. */
  readonly orders: ReadonlyMap<string, OrderFact>;
  /** A stop-loss of the whole position works. */
  readonly covered: boolean;
  /** Something on the path can have closed, covered or opened more than is known. */
  readonly doubt: boolean;
  /** What happened on it, for the message: `line 12: place`. */
  readonly trace: readonly string[];
}

export const START: PathState = { orders: new Map(), covered: false, doubt: false, trace: [] };

/** A joined order of earlier rounds of a loop. */
const EARLIER = '#earlier';

export function withOrder(state: PathState, key: string, fact: OrderFact): PathState {
  const orders = new Map(state.orders);
  const before = orders.get(key);
  if (before !== undefined && (before.fill !== 'none' || before.working)) orders.set(`${key}${EARLIER}`, before);
  orders.set(key, fact);
  return { ...state, orders };
}

/** The orders that are or may be a position, or may become one. */
export function listExposed({ orders }: PathState): readonly OrderFact[] {
  return [...orders.values()].filter(({ fill, working }) => fill !== 'none' || working);
}

export function isExposed(state: PathState): boolean {
  return listExposed(state).length > 0;
}

/** Takes what `change` makes of one order, or of all. */
export function changeOrders(
  state: PathState,
  which: string | 'all',
  change: (fact: OrderFact) => OrderFact,
): PathState {
  const orders = new Map(
    [...state.orders].map(([key, fact]) => [key, which === 'all' || key === which ? change(fact) : fact]),
  );
  return { ...state, orders };
}

export const endOrder = (fact: OrderFact): OrderFact => ({ ...fact, working: false });

/** Names of a runbook's steps, as conditions use them. */
export class StepNames {
  private readonly places = new Map<string, string>();
  private readonly protections = new Set<string>();
  /** Names whose values say nothing about orders. */
  private readonly others = new Set(['inputs', 'feeds', 'now', 'run']);

  constructor(runbook: CheckedRunbook) {
    for (const step of walkSteps([...runbook.steps, ...runbook.onError, ...runbook.finally])) {
      if (step.id === undefined) continue;
      if (step.verb === 'place') this.places.set(step.id, step.path);
      else if (step.verb === 'protect') this.protections.add(step.id);
      else if (step.verb === 'read_account' || step.verb === 'read_tier' || step.verb === 'request')
        this.others.add(step.id);
    }
  }

  /** The key of the order that an expression names by a step's id alone. */
  findPlace(text: string): string | undefined {
    return this.places.get(text.trim());
  }

  /** Whether an expression names an order of a `protect`. */
  isProtection(text: string): boolean {
    return this.protections.has(text.trim().split('.')[0] ?? '');
  }

  /** Whether a condition can have to do with orders: it reads more than inputs, feeds, times and the account. */
  concernsOrders({ reads }: Expr): boolean {
    return reads.some((root) => !this.others.has(root.split('.')[0] ?? ''));
  }
}

/** The state where the condition is as `truth` says; undefined where it cannot be. */
export function narrow(
  state: PathState,
  condition: Expr<boolean>,
  truth: boolean,
  names: StepNames,
): PathState | undefined {
  const text = condition.text.trim();
  const doubtful = { ...state, doubt: state.doubt || names.concernsOrders(condition) };
  if (/\|\||\?|[()]\s*&&|&&\s*[()]/.test(text.replaceAll('.hasValue()', ''))) return doubtful;
  const parts = text.split('&&').map((part) => part.trim());
  const atoms = parts.map((part) => parseAtom(part, names));
  if (!truth && parts.length > 1) return atoms.every((atom) => atom !== undefined) ? state : doubtful;
  let narrowed: PathState | undefined = state;
  for (const [index, atom] of atoms.entries()) {
    const part = parts[index] ?? '';
    if (atom === undefined) {
      if (narrowed !== undefined && concerns(part, condition, names)) narrowed = { ...narrowed, doubt: true };
    } else narrowed = narrowed && applyAtom(narrowed, atom, truth);
  }
  return narrowed;
}

/** Whether a part of a condition that is not understood reads what has to do with orders. */
function concerns(part: string, condition: Expr, names: StepNames): boolean {
  const reads = condition.reads.filter((root) => new RegExp(`\\b${root.split('.')[0]}\\b`).test(part));
  return names.concernsOrders({ ...condition, reads, evaluate: condition.evaluate });
}

type Saying = 'filled' | 'whole' | 'working' | 'placed';
interface Atom {
  readonly key: string;
  readonly says: Saying;
  readonly positive: boolean;
}

const FORMS: readonly (readonly [RegExp, Saying, boolean])[] = [
  [/^filled == 0$/, 'filled', false],
  [/^filled (?:>|!=) 0$/, 'filled', true],
  [/^avg_price\.hasValue\(\)$/, 'filled', true],
  [/^remaining == 0$/, 'whole', true],
  [/^remaining (?:>|!=) 0$/, 'whole', false],
  [/^open$/, 'working', true],
  [/^terminal$/, 'working', false],
];

function parseAtom(text: string, names: StepNames): Atom | undefined {
  const negated = text.startsWith('!');
  const plain = negated ? text.slice(1).trim() : text;
  const [, id = '', rest = ''] = /^([A-Za-z_]\w*)\.(.+)$/.exec(plain) ?? [];
  const key = names.findPlace(id);
  if (key === undefined) return undefined;
  if (rest === 'hasValue()') return { key, says: 'placed', positive: !negated };
  const form = FORMS.find(([pattern]) => pattern.test(rest));
  return form && { key, says: form[1], positive: form[2] !== negated };
}

function applyAtom(state: PathState, { key, says, positive }: Atom, truth: boolean): PathState | undefined {
  const fact = state.orders.get(key);
  const holds = positive === truth;
  if (says === 'placed') return holds === (fact !== undefined) ? state : undefined;
  if (fact === undefined) return state;
  const set = (change: Partial<OrderFact>) => changeOrders(state, key, (each) => ({ ...each, ...change }));
  if (says === 'working') return holds ? state : set({ working: false });
  if (says === 'whole') return holds ? set({ fill: 'some', working: false }) : state;
  if (holds) return fact.fill === 'none' && !fact.working ? undefined : set({ fill: 'some' });
  if (fact.fill === 'some') return undefined;
  // What has filled is known of an order that has ended; a working one may fill after it was looked at.
  return fact.working ? state : set({ fill: 'none' });
}
