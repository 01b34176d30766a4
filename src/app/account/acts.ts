/**
 * Writes what happens to an account outside of its runs into its journal, with who did it: acts of people, refused starts, kills that
 * their own command could not write. What a run or a schedule does is written by their stores, in one transaction with it.
 */
import { readlinkSync } from 'node:fs';
import { hostname, userInfo } from 'node:os';
import { isatty } from 'node:tty';
import { makePrintable } from '../../base/printable.ts';
import type { AccountJournal, ActData, ActType, NewAct, Who } from '../../journal/account/acts.ts';
import type { Entry } from '../../journal/entry.ts';
import { mergeHistories, toEventKey } from '../../journal/shared/account-guard.ts';
import { EVERY_ACCOUNT, findKillInForce, type KillEvent, type KillSwitch } from '../../journal/shared/shared.ts';
import { type PostedAct, StoreError } from '../../journal/store.ts';
import type { Environment } from '../environment.ts';
import { UserError } from '../errors.ts';
import { accessStore, type StorePlace } from '../stores/location.ts';
import type { Voice } from '../voice.ts';
import type { Account } from './account.ts';

/** Who acts with this process, under the name that `--by` or the environment gives. Without one it is the user's own. */
export function describeActor(name?: string): Who {
  const { user, uid } = readUser();
  return {
    name: name ?? user,
    how: name === undefined || name === user ? 'os' : 'claimed',
    user,
    ...(uid === undefined ? {} : { uid }),
    host: hostname(),
    ...findTerminal(),
  };
}

/** Who acts on the review page: it knows nothing but the name that was typed. */
export function describeVisitor(name: string): Who {
  return { ...describeActor(name), how: 'claimed', terminal: 'review page' };
}

function readUser(): { readonly user: string; readonly uid?: number } {
  const uid = process.getuid?.();
  const known = uid === undefined ? {} : { uid };
  try {
    return { user: userInfo().username, ...known };
  } catch {
    // A container's user may have a number and no name.
    return { user: uid === undefined ? 'unknown' : `user ${uid}`, ...known };
  }
}

function findTerminal(): { readonly terminal?: string } {
  if (!isatty(0)) return {};
  try {
    return { terminal: readlinkSync('/proc/self/fd/0') };
  } catch {
    return { terminal: 'a terminal' };
  }
}

/** An act of a person. `at`: epoch ms. */
export function makeAct<T extends ActType>(type: T, who: Who, at: number, data: Omit<ActData[T], 'who'>): NewAct {
  return { type, by: who.name, at, data: { ...data, who } } as unknown as NewAct;
}

/** Opens the journal of accounts at a place for `work`, and closes it. Rejects with a UserError or a StoreError. */
export async function withAccountJournal<T>(
  place: StorePlace,
  environment: Environment,
  work: (journal: AccountJournal) => Promise<T>,
): Promise<T> {
  const journal = await accessStore(place, environment).openAccountJournal();
  return work(journal).finally(() => journal.close());
}

/** Appends an act of which nothing depends on: a store that does not take it is reported. */
export async function noteAct(
  { openAccountJournal, key }: Pick<Account, 'openAccountJournal' | 'key'>,
  act: NewAct,
  voice: Pick<Voice, 'complain'>,
): Promise<void> {
  try {
    const journal = await openAccountJournal();
    await journal.append(key, act).finally(() => journal.close());
  } catch (error) {
    voice.complain(describeUnwritten(error));
  }
}

/** Runs `start`, and notes where it is refused before the run has begun. */
export async function noteRefusal<T>(
  account: Account,
  { runbook, who, voice }: { readonly runbook: string; readonly who: Who; readonly voice: Pick<Voice, 'complain'> },
  start: () => Promise<T>,
): Promise<T> {
  try {
    return await start();
  } catch (error) {
    if (error instanceof UserError && REFUSALS.has(error.kind)) {
      const data = { runbook, kind: error.kind, why: makePrintable(error.message, 500) };
      await noteAct(account, makeAct('start.refused', who, account.clock.now(), data), voice);
    }
    throw error;
  }
}
/** Kinds of errors after which nothing was sent and no run has begun. */
const REFUSALS: ReadonlySet<string> = new Set(['held', 'killed', 'contradicted']);

