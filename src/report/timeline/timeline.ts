/**
 * Writes a run as a timeline for a reader who never saw the runbook: what was done, sent and answered, what became of the
 * orders, and why each decision was made. Rows carry roles, not colours, and every text in them is printable. It takes one
 * entry at a time, so it can follow a run that goes on.
 */
import { formatCount, formatList, formatOffset, formatSpan } from '../../base/format.ts';
import { PassingMap } from '../../base/passing-map.ts';
import { type Away, type DataOf, type Entry, type EntryOf, type EntryType, readStepEnd } from '../../journal/entry.ts';
import { describeCancels, describeLeft } from '../../venue/position/residual.ts';
import {
  bad,
  doubt,
  formatError,
  formatIsoTime,
  formatJson,
  formatPairs,
  formatStepName,
  formatStepTitle,
  formatText,
  good,
  muted,
  name,
  pickRead,
  plain,
  type Role,
  type Span,
  summarizeResult,
  value,
} from '../format.ts';
import {
  describeSettled,
  findMeaning,
  MODE_MEANING,
  RUN_OUTCOMES,
  STEP_OUTCOMES,
  TRIGGERS,
  VERBS,
} from '../glossary.ts';
import {
  describeAlarm,
  describeConclusion,
  describeDeadman,
  describeLateOrder,
  describeMove,
  describeReconciliation,
  describeSweep,
} from './orders.ts';
import { RequestRows } from './requests.ts';

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
  /** The entry it describes. */
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

/** A row as an export and a document have it. */
export function makeRowDocument({ seq, at, offsetMs, depth, kind, spans }: TimelineRow) {
  return { sequence: seq, at: formatIsoTime(at), offsetMs, depth, kind, text: spans.map((span) => span.text).join('') };
}

/** Rows as lines: the time since the start, then the text, indented by its block. */
export function printTimeline(
  rows: readonly TimelineRow[],
  paint: (role: Role, text: string) => string = (_role, text) => text,
): string {
  return rows
    .map(({ offsetMs, depth, spans }) => {
      const text = spans.map((span) => paint(span.role, span.text)).join('');
      return `${paint('muted', formatOffset(offsetMs).padStart(12))}  ${'  '.repeat(depth)}${text}\n`;
    })
    .join('');
}

/** Most entries of a loop, each of which is one row of this kind. */
const ONE_ROW = {
  'step.started': 'step',
  'step.decided': 'decision',
  'step.ended': 'step',
  'variable.set': 'step',
  'feed.read': 'feed',
  'call.checked': 'request',
} as const satisfies Partial<Record<EntryType, RowKind>>;

export class TimelineFold {
  private startedAt: number | undefined;
  private lastAt = 0;
  private lastSeq = 0;
  private hasHalted = false;
  private readonly openSteps = new PassingMap<string, number>();
  private readonly requests = new RequestRows();

  /** The rows an entry adds; none for an entry that only the engine needs. */
  apply(entry: Entry): readonly TimelineRow[] {
    this.startedAt ??= entry.type === 'run.started' ? entry.data.startedAt : entry.at;
    this.lastAt = entry.at;
    this.lastSeq = entry.seq;
    return this.describe(entry);
  }

  /** As many rows, of the same kinds, for a reader that only counts them: what they say costs most of the time. */
  count(entry: Entry): readonly TimelineRow[] {
    if (!Object.hasOwn(ONE_ROW, entry.type)) return this.apply(entry);
    if (entry.type === 'step.started' && !this.openSteps.has(entry.step)) this.openSteps.set(entry.step, entry.at);
    if (entry.type === 'step.ended') this.openSteps.delete(entry.step);
    return this.makeRows(ONE_ROW[entry.type as keyof typeof ONE_ROW], 0, []);
  }

  /** A row for each request that was sent and has no answer in the journal, as a crash leaves them. */
  unanswered(): readonly TimelineRow[] {
    return this.requests.listUnanswered().map((spans) => this.makeRow('answer', 1, spans));
  }

