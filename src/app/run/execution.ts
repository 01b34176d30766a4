/**
 * Executes and resumes runs: in this process where the account is free, through the scheduler where it holds the account.
 * Throws before anything is sent when something is missing; a run that began is shut down cleanly or left so that it can be
 * resumed.
 */

import { SystemClock } from '../../base/clock.ts';
import { writeDuration } from '../../base/duration.ts';
import { formatSpan } from '../../base/format.ts';
import { makePrintable } from '../../base/printable.ts';
import type { ApprovedBounds } from '../../journal/entry.ts';
import type { HeldLease } from '../../journal/shared/lease.ts';
import type { LeaseAnswer } from '../../journal/shared/shared.ts';
import type { Value } from '../../runbook/values.ts';
import type { Profile } from '../../venue/profile/profile.ts';
import type { Account } from '../account/account.ts';
import { chainKills, describeActor, noteRefusal } from '../account/acts.ts';
import { type ActingAccount, takeAccountLease } from '../account/identity.ts';
import { isScheduler } from '../account/lease-holders.ts';
import { nameLedger, openLedger } from '../account/ledger.ts';
import { makeKilledError } from '../account/readiness.ts';
import { reportCrash } from '../crash-report.ts';
import { EXIT, UserError } from '../errors.ts';
import type { LoadedRunbook } from '../files/load.ts';
import { type ActingContext, exitAfter, type Signal } from '../process.ts';
import { LateOrders } from '../reconciliation/late-orders.ts';
import { VenueComparison } from '../reconciliation/venue-comparison.ts';
import { makeRunName } from './first-entry.ts';
import type { LiveHost, LiveOptions } from './live-assembly.ts';
import { LiveRun } from './live-run.ts';
import type { EndedRun } from './outcome.ts';
import { describeOpenOrders, SettlingProgress } from './progress.ts';
import { submitRun, type Withdrawn } from './submission.ts';
import { describeInterrupted, makeOverdueError } from './unsettled.ts';

export interface RunRequest extends LiveOptions {
  readonly loaded: LoadedRunbook;
  readonly inputs: Readonly<Record<string, Value>>;
  /** The hash of its plan. */
  readonly plan: string;
  /** The bounds to which it is held, where a person approved the plan. */
  readonly bounds?: ApprovedBounds | undefined;
  /** The step after which it stops. */
  readonly until: string | undefined;
}

/** Executes a runbook under the account, or submits it to the scheduler that holds the account. */
export async function executeRun(
  account: Account,
  { loaded, inputs, plan, bounds, until, record, confirm }: RunRequest,
  context: ActingContext,
): Promise<EndedRun | Withdrawn> {
  // A reviewer asks first who started it.
  const by = context.environment.variable('USER');
  const who = describeActor(by);
  const origin = {
    trigger: 'manual',
    plan,
    ...(bounds === undefined ? {} : { bounds }),
    ...(by === undefined ? {} : { by }),
    ...(until === undefined ? {} : { until }),
  };
  suspendIfReplaced(account, context);
  const start = { runbook: loaded.runbook.name, who, voice: context.voice };
  const refuse = (refused: UserError) => noteRefusal(account, start, () => Promise.reject(refused));
  for (;;) {
    const run = makeRunName(loaded.runbook.name);
    const acting = await acquireLease(account, `run of ${loaded.runbook.name}`, context);
    if (acting.kind === 'held')
      return await noteRefusal(account, start, () =>
        holdLease(acting.lease, async () => {
          const killed = await account.shared.killSwitch.engaged(account.key);
          if (killed !== undefined) throw makeKilledError(killed);
          const live = new LiveRun(await makeHost(account, acting, context), run, { record, confirm, who });
          await live.begin(loaded, inputs, origin);
          return runToEnd(live, account, context);
        }),
      );
    if (!isScheduler(acting.heldBy)) return refuse(makeHeldError(account, acting));
    if (confirm !== undefined || record)
      return refuse(makeHeldError(account, acting, confirm !== undefined ? '--step' : '--record'));
    const ended = await submitRun({ account, loaded, inputs, run, plan, until, who }, context);
    // Undefined: the scheduler ended before it accepted the run, so the account may be free now.
    if (ended !== undefined) return ended;
  }
}

/** A run to be continued. */
export interface RunToResume {
  readonly run: string;
  /** The profile it was begun under, where that is not the account's. */
  readonly profile?: Profile;
  /** What only one run of the account uses at a time. */
  readonly exclusive?: readonly string[];
}

/** Continues a run whose process died, or that halted. */
export async function resumeRun(account: Account, run: string, context: ActingContext): Promise<EndedRun> {
  const [ended] = await resumeTogether(account, [{ run }], context, (_run, ending) => ending);
  return ended as EndedRun;
}

/**
 * Continues runs of an account side by side: each may hold a position, and one may go on for days. One that uses what another uses alone
 * waits for its end. `show` gets the end of each.
 */
