/**
 * The kill switch, from any terminal: engaged in every store that can be reached, then every order of the account cancelled
 * until none is left; lifted by a named person. Nothing here may keep the venue from being asked: a store that is away, a disk
 * that is full, an account that can not be opened cost what they stand for, and are said.
 */
import { type Clock, type Metronome, SystemClock } from '../../base/clock.ts';
import { printable } from '../../base/printable.ts';
import { KILL_SWEEP, sweep } from '../../engine/sweep.ts';
import { EVERY_ACCOUNT, type KillOrder } from '../../journal/shared/shared.ts';
import type { EndpointName, Params } from '../../venue/catalogue.ts';
import type { Profile } from '../../venue/profile/profile.ts';
import { type Account, accountKey, openAccount } from '../account/account.ts';
import { type Asked, ask } from '../account/one-request.ts';
import { namedPerson, personOr } from '../account/person.ts';
import type { Invocation } from '../context.ts';
import { EXIT, type ExitCode, UserError } from '../errors.ts';
import { readProfileFile } from '../files/profile.ts';
import { recordedProfile } from '../run/first-entry.ts';
import { storePlaces } from '../stores/known-stores.ts';
import { placeOf, type StorePlace, shownPlace, storeAt } from '../stores/location.ts';
import { unfinishedRuns } from '../stores/unfinished-runs.ts';
import { troubleOf } from '../system-errors.ts';

export interface KillOptions {
  readonly profile: string | undefined;
  readonly by: string | undefined;
  readonly reason: string | undefined;
}

/** Where the handbook says what to do then. */
const READ_ON = 'docs/live.md, Stop everything now, says more';

/** How long the venue is asked without an answer before that is said, and then said again, ms. */
const SILENCE_TOLD_MS = 10_000;

/** `runbook kill`: as `kill`; a signal ends it with what is so by then. */
export async function killFromTerminal(options: KillOptions, invocation: Invocation): Promise<ExitCode> {
  const seen: Seen = {};
  const handlers = (['SIGINT', 'SIGTERM', 'SIGHUP'] as const).map((signal) => {
    const handler = () => {
      const { terminal } = invocation;
      const message = `${signal}: the kill is not finished. ${standing(seen)}; run \`runbook kill --profile FILE\` again, or cancel at the venue. ${READ_ON}`;
      terminal.complain(message);
      if (terminal.json) terminal.answer({ error: { kind: 'interrupted', message } }, () => '');
      process.exit(signal === 'SIGINT' ? EXIT.interrupted : EXIT.terminated);
    };
    process.on(signal, handler);
    return () => void process.off(signal, handler);
  });
  try {
    return await kill(options, invocation, seen);
  } finally {
    for (const off of handlers) off();
  }
}

/** What is known of a kill under way, for whoever has to be told in the middle of it. */
interface Seen {
  engaged?: boolean;
  /** Orders that could still fill, as last read. */
  left?: number;
}

function standing({ engaged, left }: Seen): string {
  const open =
    left === undefined
      ? 'what is open at the venue is not known'
      : `${left} ${left === 1 ? 'order was' : 'orders were'} open when it was last read`;
  return `${engaged === true ? 'The kill switch is engaged and stays so' : 'The kill switch is NOT engaged'}; ${open}`;
}

/** Engages the kill switch, then cancels everything until nothing is left. */
export async function kill(options: KillOptions, invocation: Invocation, seen: Seen = {}): Promise<ExitCode> {
  const { terminal, environment } = invocation;
  const by = personOr('kill', options.by, environment);
  const reason = options.reason ?? 'runbook kill';
  const named = options.profile === undefined ? undefined : readProfileFile(options.profile, terminal);
  const at = new SystemClock().now();
  const order = { scope: named === undefined ? EVERY_ACCOUNT : accountKey(named), by, reason, at };
  return named === undefined ? killAll(order, invocation, seen) : killNamed(named, order, invocation, seen);
}

