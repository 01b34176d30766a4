/**
 * Runs as the scheduler has them: those a slot starts, those a process before it left unfinished, those that are handed to
 * it. They share the account's lease, session, budget and limits; whatever goes wrong with one is how that one ended.
 */
import { printable } from '../base/printable.ts';
import type { Daemon, Guest, Launch, LaunchedRun, Launcher, RunEnding } from '../engine/daemon.ts';
import type { OperatorCommand } from '../engine/ports.ts';
import type { AgendaStore, HandoverRequest } from '../journal/agenda-store.ts';
import { readEntry } from '../journal/chain.ts';
import { StoreError } from '../journal/store.ts';
import { concurrencyOf } from '../runbook/schedule-collisions.ts';
import type { Value } from '../runbook/values.ts';
import { accountKey } from './account.ts';
import { type Origin, recordedProfile } from './beginning.ts';
import { Refusal } from './exit.ts';
import { type LiveHost, LiveRun } from './live.ts';
import { inputValues, loadPinned } from './loading.ts';
import { planFor } from './planning.ts';
import { killedRefusal, refuseUnready, refuseUntil } from './readiness.ts';
import { exclusiveOf, type PlannedSlot } from './timetable.ts';
import type { LoadedRunbook } from './wire.ts';

export interface DaemonRunsParts {
  readonly host: LiveHost;
  readonly agenda: AgendaStore;
  /** The timetable in force. */
  readonly slots: () => readonly PlannedSlot[];
  /** Keeps the report of a mistake of our own, and gives the sentence for people. */
  readonly crashed: (error: unknown) => string;
  /** The journal can not be written: nothing may go on. */
  readonly journalFailed: (message: string) => void;
}

/** What a run is to be begun with. */
interface Beginning {
  readonly loaded: LoadedRunbook;
  readonly inputs: Readonly<Record<string, Value>>;
  readonly origin: Origin;
}

export class DaemonRuns implements Launcher {
  private readonly parts: DaemonRunsParts;
  /** Requests that were looked at and wait for a key: looked at once. */
  private readonly known = new Set<string>();

  constructor(parts: DaemonRunsParts) {
    this.parts = parts;
  }

  start({ run, slot: id, nominalMs }: Launch): LaunchedRun {
    return this.launched(run, (live) => {
      const slot = this.parts.slots().find((each) => each.id === id);
      if (slot === undefined) throw new Refusal(`the slot ${id} is not in force any more`);
      const { loaded, inputs } = slot;
      const plan = this.planOf(loaded, inputs);
      const occurrence = { slot: id, nominal: nominalMs };
      return this.begin(live, { loaded, inputs, origin: { trigger: 'schedule', plan, occurrence } });
    });
  }

  async exists(run: string): Promise<boolean> {
    return (await this.parts.host.account.store.run(run)) !== undefined;
  }

  /** Takes up every run that a process before this one left unfinished; gives how many, and which it could not. */
  async takeUpAll(daemon: Daemon): Promise<{
    readonly taken: readonly string[];
    readonly stuck: readonly { readonly run: string; readonly why: string }[];
  }> {
    const { account } = this.parts.host;
    const taken: string[] = [];
    const stuck: { run: string; why: string }[] = [];
    for (const { run, runbook, mode } of await account.store.runs({
      account: account.profile.account,
      unfinished: true,
    })) {
      const [stored] = await account.store.read(run, { limit: 1 });
      const first = stored === undefined ? undefined : readEntry(stored);
      if (mode !== 'live' || first?.type !== 'run.started') continue;
      const profile = recordedProfile(first);
      if (accountKey(profile) !== account.key) continue;
      const held: { key?: string; exclusive?: readonly string[] } = {};
      try {
        const { runbook: checked } = loadPinned(first.data.sources, this.parts.host.voice);
        const concurrency = concurrencyOf(checked, inputValues(checked, { pairs: [], recorded: first.data.inputs }));
        if (concurrency !== undefined) held.key = concurrency.key;
        held.exclusive = exclusiveOf(checked);
      } catch (error) {
        if (!(error instanceof Refusal)) throw error;
      }
      const { occurrence } = first.data;
      const known = { run, ...held, ...(occurrence === undefined ? {} : { slot: occurrence.slot }) };
      const live = new LiveRun(this.parts.host, run, {}, profile);
      try {
        await live.takeUp();
        taken.push(run);
        daemon.adopt(known, runbook, this.underWay(live));
      } catch (error) {
        const why = error instanceof Refusal || error instanceof StoreError ? error.message : this.parts.crashed(error);
        stuck.push({ run, why });
        daemon.adopt(known, runbook, undefined);
      }
    }
    return { taken, stuck };
  }

