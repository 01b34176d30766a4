/** What happens in the scheduler, told to whoever watches: the log, the figures, and the target `ops` of the profile. Nobody is waited for. */
import { formatCount, formatList, formatSpan } from '../../base/format.ts';
import { printable } from '../../base/printable.ts';
import type { Notifier } from '../../engine/ports.ts';
import type { RunEnding } from '../../engine/schedule/launcher.ts';
import type { SchedulerEvent } from '../../engine/schedule/scheduler.ts';
import type { Entry } from '../../journal/entry.ts';
import type { KillOrder } from '../../journal/shared/shared.ts';
import type { Account } from '../account/account.ts';
import { noticesOf, OPERATORS } from '../account/notifications.ts';
import type { Fields, Level, SchedulerLog } from './log.ts';
import type { AccountMetrics } from './metrics.ts';
import type { TakenUp } from './runs.ts';
import type { FileProblem } from './timetable.ts';

export class SchedulerEvents {
  private readonly log: SchedulerLog;
  private readonly metrics: AccountMetrics;
  private readonly notifier: Notifier | undefined;
  private readonly runs: Record<string, number> = Object.create(null);
  private readonly verdicts: Record<string, number> = Object.create(null);
  /** Missed occurrences by slot, told together: a machine that slept for a year misses half a million. */
  private missed = new Map<
    string,
    { readonly runbook: string; readonly why: string; readonly fromMs: number; toMs: number; count: number }
  >();

  constructor(log: SchedulerLog, metrics: AccountMetrics, account: Account) {
    this.log = log;
    this.metrics = metrics;
    this.notifier = Object.hasOwn(account.profile.notify, OPERATORS) ? noticesOf(account, log.voice()) : undefined;
  }

  /** How many occurrences had which verdict, and how many runs which end. */
  counts(): {
    readonly occurrences: Readonly<Record<string, number>>;
    readonly runs: Readonly<Record<string, number>>;
  } {
    return { occurrences: { ...this.verdicts }, runs: { ...this.runs } };
  }

  took(event: SchedulerEvent): void {
    this.metrics.took(event);
    switch (event.type) {
      case 'decided':
        this.decided(event);
        return;
      case 'begun':
        this.log.tell('info', 'run_begun', `run ${event.run} began`, { run: event.run, runbook: event.runbook });
        return;
      case 'ended':
        this.ended(event.run, event.runbook, event.ending);
        return;
      case 'lost':
        this.alarm(
          'error',
          'run_lost',
          `the run of ${event.slot} at ${iso(event.nominalMs)} was started and never began: the process died or was held up before, and now it is too late. Nothing of it was sent; \`runbook run\` makes up for it`,
          { run: event.run, slot: event.slot },
        );
        return;
      case 'jumped':
        this.alarm(
          'warn',
          'clock_jumped',
          `the wall clock jumped by ${formatSpan(event.ms)}: what it jumped over is judged by each schedule's misfire. If the machine did not sleep, look at its time service`,
          { ms: event.ms },
        );
        return;
      case 'unrecorded':
        this.alarm(
          'error',
          'agenda_unrecorded',
          `nothing is started until the store answers, and what falls due meanwhile is judged then: ${event.message}`,
        );
        return;
      case 'settled':
        this.log.tell(
          'warn',
          'run_settled',
          `${printable(event.by, 100)} answers for run ${event.run}: its slot is free`,
          {
            run: event.run,
            runbook: event.runbook,
          },
        );
        return;
      case 'overtaken':
        return;
      default:
        event satisfies never;
    }
  }

  /** What happens within runs and is for people. */
  entry(entry: Entry): void {
    this.metrics.entry(entry);
    const { run, step } = entry;
    if (entry.type === 'approval.asked') {
      const { ask, by, until } = entry.data;
      this.alarm(
        'warn',
        'approval_asked',
        `${run} asks ${printable(formatList(by, 'or'), 200)}: ${printable(ask, 500)} — runbook approve ${run} ${step} --by NAME, until ${iso(until)}`,
        { run, step },
      );
    } else if (entry.type === 'order.alarmed') {
      this.alarm(
        'warn',
        'order_alarmed',
        `${run}: order ${entry.data.clientOrderId}: ${entry.data.alarm}. See \`runbook audit show ${run}\``,
        { run, step, alarm: entry.data.alarm },
      );
    } else if (entry.type === 'deadman.moved' && entry.data.event === 'assumed_fired') {
      this.alarm(
        'error',
        'deadman_fired',
        `${run}: the deadman switch is assumed to have fired, which cancels the orders of every run of the account. The run asks the venue and ends; see \`runbook audit show ${run}\``,
        { run },
      );
    }
  }

  takenUp({ taken, stuck, halted }: TakenUp): void {
    for (const run of taken) this.log.tell('warn', 'run_resumed', `run ${run} goes on where its process died`, { run });
    for (const { run, why } of stuck)
      this.alarm('error', 'run_stuck', `run ${run} cannot be taken up: ${printable(why, 500)}. ${whatToDo(run)}`, {
        run,
      });
    for (const { run, why } of halted)
      this.alarm('error', 'run_halted', `run ${run} has halted: ${printable(why, 500)}. ${whatToDo(run)}`, { run });
  }

