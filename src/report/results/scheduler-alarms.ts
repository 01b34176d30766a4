/**
 * Says what to do about each alarm of the scheduler, for the person on call; `runbook explain` and the reference print it. The
 * scheduler sends none without a row. `deadman_fired` is the kind of an error too, which has its own.
 */
import type { AlarmRow } from './alarm-meaning.ts';

export const SCHEDULER_ALARMS = {
  run_lost: {
    summary: 'a run was due and did not begin, and now it is too late for it',
    example: 'the process died between the verdict and the first entry of the run',
    now: 'start it with `runbook run` if it is still needed: it sent nothing',
  },
  run_stuck: {
    summary: 'a run that a process left cannot be resumed',
    example: 'the recorded runbook does not pass the checks of a newer version',
    now: 'look at `runbook audit show RUN` and at the venue; then `runbook cancel RUN --by NAME` frees its slot',
  },
  run_halted: {
    summary: 'a run has halted: it waits for a person, and holds its slot and its key',
    example: 'the venue answered no look-up of an order',
    now: 'look at `runbook audit show RUN` and at the venue; then cancel it, or resume it with the scheduler stopped',
  },
  run_ended: {
    summary: 'a run has failed or halted',
    example: 'an entry was denied by a limit',
    now: 'look at `runbook audit summary RUN`: it says what the run left, and why it failed',
  },
  approval_asked: {
    summary: 'a run waits for the answer of a person',
    example: 'an `approve` step before the entry of the day',
    now: 'answer with `runbook approve RUN STEP --by NAME` or `runbook reject`, before the time that the message names',
  },
  order_alarmed: {
    summary: 'an order of a run should be looked at; the message has the name of its alarm',
    example: 'a fill arrived after the order had ended',
    now: 'ask `runbook explain` for the name in the message',
  },
  account_contradicted: {
    summary: 'the journal of the account is contradicted, by the venue, an anchor or its own chain',
    example: 'an order of this program is at the venue, and in no journal',
    now: 'do what the message says, and find out which is right: `runbook audit verify`, `runbook account reconcile`',
  },
  kill_engaged: {
    summary: 'a person has engaged the kill switch',
    example: '`runbook kill --profile FILE --by NAME`',
    now: 'ask who engaged it; `runbook release --profile FILE --by NAME` lifts it when the cause is gone',
  },
  kill_unread: {
    summary: 'the kill switch cannot be read: nothing that adds risk is sent until it can',
    example: 'the store is on a disk that does not answer',
    now: 'see to the store; `runbook doctor --profile FILE` says what it lacks',
  },
  occurrence_missed: {
    summary: 'a run was not started at its time, and its misfire rule does not make up for it',
    example: 'the machine slept for an hour',
    now: 'start it with `runbook run` if it is still needed',
  },
  verdict_unrecorded: {
    summary: 'the store does not take the verdict on what is due, so nothing is started',
    example: 'the disk is full',
    now: 'see to the store: what falls due meanwhile is decided when it answers',
  },
  reload_refused: {
    summary: 'a changed file has errors: its earlier state stays in force, or it is left out',
    example: 'a runbook was saved with a misspelt step',
    now: 'correct the file; `runbook validate` shows every error',
  },
  decided_ahead: {
    summary: 'a schedule was decided up to a time to come: nothing of it is started before',
    example: 'the clock of the machine was a day ahead while the venue did not answer',
    now: 'see that the time of the machine is right; then give the slot other times in its file, such as a `from`: it is a new slot then',
  },
  clock_disagrees: {
    summary: 'the clock of this machine differs from another by more than `clock.ahead` allows',
    example: 'the time service of the machine has stopped',
    now: 'see to the time service: nothing new is decided until the clocks agree',
  },
  clock_agrees: {
    summary: 'the clock of this machine agrees again',
    example: 'the time service is back',
    now: 'nothing: what fell due meanwhile is decided now',
  },
  clock_jumped: {
    summary: 'the wall clock jumped: the misfire rules apply to the times that it skipped',
    example: 'the machine slept, or a person set its clock',
    now: 'look at the time service of the machine if it did not sleep',
  },
  loop_resumed: {
    summary: 'the process stood still, and heartbeats may have come late',
    example: 'the machine had no processor free for ten seconds',
    now: 'look at the load of the machine, and at the deadman switch in `runbook audit summary RUN`',
  },
} as const satisfies Record<string, AlarmRow & { readonly summary: string }>;

export type SchedulerAlarm = keyof typeof SCHEDULER_ALARMS | 'deadman_fired';
