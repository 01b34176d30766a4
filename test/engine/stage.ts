/**
 * A stage for the engine: performs a run against the simulated venue in virtual time, with the venue's own books and commands of
 * a person. Composed as in the program, except that the journal is in memory.
 */

import type { LoadedRunbook } from '../../src/app/files/load.ts';
import { act, replayRun } from '../../src/app/run/virtual-run.ts';
import { arriveAt, type ClockReading, type Timer, VirtualClock } from '../../src/base/clock.ts';
import type { SourceText } from '../../src/base/diagnostic.ts';
import { type ProcessClock, RunClock } from '../../src/base/run-clock.ts';
import type { OperatorCommand, RunPorts, RunSetup } from '../../src/engine/ports.ts';
import { type RunningRun, startRun } from '../../src/engine/run.ts';
import { VenueClient } from '../../src/gateway/client.ts';
import type { ClientParts, ReadNeed } from '../../src/gateway/client-parts.ts';
import { LimitFactsFold } from '../../src/gateway/limits/facts.ts';
import { type Books, Simulator, type SimulatorConfig } from '../../src/gateway/simulator/simulator.ts';
import { LocalBudget } from '../../src/gateway/tokens/budget.ts';
import type { Transport } from '../../src/gateway/transport.ts';
import type { ApprovedBounds, Entry, JsonObject } from '../../src/journal/entry.ts';
import { OrderTracker } from '../../src/journal/orders.ts';
import { readLines } from '../../src/journal/reading.ts';
import { RunLog } from '../../src/journal/run-log.ts';
import { MemoryStore } from '../../src/journal/stores/memory.ts';
import { JournalWriter } from '../../src/journal/writer.ts';
import type { RunReport } from '../../src/report/folds/run.ts';
import { readInputs } from '../../src/runbook/check/inputs.ts';
import { toJson, type Value } from '../../src/runbook/values.ts';
import type { LimitRules, WorkingOrder } from '../../src/venue/limits/check.ts';
import { drawChance } from '../../src/venue/order/identity.ts';
import { writeProfileSettings } from '../../src/venue/profile/in-force.ts';
import { findPriceFeed } from '../../src/venue/profile/price-feed.ts';
import { type Profile, SIMULATED_PROFILE } from '../../src/venue/profile/profile.ts';
import { budgetSettings } from '../../src/venue/tokens/ledger.ts';
import { makeRunReport } from '../report/whole-run.ts';
import { checkUnheld } from '../runbook/check-unheld.ts';

export const START = Date.UTC(2026, 0, 5, 8);

/** A price feed of the profile, read by a declared request. */
export const PRICE_FEED: Pick<Profile, 'feeds' | 'requests'> = {
  feeds: { mid: { request: 'info', with: { market_id: '${market}' }, read: 'result.mid' } },
  requests: {
    info: {
      method: 'GET',
      path: '/info',
      query: { market_id: 'text' },
      tokens: 1,
      result: { kind: 'record', fields: { mid: { kind: 'value', type: 'price', optional: false } } },
    },
  },
};
const ACCOUNT = 'stage';

export interface Scene {
  readonly loaded: LoadedRunbook;
  readonly inputs: Readonly<Record<string, Value>>;
  readonly config: SimulatorConfig;
  readonly seed?: number;
  readonly run?: string;
  /** Commands of a person, ms after the start. */
  readonly commands?: readonly (OperatorCommand & { readonly afterMs: number })[];
  /** Wraps the venue's transport: may change requests and answers. */
  readonly between?: (venue: Transport, time: VirtualClock) => Transport;
  /** The person whom `run --step` asks. */
  readonly confirm?: ClientParts['confirm'];
  /** How long the source of feeds takes to answer, ms. */
  readonly feedAfterMs?: number;
  /** Which readings the source of feeds answers; without it all. */
  readonly answersFeed?: (need: ReadNeed, time: VirtualClock) => boolean;
  /** How old what the source of feeds gives is, ms. */
  readonly feedAgeMs?: number;
  /** Limits of the profile. */
  readonly limits?: LimitRules;
  /** Working orders of other runs of the account. */
  readonly others?: readonly WorkingOrder[];
  /** The bounds of an approved plan. */
  readonly bounds?: ApprovedBounds;
  /** The profile describes no market: the engine knows neither tick nor lot. */
  readonly undescribed?: true;
  /** The profile binds a price feed, `mid`. */
  readonly priceFeed?: true;
  /** Setting `fills.window` of the profile, ms. */
  readonly fillsWindowMs?: number;
  /** How long the nth awaited commit takes, ms; the first is 1. */
  readonly commitMs?: (n: number) => number;
  /** Since when no entry can be stored any more, ms after the start. */
  readonly diskFullAfterMs?: number;
  /** The reason why no request may be sent that does not protect, such as an engaged kill switch. */
  readonly forbidden?: (time: VirtualClock) => string | undefined;
  /** When a person resumes the run after it halted, ms after each end. */
  readonly resumedAfterMs?: readonly number[];
  /** Other parts of the run than those of the stage. */
  readonly setup?: Partial<RunSetup>;
  readonly ports?: Partial<RunPorts>;
  /** What else happens to the run, which has been started. */
  readonly meanwhile?: (running: RunningRun, time: VirtualClock) => void;
  /** An adjustment of the wall clock: its instant, ms after the start, and its size. */
  readonly clockPut?: { readonly afterMs: number; readonly byMs: number };
}

