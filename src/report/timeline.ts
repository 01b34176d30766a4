/**
 * A run told from first to last: what was done, what was sent and answered, what became of the orders, and why each
 * decision fell as it did, for a reader who never saw the runbook. Rows carry roles, not colours, and every text in them is
 * printable. It is fed entry by entry, so a run can be told while it goes on.
 */
import type { Away, DataOf, Entry, EntryOf, Json, JsonObject } from '../journal/entry.ts';
import { CATALOGUE, ENDPOINT_NAMES } from '../venue/catalogue.ts';
import { ORDER_ALARMS } from '../venue/order-context.ts';
import {
  DEADMAN_EVENTS,
  meaningOf,
  ORDER_EVENT_MEANING,
  ORDER_STATE_MEANING,
  PURPOSES,
  RUN_OUTCOMES,
  STEP_OUTCOMES,
  VERBS,
} from './meanings.ts';
import {
  bad,
  doubt,
  errorText,
  good,
  isoText,
  jsonText,
  muted,
  name,
  offsetText,
  pairs,
  plain,
  type Role,
  readBy,
  type Span,
  shown,
  spanText,
  stepName,
  stepTitle,
  summary,
  tokensText,
  value,
} from './wording.ts';

export type RowKind =
  | 'run'
  | 'step'
  | 'decision'
  | 'request'
  | 'answer'
  | 'order'
  | 'fill'
  | 'feed'
  | 'deadman'
  | 'person';

export interface TimelineRow {
  /** The entry it tells of. */
  readonly seq: number;
  /** Epoch ms. */
  readonly at: number;
  /** Since the run began. */
  readonly offsetMs: number;
  /** Blocks around it. */
  readonly depth: number;
  readonly kind: RowKind;
  readonly spans: readonly Span[];
}

export interface TimelineOptions {
  /** Says what verbs, states and endpoints mean; true unless told otherwise. */
  readonly explain?: boolean;
  /** Only these kinds of rows. */
  readonly kinds?: readonly RowKind[];
}

/** The whole story of a run, or of as much of it as there is. */
export function timeline(entries: Iterable<Entry>, options: TimelineOptions = {}): readonly TimelineRow[] {
  const fold = new TimelineFold(options);
  const rows: TimelineRow[] = [];
  for (const entry of entries) rows.push(...fold.apply(entry));
  rows.push(...fold.unanswered());
  return rows;
}

/** Rows as lines: the time since the start, then the text, indented by its block. */
export function printTimeline(
  rows: readonly TimelineRow[],
  paint: (role: Role, text: string) => string = (_role, text) => text,
): string {
  return rows
    .map(({ offsetMs, depth, spans }) => {
      const text = spans.map((span) => paint(span.role, span.text)).join('');
      return `${paint('muted', offsetText(offsetMs).padStart(12))}  ${'  '.repeat(depth)}${text}\n`;
    })
    .join('');
}

export class TimelineFold {
  private readonly explain: boolean;
  private readonly kinds: ReadonlySet<RowKind> | undefined;
  private startedAt: number | undefined;
  private lastAt = 0;
  private lastSeq = 0;
  private tokens = 0;
  private readonly openSteps = new Map<string, number>();
  private readonly calls = new Map<string, Call>();
  private readonly ownOrderIds = new Set<string>();
  private readonly fills = new Set<string>();
  private readonly explained = new Set<string>();

  constructor(options: TimelineOptions = {}) {
    this.explain = options.explain ?? true;
    this.kinds = options.kinds === undefined ? undefined : new Set(options.kinds);
  }

  /** The rows an entry adds; none for what only the machine needs. */
  apply(entry: Entry): readonly TimelineRow[] {
    this.startedAt ??= entry.type === 'run.started' ? entry.data.startedAt : entry.at;
    this.lastAt = entry.at;
    this.lastSeq = entry.seq;
    return this.tell(entry);
  }

  /** A row for each request that was sent and whose answer is not in the journal: what a crash leaves open. */
  unanswered(): readonly TimelineRow[] {
    return [...this.calls.values()]
      .filter((call) => call.sentAt !== undefined)
      .map((call) =>
        this.row('answer', 1, [
          doubt('? '),
          name(call.title),
          doubt(' was sent, and the journal ends before an answer: it may have happened'),
        ]),
      );
  }

