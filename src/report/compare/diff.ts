/**
 * Two runs side by side: what was decided differently, and what each had been told before that could be the cause. Entries
 * are compared by what they are about (a step's second condition with the same step's second condition), not by position,
 * because branches that run at the same time interleave differently. Ids that follow from a run's name, and times, are no
 * difference. It names what came first; whether that was the cause is for the reader to judge.
 */
import { canonicalJson } from '../../base/json.ts';
import type { Entry, Json, JsonObject } from '../../journal/entry.ts';
import { StoreError } from '../../journal/store.ts';
import { isoTime, readBy } from '../format.ts';

/** `told`: inputs, feeds, answers, people. `done`: decisions, requests, variables, step ends. */
type DifferenceSide = 'told' | 'done';

export interface Difference {
  readonly side: DifferenceSide;
  readonly what: 'input' | 'answer' | 'feed' | 'person' | 'decision' | 'request' | 'variable' | 'step' | 'end';
  /** The step it belongs to; empty for the run itself. */
  readonly step: string;
  /** What exactly: an expression, an endpoint, a name. */
  readonly about: string;
  /** Absent where the run has nothing of the kind there. */
  readonly left?: Occurrence;
  readonly right?: Occurrence;
  /** The fields that differ, where both are there. */
  readonly fields: readonly FieldDifference[];
}

export interface Occurrence {
  readonly sequence: number;
  readonly at: string;
  readonly value: Json;
}

export interface FieldDifference {
  /** Empty for the whole value. */
  readonly field: string;
  readonly left: Json;
  readonly right: Json;
}

export interface DiffSide {
  readonly run: string;
  readonly runbook: string;
  readonly mode: string;
  readonly outcome: string | null;
  readonly startedAt: string;
  readonly definition: string;
  readonly engine: string;
}

/** `audit diff RUN RUN --json`. */
export interface DiffDocument {
  /** True when both were told and did the same. */
  readonly same: boolean;
  readonly left: DiffSide;
  readonly right: DiffSide;
  /** Whether both ran the same text of the runbook. */
  readonly sameDefinition: boolean;
  /** Inputs, seed, settings, mode: what differed before the first step. */
  readonly start: readonly FieldDifference[];
  /** What was done differently first. */
  readonly first?: Difference;
  /** What was told differently before that, oldest first: the last of them is the nearest. */
  readonly before: readonly Difference[];
  /** Everything, in the order of the left run. */
  readonly differences: readonly Difference[];
}

/** Throws StoreError `damaged` when one does not begin with `run.started`. */
export function diffRuns(left: readonly Entry[], right: readonly Entry[]): DiffDocument {
  const [a, b] = [new Reading(left), new Reading(right)];
  const differences = compare(a.marks, b.marks);
  const first = differences.find((each) => each.side === 'done');
  const start = fieldDifferences(a.start, b.start);
  return {
    same: differences.length === 0 && start.length === 0,
    left: a.side,
    right: b.side,
    sameDefinition: a.side.definition === b.side.definition,
    start,
    ...(first === undefined ? {} : { first }),
    before: first === undefined ? [] : differences.filter((each) => each.side === 'told' && precedes(each, first)),
    differences,
  };
}

/** Whether the earlier occurrence of `told` came before the earlier one of `done`, in a run that has both. */
function precedes(told: Difference, done: Difference): boolean {
  const before = (a: Occurrence | undefined, b: Occurrence | undefined) =>
    a !== undefined && b !== undefined && a.sequence < b.sequence;
  return before(told.left, done.left) || before(told.right, done.right);
}

/** One thing a run was told or did. */
interface Mark {
  readonly key: string;
  readonly side: DifferenceSide;
  readonly what: Difference['what'];
  readonly step: string;
  readonly about: string;
  readonly sequence: number;
  readonly at: number;
  readonly value: Json;
  /** What counts as a difference. */
  readonly compared: Json;
}

class Reading {
  readonly side: DiffSide;
  readonly start: JsonObject;
  readonly marks: readonly Mark[];
  private readonly names: Names;

