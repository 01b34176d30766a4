/**
 * `runbook run` and `runbook resume`: runs that act. Refused before anything is sent where something is missing; once begun,
 * brought to an end in order whatever happens, or left so that `resume` can go on.
 */

import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline/promises';
import { printable } from '../base/printable.ts';
import type { RunSetup } from '../engine/ports.ts';
import { Divergence, Playback } from '../engine/playback.ts';
import { type RunningRun, type RunResult, startRun } from '../engine/run.ts';
import { VenueClient } from '../gateway/client.ts';
import { DeclaredFeeds, declaredRequests } from '../gateway/declared.ts';
import type { Fixture } from '../gateway/fixture.ts';
import { FixtureRecorder } from '../gateway/fixture-recorder.ts';
import { LimitGate } from '../gateway/limit-gate.ts';
import { Anchorer, AnchorFile } from '../journal/anchors.ts';
import { type ChainHead, headOf, readEntry } from '../journal/chain.ts';
import type { DataOf, Entry, EntryOf, JsonObject } from '../journal/entry.ts';
import { type LeaseKeeper, takeLease } from '../journal/lease.ts';
import { thisMachine } from '../journal/machine.ts';
import { OrderBook } from '../journal/orders.ts';
import { RunLog } from '../journal/run-log.ts';
import type { KillOrder } from '../journal/shared.ts';
import { type RunRow, StoreError } from '../journal/store.ts';
import { JournalWriter } from '../journal/writer.ts';
import { RunFold } from '../report/run.ts';
import { printSummary } from '../report/summary.ts';
import { worstCase } from '../runbook/bounds.ts';
import { everyStep } from '../runbook/risk.ts';
import type { CheckedRunbook } from '../runbook/checked.ts';
import type { Value } from '../runbook/values.ts';
import { isLoopbackHost } from '../venue/hosts.ts';
import { costOf, type Profile } from '../venue/profile.ts';
import { profileSettings, restoredProfile, type SettingsJson } from '../venue/settings-in-force.ts';
import { type Account, openAccount } from './account.ts';
import { EXIT, type ExitCode, Refusal } from './exit.ts';
import { writeFixtureFile } from './fixture-file.ts';
import { inputsJson, inputValues, loadPinned, loadRunbook, sha256 } from './loading.ts';
import { noticesOf } from './notices.ts';
import { planFor, printPlan } from './planning.ts';
import { readProfileFile } from './profile-file.ts';
import { newRunName } from './rehearsal.ts';
import { rememberStore, unfinishedRuns } from './stores.ts';
import type { Invocation } from './verb.ts';
import { ENGINE_VERSION } from './version.ts';
import { act, type LoadedRunbook } from './wire.ts';

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

/** The shortest deadman timeout a live run may have, ms: below it a slow answer is taken for silence (interface.md, settled points). */
const LEAST_DEADMAN_MS = 5_000;
/** How often commands and the kill switch are looked at, ms. */
const LOOK_EVERY_MS = 200;

