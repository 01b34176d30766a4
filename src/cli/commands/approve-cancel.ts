/**
 * `runbook cancel`, `approve` and `reject`: send a person's command to a run from another terminal. The command is durable in the
 * store before it is acknowledged; the run reads it within a second.
 */

import { makeAccountKey, openAccount } from '../../app/account/account.ts';
import { describeActor, describeUnwritten, makeAct, withAccountJournal } from '../../app/account/acts.ts';
import { isScheduler } from '../../app/account/lease-holders.ts';
import { refuseApproval, signWith } from '../../app/account/people.ts';
import { chooseActorName } from '../../app/account/person.ts';
import type { Environment } from '../../app/environment.ts';
import { EXIT, type ExitCode, UserError } from '../../app/errors.ts';
import { findAccountKey } from '../../app/kill/kill-records.ts';
import { endPaperRun } from '../../app/paper/dead-runs.ts';
import { readRecordedProfile } from '../../app/run/first-entry.ts';
import { recordAnswers } from '../../app/run/halt-answers.ts';
import { findAskedStep } from '../../app/stores/asked-step.ts';
import { accessStore, convertStoreErrors, type StorePlace } from '../../app/stores/location.ts';
import { findUnfinishedRuns, findUnreadRun, type UnfinishedRun } from '../../app/stores/unfinished-runs.ts';
import { asUserError } from '../../app/system-errors.ts';
import { pause, SystemClock } from '../../base/clock.ts';
import { makePrintable } from '../../base/printable.ts';
import type { Who } from '../../journal/account/acts.ts';
import { takeLease } from '../../journal/shared/lease.ts';
import type { RunCommand, Shared } from '../../journal/shared/shared.ts';
import { StoreError } from '../../journal/store.ts';
import type { Profile } from '../../venue/profile/profile.ts';
import type { Given } from '../actions/actions.ts';
import type { Invocation } from '../invocation.ts';

interface GivenCommand {
  readonly run: string;
  readonly step?: string | undefined;
  readonly by?: string | undefined;
  readonly reason?: string | undefined;
  /** Where it is not the user of this process. */
  readonly who?: Who;
  /** File of the private key that signs it. */
  readonly sign?: string | undefined;
}

export const cancelRun = (given: Given<'cancel'>, invocation: Invocation) => sendCommand('cancel', given, invocation);
export const approveStep = (given: Given<'approve'>, invocation: Invocation) =>
  sendCommand('approve', given, invocation);
export const rejectStep = (given: Given<'reject'>, invocation: Invocation) => sendCommand('reject', given, invocation);

export async function sendCommand(
  what: Exclude<RunCommand, 'kill'>,
  about: GivenCommand,
  invocation: Invocation,
): Promise<ExitCode> {
  const { run } = about;
  const { environment, terminal } = invocation;
  const by = chooseActorName(what, about.by, environment);
  const found = await findNamedRun(run, what, invocation).catch(async (error: unknown) => {
    const place = what === 'cancel' ? await findUnreadRun(run, invocation.state) : undefined;
    if (place === undefined) throw error;
    return place;
  });
  if (found !== undefined && 'kind' in found) return cancelUnread(found, { ...about, by }, invocation);
  if (found === undefined) throw new UserError(`there is no unfinished run ${makePrintable(run, 100)}`);
  const asked = about.step === undefined ? undefined : await findStep(found, what, about.step, environment);
  const step = asked?.step;
  const at = new SystemClock().now();
  const command = {
    run: found.run,
    command: what,
    ...(step === undefined ? {} : { step }),
    ...(about.reason === undefined ? {} : { reason: about.reason }),
  };
  // A paper run is not of the account.
  const key = found.first.data.mode === 'live' ? findAccountKey(found.first) : undefined;
  if (key !== undefined) {
    const profile = readPeople(found, what);
    const given = makeAct('command.given', about.who ?? describeActor(by), at, command);
    const act = signWith(key, given, { file: about.sign, people: profile?.people ?? {}, environment });
    const startedBy = found.first.data.by;
    const refused =
      what === 'approve' && profile !== undefined
        ? refuseApproval(profile, { by, asked: asked?.by ?? [], startedBy, act, account: key })
        : undefined;
    if (refused !== undefined) throw new UserError(`${refused}; nothing was recorded`, EXIT.failed, 'refused');
    await withAccountJournal(found.place, environment, (journal) => journal.append(key, act)).catch((error) => {
      // Another process that writes to the journal must not keep a person from ending a run.
      if (what !== 'cancel') convert(error);
      terminal.complain(describeUnwritten(error));
    });
  }
  const shared = await accessStore(found.place, environment).openShared();
  const isOnPaper = found.first.data.mode === 'paper';
  let isHeld: boolean;
  try {
    isHeld = !isOnPaper && (await isExecuted(found, shared));
    // A person who answers a halt knows of it, whatever the clock of this machine says: it may have been put back, or be behind.
    const sequence = await shared.mailbox.post({ ...command, by, at: Math.max(at, found.haltedAt ?? at) });
    if (isOnPaper && what === 'cancel') isHeld = await waitUntilRead(shared, found.run, sequence);
  } finally {
    await shared.close();
  }
  const reader =
    found.haltedAt !== undefined
      ? await recordHaltAnswer(found, invocation)
      : isOnPaper && what === 'cancel' && !isHeld
        ? await endOnPaper(found, by, environment)
        : describeReader(found, isHeld);
  terminal.answer(
    { run: found.run, command: what, by },
    () => `${what} of ${found.run} by ${makePrintable(by, 100)} is recorded; ${reader}`,
  );
  return EXIT.done;
}

