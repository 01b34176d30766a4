/**
 * What can be known of the venue's deadman switch (venue-api.md, Deadman switch), as a pure fold over what was sent,
 * answered and read. Its rule is one of doubt: a request renewed the switch only if it was *answered*, and then from when
 * it was *sent*, for the venue saw it at some instant between the two. So `armed` is never said of a switch that may have
 * fired; that a switch which still stands is taken for fired is possible, and the cheaper mistake. It sends nothing, and
 * does not know whether the run makes progress: the keeper asks for a beat only while it does (language.md, decision 12).
 */
import { formatSpan } from '../base/format.ts';
import type { DeadmanRecord } from './records.ts';

/** One runbook's wish for the switch. The venue has one switch for the whole account, so leases are combined. */
export interface DeadmanRequirement {
  readonly id: string;
  readonly market: string;
  readonly timeoutMs: number;
  /** How long after a qualifying request the next is due; 0 where none is sent for the switch's sake. */
  readonly keepAliveMs: number;
}

type DeadmanStatus = 'off' | 'arming' | 'armed' | 'disarming' | 'unknown' | 'assumed_fired';

export interface DeadmanState {
  readonly status: DeadmanStatus;
  readonly leases: readonly DeadmanRequirement[];
  /** Of the switch as it may stand at the venue: where two time-outs are possible, the shorter. */
  readonly market?: string | undefined;
  readonly timeoutMs: number;
  readonly keepAliveMs: number;
  /** When the latest qualifying request that was answered was sent. */
  readonly lastQualifyingSentAt?: number | undefined;
  /** When the venue's word that it is armed arrived; reads sent earlier say nothing. */
  readonly armedAt?: number | undefined;
  /** POSTs to /cancel_all_after that are not settled. */
  readonly inFlight: number;
  /** The latest of them, where it asks for another time-out than the one in force. */
  readonly askedMs?: number | undefined;
  /** A DELETE was sent and no POST since; `answered`: the venue took it. */
  readonly deletion?: { readonly sentAt: number; readonly answered: boolean } | undefined;
  /** When a beat that did not renew is tried again. */
  readonly retryAt?: number | undefined;
  /** When a lease changed what is wanted. */
  readonly changedAt?: number | undefined;
  /** When the latest POST of ours that the venue took was sent: what other requests renew may not be there any more. */
  readonly beatSentAt?: number | undefined;
  /** When a step of the run armed or took away the switch by itself: only a POST that is sent behind that settles how it stands. */
  readonly meddledAt?: number | undefined;
  /** It was taken away, or may have been. */
  readonly takenAway?: boolean | undefined;
}

export type DeadmanEvent =
  | { readonly type: 'LEASE_ENTERED'; readonly at: number; readonly lease: DeadmanRequirement }
  | { readonly type: 'LEASE_LEFT'; readonly at: number; readonly id: string }
  /** POST /cancel_all_after leaves: to arm or to renew. */
  | { readonly type: 'ARM_SENT'; readonly at: number; readonly market: string; readonly timeoutMs: number }
  | {
      readonly type: 'ARM_ANSWERED';
      readonly at: number;
      readonly sentAt: number;
      readonly timeoutMs: number;
      readonly echo: DeadmanRecord | null;
    }
  /** `certain`: refused, or never left (a 429 is certain: it renewed nothing). Otherwise it may have arrived. */
  | { readonly type: 'ARM_FAILED'; readonly at: number; readonly sentAt: number; readonly certain: boolean }
  /** POST, PUT, DELETE /orders or cancel_all was answered with success (venue-api.md, rule 1). */
  | { readonly type: 'QUALIFYING_ANSWERED'; readonly at: number; readonly sentAt: number }
  /** GET /cancel_all_after was answered; null when it is not active. */
  | { readonly type: 'READ'; readonly at: number; readonly sentAt: number; readonly record: DeadmanRecord | null }
  /** A step of the run has armed a switch by itself, or may have. */
  | { readonly type: 'STEP_ARMED'; readonly at: number; readonly market: string; readonly timeoutMs: number }
  /** A step of the run has taken a switch away by itself, or may have. */
  | { readonly type: 'STEP_DISARMED'; readonly at: number; readonly market: string }
  /** No beat leaves from now on. DELETE may leave when `canDelete`. */
  | { readonly type: 'DISARM_BEGUN'; readonly at: number }
  | { readonly type: 'DELETE_SENT'; readonly at: number }
  | { readonly type: 'DELETE_ANSWERED'; readonly at: number }
  /** For a time that nobody can tell the length of, nobody was there: a switch that stood may have fired. */
  | { readonly type: 'UNSEEN'; readonly at: number }
  /** Every order was read after the switch was assumed to have fired: it may be armed again. */
  | { readonly type: 'RECONCILED'; readonly at: number }
  | { readonly type: 'TIME'; readonly at: number };

