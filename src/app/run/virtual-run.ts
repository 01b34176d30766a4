/**
 * Assembles and executes runs in virtual time: dry-runs and replays. The composition root: the only file that knows all the
 * parts; their behaviour is their own.
 */

import { arriveAt, type Clock, type Metronome, VirtualClock } from '../../base/clock.ts';
import { type DecimalString, decimal } from '../../base/decimal.ts';
import { Divergence, Playback, type PlaybackOptions } from '../../engine/playback/playback.ts';
import type { OperatorCommand } from '../../engine/ports.ts';
import { type RunningRun, type RunResult, startRun } from '../../engine/run.ts';
import { withAccountPosition } from '../../gateway/account-position.ts';
import { VenueClient } from '../../gateway/client.ts';
import type { ClientParts, FeedSource } from '../../gateway/client-parts.ts';
import type { Fixture } from '../../gateway/fixture/fixture.ts';
import { FixtureRecorder } from '../../gateway/fixture/recorder.ts';
import { FixtureTransport } from '../../gateway/fixture/transport.ts';
import { LimitFactsFold } from '../../gateway/limits/facts.ts';
import type { SimulatorConfig } from '../../gateway/simulator/config/config.ts';
import { type Books, type MarketPrices, SIMULATED_PRICE, Simulator } from '../../gateway/simulator/simulator.ts';
import { LocalBudget } from '../../gateway/tokens/budget.ts';
import type { Transport } from '../../gateway/transport.ts';
import type { DataOf, Entry, EntryOf, EntryType } from '../../journal/entry.ts';
import { OrderTracker } from '../../journal/orders.ts';
import type { PassedRounds } from '../../journal/rounds/passed-rounds.ts';
import { RunLog } from '../../journal/run-log.ts';
import type { JournalReader, JournalStore } from '../../journal/store.ts';
import { JournalWriter } from '../../journal/writer.ts';
import type { CheckedRunbook, FeedDeclaration } from '../../runbook/checked.ts';
import { listRunbooks } from '../../runbook/steps/walk.ts';
import type { Value, ValueType } from '../../runbook/values.ts';
import { pickLarger } from '../../venue/order/fills.ts';
import { drawChance } from '../../venue/order/identity.ts';
import { ACCOUNT_POSITION, type MarketRules } from '../../venue/port.ts';
import { type Profile, SIMULATED_PROFILE } from '../../venue/profile/profile.ts';
import type { Side } from '../../venue/records.ts';
import { budgetSettings } from '../../venue/tokens/ledger.ts';
import { formatInputs, type LoadedRunbook } from '../files/load.ts';
import type { FeedFile } from '../files/prices.ts';
import { type Answer, findAnswer } from '../rehearsal/answers.ts';
import { findMiddle } from '../rehearsal/past-market.ts';
import { getFeedValue } from '../rehearsal/recorded-market.ts';
import { buildStartedData, makeSetup } from './first-entry.ts';
import { type HowToRead, openRecord, playRecord } from './recorded-run.ts';

export interface DryRun {
  readonly loaded: LoadedRunbook;
  readonly inputs: Readonly<Record<string, Value>>;
  /** A fresh name; client order ids derive from it. */
  readonly run: string;
  /** Epoch ms at which virtual time begins. */
  readonly at: number;
  readonly seed: number;
  readonly store: JournalStore;
  readonly venue:
    | {
        readonly kind: 'simulated';
        readonly config?: SimulatorConfig;
        readonly record?: boolean;
        /** Feeds with recorded values, by name, or by name and market as `mid[BTC-USD]`; they come before the simulated ones. */
        readonly feeds?: Readonly<Record<string, FeedFile>>;
      }
    | { readonly kind: 'fixtures'; readonly fixture: Fixture; readonly file: string; readonly sha256: string };
  readonly trigger?: string;
  /** What people answer, by the step that asks; a question without one stays open until its time is over. */
  readonly answers?: ReadonlyMap<string, Answer>;
  /** Called for every entry as it is written, for progress. */
  readonly onEntry?: (entry: Entry) => void;
  /** Called with the prices of the simulated markets as time goes on, for a picture. */
  readonly onPrices?: (prices: readonly MarketPrices[]) => void;
  /** Called with what was thrown where the run fails because of an internal error. */
  readonly onCrash?: (error: unknown) => void;
}

