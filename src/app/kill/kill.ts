/**
 * Engages the kill switch in every store that can be reached, and has every order of the account cancelled (cancels.ts); releases it for
 * a named person. No failure prevents the requests to the venue: an unreachable store, a full disk or an
 * account that cannot be opened loses only its own part, and is reported.
 */
import { pause, SystemClock } from '../../base/clock.ts';
import { makePrintable } from '../../base/printable.ts';
import type { Who } from '../../journal/account/acts.ts';
import { toEventKey } from '../../journal/shared/account-guard.ts';
import { EVERY_ACCOUNT, type KillEvent, type KillOrder } from '../../journal/shared/shared.ts';
import type { Profile } from '../../venue/profile/profile.ts';
import { type Account, makeAccountKey } from '../account/account.ts';
import { makeKillAct, withAccountJournal } from '../account/acts.ts';
import { anchorAct } from '../account/anchoring.ts';
import { findOtherHolder } from '../account/identity.ts';
import { signWith } from '../account/people.ts';
import type { AppContext } from '../context.ts';
import { EXIT, UserError } from '../errors.ts';
import { readRecordedProfile } from '../run/first-entry.ts';
import { findKnownStores } from '../stores/known-stores.ts';
import {
  accessStore,
  chooseStorePlace,
  describePlace,
  openUserGuard,
  type StoreAccess,
  type StorePlace,
} from '../stores/location.ts';
import { deliverKills, noteDelivered, noteKill } from '../stores/pending-kills.ts';
import { findUnfinishedRuns } from '../stores/unfinished-runs.ts';
import { toSystemError } from '../system-errors.ts';
import { cancelEverything, ENGAGED_WITHIN_MS, type KeptBy, READ_ON, toUserError, withKilled } from './cancels.ts';

export interface KillRequest {
  /** The account; where undefined, every account with an unfinished or halted run. */
  readonly profile: Profile | undefined;
  readonly who: Who;
  readonly reason: string;
  /** File of the private key that signs it. */
  readonly sign?: string | undefined;
}

/** Progress of a kill: updated while it runs, and shown when it is interrupted. */
export interface KillProgress {
  engaged?: boolean;
  /** Orders that could still fill, as last read. */
  left?: number;
}

/** The stores concerned by a kill, as shown to people. */
export interface ReachedStores {
  /** The switch was engaged and read back there. */
  readonly stores: readonly string[];
  /** It is not engaged there: the store cannot be reached, or is not at its place any more. */
  readonly missing: readonly string[];
}

export interface Killed extends ReachedStores {
  /** Orders that could still fill when nothing more could be done about them. */
  readonly left: number;
  /** Accounts to kill, as shown to people. */
  readonly accounts: readonly string[];
  /** Why one or more accounts could not be killed; each was reported to the voice. */
  readonly failure: UserError | undefined;
}

/** Engages the kill switch, then cancels everything until nothing is left. */
export async function kill(
  { profile, who, reason, sign }: KillRequest,
  context: AppContext,
  progress: KillProgress = {},
): Promise<Killed> {
  const at = new SystemClock().now();
  const order = { scope: profile === undefined ? EVERY_ACCOUNT : makeAccountKey(profile), by: who.name, reason, at };
  const given = { order, who, sign, people: profile?.people ?? {} };
  return profile === undefined ? killAll(given, context, progress) : killAccount(profile, given, context, progress);
}

/** A kill, and who gives it. */
interface GivenKill extends Signer {
  readonly order: KillOrder;
}
interface Signer {
  readonly who: Who;
  readonly sign: string | undefined;
  readonly people: Profile['people'];
}