interface DeadmanAlarm {
  readonly alarm: 'assumed_fired' | 'timeout_mismatch' | 'foreign_switch' | 'late_beat';
  readonly because: string;
}

interface DeadmanStep {
  readonly state: DeadmanState;
  readonly alarms: readonly DeadmanAlarm[];
}

/** Keep-alive of a lease that names none: a quarter of the time-out, as venue-notes.md advises. */
export function defaultKeepAliveMs(timeoutMs: number): number {
  return Math.max(1, Math.floor(timeoutMs / 4));
}

/**
 * How long the answer to a request about a switch of this time-out is waited for, ms: two that hang one after the other, and
 * the beat they were to be, fit into its time. Waited for as long as an order's, one would let a short switch fire.
 */
export function deadmanAnswerMs(timeoutMs: number): number {
  return Math.max(1, Math.floor(timeoutMs / 4));
}

/** How often the switch is read back while it stands, ms: an answered request proves that the venue hears us, not that it is armed. */
export function deadmanReadEveryMs(timeoutMs: number): number {
  return READ_EVERY * timeoutMs;
}
const READ_EVERY = 4;

/** No lease, nothing sent. A process that starts after another passes `unknown`: what was left behind is not known. */
export function newDeadman(status: 'off' | 'unknown' = 'off'): DeadmanState {
  return { status, leases: [], timeoutMs: 0, keepAliveMs: 0, inFlight: 0 };
}

/** Folds one event. What the passing of time means is decided first, so a late answer never hides a gap. */
export function stepDeadman(before: DeadmanState, event: DeadmanEvent): DeadmanStep {
  const expired = expire(before, event.at);
  const taken = take(expired.state, event);
  return { state: taken.state, alarms: [...expired.alarms, ...taken.alarms] };
}

/** The lease in force: the shortest time-out wins, and the shortest keep-alive, at most half of it. Undefined without leases. */
export function wantedDeadman({ leases }: DeadmanState): DeadmanRequirement | undefined {
  const [first, ...others] = leases;
  if (first === undefined) return undefined;
  const shortest = others.reduce((best, each) => (each.timeoutMs < best.timeoutMs ? each : best), first);
  const beats = leases.map(({ keepAliveMs }) => keepAliveMs).filter((each) => each > 0);
  const half = Math.max(1, Math.floor(shortest.timeoutMs / 2));
  return { ...shortest, keepAliveMs: beats.length === 0 ? 0 : Math.min(...beats, half) };
}

/**
 * When the next beat is due (epoch ms); undefined while the switch is not to be renewed or one is in flight. The caller
 * beats only if the run makes progress. Requests that qualify put it off, but for no longer than a time-out: a switch that
 * somebody has taken away is renewed by none of them, and armed again by a beat.
 */
export function renewDueAt(state: DeadmanState): number | undefined {
  if (state.status !== 'armed' || state.inFlight > 0 || state.lastQualifyingSentAt === undefined) return undefined;
  const wanted = wantedDeadman(state);
  if (wanted === undefined) return undefined;
  if (state.meddledAt !== undefined) return state.retryAt ?? state.meddledAt;
  if (wanted.timeoutMs < state.timeoutMs) return state.retryAt ?? state.changedAt ?? state.lastQualifyingSentAt;
  if (wanted.keepAliveMs === 0) return undefined;
  return state.retryAt ?? Math.min(state.lastQualifyingSentAt + state.keepAliveMs, heartbeatOverdueAt(state));
}