/** An order of the run that filled further at the simulated venue than the run ever read. */
export interface UnseenFill {
  readonly orderId: string;
  readonly type: string;
  readonly side: Side;
  readonly market: string;
  /** At the venue, and as the run knew it; base currency. */
  readonly filled: DecimalString;
  readonly known: DecimalString;
}

export interface DryRunResult {
  readonly result: RunResult;
  readonly unseen: readonly UnseenFill[];
  readonly recording?: Fixture;
}

/** Executes a runbook in virtual time; opens no socket. */
export async function dryRun(options: DryRun): Promise<DryRunResult> {
  const clock = new VirtualClock(options.at, { promisesAlone: true });
  const stage = makeStage(options, clock);
  const { loaded, run, seed, store, venue } = options;
  const started = buildVirtualStart(options, {
    mode: venue.kind,
    account: 'dry-run',
    markets: stage.markets,
    ...(venue.kind === 'fixtures' ? { fixture: { file: venue.file, sha256: venue.sha256 } } : {}),
  });
  const writer = new JournalWriter(store, {
    run,
    account: started.account,
    def: loaded.runbook.sha256.slice(0, 16),
    boot: 'virtual',
    epoch: 1,
    actor: 'engine',
    clock,
    durable: false,
  });
  const tracker = new OrderTracker({ absenceHorizonMs: SIMULATED_PROFILE.ambiguityWindowMs });
  const gate = new LimitFactsFold(tracker, stage.markets, undefined, stage.priceFeed);
  const log = new RunLog(writer, tracker, [
    (entry) => gate.apply(entry),
    (entry) => answerQuestion(entry),
    ...(options.onPrices === undefined ? [] : [makePriceReader(stage, options.at, options.onPrices)]),
    ...(options.onEntry === undefined ? [] : [options.onEntry]),
  ]);
  let over = false;
  const answerQuestion = ({ type, step }: Entry) => {
    if (type === 'run.ended') over = true;
    const answer = type === 'approval.asked' ? findAnswer(options.answers ?? new Map(), step) : undefined;
    if (answer === undefined) return;
    const { command, afterMs } = answer;
    arriveAt(clock, clock.now() + afterMs, () => {
      if (!over) act(running, log, { command, by: 'rehearsal', step }, 'rehearsal');
    });
  };
  log.append('run.started', started);
  const feeds = stage.knowsAccount
    ? stage.feeds
    : withAccountPosition(
        stage.feeds,
        (market) => gate.orders.positions.position(market).size,
        () => clock.now(),
      );
  const client = makeVirtualClient({ ...stage, feeds, clock, log, gate, seed, epoch: 1 });
  const setup = makeSetup(run, loaded.runbook, options.inputs, started);
  const running = startRun(setup, {
    venue: client,
    clock,
    notifier: { send() {} },
    log,
    ...(options.onCrash === undefined ? {} : { onCrash: options.onCrash }),
  });
  stage.onMiss((message) => act(running, log, { command: 'cancel', by: 'fixture', reason: message }, 'fixture'));
  try {
    const result = await clock.runUntil(running.done);
    const recording = stage.recording();
    const unseen = stage.listUnseen(tracker);
    return { result, unseen, ...(recording === undefined ? {} : { recording }) };
  } finally {
    await writer.close();
  }
}

/** Executes a recorded run with this version's engine. Throws Divergence at the first difference. `entries` are iterated twice. */
export async function replayRun(
  entries: Iterable<Entry>,
  loaded: LoadedRunbook,
  inputs: Readonly<Record<string, Value>>,
): Promise<void> {
  const [first] = entries;
  if (first?.type !== 'run.started') throw new Error('a journal begins with run.started');
  await playAgain(first, entries, loaded, inputs);
}

/** What was played of a stored run, up to the first difference or the end of its record. */
export interface Replayed {
  readonly played: ReadonlyMap<EntryType, number>;
  readonly last: EntryType | undefined;
  readonly divergence?: Divergence;
}

/** The same of a run in a store, which is read while it is executed. */
export async function replayStoredRun(
  store: JournalReader,
  first: EntryOf<'run.started'>,
  loaded: LoadedRunbook,
  inputs: Readonly<Record<string, Value>>,
): Promise<Replayed> {
  const open = (how: HowToRead) => openRecord(store, first.run, how);
  return playRecord(open, async (record) => {
    const played = new Map<EntryType, number>();
    let last: EntryType | undefined;
    const observe = ({ type }: Entry) => {
      last = type;
      played.set(type, (played.get(type) ?? 0) + 1);
    };
    try {
      await playAgain(first, record, loaded, inputs, { observe, readOn: () => record.readOn() });
      return { played, last };
    } catch (error) {
      if (error instanceof Divergence) return { played, last, divergence: error };
      throw error;
    }
  });
}