  private tell(entry: Entry): readonly TimelineRow[] {
    switch (entry.type) {
      case 'run.started':
        return this.runStarted(entry);
      case 'run.moved':
        return [];
      case 'run.resumed':
        return this.rows('run', 0, [
          name('run taken up again'),
          ...absence(entry.data.away),
          plain(
            entry.data.openCalls.length === 0
              ? ', nothing was in flight'
              : `, in flight when it stopped: ${shown(entry.data.openCalls.join(', '))}`,
          ),
        ]);
      case 'run.ended':
        return this.runEnded(entry);
      case 'step.started':
        return this.stepStarted(entry);
      case 'step.decided':
        return this.decided(entry);
      case 'step.retried':
        return this.rows('step', this.depth(entry.step), [
          doubt('again '),
          plain(`attempt ${entry.data.attempt} failed: `),
          bad(errorText(entry.data.error)),
          muted(`; next attempt at ${offsetText(entry.data.retryAt - (this.startedAt ?? 0))}`),
        ]);
      case 'step.ended':
        return this.stepEnded(entry);
      case 'variable.set':
        return this.rows('step', this.depth(entry.step), [
          name(shown(entry.data.name)),
          plain(' is now '),
          value(jsonText(entry.data.value)),
        ]);
      case 'notification.sent':
        return this.rows('person', this.depth(entry.step), [
          plain(`told ${shown(entry.data.to)}: `),
          value(shown(entry.data.text)),
        ]);
      case 'call.intended':
        this.calls.set(entry.data.call, {
          endpoint: entry.data.endpoint,
          purpose: entry.data.purpose,
          title: shown(entry.data.endpoint),
        });
        return [];
      case 'call.checked':
        return this.rows('request', this.depth(entry.step), [muted(`within the limits: ${pairs(entry.data.limits)}`)]);
      case 'call.attempted':
        return this.sent(entry);
      case 'call.settled':
        return this.answered(entry);
      case 'feed.read':
        return this.feedRead(entry);
      case 'order.concluded':
        return this.rows('order', this.depth(entry.step), [
          name(`order ${shown(entry.data.clientOrderId)}`),
          plain(`: ${meaningOf(ORDER_EVENT_MEANING, entry.data.event) ?? entry.data.event}`),
          muted(` (${shown(entry.data.because)})`),
        ]);
      case 'order.moved':
        return this.orderMoved(entry);
      case 'order.alarmed': {
        const meaning = meaningOf(ORDER_ALARMS, entry.data.alarm);
        return this.rows('order', this.depth(entry.step), [
          bad(`alarm ${shown(entry.data.alarm)}`),
          name(` order ${shown(entry.data.clientOrderId)}`),
          plain(meaning === undefined ? '' : `: ${meaning}`),
          muted(Object.keys(entry.data.detail).length === 0 ? '' : ` (${pairs(entry.data.detail)})`),
        ]);
      }
      case 'deadman.moved':
        return this.deadmanMoved(entry);
      case 'account.reconciled': {
        const { open, external, ofOtherRuns } = entry.data;
        const others = [
          ...external.map((each) => `external ${shown(jsonText(each['id'] ?? ''))}`),
          ...ofOtherRuns.map((each) => `of another run ${shown(jsonText(each['id'] ?? ''))}`),
        ];
        return this.rows('order', 0, [
          name(`${open} open orders on the account before this run`),
          muted(others.length === 0 ? '' : `, left alone: ${others.slice(0, 20).join(', ')}`),
        ]);
      }
      case 'approval.asked':
        return this.rows('person', this.depth(entry.step), [
          name('asked '),
          plain(`${shown(entry.data.by.join(' or '))}: `),
          value(shown(entry.data.ask)),
          // A dry-run has no plan that anybody agreed to.
          muted(
            `, until ${isoText(entry.data.until)}${entry.data.plan === '' ? '' : `, for plan ${shown(entry.data.plan)}`}`,
          ),
        ]);
      case 'operator.acted':
        return this.rows('person', this.depth(entry.step), [
          name(shown(entry.data.by)),
          plain(`: ${shown(entry.data.command)}`),
          plain(entry.data.step === undefined ? '' : ` ${shown(entry.data.step)}`),
          muted(entry.data.reason === undefined ? '' : ` (${shown(entry.data.reason)})`),
        ]);
      case 'session.moved':
        return this.rows('run', 0, [
          name('the session with the venue '),
          entry.data.event === 'failing' ? bad('can not be renewed') : plain(SESSION_EVENTS[entry.data.event]),
          muted(entry.data.request === undefined ? '' : sessionRequest(entry.data.request)),
          muted(entry.data.expiresAt === undefined ? '' : `, until ${isoText(entry.data.expiresAt)}`),
          muted(entry.data.because === undefined ? '' : `: ${shown(entry.data.because)}`),
        ]);
      case 'clock.put':
        return this.rows('run', 0, [
          name('the clock on the wall was put'),
          muted(`: ${entry.data.wallAheadMs} ms ahead of the run’s own, which all times here are told by`),
        ]);
      default:
        // A journal of a later version may hold entries this one has no words for.
        entry satisfies never;
        return [];
    }
  }

