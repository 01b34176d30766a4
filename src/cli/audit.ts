/** `runbook audit list` and `runbook audit show`: which runs there are, and the story of one. */

import { printable } from '../base/printable.ts';
import { didYouMean } from '../base/schema.ts';
import type { Entry, EntryOf, Json, JsonObject } from '../journal/entry.ts';
import type { JournalStore, RunRow } from '../journal/store.ts';
import { RoutineFilter } from '../report/routine.ts';
import { isoTime } from '../report/run.ts';
import { printTimeline, type RowKind, TimelineFold, type TimelineRow } from '../report/timeline.ts';
import { jsonText, type Role, readBy, shown, spanText } from '../report/wording.ts';
import { looksLikeDuration, readDuration, readTime } from '../runbook/literals.ts';
import { EXIT, type ExitCode, Refusal } from './exit.ts';
import { entriesOf, noRunYet, withJournal, withRuns } from './journal-file.ts';
import { findRun } from './runs.ts';
import type { Style, Terminal } from './terminal.ts';
import { type Cell, textTable } from './text-table.ts';
import type { Invocation } from './verb.ts';

export interface ListOptions {
  readonly runbook: string | undefined;
  readonly limit: string | undefined;
}

export async function listRuns({ runbook, limit }: ListOptions, { terminal, state }: Invocation): Promise<ExitCode> {
  const most = limit === undefined ? undefined : wholeOption('--limit', limit);
  const rows = await withJournal(state, (store) =>
    store.runs({ ...(runbook === undefined ? {} : { runbook }), ...(most === undefined ? {} : { limit: most }) }),
  );
  const runs = (rows ?? []).map(({ run, runbook: name, mode, outcome, startedAt, endedAt, trigger }) => ({
    run,
    runbook: name,
    mode,
    outcome: outcome ?? null,
    startedAt: isoTime(startedAt),
    endedAt: endedAt === undefined ? null : isoTime(endedAt),
    trigger,
  }));
  terminal.answer({ runs }, () => {
    if (rows === undefined) return noRunYet(state);
    if (rows.length === 0)
      return runbook === undefined ? noRunYet(state) : `there is no run of ${printable(runbook, 100)}`;
    return textTable(
      ['run', 'runbook', 'mode', 'outcome', 'started', '#took', 'trigger'],
      rows.map(runCells),
      terminal,
    );
  });
  return EXIT.done;
}

function runCells({ run, runbook, mode, outcome, startedAt, endedAt, trigger }: RunRow): readonly Cell[] {
  const took = endedAt === undefined ? '' : spanText(endedAt - startedAt);
  const ending: Cell =
    outcome === undefined
      ? { text: 'no end yet', style: 'warning' }
      : { text: outcome, style: OUTCOME_STYLE[outcome] ?? 'faint' };
  return [shown(run), shown(runbook), shown(mode), ending, isoTime(startedAt), took, shown(trigger)];
}

export const OUTCOME_STYLE: Readonly<Record<string, Style>> = {
  succeeded: 'good',
  stopped: 'good',
  failed: 'bad',
  halted: 'warning',
};

export interface ShowOptions {
  readonly order: string | undefined;
  readonly step: string | undefined;
  readonly kind: readonly string[];
  readonly since: string | undefined;
  readonly depth: string | undefined;
  readonly why: string | undefined;
  readonly all: boolean;
}

export const ROW_KINDS = [
  'run',
  'step',
  'decision',
  'request',
  'answer',
  'order',
  'fill',
  'feed',
  'deadman',
  'person',
] as const satisfies readonly RowKind[];

