/**
 * Decides about each occurrence of each schedule. Pure: slots, earlier decisions, the time and the runs under way in; decisions
 * out. It reads no clock and starts nothing: the caller records a decision durably, then acts on it.
 *
 * Whatever the clock does (ARCHITECTURE.md, I16): every nominal instant of a slot since it became known has exactly one verdict
 * (start, skip, missed). It is started at most once, never before its time, never after its window. Decided instants lie at or
 * before a mark that only moves forward: after the clock is set back nothing is due until it has passed the mark again; after it
 * is set forward everything between is due, and the misfire policy decides. A suspended machine is a clock set forward.
 *
 * `overlap` limits runs of the same slot; a concurrency key limits runs of any slot and runbook.
 */
import { createHash } from 'node:crypto';
import type { ScheduleDeclaration } from '../../runbook/checked.ts';
import { computeLongestDelayMs, listOccurrences } from '../../runbook/schedule/schedule.ts';

/** A slot of the timetable, with the instant since which it is known. */
export interface ScheduleSlot {
  /** Runbook and slot. Its occurrences are recorded under this id, so it never changes. */
  readonly id: string;
  readonly declaration: ScheduleDeclaration;
  /**
   * When the schedule became known, epoch ms, recorded at that time: earlier instants were never promised. A slot whose times
   * were edited becomes known again, or its new times would be due in the past.
   */
  readonly knownSinceMs: number;
  readonly enabled: boolean;
  readonly concurrency?: { readonly key: string; readonly onBusy: 'queue' | 'skip' | 'fail' };
  /** Resources of the account that one run uses at a time, such as its deadman switch: another run waits. */
  readonly exclusive?: readonly string[];
}

/** A run under way, started by a schedule or by a person. */
export interface ScheduleRun {
  readonly run: string;
  /** The slot whose schedule started it. */
  readonly slot?: string;
  readonly key?: string;
  readonly exclusive?: readonly string[];
  /** It was asked to stop already. */
  readonly stopping?: boolean;
}

export interface ScheduleMoment {
  /** Wall clock, epoch ms. */
  readonly nowMs: number;
  readonly running: readonly ScheduleRun[];
  /** Whether the kill switch is engaged. */
  readonly killed: boolean;
}

interface Decided {
  readonly slot: string;
  readonly nominalMs: number;
}

/**
 * `start`, `skip` and `missed` are verdicts and final. With `queue` and `replace` an occurrence waits for its verdict; `replace`
 * also asks `runs` to stop, and may be repeated for an occurrence that waits already.
 */
export type Decision =
  | (Decided & { readonly type: 'start'; readonly latenessMs: number; readonly waited: boolean })
  | (Decided & { readonly type: 'skip'; readonly why: SkipReason; readonly failed?: true })
  | (Decided & { readonly type: 'missed'; readonly why: MissReason })
  | (Decided & { readonly type: 'queue'; readonly behind: 'overlap' | 'key' })
  | (Decided & { readonly type: 'replace'; readonly runs: readonly string[] });

/**
 * Why an occurrence that was due in time was not started: the slot's previous run was under way, its key was held (`failed`
 * with `on_busy: fail`), the kill switch, the slot is disabled, or it waited until its window was over.
 */
export type SkipReason = 'overlap' | 'busy' | 'kill' | 'disabled' | 'late';
/** Why an occurrence was not seen in time: its window was over, `misfire: skip`, or a later one was run in its place. */
export type MissReason = 'late' | 'misfire' | 'superseded';

/** The state after the decisions so far; `foldSchedule` makes it from them. */
export interface ScheduleState {
  /** By slot, the last nominal instant decided or waiting. */
  readonly through: ReadonlyMap<string, number>;
  readonly waiting: readonly Decided[];
}

export const EMPTY_SCHEDULE: ScheduleState = { through: new Map(), waiting: [] };