  private runStarted({ data, run }: EntryOf<'run.started'>): readonly TimelineRow[] {
    const where = {
      fixtures: 'against recorded answers',
      simulated: 'against the simulated venue',
      live: 'with real orders',
    }[data.mode];
    const rows = this.rows('run', 0, [
      name(shown(data.runbook)),
      plain(` begins at ${isoText(data.startedAt)}, ${where}, account ${shown(data.account)}`),
      muted(`, run ${shown(run)}, started by ${shown(data.by ?? data.trigger)}`),
    ]);
    if (Object.keys(data.inputs).length === 0) return rows;
    return [...rows, ...this.rows('run', 0, [plain('inputs: '), value(pairs(data.inputs))])];
  }

  private runEnded({ data, at }: EntryOf<'run.ended'>): readonly TimelineRow[] {
    const role =
      data.outcome === 'succeeded' || data.outcome === 'stopped' ? good : data.outcome === 'failed' ? bad : doubt;
    const why = data.error === undefined ? data.reason : errorText(data.error);
    const rows = this.rows('run', 0, [
      name('run '),
      role(RUN_OUTCOMES[data.outcome]),
      plain(why === undefined ? '' : ` (${shown(why)})`),
      muted(`, after ${spanText(at - (this.startedAt ?? at))}, ${tokensText(this.tokens)} used`),
    ]);
    const outputs = Object.entries(data.outputs).map(([key, each]) =>
      this.row('run', 1, [name(shown(key)), plain(' = '), value(jsonText(each))]),
    );
    return [...rows, ...this.shown(outputs)];
  }

  private stepStarted({ data, step, at }: EntryOf<'step.started'>): readonly TimelineRow[] {
    const depth = this.depth(step);
    const isFirst = !this.openSteps.has(step);
    if (isFirst) this.openSteps.set(step, at);
    if (!isFirst)
      return this.rows('step', depth, [doubt(`attempt ${data.attempt}`), plain(` of ${stepName(step, data.id)}`)]);
    const meaning = this.explain ? meaningOf(VERBS, data.verb) : undefined;
    return this.rows('step', depth, [
      ...stepTitle(step, data),
      plain(meaning === undefined ? '' : ` (${meaning})`),
      muted(`  ${shown(step)}`),
    ]);
  }

  private stepEnded({ data, step, at }: EntryOf<'step.ended'>): readonly TimelineRow[] {
    const startedAt = this.openSteps.get(step);
    this.openSteps.delete(step);
    const role = { succeeded: good, failed: bad, skipped: muted, halted: doubt }[data.outcome];
    // A skipped step has no row of its own that would say what it is.
    const title = data.outcome === 'skipped' ? stepTitle(step, data) : [name(stepName(step, data.id))];
    const spans = [...title, plain(' '), role(STEP_OUTCOMES[data.outcome])];
    if (data.error !== undefined) spans.push(bad(` (${errorText(data.error)})`));
    if (data.value !== undefined && data.value !== null) spans.push(plain(': '), value(summary(data.value)));
    if (startedAt !== undefined && at > startedAt) spans.push(muted(`, after ${spanText(at - startedAt)}`));
    return this.rows('step', this.depth(step), spans);
  }

  private decided({ data, step }: EntryOf<'step.decided'>): readonly TimelineRow[] {
    const because = pairs(readBy(data.expression, data.inputs));
    return this.rows('decision', this.depth(step), [
      plain(`why: ${shown(data.what)} `),
      value(shown(data.expression)),
      plain(' is '),
      data.value === true ? good('true') : data.value === false ? doubt('not true') : value(jsonText(data.value)),
      muted(because === '' ? '' : `, with ${because}`),
    ]);
  }

