/** Reports the scheduler's events to the log, the metrics and the notification target `ops` of the profile, without waiting. */

import { formatCount, formatList, formatSpan } from '../../base/format.ts';
import { makePrintable } from '../../base/printable.ts';
import type { ClockDifference } from '../../engine/schedule/clock-agreement.ts';
import type { RunEnding } from '../../engine/schedule/launcher.ts';
import type { DecidedAhead, SchedulerEvent } from '../../engine/schedule/scheduler.ts';
import type { Entry } from '../../journal/entry.ts';
import type { KillOrder } from '../../journal/shared/shared.ts';
import { formatIsoTime } from '../../report/format.ts';
import { listAlarms } from '../../report/results/alarms.ts';
import type { SchedulerAlarm } from '../../report/results/scheduler-alarms.ts';
import type { NoticeSeverity } from '../../venue/profile/setting-form.ts';
import type { Account } from '../account/account.ts';
import { type Subject, sendAlarm } from '../account/notifications.ts';
import type { Fields, SchedulerLog } from './log.ts';
import type { AccountMetrics } from './metrics.ts';
import type { ResumedRuns } from './runs/runs.ts';
import type { FileProblem } from './runs/timetable.ts';

/** How many slots that wait for a time to come are named. */
const MOST_AHEAD = 5;

export class SchedulerEvents {
  private readonly log: SchedulerLog;
  private readonly metrics: AccountMetrics;
  private readonly account: Account;
  private readonly runs: Record<string, number> = Object.create(null);
  private readonly verdicts: Record<string, number> = Object.create(null);
  private heartbeatProblem: string | undefined;
  /** Missed occurrences by slot, reported together: a machine that slept for a year misses half a million. */
  private missed = new Map<
    string,
    { readonly runbook: string; readonly why: string; readonly fromMs: number; toMs: number; count: number }
  >();

  constructor(log: SchedulerLog, metrics: AccountMetrics, account: Account) {
    this.log = log;
    this.metrics = metrics;
    this.account = account;
  }

  /** Numbers of occurrences by verdict, and of runs by outcome. */
  getCounts(): {
    readonly occurrences: Readonly<Record<string, number>>;
    readonly runs: Readonly<Record<string, number>>;
  } {
    return { occurrences: { ...this.verdicts }, runs: { ...this.runs } };
  }

