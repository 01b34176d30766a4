/**
 * Reports a run to people while it is running: a line of progress, questions that wait for an answer, waits for the venue's
 * rate limit, and, once it was asked to end, repeatedly what is open and what it waits for. outcome.ts holds how it ended.
 */
import type { Metronome, Timer } from '../../base/clock.ts';
import { formatCount, formatFirst, formatWholeSeconds } from '../../base/format.ts';
import { makePrintable } from '../../base/printable.ts';
import type { Entry, EntryOf } from '../../journal/entry.ts';
import { POSITION_LEFT } from '../../report/folds/residual.ts';
import { describeLeft } from '../../venue/position/residual.ts';
import type { Voice } from '../voice.ts';
import type { KnownRun } from './outcome.ts';
import { listUnsettledOrders } from './unsettled.ts';

/** Minimum interval between lines of progress, ms: with thousands of orders, formatting them all takes time. */
const PROGRESS_EVERY_MS = 200;
/** Shorter waits than this are not reported, ms. */
const LONG_WAIT_MS = 10_000;
/** Interval of the status of a settling run, ms. */
const SETTLING_REPORT_MS = 15_000;

export class RunProgressReport {
  private readonly run: string;
  private readonly voice: Voice;
  private readonly known: KnownRun;
  private entries = 0;
  private shownAt = 0;
  private firstAt: number | undefined;

  constructor(run: string, voice: Voice, known: KnownRun) {
    this.run = run;
    this.voice = voice;
    this.known = known;
  }

  apply(entry: Entry): void {
    this.entries += 1;
    this.firstAt ??= entry.at;
    if (entry.type === 'approval.asked') this.reportQuestion(entry);
    if (entry.type === 'call.settled') this.reportWait(entry);
    if (entry.type !== 'step.started' && entry.type !== 'order.moved') return;
    if (entry.at - this.shownAt < PROGRESS_EVERY_MS) return;
    this.shownAt = entry.at;
    const open = listUnsettledOrders(this.known.progress()).length;
    // The important part first: a narrow terminal cuts the rest.
    this.voice.progress(
      `${formatCount(open, 'order')} open, ${formatWholeSeconds(entry.at - this.firstAt)}, ${makePrintable(entry.step, 80)}, ${formatCount(this.entries, 'entry', 'entries')}, ${this.run}`,
    );
  }

  private reportQuestion(entry: EntryOf<'approval.asked'>): void {
    this.voice.note(formatQuestion(entry));
    const until = new Date(entry.data.until).toISOString();
    this.voice.progress(`waits for an answer until ${until}, ${makePrintable(entry.step, 80)}, ${this.run}`);
  }

  private reportWait({ at, data: { failure, retryAfterMs = 0 } }: EntryOf<'call.settled'>): void {
    if (failure !== 'rate_limited' || retryAfterMs < LONG_WAIT_MS) return;
    this.voice.note(
      `the venue's rate limit is used up; it asks for a pause of ${formatWholeSeconds(retryAfterMs)}: nothing is retried before ${new Date(at + retryAfterMs).toISOString()}. Ctrl-C, or \`runbook cancel ${this.run} --by NAME\`, ends the run cleanly`,
    );
  }
}

function formatQuestion({ run, at, step, data: { ask, by, until } }: EntryOf<'approval.asked'>): string {
  const path = makePrintable(step, 200);
  const named = /^[\w/:.-]+$/.test(path) ? path : `'${path}'`;
  const whom = by.length === 0 ? '' : ` (${by.map((each) => makePrintable(each, 60)).join(', ')})`;
  return `${path} asks${whom}: ${makePrintable(ask, 600)}\nit waits ${formatWholeSeconds(until - at)}, until ${new Date(until).toISOString()}; without an answer the step fails then. Answer from another terminal: \`runbook approve ${run} ${named} --by NAME\`, or \`reject\``;
}

/** Says at intervals, until the returned function is called, that the start of a run waits for the venue: it has not journaled anything yet. */
export function reportSlowStart(clock: Metronome, voice: Pick<Voice, 'note'>): () => void {
  let waitedMs = 0;
  const schedule = (): Timer =>
    clock.after(LONG_WAIT_MS, () => {
      waitedMs += LONG_WAIT_MS;
      voice.note(
        `nothing was sent yet: the venue has not listed its orders and fills for ${formatWholeSeconds(waitedMs)}, and they are compared with the journal first; Ctrl-C ends this`,
      );
      timer = schedule();
    });
  let timer = schedule();
  return () => timer.cancel();
}

/** Describes in one line what is open at the venue as far as the run knows. */
export function describeOpenOrders(known: KnownRun): string {
  const open = listUnsettledOrders(known.progress());
  const orders = open.map(
    ({ orderId, clientOrderId, type, side, market, state }) =>
      `${orderId ?? clientOrderId} (${type} ${side} ${market}, ${state})`,
  );
  const bare = known.residual().beyond.map((each) => `; ${POSITION_LEFT} ${describeLeft(each)}`);
  return `as far as is known ${formatCount(open.length, 'order')} open${open.length === 0 ? '' : `: ${formatFirst(orders, 3)}`}${bare.join('')}`;
}

/** Reports the status of a run that was asked to end, until it is stopped: the venue may not answer. */
export class SettlingProgress {
  private readonly clock: Metronome;
  private readonly voice: Pick<Voice, 'note'>;
  private readonly known: KnownRun;
  private readonly until: number;
  private timer: Timer;

  /** `until`: when the process ends in any case, epoch ms. */
  constructor(clock: Metronome, voice: Pick<Voice, 'note'>, known: KnownRun, until: number) {
    this.clock = clock;
    this.voice = voice;
    this.known = known;
    this.until = until;
    this.timer = this.scheduleReport();
  }

  /** Also at once when asked again: a second signal wants an answer. */
  report(): void {
    const pending = this.known.findUnanswered();
    const awaited = pending === undefined ? '' : `; the venue gave no answer to ${pending.method} ${pending.path}`;
    this.voice.note(
      `still settling: ${describeOpenOrders(this.known)}${awaited}. What is open at ${new Date(this.until).toISOString()} is left for \`runbook resume ${this.known.progress().run}\`; the venue's own interface is quicker (docs/live.md, Stop one run)`,
    );
  }

  stop(): void {
    this.timer.cancel();
  }

  private scheduleReport(): Timer {
    return this.clock.after(SETTLING_REPORT_MS, () => {
      this.report();
      this.timer = this.scheduleReport();
    });
  }
}