export async function showRun(name: string, options: ShowOptions, { terminal, state }: Invocation): Promise<ExitCode> {
  const kinds = kindsOption(options.kind);
  const depth = options.depth === undefined ? undefined : wholeOption('--depth', options.depth);
  return withRuns(state, async (store) => {
    const run = await findRun(store, name);
    if (options.why !== undefined) return explainStep(store, run, options.why, terminal);
    const since = options.since === undefined ? undefined : sinceOption(options.since, run.startedAt);
    const order = options.order === undefined ? undefined : await orderNamed(store, run, options.order);
    const telling = new Telling({
      order,
      step: options.step,
      kinds,
      depth,
      since,
      all: options.all || kinds !== undefined,
    });
    const rows: TimelineRow[] = [];
    for await (const entry of entriesOf(store, run.run)) rows.push(...telling.apply(entry));
    rows.push(...telling.end());
    if (rows.length === 0 && options.step !== undefined) throw noStep(options.step, run, telling.steps);
    terminal.answer({ run: run.run, rows: rows.map(rowDocument) }, () =>
      rows.length === 0 ? 'nothing in this run fits what was asked for' : printTimeline(rows, paint(terminal)),
    );
    return EXIT.done;
  });
}

function rowDocument({ seq, at, offsetMs, depth, kind, spans }: TimelineRow) {
  return { sequence: seq, at: isoTime(at), offsetMs, depth, kind, text: spans.map((span) => span.text).join('') };
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

export function paint(terminal: Terminal): (role: Role, text: string) => string {
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
  /** Also what is routine and changed nothing. */
  readonly all: boolean;
}

/** The timeline of a run, or the part of it that was asked for. */
class Telling {
  readonly steps = new Set<string>();
  private readonly options: TellingOptions;
  private readonly fold = new TimelineFold();
  private readonly routine = new RoutineFilter();
  private readonly callsOfOrder = new Set<string>();

  constructor(options: TellingOptions) {
    this.options = options;
  }

  apply(entry: Entry): readonly TimelineRow[] {
    if (entry.step !== '') this.steps.add(entry.step);
    const rows = this.fold.apply(entry).filter((row) => this.wants(row, entry));
    return this.options.all ? rows : this.routine.push(entry, rows);
  }

  end(): readonly TimelineRow[] {
    const { order, step, kinds } = this.options;
    const narrowed = order !== undefined || step !== undefined || kinds !== undefined;
    return [...(this.options.all ? [] : this.routine.end()), ...(narrowed ? [] : this.fold.unanswered())];
  }

  private wants(row: TimelineRow, entry: Entry): boolean {
    const { order, step, kinds, depth, since } = this.options;
    if (since !== undefined && row.at < since) return false;
    if (kinds !== undefined && !kinds.has(row.kind)) return false;
    if (depth !== undefined && row.depth > depth) return false;
    if (step !== undefined && !isWithin(entry.step, step)) return false;
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
        // An answer about several orders: only this one's fills.
        return (
          order.calls.has(entry.data.call) ||
          (row.kind === 'fill' && row.spans.some(({ text }) => text === ` of order ${shown(order.orderId ?? '')}`))
        );
      case 'step.started':
      case 'step.ended':
      case 'step.retried':
      case 'step.decided':
        return entry.step === order.step;
      case 'run.started':
      case 'run.ended':
        return true;
      default:
        return false;
    }
  }
}

/** Whether a step's path is what was named (an id, a verb with its position, a path) or lies within it. */
function isWithin(path: string, named: string): boolean {
  if (path === named || path.startsWith(`${named}/`) || path.startsWith(`${named}[`) || path.startsWith(`${named}~`))
    return true;
  const bare = bareStep(path);
  return (
    bare === named ||
    bare.startsWith(`${named}/`) ||
    bare.split('/').some((part) => part === named || part.replace(/^\d+:/, '') === named)
  );
}

/** A path without its iterations and attempts. */
function bareStep(path: string): string {
  return path.replace(/\[\d+\]|~\d+/g, '');
}