  reportEvent(event: SchedulerEvent): void {
    this.metrics.countEvent(event);
    switch (event.type) {
      case 'decided':
        this.reportDecision(event);
        return;
      case 'begun':
        this.log.write('info', 'run_begun', `run ${event.run} began`, { run: event.run, runbook: event.runbook });
        return;
      case 'ended':
        this.reportEnd(event.run, event.runbook, event.ending);
        return;
      case 'lost':
        this.sendAlarm(
          'error',
          'run_lost',
          `the run of ${event.slot} at ${formatIsoTime(event.nominalMs)} was due but did not begin: the process died or was suspended, and now it is too late. It sent nothing; start it with \`runbook run\` if it is still needed`,
          { run: event.run, slot: event.slot },
        );
        return;
      case 'jumped':
        this.sendAlarm(
          'warn',
          'clock_jumped',
          `the wall clock jumped by ${formatSpan(event.ms)}: each schedule's misfire rule applies to the skipped times. If the machine did not sleep, check its time service`,
          { ms: event.ms },
        );
        return;
      case 'unrecorded':
        this.sendAlarm(
          'error',
          'verdict_unrecorded',
          `nothing is started until the store answers; what falls due meanwhile is decided then: ${event.message}`,
        );
        return;
      case 'settled':
        this.log.write(
          'warn',
          'run_settled',
          `${makePrintable(event.by, 100)} settled run ${event.run}: its slot is free`,
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

  /** Reports the entries of runs that need people's attention. */
  reportEntry(entry: Entry): void {
    this.metrics.countEntry(entry);
    const { run, step } = entry;
    if (entry.type === 'approval.asked') {
      const { ask, by, until } = entry.data;
      this.sendAlarm(
        'warn',
        'approval_asked',
        `${run} asks ${makePrintable(formatList(by, 'or'), 200)}: ${makePrintable(ask, 500)} — runbook approve ${run} ${step} --by NAME, until ${formatIsoTime(until)}`,
        { run, step },
      );
    } else if (entry.type === 'order.alarmed' || entry.type === 'account.swept') {
      // One message of a sweep, however many orders it left.
      const [first, ...more] = listAlarms(entry);
      if (first === undefined) return;
      const { clientOrderId, alarm } = first;
      const order = clientOrderId === '' ? '' : `order ${makePrintable(clientOrderId, 60)}: `;
      const others = more.length === 0 ? '' : `, and ${formatCount(more.length, 'other')}`;
      this.sendAlarm('warn', 'order_alarmed', `${run}: ${order}${alarm}${others}. See \`runbook audit show ${run}\``, {
        run,
        step,
        alarm,
      });
    } else if (entry.type === 'deadman.moved' && entry.data.event === 'assumed_fired') {
      this.sendAlarm(
        'error',
        'deadman_fired',
        `${run}: the deadman switch is assumed to have fired, which cancels the orders of every run of the account. The run reads its orders and ends; see \`runbook audit show ${run}\``,
        { run },
      );
    }
  }

  reportContradicted(message: string): void {
    this.sendAlarm('error', 'account_contradicted', message);
  }

  reportResumed({ resumed: taken, stuck, halted }: ResumedRuns): void {
    for (const run of taken) this.log.write('warn', 'run_resumed', `run ${run} was resumed`, { run });
    for (const { run, why } of stuck)
      this.sendAlarm(
        'error',
        'run_stuck',
        `run ${run} cannot be resumed: ${makePrintable(why, 500)}. ${adviseOnRun(run)}`,
        {
          run,
        },
      );
    for (const { run, why } of halted)
      this.sendAlarm('error', 'run_halted', `run ${run} has halted: ${makePrintable(why, 500)}. ${adviseOnRun(run)}`, {
        run,
      });
  }

  reportReload(slots: number, problems: readonly FileProblem[]): void {
    this.metrics.countReload(problems.length === 0);
    for (const { message, kept } of problems) {
      const then = kept ? 'the previous state stays in force' : 'the file is left out';
      this.sendAlarm('error', 'reload_refused', `${makePrintable(message, 500)}; ${then}`);
    }
    this.log.write('info', 'reloaded', `reloaded the files: ${formatCount(slots, 'slot')} in force`, {
      slots,
      problems: problems.length,
    });
  }

  reportKillSwitch(order: KillOrder | undefined): void {
    if (order === undefined) this.log.write('warn', 'kill_released', 'the kill switch is not engaged any more');
    else
      this.sendAlarm(
        'error',
        'kill_engaged',
        `the kill switch is engaged by ${makePrintable(order.by, 100)}: ${makePrintable(order.reason, 300)}`,
      );
  }

  /** That the kill switch cannot be read, or can be again; `order` is what was read. */
  reportKillReading(order: KillOrder | undefined): void {
    if (order?.unread) this.sendAlarm('error', 'kill_unread', makePrintable(order.reason, 400));
    else this.log.write('info', 'kill_read', 'the kill switch can be read again');
  }

  reportDecidedAhead(slots: readonly DecidedAhead[]): void {
    const shown = slots
      .slice(0, MOST_AHEAD)
      .map(({ slot, throughMs }) => `${makePrintable(slot, 100)} up to ${formatIsoTime(throughMs)}`);
    const more = slots.length > MOST_AHEAD ? ` and ${formatCount(slots.length - MOST_AHEAD, 'other')}` : '';
    this.sendAlarm(
      'error',
      'decided_ahead',
      `a clock that was ahead has decided ${shown.join(', ')}${more}: nothing of it is started before. If this machine's time is right, give such a slot other times in its file, such as a \`from\`: it is a new slot then`,
    );
  }

  /** That the clocks differ by more than the profile allows, or agree again. */
  reportClock(difference: ClockDifference | undefined, allowedMs: number): void {
    if (difference === undefined) {
      this.sendAlarm(
        'warn',
        'clock_agrees',
        "this machine's clock agrees again: what fell due meanwhile is decided now",
      );
      return;
    }
    const { source, aheadMs } = difference;
    this.sendAlarm(
      'error',
      'clock_disagrees',
      `this machine's clock is ${formatSpan(Math.abs(aheadMs))} ${aheadMs > 0 ? 'ahead of' : 'behind'} the clock of ${source}, by more than ${formatSpan(allowedMs)} (clock.ahead): nothing new is decided until they agree. Check the time service of this machine`,
      { aheadMs: Math.round(aheadMs), source },
    );
  }

  /** The first failure of several, and that it succeeds again: who waits for the heartbeat raises the alarm. */
  reportHeartbeat(problem: string | undefined): void {
    this.metrics.countHeartbeat(problem === undefined);
    if (problem !== undefined && this.heartbeatProblem === undefined)
      this.log.write('warn', 'heartbeat_failed', `the heartbeat URL could not be asked for: ${problem}`);
    if (problem === undefined && this.heartbeatProblem !== undefined)
      this.log.write('info', 'heartbeat_sent', 'the heartbeat URL can be asked for again');
    this.heartbeatProblem = problem;
  }

  reportStall(ms: number): void {
    this.sendAlarm('error', 'loop_resumed', `the event loop was blocked for ${formatSpan(ms)}`, { ms });
  }

  private reportDecision({ decision, runbook, run }: Extract<SchedulerEvent, { type: 'decided' }>): void {
    const { slot, nominalMs } = decision;
    const fields = { slot, nominal: formatIsoTime(nominalMs) };
    const count = (verdict: string) => {
      this.verdicts[verdict] = (this.verdicts[verdict] ?? 0) + 1;
    };
    switch (decision.type) {
      case 'start':
        count('started');
        this.log.write('info', 'occurrence_started', `${runbook} is due`, {
          ...fields,
          run,
          latenessMs: decision.latenessMs,
        });
        return;
      case 'skip':
        count('skipped');
        this.log.write('warn', 'occurrence_skipped', `${runbook} was skipped: ${decision.why}`, {
          ...fields,
          why: decision.why,
        });
        return;
      case 'missed':
        count('missed');
        this.collectMissed(slot, runbook, nominalMs, decision.why);
        return;
      case 'queue':
        this.log.write('info', 'occurrence_waits', `${runbook} waits for another run`, {
          ...fields,
          behind: decision.behind,
        });
        return;
      case 'replace':
        this.log.write('info', 'occurrence_replaces', `${runbook} is to replace ${decision.runs.join(', ')}`, fields);
        return;
      default:
        decision satisfies never;
    }
  }

  private collectMissed(slot: string, runbook: string, nominalMs: number, why: string): void {
    if (this.missed.size === 0) queueMicrotask(() => this.reportMissed());
    const key = `${slot} ${why}`;
    const known = this.missed.get(key);
    if (known === undefined) this.missed.set(key, { runbook, why, fromMs: nominalMs, toMs: nominalMs, count: 1 });
    else {
      known.toMs = nominalMs;
      known.count += 1;
    }
  }

  private reportMissed(): void {
    for (const { runbook, why, fromMs, toMs, count } of this.missed.values()) {
      const when =
        count === 1
          ? `at ${formatIsoTime(fromMs)}`
          : `${count} times from ${formatIsoTime(fromMs)} to ${formatIsoTime(toMs)}`;
      this.sendAlarm('warn', 'occurrence_missed', `${runbook} was missed ${when}: ${why}`, { count, why });
    }
    this.missed = new Map();
  }

  private reportEnd(run: string, runbook: string, ending: RunEnding): void {
    const outcome = ending.kind === 'ended' ? ending.outcome : ending.kind;
    this.runs[outcome] = (this.runs[outcome] ?? 0) + 1;
    const why = ending.kind === 'ended' ? ending.reason : ending.why;
    const then = outcome === 'halted' || outcome === 'stuck' ? `. ${adviseOnRun(run)}` : '';
    const message = `run ${run} ${outcome}${why === undefined ? '' : `: ${makePrintable(why, 500)}`}${then}`;
    const good = outcome === 'succeeded' || outcome === 'stopped';
    const fields = { run, runbook, outcome };
    if (good) this.log.write('info', 'run_ended', message, fields);
    else if (ending.kind === 'left')
      this.log.write('warn', 'run_left', `run ${run} is left to the next process that serves the account`, fields);
    else this.sendAlarm('error', 'run_ended', message, fields);
  }

  private sendAlarm(
    severity: NoticeSeverity,
    event: SchedulerAlarm,
    message: string,
    { step, ...fields }: Fields & Subject = {},
  ): void {
    this.log.write(severity, event, message, { ...fields, step });
    const { run, runbook } = fields;
    void sendAlarm(this.account, { severity, text: message, run, runbook, step }, this.log.asVoice()).then(
      (arrived) => {
        if (arrived !== undefined) this.metrics.countNotice(arrived);
      },
    );
  }
}

/** Advice for the person on call. */
function adviseOnRun(run: string): string {
  return `Nothing of its slot or concurrency key is started until a person settles it: check \`runbook audit show ${run}\` and the venue; then \`runbook cancel ${run} --by NAME\` frees both, or, with the scheduler stopped, \`runbook resume ${run}\` asks the venue again`;
}