function heartbeatOverdueAt({ beatSentAt, timeoutMs }: DeadmanState): number {
  return beatSentAt === undefined ? Number.POSITIVE_INFINITY : beatSentAt + timeoutMs;
}

/** The last instant at which the switch is certainly standing (epoch ms); undefined where nothing is armed. */
export function standsUntil(state: DeadmanState): number | undefined {
  if (state.lastQualifyingSentAt === undefined) return undefined;
  if (state.status !== 'armed' && state.status !== 'disarming') return undefined;
  // A DELETE that was answered has stopped the clock; that is still verified, but nothing fires any more.
  if (state.status === 'disarming' && state.deletion?.answered === true) return undefined;
  return state.lastQualifyingSentAt + Math.min(state.timeoutMs, state.askedMs ?? state.timeoutMs);
}

/** Whether an order may be sent now: no lease asks for the switch, or it certainly stands. */
export function deadmanAllowsOrders(state: DeadmanState, now: number): boolean {
  if (state.status === 'assumed_fired') return false;
  if (state.leases.length === 0) return true;
  const until = standsUntil(state);
  return state.status === 'armed' && state.takenAway !== true && until !== undefined && now <= until;
}

/** Whether DELETE may leave: a POST that is still under way could arrive behind it and arm the switch again (fault-matrix.md, row 40). */
export function canDelete(state: DeadmanState): boolean {
  return state.status === 'disarming' && state.inFlight === 0;
}

/** Whether disarming is complete or DELETE is to be sent, or sent again. */
export function needsDelete(state: DeadmanState): boolean {
  return canDelete(state) && state.deletion === undefined;
}

function expire(state: DeadmanState, now: number): DeadmanStep {
  const until = standsUntil(state);
  if (until === undefined || now <= until) return { state, alarms: [] };
  return fired(
    state,
    `no qualifying request was answered that was sent within ${formatSpan(now - (state.lastQualifyingSentAt ?? now))}; it fires after ${formatSpan(state.timeoutMs)}`,
  );
}

function fired(state: DeadmanState, because: string): DeadmanStep {
  return {
    state: { ...state, status: 'assumed_fired', retryAt: undefined },
    alarms: [{ alarm: 'assumed_fired', because }],
  };
}

function only(state: DeadmanState): DeadmanStep {
  return { state, alarms: [] };
}

function take(state: DeadmanState, event: DeadmanEvent): DeadmanStep {
  switch (event.type) {
    case 'LEASE_ENTERED':
      return only(
        withRequirements(state, [...state.leases.filter(({ id }) => id !== event.lease.id), event.lease], event.at),
      );
    case 'LEASE_LEFT':
      return only(
        withRequirements(
          state,
          state.leases.filter(({ id }) => id !== event.id),
          event.at,
        ),
      );
    case 'ARM_SENT':
      return only(armSent(state, event));
    case 'ARM_ANSWERED':
      return armAnswered(state, event);
    case 'ARM_FAILED':
      return only(armFailed(state, event));
    case 'QUALIFYING_ANSWERED':
      return only(renewed(state, event.sentAt));
    case 'READ':
      return read(state, event);
    case 'STEP_ARMED':
      return only(armedByStep(state, event));
    case 'STEP_DISARMED':
      return only(
        state.market === event.market && (state.status === 'armed' || state.status === 'arming')
          ? { ...state, meddledAt: event.at, takenAway: true, retryAt: undefined }
          : state,
      );
    case 'DISARM_BEGUN':
      return only(disarmBegun(state));
    case 'DELETE_SENT':
      return only({ ...state, deletion: { sentAt: event.at, answered: false } });
    case 'DELETE_ANSWERED':
      return only(state.deletion === undefined ? state : { ...state, deletion: { ...state.deletion, answered: true } });
    case 'UNSEEN':
      return standsUntil(state) === undefined
        ? only(state)
        : fired(
            state,
            `nobody can tell how long no process was there; it fires after ${formatSpan(state.timeoutMs)}, and may have done so`,
          );
    case 'RECONCILED':
      return only(state.status === 'assumed_fired' ? { ...cleared(state), status: 'off' } : state);
    case 'TIME':
      return only(state);
    default:
      return event satisfies never;
  }
}