  private describe(entry: Entry): readonly TimelineRow[] {
    switch (entry.type) {
      case 'run.started':
        return this.describeRunStart(entry);
      case 'run.moved':
        return [];
      case 'run.resumed':
        return this.makeRows('run', 0, [
          name('run resumed'),
          ...describeAbsence(entry.data.away),
          plain(
            entry.data.openCalls.length === 0
              ? ', with no requests in flight'
              : `, with requests in flight: ${formatText(entry.data.openCalls.join(', '))}`,
          ),
        ]);
      case 'run.residual':
        return this.describeResidual(entry);
      case 'run.ended':
        return this.describeRunEnd(entry);
      case 'step.started':
        return this.describeStepStart(entry);
      case 'step.decided':
        return this.describeDecision(entry);
      case 'step.retried':
        return this.makeRows('step', this.countDepth(entry.step), [
          doubt('retry: '),
          plain(`attempt ${entry.data.attempt} failed: `),
          bad(formatError(entry.data.error)),
          muted(`; next attempt at ${formatOffset(entry.data.retryAt - (this.startedAt ?? 0))}`),
        ]);
      case 'step.ended':
        return this.describeStepEnd(entry);
      case 'variable.set':
        return this.makeRows('step', this.countDepth(entry.step), [
          name(formatText(entry.data.name)),
          plain(' is now '),
          value(formatJson(entry.data.value)),
        ]);
      case 'notification.sent':
        return this.makeRows('person', this.countDepth(entry.step), [
          plain(`notified ${formatText(entry.data.to)}: `),
          value(formatText(entry.data.text)),
        ]);
      case 'notification.settled': {
        const { to, delivered, because } = entry.data;
        const spans = delivered
          ? [muted(`the message to ${formatText(to)} was delivered`)]
          : [doubt(`the message to ${formatText(to)} was not delivered: ${formatText(because ?? '')}`)];
        return this.makeRows('person', this.countDepth(entry.step), spans);
      }
      case 'call.intended':
        this.requests.addIntent(entry.data);
        return [];
      case 'call.checked':
        return this.makeRows('request', this.countDepth(entry.step), [
          muted(`within the limits: ${formatPairs(entry.data.limits)}`),
        ]);
      case 'call.waiting':
        // The attempt says for how long it waited.
        return [];
      case 'call.attempted':
        return this.makeRows('request', this.countDepth(entry.step), this.requests.describeSent(entry));
      case 'call.answered':
        return this.makeRows('request', this.countDepth(entry.step), [
          doubt(`attempt ${entry.data.n} was refused because of its session (HTTP ${entry.data.status})`),
          muted(`: ${formatText(entry.data.message)}; the session was renewed, and the request follows again`),
        ]);
      case 'call.settled':
        return this.describeAnswer(entry);
      case 'feed.read':
        return this.describeFeed(entry);
      case 'order.concluded':
        return this.makeRows('order', this.countDepth(entry.step), describeConclusion(entry.data));
      case 'order.moved':
        if (entry.data.orderId !== undefined) this.requests.addOwnOrder(entry.data.orderId);
        return this.makeRows('order', this.countDepth(entry.step), describeMove(entry.data));
      case 'order.alarmed':
        return this.makeRows('order', this.countDepth(entry.step), describeAlarm(entry.data));
      case 'deadman.moved':
        return this.makeRows('deadman', this.countDepth(entry.step), describeDeadman(entry.data));
      case 'account.reconciled':
        return this.makeRows('order', 0, describeReconciliation(entry.data));
      case 'account.swept':
        return this.makeRows('order', this.countDepth(entry.step), describeSweep(entry.data));
      case 'account.late_orders':
        return entry.data.late.flatMap((each) => this.makeRows('order', 0, describeLateOrder(each)));
      case 'approval.asked':
        return this.makeRows('person', this.countDepth(entry.step), [
          name('asked '),
          plain(`${formatText(formatList(entry.data.by, 'or'))}: `),
          value(formatText(entry.data.ask)),
          // A dry-run has no plan to approve.
          muted(
            `, until ${formatIsoTime(entry.data.until)}${entry.data.plan === '' ? '' : `, for plan ${formatText(entry.data.plan)}`}`,
          ),
        ]);
      case 'operator.acted':
        return this.makeRows('person', this.countDepth(entry.step), [
          name(formatText(entry.data.by)),
          plain(`: ${formatText(entry.data.command)}`),
          plain(entry.data.step === undefined ? '' : ` ${formatText(entry.data.step)}`),
          muted(entry.data.reason === undefined ? '' : ` (${formatText(entry.data.reason)})`),
        ]);
      case 'session.moved':
        return this.makeRows('run', 0, [
          name('the session with the venue '),
          entry.data.event === 'failing' ? bad('cannot be renewed') : plain(SESSION_EVENTS[entry.data.event]),
          muted(entry.data.request === undefined ? '' : formatSessionRequest(entry.data.request)),
          muted(entry.data.expiresAt === undefined ? '' : `, until ${formatIsoTime(entry.data.expiresAt)}`),
          muted(entry.data.because === undefined ? '' : `: ${formatText(entry.data.because)}`),
        ]);
      case 'store.moved':
        return this.makeRows('run', 0, [
          name('the store of the journal '),
          entry.data.event === 'away'
            ? bad('does not answer: nothing that adds risk is sent')
            : plain('answers again: the run goes on'),
          muted(entry.data.because === undefined ? '' : `: ${formatText(entry.data.because)}`),
        ]);
      case 'clock.adjusted':
        return this.makeRows('run', 0, [
          name('the wall clock was adjusted'),
          muted(`: it is ${formatSpan(entry.data.wallAheadMs)} ahead of the run’s clock, which all times here follow`),
        ]);
      case 'round.idle':
        // Its rounds are rows of their own.
        return [];
      default:
        // A journal of a later version may hold entry types that this version does not know.
        entry satisfies never;
        return [];
    }
  }

