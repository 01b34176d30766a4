/** `runbook audit show`: prints the timeline of a run, whole or filtered, or one raw entry. */

import { EXIT, type ExitCode, UserError } from '../../app/errors.ts';
import { showInputs } from '../../app/files/load.ts';
import { findOrder, type NamedOrder } from '../../app/stores/find-order.ts';
import { isWithin, makeNoStepError } from '../../app/stores/find-step.ts';
import { withRun } from '../../app/stores/review.ts';
import { formatOffset } from '../../base/format.ts';
import { escapeUnprintable, makePrintable } from '../../base/printable.ts';
import type { Entry } from '../../journal/entry.ts';
import { foldEntries, readEntries } from '../../journal/reading.ts';
import type { JournalReader, RunRow } from '../../journal/store.ts';
import { ApprovalFold } from '../../report/folds/approvals.ts';
import { ResultFold } from '../../report/folds/run.ts';
import { formatIsoTime, formatText, type Role } from '../../report/format.ts';
import { RoutineFilter } from '../../report/timeline/routine.ts';
import {
  makeRowDocument,
  printTimeline,
  type RowKind,
  TimelineFold,
  type TimelineRow,
} from '../../report/timeline/timeline.ts';
import { looksLikeDuration, readDuration, readTime } from '../../runbook/expression/literals.ts';
import type { Given } from '../actions/actions.ts';
import { ROW_KINDS } from '../choices.ts';
import type { Invocation } from '../invocation.ts';
import { readWholeOption } from '../option-values.ts';
import type { Output, Style } from '../terminal/output.ts';
import { explainStep } from './why.ts';

export async function showRun(options: Given<'audit show'>, review: Invocation): Promise<ExitCode> {
  const { terminal } = review;
  const kinds = readKindsOption(options.kind);
  const depth = options.depth === undefined ? undefined : readWholeOption('--depth', options.depth);
  return withRun(review, options.run, async (store, run) => {
    if (options.entry !== undefined) return showEntry(store, run, options.entry, terminal);
    if (options.why !== undefined) return explainStep(store, run, options.why, terminal);
    const since = options.since === undefined ? undefined : readSinceOption(options.since, run.startedAt);
    const order = options.order === undefined ? undefined : await findOrder(store, run, options.order);
    const telling = new TimelinePart({
      order,
      step: options.step,
      kinds,
      depth,
      since,
      all: options.all || kinds !== undefined,
    });
    // A damaged journal is refused before the first line is written.
    await foldEntries(store, run.run, { apply() {} });
    const result = new ResultFold();
    const entries = terminal.json
      ? passThrough(readEntries(store, run.run), result)
      : describeInputs(readEntries(store, run.run));
    const rows = telling.listRows(run.run, entries);
    await terminal.answerInPieces(writeDocument(run.run, rows, result), writeLines(rows, terminal));
    return EXIT.done;
  });
}

async function* passThrough(entries: AsyncIterable<Entry>, fold: ResultFold): AsyncGenerator<Entry> {
  for await (const entry of entries) {
    fold.apply(entry);
    yield entry;
  }
}

async function* describeInputs(entries: AsyncIterable<Entry>): AsyncGenerator<Entry> {
  for await (const entry of entries) yield showInputs(entry);
}

async function* writeLines(rows: AsyncIterable<TimelineRow>, terminal: Output): AsyncGenerator<string> {
  let isEmpty = true;
  for await (const row of rows) {
    isEmpty = false;
    yield printTimeline([row], paint(terminal));
  }
  if (isEmpty) yield 'nothing in this run matches\n';
}

/** What is said of the run as a whole is known behind its rows. */
async function* writeDocument(
  run: string,
  rows: AsyncIterable<TimelineRow>,
  result: ResultFold,
): AsyncGenerator<string> {
  let before = `{"run":${JSON.stringify(run)},"rows":[`;
  for await (const row of rows) {
    yield `${before}${JSON.stringify(makeRowDocument(row))}`;
    before = ',';
  }
  yield `${before === ',' ? '' : before}],${JSON.stringify(result.result()).slice(1)}`;
}

const ROLE_STYLE: Readonly<Record<Role, Style | undefined>> = {
  plain: undefined,
  muted: 'faint',
  name: 'strong',
  value: 'place',
  good: 'good',
  bad: 'bad',
  doubt: 'warning',
};

function paint(terminal: Output): (role: Role, text: string) => string {
  return (role, text) => {
    const style = ROLE_STYLE[role];
    return style === undefined ? text : terminal.style(style, text);
  };
}

interface TellingOptions {
  readonly order: NamedOrder | undefined;
  readonly step: string | undefined;
  readonly kinds: ReadonlySet<RowKind> | undefined;
  readonly depth: number | undefined;
  /** Epoch ms. */
  readonly since: number | undefined;
  /** Also routine rows that changed nothing. */
  readonly all: boolean;
}

/** Builds the timeline of a run, or the filtered part of it. */
class TimelinePart {
  private readonly steps = new Set<string>();
  private readonly options: TellingOptions;
  private readonly fold = new TimelineFold();
  private readonly routine = new RoutineFilter();
  private readonly approvals = new ApprovalFold();