async function killAccount(
  profile: Profile,
  given: GivenKill,
  context: AppContext,
  progress: KillProgress,
): Promise<Killed> {
  const { voice, state } = context;
  const { order } = given;
  let place: StorePlace | undefined;
  try {
    place = chooseStorePlace(profile, state);
    noteKill(state, order, [place]);
  } catch (error) {
    voice.complain(`the kill switch is NOT engaged: ${makePrintable(describeFailure(error), 400)}`);
  }
  const engaging = engageEverywhere(place === undefined ? [] : [place], given, context).then(async (engaged) => {
    const [store] = nameStores(engaged).stores;
    if (store === undefined) {
      await engageHere(given, context);
      return engaged;
    }
    progress.engaged = true;
    voice.note(
      `the kill switch is engaged for ${describeAccount(profile)} in ${makePrintable(store, 300)}, and for this user on this machine; no run under this name there sends new orders`,
    );
    return engaged;
  });
  const known = await waitBriefly(engaging);
  const cancel = (kept: KeptBy) =>
    withKilled(profile, kept, context, async (account) => {
      const left = await cancelEverything(account, context, (count) => {
        progress.left = count;
      });
      return { left, others: await findUnreached(account, context) };
    });
  const first = cancel(known === undefined ? 'nothing' : known.in.length > 0 ? 'its store' : 'the state folder');
  await waitBriefly(first.catch(() => {}));
  const engaged = await engaging;
  await chainKill(engaged.in, { ...order, action: 'engage' }, given, context);
  // Then also what a run has placed until the switch was engaged.
  const cancelled = known === undefined && engaged.in.length > 0 ? first.then(() => cancel('its store')) : first;
  const { left, others } = await cancelled.finally(() => anchorKill(order.scope, [profile], engaged, context));
  const { stores, missing } = nameStores(engaged);
  return { stores, missing: [...missing, ...others], left, accounts: [describeAccount(profile)], failure: undefined };
}

/**
 * Engages the switch of this user on this machine, for a kill that its store could not be given, however late it said so: it stops the
 * runs here whatever their stores are, and is lifted by the release.
 */
async function engageHere({ order }: GivenKill, { environment, voice }: AppContext): Promise<void> {
  try {
    const guard = await openUserGuard(environment);
    await guard.killSwitch.engage(order).finally(() => guard.close());
  } catch (error) {
    voice.complain(
      `the kill switch is NOT engaged for this user on this machine: ${makePrintable(describeFailure(error), 300)}`,
    );
  }
}

/** What it resolves to; undefined where that takes longer. */
function waitBriefly<T>(work: Promise<T>): Promise<T | undefined> {
  const clock = new SystemClock();
  return Promise.race([work, pause(clock, ENGAGED_WITHIN_MS).then(() => undefined)]);
}

/** Reports a process that acts for the same account of the venue and that the kill switch of this name does not reach. */
async function findUnreached(account: Account, { voice }: AppContext): Promise<readonly string[]> {
  const holder = await findOtherHolder(account);
  if (holder === undefined) return [];
  const named = `the account under another name, address or home (${makePrintable(holder, 200)})`;
  voice.complain(
    `the kill switch is NOT engaged for ${named}: that process may trade on; kill with its own profile and home`,
  );
  return [named];
}