async function killNamed(profile: Profile, order: KillOrder, invocation: Invocation, seen: Seen): Promise<ExitCode> {
  const { terminal, state } = invocation;
  let away = true;
  try {
    away = (await engageEverywhere([placeOf(profile, state)], order, invocation)).length > 0;
  } catch (error) {
    terminal.complain(`the kill switch is NOT engaged: ${userErrorOf(error).message}`);
  }
  if (!away) {
    seen.engaged = true;
    terminal.note('the kill switch is engaged; no run sends new orders');
  }
  const account = await openKilled(profile, away ? order : undefined, invocation);
  const left = await cancelEverything(account, invocation, seen).finally(() => account.close());
  terminal.answer({ engaged: true, by: order.by, left }, () => saidOf(left));
  return left === 0 && !away ? EXIT.done : EXIT.halted;
}

/** Of every account that has a run here which is not done with; of the others nobody knows where to ask. */
async function killAll(order: KillOrder, invocation: Invocation, seen: Seen): Promise<ExitCode> {
  const { terminal, state } = invocation;
  const missed = await engageEverywhere(storePlaces(state), order, invocation);
  if (missed.length === 0) {
    seen.engaged = true;
    terminal.note('the kill switch is engaged for every account of this state folder; no run sends new orders');
  } else
    terminal.complain(
      'what runs there is not known: `runbook kill --profile FILE` cancels for an account all the same',
    );
  const profiles = await profilesAtWork(invocation, missed);
  if (profiles.length === 0)
    throw new UserError(
      `NOTHING WAS CANCELLED: no venue was asked, because the state folder ${printable(state.shown, 300)} has no run that is not done with. What is open there is not known. \`runbook kill --profile FILE\` names the account and cancels; ${READ_ON}`,
      EXIT.halted,
      'not_cancelled',
    );
  let left = 0;
  let undone: UserError | undefined;
  for (const profile of profiles) {
    try {
      const account = await openKilled(profile, undefined, invocation);
      left += await cancelEverything(account, invocation, seen).finally(() => account.close());
    } catch (error) {
      // One account that can not be reached keeps none of the others from being killed.
      if (profiles.length === 1) throw error;
      undone = userErrorOf(error);
      terminal.complain(`${shownAccount(profile)}: ${undone.message}`);
    }
  }
  if (undone !== undefined)
    throw new UserError(
      `not every account could be killed, see above; in the others ${saidOf(left)}. ${READ_ON}`,
      EXIT.halted,
      undone.kind,
    );
  terminal.answer(
    { engaged: true, by: order.by, left },
    () => `${saidOf(left)}, at ${profiles.map(shownAccount).join(', ')}`,
  );
  return left === 0 && missed.length === 0 ? EXIT.done : EXIT.halted;
}

function saidOf(left: number): string {
  if (left === 0) return 'killed: nothing is left that could still fill';
  return `${left} ${left === 1 ? 'order' : 'orders'} could still fill: cancel at the venue, or kill again. ${READ_ON}`;
}

function shownAccount({ account, baseUrl }: Profile): string {
  return `${printable(account, 100)} of ${printable(baseUrl, 200)}`;
}

/** The error as the user is told it; mistakes of this program pass through. */
function userErrorOf(error: unknown): UserError {
  const trouble = troubleOf(error);
  if (trouble === undefined) throw error;
  return trouble;
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
      const { message } = userErrorOf(error);
      missed.push(place);
      terminal.complain(
        `the kill switch is NOT engaged in ${printable(shownPlace(place), 300)}: ${printable(message, 300)}`,
      );
    }
  }
  return missed;
}

/**
 * Opens an account that is being killed: that it can not be opened is not "nothing was done". Where its store is away
 * (`unheard`: the order it was not told), the state folder's own stands in, whose guard of the user's accounts bars the runs of
 * this machine; and where that can not be written either, nothing does, so that the venue is asked all the same.
 */
async function openKilled(profile: Profile, unheard: KillOrder | undefined, invocation: Invocation): Promise<Account> {
  const { store: _away, ...withoutStore } = profile;
  const ways = [
    ...(unheard === undefined
      ? [() => openAccount(profile, invocation)]
      : [() => openBarred(withoutStore, unheard, invocation)]),
    () => openAccount(withoutStore, invocation, 'nothing'),
  ];
  let refused: UserError | undefined;
  for (const way of ways) {
    try {
      return await way();
    } catch (error) {
      refused = userErrorOf(error);
    }
  }
  throw new UserError(
    `${refused?.message ?? ''}\n${unheard === undefined ? 'the kill switch is engaged, and ' : ''}NOTHING WAS CANCELLED at ${profile.baseUrl}: mend this and kill again, or cancel at the venue. ${READ_ON}`,
    EXIT.halted,
    'not_cancelled',
  );
}