  /** Looks for runs that were handed over; gives them to the scheduler, or refuses them. */
  async takeGuests(daemon: Daemon): Promise<void> {
    const { agenda, host } = this.parts;
    const posted = await agenda.posted(host.account.key);
    for (const request of posted) {
      if (this.known.has(request.run)) continue;
      this.known.add(request.run);
      try {
        daemon.admit(this.guest(request));
      } catch (error) {
        if (!(error instanceof Refusal)) throw error;
        await agenda.answer(request.run, { state: 'refused', why: error.message, kind: error.kind });
      }
    }
    for (const run of this.known) if (!posted.some((each) => each.run === run)) this.known.delete(run);
  }

  private guest(request: HandoverRequest): Guest {
    const { agenda, host } = this.parts;
    const { run, by, until } = request;
    const loaded = loadPinned(
      request.sources.map(({ name, file, text }) => ({ name, file, text })),
      host.voice,
    );
    const { runbook } = loaded;
    refuseUnready(runbook, host.account.profile);
    refuseUntil(runbook, until);
    const inputs = inputValues(runbook, { pairs: [], recorded: request.inputs });
    const plan = this.planOf(loaded, inputs);
    if (plan !== request.plan) {
      throw new Refusal(
        `under the scheduler's profile the plan is ${plan.slice(0, 12)}, not ${printable(request.plan.slice(0, 12), 40)}: the two profiles differ`,
      );
    }
    const origin: Origin = { trigger: 'manual', by, plan, ...(until === undefined ? {} : { until }) };
    const concurrency = concurrencyOf(runbook, inputs);
    const refuse = async (why: string, kind: string) => {
      await agenda.answer(run, { state: 'refused', why, kind });
    };
    return {
      run,
      runbook: runbook.name,
      exclusive: exclusiveOf(runbook),
      ...(concurrency === undefined ? {} : { concurrency }),
      refuse: (why) => refuse(why, 'busy'),
      begin: async () => {
        const killed = await host.account.shared.killSwitch.engaged(host.account.key);
        if (killed !== undefined) {
          await refuse(killedRefusal(killed).message, 'killed');
          return undefined;
        }
        if (!(await agenda.answer(run, { state: 'taken' }))) return undefined;
        return this.launched(run, (live) => this.begin(live, { loaded, inputs, origin }));
      },
    };
  }

  private planOf({ runbook }: LoadedRunbook, inputs: Readonly<Record<string, Value>>): string {
    const { profile, clock } = this.parts.host.account;
    return planFor(runbook, inputs, { profile, now: clock.now() }).hash;
  }

  private async begin(live: LiveRun, { loaded, inputs, origin }: Beginning): Promise<void> {
    await live.begin(loaded, inputs, origin);
    try {
      await live.flush();
    } catch (error) {
      // Without its beginning in the journal nothing of it may reach the venue, and nothing does.
      live.act({ command: 'cancel', by: 'scheduler', reason: 'its beginning could not be recorded' });
      await live.ended().catch(() => undefined);
      throw error instanceof StoreError ? new Refusal(printable(error.message)) : error;
    }
  }

  private launched(run: string, begin: (live: LiveRun) => Promise<void>): LaunchedRun {
    const live = new LiveRun(this.parts.host, run);
    let command: OperatorCommand | undefined;
    let ready = false;
    const stop = (wanted: OperatorCommand) => {
      command ??= wanted;
      if (ready) live.act(wanted);
    };
    const beginning = (async () => begin(live))().then(
      () => {
        ready = true;
        if (command !== undefined) live.act(command);
        return undefined;
      },
      (error: unknown) => (error instanceof Refusal ? error.message : this.parts.crashed(error)),
    );
    return {
      begun: beginning.then((problem) => problem === undefined),
      done: beginning.then((why) => (why === undefined ? this.ending(live) : { kind: 'refused', why })),
      stop,
    };
  }

  private underWay(live: LiveRun): LaunchedRun {
    return { begun: Promise.resolve(true), done: this.ending(live), stop: (command) => live.act(command) };
  }

  private async ending(live: LiveRun): Promise<RunEnding> {
    try {
      const { outcome, reason } = await live.ended();
      return { kind: 'ended', outcome, ...(reason === undefined ? {} : { reason }) };
    } catch (error) {
      const why = error instanceof Refusal ? error.message : this.parts.crashed(error);
      if (error instanceof Refusal && error.kind === 'journal') this.parts.journalFailed(why);
      return { kind: 'stuck', why };
    }
  }
}