/** Kills every account with an unfinished or halted run here, all at once; the venues of other accounts are not known. */
async function killAll(given: GivenKill, context: AppContext, progress: KillProgress): Promise<Killed> {
  const { voice, state } = context;
  const { order } = given;
  const { there, missing } = findKnownStores(state);
  noteKill(state, order, [...there, ...missing]);
  const left = new Map<string, number>();
  const killed = new Map<
    string,
    Promise<{ readonly profile: Profile; readonly left?: number; readonly error?: unknown }>
  >();
  const unread = new Map<string, UserError>();
  // A store or a run that cannot be read does not prevent the kill of the others.
  const noteUnread = (place: StorePlace, error: unknown) => {
    const store = describePlace(place);
    const why = `${makePrintable(store, 300)}: a run there cannot be read (${makePrintable(describeFailure(error), 400)}), and may trade on: \`runbook kill --profile FILE\` cancels for one account`;
    if (!unread.has(store)) voice.complain(why);
    unread.set(store, new UserError(why, EXIT.halted, 'not_cancelled'));
  };
  const cancelIn = async (away: readonly StorePlace[]) => {
    for (const profile of await listActiveProfiles(context, { away, unread: noteUnread })) {
      const key = makeAccountKey(profile);
      if (killed.has(key)) continue;
      const work = withKilled(profile, 'its store', context, (account) =>
        cancelEverything(account, context, (count) => {
          progress.left = addUp(left.set(key, count).values());
        }),
      );
      killed.set(
        key,
        work.then(
          (count) => ({ profile, left: count }),
          (error: unknown) => ({ profile, error }),
        ),
      );
    }
  };
  const servers = there.filter(({ kind }) => kind === 'postgres');
  const unheard = new Set(servers);
  const engaging = engageEverywhere(servers, given, context, (place) => unheard.delete(place));
  const here = await engageEverywhere(
    there.filter((place) => !servers.includes(place)),
    given,
    context,
  );
  if ((await waitBriefly(engaging)) === undefined) await cancelIn([...here.notIn, ...unheard]);
  const onServers = await engaging;
  const failed = [...here.notIn, ...onServers.notIn];
  for (const place of missing) reportNotEngaged(place, 'it is not there any more', context);
  const engaged = { in: [...here.in, ...onServers.in], notIn: [...failed, ...missing] };
  const { stores } = nameStores(engaged);
  if (stores.length > 0)
    voice.note(
      `the kill switch is engaged for every account in ${stores.map((store) => makePrintable(store, 300)).join(', ')}; no run of ${stores.length > 1 ? 'these stores' : 'this store'} sends new orders`,
    );
  if (engaged.notIn.length === 0) progress.engaged = true;
  else
    voice.complain(
      'the runs of the other stores are not known, and may trade on: `runbook kill --profile FILE` still cancels for one account',
    );
  await cancelIn(failed);
  const cancelling = Promise.all(killed.values());
  await waitBriefly(cancelling);
  await chainKill(engaged.in, { ...order, action: 'engage' }, given, context);
  if (killed.size === 0)
    throw new UserError(
      `NOTHING WAS CANCELLED: no request was sent, because the state folder ${state.shown} has no unfinished or halted run${unread.size === 0 ? '' : ' that can be read'}. Orders may still be open. \`runbook kill --profile FILE\` cancels for the account of that profile; ${READ_ON}`,
      EXIT.halted,
      'not_cancelled',
    );
  const outcomes = await cancelling;
  await anchorKill(
    order.scope,
    outcomes.map(({ profile }) => profile),
    engaged,
    context,
  );
  const failures = outcomes.flatMap(({ profile, error }) =>
    error === undefined ? [] : [{ profile, failure: toUserError(error) }],
  );
  const [first] = failures;
  // An account that cannot be reached does not prevent the kill of the others.
  if (first !== undefined && outcomes.length === 1 && unread.size === 0) throw first.failure;
  for (const { profile, failure } of failures) voice.complain(`${describeAccount(profile)}: ${failure.message}`);
  return {
    ...nameStores(engaged),
    left: addUp(outcomes.map((outcome) => outcome.left ?? 0)),
    accounts: outcomes.map(({ profile }) => describeAccount(profile)),
    failure: failures.at(-1)?.failure ?? [...unread.values()].at(-1),
  };
}

function addUp(counts: Iterable<number>): number {
  return [...counts].reduce((sum, count) => sum + count, 0);
}

function describeAccount({ account, baseUrl }: Profile): string {
  return `${makePrintable(account, 100)} of ${makePrintable(baseUrl, 200)}`;
}

/** What a failure says that must not keep the cancels back: an internal error neither. */
function describeFailure(error: unknown): string {
  return toSystemError(error)?.message ?? `internal error: ${String(error)}`;
}

interface Engaged {
  readonly in: readonly StorePlace[];
  readonly notIn: readonly StorePlace[];
}

function nameStores(engaged: Engaged): ReachedStores {
  return { stores: engaged.in.map(describePlace), missing: engaged.notIn.map(describePlace) };
}

/**
 * Engages the switch in every store that can be reached, and reads it back: one failing store must not prevent the others, and
 * what was not read back is not claimed.
 */
async function engageEverywhere(
  places: readonly StorePlace[],
  { order }: GivenKill,
  context: AppContext,
  onAnswer: (place: StorePlace) => void = () => {},
): Promise<Engaged> {
  const reached = new Set<StorePlace>();
  await Promise.all(
    places.map(async (place) => {
      try {
        await engageAndRead(accessStore(place, context.environment), order);
        noteDelivered(context.state, order, place);
        reached.add(place);
        onAnswer(place);
      } catch (error) {
        reportNotEngaged(place, describeFailure(error), context);
      }
    }),
  );
  return {
    in: places.filter((place) => reached.has(place)),
    notIn: places.filter((place) => !reached.has(place)),
  };
}