/** Records the cancel of a run whose journal cannot be read: the scheduler frees its slot, and nothing else can be done for it. */
async function cancelUnread(
  place: StorePlace,
  about: GivenCommand & { readonly run: string; readonly by: string },
  { environment, terminal }: Invocation,
): Promise<ExitCode> {
  const { run, by, who = describeActor(by), reason, sign } = about;
  const at = new SystemClock().now();
  const command = { run, command: 'cancel', ...(reason === undefined ? {} : { reason }) } as const;
  await withAccountJournal(place, environment, async (journal) => {
    for (const key of await journal.accounts()) {
      const starts = await journal.find(key, ['start.recorded']);
      if (!starts.some(({ data }) => data.run === run)) continue;
      const given = makeAct('command.given', who, at, command);
      await journal.append(key, signWith(key, given, { file: sign, people: {}, environment }));
    }
  }).catch((error) => terminal.complain(describeUnwritten(error)));
  const shared = await accessStore(place, environment).openShared();
  await shared.mailbox.post({ ...command, by, at }).finally(() => shared.close());
  terminal.answer(
    { run, command: 'cancel', by },
    () =>
      `cancel of ${run} by ${makePrintable(by, 100)} is recorded; its journal cannot be read, so NOTHING of it was cancelled at the venue: look there for its orders and its position. The scheduler frees its slot; \`runbook audit verify ${run}\` says what is damaged`,
  );
  return EXIT.done;
}

/**
 * The profile with which the run began, for its people. Only an approval needs it: settings that this version does not accept must
 * not keep a person from ending a run.
 */
function readPeople({ first }: UnfinishedRun, what: Exclude<RunCommand, 'kill'>): Profile | undefined {
  try {
    return readRecordedProfile(first);
  } catch (error) {
    if (what === 'approve' || !(error instanceof UserError)) throw error;
    return undefined;
  }
}

function convert(error: unknown): never {
  throw error instanceof StoreError ? asUserError(error) : error;
}

/** Whether a process holds the account. True where that is not known: the answer is stored in either case. */
async function isExecuted({ first }: UnfinishedRun, { leases }: Pick<Shared, 'leases'>): Promise<boolean> {
  try {
    return (await leases.holder(makeAccountKey(readRecordedProfile(first)))) !== undefined;
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
    return true;
  }
}

/** A process that executes a run on paper reads every half second; this is long enough for a busy one, ms. */
const READ_WITHIN_MS = 5_000;
const LOOK_EVERY_MS = 250;

/** Whether a process has read the message. */
async function waitUntilRead({ mailbox }: Pick<Shared, 'mailbox'>, run: string, sequence: number): Promise<boolean> {
  const clock = new SystemClock();
  const until = clock.monotonic() + READ_WITHIN_MS;
  for (;;) {
    const pending = await mailbox.pending(run);
    if (pending.every((each) => each.sequence !== sequence)) return true;
    if (clock.monotonic() >= until) return false;
    await pause(clock, LOOK_EVERY_MS);
  }
}

