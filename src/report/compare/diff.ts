/**
 * Compares two runs: what they did differently first, and what they had received differently before. Entries are compared by
 * subject (a step's second condition with the same step's second condition), not by position, because concurrent branches
 * interleave differently. Times, and ids that follow from a run's name, do not count as differences. It names what came first;
 * whether that was the cause is for the reader to judge.
 */
import { isRecord, toCanonicalJson } from '../../base/json.ts';
import { type Entry, type Json, type JsonObject, readStepEnd } from '../../journal/entry.ts';
import { StoreError } from '../../journal/store.ts';
import { formatIsoTime, pickRead } from '../format.ts';

/** `received`: inputs, feeds, answers, people. `done`: decisions, requests, variables, step ends. */
type DifferenceSide = 'received' | 'done';

export interface Difference {
  readonly side: DifferenceSide;
  readonly what: 'input' | 'answer' | 'feed' | 'person' | 'decision' | 'request' | 'variable' | 'step' | 'end';
  /** The step it belongs to; empty for the run itself. */
  readonly step: string;
  /** The subject: an expression, an endpoint, a name. */
  readonly about: string;
  /** Absent if the run has nothing to compare there. */
  readonly left?: Occurrence;
  readonly right?: Occurrence;
  /** The fields that differ, if both runs have it. */
  readonly fields: readonly FieldDifference[];
}

export interface Occurrence {
  readonly sequence: number;
  readonly at: string;
  readonly value: Json;
}

export interface FieldDifference {
  /** The path of the field; empty for the whole value. */
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
  /** True if both received and did the same. */
  readonly same: boolean;
  readonly left: DiffSide;
  readonly right: DiffSide;
  /** True if both ran the same text of the runbook. */
  readonly sameDefinition: boolean;
  /** Differences before the first step: inputs, seed, settings, mode. */
  readonly start: readonly FieldDifference[];
  /** The first thing done differently. */
  readonly first?: Difference;
  /** What was received differently before that, oldest first: the last one is the nearest. */
  readonly before: readonly Difference[];
  /** All differences, in the order of the left run. */
  readonly differences: readonly Difference[];
}

/** Throws StoreError `damaged` if either does not begin with `run.started`. */
export function diffRuns(left: readonly Entry[], right: readonly Entry[]): DiffDocument {
  const [a, b] = [new ComparedRun(left), new ComparedRun(right)];
  const differences = compare(a.marks, b.marks);
  const first = differences.find((each) => each.side === 'done');
  const start = findFieldDifferences(a.start, b.start);
  return {
    same: differences.length === 0 && start.length === 0,
    left: a.side,
    right: b.side,
    sameDefinition: a.side.definition === b.side.definition,
    start,
    ...(first === undefined ? {} : { first }),
    before: first === undefined ? [] : differences.filter((each) => each.side === 'received' && precedes(each, first)),
    differences,
  };
}

/** True if `received` occurs before `done` in a run that has both. */
function precedes(received: Difference, done: Difference): boolean {
  const isBefore = (a: Occurrence | undefined, b: Occurrence | undefined) =>
    a !== undefined && b !== undefined && a.sequence < b.sequence;
  return isBefore(received.left, done.left) || isBefore(received.right, done.right);
}

/** One thing that a run received or did. */
interface Mark {
  readonly key: string;
  readonly side: DifferenceSide;
  readonly what: Difference['what'];
  readonly step: string;
  readonly about: string;
  readonly sequence: number;
  readonly at: number;
  readonly value: Json;
  /** The part of the value that counts as a difference. */
  readonly compared: Json;
}