/** The state after further decisions, in the sequence in which they were recorded. */
export function foldSchedule(decisions: Iterable<Decision>, before: ScheduleState = EMPTY_SCHEDULE): ScheduleState {
  const through = new Map(before.through);
  const waiting = new Map(before.waiting.map((each) => [keyOf(each), each]));
  for (const decision of decisions) {
    const { slot, nominalMs } = decision;
    through.set(slot, Math.max(through.get(slot) ?? Number.NEGATIVE_INFINITY, nominalMs));
    if (decision.type === 'queue' || decision.type === 'replace') waiting.set(keyOf(decision), { slot, nominalMs });
    else waiting.delete(keyOf(decision));
  }
  return { through, waiting: [...waiting.values()] };
}

function keyOf({ slot, nominalMs }: Decided): string {
  return `${nominalMs} ${slot}`;
}

/** The clock is read at least this often, ms: clocks jump and machines suspend. */
export const LOOK_EVERY_MS = 30_000;
/** Later than this, ms, is a misfire: a scheduler that looks every 30 s is never later unless it did not run. */
const PUNCTUAL_MS = LOOK_EVERY_MS;
/** Verdicts on missed occurrences are given in batches: a year of minutes must be neither one transaction nor one long turn. */
const MOST_MISSED = 5000;

export interface ScheduleAnswer {
  /** In the sequence in which they are to be recorded and carried out. */
  readonly decisions: readonly Decision[];
  /** The latest instant of the next look, epoch ms; `nowMs` when not everything could be decided at once. */
  readonly nextLookMs: number;
}

/** Decides everything that can be decided at a moment. */
export function decide(slots: readonly ScheduleSlot[], state: ScheduleState, moment: ScheduleMoment): ScheduleAnswer {
  const look = new Look(slots, state, moment);
  const batches = slots.map((slot) => collectBatch(slot, state.through.get(slot.id), moment.nowMs));
  look.resumeWaiting();
  look.takeMissed(batches);
  look.takeDue(batches);
  return {
    decisions: look.decisions,
    nextLookMs: Math.max(moment.nowMs, Math.min(look.nextDeadlineMs(), ...batches.map(({ nextMs }) => nextMs))),
  };
}

/** The jump of the wall clock between two readings, ms, positive forward; undefined for drift of 2 s or less. */
export function computeClockJumpMs(before: ClockReading, after: ClockReading): number | undefined {
  const jumpMs = Math.round(after.wallMs - before.wallMs - (after.monotonicMs - before.monotonicMs));
  return Math.abs(jumpMs) > 2000 ? jumpMs : undefined;
}
export interface ClockReading {
  readonly wallMs: number;
  readonly monotonicMs: number;
}

// The occurrences of one slot that are due.

interface Batch {
  readonly slot: ScheduleSlot;
  readonly missed: readonly { readonly nominalMs: number; readonly why: MissReason }[];
  readonly due: readonly number[];
  /** These are a catch-up of several: they run one after another, whatever `overlap` says. */
  readonly catchUp: boolean;
  /** When something may come due next. */
  readonly nextMs: number;
}