async function openBarred(profile: Profile, order: KillOrder, invocation: Invocation): Promise<Account> {
  const account = await openAccount(profile, invocation);
  try {
    await account.shared.killSwitch.engage(order);
    return account;
  } catch (error) {
    await account.close();
    throw error;
  }
}

/** Gives how many orders are left that could still fill when nothing more could be done about them. */
async function cancelEverything(account: Account, { terminal }: Invocation, seen: Seen): Promise<number> {
  const silence = new Silence(account.clock, (text) => terminal.note(text));
  const left = await takeEverythingAway({
    clock: account.clock,
    async ask(name, params) {
      const asked = await ask(account, name, params, 'protect');
      silence.hear(asked.kind === 'confirmed' ? undefined : asked.kind === 'refused' ? asked.text : asked.why);
      return asked;
    },
    progress(count) {
      seen.left = count;
      terminal.progress(`${count} ${count === 1 ? 'order' : 'orders'} open`);
    },
  }).finally(() => silence.end());
  if (left !== undefined) return left;
  throw new UserError(
    `the venue did not answer; it is not known what is open. The kill switch stays engaged. Cancel in the venue's own interface, or run \`runbook kill --profile FILE\` again once it answers. ${READ_ON}`,
    EXIT.halted,
    'unknown_outcome',
  );
}

/** Says for how long the venue has not answered, again and again: whoever waits has to know that the venue's own interface is quicker. */
class Silence {
  private readonly clock: Clock & Metronome;
  private readonly tell: (text: string) => void;
  private since: number;
  private why = 'no answer yet';
  private timer: ReturnType<Metronome['after']>;

  constructor(clock: Clock & Metronome, tell: (text: string) => void) {
    this.clock = clock;
    this.tell = tell;
    this.since = clock.monotonic();
    this.timer = this.later();
  }

  hear(problem: string | undefined): void {
    if (problem === undefined) this.since = this.clock.monotonic();
    this.why = problem ?? 'no answer yet';
  }

  end(): void {
    this.timer.cancel();
  }

  private later(): ReturnType<Metronome['after']> {
    return this.clock.after(SILENCE_TOLD_MS, () => {
      const forMs = this.clock.monotonic() - this.since;
      if (forMs >= SILENCE_TOLD_MS)
        this.tell(
          `the venue has not answered for ${Math.round(forMs / 1000)} s (${printable(this.why, 200)}); it is asked on, for two minutes without progress. Its own interface may be quicker`,
        );
      this.timer = this.later();
    });
  }
}

/** The profiles of what is under way or has halted, of the stores that can be asked. */
async function profilesAtWork(invocation: Invocation, missed: readonly StorePlace[]): Promise<readonly Profile[]> {
  const profiles = new Map<string, Profile>();
  for (const { first } of await unfinishedRuns([], invocation.state, 'halted too', missed)) {
    const profile = recordedProfile(first);
    profiles.set(accountKey(profile), profile);
  }
  return [...profiles.values()];
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

export interface KilledVenue {
  readonly clock: Clock & Metronome;
  ask<E extends EndpointName>(name: E, params: Params<E>): Promise<Asked<E>>;
  /** Told how many orders are left, after each reading. */
  progress(left: number): void;
}

/** How many orders could still fill when nothing changed any more; undefined where the venue never told. */
export async function takeEverythingAway({ clock, ask, progress }: KilledVenue): Promise<number | undefined> {
  const { left } = await sweep(
    {
      ask: async (name, params) => {
        const asked = await ask(name, params);
        if (asked.kind === 'confirmed') return asked;
        return { kind: 'no answer', why: asked.kind === 'refused' ? asked.text : asked.why };
      },
      now: () => clock.now(),
      monotonic: () => clock.monotonic(),
      pause: (ms) => new Promise<void>((resolve) => void clock.after(ms, resolve)),
      progress,
    },
    KILL_SWEEP,
  );
  return left?.length;
}
