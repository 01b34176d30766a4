/**
 * `runbook run` and `runbook resume`: runs that act. Refused before anything is sent where something is missing; once begun,
 * brought to an end in order whatever happens, or left so that `resume` can go on.
 */

import { type Account, openAccount } from '../../app/account/account.ts';
import { isScheduler } from '../../app/account/lease-holders.ts';
import { killedError, refuseUnready, refuseUntil } from '../../app/account/readiness.ts';
import type { Invocation } from '../../app/context.ts';
import { EXIT, type ExitCode, UserError } from '../../app/errors.ts';
import { refuseUnwritable, writeFixtureFile } from '../../app/files/fixture.ts';
import { inputValues, loadRunbook } from '../../app/files/load.ts';
import { readProfileFile } from '../../app/files/profile.ts';
import { noteUnchecked, planFor, printPlan } from '../../app/plan.ts';
import { recordedProfile } from '../../app/run/first-entry.ts';
import { type LiveHost, LiveRun } from '../../app/run/live-run.ts';
import { printReport, verdictOn } from '../../app/run/outcome.ts';
import { SettlingTold, standingText } from '../../app/run/progress.ts';
import { Recollection } from '../../app/run/resurfaced-orders.ts';
import { handOver } from '../../app/schedule/submission.ts';
import { unfinishedRuns } from '../../app/stores/unfinished-runs.ts';
import type { Output } from '../../app/voice.ts';
import { SystemClock } from '../../base/clock.ts';
import { printable } from '../../base/printable.ts';
import type { Fixture } from '../../gateway/fixture/fixture.ts';
import type { EntryOf } from '../../journal/entry.ts';
import { type LeaseKeeper, takeLease } from '../../journal/shared/lease.ts';
import type { LeaseAnswer } from '../../journal/shared/shared.ts';
import type { RunReport } from '../../report/folds/run.ts';
import { worstCase } from '../../runbook/bounds.ts';
import { isLoopbackHost } from '../../venue/profile/loopback.ts';
import { costOf } from '../../venue/profile/profile.ts';
import { Questions } from '../terminal/questions.ts';
import { newRunName } from './dry-run.ts';

export interface RunOptions {
  readonly profile: string;
  readonly input: readonly string[];
  readonly inputs: string | undefined;
  readonly record: string | undefined;
  readonly plan: string | undefined;
  readonly yes: boolean;
  readonly step: boolean;
  readonly until: string | undefined;
}