function collectBatch(slot: ScheduleSlot, through: number | undefined, nowMs: number): Batch {
  const { declaration } = slot;
  const windowMs = declaration.misfire.within.ms;
  const fromMs = Math.max(slot.knownSinceMs, (through ?? Number.NEGATIVE_INFINITY) + 1);
  // No occurrence before this can be started any more.
  const openMs = nowMs - windowMs;
  const late = listNominals(declaration, fromMs, openMs, MOST_MISSED);
  const missed = late.map((nominalMs) => ({ nominalMs, why: 'late' as const }));
  // Open occurrences are judged together, so only after all earlier ones.
  if (late.length === MOST_MISSED) return { slot, missed, due: [], catchUp: false, nextMs: nowMs };

  const openFromMs = Math.max(fromMs, openMs);
  const punctualMs = Math.min(PUNCTUAL_MS, windowMs);
  if (!isRunAll(declaration)) {
    const hopelessMs = nowMs - punctualMs - (declaration.jitter?.ms ?? 0);
    const passed = listNominals(declaration, openFromMs, hopelessMs, MOST_MISSED + 1);
    // Whichever later occurrence is run, none of these is.
    if (passed.length > MOST_MISSED) {
      const why = declaration.misfire.then === 'skip' ? ('misfire' as const) : ('superseded' as const);
      const over = passed.slice(0, MOST_MISSED).map((nominalMs) => ({ nominalMs, why }));
      return { slot, missed: [...missed, ...over], due: [], catchUp: false, nextMs: nowMs };
    }
  }

  const soonMs = nowMs + LOOK_EVERY_MS;
  const open = listNominals(declaration, openFromMs, soonMs + 1).map((nominalMs) => ({
    nominalMs,
    dueMs: computeDueMs(slot, nominalMs),
  }));
  const due = open.filter((each) => each.dueMs <= nowMs);
  const misfired = due.filter((each) => nowMs - each.dueMs > punctualMs).map(({ nominalMs }) => nominalMs);
  const punctual = due.slice(misfired.length).map(({ nominalMs }) => nominalMs);
  return {
    slot,
    ...judge(declaration, missed, misfired, punctual),
    nextMs: open.find((each) => each.dueMs > nowMs)?.dueMs ?? soonMs,
  };
}

/** Whether each of several misfires is run. With `overlap: replace` each would only replace the previous one. */
function isRunAll({ misfire, overlap }: ScheduleDeclaration): boolean {
  return misfire.then === 'run_all' && overlap !== 'replace';
}

/** Applies the misfire policy. A run on time makes up for those missed before it. */
function judge(
  declaration: ScheduleDeclaration,
  late: Batch['missed'],
  misfired: readonly number[],
  punctual: readonly number[],
): Pick<Batch, 'missed' | 'due' | 'catchUp'> {
  const { then } = declaration.misfire;
  if (then === 'skip')
    return {
      missed: [...late, ...misfired.map((nominalMs) => ({ nominalMs, why: 'misfire' as const }))],
      due: punctual,
      catchUp: false,
    };
  if (isRunAll(declaration)) return { missed: late, due: [...misfired, ...punctual], catchUp: misfired.length > 0 };
  const made = punctual.length > 0 ? [] : misfired.slice(-1);
  const superseded = misfired.slice(0, misfired.length - made.length);
  return {
    missed: [...late, ...superseded.map((nominalMs) => ({ nominalMs, why: 'superseded' as const }))],
    due: [...made, ...punctual],
    catchUp: false,
  };
}

function listNominals(
  declaration: ScheduleDeclaration,
  fromMs: number,
  toMs: number,
  most?: number,
): readonly number[] {
  if (fromMs >= toMs) return [];
  return listOccurrences(declaration, { fromMs, toMs, ...(most !== undefined && { most }) }).map(
    ({ nominalMs }) => nominalMs,
  );
}

/** When an occurrence is to be started: its nominal instant and a delay that the slot and the instant alone decide. */
export function computeDueMs(slot: ScheduleSlot, nominalMs: number): number {
  const mostMs = computeLongestDelayMs(slot.declaration, nominalMs);
  if (mostMs <= 0) return nominalMs;
  const digest = createHash('sha256').update(`${slot.id} ${nominalMs}`).digest();
  return nominalMs + Math.floor((digest.readUIntBE(0, 6) / 2 ** 48) * (mostMs + 1));
}

// One look: each decision changes what the next may do.

