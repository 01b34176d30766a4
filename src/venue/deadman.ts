/**
 * Tracks the venue's deadman switch (venue-api.md, Deadman switch) as a pure fold over the requests sent, answers and reads.
 * In doubt it assumes the worse: a request renewed the switch only if it was *answered*, and only from when it was *sent*,
 * because the venue saw it at some instant between the two. So a switch that may have fired is never called `armed`; a switch
 * that is still armed may be called fired, which is the cheaper mistake. This file sends nothing and does not know whether the
 * run makes progress: the heartbeat does (language.md, decision 12).
 */
import { formatSpan } from '../base/format.ts';
import type { DeadmanRecord } from './records.ts';

/** The shortest timeout of a live run, ms (interface.md, Settled points); the venue's own smallest is 1 ms (venue-api.md, rule 3). */
export const SHORTEST_LIVE_TIMEOUT_MS = 5_000;

/** Why a live run does not arm a switch with so short a timeout, ms. */
export function describeShortTimeout(timeoutMs: number): string {
  return `a deadman timeout of ${formatSpan(timeoutMs)} is too short; live it is at least ${formatSpan(SHORTEST_LIVE_TIMEOUT_MS)}`;
}

/** What one runbook requires of the switch. The venue has one switch for the whole account, so requirements are combined. */
export interface DeadmanRequirement {
  readonly id: string;
  readonly market: string;
  readonly timeoutMs: number;
  /** How long after a qualifying request the next one is due, ms; 0 where no request is sent only to renew the switch. */
  readonly keepAliveMs: number;
}

type DeadmanStatus = 'off' | 'arming' | 'armed' | 'disarming' | 'unknown' | 'assumed_fired';

export interface DeadmanState {
  readonly status: DeadmanStatus;
  readonly requirements: readonly DeadmanRequirement[];
  /** Of the switch as it may be at the venue: where two time-outs are possible, the shorter. */
  readonly market?: string | undefined;
  readonly timeoutMs: number;
  readonly keepAliveMs: number;
  /** Epoch ms, like every instant here: when the latest answered qualifying request was sent. */
  readonly lastQualifyingSentAt?: number | undefined;
  /** When the venue's answer that it is armed arrived; a read that was sent earlier proves nothing. */
  readonly armedAt?: number | undefined;
  /** POSTs to /cancel_all_after that are not settled. */
  readonly inFlight: number;
  /** The shortest time-out they ask for, ms. */
  readonly requestedMs?: number | undefined;
  /** A DELETE was sent, and no POST after it; `answered`: the venue confirmed it. */
  readonly deletion?: { readonly sentAt: number; readonly answered: boolean } | undefined;
  /** When a failed heartbeat is retried. */
  readonly retryAt?: number | undefined;
  /** When the requirements last changed. */
  readonly changedAt?: number | undefined;
  /** When the latest confirmed POST of ours was sent: other requests may renew a switch that is not there any more. */
  readonly heartbeatSentAt?: number | undefined;
  /** When a step of the run armed or disarmed the switch itself: only a POST sent after that settles its state. */
  readonly changedByStepAt?: number | undefined;
  /** A step disarmed it, or may have. */
  readonly removed?: boolean | undefined;
  /** An earlier request may have armed it, so a refusal of the later ones does not show it off. */
  readonly mayBeArmed?: boolean | undefined;
}