  private describeRunStart({ data, run }: EntryOf<'run.started'>): readonly TimelineRow[] {
    const rows = this.makeRows('run', 0, [
      name(formatText(data.runbook)),
      plain(
        ` begins at ${formatIsoTime(data.startedAt)}, ${MODE_MEANING[data.mode]}, account ${formatText(data.account)}`,
      ),
      muted(
        `, run ${formatText(run)}, started ${data.by === undefined ? (findMeaning(TRIGGERS, data.trigger) ?? formatText(data.trigger)) : `by ${formatText(data.by)}`}`,
      ),
    ]);
    if (Object.keys(data.inputs).length === 0) return rows;
    return [...rows, ...this.makeRows('run', 0, [plain('inputs: '), value(formatPairs(data.inputs))])];
  }

  private describeRunEnd({ data, at }: EntryOf<'run.ended'>): readonly TimelineRow[] {
    const role =
      data.outcome === 'succeeded' || data.outcome === 'stopped' ? good : data.outcome === 'failed' ? bad : doubt;
    const why = data.error === undefined ? data.reason : formatError(data.error);
    const settled = describeSettled(this.hasHalted && data.outcome !== 'halted' ? { hadHalted: true } : {});
    this.hasHalted ||= data.outcome === 'halted';
    const rows = this.makeRows('run', 0, [
      name('run '),
      role(`${RUN_OUTCOMES[data.outcome]}${settled}`),
      plain(why === undefined ? '' : ` (${formatText(why)})`),
      muted(`, after ${formatSpan(at - (this.startedAt ?? at))}, ${formatCount(this.requests.tokens, 'token')} used`),
    ]);
    const outputs = Object.entries(data.outputs).map(([key, each]) =>
      this.makeRow('run', 1, [name(formatText(key)), plain(' = '), value(formatJson(each))]),
    );
    return [...rows, ...outputs];
  }

  /** Nothing where nothing is left: then the end of the run says enough. */
  private describeResidual({
    data: { leaves, ok, left, cancels },
    step,
  }: EntryOf<'run.residual'>): readonly TimelineRow[] {
    const depth = this.countDepth(step);
    const lines = left.map((each) => describeLeft(each));
    if (cancels !== undefined)
      lines.push(
        `the armed deadman switch cancels at ${formatIsoTime(cancels.at)}, unless renewed: ${describeCancels(cancels)}`,
      );
    const rows = lines.map((line) => this.makeRow('run', depth + 1, [plain(formatText(line))]));
    if (ok) return rows.length === 0 ? [] : [...this.makeRows('run', depth, [name('position left')]), ...rows];
    const title = [bad('more is left than declared'), plain(`: leaves ${leaves}`)];
    return [...this.makeRows('run', depth, title), ...rows];
  }