export async function resumeTogether<T>(
  account: Account,
  runs: readonly RunToResume[],
  context: ActingContext,
  show: (run: string, ended: Promise<EndedRun>) => Promise<T>,
): Promise<readonly T[]> {
  suspendIfReplaced(account, context);
  const acting = await acquireLease(account, `resume of ${runs.map(({ run }) => run).join(', ')}`, context, true);
  if (acting.kind === 'taken') throw makeHeldError(account, acting);
  return holdLease(acting.lease, async () => {
    const host = await makeHost(account, acting, context);
    const resumedRuns: LiveRun[] = [];
    let signal: Signal | undefined;
    let off: (() => void) | undefined;
    // Not before one of them goes on: until then a signal ends the process, which has sent nothing.
    const listen = () => {
      off ??= context.interrupts.on((sent) => {
        signal ??= sent;
        beginShutdown(sent, resumedRuns, account, context);
      });
    };
    const resume = async ({ run, profile }: RunToResume) => {
      if (signal !== undefined)
        throw new UserError(`run ${run} was not resumed: ${signal}`, exitAfter(signal), 'interrupted');
      const live = new LiveRun(host, run, {}, profile);
      await live.resume();
      resumedRuns.push(live);
      listen();
      return live;
    };
    const endRun = (live: LiveRun) => runToEnd(live, account, context, { signal });
    const underWay: { readonly exclusive: readonly string[]; readonly shown: Promise<T> }[] = [];
    for (const each of runs) {
      const { run, exclusive = [] } = each;
      const others = underWay.filter((other) => other.exclusive.some((name) => exclusive.includes(name)));
      const resumed = Promise.allSettled(others.map(({ shown }) => shown)).then(() => resume(each));
      const shown = show(run, resumed.then(endRun));
      shown.catch(() => {});
      underWay.push({ exclusive, shown });
      if (others.length === 0) await resumed.catch(() => {});
    }
    return Promise.all(underWay.map(({ shown }) => shown)).finally(off);
  });
}

/**
 * Runs until the end; signals ask the run to settle, and the first one begins the time in which everything has to be closed. `together`: the
 * run is one of several, whose caller begins that time for all; the signal that it has had already.
 */
async function runToEnd(
  live: LiveRun,
  account: Account,
  context: ActingContext,
  together?: { readonly signal: Signal | undefined },
): Promise<EndedRun> {
  const { clock, shutdown } = account;
  const { voice, interrupts } = context;
  let signal: Signal | undefined;
  let settling: SettlingProgress | undefined;
  const handle = (sent: Signal) => {
    // A second signal changes nothing; it asks what the run waits for.
    if (signal !== undefined) return settling?.report();
    signal = sent;
    if (together === undefined) beginShutdown(sent, [live], account, context);
    settling = new SettlingProgress(new SystemClock(), voice, live, clock.now() + shutdown.withinMs);
    voice.note(`${sent}: settling; waiting for the outcome of orders in flight; ${describeOpenOrders(live)}`);
    live.act({ command: 'interrupt', by: sent }, 'process');
  };
  const off = interrupts.on(handle);
  if (together?.signal !== undefined) handle(together.signal);
  try {
    await live.waitForEnd();
  } catch (error) {
    if (error instanceof UserError && error.kind === 'journal')
      for (const line of describeInterrupted(live, clock.now())) voice.complain(line);
    throw error;
  } finally {
    settling?.stop();
    off();
  }
  return { source: await live.getReportSource(), residual: live.residual(), signal, recording: live.getRecording() };
}

/** Begins the time in which everything has to be closed: when it is over, the process ends and says what the runs leave. */
function beginShutdown(
  sent: Signal,
  runs: readonly LiveRun[],
  { clock, shutdown }: Account,
  { voice, endProcess }: ActingContext,
): void {
  shutdown.begin(() => {
    for (const live of runs) for (const line of describeInterrupted(live, clock.now())) voice.complain(line);
    const [first] = runs as readonly [LiveRun];
    const error = makeOverdueError(sent, writeDuration(shutdown.withinMs), first);
    endProcess(error.exit, error);
  });
}

/** Takes the lease on the account. When it is lost later the process ends at once: another process acts for the account then. */
function acquireLease(
  account: Account,
  holder: string,
  { endProcess, voice }: ActingContext,
  resumes = false,
): Promise<ActingAccount | Extract<LeaseAnswer, { kind: 'taken' }>> {
  const onLost = () => {
    // The new holder has the run as well: anything this process still wrote would conflict with it.
    endProcess(
      EXIT.held,
      new UserError(
        `lost the lease on account ${account.profile.account}: this process was suspended too long and another one took over. It sent nothing since. Run \`runbook resume\` if no other process continues the run`,
        EXIT.held,
        'lease_lost',
      ),
    );
  };
  return takeAccountLease(account, { holder, onLost, voice, resumes });
}

/** Ends the process once its files are no longer the ones at their paths, as a lost lease does. */
function suspendIfReplaced(account: Account, { voice, endProcess }: ActingContext): void {
  account.watchStorePlace((message) => {
    voice.complain(message);
    endProcess(EXIT.halted);
  });
}

async function holdLease<T>(lease: HeldLease, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } finally {
    await lease.release();
  }
}

async function makeHost(
  account: Account,
  { lease, accountId, contradiction }: ActingAccount,
  { voice, state, environment }: ActingContext,
): Promise<LiveHost> {
  await chainKills(account, voice);
  const lateOrders = new LateOrders(account.store, account.profile.account);
  const onCrash = (error: unknown) => voice.complain(reportCrash(error, ['run'], state, environment));
  const ledger = await openLedger(nameLedger(account));
  const comparison = new VenueComparison(account);
  return { account, lease, accountId, contradiction, voice, gates: new Set(), lateOrders, ledger, comparison, onCrash };
}

function makeHeldError(account: Account, lease: Extract<LeaseAnswer, { kind: 'taken' }>, option?: string): UserError {
  const handed = option === undefined ? '' : `; a run with ${option} cannot be submitted to it`;
  return new UserError(
    `the account ${account.profile.account} is held by another process (${makePrintable(lease.heldBy, 200)}), for at most ${formatSpan(Math.ceil(lease.remainingMs / 1000) * 1000)} unless it renews${handed}; nothing was sent`,
    EXIT.held,
    'held',
  );
}