function noStep(named: string, run: RunRow, steps: ReadonlySet<string>): Refusal {
  const words = new Set([...steps].flatMap((path) => [bareStep(path), ...bareStep(path).split('/')]));
  const meant = didYouMean(named, words);
  const hint =
    meant === undefined
      ? `it has ${[...new Set([...steps].map(bareStep))].slice(0, 12).map(shown).join(', ')}`
      : `did you mean ${shown(meant)}?`;
  return new Refusal(`run ${shown(run.run)} has no step ${printable(named, 100)}; ${hint}`);
}

interface NamedOrder {
  readonly clientOrderId: string;
  readonly orderId: string | undefined;
  readonly step: string;
  /** Calls that were made for it. */
  readonly calls: ReadonlySet<string>;
}

/** An order by its client order id, the venue's id, or the step that placed it. */
async function orderNamed(store: JournalStore, run: RunRow, named: string): Promise<NamedOrder> {
  const orders = new Map<
    string,
    { clientOrderId: string; orderId: string | undefined; step: string; calls: Set<string> }
  >();
  const byVenueId = new Map<string, string>();
  for await (const entry of entriesOf(store, run.run)) {
    if (entry.type === 'call.intended') {
      const { intent, clientOrderId, call, params } = entry.data;
      if (intent !== undefined && !orders.has(intent.clientOrderId)) {
        orders.set(intent.clientOrderId, {
          clientOrderId: intent.clientOrderId,
          orderId: undefined,
          step: entry.step,
          calls: new Set(),
        });
      }
      const id = intent?.clientOrderId ?? clientOrderId ?? byVenueId.get(String(params.order_id));
      if (id !== undefined) orders.get(id)?.calls.add(call);
    } else if (entry.type === 'order.moved' && entry.data.orderId !== undefined) {
      byVenueId.set(entry.data.orderId, entry.data.clientOrderId);
      const order = orders.get(entry.data.clientOrderId);
      if (order !== undefined) order.orderId = entry.data.orderId;
    }
  }
  const all = [...orders.values()];
  const exact = all.filter(({ clientOrderId, orderId }) => clientOrderId === named || orderId === named);
  const fitting = exact.length > 0 ? exact : all.filter(({ step }) => isWithin(step, named));
  const [order, other] = fitting;
  if (order !== undefined && other === undefined) return order;
  const list = (fitting.length > 0 ? fitting : all)
    .slice(0, 8)
    .map(({ clientOrderId, orderId }) => shown(orderId ?? clientOrderId));
  if (all.length === 0) throw new Refusal(`run ${shown(run.run)} has no orders`);
  throw new Refusal(
    `${printable(named, 100)} ${fitting.length > 0 ? 'could be' : 'is no order of this run; it has'} ${list.join(', ')}`,
  );
}

/** `--why`: every decision of a step with its expression, what it read and what came out, and what was asked of the venue. */
async function explainStep(store: JournalStore, run: RunRow, named: string, terminal: Terminal): Promise<ExitCode> {
  const steps = new Set<string>();
  const found: (
    | EntryOf<'step.decided'>
    | EntryOf<'step.ended'>
    | EntryOf<'call.checked'>
    | EntryOf<'call.intended'>
  )[] = [];
  for await (const entry of entriesOf(store, run.run)) {
    if (entry.step !== '') steps.add(entry.step);
    const tells =
      entry.type === 'step.decided' ||
      entry.type === 'step.ended' ||
      entry.type === 'call.checked' ||
      entry.type === 'call.intended';
    if (tells && isOwn(entry.step, named)) found.push(entry);
  }
  if (found.length === 0) throw noStep(named, run, steps);
  const decisions = found.filter((entry) => entry.type === 'step.decided');
  const document = {
    run: run.run,
    step: named,
    decisions: decisions.map(({ seq, at, step, data }) => ({
      sequence: seq,
      at: isoTime(at),
      step,
      what: data.what,
      expression: data.expression,
      inputs: readBy(data.expression, data.inputs),
      value: data.value,
    })),
    calls: found.flatMap((entry) =>
      entry.type === 'call.intended'
        ? [
            {
              sequence: entry.seq,
              at: isoTime(entry.at),
              step: entry.step,
              endpoint: entry.data.endpoint,
              params: entry.data.params,
            },
          ]
        : [],
    ),
    ends: found.flatMap((entry) =>
      entry.type === 'step.ended'
        ? [
            {
              sequence: entry.seq,
              at: isoTime(entry.at),
              step: entry.step,
              outcome: entry.data.outcome,
              ...(entry.data.error === undefined
                ? {}
                : { error: { kind: entry.data.error.kind, message: entry.data.error.message } }),
            },
          ]
        : [],
    ),
  };
  terminal.answer(document, () => found.map((entry) => explained(entry, terminal)).join('\n'));
  return EXIT.done;
}