/** What the account's journal has of a run: that it began, and how its journal ended. `who`: the person who started it. */
export function makeRunAct(entry: Entry, who: Who | undefined): PostedAct | undefined {
  const { run, at, hash } = entry;
  if (entry.type === 'run.started') {
    const { runbook, trigger, by } = entry.data;
    const started = { run, runbook, trigger, head: hash };
    if (who !== undefined) return makeAct('start.recorded', who, at, started);
    return { type: 'start.recorded', by: by ?? trigger, at, data: started };
  }
  if (entry.type !== 'run.ended') return undefined;
  const data: ActData['end.sealed'] = { run, outcome: entry.data.outcome, entries: entry.seq, head: hash };
  return { type: 'end.sealed', by: 'engine', at, data };
}

/** The act of a kill or a release. `late`: it was found in the store without one. */
export function makeKillAct({ action, scope, by, reason, at }: KillEvent, who: Who | 'late', now: number): NewAct {
  const type = action === 'engage' ? 'kill.engaged' : 'kill.released';
  const data = { scope, reason, at };
  return { type, by, at: now, data: who === 'late' ? { ...data, late: true } : { ...data, who } };
}

/** The kills and releases that an account's journal has, as the switch shows them. */
async function listChainedKills(journal: AccountJournal, account: string): Promise<readonly KillEvent[]> {
  const acts = await journal.find(account, ['kill.engaged', 'kill.released']);
  return acts.map(({ type, by, data: { scope, reason, at } }) => ({
    action: type === 'kill.engaged' ? 'engage' : 'release',
    scope,
    by,
    reason,
    at,
  }));
}

/** A younger kill is under way: the command that gives it writes it with who it was, ms. */
const UNDER_WAY_MS = 10_000;

/**
 * Appends the kills and releases of the account that its journal lacks: the commands that gave them could not write it. Resolves to
 * whether one is too young for that. Engages again a kill in force that the switch has lost, as where its file was removed.
 */
export async function chainKills(
  { openAccountJournal, shared, key, clock }: Pick<Account, 'openAccountJournal' | 'shared' | 'key' | 'clock'>,
  voice: Pick<Voice, 'complain'>,
): Promise<boolean> {
  let underWay = false;
  try {
    const now = clock.now();
    const journal = await openAccountJournal();
    try {
      const chained = new Map<string, readonly KillEvent[]>();
      for (const scope of [key, EVERY_ACCOUNT]) chained.set(scope, await listChainedKills(journal, scope));
      // Behind the journal: what is there was in the switch before.
      const events = await shared.killSwitch.history();
      await engageLost(shared.killSwitch, { chained: [...chained.values()], events, key }, voice);
      for (const [scope, acts] of chained) {
        const known = new Set(acts.map(toEventKey));
        for (const event of events.filter((each) => each.scope === scope)) {
          if (known.has(toEventKey(event))) continue;
          // One of the future is of a clock that was wrong.
          if (event.at <= now && now - event.at < UNDER_WAY_MS) underWay = true;
          else await journal.append(scope, makeKillAct(event, 'late', now));
        }
      }
    } finally {
      await journal.close();
    }
  } catch (error) {
    voice.complain(describeUnwritten(error));
  }
  return underWay;
}

async function engageLost(
  killSwitch: KillSwitch,
  known: {
    readonly chained: readonly (readonly KillEvent[])[];
    readonly events: readonly KillEvent[];
    readonly key: string;
  },
  voice: Pick<Voice, 'complain'>,
): Promise<void> {
  const { chained, events, key } = known;
  const kill = findKillInForce(chained.reduce(mergeHistories), key);
  if (kill === undefined) return;
  const name = toEventKey({ ...kill, action: 'engage' });
  if (events.some((event) => toEventKey(event) === name)) return;
  await killSwitch.engage(kill);
  const at = new Date(kill.at).toISOString();
  voice.complain(
    `the kill switch has lost the kill by ${makePrintable(kill.by, 100)} of ${at}, which the journal of the account has: it is engaged again`,
  );
}

export function describeUnwritten(error: unknown): string {
  if (!(error instanceof StoreError || error instanceof UserError)) throw error;
  return `the journal of the account could not be written: ${makePrintable(error.message, 300)}`;
}
