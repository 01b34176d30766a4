/**
 * Narrows the state of the check of `leaves` by a condition, where its text says something about an order, or about a measure of what
 * filled. What a condition says in another way leaves a doubt.
 */
import type { CheckedRunbook, CheckedStep, StepOf } from '../checked.ts';
import { walkSteps } from '../steps/walk.ts';
import type { Expr } from '../values.ts';
import { assumeZero, changeOrders, countOrders, nameMarket, type OrderFact, type PathState } from './facts.ts';

/** `done + entry.filled + taker.filled.orValue(0)`: a sum of what filled, whose terms are never negative. */
const FILLED_TERM = /^([A-Za-z_]\w*)\.filled(?:\.orValue\(0\))?$/;

/** Names of a runbook's steps and variables, as conditions use them. */
export class StepNames {
  private readonly places = new Map<string, string>();
  private readonly protections = new Map<string, StepOf<'protect'>>();
  /** Names whose values say nothing about orders. */
  private readonly others = new Set(['inputs', 'feeds', 'now', 'run']);
  /** Of these, the ones that are the same during the whole run. */
  private readonly steady: ReadonlySet<string>;
  /** Variables that begin at zero and only ever add what orders filled. */
  private readonly sums: ReadonlySet<string>;

  constructor(runbook: CheckedRunbook) {
    const steps = [...walkSteps([...runbook.steps, ...runbook.onError, ...runbook.finally])];
    for (const step of steps) {
      if (step.id === undefined) continue;
      if (step.verb === 'place') this.places.set(step.id, step.path);
      else if (step.verb === 'protect') this.protections.set(step.id, step);
      else if (step.verb === 'read_account' || step.verb === 'read_tier' || step.verb === 'request')
        this.others.add(step.id);
    }
    const lets = runbook.let.filter(({ value }) =>
      value.reads.every((root) => this.others.has(root.split('.')[0] ?? '')),
    );
    for (const { name } of lets) this.others.add(name);
    this.steady = new Set(['inputs', ...runbook.let.map(({ name }) => name)]);
    this.sums = new Set(runbook.vars.filter(({ init }) => init.text.trim() === '0').map(({ name }) => name));
    const grows = steps.flatMap((step) => (step.verb === 'set' ? step.args.names : []));
    this.sums = new Set(
      [...this.sums].filter((sum) =>
        grows.every(({ name, value }) => name !== sum || listSummed(sum, value.text) !== undefined),
      ),
    );
  }

  /** The key of the order that an expression names by a step's id alone. */
  findPlace(text: string): string | undefined {
    return this.places.get(text.trim());
  }

  /** The `protect` of which an expression names an order. */
  findProtected(text: string): StepOf<'protect'> | undefined {
    return this.protections.get(text.trim().split('.')[0] ?? '');
  }

  /** Whether a condition can have to do with orders: it reads more than inputs, feeds, times and the account. */
  concernsOrders({ reads }: Pick<Expr, 'reads'>): boolean {
    return reads.some((root) => !this.others.has(root.split('.')[0] ?? ''));
  }

  /** Whether a condition has the same value at each place. */
  isSteady({ reads, text }: Expr): boolean {
    return reads.length > 0 && !readsFills(text) && reads.every((root) => this.steady.has(root));
  }

  isSum(name: string): boolean {
    return this.sums.has(name);
  }

  /** The state after variables and lets got values: what a sum of fills, or a name for one, counts. */
  note(state: PathState, step: CheckedStep): PathState {
    if (step.verb === 'list_fills') {
      const { market, allPages } = step.args;
      if (step.id === undefined || market === undefined || !allPages) return state;
      return countOrders(state, `net_size(${step.id}.fills)`, (fact) => fact.market === nameMarket(market.text));
    }
    if (step.verb !== 'let' && step.verb !== 'set') return state;
    let noted = state;
    for (const { name, value } of step.args.names) {
      const text = value.text.trim();
      if (step.verb === 'let') noted = countOrders(forget(noted, name), name, ({ counted }) => counted.has(text));
      else if (this.isSum(name)) {
        const summed = (listSummed(name, text) ?? []).map((id) => this.places.get(id));
        noted = countOrders(noted, name, (_, key) => summed.includes(key));
      }
    }
    return noted;
  }
}

function forget(state: PathState, measure: string): PathState {
  return changeOrders(
    state,
    ({ counted }) => counted.has(measure),
    (fact) => ({ ...fact, counted: new Set([...fact.counted].filter((each) => each !== measure)) }),
  );
}

/** The ids whose `filled` an assignment adds to a variable; undefined where it does anything else. */
function listSummed(name: string, text: string): readonly string[] | undefined {
  const [first, ...terms] = text.split('+').map((term) => term.trim());
  const ids = terms.map((term) => FILLED_TERM.exec(term)?.[1]);
  return first === name && ids.every((id) => id !== undefined) ? ids : undefined;
}