async function playAgain(
  first: EntryOf<'run.started'>,
  entries: Iterable<Entry | PassedRounds>,
  loaded: LoadedRunbook,
  inputs: Readonly<Record<string, Value>>,
  reading: Pick<PlaybackOptions, 'observe' | 'readOn'> = {},
): Promise<void> {
  const { run, data } = first;
  const { markets = {} } = data.settings as { readonly markets?: Readonly<Record<string, MarketRules>> };
  const { absenceHorizonMs } = data.settings as { readonly absenceHorizonMs?: number };
  const playback = new Playback(entries, {
    markets,
    resume: false,
    ...reading,
    ...(absenceHorizonMs === undefined ? {} : { absenceHorizonMs }),
  });
  const running = startRun(makeSetup(run, loaded.runbook, inputs, data), {
    venue: playback.venue,
    clock: playback.clock,
    log: playback.log,
    notifier: { send() {} },
  });
  playback.drive(running);
  await playback.play(running.done);
}

/**
 * Writes a command of a person or a signal into the journal, then passes it to the run: as an event from outside, in a turn of its
 * own. `actor`: the author of the entry, where that is not a person.
 */
export function act(
  running: RunningRun,
  log: RunLog,
  command: OperatorCommand,
  actor: string = nameHumanActor(command.by),
): void {
  log.append('operator.acted', { ...command }, '', actor);
  running.command(command);
}

/** The actor of an entry that a person made: no name can be confused with the engine's. */
export function nameHumanActor(by: string): string {
  return `human:${by}`;
}

/** Prices this far apart show a market well enough, ms. */
const PRICE_EVERY_MS = 1000;

/** Passes on the prices since the entry before. */
function makePriceReader(
  stage: Stage,
  startMs: number,
  onPrices: (prices: readonly MarketPrices[]) => void,
): (entry: Entry) => void {
  let readUntil = startMs - 1;
  return ({ at }) => {
    if (at - readUntil < PRICE_EVERY_MS && readUntil >= startMs) return;
    onPrices(stage.listMids(readUntil, at, PRICE_EVERY_MS));
    readUntil = at;
  };
}

interface Stage {
  readonly transport: Transport;
  readonly feeds: FeedSource;
  /** Whether its feeds give what the account holds; else it holds what the run itself has filled. */
  readonly knowsAccount: boolean;
  readonly markets: Readonly<Record<string, MarketRules>>;
  /** What measures an order for the limits, as the price feed of a profile does live. */
  readonly priceFeed: string | undefined;
  recording(): Fixture | undefined;
  listMids(fromMs: number, toMs: number, everyMs: number): readonly MarketPrices[];
  listUnseen(tracker: OrderTracker): readonly UnseenFill[];
  onMiss(tell: (message: string) => void): void;
}

function makeStage(options: DryRun, clock: VirtualClock): Stage {
  const { venue, seed, at } = options;
  if (venue.kind === 'fixtures') {
    let tell: (message: string) => void = () => {};
    const transport = new FixtureTransport(venue.fixture, clock, {
      startMs: at,
      onMiss: ({ message }) => tell(message.replace(/^fixture: /, '')),
    });
    return {
      transport,
      feeds: { read: async (name, key) => transport.feed(name, key) },
      knowsAccount: venue.fixture.feeds.some(({ name }) => name === ACCOUNT_POSITION),
      markets: venue.fixture.markets,
      priceFeed: findRecordedPrice(venue.fixture, options.loaded.runbook),
      recording: () => undefined,
      listMids: () => [],
      listUnseen: () => [],
      onMiss: (receive) => {
        tell = receive;
      },
    };
  }
  const simulator = new Simulator(venue.config ?? {}, clock, seed, { keptRequests: 0 });
  const recorder = venue.record
    ? new FixtureRecorder(simulator.transport(), clock, {
        runbook: options.loaded.runbook.name,
        inputs: formatInputs(options.inputs),
        seed,
        markets: simulator.markets,
        startMs: at,
      })
    : undefined;
  return {
    knowsAccount: true,
    transport: recorder ?? simulator.transport(),
    feeds: {
      read: async (name, key) => {
        const read = readOwnFeed(venue.feeds, name, key, clock.now()) ?? simulator.feed(name, key);
        if (read === undefined) return undefined;
        const value = { name, ...(key === undefined ? {} : { key }), ...read };
        recorder?.feed(value);
        return value;
      },
    },
    markets: simulator.markets,
    priceFeed: SIMULATED_PRICE,
    recording: () => recorder?.fixture(),
    listMids: (fromMs, toMs, everyMs) => simulator.listMids(fromMs, toMs, everyMs),
    listUnseen: (tracker) => listUnseen(simulator.books().orders, tracker),
    onMiss: () => {},
  };
}