  constructor(entries: readonly Entry[]) {
    const [started] = entries;
    if (started?.type !== 'run.started')
      throw new StoreError('damaged', `run ${started?.run ?? ''} does not begin with run.started`);
    const ended = entries.findLast((entry) => entry.type === 'run.ended');
    const { runbook, mode, sources, engine, inputs, seed, settings, fixture, trigger } = started.data;
    this.side = {
      run: started.run,
      runbook,
      mode,
      outcome: ended?.data.outcome ?? null,
      startedAt: isoTime(started.data.startedAt),
      definition: sources[0]?.sha256 ?? '',
      engine,
    };
    const called = Object.fromEntries(sources.slice(1).map(({ name, sha256 }) => [name, sha256]));
    this.start = { inputs, seed, mode, trigger, settings, called, fixture: fixture?.sha256 ?? null };
    this.names = new Names(started.run);
    this.marks = this.read(entries);
  }

  private read(entries: readonly Entry[]): readonly Mark[] {
    const marks: Mark[] = [];
    const counts = new Map<string, number>();
    const endpoints = new Map<string, string>();
    // An answer names an order before the entry that says whose it is.
    for (const entry of entries) this.names.learn(entry);
    for (const entry of entries) {
      if (entry.type === 'call.intended') endpoints.set(entry.data.call, entry.data.endpoint);
      const told = markOf(entry, endpoints);
      if (told === undefined) continue;
      const { side, what } = told;
      const about = String(this.names.neutral(told.about));
      const kind = canonicalJson([what, entry.step, about]);
      const count = (counts.get(kind) ?? 0) + 1;
      counts.set(kind, count);
      const value = this.names.neutral(told.value);
      const compared = told.compared === undefined ? value : this.names.neutral(told.compared);
      marks.push({
        key: `${kind} ${count}`,
        side,
        what,
        about,
        step: entry.step,
        sequence: entry.seq,
        at: entry.at,
        value,
        compared,
      });
    }
    return marks;
  }
}

/** What an entry contributes to the comparison. Reads that only watch an order are not compared one by one: what they showed is. */
function markOf(
  entry: Entry,
  endpoints: ReadonlyMap<string, string>,
): (Pick<Mark, 'side' | 'what' | 'about' | 'value'> & { readonly compared?: Json }) | undefined {
  switch (entry.type) {
    case 'step.decided': {
      const { what, expression, value, inputs } = entry.data;
      // A decision that falls the same from other figures is no other decision.
      return {
        side: 'done',
        what: 'decision',
        about: `${what} ${expression}`,
        compared: value,
        value: { value, with: readBy(expression, inputs) },
      };
    }
    case 'step.ended': {
      const { outcome, error, attempts } = entry.data;
      return {
        side: 'done',
        what: 'step',
        about: entry.data.verb,
        value: { outcome, attempts, error: error?.kind ?? null },
      };
    }
    case 'variable.set':
      return { side: 'done', what: 'variable', about: entry.data.name, value: entry.data.value };
    case 'call.intended':
      return isRoutine(entry.step)
        ? undefined
        : { side: 'done', what: 'request', about: entry.data.endpoint, value: entry.data.params };
    case 'call.settled': {
      if (isRoutine(entry.step)) return undefined;
      const { call, kind, failure, code, message, result } = entry.data;
      const value = {
        kind,
        failure: failure ?? null,
        code: code ?? null,
        message: message ?? null,
        result: result ?? null,
      };
      return { side: kind === 'denied' ? 'done' : 'told', what: 'answer', about: endpoints.get(call) ?? '', value };
    }
    case 'order.moved': {
      const { from, to, event, filled, clientOrderId } = entry.data;
      return { side: 'told', what: 'answer', about: clientOrderId, value: { from, to, event, filled } };
    }
    case 'feed.read':
      return {
        side: 'told',
        what: 'feed',
        about: entry.data.key === undefined ? entry.data.name : `${entry.data.name}[${entry.data.key}]`,
        value: entry.data.value ?? null,
      };
    case 'operator.acted':
      return {
        side: 'told',
        what: 'person',
        about: entry.data.command,
        value: { by: entry.data.by, reason: entry.data.reason ?? null },
      };
    case 'run.ended': {
      const { outcome, reason, error, outputs } = entry.data;
      return {
        side: 'done',
        what: 'end',
        about: 'the run',
        value: { outcome, reason: reason ?? null, error: error?.kind ?? null, outputs },
      };
    }
    default:
      return undefined;
  }
}

function isRoutine(step: string): boolean {
  return step === 'watch' || step === 'deadman' || step === 'settle';
}

