/**
 * Lists the steps and requests of a run in the order in which they began: the rows of its report that grow with every round. A run that
 * goes on keeps none of them, and notes which ended late (`listEnds`); with that, they are listed while the journal is read once more,
 * and few of them are in memory at a time.
 */
import { isSameJson, mapFields } from '../../base/json.ts';
import { PassingMap } from '../../base/passing-map.ts';
import {
  type DataOf,
  type Entry,
  type ErrorFact,
  type Json,
  type JsonObject,
  readStepEnd,
  type StepOutcome,
} from '../../journal/entry.ts';
import { formatIsoTime } from '../format.ts';
import { TokenWindow } from './token-window.ts';

export interface StepRow {
  readonly path: string;
  readonly id?: string;
  readonly verb: string;
  /** `left`: another branch of `join: any` was first. */
  readonly outcome: StepOutcome | 'left';
  readonly startedAt: string;
  readonly endedAt: string;
  readonly attempts: number;
  /** Why it failed, also where that was caught. */
  readonly error?: Pick<ErrorFact, 'kind' | 'message'>;
}

export interface RequestRow {
  readonly method: string;
  readonly path: string;
  /** The parameters on the wire; numbers as their literal text. */
  readonly params: JsonObject;
  readonly tokens: number;
  /** Null if no answer came. */
  readonly status: number | null;
  readonly success: boolean;
  readonly at: string;
}

export interface DeadmanRow {
  readonly at: string;
  readonly event: DataOf<'deadman.moved'>['event'];
}

export interface TokenUse {
  readonly used: number;
  /** The most tokens spent within any 60 s. */
  readonly peakPerMinute: number;
}

/** A row that ends when more than these have begun behind it would hold them all back: its end is noted before the rows are listed. */
const MOST_WAITING = 10_000;

/** How a step ended, or is taken to have ended where the journal has no end. */
interface StepEnd {
  readonly endedAt: number;
  readonly outcome: StepRow['outcome'];
  readonly attempts: number;
  readonly error?: StepRow['error'];
}

/** By its place among all that began. */
type Ends<E> = ReadonlyMap<number, E>;

interface RowOptions<E> {
  readonly ends?: E;
  readonly most?: number;
}

/** A step in progress or done. */
interface StepLife {
  readonly place: number;
  readonly path: string;
  readonly id: string | undefined;
  readonly verb: string;
  readonly startedAt: number;
  end: StepEnd | undefined;
  attempts: number;
}

/** A step without an end in the journal ended as the run did. */
export type RunEnd = Omit<StepEnd, 'attempts' | 'error'>;

export class StepFold {
  private readonly ends: Ends<StepEnd>;
  private readonly most: number;
  private readonly late = new Map<number, StepEnd>();
  private readonly lives: StepLife[] = [];
  private readonly open = new PassingMap<string, StepLife>();
  private begun = 0;

  /** `ends`: those that `listEnds` gave when the journal was read before. `most`: no more rows than the first of these are kept. */
  constructor({ ends = new Map(), most = Number.POSITIVE_INFINITY }: RowOptions<Ends<StepEnd>> = {}) {
    this.ends = ends;
    this.most = most;
  }

  /** How many began. */
  get count(): number {
    return this.begun;
  }

  apply(entry: Entry): void {
    if (entry.type === 'step.started') {
      this.begin(entry.step, entry.data, entry.at).attempts = entry.data.attempt;
    } else if (entry.type === 'step.ended') {
      const life = this.begin(entry.step, entry.data, entry.at);
      this.open.delete(entry.step);
      const { outcome, error } = readStepEnd(entry.data);
      const why = error && { kind: error.kind, message: error.message };
      life.end = { endedAt: entry.at, outcome, attempts: entry.data.attempts, ...(why && { error: why }) };
      if (this.begun - life.place > MOST_WAITING) this.late.set(life.place, life.end);
    }
  }

  /** The next rows that are complete; each is given once. */
  take(): readonly StepRow[] {
    return takeReady(this.lives, ({ end }) => end !== undefined).map((life) => toStepRow(life));
  }

  /** The rows that were not taken. */
  list(end?: RunEnd): readonly StepRow[] {
    return this.lives.map((life) => toStepRow(life, end));
  }

  /** Keeps no row, only what follows from those in progress. */
  forget(): void {
    this.lives.length = 0;
  }