/**
 * The feed of a recording that gives the price of a market: by its name; else one that no runbook declares, which was read for the
 * limits; else one that is declared as a price.
 */
function findRecordedPrice({ feeds }: Fixture, runbook: CheckedRunbook): string | undefined {
  const names = feeds.flatMap(({ name, key }) => (key === undefined || name === ACCOUNT_POSITION ? [] : [name]));
  const declared = listRunbooks(runbook).flatMap((each) => each.feeds);
  const isDeclared = (name: string) => declared.some((each) => each.name === name);
  const isPrice = ({ type }: FeedDeclaration) => getUnit(type.kind === 'map' ? type.of : type) === 'price';
  const prices = declared.filter(isPrice).map(({ name }) => name);
  return findMiddle(names) ?? names.find((name) => !isDeclared(name)) ?? names.find((name) => prices.includes(name));
}

function getUnit(type: ValueType): string | undefined {
  return type.kind === 'decimal' ? type.unit : undefined;
}

/** A run that has stopped looking knows nothing of a stop that fills afterwards. */
function listUnseen(booked: Books['orders'], tracker: OrderTracker): readonly UnseenFill[] {
  const byClientId = new Map(booked.map((order) => [order.client_order_id, order]));
  return tracker.orders().flatMap(({ intent, snapshot: { context } }) => {
    const order = byClientId.get(intent.clientOrderId);
    const known = pickLarger(context.filled, context.recordFilled);
    if (order === undefined || !decimal(order.filled).greaterThan(decimal(known))) return [];
    const { id: orderId, type, side, market_id: market, filled } = order;
    return [{ orderId, type, side, market, filled, known }];
  });
}

/** A recorded value is as old as its reading: the file says when it changed, not when it was last seen. */
function readOwnFeed(
  feeds: Readonly<Record<string, FeedFile>> = {},
  name: string,
  key: string | undefined,
  at: number,
) {
  const id = key !== undefined && Object.hasOwn(feeds, `${name}[${key}]`) ? `${name}[${key}]` : name;
  const file = Object.hasOwn(feeds, id) ? feeds[id] : undefined;
  const value = file === undefined ? undefined : getFeedValue(file, at);
  return value === undefined ? undefined : { value, at };
}

/** The path to a venue in virtual time, with a token budget of its own. */
export function makeVirtualClient(
  parts: Pick<ClientParts, 'transport' | 'feeds' | 'markets' | 'log' | 'gate' | 'epoch'> & {
    readonly clock: Clock & Metronome;
    readonly seed: number;
    readonly profile?: Profile;
  },
): VenueClient {
  const { transport, feeds, markets, clock, log, gate, epoch, seed, profile = SIMULATED_PROFILE } = parts;
  const { tokens, windowMs, costs } = SIMULATED_PROFILE.rateLimit;
  const budget = new LocalBudget(budgetSettings({ tokens, windowMs }), clock, costs, {
    random: () => drawChance(seed, `budget ${clock.now()}`),
  });
  return new VenueClient({ profile, transport, budget, log, clock, gate, feeds, markets, epoch });
}

/** The first entry of a run in virtual time or on paper. */
export function buildVirtualStart(
  { loaded, inputs, at, seed, trigger = 'manual' }: Pick<DryRun, 'loaded' | 'inputs' | 'at' | 'seed' | 'trigger'>,
  stage: Pick<DataOf<'run.started'>, 'mode' | 'account' | 'fixture'> & {
    readonly markets: Readonly<Record<string, MarketRules>>;
    readonly profile?: Profile;
  },
): DataOf<'run.started'> {
  const { mode, markets, profile = SIMULATED_PROFILE, ...place } = stage;
  const about = { mode, trigger, inputs: formatInputs(inputs), seed, startedAt: at };
  return buildStartedData(profile, loaded, about, place, markets);
}