function compare(left: readonly Mark[], right: readonly Mark[]): readonly Difference[] {
  const byKey = new Map(right.map((mark) => [mark.key, mark]));
  const found: { readonly order: number; readonly difference: Difference }[] = [];
  const [begin, otherBegin] = [left[0]?.at ?? 0, right[0]?.at ?? 0];
  for (const mark of left) {
    const other = byKey.get(mark.key);
    byKey.delete(mark.key);
    if (other !== undefined && canonicalJson(mark.compared) === canonicalJson(other.compared)) continue;
    const fields = other === undefined ? [] : fieldDifferences(mark.value, other.value);
    found.push({ order: mark.at - begin, difference: differenceOf(mark, mark, other, fields) });
  }
  // What only the right run has stands where it happened, counted from the run's beginning.
  for (const mark of byKey.values())
    found.push({ order: mark.at - otherBegin, difference: differenceOf(mark, undefined, mark, []) });
  return found.sort((a, b) => a.order - b.order).map(({ difference }) => difference);
}

function differenceOf(
  { side, what, step, about }: Mark,
  left: Mark | undefined,
  right: Mark | undefined,
  fields: readonly FieldDifference[],
): Difference {
  const occurrence = ({ sequence, at, value }: Mark): Occurrence => ({ sequence, at: isoTime(at), value });
  return {
    side,
    what,
    step,
    about,
    ...(left === undefined ? {} : { left: occurrence(left) }),
    ...(right === undefined ? {} : { right: occurrence(right) }),
    fields,
  };
}

/** The leaves in which two values differ, by their paths. */
export function fieldDifferences(left: Json, right: Json, field = ''): readonly FieldDifference[] {
  if (canonicalJson(left) === canonicalJson(right)) return [];
  if (isRecord(left) && isRecord(right)) {
    const names = [...new Set([...Object.keys(left), ...Object.keys(right)])];
    return names.flatMap((name) =>
      fieldDifferences(left[name] ?? null, right[name] ?? null, field === '' ? name : `${field}.${name}`),
    );
  }
  if (Array.isArray(left) && Array.isArray(right) && left.length === right.length) {
    return left.flatMap((each, index) => fieldDifferences(each as Json, right[index] as Json, `${field}[${index}]`));
  }
  return [{ field, left, right }];
}

function isRecord(value: Json): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Times and the account's running numbers: different in every run, and no reason for a decision by themselves. */
const VOLATILE = new Set([
  'timestamp',
  'last_update',
  'last_updated',
  'last_liq_check',
  'start_time',
  'end_time',
  'trade_id',
  'now',
]);

/** Replaces what follows from a run's name: an order's ids become `order 1`, `order 2`, in the order they were meant. */
class Names {
  private readonly run: string;
  private readonly known = new Map<string, string>();
  private orders = 0;

  constructor(run: string) {
    this.run = run;
    this.known.set(run, 'this run');
  }

  learn(entry: Entry): void {
    if (entry.type === 'call.intended' && entry.data.intent !== undefined) this.order(entry.data.intent.clientOrderId);
    if (entry.type === 'order.moved' && entry.data.orderId !== undefined) {
      const name = this.order(entry.data.clientOrderId);
      this.known.set(entry.data.orderId, name);
    }
  }

  private order(clientOrderId: string): string {
    const known = this.known.get(clientOrderId);
    if (known !== undefined) return known;
    this.orders += 1;
    const name = `order ${this.orders}`;
    this.known.set(clientOrderId, name);
    return name;
  }

  neutral(value: Json): Json {
    if (typeof value === 'string') return this.text(value);
    if (Array.isArray(value)) return value.map((each) => this.neutral(each as Json));
    if (!isRecord(value)) return value;
    return Object.fromEntries(
      Object.entries(value)
        // A fill's own number, too.
        .filter(([name]) => !VOLATILE.has(name) && !(name === 'id' && 'trade_id' in value))
        .map(([name, each]) => [name, this.neutral(each)]),
    );
  }

  private text(text: string): string {
    const whole = this.known.get(text);
    if (whole !== undefined) return whole;
    // Inside a sentence: an id is a word of its own there.
    return text.includes(this.run) || /[@0-9]/.test(text)
      ? text.replace(/[\w@.-]+/g, (word) => this.known.get(word) ?? word)
      : text;
  }
}