  findNewestOpen(): string | undefined {
    let newest: string | undefined;
    for (const [path] of this.open) newest = path;
    return newest;
  }

  /** The ends of those for which others behind them would have to wait. */
  listEnds(end: RunEnd): Ends<StepEnd> {
    const ends = new Map(this.late);
    for (const { place, attempts } of this.open.values()) ends.set(place, { ...end, attempts });
    return ends;
  }

  /** The open step at a path, to which further attempts belong. A skipped step ends without a start. */
  private begin(
    path: string,
    { verb, id }: { readonly verb: string; readonly id?: string },
    startedAt: number,
  ): StepLife {
    const known = this.open.get(path);
    if (known !== undefined) return known;
    const place = this.begun;
    // A field that is added later takes a list of its own, and a run of days has many steps.
    const life: StepLife = { place, path, id, verb, startedAt, end: this.ends.get(place), attempts: 0 };
    this.begun += 1;
    this.open.set(path, life);
    if (place < this.most) this.lives.push(life);
    return life;
  }
}

function toStepRow({ path, id, verb, startedAt, end, attempts }: StepLife, atEnd?: RunEnd): StepRow {
  const ended = end ?? (atEnd && { ...atEnd, attempts });
  if (ended === undefined) throw new Error(`step ${path} has no end`);
  return {
    path,
    ...(id === undefined ? {} : { id }),
    verb,
    outcome: ended.outcome,
    startedAt: formatIsoTime(startedAt),
    endedAt: formatIsoTime(ended.endedAt),
    attempts: ended.attempts,
    ...(ended.error && { error: ended.error }),
  };
}

type Answer = Pick<RequestRow, 'status' | 'success'>;

const UNANSWERED: Answer = { status: null, success: false };

interface Request {
  /** Of an attempt, its number; of another request, how many attempts the journal has before it. */
  readonly place: number;
  readonly row: Omit<RequestRow, keyof Answer | 'at'>;
  readonly at: number;
  answer: Answer | undefined;
}

/** What one reading of a journal gives to the next. */
interface RequestEnds {
  readonly answers: Ends<Answer>;
  /** Those that are journaled behind requests that were sent later, in the order of sending. */
  readonly others: readonly Request[];
}

/** Requests that neither a step nor the heartbeat sent; the journal does not have their parameters. */
export function listOtherRequests(entry: Entry): readonly (Omit<Request, 'place'> & { readonly answer: Answer })[] {
  const toRequest = (
    method: string,
    path: string,
    { sentAt, tokens, status, success }: DataOf<'account.late_orders'>['requests'][number],
  ) => ({ row: { method, path, params: {}, tokens }, at: sentAt, answer: { status: status ?? null, success } });
  if (entry.type === 'account.late_orders') return entry.data.requests.map((each) => toRequest('GET', '/orders', each));
  if (entry.type !== 'session.moved' || entry.data.request === undefined) return [];
  return [toRequest('POST', '/jwt', entry.data.request)];
}

export class RequestFold {
  private readonly answers: Ends<Answer>;
  private readonly most: number;
  private readonly knowsOthers: boolean;
  private readonly others: Request[];
  private readonly late = new Map<number, Answer>();
  private readonly requests: Request[] = [];
  /** The newest attempt of each call that has no answer yet. */
  private readonly waiting = new PassingMap<string, Request>();
  /** The newest of each path: a loop of days sends the same each second, and keeps it once. */
  private readonly rows = new Map<string, Request['row']>();
  private begun = 0;
  /** The newest of those that get no answer any more. */
  private lost: Request | undefined;

  /** `ends`: what `listEnds` gave when the journal was read before. `most`: no more attempts than the first of these are kept. */
  constructor({ ends, most = Number.POSITIVE_INFINITY }: RowOptions<RequestEnds> = {}) {
    this.most = most;
    this.answers = ends?.answers ?? new Map();
    this.knowsOthers = ends !== undefined;
    this.others = [...(ends?.others ?? [])];
  }

  apply(entry: Entry): void {
    if (entry.type === 'call.attempted') this.begin(entry);
    // The call's later outcome belongs to its next attempt, not to this request.
    else if (entry.type === 'call.answered') this.end(entry.data.call, { status: entry.data.status, success: false });
    // Denied calls settle without having been sent.
    else if (entry.type === 'call.settled')
      this.end(entry.data.call, { status: entry.data.status ?? null, success: entry.data.success ?? false });
    else if (!this.knowsOthers)
      for (const other of listOtherRequests(entry)) {
        const request = { ...other, place: this.begun };
        this.others.push(request);
        if (request.answer.status === null) this.noteLost(request);
      }
  }