/** One that may have fired has nothing left that could run out: only a read can say whether it is off. */
function disarmBegun(state: DeadmanState): DeadmanState {
  if (state.status === 'off') return state;
  const lapsed = state.status === 'assumed_fired' ? { lastQualifyingSentAt: undefined } : {};
  return { ...state, status: 'disarming', retryAt: undefined, deletion: undefined, ...lapsed };
}

function withRequirements(state: DeadmanState, leases: readonly DeadmanRequirement[], at: number): DeadmanState {
  const next = { ...state, leases, changedAt: at };
  return { ...next, keepAliveMs: wantedDeadman(next)?.keepAliveMs ?? state.keepAliveMs };
}

function cleared(state: DeadmanState): DeadmanState {
  return {
    ...newDeadman(),
    leases: state.leases,
    keepAliveMs: state.keepAliveMs,
    inFlight: state.inFlight,
    changedAt: state.changedAt,
  };
}

function armSent(state: DeadmanState, { market, timeoutMs }: DeadmanEvent & { type: 'ARM_SENT' }): DeadmanState {
  const first = state.status === 'off' || state.status === 'unknown';
  return {
    ...state,
    status: first ? 'arming' : state.status,
    market,
    timeoutMs: first ? timeoutMs : state.timeoutMs,
    inFlight: state.inFlight + 1,
    askedMs: Math.min(timeoutMs, state.askedMs ?? timeoutMs),
    retryAt: undefined,
    // What is under way may arrive behind a DELETE: that one proves nothing any more.
    deletion: undefined,
  };
}

function armAnswered(state: DeadmanState, event: DeadmanEvent & { type: 'ARM_ANSWERED' }): DeadmanStep {
  const inFlight = Math.max(0, state.inFlight - 1);
  const { echo } = event;
  const said = echo?.timeout ?? event.timeoutMs;
  const alarms: DeadmanAlarm[] = [];
  if (echo !== null && echo.timeout !== event.timeoutMs) {
    alarms.push({
      alarm: 'timeout_mismatch',
      because: `asked for ${formatSpan(event.timeoutMs)}, the venue says ${formatSpan(echo.timeout)}`,
    });
  }
  if (echo !== null && echo.status !== 'active') {
    alarms.push({
      alarm: 'timeout_mismatch',
      because: `asked to be armed, the venue says ${echo.status.slice(0, 40)}`,
    });
    return { state: { ...state, inFlight, status: state.status === 'arming' ? 'unknown' : state.status }, alarms };
  }
  // Sent before a step of the run armed or took away the switch, it tells nothing of what stands since.
  const outdated = state.meddledAt !== undefined && event.sentAt < state.meddledAt;
  const timeoutMs = Math.min(event.timeoutMs, said, outdated ? state.timeoutMs : Number.POSITIVE_INFINITY);
  // Assumed fired stays so until every order was read, and a disarming goes on: an answer that comes late changes neither.
  const settled = state.status === 'arming' || state.status === 'armed';
  const next: DeadmanState = renewed(
    {
      ...state,
      status: settled ? 'armed' : state.status,
      timeoutMs: inFlight === 0 ? timeoutMs : Math.min(timeoutMs, state.timeoutMs),
      askedMs: inFlight === 0 ? undefined : state.askedMs,
      armedAt: event.at,
      beatSentAt: Math.max(event.sentAt, state.beatSentAt ?? event.sentAt),
      inFlight,
      retryAt: undefined,
      ...(outdated ? {} : { meddledAt: undefined, takenAway: undefined }),
      ...(settled && state.status === 'arming' ? { lastQualifyingSentAt: event.sentAt } : {}),
    },
    event.sentAt,
  );
  return { state: next, alarms };
}

function armFailed(state: DeadmanState, { at, certain }: DeadmanEvent & { type: 'ARM_FAILED' }): DeadmanState {
  const inFlight = Math.max(0, state.inFlight - 1);
  if (state.status === 'arming') return { ...state, inFlight, status: certain && inFlight === 0 ? 'off' : 'unknown' };
  // Uncertain: either time-out may be in force, so the shorter counts until an answer says otherwise.
  const timeoutMs = certain ? state.timeoutMs : Math.min(state.timeoutMs, state.askedMs ?? state.timeoutMs);
  const askedMs = inFlight === 0 ? undefined : state.askedMs;
  const retryAt =
    state.status === 'armed' ? at + Math.max(1, Math.floor((state.keepAliveMs || state.timeoutMs / 4) / 4)) : undefined;
  return { ...state, inFlight, timeoutMs, askedMs, retryAt };
}