export type DeadmanEvent =
  | { readonly type: 'LEASE_ENTERED'; readonly at: number; readonly lease: DeadmanRequirement }
  | { readonly type: 'LEASE_LEFT'; readonly at: number; readonly id: string }
  /** POST /cancel_all_after is sent: to arm or to renew. */
  | { readonly type: 'ARM_SENT'; readonly at: number; readonly market: string; readonly timeoutMs: number }
  | {
      readonly type: 'ARM_ANSWERED';
      readonly at: number;
      readonly sentAt: number;
      readonly timeoutMs: number;
      readonly echo: DeadmanRecord | null;
    }
  /** `certain`: refused, or never sent (a 429 is certain: it renewed nothing). Otherwise it may have arrived. */
  | { readonly type: 'ARM_FAILED'; readonly at: number; readonly sentAt: number; readonly certain: boolean }
  /** POST, PUT, DELETE /orders or cancel_all was answered with success (venue-api.md, rule 1). */
  | { readonly type: 'QUALIFYING_ANSWERED'; readonly at: number; readonly sentAt: number }
  /** GET /cancel_all_after was answered; null when it is not active. */
  | { readonly type: 'READ'; readonly at: number; readonly sentAt: number; readonly record: DeadmanRecord | null }
  /** A step of the run has armed a switch itself, or may have. */
  | { readonly type: 'STEP_ARMED'; readonly at: number; readonly market: string; readonly timeoutMs: number }
  /** A step of the run has disarmed a switch itself, or may have. */
  | { readonly type: 'STEP_DISARMED'; readonly at: number; readonly market: string }
  /** No heartbeat is sent from now on. DELETE may be sent when `canDelete`. */
  | { readonly type: 'DISARM_BEGUN'; readonly at: number }
  /** A DELETE was not sent in time: heartbeats go on. One of a process that died may have been. */
  | { readonly type: 'DISARM_PUT_OFF'; readonly at: number }
  | { readonly type: 'DELETE_SENT'; readonly at: number }
  | { readonly type: 'DELETE_ANSWERED'; readonly at: number }
  /** No process was there for a time of unknown length: a switch that was armed may have fired. */
  | { readonly type: 'UNSEEN'; readonly at: number }
  /** Every order was read after the switch was assumed to have fired: it may be armed again. */
  | { readonly type: 'RECONCILED'; readonly at: number }
  | { readonly type: 'TIME'; readonly at: number };

interface DeadmanAlarm {
  readonly alarm: 'assumed_fired' | 'timeout_mismatch' | 'foreign_switch' | 'late_heartbeat';
  readonly because: string;
}

interface DeadmanStep {
  readonly state: DeadmanState;
  readonly alarms: readonly DeadmanAlarm[];
}

/** Keep-alive of a requirement that names none, ms: a quarter of the time-out, as venue-notes.md advises. */
export function chooseKeepAliveMs(timeoutMs: number): number {
  return Math.max(1, Math.floor(timeoutMs / 4));
}

/**
 * How long to wait for the answer to a request about a switch of this time-out, ms. Two requests that hang one after the other,
 * and the heartbeat that replaces them, fit into the time-out. With the wait of an order, one would let a short switch fire.
 */
export function limitDeadmanAnswerMs(timeoutMs: number): number {
  return Math.max(1, Math.floor(timeoutMs / 4));
}

/** Attempts to arm a switch, and attempts to disarm it, each verified by a GET. */
export const SWITCH_TRIES = 6;

/**
 * Until when a request may leave that holds up the heartbeats (epoch ms): an eighth of the time-out behind the instant at which the
 * next of them is due. Undefined where none is: then it may wait for any time.
 */
export function limitHoldUp(state: DeadmanState, now: number): number | undefined {
  const { keepAliveMs, lastQualifyingSentAt, timeoutMs } = state;
  if (findArmedUntil(state) === undefined || lastQualifyingSentAt === undefined || keepAliveMs === 0) return undefined;
  return Math.max(lastQualifyingSentAt + keepAliveMs, now) + Math.floor(timeoutMs / 8);
}

/** After a heartbeat that failed, the next one follows sooner: this part of the keep-alive later. */
export const RETRY_SOONER = 4;

/** How often an armed switch is read back, ms: an answered request proves that the venue hears us, not that the switch is armed. */
export function chooseDeadmanReadPauseMs(timeoutMs: number): number {
  return READ_EVERY * timeoutMs;
}
const READ_EVERY = 4;

/** No requirement, nothing sent. A process that follows another passes `unknown`: the switch it left is not known. */
export function createDeadman(status: 'off' | 'unknown' = 'off'): DeadmanState {
  return { status, requirements: [], timeoutMs: 0, keepAliveMs: 0, inFlight: 0 };
}