  constructor(options: TellingOptions) {
    this.options = options;
  }

  /** Its rows. Throws a UserError where the run has no step of the name that is wanted. */
  async *listRows(run: string, entries: AsyncIterable<Entry>): AsyncGenerator<TimelineRow> {
    const { step } = this.options;
    let isEmpty = true;
    for await (const entry of entries) {
      const rows = this.apply(entry);
      isEmpty &&= rows.length === 0;
      yield* rows;
    }
    const last = this.end();
    if (isEmpty && last.length === 0 && step !== undefined) throw makeNoStepError(step, run, this.steps);
    yield* last;
  }

  private apply(entry: Entry): readonly TimelineRow[] {
    if (this.options.step !== undefined && entry.step !== '') this.steps.add(entry.step);
    this.approvals.apply(entry);
    const rows = this.fold.apply(entry).filter((row) => this.wants(row, entry));
    return this.options.all ? rows : this.routine.push(entry, rows);
  }

  private end(): readonly TimelineRow[] {
    const { order, step, kinds } = this.options;
    const narrowed = order !== undefined || step !== undefined || kinds !== undefined;
    return [...(this.options.all ? [] : this.routine.end()), ...(narrowed ? [] : this.fold.unanswered())];
  }

  private wants(row: TimelineRow, entry: Entry): boolean {
    const { order, step, kinds, depth, since } = this.options;
    if (since !== undefined && row.at < since) return false;
    if (kinds !== undefined && !kinds.has(row.kind)) return false;
    if (depth !== undefined && row.depth > depth) return false;
    // A person's answer belongs to the step it answers.
    const path = entry.type === 'operator.acted' ? (this.approvals.answeredBy(entry.seq) ?? '') : entry.step;
    if (step !== undefined && !isWithin(path, step)) return false;
    return order === undefined || this.concerns(entry, row, order);
  }

  private concerns(entry: Entry, row: TimelineRow, order: NamedOrder): boolean {
    switch (entry.type) {
      case 'order.moved':
      case 'order.alarmed':
      case 'order.concluded':
        return entry.data.clientOrderId === order.clientOrderId;
      case 'call.checked':
      case 'call.attempted':
        return order.calls.has(entry.data.call);
      case 'call.settled':
        // An answer about several orders: only this order's fills.
        return (
          order.calls.has(entry.data.call) ||
          (row.kind === 'fill' && row.spans.some(({ text }) => text === ` of order ${formatText(order.orderId ?? '')}`))
        );
      case 'step.started':
      case 'step.ended':
      case 'step.retried':
      case 'step.decided':
        // A later attempt of a step places the order under the attempt's own path.
        return entry.step === order.step.replace(/~\d+$/, '');
      case 'run.started':
      case 'run.ended':
        return true;
      default:
        return false;
    }
  }
}

function readKindsOption(given: readonly string[]): ReadonlySet<RowKind> | undefined {
  const words = given.flatMap((each) => each.split(',')).map((each) => each.trim());
  if (words.length === 0) return undefined;
  return new Set(
    words.map((word) => {
      const kind = ROW_KINDS.find((each) => each === word);
      if (kind === undefined)
        throw new UserError(`--kind takes ${ROW_KINDS.join(', ')}; found ${makePrintable(word, 100)}`);
      return kind;
    }),
  );
}

/** A time, or a duration after the run's start. */
function readSinceOption(text: string, startedAt: number): number {
  if (looksLikeDuration(text)) {
    const duration = readDuration(text);
    if ('value' in duration) return startedAt + duration.value.ms;
  }
  const time = readTime(text);
  if ('value' in time) return time.value.ms;
  throw new UserError(
    `--since takes a time in ISO 8601 with its offset, or a duration since the start such as 10m; found ${makePrintable(text, 100)}`,
  );
}

/** One raw entry, as it was hashed: the evidence that `audit summary` refers to. */
async function showEntry(
  store: JournalReader,
  { run, startedAt }: RunRow,
  number: string,
  terminal: Output,
): Promise<ExitCode> {
  const sequence = readWholeOption('--entry', number);
  const [stored] = await store.read(run, { after: sequence - 1, limit: 1 });
  if (stored === undefined || stored.seq !== sequence)
    throw new UserError(`run ${formatText(run)} has no entry ${sequence}`);
  const { at, type, step, line, hash } = stored;
  terminal.answer({ run, sequence, at: formatIsoTime(at), type, step, line, hash }, () =>
    [
      `${terminal.style('strong', `entry ${sequence}`)}  ${formatText(type)}  ${formatIsoTime(at)}, ${formatOffset(at - startedAt)}${step === '' ? '' : `  ${formatText(step)}`}`,
      ...formatJsonLines(line).map(escapeUnprintable),
      terminal.style('faint', `hash ${hash}`),
    ].join('\n'),
  );
  return EXIT.done;
}

/** Formatted for reading; the line itself is what was hashed. */
export function formatJsonLines(line: string): readonly string[] {
  try {
    return JSON.stringify(JSON.parse(line), null, 2).split('\n');
  } catch {
    return [line];
  }
}