export async function runFile(file: string, options: RunOptions, invocation: Invocation): Promise<ExitCode> {
  const { terminal } = invocation;
  const loaded = loadRunbook(file, terminal);
  const profile = readProfileFile(options.profile, terminal);
  const inputs = inputValues(loaded.runbook, { pairs: options.input, file: options.inputs });
  refuseUnready(loaded.runbook, profile);
  refuseUntil(loaded.runbook, options.until);
  if (options.step && !process.stdin.isTTY)
    throw new UserError('--step asks before each write, and there is nobody to ask: standard input is no terminal');
  if (options.record !== undefined) refuseUnwritable(options.record);
  noteUnchecked(profile, terminal);
  const plan = planFor(loaded.runbook, inputs, { profile, now: Date.now() });
  if (options.plan !== undefined && options.plan.length < 4)
    throw new UserError(
      `--plan takes the hash of an approved plan, four characters of it at least; found ${options.plan === '' ? 'nothing' : printable(options.plan, 80)}; nothing was sent`,
    );
  if (options.plan !== undefined && !plan.hash.startsWith(options.plan.toLowerCase())) {
    throw new UserError(
      `the plan is ${plan.hash.slice(0, 12)}, not ${printable(options.plan, 80)}: it has changed since it was approved, or the inputs differ; nothing was sent`,
    );
  }
  const remote = !isLoopbackHost(new URL(profile.baseUrl).hostname);
  if (remote && !options.yes && options.plan === undefined) {
    const worst = worstCase(loaded.runbook, (name) => costOf(profile, name), inputs);
    terminal.print(printPlan(loaded.runbook, inputs, plan, worst, terminal));
    if (!(await agreed(`Execute this against ${profile.baseUrl} as ${profile.account}?`)))
      throw new UserError('not executed; nothing was sent', EXIT.usage, 'not_confirmed');
  }
  const account = await openAccount(profile, invocation);
  const { until } = options;
  // Who started it is the first thing a reviewer asks.
  const by = invocation.environment.variable('USER');
  const origin = {
    trigger: 'manual',
    plan: plan.hash,
    ...(by === undefined ? {} : { by }),
    ...(until === undefined ? {} : { until }),
  };
  try {
    for (;;) {
      const run = newRunName(loaded.runbook.name);
      const lease = await acquire(account, `run of ${loaded.runbook.name}`, invocation);
      if (lease.kind === 'held') {
        return await holding(lease, async () => {
          const killed = await account.shared.killSwitch.engaged(account.key);
          if (killed !== undefined) throw killedError(killed);
          const questions = new Questions();
          const live = new LiveRun(hostOf(account, lease, invocation), run, {
            record: options.record !== undefined,
            confirm: options.step
              ? ({ endpoint, params, wanted }) =>
                  questions.ask(`${endpoint} ${printable(JSON.stringify(params), 400)}?`, wanted)
              : undefined,
          });
          await live.begin(loaded, inputs, origin);
          const exit = await brought(live, invocation).finally(() => questions.close());
          const recording = live.recording();
          if (options.record === undefined || recording === undefined) return exit;
          return recorded(options.record, recording, exit, terminal);
        });
      }
      if (!isScheduler(lease.heldBy)) throw heldError(account, lease);
      if (options.step || options.record !== undefined)
        throw heldError(account, lease, options.step ? '--step' : '--record');
      const exit = await handOver({ account, loaded, inputs, run, plan: plan.hash, until }, invocation);
      // Undefined: the scheduler went before it took the run, and the account may be free now.
      if (exit !== undefined) return exit;
    }
  } finally {
    await account.close();
  }
}

/** Continues interrupted runs: those named, or every unfinished one that the known stores hold. */
export async function resumeRuns(names: readonly string[], invocation: Invocation): Promise<ExitCode> {
  const found = await unfinishedRuns(names, invocation.state, 'halted too');
  if (found.length === 0) {
    invocation.terminal.answer(
      { runs: [] },
      () =>
        `there is nothing to resume in the state folder ${printable(invocation.state.path, 300)}; \`--state DIR\` names another`,
    );
    return EXIT.done;
  }
  const { terminal } = invocation;
  // Of several runs standard output has one document, and what keeps one of them back keeps none of the others.
  const documents: object[] = [];
  const several = found.length > 1;
  const answer = several && terminal.json ? (report: RunReport) => void documents.push(report) : printReport;
  let worst: ExitCode = EXIT.done;
  for (const { run, first } of found) {
    const exit = await resumed(run, first, invocation, answer).catch((error: unknown) => {
      if (!several || !(error instanceof UserError)) throw error;
      terminal.complain(error.message);
      documents.push({ run, error: { kind: error.kind, message: error.message } });
      return error.exit;
    });
    if (exit > worst) worst = exit;
    if (exit === EXIT.interrupted || exit === EXIT.terminated) break;
  }
  if (documents.length > 0) terminal.answer({ runs: documents }, () => '');
  return worst;
}

async function resumed(
  run: string,
  first: EntryOf<'run.started'>,
  invocation: Invocation,
  answer: typeof printReport,
): Promise<ExitCode> {
  const account = await openAccount(recordedProfile(first), invocation);
  try {
    const lease = await acquire(account, `resume of ${run}`, invocation);
    if (lease.kind === 'taken') throw heldError(account, lease);
    return await holding(lease, async () => {
      const live = new LiveRun(hostOf(account, lease, invocation), run);
      await live.takeUp();
      return brought(live, invocation, answer);
    });
  } finally {
    await account.close();
  }
}