/** Folds one event. Expiry is checked first, so that a late answer never hides a gap. */
export function stepDeadman(before: DeadmanState, event: DeadmanEvent): DeadmanStep {
  const expired = checkExpiry(before, event.at);
  const applied = applyEvent(expired.state, event);
  return { state: applied.state, alarms: [...expired.alarms, ...applied.alarms] };
}

/**
 * The requirement in force: the shortest time-out, and the shortest keep-alive, at most half of that time-out. Undefined where
 * there are no requirements.
 */
export function combineRequirements({ requirements }: DeadmanState): DeadmanRequirement | undefined {
  const [first, ...others] = requirements;
  if (first === undefined) return undefined;
  // Asked at the begin and the end of each step, and a run has hardly ever more than one.
  if (others.length === 0 && first.keepAliveMs * 2 <= first.timeoutMs) return first;
  const shortest = others.reduce((best, each) => (each.timeoutMs < best.timeoutMs ? each : best), first);
  const pauses = requirements.map(({ keepAliveMs }) => keepAliveMs).filter((each) => each > 0);
  const half = Math.max(1, Math.floor(shortest.timeoutMs / 2));
  return { ...shortest, keepAliveMs: pauses.length === 0 ? 0 : Math.min(...pauses, half) };
}

/**
 * When the next heartbeat is due (epoch ms); undefined while the switch is not to be renewed or a heartbeat is in flight. The
 * caller sends it only if the run makes progress. Qualifying requests postpone it, but by no more than a time-out: they cannot
 * renew a switch that another program disarmed, while a heartbeat arms it again.
 */
export function findRenewalTime(state: DeadmanState): number | undefined {
  if (state.status !== 'armed' || state.inFlight > 0 || state.lastQualifyingSentAt === undefined) return undefined;
  const wanted = combineRequirements(state);
  if (wanted === undefined) return undefined;
  if (state.changedByStepAt !== undefined) return state.retryAt ?? state.changedByStepAt;
  if (wanted.timeoutMs < state.timeoutMs) return state.retryAt ?? state.changedAt ?? state.lastQualifyingSentAt;
  if (wanted.keepAliveMs === 0) return undefined;
  return state.retryAt ?? Math.min(state.lastQualifyingSentAt + state.keepAliveMs, computeOverdueAt(state));
}

function computeOverdueAt({ heartbeatSentAt, timeoutMs }: DeadmanState): number {
  return heartbeatSentAt === undefined ? Number.POSITIVE_INFINITY : heartbeatSentAt + timeoutMs;
}

/** The last instant at which the switch is certainly armed (epoch ms); undefined where nothing is armed. */
export function findArmedUntil(state: DeadmanState): number | undefined {
  if (state.lastQualifyingSentAt === undefined) return undefined;
  if (state.status !== 'armed' && state.status !== 'disarming') return undefined;
  // An answered DELETE has stopped the countdown: a read still verifies that, but the switch does not fire any more.
  if (state.deletion?.answered === true) return undefined;
  return state.lastQualifyingSentAt + Math.min(state.timeoutMs, state.requestedMs ?? state.timeoutMs);
}

/** Whether an order may be sent now: nothing requires the switch, or it is certainly armed. */
export function allowsOrders(state: DeadmanState, now: number): boolean {
  if (state.status === 'assumed_fired') return false;
  if (state.requirements.length === 0) return true;
  const until = findArmedUntil(state);
  return state.status === 'armed' && state.removed !== true && until !== undefined && now <= until;
}

/** Whether DELETE may be sent: a POST still in flight could arrive after it and arm the switch again (fault-matrix.md, row 40). */
export function canDelete(state: DeadmanState): boolean {
  return state.status === 'disarming' && state.inFlight === 0;
}

/** Whether DELETE is to be sent, or sent again. */
export function needsDelete(state: DeadmanState): boolean {
  return canDelete(state) && state.deletion === undefined;
}

