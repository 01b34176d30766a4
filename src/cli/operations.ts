/**
 * What a person does to runs from another terminal: cancel, approve, reject, kill, release. A command is durable in the store
 * before it is acknowledged here; the run reads it within a fraction of a second.
 */
import { SystemClock } from '../base/clock.ts';
import { printable } from '../base/printable.ts';
import { takeLease } from '../journal/lease.ts';
import { EVERY_ACCOUNT, type KillOrder, type RunCommand } from '../journal/shared.ts';
import { StoreError } from '../journal/store.ts';
import type { Profile } from '../venue/profile.ts';
import { type Account, accountKey, openAccount } from './account.ts';
import { recordAnswers } from './answering.ts';
import { askedStep } from './asked-step.ts';
import { ask } from './asking.ts';
import { recordedProfile } from './beginning.ts';
import type { Environment } from './environment.ts';
import { EXIT, type ExitCode, Refusal } from './exit.ts';
import { isScheduler } from './holders.ts';
import { asRefusal } from './journal-file.ts';
import { namedPerson, personOr } from './person.ts';
import { readProfileFile } from './profile-file.ts';
import { storePlaces } from './store-list.ts';
import { placeOf, refusing, type StorePlace, shownPlace, storeAt } from './store-place.ts';
import { sweep } from './sweep.ts';
import { type UnfinishedRun, unfinishedRuns } from './unfinished.ts';
import type { Invocation } from './verb.ts';

export async function command(
  run: string,
  what: Exclude<RunCommand, 'kill'>,
  about: { readonly step?: string; readonly by?: string; readonly reason?: string | undefined },
  invocation: Invocation,
): Promise<ExitCode> {
  const { environment, terminal } = invocation;
  const by = personOr(what, about.by, environment);
  const found = await namedRun(run, what, invocation);
  if (found === undefined) throw new Refusal(`there is no unfinished run ${printable(run, 100)}`);
  const step = about.step === undefined ? undefined : await stepOf(found, what, about.step, environment);
  const shared = await storeAt(found.place, environment).shared();
  try {
    await shared.mailbox.post({
      run: found.run,
      command: what,
      by,
      at: new SystemClock().now(),
      ...(step === undefined ? {} : { step }),
      ...(about.reason === undefined ? {} : { reason: about.reason }),
    });
  } finally {
    await shared.close();
  }
  const reader = found.hasHalted ? await answered(found, invocation) : 'the run reads it within a second';
  terminal.answer(
    { run: found.run, command: what, by },
    () => `${what} of ${found.run} by ${printable(by, 100)} is recorded; ${reader}`,
  );
  return EXIT.done;
}

/** An answer has to be for a step that asks; what is said with a cancel is kept as it is. */
async function stepOf(
  { run, place }: UnfinishedRun,
  what: Exclude<RunCommand, 'kill'>,
  named: string,
  environment: Environment,
): Promise<string> {
  if (what === 'cancel') return named;
  const store = await refusing(() => storeAt(place, environment).journal());
  try {
    return await askedStep(store, run, named, new SystemClock());
  } catch (error) {
    throw error instanceof StoreError ? asRefusal(error) : error;
  } finally {
    await store.close();
  }
}

/**
 * Writes the answer for a run that halted into its journal, where nobody else holds the account; says where it is. It is
 * durable already: what stands in the way now keeps nothing but the writing back, until somebody acts for the account.
 */
async function answered({ run, first }: UnfinishedRun, invocation: Invocation): Promise<string> {
  const later = (why: string) => `${why} writes it into the run's journal`;
  try {
    const account = await openAccount(recordedProfile(first), invocation);
    try {
      const { clock, shared, key } = account;
      const holder = `cancel of ${run}`;
      const lease = await takeLease({ leases: shared.leases, account: key, holder, clock, metronome: clock });
      if (lease.kind === 'taken')
        return later(
          isScheduler(lease.heldBy)
            ? 'the scheduler'
            : `the account is held by another process (${printable(lease.heldBy, 200)}): the next scheduler, or the same command once it is free,`,
        );
      try {
        await recordAnswers(run, { account, epoch: lease.epoch, voice: invocation.terminal });
        return "it is in the run's journal";
      } finally {
        await lease.release();
      }
    } finally {
      await account.close();
    }
  } catch (error) {
    if (!(error instanceof Refusal || error instanceof StoreError)) throw error;
    return later(`${printable(error.message, 300)}: the next scheduler, or the same command where that is mended,`);
  }
}

/**
 * The run that a command is for. One that has halted can be cancelled as well, by its name: a scheduler keeps its slot until
 * somebody says so (daemon-runs.ts).
 */
async function namedRun(
  run: string,
  what: Exclude<RunCommand, 'kill'>,
  { state }: Invocation,
): Promise<UnfinishedRun | undefined> {
  try {
    return (await unfinishedRuns([run], state))[0];
  } catch (error) {
    if (!(error instanceof Refusal) || what !== 'cancel' || run === 'last') throw error;
    return (await unfinishedRuns([run], state, 'halted too'))[0];
  }
}