/** The state where the condition is as `truth` says; undefined where it cannot be. */
export function narrowByText(
  state: PathState,
  condition: Expr<boolean>,
  truth: boolean,
  names: StepNames,
): PathState | undefined {
  const text = condition.text.trim();
  if (names.isSteady(condition)) return decide(state, text, truth);
  const doubtful = { ...state, doubt: state.doubt || readsFills(text) || names.concernsOrders(condition) };
  if (/\|\||\?|[()]\s*&&|&&\s*[()]/.test(text.replaceAll(/\.(?:hasValue\(\)|orValue\(\d\))/g, ''))) return doubtful;
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

/**
 * A condition whose value never changes goes the same way each time. Another one about the same inputs may depend on it, so that
 * the path may be impossible.
 */
function decide(state: PathState, text: string, truth: boolean): PathState | undefined {
  const decided = takeDecision(state.decided, text, truth);
  if (decided === undefined || decided === state.decided) return decided && state;
  const names = listNames(text);
  const related = [...state.decided.keys()].some((each) => listNames(each).some((name) => names.includes(name)));
  return { ...state, decided, doubt: state.doubt || related };
}

/** The decisions of a path with one more about a condition whose value never changes; undefined where it was decided otherwise. */
export function takeDecision(
  decided: ReadonlyMap<string, boolean>,
  text: string,
  truth: boolean,
): ReadonlyMap<string, boolean> | undefined {
  const plain = text.startsWith('!') ? text.slice(1).trim() : text;
  const value = plain === text ? truth : !truth;
  const known = decided.get(plain);
  if (known !== undefined) return known === value ? decided : undefined;
  return new Map(decided).set(plain, value);
}

function listNames(text: string): readonly string[] {
  return (text.replaceAll(/'[^']*'|"[^"]*"/g, '').match(/[A-Za-z_][\w.]*/g) ?? []).filter(
    (name) => name !== 'true' && name !== 'false',
  );
}

/** Whether an expression calls a function over the fills of the run: its value changes, whatever its arguments are. */
export function readsFills(text: string): boolean {
  return /(?<![.\w])(?:position|avg_entry|realized|fees)\(/.test(text);
}

/** Whether a part of a condition that is not understood reads what has to do with orders. */
function concerns(part: string, condition: Expr, names: StepNames): boolean {
  if (readsFills(part)) return true;
  const reads = condition.reads.filter((root) => new RegExp(`\\b${root.split('.')[0]}\\b`).test(part));
  return names.concernsOrders({ reads });
}

type Saying = 'filled' | 'whole' | 'working' | 'placed';
type Atom =
  | { readonly kind: 'order'; readonly key: string; readonly says: Saying; readonly positive: boolean }
  /** `zero`: the atom says that the measure is zero. */
  | {
      readonly kind: 'measure';
      readonly measure: string;
      readonly whole: boolean;
      readonly zero: boolean;
      /** It shows whether a position on this side is there, and nothing of one on the other. */
      readonly side?: 'long' | 'short' | undefined;
    };

const FORMS: readonly (readonly [RegExp, Saying, boolean])[] = [
  [/^filled(?:\.orValue\(0\))? == 0$/, 'filled', false],
  [/^filled(?:\.orValue\(0\))? (?:>|!=) 0$/, 'filled', true],
  [/^avg_price\.hasValue\(\)$/, 'filled', true],
  [/^remaining == 0$/, 'whole', true],
  [/^remaining (?:>|!=) 0$/, 'whole', false],
  [/^open$/, 'working', true],
  [/^terminal$/, 'working', false],
];

function parseAtom(text: string, names: StepNames): Atom | undefined {
  const [, measure, operator] = /^(\w+|net_size\(\w+\.fills\)|position\([^()]+\)) (==|!=|>|<) 0$/.exec(text) ?? [];
  if (measure !== undefined) {
    const sum = names.isSum(measure);
    if (operator === '<' && sum) return undefined;
    const side = sum ? undefined : operator === '>' ? 'long' : operator === '<' ? 'short' : undefined;
    return { kind: 'measure', measure, whole: !sum, zero: operator === '==', side };
  }
  const negated = text.startsWith('!');
  const plain = negated ? text.slice(1).trim() : text;
  const [, id = '', rest = ''] = /^([A-Za-z_]\w*)\.(.+)$/.exec(plain) ?? [];
  const key = names.findPlace(id);
  if (key === undefined) return undefined;
  if (rest === 'hasValue()') return { kind: 'order', key, says: 'placed', positive: !negated };
  const form = FORMS.find(([pattern]) => pattern.test(rest));
  return form && { kind: 'order', key, says: form[1], positive: form[2] !== negated };
}

function applyAtom(state: PathState, atom: Atom, truth: boolean): PathState | undefined {
  if (atom.kind === 'measure') {
    const { measure, whole, side } = atom;
    const market = /^position\((.+)\)$/.exec(measure)?.[1];
    const isThere = (fact: OrderFact) => market !== undefined && fact.market === nameMarket(market);
    const known = market === undefined ? state : countOrders(state, measure, isThere);
    const isKnown = [...known.orders.values()].some(({ counted }) => counted.has(measure));
    // A position on the other side is one too: orders of one side and their stops alone cannot make it.
    const isOneSided = !state.doubt && [...known.orders.values()].every(({ step }) => step.args.side.text === side);
    if (!isKnown || (side !== undefined && !isOneSided))
      return { ...state, doubt: state.doubt || state.orders.size > 0 };
    return atom.zero === truth ? assumeZero(known, measure, whole) : state;
  }
  const { key, says, positive } = atom;
  const fact = state.orders.get(key);
  const holds = positive === truth;
  if (says === 'placed') return holds === (fact !== undefined) ? state : undefined;
  if (fact === undefined) return state;
  const set = (change: Partial<typeof fact>) =>
    changeOrders(
      state,
      (_, each) => each === key,
      (each) => ({ ...each, ...change }),
    );
  if (says === 'working') return holds ? state : set({ working: false });
  if (says === 'whole') return holds ? set({ fill: 'some', working: false }) : state;
  if (holds) return fact.fill === 'none' && !fact.working ? undefined : set({ fill: 'some' });
  if (fact.fill === 'some') return undefined;
  // What has filled is known of an order that has ended; a working one may fill after it was looked at.
  return fact.working ? state : set({ fill: 'none' });
}