function checkExpiry(state: DeadmanState, now: number): DeadmanStep {
  const until = findArmedUntil(state);
  if (until === undefined || now <= until) return { state, alarms: [] };
  return assumeFired(
    state,
    `no qualifying request was answered that was sent within ${formatSpan(now - (state.lastQualifyingSentAt ?? now))}; it fires after ${formatSpan(state.timeoutMs)}`,
  );
}

function assumeFired(state: DeadmanState, because: string): DeadmanStep {
  return {
    state: { ...state, status: 'assumed_fired', retryAt: undefined },
    alarms: [{ alarm: 'assumed_fired', because }],
  };
}

function withoutAlarms(state: DeadmanState): DeadmanStep {
  return { state, alarms: [] };
}

function applyEvent(state: DeadmanState, event: DeadmanEvent): DeadmanStep {
  switch (event.type) {
    case 'LEASE_ENTERED':
      return withoutAlarms(
        withRequirements(
          state,
          [...state.requirements.filter(({ id }) => id !== event.lease.id), event.lease],
          event.at,
        ),
      );
    case 'LEASE_LEFT':
      return withoutAlarms(
        withRequirements(
          state,
          state.requirements.filter(({ id }) => id !== event.id),
          event.at,
        ),
      );
    case 'ARM_SENT':
      return withoutAlarms(applyArmSent(state, event));
    case 'ARM_ANSWERED':
      return applyArmAnswered(state, event);
    case 'ARM_FAILED':
      return withoutAlarms(applyArmFailed(state, event));
    case 'QUALIFYING_ANSWERED':
      return withoutAlarms(renewFrom(state, event.sentAt));
    case 'READ':
      return applyRead(state, event);
    case 'STEP_ARMED':
      return withoutAlarms(applyStepArmed(state, event));
    case 'STEP_DISARMED':
      return withoutAlarms(
        state.market === event.market && (state.status === 'armed' || state.status === 'arming')
          ? { ...state, changedByStepAt: event.at, removed: true, retryAt: undefined }
          : state,
      );
    case 'DISARM_BEGUN':
      return withoutAlarms(beginDisarming(state));
    case 'DISARM_PUT_OFF':
      return withoutAlarms(
        state.status === 'disarming' && state.lastQualifyingSentAt !== undefined
          ? { ...state, status: 'armed', deletion: undefined, changedByStepAt: event.at, removed: true }
          : state,
      );
    case 'DELETE_SENT':
      return withoutAlarms({ ...state, deletion: { sentAt: event.at, answered: false } });
    case 'DELETE_ANSWERED':
      return withoutAlarms(
        state.deletion === undefined ? state : { ...state, deletion: { ...state.deletion, answered: true } },
      );
    case 'UNSEEN':
      return findArmedUntil(state) === undefined
        ? withoutAlarms(state)
        : assumeFired(
            state,
            `it is not known how long no process was there; the switch fires after ${formatSpan(state.timeoutMs)} and may have fired`,
          );
    case 'RECONCILED':
      // It may be armed all the same: what is refused next does not show it off.
      return withoutAlarms(state.status === 'assumed_fired' ? { ...clearSwitch(state), mayBeArmed: true } : state);
    case 'TIME':
      return withoutAlarms(state);
    default:
      return event satisfies never;
  }
}

/** A switch that may have fired cannot expire any more: only a read shows whether it is off. */
function beginDisarming(state: DeadmanState): DeadmanState {
  if (state.status === 'off') return state;
  const lapsed = state.status === 'assumed_fired' ? { lastQualifyingSentAt: undefined } : {};
  return { ...state, status: 'disarming', retryAt: undefined, deletion: undefined, ...lapsed };
}

function withRequirements(state: DeadmanState, requirements: readonly DeadmanRequirement[], at: number): DeadmanState {
  const next: DeadmanState = { ...state, requirements, changedAt: at };
  return { ...next, keepAliveMs: combineRequirements(next)?.keepAliveMs ?? state.keepAliveMs };
}

function clearSwitch(state: DeadmanState): DeadmanState {
  return {
    ...createDeadman(),
    requirements: state.requirements,
    keepAliveMs: state.keepAliveMs,
    inFlight: state.inFlight,
    changedAt: state.changedAt,
  };
}