/** Engages the kill switch, then cancels everything until nothing is left. */
export async function kill(
  options: {
    readonly profile: string | undefined;
    readonly by: string | undefined;
    readonly reason: string | undefined;
  },
  invocation: Invocation,
): Promise<ExitCode> {
  const { terminal, state, environment } = invocation;
  const by = personOr('kill', options.by, environment);
  const reason = options.reason ?? 'runbook kill';
  const named = options.profile === undefined ? undefined : readProfileFile(options.profile, terminal);
  const at = new SystemClock().now();
  const places = named === undefined ? storePlaces(state) : [placeOf(named, state)];
  const order = { scope: named === undefined ? EVERY_ACCOUNT : accountKey(named), by, reason, at };
  const missed = await engageEverywhere(places, order, invocation);
  const whom = named === undefined ? ' for every account of this state folder' : '';
  if (missed.length === 0) terminal.note(`the kill switch is engaged${whom}; no run sends new orders`);
  const profiles = named === undefined ? await profilesOfUnfinished(invocation, missed) : [named];
  if (named === undefined && missed.length > 0)
    terminal.complain(
      'what runs there is not known: `runbook kill --profile FILE` cancels for an account all the same',
    );
  let left = 0;
  for (const profile of profiles) {
    const away = named !== undefined && missed.length > 0;
    const account = await openKilled(profile, away, invocation);
    try {
      if (away) await account.shared.killSwitch.engage(order);
      left += await cancelEverything(account, invocation);
    } finally {
      await account.close();
    }
  }
  terminal.answer({ engaged: true, by, left }, () =>
    left === 0 ? 'killed: nothing is left that could still fill' : `${left} orders could still fill`,
  );
  return left === 0 && missed.length === 0 ? EXIT.done : EXIT.halted;
}

/**
 * Engages the switch in every store that can be reached, and gives those that can not: one that is away keeps none of the
 * others from being told.
 */
async function engageEverywhere(
  places: readonly StorePlace[],
  order: KillOrder,
  { environment, terminal }: Invocation,
): Promise<readonly StorePlace[]> {
  const missed: StorePlace[] = [];
  for (const place of places) {
    try {
      const shared = await storeAt(place, environment).shared();
      await shared.killSwitch.engage(order).finally(() => shared.close());
    } catch (error) {
      if (!(error instanceof Refusal || error instanceof StoreError)) throw error;
      missed.push(place);
      terminal.complain(
        `the kill switch is NOT engaged in ${printable(shownPlace(place), 300)}: ${printable(error.message, 300)}`,
      );
    }
  }
  return missed;
}

export async function release(
  options: { readonly profile: string; readonly by: string },
  invocation: Invocation,
): Promise<ExitCode> {
  const by = namedPerson('release', options.by);
  const profile = readProfileFile(options.profile, invocation.terminal);
  const shared = await storeAt(placeOf(profile, invocation.state), invocation.environment).shared();
  try {
    const lifted = await shared.killSwitch.release(accountKey(profile), by, new SystemClock().now());
    invocation.terminal.answer({ released: lifted, by }, () =>
      lifted ? `released by ${printable(by, 100)}` : 'the kill switch was not engaged',
    );
    return EXIT.done;
  } finally {
    await shared.close();
  }
}

/**
 * Opens an account that is being killed: that it can not be opened is not "nothing was done". Where its store is `away`, the
 * state folder's own stands in: the guard of the user's accounts bars the runs of this machine, and the venue is asked.
 */
async function openKilled(profile: Profile, away: boolean, invocation: Invocation): Promise<Account> {
  try {
    const { store, ...withoutStore } = profile;
    return await openAccount(away ? withoutStore : profile, invocation);
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    throw new Refusal(
      `${error.message}\n${away ? '' : 'the kill switch is engaged, and '}NOTHING WAS CANCELLED at ${profile.baseUrl}: mend this and kill again, or cancel at the venue`,
      EXIT.halted,
      'not_cancelled',
    );
  }
}

/** Gives how many orders are left that could still fill when nothing more could be done about them. */
async function cancelEverything(account: Account, { terminal }: Invocation): Promise<number> {
  const { left } = await sweep({
    clock: account.clock,
    ask: (name, params) => ask(account, name, params, 'protect'),
    progress: (count) => terminal.progress(`${count} orders open`),
  });
  if (left !== undefined) return left;
  throw new Refusal(
    'the venue did not answer; it is not known what is open. The kill switch stays engaged',
    EXIT.halted,
    'unknown_outcome',
  );
}

/** The profiles of what is under way, of the stores that can be asked. */
async function profilesOfUnfinished(
  invocation: Invocation,
  missed: readonly StorePlace[],
): Promise<readonly Profile[]> {
  const profiles = new Map<string, Profile>();
  for (const { first } of await unfinishedRuns([], invocation.state, 'unfinished', missed)) {
    const profile = recordedProfile(first);
    profiles.set(accountKey(profile), profile);
  }
  return [...profiles.values()];
}