  private sent({ data, step, at }: EntryOf<'call.attempted'>): readonly TimelineRow[] {
    const known = this.calls.get(data.call);
    const title = `${data.method} ${data.path}`;
    this.calls.set(data.call, {
      endpoint: known?.endpoint ?? title,
      purpose: known?.purpose,
      title: shown(title),
      sentAt: at,
    });
    this.tokens += data.tokens;
    const purpose = known?.purpose === undefined ? undefined : (meaningOf(PURPOSES, known.purpose) ?? known.purpose);
    const spans = [
      plain('sends '),
      name(shown(title)),
      value(Object.keys(data.params).length === 0 ? '' : ` ${pairs(data.params)}`),
    ];
    if (purpose !== undefined) spans.push(plain(`, ${shown(purpose)}`));
    spans.push(muted(`, ${tokensText(data.tokens)}`));
    if (data.n > 1) spans.push(doubt(`, attempt ${data.n}`));
    if (data.waitedMs > 0) spans.push(muted(`, after waiting ${spanText(data.waitedMs)} for tokens`));
    const about = this.explain ? this.about(title) : undefined;
    if (about !== undefined) spans.push(muted(`  (${about})`));
    return this.rows('request', this.depth(step), spans);
  }

  private answered({ data, step, at }: EntryOf<'call.settled'>): readonly TimelineRow[] {
    const call = this.calls.get(data.call);
    this.calls.delete(data.call);
    const depth = this.depth(step);
    const took = call?.sentAt === undefined ? '' : `, after ${spanText(at - call.sentAt)}`;
    const status = data.status === undefined ? '' : ` (HTTP ${data.status})`;
    const about = plain(`${call?.title ?? shown(data.call)} `);
    const message = shown(data.message ?? data.code ?? data.failure ?? 'no reason given');
    const notes = data.notes === undefined || data.notes.length === 0 ? '' : `; ${shown(data.notes.join('; '))}`;
    switch (data.kind) {
      case 'confirmed': {
        const result = data.result === undefined || data.result === null ? '' : `: ${summary(data.result)}`;
        const rows = this.rows('answer', depth, [about, good('succeeded'), value(result), muted(`${took}${notes}`)]);
        return [...rows, ...this.newFills(call, data.result, depth)];
      }
      case 'rejected':
        return this.rows('answer', depth, [
          about,
          bad('was refused: '),
          value(message),
          muted(`${status}${took}${notes}`),
        ]);
      case 'denied':
        return this.rows('answer', depth, [
          about,
          bad('was not sent: '),
          value(message),
          muted(data.code === undefined ? '' : ` (${shown(data.code)})`),
        ]);
      case 'unresolved':
        return this.rows('answer', depth, [
          about,
          doubt(
            call?.title.startsWith('GET ')
              ? 'got no answer: '
              : 'got no answer that can be relied on, it may have happened: ',
          ),
          value(message),
          muted(`${status}${took}`),
        ]);
      default:
        data.kind satisfies never;
        return [];
    }
  }

  private feedRead({ data, step }: EntryOf<'feed.read'>): readonly TimelineRow[] {
    const feed = name(`feed ${shown(data.name)}${data.key === undefined ? '' : `[${shown(data.key)}]`}`);
    if (data.value === undefined) return this.rows('feed', this.depth(step), [feed, doubt(' could not be read')]);
    const when = data.at === undefined ? '' : `, as of ${isoText(data.at)}`;
    return this.rows('feed', this.depth(step), [feed, plain(' is '), value(shown(data.value)), muted(when)]);
  }

  private orderMoved({ data, step }: EntryOf<'order.moved'>): readonly TimelineRow[] {
    if (data.orderId !== undefined) this.ownOrderIds.add(data.orderId);
    const state = this.explain ? meaningOf(ORDER_STATE_MEANING, data.to) : undefined;
    const event = meaningOf(ORDER_EVENT_MEANING, data.event);
    return this.rows('order', this.depth(step), [
      name(`order ${shown(data.clientOrderId)}`),
      plain(data.orderId === undefined ? '' : ` (${shown(data.orderId)})`),
      plain(data.from === data.to ? ` stays ${shown(data.to)}` : ` ${shown(data.from)} → ${shown(data.to)}`),
      plain(state === undefined ? '' : ` (${state})`),
      muted(`: ${event ?? shown(data.event)}`),
      muted(/^0(\.0*)?$/.test(data.filled) ? '' : `, filled ${shown(data.filled)}`),
    ]);
  }