function applyArmSent(state: DeadmanState, { market, timeoutMs }: DeadmanEvent & { type: 'ARM_SENT' }): DeadmanState {
  const first = state.status === 'off' || state.status === 'unknown';
  return {
    ...state,
    status: first ? 'arming' : state.status,
    mayBeArmed: first ? state.status === 'unknown' || state.mayBeArmed : state.mayBeArmed,
    market,
    timeoutMs: first ? timeoutMs : state.timeoutMs,
    inFlight: state.inFlight + 1,
    requestedMs: Math.min(timeoutMs, state.requestedMs ?? timeoutMs),
    retryAt: undefined,
    // This request may arrive after the DELETE, which then proves nothing.
    deletion: undefined,
  };
}

function applyArmAnswered(state: DeadmanState, event: DeadmanEvent & { type: 'ARM_ANSWERED' }): DeadmanStep {
  const inFlight = Math.max(0, state.inFlight - 1);
  const { echo } = event;
  const echoedMs = echo?.timeout ?? event.timeoutMs;
  const alarms: DeadmanAlarm[] = [];
  if (echo !== null && echo.timeout !== event.timeoutMs) {
    alarms.push({
      alarm: 'timeout_mismatch',
      because: `the request asked for ${formatSpan(event.timeoutMs)}, the venue answered ${formatSpan(echo.timeout)}`,
    });
  }
  if (echo !== null && echo.status !== 'active') {
    alarms.push({
      alarm: 'timeout_mismatch',
      because: `the request arms the switch, the venue answered with status ${echo.status.slice(0, 40)}`,
    });
    return { state: { ...state, inFlight, status: state.status === 'arming' ? 'unknown' : state.status }, alarms };
  }
  // Sent before a step of the run armed or disarmed the switch, it proves nothing about the state after that.
  const outdated = state.changedByStepAt !== undefined && event.sentAt < state.changedByStepAt;
  const timeoutMs = Math.min(event.timeoutMs, echoedMs, outdated ? state.timeoutMs : Number.POSITIVE_INFINITY);
  // `assumed_fired` remains until every order was read, and disarming continues: a late answer changes neither.
  const first = state.status === 'arming';
  const next: DeadmanState = renewFrom(
    {
      ...state,
      status: first ? 'armed' : state.status,
      timeoutMs: inFlight === 0 ? timeoutMs : Math.min(timeoutMs, state.timeoutMs),
      requestedMs: inFlight === 0 ? undefined : state.requestedMs,
      armedAt: event.at,
      heartbeatSentAt: Math.max(event.sentAt, state.heartbeatSentAt ?? event.sentAt),
      inFlight,
      retryAt: undefined,
      ...(outdated ? {} : { changedByStepAt: undefined, removed: undefined }),
      ...(first ? { lastQualifyingSentAt: event.sentAt } : {}),
    },
    event.sentAt,
  );
  return { state: next, alarms };
}

function applyArmFailed(state: DeadmanState, { at, certain }: DeadmanEvent & { type: 'ARM_FAILED' }): DeadmanState {
  const inFlight = Math.max(0, state.inFlight - 1);
  if (state.status === 'arming')
    return { ...state, inFlight, status: certain && inFlight === 0 && state.mayBeArmed !== true ? 'off' : 'unknown' };
  // Uncertain: either time-out may be in force, so the shorter counts until an answer says otherwise.
  const timeoutMs = certain ? state.timeoutMs : Math.min(state.timeoutMs, state.requestedMs ?? state.timeoutMs);
  const requestedMs = inFlight === 0 ? undefined : state.requestedMs;
  const retryAt = at + Math.max(1, Math.floor((state.keepAliveMs || state.timeoutMs / 4) / RETRY_SOONER));
  return { ...state, inFlight, timeoutMs, requestedMs, retryAt };
}