/** How the run ended is what counts: a recording that can not be written after all makes only a success of it a failure. */
function recorded(path: string, recording: Fixture, exit: ExitCode, terminal: Output): ExitCode {
  try {
    writeFixtureFile(path, recording);
    return exit;
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
    terminal.complain(error.message);
    return exit === EXIT.done ? EXIT.failed : exit;
  }
}

function hostOf(account: Account, lease: LeaseKeeper, { terminal }: Invocation): LiveHost {
  const recollection = new Recollection(account.store, account.profile.account);
  return { account, lease, voice: terminal, gates: new Set(), recollection };
}

/** Signals that end a run in order. A terminal that is closed says SIGHUP, and must not leave orders behind. */
const SETTLING = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** Brings a run that is under way to its end; signals ask it to settle. Prints its report, gives the exit code. */
async function brought(live: LiveRun, { terminal }: Invocation, answer = printReport): Promise<ExitCode> {
  let signalled: ExitCode | undefined;
  let settling: SettlingTold | undefined;
  const interrupt = (signal: (typeof SETTLING)[number]) => {
    // A second one changes nothing; whoever sends it wants to know what is awaited.
    if (signalled !== undefined) return settling?.tell();
    settling = new SettlingTold(new SystemClock(), terminal, live);
    signalled = signal === 'SIGINT' ? EXIT.interrupted : EXIT.terminated;
    terminal.note(`${signal}: settling; orders in flight are answered for before this ends; ${standingText(live)}`);
    live.act({ command: 'interrupt', by: signal }, 'process');
  };
  const handlers = SETTLING.map((signal) => [signal, () => interrupt(signal)] as const);
  for (const [signal, handler] of handlers) process.on(signal, handler);
  try {
    await live.ended();
  } finally {
    settling?.stop();
    for (const [signal, handler] of handlers) process.off(signal, handler);
  }
  return verdictOn(live, signalled, terminal, answer);
}

/** Asks for the account. When it is lost later the process ends at once: whoever has it acts for it by then. */
function acquire(
  account: Account,
  holder: string,
  { terminal }: Invocation,
): Promise<LeaseKeeper | Extract<LeaseAnswer, { kind: 'taken' }>> {
  const onLost = () => {
    // Whoever holds the account has the run as well: what this process would still write down would only be in the way.
    terminal.complain(
      `another process holds the account ${account.profile.account} by now, because this one stood still for too long; it has ended where it stood, and sent nothing since. \`runbook resume\` goes on where nobody else does`,
    );
    process.exit(EXIT.held);
  };
  const { clock, shared, key } = account;
  return takeLease({ leases: shared.leases, account: key, holder, clock, metronome: clock, onLost });
}

async function holding(lease: LeaseKeeper, work: () => Promise<ExitCode>): Promise<ExitCode> {
  try {
    return await work();
  } finally {
    await lease.release();
  }
}

function heldError(account: Account, lease: Extract<LeaseAnswer, { kind: 'taken' }>, option?: string): UserError {
  const handed = option === undefined ? '' : `; a run with ${option} can not be handed to it`;
  return new UserError(
    `the account ${account.profile.account} is held by another process (${printable(lease.heldBy, 200)}), for at most ${Math.ceil(lease.remainingMs / 1000)} s unless it renews${handed}; nothing was sent`,
    EXIT.held,
    'held',
  );
}

async function agreed(question: string): Promise<boolean> {
  if (!process.stdin.isTTY)
    throw new UserError(
      'this would act against a venue: confirm with --yes, or with --plan HASH of an approved plan; nothing was sent',
    );
  const questions = new Questions();
  return questions.ask(question).finally(() => questions.close());
}
