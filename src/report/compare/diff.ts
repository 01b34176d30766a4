/**
 * Compares two runs: what they did differently first, and what they had received differently before. Entries are compared by
 * subject (a step's second condition with the same step's second condition), not by position, because concurrent branches
 * interleave differently. Times, and ids that follow from a run's name, do not count as differences. It names what came first;
 * whether that was the cause is for the reader to judge.
 */
import { isRecord, toCanonicalJson } from '../../base/json.ts';
import { PassingMap } from '../../base/passing-map.ts';
import { type Entry, type EntryOf, type Json, type JsonObject, readStepEnd } from '../../journal/entry.ts';
import { readEntries, readEntriesOf } from '../../journal/reading.ts';
import { type JournalReader, StoreError } from '../../journal/store.ts';
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

/** A run in a journal. */
export interface StoredRun {
  readonly store: Pick<JournalReader, 'read' | 'accountRows'>;
  readonly run: string;
}

/** Where comparing ended before both runs did: their next entries. */
export interface ComparedUntil {
  readonly until?: { readonly left?: number; readonly right?: number };
}

/**
 * Compares stored runs, which are read side by side; until both have ended, or more than `most` are held that differ. Throws StoreError
 * `damaged` if either does not begin with `run.started`.
 */
export async function readDiff(
  left: StoredRun,
  right: StoredRun,
  most = Number.POSITIVE_INFINITY,
): Promise<DiffDocument & ComparedUntil> {
  const comparison = new RunComparison();
  for await (const entry of readEntriesOf(left.store, left.run, LEARNED)) comparison.left.learn(entry);
  for await (const entry of readEntriesOf(right.store, right.run, LEARNED)) comparison.right.learn(entry);
  const [a, b] = [readEntries(left.store, left.run), readEntries(right.store, right.run)];
  let [next, other] = [await a.next(), await b.next()];
  while (!next.done || !other.done) {
    if (comparison.held > most) return { ...comparison.document(), until: listNumbers(next, other) };
    // Whichever is ahead waits: what both have is forgotten when both have shown it.
    const { lead } = comparison;
    const [takesLeft, takesRight] = [!next.done && (lead <= 0 || other.done), !other.done && (lead >= 0 || next.done)];
    comparison.apply(takesLeft ? next.value : undefined, takesRight ? other.value : undefined);
    if (takesLeft) next = await a.next();
    if (takesRight) other = await b.next();
  }
  return comparison.document();
}

function listNumbers(left: IteratorResult<Entry>, right: IteratorResult<Entry>): NonNullable<ComparedUntil['until']> {
  return { ...(left.done ? {} : { left: left.value.seq }), ...(right.done ? {} : { right: right.value.seq }) };
}

/**
 * Compares runs entry by entry, which need not be in memory: first each learns its entries, then they are applied, of both runs side by
 * side. What both have alike is forgotten.
 */
export class RunComparison {
  readonly left = new ComparedRun();
  readonly right = new ComparedRun();
  /** Marks of one run that the other has not shown yet, or has otherwise. */
  private readonly differing: { readonly left: Mark; readonly right: Mark }[] = [];
  private readonly leftAlone = new PassingMap<string, Mark>();
  private readonly rightAlone = new PassingMap<string, Mark>();

  /** The next entry of each, or of one of them. */
  apply(left: Entry | undefined, right: Entry | undefined): void {
    const [a, b] = [left && this.left.describe(left), right && this.right.describe(right)];
    if (a !== undefined) this.leftAlone.set(a.key, a);
    if (b !== undefined) this.rightAlone.set(b.key, b);
    for (const mark of [a, b]) if (mark !== undefined) this.match(mark);
  }

  /** How many of what a run received or did are kept: what the other has otherwise, or has not shown yet. */
  get held(): number {
    return this.differing.length + this.leftAlone.size + this.rightAlone.size;
  }

  /** How much more of the left run than of the right one waits for the other. */
  get lead(): number {
    return this.leftAlone.size - this.rightAlone.size;
  }

  private match({ key, kind }: Mark): void {
    const [left, right] = [this.leftAlone.get(key), this.rightAlone.get(key)];
    if (left === undefined || right === undefined) return;
    this.leftAlone.delete(key);
    this.rightAlone.delete(key);
    if (toCanonicalJson(left.compared) !== toCanonicalJson(right.compared)) this.differing.push({ left, right });
    // Of subjects that both have as often, nothing waits for the other: each round of a loop has its own.
    if (this.left.count(kind) !== this.right.count(kind)) return;
    this.left.forget(kind);
    this.right.forget(kind);
  }