  reloaded(slots: number, problems: readonly FileProblem[]): void {
    this.metrics.reloaded(problems.length === 0);
    for (const { message, kept } of problems) {
      const then = kept ? 'what was in force before stays in force' : 'it is left out';
      this.alarm('error', 'reload_refused', `${printable(message, 500)}; ${then}`);
    }
    this.log.tell('info', 'reloaded', `files were read again: ${formatCount(slots, 'slot')} in force`, {
      slots,
      problems: problems.length,
    });
  }

  killSwitch(order: KillOrder | undefined): void {
    if (order === undefined) this.log.tell('warn', 'kill_released', 'the kill switch is not engaged any more');
    else if (order.unread) this.alarm('error', 'kill_unread', printable(order.reason, 400));
    else
      this.alarm(
        'error',
        'kill_engaged',
        `the kill switch is engaged by ${printable(order.by, 100)}: ${printable(order.reason, 300)}`,
      );
  }

  stalled(ms: number): void {
    this.alarm('error', 'loop_resumed', `the event loop had stood still for ${formatSpan(ms)}`, { ms });
  }

  private decided({ decision, runbook, run }: Extract<SchedulerEvent, { type: 'decided' }>): void {
    const { slot, nominalMs } = decision;
    const fields = { slot, nominal: iso(nominalMs) };
    const count = (verdict: string) => {
      this.verdicts[verdict] = (this.verdicts[verdict] ?? 0) + 1;
    };
    switch (decision.type) {
      case 'start':
        count('started');
        this.log.tell('info', 'occurrence_started', `${runbook} is due`, {
          ...fields,
          run,
          latenessMs: decision.latenessMs,
        });
        return;
      case 'skip':
        count('skipped');
        this.log.tell('warn', 'occurrence_skipped', `${runbook} was skipped: ${decision.why}`, {
          ...fields,
          why: decision.why,
        });
        return;
      case 'missed':
        count('missed');
        this.gather(slot, runbook, nominalMs, decision.why);
        return;
      case 'queue':
        this.log.tell('info', 'occurrence_waits', `${runbook} waits for another run`, {
          ...fields,
          behind: decision.behind,
        });
        return;
      case 'replace':
        this.log.tell('info', 'occurrence_replaces', `${runbook} is to replace ${decision.runs.join(', ')}`, fields);
        return;
      default:
        decision satisfies never;
    }
  }

  private gather(slot: string, runbook: string, nominalMs: number, why: string): void {
    if (this.missed.size === 0) queueMicrotask(() => this.tellMissed());
    const key = `${slot} ${why}`;
    const known = this.missed.get(key);
    if (known === undefined) this.missed.set(key, { runbook, why, fromMs: nominalMs, toMs: nominalMs, count: 1 });
    else {
      known.toMs = nominalMs;
      known.count += 1;
    }
  }

  private tellMissed(): void {
    for (const { runbook, why, fromMs, toMs, count } of this.missed.values()) {
      const when = count === 1 ? `at ${iso(fromMs)}` : `${count} times from ${iso(fromMs)} to ${iso(toMs)}`;
      this.alarm('warn', 'occurrence_missed', `${runbook} was missed ${when}: ${why}`, { count, why });
    }
    this.missed = new Map();
  }

  private ended(run: string, runbook: string, ending: RunEnding): void {
    const outcome = ending.kind === 'ended' ? ending.outcome : ending.kind;
    this.runs[outcome] = (this.runs[outcome] ?? 0) + 1;
    const why = ending.kind === 'ended' ? ending.reason : ending.why;
    const then = outcome === 'halted' || outcome === 'stuck' ? `. ${whatToDo(run)}` : '';
    const message = `run ${run} ${outcome}${why === undefined ? '' : `: ${printable(why, 500)}`}${then}`;
    const good = outcome === 'succeeded' || outcome === 'stopped';
    const fields = { run, runbook, outcome };
    if (good) this.log.tell('info', 'run_ended', message, fields);
    else if (ending.kind === 'left')
      this.log.tell('warn', 'run_left', `run ${run} is left to whoever serves the account next`, fields);
    else this.alarm('error', 'run_ended', message, fields);
  }

  private alarm(level: Level, event: string, message: string, fields: Fields = {}): void {
    this.log.tell(level, event, message, fields);
    this.notifier?.send(OPERATORS, message);
  }
}

/** For whoever is woken by it. */
function whatToDo(run: string): string {
  return `Nothing of its slot and its concurrency key is started until a person has dealt with it: see \`runbook audit show ${run}\` and the venue; then \`runbook cancel ${run} --by NAME\` frees them, or, with the scheduler stopped, \`runbook resume ${run}\` asks the venue again`;
}

function iso(ms: number): string {
  return new Date(ms).toISOString();
}