export async function runFile(file: string, options: RunOptions, invocation: Invocation): Promise<ExitCode> {
  const { terminal } = invocation;
  const loaded = loadRunbook(file, terminal);
  const profile = readProfileFile(options.profile, terminal);
  const inputs = inputValues(loaded.runbook, { pairs: options.input, file: options.inputs });
  refuseUnready(loaded.runbook, profile);
  refuseUntil(loaded.runbook, options.until);
  if (options.step && !process.stdin.isTTY) throw new Refusal('--step asks before each write, and there is nobody to ask: standard input is no terminal');
  const plan = planFor(loaded.runbook, inputs, { profile, now: Date.now() });
  if (options.plan !== undefined && (options.plan.length < 4 || !plan.hash.startsWith(options.plan.toLowerCase()))) {
    throw new Refusal(
      `the plan is ${plan.hash.slice(0, 12)}, not ${printable(options.plan, 80)}: it has changed since it was approved, or the inputs differ; nothing was sent`,
    );
  }
  const remote = !isLoopbackHost(new URL(profile.baseUrl).hostname);
  if (remote && !options.yes && options.plan === undefined) {
    const worst = worstCase(loaded.runbook, (name) => costOf(profile, name));
    terminal.print(printPlan(loaded.runbook, inputs, plan, worst, terminal));
    if (!(await agreed(`Execute this against ${profile.baseUrl} as ${profile.account}?`)))
      throw new Refusal('not executed; nothing was sent', EXIT.usage, 'not_confirmed');
  }
  const account = await openAccount(profile, invocation);
  try {
    return await holding(account, `run of ${loaded.runbook.name}`, terminal, async (lease) => {
      const killed = await account.shared.killSwitch.engaged(account.key);
      if (killed !== undefined) throw killedRefusal(killed);
      rememberStore(invocation.state, account.storeFile);
      const run = newRunName(loaded.runbook.name);
      const live = new LiveRun(account, lease, invocation, options);
      return live.finish(await live.begin(loaded, inputs, run, plan.hash));
    });
  } finally {
    await account.close();
  }
}

/** Continues interrupted runs: those named, or every unfinished one that the known stores hold. */
export async function resumeRuns(names: readonly string[], invocation: Invocation): Promise<ExitCode> {
  const found = await unfinishedRuns(names, invocation.state);
  if (found.length === 0) {
    invocation.terminal.answer({ runs: [] }, () => 'there is nothing to resume');
    return EXIT.done;
  }
  let worst: ExitCode = EXIT.done;
  for (const { run, first } of found) {
    const profile = recordedProfile(first);
    const account = await openAccount(profile, invocation);
    try {
      const exit = await holding(account, `resume of ${run}`, invocation.terminal, async (lease) => {
        const live = new LiveRun(account, lease, invocation, { record: undefined, step: false, until: undefined });
        return live.finish(await live.takeUp(run));
      });
      if (exit > worst || worst === EXIT.done) worst = exit;
    } finally {
      await account.close();
    }
  }
  return worst;
}

/** Runs `work` while this process holds the account; exit 3 when another one does. */
async function holding(
  account: Account,
  holder: string,
  terminal: Invocation['terminal'],
  work: (lease: LeaseKeeper) => Promise<ExitCode>,
): Promise<ExitCode> {
  const onLost = () => {
    // Whoever holds the account has the run as well: what this process would still write down would only be in the way.
    terminal.complain(
      `another process holds the account ${account.profile.account} by now, because this one stood still for too long; it has ended where it stood, and sent nothing since. \`runbook resume\` goes on where nobody else does`,
    );
    process.exit(EXIT.held);
  };
  const lease = await takeLease({
    leases: account.shared.leases,
    account: account.key,
    holder,
    clock: account.clock,
    onLost,
  });
  if (lease.kind === 'taken') {
    throw new Refusal(
      `the account ${account.profile.account} is held by another process (${printable(lease.heldBy, 200)}), for at most ${Math.ceil(lease.remainingMs / 1000)} s unless it renews; nothing was sent`,
      EXIT.held,
      'held',
    );
  }
  try {
    return await work(lease);
  } finally {
    await lease.release();
  }
}

type LiveOptions = Pick<RunOptions, 'record' | 'step' | 'until'>;

/** One run, live: its journal, its road, and what can reach it from outside. */
class LiveRun {
  private readonly account: Account;
  private readonly lease: LeaseKeeper;
  private readonly invocation: Invocation;
  private readonly options: LiveOptions;
  private readonly fold = new RunFold();
  private killed: KillOrder | undefined;
  private signalled: ExitCode | undefined;
  private recorder: FixtureRecorder | undefined;
  private closing: (() => Promise<void>) | undefined;