/** Ends a run on paper that no process executes; returns what was done. */
async function endOnPaper({ first, place }: UnfinishedRun, by: string, environment: Environment): Promise<string> {
  const store = await convertStoreErrors(() => accessStore(place, environment).openJournal());
  try {
    await endPaperRun(store, first, new SystemClock(), by);
  } catch (error) {
    convert(error);
  } finally {
    await store.close();
  }
  return 'no process executes it, and its journal now ends: failed, its process died';
}

/** If the run's process has died, no process reads the answer. */
function describeReader({ run, first }: UnfinishedRun, isHeld: boolean): string {
  if (first.data.mode === 'paper') return 'the run, which is on paper, reads it within a second if its process lives';
  if (isHeld) return 'the run reads it within a second';
  return `NO PROCESS executes the run, so nothing has happened yet: its process has ended, and its orders at the venue are unchanged. \`runbook resume ${run}\` reads the answer and acts on it; see docs/live.md, The process died`;
}

/** An answer needs a step that waits for one; the step of a cancel is kept as given. */
async function findStep(
  { run, place }: UnfinishedRun,
  what: Exclude<RunCommand, 'kill'>,
  named: string,
  environment: Environment,
): Promise<{ readonly step: string; readonly by: readonly string[] }> {
  if (what === 'cancel') return { step: named, by: [] };
  const store = await convertStoreErrors(() => accessStore(place, environment).openJournal());
  try {
    return await findAskedStep(store, run, named, new SystemClock());
  } catch (error) {
    return convert(error);
  } finally {
    await store.close();
  }
}

/**
 * Writes the answer for a halted run into its journal, if no other process holds the account; returns where the answer is. It is
 * durable already: a failure here only postpones the writing until a process acts for the account.
 */
async function recordHaltAnswer({ run, first, place }: UnfinishedRun, invocation: Invocation): Promise<string> {
  const later = (why: string) => `${why} writes it into the run's journal`;
  try {
    const account = await openAccount(readRecordedProfile(first, place), invocation);
    try {
      const { clock, shared, key } = account;
      const holder = `cancel of ${run}`;
      const lease = await takeLease({ leases: shared.leases, account: key, holder, clock, metronome: clock });
      if (lease.kind === 'taken')
        return later(
          isScheduler(lease.heldBy)
            ? 'the scheduler'
            : `the account is held by another process (${makePrintable(lease.heldBy, 200)}): the next scheduler, or the same command once it is free,`,
        );
      try {
        const answer = await recordAnswers(run, { account, epoch: lease.epoch, voice: invocation.terminal });
        if (answer?.isWritten === true) return "it is in the run's journal";
        return answer === undefined
          ? `another process has read it meanwhile, see \`runbook audit summary ${run}\``
          : `it frees the slot and the concurrency key of the run, but it CANNOT be written into the run's journal, which is damaged or has no end: \`runbook audit verify ${run}\` says which, \`runbook audit people\` has the answer`;
      } finally {
        await lease.release();
      }
    } finally {
      await account.close();
    }
  } catch (error) {
    if (!(error instanceof UserError || error instanceof StoreError)) throw error;
    return later(`${makePrintable(error.message, 300)}: the next scheduler, or the same command once that is fixed,`);
  }
}

/**
 * The run that a command is for: a live one before one on paper, whose process may have died long ago. A halted run can be cancelled
 * too, by its name: a scheduler keeps its slot until a person settles it (app/schedule/runs/runs.ts).
 */
async function findNamedRun(
  run: string,
  what: Exclude<RunCommand, 'kill'>,
  { state }: Invocation,
): Promise<UnfinishedRun | undefined> {
  const live =
    what === 'cancel' && run !== 'last' ? (['unfinished', 'halted too'] as const) : (['unfinished'] as const);
  let refused: UserError | undefined;
  for (const which of [...live, 'on paper too'] as const) {
    try {
      return (await findUnfinishedRuns([run], state, which))[0];
    } catch (error) {
      if (!(error instanceof UserError)) throw error;
      if (refused === undefined || which === 'halted too') refused = error;
    }
  }
  throw refused;
}