class ComparedRun {
  readonly side: DiffSide;
  readonly start: JsonObject;
  readonly marks: readonly Mark[];
  private readonly names: OrderNames;

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
      startedAt: formatIsoTime(started.data.startedAt),
      definition: sources[0]?.sha256 ?? '',
      engine,
    };
    const called = Object.fromEntries(sources.slice(1).map(({ name, sha256 }) => [name, sha256]));
    this.start = { inputs, seed, mode, trigger, settings, called, fixture: fixture?.sha256 ?? null };
    this.names = new OrderNames(started.run);
    this.marks = this.read(entries);
  }

  private read(entries: readonly Entry[]): readonly Mark[] {
    const marks: Mark[] = [];
    const counts = new Map<string, number>();
    const endpoints = new Map<string, string>();
    // An answer can name an order before the entry that links its id to the run's order.
    for (const entry of entries) this.names.learn(entry);
    for (const entry of entries) {
      if (entry.type === 'call.intended') endpoints.set(entry.data.call, entry.data.endpoint);
      const found = describeEntry(entry, endpoints);
      if (found === undefined) continue;
      const { side, what } = found;
      const about = String(this.names.neutralize(found.about));
      const kind = toCanonicalJson([what, entry.step, about]);
      const count = (counts.get(kind) ?? 0) + 1;
      counts.set(kind, count);
      const value = this.names.neutralize(found.value);
      const compared = found.compared === undefined ? value : this.names.neutralize(found.compared);
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

const done = (what: Mark['what'], about: string, value: Json) => ({ side: 'done', what, about, value }) as const;
const received = (what: Mark['what'], about: string, value: Json) =>
  ({ side: 'received', what, about, value }) as const;

/** What an entry contributes to the comparison. Reads that watch an order are not compared one by one, but by the moves they show. */
function describeEntry(
  entry: Entry,
  endpoints: ReadonlyMap<string, string>,
): (Pick<Mark, 'side' | 'what' | 'about' | 'value'> & { readonly compared?: Json }) | undefined {
  switch (entry.type) {
    case 'step.decided': {
      const { what, expression, value, inputs } = entry.data;
      // The same decision from other figures is the same decision.
      return {
        ...done('decision', `${what} ${expression}`, { value, with: pickRead(expression, inputs) }),
        compared: value,
      };
    }
    case 'step.ended': {
      const { verb, attempts } = entry.data;
      const { outcome, error } = readStepEnd(entry.data);
      return done('step', verb, { outcome, attempts, error: error?.kind ?? null });
    }
    case 'variable.set':
      return done('variable', entry.data.name, entry.data.value);
    case 'call.intended':
      return isRoutine(entry.step) ? undefined : done('request', entry.data.endpoint, entry.data.params);
    case 'call.settled': {
      if (isRoutine(entry.step)) return undefined;
      const { call, kind, failure = null, code = null, message = null, result = null } = entry.data;
      const from = kind === 'denied' ? done : received;
      return from('answer', endpoints.get(call) ?? '', { kind, failure, code, message, result });
    }
    case 'order.moved': {
      const { from, to, event, filled, clientOrderId } = entry.data;
      return received('answer', clientOrderId, { from, to, event, filled });
    }
    case 'feed.read': {
      const { name, key, value = null } = entry.data;
      return received('feed', key === undefined ? name : `${name}[${key}]`, value);
    }
    case 'operator.acted': {
      const { command, by, reason = null } = entry.data;
      return received('person', command, { by, reason });
    }
    case 'run.ended': {
      const { outcome, reason = null, error, outputs } = entry.data;
      return done('end', 'the run', { outcome, reason, error: error?.kind ?? null, outputs });
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
    if (other !== undefined && toCanonicalJson(mark.compared) === toCanonicalJson(other.compared)) continue;
    const fields = other === undefined ? [] : findFieldDifferences(mark.value, other.value);
    found.push({ order: mark.at - begin, difference: toDifference(mark, mark, other, fields) });
  }
  // What only the right run has is sorted by its time since the run's start.
  for (const mark of byKey.values())
    found.push({ order: mark.at - otherBegin, difference: toDifference(mark, undefined, mark, []) });
  return found.sort((a, b) => a.order - b.order).map(({ difference }) => difference);
}

function toDifference(
  { side, what, step, about }: Mark,
  left: Mark | undefined,
  right: Mark | undefined,
  fields: readonly FieldDifference[],
): Difference {
  const toOccurrence = ({ sequence, at, value }: Mark): Occurrence => ({ sequence, at: formatIsoTime(at), value });
  return {
    side,
    what,
    step,
    about,
    ...(left === undefined ? {} : { left: toOccurrence(left) }),
    ...(right === undefined ? {} : { right: toOccurrence(right) }),
    fields,
  };
}

/** The leaves in which two values differ, by path. */
export function findFieldDifferences(left: Json, right: Json, field = ''): readonly FieldDifference[] {
  if (toCanonicalJson(left) === toCanonicalJson(right)) return [];
  if (isRecord(left) && isRecord(right)) {
    const names = [...new Set([...Object.keys(left), ...Object.keys(right)])];
    return names.flatMap((name) =>
      findFieldDifferences(left[name] ?? null, right[name] ?? null, field === '' ? name : `${field}.${name}`),
    );
  }
  if (Array.isArray(left) && Array.isArray(right) && left.length === right.length) {
    return left.flatMap((each, index) =>
      findFieldDifferences(each as Json, right[index] as Json, `${field}[${index}]`),
    );
  }
  return [{ field, left, right }];
}

/** Times and the account's running numbers: different in every run, and never by themselves the reason for a decision. */
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

/** Replaces ids that follow from a run's name: an order's ids become `order 1`, `order 2`, in the order of the intents. */
class OrderNames {
  private readonly run: string;
  private readonly known = new Map<string, string>();
  private orders = 0;

  constructor(run: string) {
    this.run = run;
    this.known.set(run, 'this run');
  }

  learn(entry: Entry): void {
    if (entry.type === 'call.intended' && entry.data.intent !== undefined)
      this.assignName(entry.data.intent.clientOrderId);
    if (entry.type === 'order.moved' && entry.data.orderId !== undefined) {
      const name = this.assignName(entry.data.clientOrderId);
      this.known.set(entry.data.orderId, name);
    }
  }

  private assignName(clientOrderId: string): string {
    const known = this.known.get(clientOrderId);
    if (known !== undefined) return known;
    this.orders += 1;
    const name = `order ${this.orders}`;
    this.known.set(clientOrderId, name);
    return name;
  }

  neutralize(value: Json): Json {
    if (typeof value === 'string') return this.neutralizeText(value);
    if (Array.isArray(value)) return value.map((each) => this.neutralize(each as Json));
    if (!isRecord(value)) return value;
    return Object.fromEntries(
      Object.entries(value)
        // The id of a fill is such a number too.
        .filter(([name]) => !VOLATILE.has(name) && !(name === 'id' && 'trade_id' in value))
        .map(([name, each]) => [name, this.neutralize(each)]),
    );
  }

  private neutralizeText(text: string): string {
    const whole = this.known.get(text);
    if (whole !== undefined) return whole;
    // Inside a sentence an id is a word of its own.
    return text.includes(this.run) || /[@0-9]/.test(text)
      ? text.replace(/[\w@.-]+/g, (word) => this.known.get(word) ?? word)
      : text;
  }
}