  constructor(
    account: Account,
    lease: LeaseKeeper,
    invocation: Invocation,
    options: LiveOptions,
  ) {
    this.account = account;
    this.lease = lease;
    this.invocation = invocation;
    this.options = options;
  }

  async begin(
    loaded: LoadedRunbook,
    inputs: Readonly<Record<string, Value>>,
    run: string,
    plan: string,
  ): Promise<RunResult> {
    const { account } = this;
    // In a turn of the clock, as everything the engine does: its first moment is the one a replay begins with.
    const { running, parts } = await new Promise<{ running: RunningRun; parts: ReturnType<LiveRun['parts']> }>(
      (resolve) => account.clock.arrive(() => resolve(this.start(loaded, inputs, run, plan))),
    );
    return this.guard(run, running, parts);
  }

  private start(loaded: LoadedRunbook, inputs: Readonly<Record<string, Value>>, run: string, plan: string) {
    const { account } = this;
    const startedAt = account.clock.now();
    const seed = startedAt % 2 ** 31;
    const started = this.startedData(loaded, inputs, { startedAt, seed, plan });
    if (this.options.record !== undefined) this.recorder = this.recording(loaded, inputs, startedAt, seed);
    const parts = this.parts(run, loaded.runbook);
    parts.log.append('run.started', started);
    const venue = this.client(parts.log, parts.gate, () => parts.writer.flush());
    const setup = this.setup(run, loaded.runbook, inputs, started);
    const notifier = noticesOf(account, this.invocation.terminal);
    return { running: startRun(setup, { venue, clock: account.clock, log: parts.log, notifier }), parts };
  }

  async takeUp(run: string): Promise<RunResult> {
    const { account } = this;
    const stored = await account.store.read(run);
    const entries = stored.map(readEntry);
    const [first] = entries;
    if (first?.type !== 'run.started')
      throw new Refusal(`run ${printable(run, 100)} does not begin with run.started`, EXIT.failed, 'damaged');
    const loaded = loadPinned(first.data.sources, this.invocation.terminal);
    const inputs = inputValues(loaded.runbook, { pairs: [], recorded: first.data.inputs });
    const parts = this.parts(run, loaded.runbook, { head: headOf(stored.at(-1)), row: await account.store.run(run) });
    const playback = new Playback(entries, {
      markets: account.profile.markets,
      absenceHorizonMs: account.profile.ambiguityWindowMs,
      resume: true,
      observe: (entry) => {
        parts.gate.apply(entry);
        this.fold.apply(entry);
      },
    });
    const log = new RunLog(parts.writer, playback.log.book, parts.observers);
    const gate = parts.gate;
    gate.useBook(playback.log.book);
    const client = this.client(log, gate, () => parts.writer.flush());
    const setup = this.setup(run, loaded.runbook, inputs, first.data);
    const running = startRun(setup, {
      venue: playback.venue,
      clock: playback.clock,
      log: playback.log,
      notifier: noticesOf(account, this.invocation.terminal),
    });
    playback.commandsTo((command) => running.command(command));
    try {
      await playback.play(running.done);
    } catch (error) {
      if (!(error instanceof Divergence)) throw error;
      throw new Refusal(
        `run ${run} can not be taken up by this version: ${printable(error.message, 400)}. Use the version that began it (${first.data.engine}); \`runbook kill\` cancels what rests`,
        EXIT.halted,
        'diverged',
      );
    }
    await new Promise<void>((resolve) =>
      account.clock.arrive(() => {
        playback.takeOver({
          keep: log.keep,
          log,
          venue: client,
          clock: account.clock,
          continueCall: (call, attempts) => client.continueCall(call, attempts),
        });
        // From here on a process that was only asleep, and wakes now, finds the run taken.
        void parts.writer.flush().catch(() => {});
        resolve();
      }),
    );
    return this.guard(run, running, { ...parts, log });
  }