/** The step itself, each iteration and attempt of it, but not the steps inside. */
function isOwn(path: string, named: string): boolean {
  const bare = bareStep(path);
  const last = bare.split('/').at(-1) ?? bare;
  return path === named || bare === named || last === named || last.replace(/^\d+:/, '') === named;
}

function explained(
  entry: EntryOf<'step.decided'> | EntryOf<'step.ended'> | EntryOf<'call.checked'> | EntryOf<'call.intended'>,
  terminal: Terminal,
): string {
  const when = terminal.style('faint', `${isoTime(entry.at)}  ${shown(entry.step)}`);
  switch (entry.type) {
    case 'step.decided': {
      const { what, expression, inputs, value } = entry.data;
      const style: Style = value === true ? 'good' : value === false ? 'warning' : 'place';
      return [
        `${when}\n  ${shown(what)} ${terminal.style('place', shown(expression))} is ${terminal.style(style, jsonText(value))}`,
        ...values(readBy(expression, inputs), terminal),
      ].join('\n');
    }
    case 'call.intended':
      return [
        `${when}\n  asks the venue: ${terminal.style('strong', shown(entry.data.endpoint))}`,
        ...values(entry.data.params, terminal),
      ].join('\n');
    case 'call.checked':
      return [`${when}\n  within the limits`, ...values(entry.data.limits, terminal)].join('\n');
    case 'step.ended': {
      const { outcome, error } = entry.data;
      const why = error === undefined ? '' : `: ${shown(error.kind)}: ${shown(error.message)}`;
      return `${when}\n  ${terminal.style(OUTCOME_STYLE[outcome] ?? 'faint', outcome)}${why}`;
    }
    default:
      return entry satisfies never;
  }
}

function values(fields: JsonObject, terminal: Terminal): readonly string[] {
  return Object.entries(fields).map(
    ([name, value]: [string, Json]) => `    ${terminal.style('faint', shown(name))} = ${jsonText(value)}`,
  );
}

function kindsOption(given: readonly string[]): ReadonlySet<RowKind> | undefined {
  const words = given.flatMap((each) => each.split(',')).map((each) => each.trim());
  if (words.length === 0) return undefined;
  return new Set(
    words.map((word) => {
      const kind = ROW_KINDS.find((each) => each === word);
      if (kind === undefined) throw new Refusal(`--kind takes ${ROW_KINDS.join(', ')}; found ${printable(word, 100)}`);
      return kind;
    }),
  );
}

/** A time, or how long after the run's start. */
function sinceOption(text: string, startedAt: number): number {
  if (looksLikeDuration(text)) {
    const duration = readDuration(text);
    if ('value' in duration) return startedAt + duration.value.ms;
  }
  const time = readTime(text);
  if ('value' in time) return time.value.ms;
  throw new Refusal(
    `--since takes a time in ISO 8601 with its offset, or a duration since the start such as 10m; found ${printable(text, 100)}`,
  );
}

export function wholeOption(option: string, text: string): number {
  const number = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN;
  if (!Number.isSafeInteger(number)) throw new Refusal(`${option} takes a whole number, found ${printable(text, 100)}`);
  return number;
}