  /** The next rows that are complete, in the order of sending; each is given once. Only where `ends` were given. */
  take(): readonly RequestRow[] {
    return takeReady(this.requests, ({ answer }) => answer !== undefined).map(toRequestRow);
  }

  /** The rows that were not taken, in the order of sending. */
  list(): readonly RequestRow[] {
    const others = this.sortOthers();
    const rows = this.requests.flatMap((request) => [...takeReady(others, (each) => isBefore(each, request)), request]);
    return [...rows, ...others].map(toRequestRow);
  }

  /** How many were sent. */
  get count(): number {
    return this.begun + this.others.length;
  }

  /** Keeps no row, only what follows from those without an answer. */
  forget(): void {
    this.requests.length = 0;
  }

  /** The newest request without an answer. */
  findUnanswered(): Pick<RequestRow, 'method' | 'path'> | undefined {
    let newest = this.lost;
    for (const request of this.waiting.values())
      if (newest === undefined || isBefore(newest, request)) newest = request;
    return newest?.row;
  }

  listEnds(): RequestEnds {
    const answers = new Map(this.late);
    for (const { place } of this.waiting.values()) answers.set(place, UNANSWERED);
    return { answers, others: this.sortOthers() };
  }

  private begin({ at, data }: Extract<Entry, { type: 'call.attempted' }>): void {
    const { call, method, path, params, tokens } = data;
    const place = this.begun;
    const row = this.share({ method, path, params: toLiterals(params), tokens });
    const request: Request = { place, row, at, answer: this.answers.get(place) };
    this.begun += 1;
    // An attempt of a process that died got no answer.
    this.end(call, UNANSWERED);
    if (this.knowsOthers) this.requests.push(...takeReady(this.others, (each) => isBefore(each, request)));
    if (place < this.most) this.requests.push(request);
    this.waiting.set(call, request);
  }

  private end(call: string, answer: Answer): void {
    const request = this.waiting.get(call);
    if (request === undefined) return;
    request.answer = answer;
    this.waiting.delete(call);
    if (this.begun - request.place > MOST_WAITING) this.late.set(request.place, answer);
    if (answer.status === null) this.noteLost(request);
  }

  private noteLost(request: Request): void {
    if (this.lost === undefined || isBefore(this.lost, request)) this.lost = request;
  }

  private sortOthers(): Request[] {
    return [...this.others].sort((first, second) => first.at - second.at);
  }

  private share(row: Request['row']): Request['row'] {
    const known = this.rows.get(row.path);
    if (known !== undefined && isSameJson(known, row)) return known;
    this.rows.set(row.path, row);
    return row;
  }
}

/** Whether a request that is journaled behind others was sent before an attempt. */
function isBefore(other: Request, attempt: Request): boolean {
  return other.at < attempt.at || (other.at === attempt.at && other.place <= attempt.place);
}

function toRequestRow({ row, at, answer = UNANSWERED }: Request): RequestRow {
  return { ...row, ...answer, at: formatIsoTime(at) };
}

function toLiterals(params: JsonObject): JsonObject {
  return mapFields<Json, Json>(params, (value) => (typeof value === 'number' ? String(value) : value));
}

/** Adds up the tokens of a run's requests, in the order of sending. */
export class TokenSum {
  private used = 0;
  private peakPerMinute = 0;
  private readonly window = new TokenWindow(60_000);

  add({ tokens, at }: Pick<RequestRow, 'tokens' | 'at'>): void {
    this.used += tokens;
    this.peakPerMinute = Math.max(this.peakPerMinute, this.window.add(Date.parse(at), tokens));
  }

  get use(): TokenUse {
    return { used: this.used, peakPerMinute: this.peakPerMinute };
  }
}

export function listDeadman(entry: Entry): readonly DeadmanRow[] {
  return entry.type === 'deadman.moved' ? [{ at: formatIsoTime(entry.at), event: entry.data.event }] : [];
}

/** Takes from the front of a list what is ready. */
function takeReady<T>(list: T[], isReady: (each: T) => boolean): readonly T[] {
  const [first] = list;
  if (first === undefined || !isReady(first)) return [];
  const end = list.findIndex((each) => !isReady(each));
  return list.splice(0, end === -1 ? list.length : end);
}