  /** Prints the report and gives the exit code. */
  async finish(result: RunResult): Promise<ExitCode> {
    const { terminal } = this.invocation;
    if (this.recorder !== undefined && this.options.record !== undefined)
      writeFixtureFile(this.options.record, this.recorder.fixture());
    const report = this.fold.report();
    terminal.answer(report, () => printSummary(report, (role, text) => terminal.style(role, text)));
    if (result.outcome === 'halted') {
      terminal.complain(`halted: ${printable(result.reason ?? '', 400)}`);
      for (const order of report.orders) {
        if (['unknown', 'absent', 'quarantined', 'submitting'].includes(order.state)) {
          terminal.complain(
            `order ${order.clientOrderId} (${order.orderId ?? 'no id yet'}) of ${order.market} is ${order.state}: look it up at the venue by its client order id; then \`runbook audit show ${report.run}\``,
          );
        }
      }
      return EXIT.halted;
    }
    if (this.signalled !== undefined) return this.signalled;
    return result.outcome === 'failed' ? EXIT.failed : EXIT.done;
  }

  /** Lets commands, the kill switch and signals reach the run until it has ended, then closes its journal. */
  private async guard(
    run: string,
    running: RunningRun,
    parts: { readonly log: RunLog; readonly writer: JournalWriter; readonly anchorer: Anchorer },
  ): Promise<RunResult> {
    const { account, invocation } = this;
    const interrupt = (signal: 'SIGINT' | 'SIGTERM') => {
      if (this.signalled !== undefined) return;
      this.signalled = signal === 'SIGINT' ? EXIT.interrupted : EXIT.terminated;
      invocation.terminal.note(`${signal}: settling; orders in flight are answered for before this ends`);
      account.clock.arrive(() => act(running, parts.log, { command: 'interrupt', by: signal }));
    };
    const onInterrupt = () => interrupt('SIGINT');
    const onTerminate = () => interrupt('SIGTERM');
    process.on('SIGINT', onInterrupt);
    process.on('SIGTERM', onTerminate);
    let ended = false;
    const look = async () => {
      if (ended) return;
      await this.lookOutside(run, running, parts.log);
      if (!ended) account.clock.at(account.clock.now() + LOOK_EVERY_MS, () => void look());
    };
    void look();
    try {
      const result = await running.done;
      await parts.writer.close();
      await parts.anchorer.settled();
      return result;
    } catch (error) {
      if (error instanceof StoreError)
        throw new Refusal(`the journal can not be written: ${printable(error.message)}`, EXIT.halted, 'journal');
      throw error;
    } finally {
      ended = true;
      process.off('SIGINT', onInterrupt);
      process.off('SIGTERM', onTerminate);
      await this.closing?.();
    }
  }

  /** What people asked of this run meanwhile, and whether the kill switch is engaged. */
  private async lookOutside(run: string, running: RunningRun, log: RunLog): Promise<void> {
    const { shared, clock, key } = this.account;
    const killed = await shared.killSwitch.engaged(key);
    if (killed !== undefined && this.killed === undefined) {
      this.killed = killed;
      clock.arrive(() => act(running, log, { command: 'kill', by: killed.by, reason: killed.reason }));
    }
    try {
      for (const message of await shared.mailbox.pending(run)) {
        const { command, by, step, reason, sequence } = message;
        clock.arrive(() =>
          act(running, log, {
            command,
            by,
            ...(step === undefined ? {} : { step }),
            ...(reason === undefined ? {} : { reason }),
          }),
        );
        await shared.mailbox.acknowledge(run, sequence);
      }
    } catch (error) {
      if (!(error instanceof StoreError)) throw error;
    }
  }

