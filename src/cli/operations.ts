/**
 * What a person does to runs from another terminal: cancel, approve, reject, kill, release. A command is durable in the store
 * before it is acknowledged here; the run reads it within a fraction of a second.
 */
import { existsSync } from 'node:fs';
import { SystemClock } from '../base/clock.ts';
import { printable } from '../base/printable.ts';
import { Cancellation } from '../engine/interruption.ts';
import { sleepUntil } from '../engine/waiting.ts';
import { EVERY_ACCOUNT, type RunCommand } from '../journal/shared.ts';
import type { Profile } from '../venue/profile.ts';
import { type Account, accountKey, openAccount, openShared, storeFileOf } from './account.ts';
import { ask } from './asking.ts';
import { recordedProfile } from './beginning.ts';
import { EXIT, type ExitCode, Refusal } from './exit.ts';
import { readProfileFile } from './profile-file.ts';
import { rememberStore, storeFiles } from './store-list.ts';
import { unfinishedRuns } from './unfinished.ts';
import type { Invocation } from './verb.ts';

/** How long an empty list of open orders must have stayed empty before the kill is done, ms. */
const QUIET_MS = 3_000;
/** How long a kill goes on trying before it tells a person, ms. */
const KILL_PATIENCE_MS = 120_000;

export async function command(
  run: string,
  what: Exclude<RunCommand, 'kill'>,
  about: { readonly step?: string; readonly by?: string; readonly reason?: string | undefined },
  invocation: Invocation,
): Promise<ExitCode> {
  const [found] = await unfinishedRuns([run], invocation.state);
  if (found === undefined) throw new Refusal(`there is no unfinished run ${printable(run, 100)}`);
  const by = about.by ?? invocation.environment.variable('USER') ?? 'operator';
  const shared = await openShared(found.storeFile, invocation.environment);
  try {
    await shared.mailbox.post({
      run: found.run,
      command: what,
      by,
      at: new SystemClock().now(),
      ...(about.step === undefined ? {} : { step: about.step }),
      ...(about.reason === undefined ? {} : { reason: about.reason }),
    });
  } finally {
    await shared.close();
  }
  invocation.terminal.answer(
    { run: found.run, command: what, by },
    () => `${what} of ${found.run} by ${printable(by, 100)} is recorded; the run reads it within a second`,
  );
  return EXIT.done;
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
  const by = options.by ?? environment.variable('USER') ?? 'operator';
  const reason = options.reason ?? 'runbook kill';
  const named = options.profile === undefined ? undefined : readProfileFile(options.profile, terminal);
  const at = new SystemClock().now();
  const files = named === undefined ? storeFiles(state) : [storeFileOf(named, invocation)];
  for (const file of files) {
    const shared = await openShared(file, environment);
    await shared.killSwitch.engage({ scope: named === undefined ? EVERY_ACCOUNT : accountKey(named), by, reason, at });
    await shared.close();
  }
  terminal.note(
    `the kill switch is engaged${named === undefined ? ' for every account of this state folder' : ''}; no run sends new orders`,
  );
  const profiles = named === undefined ? await profilesOfUnfinished(invocation) : [named];
  if (named !== undefined) rememberStore(state, storeFileOf(named, invocation));
  let left = 0;
  for (const profile of profiles) {
    const account = await openKilled(profile, invocation);
    try {
      left += await cancelEverything(account, invocation);
    } finally {
      await account.close();
    }
  }
  terminal.answer({ engaged: true, by, left }, () =>
    left === 0 ? 'killed: nothing is left open' : `${left} orders are still open`,
  );
  return left === 0 ? EXIT.done : EXIT.halted;
}

export async function release(
  options: { readonly profile: string; readonly by: string },
  invocation: Invocation,
): Promise<ExitCode> {
  if (options.by.trim() === '') throw new Refusal('release needs the name of the person who answers for it: --by NAME');
  const profile = readProfileFile(options.profile, invocation.terminal);
  const shared = await openShared(storeFileOf(profile, invocation), invocation.environment);
  try {
    const lifted = await shared.killSwitch.release(accountKey(profile), options.by, new SystemClock().now());
    invocation.terminal.answer({ released: lifted, by: options.by }, () =>
      lifted ? `released by ${printable(options.by, 100)}` : 'the kill switch was not engaged',
    );
    return EXIT.done;
  } finally {
    await shared.close();
  }
}

/** Opens an account whose kill switch is engaged already: that it can not be opened is not "nothing was done". */
async function openKilled(profile: Profile, invocation: Invocation): Promise<Account> {
  try {
    return await openAccount(profile, invocation);
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    throw new Refusal(
      `${error.message}\nthe kill switch is engaged, and NOTHING WAS CANCELLED at ${profile.baseUrl}: mend this and kill again, or cancel at the venue`,
      EXIT.halted,
      'not_cancelled',
    );
  }
}

/** cancel_all, read back, and again while anything is open; gives what is left in the end. */
async function cancelEverything(account: Account, { terminal }: Invocation): Promise<number> {
  const { clock } = account;
  const until = clock.now() + KILL_PATIENCE_MS;
  let left = Number.POSITIVE_INFINITY;
  let emptySince: number | undefined;
  for (let round = 0; clock.now() < until; round += 1) {
    if (emptySince === undefined) await ask(account, 'DELETE /orders/cancel_all', {}, 'protect');
    const listed = await ask(
      account,
      'GET /orders',
      {
        status: 'open',
        p_limit: 1000,
        start_time: (clock.now() - 90 * 86_400_000) * 1000,
      },
      'protect',
    );
    if (listed.kind === 'confirmed') {
      left = listed.result.length;
      emptySince = left > 0 ? undefined : (emptySince ?? clock.now());
      terminal.progress(`${left} orders open`);
      if (emptySince !== undefined && clock.now() - emptySince >= QUIET_MS) return 0;
    }
    await sleepUntil(
      clock,
      clock.now() + (emptySince === undefined ? Math.min(2000, 250 * 2 ** Math.min(round, 3)) : 1000),
      new Cancellation(),
    );
  }
  if (!Number.isFinite(left))
    throw new Refusal(
      'the venue did not answer; it is not known what is open. The kill switch stays engaged',
      EXIT.halted,
      'unknown_outcome',
    );
  return left;
}

async function profilesOfUnfinished(invocation: Invocation): Promise<readonly Profile[]> {
  const profiles = new Map<string, Profile>();
  for (const { first, storeFile } of await unfinishedRuns([], invocation.state)) {
    if (!existsSync(storeFile)) continue;
    const profile = recordedProfile(first);
    profiles.set(accountKey(profile), profile);
  }
  return [...profiles.values()];
}