  private describeStepStart({ data, step, at }: EntryOf<'step.started'>): readonly TimelineRow[] {
    const depth = this.countDepth(step);
    const isFirst = !this.openSteps.has(step);
    if (isFirst) this.openSteps.set(step, at);
    if (!isFirst)
      return this.makeRows('step', depth, [
        doubt(`attempt ${data.attempt}`),
        plain(` of ${formatStepName(step, data.id)}`),
      ]);
    const meaning = findMeaning(VERBS, data.verb);
    return this.makeRows('step', depth, [
      ...formatStepTitle(step, data),
      plain(meaning === undefined ? '' : ` (${meaning})`),
      muted(`  ${formatText(step)}`),
    ]);
  }

  private describeStepEnd({ data, step, at }: EntryOf<'step.ended'>): readonly TimelineRow[] {
    const startedAt = this.openSteps.get(step);
    this.openSteps.delete(step);
    const { outcome, error } = readStepEnd(data);
    const role = { succeeded: good, failed: bad, skipped: muted, halted: doubt, left: muted }[outcome];
    // A skipped step has no row of its own that names it.
    const title = data.outcome === 'skipped' ? formatStepTitle(step, data) : [name(formatStepName(step, data.id))];
    const spans = [...title, plain(' '), role(STEP_OUTCOMES[outcome])];
    if (error !== undefined) spans.push(bad(` (${formatError(error)})`));
    if (data.value !== undefined && data.value !== null) spans.push(plain(': '), value(summarizeResult(data.value)));
    if (startedAt !== undefined && at > startedAt) spans.push(muted(`, after ${formatSpan(at - startedAt)}`));
    return this.makeRows('step', this.countDepth(step), spans);
  }

  private describeDecision({ data, step }: EntryOf<'step.decided'>): readonly TimelineRow[] {
    const because = formatPairs(pickRead(data.expression, data.inputs));
    return this.makeRows('decision', this.countDepth(step), [
      plain(`why: ${formatText(data.what)} `),
      value(formatText(data.expression)),
      plain(' is '),
      data.value === true ? good('true') : data.value === false ? doubt('not true') : value(formatJson(data.value)),
      muted(because === '' ? '' : `, with ${because}`),
    ]);
  }

  private describeAnswer(entry: EntryOf<'call.settled'>): readonly TimelineRow[] {
    const depth = this.countDepth(entry.step);
    const { answer, fills } = this.requests.describeAnswer(entry);
    return [
      ...this.makeRows('answer', depth, answer),
      ...fills.flatMap((spans) => this.makeRows('fill', depth, spans)),
    ];
  }

  private describeFeed({ data, step }: EntryOf<'feed.read'>): readonly TimelineRow[] {
    const feed = name(`feed ${formatText(data.name)}${data.key === undefined ? '' : `[${formatText(data.key)}]`}`);
    if (data.value === undefined)
      return this.makeRows('feed', this.countDepth(step), [feed, doubt(' could not be read')]);
    const when = data.at === undefined ? '' : `, as of ${formatIsoTime(data.at)}`;
    return this.makeRows('feed', this.countDepth(step), [
      feed,
      plain(' is '),
      value(formatText(data.value)),
      muted(when),
    ]);
  }

  /** The number of open steps around a path: `ladder` is around `ladder/do/o` and `ladder[3]/o`. */
  private countDepth(path: string): number {
    if (path === '') return 0;
    let depth = 0;
    for (let end = 1; end <= path.length; end += 1) {
      const next = path[end];
      if (next !== undefined && next !== '/' && next !== '[' && next !== '~') continue;
      if (this.openSteps.has(path.slice(0, end))) depth += 1;
    }
    return depth;
  }

  private makeRows(kind: RowKind, depth: number, spans: readonly Span[]): readonly TimelineRow[] {
    return [this.makeRow(kind, depth, spans)];
  }

  private makeRow(kind: RowKind, depth: number, spans: readonly Span[]): TimelineRow {
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
}

const SESSION_EVENTS = { requested: 'was requested', renewed: 'was renewed' } as const;

function formatSessionRequest({ tokens, status }: NonNullable<DataOf<'session.moved'>['request']>): string {
  return `: POST /jwt, ${status === undefined ? 'no answer' : `answered ${status}`}, ${formatCount(tokens, 'token')}`;
}

/** How long the run was unattended; older journals do not say. */
function describeAbsence(away: Away | undefined): readonly Span[] {
  if (away === undefined) return [];
  const doubted = away.by === 'wall' ? [doubt(' by the wall clock, which may have been adjusted')] : [];
  return [muted(`, after ${formatSpan(away.ms)}`), plain(' unattended'), ...doubted];
}