  private parts(run: string, runbook: CheckedRunbook, before?: { readonly head: ChainHead; readonly row: RunRow | undefined }) {
    const { account, lease, fold } = this;
    const { clock } = account;
    const writer = new JournalWriter(account.store, {
      run,
      account: account.profile.account,
      def: runbook.sha256.slice(0, 16),
      boot: thisMachine().clockId,
      epoch: lease.epoch,
      actor: 'engine',
      clock,
      durable: true,
      ...(before === undefined ? {} : { head: before.head }),
      ...(before?.row === undefined ? {} : { row: before.row }),
    });
    const anchorer = new Anchorer(writer, {
      run,
      clock,
      sinks: [new AnchorFile(join(dirname(account.storeFile), 'anchors.jsonl'))],
    });
    const book = new OrderBook({ absenceHorizonMs: account.profile.ambiguityWindowMs });
    const gate = new LimitGate(book, account.profile.markets, () => ({
      killed: this.killed !== undefined,
      working: [],
    }));
    const { terminal } = this.invocation;
    let entries = 0;
    const progress = (entry: Entry) => {
      entries += 1;
      if (entry.type === 'step.started' || entry.type === 'order.moved')
        terminal.progress(`${run}: ${entries} entries, ${entry.step}`);
    };
    const observers = [(entry: Entry) => gate.apply(entry), (entry: Entry) => fold.apply(entry), progress];
    return { writer, anchorer, gate, observers, log: new RunLog(writer, book, observers) };
  }

  private client(log: RunLog, gate: LimitGate, flush: () => Promise<void>): VenueClient {
    const { account, lease } = this;
    const { profile, clock } = account;
    const feeds = new DeclaredFeeds(profile, () => clock.now());
    const client = new VenueClient({
      profile,
      transport: this.recorder ?? account.transport,
      budget: account.budget,
      log: { append: log.append, flush, book: log.book },
      clock,
      gate,
      feeds: this.recorder === undefined ? feeds : recordingFeeds(feeds, this.recorder),
      markets: profile.markets,
      epoch: lease.epoch,
      lease,
      session: account.session,
      requests: declaredRequests(profile),
      ...(this.options.step ? { confirm: (call) => agreed(`${call.endpoint} ${printable(JSON.stringify(call.params), 400)}?`) } : {}),
      forbidden: (protective) => {
        if (account.session.failing && !protective) return 'SESSION_FAILING: the session could not be renewed; nothing new is sent under it';
        return this.killed !== undefined && !protective ? `KILL_SWITCH_ENGAGED: by ${this.killed.by}` : undefined;
      },
    });
    feeds.through(client);
    return client;
  }

  private setup(
    run: string,
    runbook: CheckedRunbook,
    inputs: Readonly<Record<string, Value>>,
    started: DataOf<'run.started'>,
  ): RunSetup {
    const { profile } = this.account;
    return {
      run,
      account: profile.account,
      mode: 'live',
      runbook,
      inputs,
      seed: started.seed,
      startedAt: started.startedAt,
      absenceHorizonMs: profile.ambiguityWindowMs,
      plan: started.plan ?? '',
      until: started.until,
    };
  }

  private startedData(
    loaded: LoadedRunbook,
    inputs: Readonly<Record<string, Value>>,
    at: { startedAt: number; seed: number; plan: string },
  ): DataOf<'run.started'> {
    const { profile } = this.account;
    return {
      runbook: loaded.runbook.name,
      file: loaded.runbook.source.file,
      mode: 'live',
      trigger: 'manual',
      inputs: inputsJson(inputs),
      ...at,
      sources: loaded.sources.map(({ name, source }) => ({
        name,
        file: source.file,
        text: source.text,
        sha256: sha256(source.text),
      })),
      settings: { ...profileSettings(profile), absenceHorizonMs: profile.ambiguityWindowMs } as JsonObject,
      engine: ENGINE_VERSION,
      account: profile.account,
      ...(this.options.until === undefined ? {} : { until: this.options.until }),
    };
  }