  document(): DiffDocument {
    const [a, b] = [this.left, this.right];
    const [left, right] = [a.side, b.side];
    const differences = this.listDifferences();
    const first = differences.find((each) => each.side === 'done');
    const start = findFieldDifferences(a.start, b.start);
    return {
      same: differences.length === 0 && start.length === 0,
      left,
      right,
      sameDefinition: left.definition === right.definition,
      start,
      ...(first === undefined ? {} : { first }),
      before:
        first === undefined ? [] : differences.filter((each) => each.side === 'received' && precedes(each, first)),
      differences,
    };
  }

  private listDifferences(): readonly Difference[] {
    const ofLeft = [
      ...this.differing,
      ...[...this.leftAlone.values()].map((left) => ({ left, right: undefined })),
    ].sort((a, b) => a.left.place - b.left.place);
    const found = ofLeft.map(({ left, right }) => {
      const fields = right === undefined ? [] : findFieldDifferences(left.value, right.value);
      return { order: left.at - this.left.firstAt, difference: toDifference(left, left, right, fields) };
    });
    // What only the right run has is sorted by its time since the run's start.
    for (const mark of this.rightAlone.values())
      found.push({ order: mark.at - this.right.firstAt, difference: toDifference(mark, undefined, mark, []) });
    return found.sort((a, b) => a.order - b.order).map(({ difference }) => difference);
  }
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
  /** What it is about: the key without the number of times. */
  readonly kind: string;
  /** Its number among those of its run. */
  readonly place: number;
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
  private started: EntryOf<'run.started'> | undefined;
  private ended: EntryOf<'run.ended'> | undefined;
  private names: OrderNames | undefined;
  private readonly counts = new PassingMap<string, number>();
  private readonly endpoints = new PassingMap<string, string>();
  private marks = 0;
  /** When it received or did the first thing, epoch ms. */
  firstAt = 0;

  get side(): DiffSide {
    const { run, data } = this.requireStart();
    const { runbook, mode, sources, engine, startedAt } = data;
    return {
      run,
      runbook,
      mode,
      outcome: this.ended?.data.outcome ?? null,
      startedAt: formatIsoTime(startedAt),
      definition: sources[0]?.sha256 ?? '',
      engine,
    };
  }

  get start(): JsonObject {
    const { inputs, seed, mode, trigger, settings, sources, fixture } = this.requireStart().data;
    const called = Object.fromEntries(sources.slice(1).map(({ name, sha256 }) => [name, sha256]));
    return { inputs, seed, mode, trigger, settings, called, fixture: fixture?.sha256 ?? null };
  }

  /** To be called before any entry is described: an answer can name an order before the entry that links its id to the run's order. */
  learn(entry: Entry): void {
    if (this.names === undefined) {
      if (entry.type !== 'run.started')
        throw new StoreError('damaged', `run ${entry.run} does not begin with run.started`);
      this.started = entry;
      this.names = new OrderNames(entry.run);
    }
    if (entry.type === 'run.ended') this.ended = entry;
    this.names.learn(entry);
  }

  describe(entry: Entry): Mark | undefined {
    const { names, counts, endpoints } = this;
    if (entry.type === 'call.intended') endpoints.set(entry.data.call, entry.data.endpoint);
    const found = describeEntry(entry, endpoints);
    if (entry.type === 'call.settled') endpoints.delete(entry.data.call);
    if (found === undefined || names === undefined) return undefined;
    const { side, what } = found;
    const about = String(names.neutralize(found.about));
    const kind = toCanonicalJson([what, entry.step, about]);
    const count = (counts.get(kind) ?? 0) + 1;
    counts.set(kind, count);
    const value = names.neutralize(found.value);
    const compared = found.compared === undefined ? value : names.neutralize(found.compared);
    if (this.marks === 0) this.firstAt = entry.at;
    this.marks += 1;
    return {
      key: `${kind} ${count}`,
      kind,
      place: this.marks,
      side,
      what,
      about,
      step: entry.step,
      sequence: entry.seq,
      at: entry.at,
      value,
      compared,
    };
  }

  count(kind: string): number | undefined {
    return this.counts.get(kind);
  }

  /** It is counted from the first again. */
  forget(kind: string): void {
    this.counts.delete(kind);
  }

  private requireStart(): EntryOf<'run.started'> {
    if (this.started === undefined) throw new StoreError('damaged', 'a run has no entries');
    return this.started;
  }
}

const done = (what: Mark['what'], about: string, value: Json) => ({ side: 'done', what, about, value }) as const;
const received = (what: Mark['what'], about: string, value: Json) =>
  ({ side: 'received', what, about, value }) as const;

/** What an entry contributes to the comparison. Reads that watch an order are not compared one by one, but by the moves they show. */
function describeEntry(
  entry: Entry,
  endpoints: Pick<ReadonlyMap<string, string>, 'get'>,
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

/** The types of the entries that a run must learn. */
export const LEARNED: ReadonlySet<string> = new Set(['run.started', 'call.intended', 'order.moved', 'run.ended']);

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