/** The longest time for a signature of a kill: it is made once the first cancel has left, and holds up the next ones. */
const SIGN_WITHIN_MS = 5_000;

/** Writes it into the account's journal of each store; where that fails, a scheduler or the next live run does (`chainKills`). */
async function chainKill(
  places: readonly StorePlace[],
  event: KillEvent,
  { who, sign, people }: Signer,
  context: AppContext,
): Promise<void> {
  if (places.length === 0) return;
  let act = makeKillAct(event, who, event.at);
  try {
    act = signWith(event.scope, act, {
      file: sign,
      people,
      environment: context.environment,
      withinMs: SIGN_WITHIN_MS,
    });
  } catch (error) {
    context.voice.complain(`it is not signed: ${describeFailure(error)}`);
  }
  for (const place of places) {
    try {
      await withAccountJournal(place, context.environment, (journal) => journal.append(event.scope, act));
    } catch (error) {
      context.voice.complain(
        `the journal of the account could not be written: ${makePrintable(describeFailure(error), 300)}`,
      );
    }
  }
}

/** Behind the cancels: no sink that does not answer, and no file that hangs, holds one of them up. */
async function anchorKill(
  scope: string,
  profiles: readonly Profile[],
  engaged: Engaged,
  context: AppContext,
): Promise<void> {
  const { stores } = nameStores(engaged);
  // Without one, the place of a profile may be what cannot be used.
  if (stores.length === 0) return;
  const anchored = profiles.map((profile) => ({ profile, place: chooseStorePlace(profile, context.state) }));
  await Promise.all(
    anchored
      .filter(({ place }) => stores.includes(describePlace(place)))
      .map((each) => anchorAct(scope, each, context)),
  );
}

async function engageAndRead(store: StoreAccess, order: KillOrder): Promise<void> {
  const shared = await store.openShared();
  try {
    await shared.killSwitch.engage(order);
    // Of the store alone: this user's own record of it on this machine says nothing about what other machines will read.
    const given = (await store.readKills('of the store alone')).filter(({ scope }) => scope === order.scope);
    const wanted = toEventKey({ ...order, action: 'engage' });
    if (given.at(-1)?.action === 'engage' && given.some((event) => toEventKey(event) === wanted)) return;
  } finally {
    await shared.close();
  }
  throw new UserError('it was engaged, and the store does not show it', EXIT.halted, 'not_engaged');
}

function reportNotEngaged(place: StorePlace, why: string, { voice }: AppContext): void {
  voice.complain(
    `the kill switch is NOT engaged in ${makePrintable(describePlace(place), 300)}: ${makePrintable(why, 300)}`,
  );
}

/** Profiles of unfinished and halted runs, in the stores that can be read. */
async function listActiveProfiles(
  { state }: AppContext,
  stores: { readonly away: readonly StorePlace[]; readonly unread: (place: StorePlace, error: unknown) => void },
): Promise<readonly Profile[]> {
  const profiles = new Map<string, Profile>();
  for (const { first, place } of await findUnfinishedRuns([], state, 'halted too', stores)) {
    try {
      const profile = readRecordedProfile(first, place);
      profiles.set(makeAccountKey(profile), profile);
    } catch (error) {
      stores.unread(place, error);
    }
  }
  return [...profiles.values()];
}

/** Releases the kill switch of an account; false where it was not engaged. */
export async function release(
  profile: Profile,
  { who, sign }: Pick<Signer, 'who' | 'sign'>,
  context: AppContext,
): Promise<boolean> {
  const { state, environment } = context;
  const place = chooseStorePlace(profile, state);
  const shared = await accessStore(place, environment).openShared();
  const now = new SystemClock().now();
  try {
    // What was given before is lifted with it, and does not arrive behind the release.
    await deliverKills(shared.killSwitch, state, place, Number.POSITIVE_INFINITY);
    const [scope, by] = [makeAccountKey(profile), who.name];
    const wasEngaged = await shared.killSwitch.release(scope, by, now);
    await chainKill(
      [place],
      { action: 'release', scope, by, reason: '', at: now },
      { who, sign, people: profile.people },
      context,
    );
    await anchorAct(scope, { profile, place }, context);
    return wasEngaged;
  } finally {
    await shared.close();
  }
}