export interface Performance {
  readonly entries: readonly Entry[];
  readonly report: RunReport;
  /** The venue's own books. */
  readonly books: Books;
  /** Lets time pass at the venue and reads its books again: a switch that was left armed may fire. */
  later(ms: number): Promise<Books>;
}

/** Checks a runbook and those it calls. Throws with every error found. */
export function loadedFrom(
  source: SourceText,
  load: (name: string) => SourceText | undefined = () => undefined,
): LoadedRunbook {
  const called = new Map<string, SourceText>();
  const { runbook, diagnostics } = checkUnheld(source, (name) => {
    const text = load(name);
    if (text !== undefined) called.set(name, text);
    return text;
  });
  if (runbook === undefined)
    throw new Error(diagnostics.map(({ code, message }) => `${source.file}: ${message} [${code}]`).join('\n'));
  return {
    runbook,
    sources: [{ name: runbook.name, source }, ...[...called].map(([name, text]) => ({ name, source: text }))],
  };
}

export function inputsFrom(
  { runbook }: LoadedRunbook,
  texts: Readonly<Record<string, string>>,
): Readonly<Record<string, Value>> {
  const read = readInputs(runbook, texts);
  if ('problems' in read) throw new Error(read.problems.join('\n'));
  return read.values;
}

export async function perform(scene: Scene): Promise<Performance> {
  const { loaded, inputs, config, seed = 1, run = 'staged', commands = [], clockPut } = scene;
  // The venue's clock is right; the wall clock of this machine can be adjusted.
  const time = new VirtualClock(START);
  const wall = new PutClock(time);
  const clock = new RunClock(wall, START);
  const simulator = new Simulator(config, time, seed);
  const markets = scene.undescribed === true ? {} : simulator.markets;
  const store = new MemoryStore();
  const absenceHorizonMs = SIMULATED_PROFILE.ambiguityWindowMs;
  const { fillsWindowMs = SIMULATED_PROFILE.fillsWindowMs } = scene;
  const writer = new JournalWriter(store, {
    run,
    account: ACCOUNT,
    def: loaded.runbook.sha256.slice(0, 16),
    boot: 'virtual',
    epoch: 1,
    actor: 'engine',
    clock,
    durable: false,
  });
  const tracker = new OrderTracker({ absenceHorizonMs });
  const priced = { ...SIMULATED_PROFILE, ...(scene.priceFeed === true ? PRICE_FEED : {}) };
  const others = () => ({ killed: false, working: scene.others ?? [] });
  const gate = new LimitFactsFold(tracker, markets, others, findPriceFeed(priced));
  const log = new RunLog(writer, tracker, [(entry) => gate.apply(entry)]);
  const { commitMs, forbidden, diskFullAfterMs = Number.POSITIVE_INFINITY } = scene;
  let commits = 0;
  const flush = async () => {
    commits += 1;
    const takes = commitMs?.(commits) ?? 0;
    if (takes > 0) await new Promise<void>((done) => void time.after(takes, done));
    if (time.now() - START >= diskFullAfterMs) throw new Error('the disk is full');
    await log.flush();
  };
  const { rateLimit } = SIMULATED_PROFILE;
  log.append('run.started', {
    runbook: loaded.runbook.name,
    file: loaded.runbook.source.file,
    mode: 'simulated',
    trigger: 'manual',
    inputs: Object.fromEntries(Object.entries(inputs).map(([name, value]) => [name, toJson(value)])) as JsonObject,
    seed,
    startedAt: START,
    sources: [],
    settings: {
      ...writeProfileSettings(SIMULATED_PROFILE),
      markets: markets as unknown as JsonObject,
      absenceHorizonMs,
      fillsWindowMs,
    },
    engine: 'stage',
    account: ACCOUNT,
    ...(scene.bounds === undefined ? {} : { bounds: scene.bounds }),
  });
  const venue = new VenueClient({
    profile: { ...priced, limits: scene.limits ?? SIMULATED_PROFILE.limits },
    transport: scene.between?.(simulator.transport(), time) ?? simulator.transport(),
    budget: new LocalBudget(
      budgetSettings({ tokens: rateLimit.tokens, windowMs: rateLimit.windowMs }),
      time,
      rateLimit.costs,
      {
        random: () => drawChance(seed, `budget ${clock.now()}`),
      },
    ),
    log: { tracker, append: (type, data, step) => log.append(type, data, step), flush },
    ...(forbidden === undefined
      ? {}
      : { forbidden: (protective: boolean) => (protective ? undefined : forbidden(time)) }),
    clock,
    gate,
    feeds: {
      read: async (name, key, _step, need = {}) => {
        if (scene.answersFeed?.(need, time) === false) return undefined;
        if (scene.feedAfterMs !== undefined)
          await new Promise<void>((done) => void time.after(scene.feedAfterMs ?? 0, done));
        const read = simulator.feed(name, key);
        if (read === undefined) return undefined;
        return { name, ...(key === undefined ? {} : { key }), ...read, at: read.at - (scene.feedAgeMs ?? 0) };
      },
    },
    markets,
    epoch: 1,
    ...(scene.confirm === undefined ? {} : { confirm: scene.confirm }),
  });
  const running = startRun(
    {
      run,
      account: ACCOUNT,
      mode: 'simulated',
      runbook: loaded.runbook,
      inputs,
      seed,
      startedAt: START,
      absenceHorizonMs,
      fillsWindowMs,
      plan: '',
      ...scene.setup,
    },
    { venue, clock, log, notifier: { send() {} }, ...scene.ports },
  );
  scene.meanwhile?.(running, time);
  let over = false;
  const end = () => {
    over = true;
  };
  running.done.then(end, end);
  for (const { afterMs, ...command } of commands)
    arriveAt(time, START + afterMs, () => void (over || act(running, log, command)));
  if (clockPut !== undefined) {
    time.at(START + clockPut.afterMs, () => {
      wall.byMs = clockPut.byMs;
      log.append('clock.adjusted', { wallAheadMs: clock.wallAheadMs() });
      running.clockPut(clock.wallAheadMs());
    });
  }
  await time.runUntil(running.done);
  for (const afterMs of scene.resumedAfterMs ?? []) {
    // Another process resumes a run: its end is stored by then.
    await writer.flush();
    time.after(afterMs, () => {
      log.append('run.resumed', { openCalls: [] });
      running.takenUp();
    });
    await time.advanceTo(time.now() + afterMs);
    await time.runUntil(running.settled());
  }
  await writer.close();
  const entries = [...readLines(await store.read(run))];
  return {
    entries,
    report: makeRunReport(entries),
    books: simulator.books(),
    async later(ms) {
      await time.advanceTo(time.now() + ms);
      return simulator.books();
    },
  };
}

/** A machine whose wall clock can be adjusted while its monotonic clock goes on. */
class PutClock implements ProcessClock {
  byMs = 0;
  private readonly time: VirtualClock;

  constructor(time: VirtualClock) {
    this.time = time;
  }

  now(): number {
    return this.time.now() + this.byMs;
  }
  monotonic(): number {
    return this.time.monotonic();
  }
  read(): ClockReading {
    return { ...this.time.read(), wallMs: this.now() };
  }
  readAtTurn(): ClockReading {
    return this.read();
  }
  elapsed(): number {
    return this.time.elapsed();
  }
  at(whenMs: number, turn: () => void): Timer {
    return this.time.at(whenMs - this.byMs, turn);
  }
  after(delayMs: number, turn: () => void): Timer {
    return this.time.after(delayMs, turn);
  }
  arrive(turn: () => void): void {
    this.time.arrive(turn);
  }
}

/** Executes a performance again from its journal. Throws Divergence where the engine differs. */
export function replay({ entries }: Performance, { loaded, inputs }: Scene): Promise<void> {
  return replayRun(entries, loaded, inputs);
}