  private recording(
    loaded: LoadedRunbook,
    inputs: Readonly<Record<string, Value>>,
    startMs: number,
    seed: number,
  ): FixtureRecorder {
    const { transport, clock, profile, redactor } = this.account;
    return new FixtureRecorder(transport, clock, {
      runbook: loaded.runbook.name,
      inputs: inputsJson(inputs) as NonNullable<Fixture['inputs']>,
      seed,
      markets: profile.markets,
      startMs,
      redact: (text) => redactor.redact(text),
    });
  }
}

function recordingFeeds(feeds: DeclaredFeeds, recorder: FixtureRecorder) {
  return {
    async read(name: string, key: string | undefined, step: string) {
      const value = await feeds.read(name, key, step);
      if (value !== undefined) recorder.feed(value);
      return value;
    },
  };
}

/** What a live run needs and this profile or runbook does not give. */
function refuseUnready(runbook: CheckedRunbook, profile: Profile): void {
  const missing = [...new Set([runbook, ...Object.values(runbook.calls)].flatMap(({ needs }) => needs))].filter(
    (need) => !profile.capabilities.includes(need),
  );
  if (missing.length > 0) {
    throw new Refusal(
      `${runbook.name} needs ${missing.join(', ')}; the profile grants ${profile.capabilities.join(', ') || 'no capabilities'} (capabilities: […]); nothing was sent`,
    );
  }
  const unbound = [...new Set([runbook, ...Object.values(runbook.calls)].flatMap(({ feeds }) => feeds.map(({ name }) => name)))].filter((name) => !Object.hasOwn(profile.feeds, name));
  if (unbound.length > 0) throw new Refusal(`${runbook.name} reads the feed${unbound.length > 1 ? 's' : ''} ${unbound.join(', ')}; the profile binds ${Object.keys(profile.feeds).join(', ') || 'none'} (feeds: …); nothing was sent`);
  const { deadman } = runbook;
  if (deadman?.timeout.constant) {
    const timeoutMs = deadman.timeout.evaluate({ get: () => undefined, rules: () => undefined }).ms;
    if (timeoutMs < LEAST_DEADMAN_MS)
      throw new Refusal(
        `a deadman timeout of ${timeoutMs} ms is too short to act by; live it is at least ${LEAST_DEADMAN_MS} ms; nothing was sent`,
      );
  }
}

function refuseUntil(runbook: CheckedRunbook, until: string | undefined): void {
  if (until === undefined) return;
  const ids = [...everyStep(runbook.steps)].flatMap((step) => (step.id === undefined ? [] : [step.id]));
  if (!ids.includes(until)) throw new Refusal(`--until names no step: ${printable(until, 80)}; steps with an id are ${ids.join(', ') || 'none'}`);
}

function killedRefusal(killed: KillOrder): Refusal {
  const when = killed.at === 0 ? '' : ` at ${new Date(killed.at).toISOString()}`;
  return new Refusal(
    `the kill switch is engaged by ${printable(killed.by, 100)}${when}: ${printable(killed.reason, 300)}; nothing was sent. \`runbook release --profile FILE --by NAME\` lifts it`,
    EXIT.failed,
    'killed',
  );
}

/** The profile a run was started with, from its first entry; secrets come from the environment again. */
export function recordedProfile(first: EntryOf<'run.started'>): Profile {
  const { absenceHorizonMs: _own, ...settings } = first.data.settings as SettingsJson;
  const profile = restoredProfile(settings);
  if (profile === undefined) throw new Refusal(`the settings that run ${first.run} was started with are not accepted by this version`, EXIT.usage, 'configuration');
  return profile;
}

async function agreed(question: string): Promise<boolean> {
  if (!process.stdin.isTTY)
    throw new Refusal(
      'this would act against a venue: confirm with --yes, or with --plan HASH of an approved plan; nothing was sent',
    );
  const dialogue = createInterface({ input: process.stdin, output: process.stderr });
  try {
    return /^y(es)?$/i.test((await dialogue.question(`${question} [y/N] `)).trim());
  } finally {
    dialogue.close();
  }
}