  private deadmanMoved({ data, step }: EntryOf<'deadman.moved'>): readonly TimelineRow[] {
    const role = data.event === 'assumed_fired' ? bad : plain;
    const spans = [name(`deadman switch ${shown(data.market)} `), role(DEADMAN_EVENTS[data.event])];
    if (data.event === 'armed' && data.timeoutMs !== undefined) {
      spans.push(
        plain(
          `: the venue cancels every open order of the account after ${spanText(data.timeoutMs)} without a request of ours`,
        ),
      );
    }
    if (data.because !== undefined) spans.push(muted(` (${shown(data.because)})`));
    return this.rows('deadman', this.depth(step), spans);
  }

  /** Fills that an answer shows for the first time: those of the run's orders one by one, the others as a count. */
  private newFills(call: Call | undefined, result: Json | undefined, depth: number): readonly TimelineRow[] {
    if (call === undefined || !call.endpoint.startsWith('GET /fills') || !Array.isArray(result)) return [];
    const records = (result as readonly Json[]).filter(
      (each): each is JsonObject => typeof each === 'object' && each !== null && !Array.isArray(each),
    );
    const rows: TimelineRow[] = [];
    for (const { id, order_id: orderId, size, price, fee, is_maker: isMaker } of oldestFirst(records)) {
      if (typeof id !== 'string' || this.fills.has(id) || typeof orderId !== 'string' || !this.ownOrderIds.has(orderId))
        continue;
      this.fills.add(id);
      rows.push(
        this.row('fill', depth, [
          good('traded '),
          value(`${jsonText(size ?? null)} at ${jsonText(price ?? null)}`),
          plain(` of order ${shown(orderId)}`),
          muted(
            `, fee ${jsonText(fee ?? null)}${isMaker === true ? ', as maker' : isMaker === false ? ', as taker' : ''}, fill ${shown(id)}`,
          ),
        ]),
      );
    }
    return this.shown(rows);
  }

  /** The catalogue's sentence about an endpoint, the first time it is used. */
  private about(title: string): string | undefined {
    const endpoint = ENDPOINT_NAMES.find((each) => each === title);
    if (endpoint === undefined || this.explained.has(endpoint)) return undefined;
    this.explained.add(endpoint);
    return CATALOGUE[endpoint].about;
  }

  /** How many steps that are under way surround a path: `ladder` surrounds `ladder/do/o` and `ladder[3]/o`. */
  private depth(path: string): number {
    if (path === '') return 0;
    let depth = 0;
    for (let at = 1; at <= path.length; at += 1) {
      const next = path[at];
      if (next !== undefined && next !== '/' && next !== '[' && next !== '~') continue;
      if (this.openSteps.has(path.slice(0, at))) depth += 1;
    }
    return depth;
  }

  private rows(kind: RowKind, depth: number, spans: readonly Span[]): readonly TimelineRow[] {
    return this.shown([this.row(kind, depth, spans)]);
  }

  private row(kind: RowKind, depth: number, spans: readonly Span[]): TimelineRow {
    const offsetMs = this.lastAt - (this.startedAt ?? this.lastAt);
    return {
      seq: this.lastSeq,
      at: this.lastAt,
      offsetMs,
      depth,
      kind,
      spans: spans.filter((span) => span.text !== ''),
    };
  }

  private shown(rows: readonly TimelineRow[]): readonly TimelineRow[] {
    return this.kinds === undefined ? rows : rows.filter((row) => this.kinds?.has(row.kind));
  }
}

/** By their time; the venue lists fills newest first unless asked otherwise. */
const SESSION_EVENTS = { requested: 'was asked for', renewed: 'was renewed' } as const;

function sessionRequest({ tokens, status }: NonNullable<DataOf<'session.moved'>['request']>): string {
  return `: POST /jwt, ${status === undefined ? 'no answer' : `answered ${status}`}, ${tokens} tokens`;
}

function oldestFirst(fills: readonly JsonObject[]): readonly JsonObject[] {
  const time = (fill: JsonObject) => (typeof fill.timestamp === 'number' ? fill.timestamp : 0);
  return [...fills].reverse().sort((a, b) => time(a) - time(b));
}

interface Call {
  readonly endpoint: string;
  readonly purpose: string | undefined;
  readonly title: string;
  /** Absent while nothing was sent. */
  readonly sentAt?: number;
}

/** For how long nobody was there; of older journals that is not known. */
function absence(away: Away | undefined): readonly Span[] {
  if (away === undefined) return [];
  const doubted = away.by === 'wall' ? [doubt(' by the clock on the wall, which proves nothing')] : [];
  return [muted(`, after ${spanText(away.ms)}`), plain(' with nobody there'), ...doubted];
}