class Look {
  readonly decisions: Decision[] = [];
  private readonly slots: ReadonlyMap<string, ScheduleSlot>;
  private readonly nowMs: number;
  private readonly killed: boolean;
  private readonly running: readonly ScheduleRun[];
  /** By slot and instant: after a long absence thousands may wait, and each is removed by key. */
  private readonly waiting = new Map<string, Map<number, Decided>>();
  /** Slots and keys held by runs under way, and by those started in this look. */
  private readonly heldSlots: Set<string>;
  private readonly heldKeys: Set<string>;
  private readonly heldExclusive: Set<string>;

  constructor(slots: readonly ScheduleSlot[], state: ScheduleState, { nowMs, running, killed }: ScheduleMoment) {
    this.slots = new Map(slots.map((slot) => [slot.id, slot]));
    this.nowMs = nowMs;
    this.killed = killed;
    this.running = running;
    for (const each of state.waiting) this.remember(each);
    this.heldSlots = new Set(running.flatMap(({ slot }) => slot ?? []));
    this.heldKeys = new Set(running.flatMap(({ key }) => key ?? []));
    this.heldExclusive = new Set(running.flatMap(({ exclusive }) => exclusive ?? []));
  }

  /** Waiting occurrences are older than those due now, and go first. */
  resumeWaiting(): void {
    for (const each of this.listWaiting().sort(compareInstants)) {
      const slot = this.slots.get(each.slot);
      const refusal = this.findRefusal(slot);
      if (refusal !== undefined) this.skip(each, refusal);
      else if (slot !== undefined && this.nowMs > each.nominalMs + slot.declaration.misfire.within.ms)
        this.skip(each, 'late');
      else if (slot !== undefined) this.resume(slot, each);
    }
  }

  private resume(slot: ScheduleSlot, each: Decided): void {
    // The clock was set back: the occurrence was due, and will be again.
    if (this.nowMs < computeDueMs(slot, each.nominalMs)) return;
    if (this.heldSlots.has(slot.id)) {
      // A process may have died between recording a replacement and asking for it.
      if (slot.declaration.overlap === 'replace') this.askToStop(slot, each);
    } else if (!this.isKeyHeld(slot) && !this.isExclusiveHeld(slot)) this.start(slot, each.nominalMs, true);
  }

  takeMissed(batches: readonly Batch[]): void {
    for (const { slot, missed } of batches)
      for (const { nominalMs, why } of missed) this.decisions.push({ type: 'missed', slot: slot.id, nominalMs, why });
  }

  /** By their instants over all slots; equal instants by the sequence of the slots. */
  takeDue(batches: readonly Batch[]): void {
    const busyBefore = new Set([...this.heldSlots, ...this.waiting.keys()]);
    const due = batches.flatMap(({ slot, due, catchUp }) =>
      due.map((nominalMs) => ({ slot, nominalMs, linesUp: catchUp && !busyBefore.has(slot.id) })),
    );
    for (const { slot, nominalMs, linesUp } of due.sort(compareInstants)) this.take(slot, nominalMs, linesUp);
  }

  private take(slot: ScheduleSlot, nominalMs: number, linesUp: boolean): void {
    const each = { slot: slot.id, nominalMs };
    const refusal = this.findRefusal(slot);
    if (refusal !== undefined) this.skip(each, refusal);
    else if (!this.heldSlots.has(slot.id) && !this.waiting.has(slot.id)) this.takeFree(slot, each);
    else this.takeOverlapping(slot, each, linesUp ? 'queue' : slot.declaration.overlap);
  }

  private takeOverlapping(slot: ScheduleSlot, each: Decided, overlap: ScheduleDeclaration['overlap']): void {
    switch (overlap) {
      case 'skip':
        this.skip(each, 'overlap');
        break;
      case 'queue':
        this.wait({ type: 'queue', ...each, behind: 'overlap' });
        break;
      case 'replace':
        for (const older of [...(this.waiting.get(slot.id)?.values() ?? [])]) this.skip(older, 'overlap');
        if (this.heldSlots.has(slot.id)) this.askToStop(slot, each);
        else this.takeFree(slot, each);
        break;
      default:
        overlap satisfies never;
    }
  }