/** Counts from when the request was sent, and never backwards: answers may come out of order. */
function renewed(state: DeadmanState, sentAt: number): DeadmanState {
  if (state.status !== 'armed' && state.status !== 'disarming') return state;
  const last = state.lastQualifyingSentAt;
  // What is not there any more is renewed by nothing.
  if (state.takenAway === true || (last !== undefined && last >= sentAt)) return state;
  // A beat that is tried again for its own sake keeps its pause.
  const retryAt = heartbeatOverdueAt(state) <= sentAt ? state.retryAt : undefined;
  return { ...state, lastQualifyingSentAt: sentAt, retryAt };
}

/** The venue has one time-out for it, the latest; the lease's is asked for again at once. */
function armedByStep(state: DeadmanState, event: DeadmanEvent & { type: 'STEP_ARMED' }): DeadmanState {
  if (state.status !== 'armed' || state.market !== event.market) return state;
  const timeoutMs = Math.min(event.timeoutMs, state.timeoutMs);
  return { ...state, timeoutMs, meddledAt: event.at, retryAt: undefined };
}

function read(state: DeadmanState, { at, sentAt, record }: DeadmanEvent & { type: 'READ' }): DeadmanStep {
  const active = record !== null && record.status === 'active';
  switch (state.status) {
    case 'off':
    case 'unknown':
      if (!active) return only(state.inFlight === 0 ? { ...cleared(state), status: 'off' } : state);
      return {
        state,
        alarms: [
          {
            alarm: 'foreign_switch',
            because: `a switch of ${formatSpan(record.timeout)} is armed already, by another program or an earlier run`,
          },
        ],
      };
    case 'armed':
      // A read that was sent before the venue said "armed" may be older than that; one behind a step's own doing tells of that.
      if (state.armedAt === undefined || sentAt <= state.armedAt || state.meddledAt !== undefined) return only(state);
      if (!active) return fired(state, 'the venue says that the switch is not active, and nobody here disarmed it');
      return mismatch(state, record, at);
    case 'disarming':
      return readDisarming(state, sentAt, record, active);
    case 'arming':
    case 'assumed_fired':
      return only(state);
    default:
      return state.status satisfies never;
  }
}

function readDisarming(
  state: DeadmanState,
  sentAt: number,
  record: DeadmanRecord | null,
  active: boolean,
): DeadmanStep {
  const { deletion } = state;
  if (deletion === undefined) {
    // Nothing was deleted: an active switch is as expected, a missing one went by itself.
    if (active || state.lastQualifyingSentAt === undefined)
      return only(active ? state : { ...cleared(state), status: 'off' });
    return sentAt > (state.armedAt ?? sentAt)
      ? fired(state, 'the venue says that the switch is not active, and no DELETE was sent yet')
      : only(state);
  }
  if (sentAt < deletion.sentAt || state.inFlight > 0) return only(state);
  if (!active) return only({ ...cleared(state), status: 'off' });
  const because = `the switch is active again after DELETE (${record ? formatSpan(record.timeout) : 'of unknown time'})`;
  // A beat arrived behind the DELETE, or the DELETE never did: sent again.
  return {
    state: { ...state, deletion: undefined },
    alarms: deletion.answered ? [{ alarm: 'late_beat', because }] : [],
  };
}

/** The shorter counts until a beat, which goes at once, has asked for ours again. */
function mismatch(state: DeadmanState, record: DeadmanRecord, at: number): DeadmanStep {
  if (record.timeout === state.timeoutMs || state.inFlight > 0) return only(state);
  const because = `armed with ${formatSpan(state.timeoutMs)}, the venue says ${formatSpan(record.timeout)}: another program has changed it`;
  return {
    state: { ...state, timeoutMs: Math.min(state.timeoutMs, record.timeout), retryAt: at },
    alarms: [{ alarm: 'timeout_mismatch', because }],
  };
}