/** Renews from when the request was sent, and never goes back: answers may arrive out of order. */
function renewFrom(state: DeadmanState, sentAt: number): DeadmanState {
  if (state.status !== 'armed' && state.status !== 'disarming') return state;
  const last = state.lastQualifyingSentAt;
  // No request renews a switch that is not there any more.
  if (state.removed === true || (last !== undefined && last >= sentAt)) return state;
  // A heartbeat that is overdue in any case keeps the pause before its retry.
  const retryAt = computeOverdueAt(state) <= sentAt ? state.retryAt : undefined;
  return { ...state, lastQualifyingSentAt: sentAt, retryAt };
}

/** The venue keeps one time-out, the latest; the required one is requested again at once. */
function applyStepArmed(state: DeadmanState, event: DeadmanEvent & { type: 'STEP_ARMED' }): DeadmanState {
  if (state.status !== 'armed' || state.market !== event.market) return state;
  const timeoutMs = Math.min(event.timeoutMs, state.timeoutMs);
  return { ...state, timeoutMs, changedByStepAt: event.at, retryAt: undefined };
}

function applyRead(state: DeadmanState, { at, sentAt, record }: DeadmanEvent & { type: 'READ' }): DeadmanStep {
  const active = record !== null && record.status === 'active';
  switch (state.status) {
    case 'off':
    case 'unknown':
      if (!active) return withoutAlarms(state.inFlight === 0 ? { ...clearSwitch(state), status: 'off' } : state);
      return {
        state,
        alarms: [
          {
            alarm: 'foreign_switch',
            because: `another program or an earlier run has armed a switch of ${formatSpan(record.timeout)}`,
          },
        ],
      };
    case 'armed':
      // A read sent before the venue answered "armed" may be older than that answer; one after a step's own change shows that change.
      if (state.armedAt === undefined || sentAt <= state.armedAt || state.changedByStepAt !== undefined)
        return withoutAlarms(state);
      if (!active)
        return assumeFired(state, 'the venue reports that the switch is not active, and this run did not disarm it');
      return compareTimeouts(state, record, at);
    case 'disarming':
      return applyReadWhileDisarming(state, sentAt, record, active);
    case 'arming':
    case 'assumed_fired':
      return withoutAlarms(state);
    default:
      return state.status satisfies never;
  }
}

function applyReadWhileDisarming(
  state: DeadmanState,
  sentAt: number,
  record: DeadmanRecord | null,
  active: boolean,
): DeadmanStep {
  const { deletion } = state;
  if (deletion === undefined) {
    // No DELETE was sent: an active switch is as expected, a missing one ended by itself.
    if (active || state.lastQualifyingSentAt === undefined)
      return withoutAlarms(active ? state : { ...clearSwitch(state), status: 'off' });
    return sentAt > (state.armedAt ?? sentAt)
      ? assumeFired(state, 'the venue reports that the switch is not active, and no DELETE was sent yet')
      : withoutAlarms(state);
  }
  if (sentAt < deletion.sentAt || state.inFlight > 0) return withoutAlarms(state);
  if (!active) return withoutAlarms({ ...clearSwitch(state), status: 'off' });
  const because = `the switch is active again after DELETE (${record ? formatSpan(record.timeout) : 'of unknown time'})`;
  // A heartbeat arrived after the DELETE, and armed the switch at an unknown time; or the DELETE never arrived. It is sent again.
  return {
    state: { ...state, deletion: undefined, ...(deletion.answered ? { lastQualifyingSentAt: undefined } : {}) },
    alarms: deletion.answered ? [{ alarm: 'late_heartbeat', because }] : [],
  };
}

/** Compares the time-out of a read with ours: the shorter counts until a heartbeat, sent at once, has set ours again. */
function compareTimeouts(state: DeadmanState, record: DeadmanRecord, at: number): DeadmanStep {
  if (record.timeout === state.timeoutMs || state.inFlight > 0) return withoutAlarms(state);
  const because = `armed with ${formatSpan(state.timeoutMs)}, the venue reports ${formatSpan(record.timeout)}: another program changed it`;
  return {
    state: { ...state, timeoutMs: Math.min(state.timeoutMs, record.timeout), retryAt: at },
    alarms: [{ alarm: 'timeout_mismatch', because }],
  };
}
