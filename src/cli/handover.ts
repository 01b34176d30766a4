/**
 * `runbook run` where a scheduler holds the account: the run is handed over through the store, with its texts pinned, and
 * followed in the journal to its end. This process sends nothing to the venue, and says what became of the run just as if it
 * had executed it itself.
 */
import type { SystemClock } from '../base/clock.ts';
import { printable } from '../base/printable.ts';
import type { AgendaStore } from '../journal/agenda-store.ts';
import { readEntry } from '../journal/chain.ts';
import { RunFold } from '../report/run.ts';
import type { Value } from '../runbook/values.ts';
import type { Account } from './account.ts';
import { EXIT, type ExitCode, Refusal } from './exit.ts';
import { isScheduler } from './holders.ts';
import { inputsJson } from './loading.ts';
import type { Invocation } from './verb.ts';
import { verdictOn } from './verdict.ts';
import type { LoadedRunbook } from './wire.ts';

export interface HandedRun {
  readonly account: Account;
  readonly loaded: LoadedRunbook;
  readonly inputs: Readonly<Record<string, Value>>;
  readonly run: string;
  readonly plan: string;
  readonly until: string | undefined;
}

const LOOK_EVERY_MS = 200;
/** How long a run may be without anybody who holds its account before this tells a person: a restart takes seconds. */
const PATIENCE_MS = 60_000;

/** Gives the exit code once the run has ended; undefined when the scheduler went before it took the run. */
export async function handOver(handed: HandedRun, invocation: Invocation): Promise<ExitCode | undefined> {
  const { account, loaded, inputs, run, plan, until } = handed;
  const agenda = await account.openAgenda();
  try {
    const by = invocation.environment.variable('USER') ?? 'operator';
    await agenda.post({
      run,
      account: account.key,
      by,
      at: account.clock.now(),
      sources: loaded.sources.map(({ name, source: { file, text } }) => ({ name, file, text })),
      inputs: inputsJson(inputs),
      plan,
      ...(until === undefined ? {} : { until }),
    });
    invocation.terminal.note(`the scheduler holds the account ${account.profile.account}: handed to it as ${run}`);
    return await new Follower(handed, agenda, by, invocation).follow();
  } finally {
    await agenda.close();
  }
}

class Follower {
  private readonly handed: HandedRun;
  private readonly agenda: AgendaStore;
  private readonly by: string;
  private readonly invocation: Invocation;
  private readonly fold = new RunFold();
  private seen = 0;
  private ended = false;
  private signalled: ExitCode | undefined;
  private cancelAsked = false;

  constructor(handed: HandedRun, agenda: AgendaStore, by: string, invocation: Invocation) {
    this.handed = handed;
    this.agenda = agenda;
    this.by = by;
    this.invocation = invocation;
  }

  async follow(): Promise<ExitCode | undefined> {
    const onInterrupt = () => this.interrupt(EXIT.interrupted);
    const onTerminate = () => this.interrupt(EXIT.terminated);
    process.on('SIGINT', onInterrupt);
    process.on('SIGTERM', onTerminate);
    try {
      return (await this.untilTaken()) ? await this.untilEnded() : this.signalled;
    } finally {
      process.off('SIGINT', onInterrupt);
      process.off('SIGTERM', onTerminate);
    }
  }

  /** False when nobody took it, and nobody will: it was withdrawn. */
  private async untilTaken(): Promise<boolean> {
    const { run } = this.handed;
    for (;;) {
      const answer = await this.agenda.handover(run);
      if (answer?.state === 'taken') return true;
      if (answer?.state === 'refused')
        throw new Refusal(
          `the scheduler refused the run: ${printable(answer.why, 1000)}; nothing was sent`,
          answer.kind === 'killed' || answer.kind === 'busy' ? EXIT.failed : EXIT.usage,
          answer.kind,
        );
      const scheduled = isScheduler((await this.holder()) ?? '');
      const given = this.signalled !== undefined || !scheduled;
      if (given && (await this.agenda.answer(run, { state: 'withdrawn' }))) return false;
      await pause(this.handed.account.clock, LOOK_EVERY_MS);
    }
  }

  private async untilEnded(): Promise<ExitCode> {
    const { account, run } = this.handed;
    const { clock } = account;
    let heldAt = clock.monotonic();
    for (;;) {
      await this.read();
      if (this.ended) return verdictOn(this.fold.report(), this.signalled, this.invocation.terminal);
      if (this.signalled !== undefined) await this.askToCancel();
      if ((await this.holder()) !== undefined) heldAt = clock.monotonic();
      else if (clock.monotonic() - heldAt > PATIENCE_MS) {
        throw new Refusal(
          `the scheduler has ended and run ${run} has not: start the scheduler again, or \`runbook resume ${run}\``,
          EXIT.halted,
          'unfinished',
        );
      }
      await pause(clock, LOOK_EVERY_MS);
    }
  }

  private async read(): Promise<void> {
    const { account, run } = this.handed;
    for (const stored of await account.store.read(run, { after: this.seen })) {
      const entry = readEntry(stored);
      this.fold.apply(entry);
      this.seen = entry.seq;
      this.ended ||= entry.type === 'run.ended';
      if (entry.type === 'step.started')
        this.invocation.terminal.progress(`${run}: ${entry.seq} entries, ${entry.step}`);
    }
  }

  private holder(): Promise<string | undefined> {
    const { shared, key } = this.handed.account;
    return shared.leases.holder(key);
  }

  private interrupt(exit: ExitCode): void {
    this.signalled ??= exit;
  }

  private async askToCancel(): Promise<void> {
    if (this.cancelAsked) return;
    this.cancelAsked = true;
    const { account, run } = this.handed;
    this.invocation.terminal.note('asking the run to stop in order');
    const at = account.clock.now();
    await account.shared.mailbox.post({
      run,
      command: 'cancel',
      by: this.by,
      at,
      reason: 'interrupted at the terminal',
    });
  }
}

function pause(clock: SystemClock, ms: number): Promise<void> {
  return new Promise((resolve) => void clock.after(ms, resolve));
}