  /** Starts an occurrence whose slot is free, unless another run holds its key. */
  private takeFree(slot: ScheduleSlot, each: Decided): void {
    const onBusy = this.isKeyHeld(slot) ? slot.concurrency?.onBusy : this.isExclusiveHeld(slot) ? 'queue' : undefined;
    if (onBusy === undefined) this.start(slot, each.nominalMs, false);
    else if (onBusy === 'queue') this.wait({ type: 'queue', ...each, behind: 'key' });
    else this.skip(each, 'busy', onBusy === 'fail');
  }

  private start(slot: ScheduleSlot, nominalMs: number, waited: boolean): void {
    this.decisions.push({ type: 'start', slot: slot.id, nominalMs, latenessMs: this.nowMs - nominalMs, waited });
    this.forget({ slot: slot.id, nominalMs });
    this.heldSlots.add(slot.id);
    if (slot.concurrency !== undefined) this.heldKeys.add(slot.concurrency.key);
    for (const each of slot.exclusive ?? []) this.heldExclusive.add(each);
  }

  private skip(each: Decided, why: SkipReason, failed = false): void {
    this.decisions.push({ type: 'skip', slot: each.slot, nominalMs: each.nominalMs, why, ...(failed && { failed }) });
    this.forget(each);
  }

  private askToStop(slot: ScheduleSlot, each: Decided): void {
    const runs = this.running.filter((run) => run.slot === slot.id && !run.stopping).map(({ run }) => run);
    const known = this.waiting.get(each.slot)?.has(each.nominalMs) === true;
    if (runs.length > 0) this.wait({ type: 'replace', slot: each.slot, nominalMs: each.nominalMs, runs });
    else if (!known) this.wait({ type: 'queue', slot: each.slot, nominalMs: each.nominalMs, behind: 'overlap' });
  }

  private wait(decision: Extract<Decision, { type: 'queue' | 'replace' }>): void {
    this.decisions.push(decision);
    this.remember({ slot: decision.slot, nominalMs: decision.nominalMs });
  }

  private remember(each: Decided): void {
    const others = this.waiting.get(each.slot);
    if (others === undefined) this.waiting.set(each.slot, new Map([[each.nominalMs, each]]));
    else others.set(each.nominalMs, each);
  }

  private forget({ slot, nominalMs }: Decided): void {
    const others = this.waiting.get(slot);
    others?.delete(nominalMs);
    if (others?.size === 0) this.waiting.delete(slot);
  }

  private listWaiting(): Decided[] {
    return [...this.waiting.values()].flatMap((ofSlot) => [...ofSlot.values()]);
  }

  private findRefusal(slot: ScheduleSlot | undefined): 'kill' | 'disabled' | undefined {
    if (this.killed) return 'kill';
    return slot?.enabled ? undefined : 'disabled';
  }

  private isKeyHeld(slot: ScheduleSlot): boolean {
    return slot.concurrency !== undefined && this.heldKeys.has(slot.concurrency.key);
  }

  private isExclusiveHeld(slot: ScheduleSlot): boolean {
    return slot.exclusive?.some((each) => this.heldExclusive.has(each)) === true;
  }

  /** When the window of something that waits ends, or its time comes again. */
  nextDeadlineMs(): number {
    let earliestMs = this.nowMs + LOOK_EVERY_MS;
    for (const { slot: id, nominalMs } of this.listWaiting()) {
      const windowMs = this.slots.get(id)?.declaration.misfire.within.ms;
      if (windowMs === undefined) continue;
      earliestMs = Math.min(earliestMs, nominalMs > this.nowMs ? nominalMs : nominalMs + windowMs + 1);
    }
    return earliestMs;
  }
}

function compareInstants(a: { readonly nominalMs: number }, b: { readonly nominalMs: number }): number {
  return a.nominalMs - b.nominalMs;
}
