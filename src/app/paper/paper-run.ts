/**
 * Executes a runbook on paper: live feeds in real time, orders at the simulated venue, whose price follows the live one. It needs
 * no credentials and takes no lease; the profile's limits and the kill switch of its account hold for it. Its journal says `paper`.
 */
import type { Clock, Metronome, SystemClock, Timer } from '../../base/clock.ts';
import { decimal, roundToNearest } from '../../base/decimal.ts';
import { makePrintable } from '../../base/printable.ts';
import { RelayClock } from '../../base/relay-clock.ts';
import type { OperatorCommand } from '../../engine/ports.ts';
import { type RunningRun, type RunResult, startRun } from '../../engine/run.ts';
import { withAccountPosition } from '../../gateway/account-position.ts';
import { LimitFactsFold } from '../../gateway/limits/facts.ts';
import { openLive } from '../../gateway/live/transport.ts';
import { Simulator, type SimulatorConfig } from '../../gateway/simulator/simulator.ts';
import { LocalBudget } from '../../gateway/tokens/budget.ts';
import type { DataOf, Entry } from '../../journal/entry.ts';
import { OrderTracker } from '../../journal/orders.ts';
import { RunLog } from '../../journal/run-log.ts';
import { listKills, recognizeKills } from '../../journal/shared/account-guard.ts';
import { identifyMachineStart } from '../../journal/shared/machine.ts';
import type { KillEvent, Shared } from '../../journal/shared/shared.ts';
import { type JournalStore, StoreError } from '../../journal/store.ts';
import { JournalWriter } from '../../journal/writer.ts';
import type { Value } from '../../runbook/values.ts';
import { drawChance } from '../../venue/order/identity.ts';
import { ACCOUNT_POSITION } from '../../venue/port.ts';
import { findPriceFeed, NO_PRICE_FEED } from '../../venue/profile/price-feed.ts';
import { type Profile, SIMULATED_PROFILE } from '../../venue/profile/profile.ts';
import { budgetSettings } from '../../venue/tokens/ledger.ts';
import { makeAccountKey } from '../account/account.ts';
import { makeKilledError } from '../account/readiness.ts';
import { EXIT, UserError } from '../errors.ts';
import type { LoadedRunbook } from '../files/load.ts';
import { listMarkets } from '../plan.ts';
import { type Answer, findAnswer } from '../rehearsal/answers.ts';
import { makeSetup } from '../run/first-entry.ts';
import { act, buildVirtualStart, makeVirtualClient } from '../run/virtual-run.ts';
import { describePaperProcess } from './dead-runs.ts';
import { LiveQuotes } from './live-quotes.ts';

export interface PaperRun {
  readonly loaded: LoadedRunbook;
  readonly inputs: Readonly<Record<string, Value>>;
  readonly profile: Profile;
  readonly run: string;
  readonly seed: number;
  readonly store: JournalStore;
  readonly clock: Clock & Metronome;
  readonly quotes: Omit<PaperQuotes, 'close'>;
  /** The kill switch of the account, and what people send to the run. */
  readonly shared: Pick<Shared, 'killSwitch' | 'mailbox'>;
  /** Why it was started. */
  readonly origin?: Pick<DataOf<'run.started'>, 'trigger' | 'occurrence' | 'plan'>;
  readonly answers?: ReadonlyMap<string, Answer>;
  /** Called once the journal has its beginning; `act` passes a command on to it. */
  readonly onBegin: (act: (command: OperatorCommand, actor: string) => void) => void;
  readonly onEntry: (entry: Entry) => void;
  readonly onCrash: (error: unknown) => void;
}

/** How often the price of a market is read, ms. */
const PRICE_EVERY_MS = 2000;
/** How often the kill switch and the commands of people are read, ms. */
const COMMANDS_EVERY_MS = 500;
/** The share of the profile's tokens that paper runs use: live runs of the same address need the others. */
const SHARE = 4;

/** The live feeds of paper runs, which share their tokens. */
export interface PaperQuotes {
  readonly quotes: Pick<LiveQuotes, 'read' | 'readPrice'>;
  /** The feed that gives the price of a market. */
  readonly feed: string;
  close(): Promise<void>;
}

/**
 * Opens the way to the live feeds, which is for reads alone. Throws a UserError where the profile gives no prices. `variables`:
 * NODE_TLS_REJECT_UNAUTHORIZED, which would switch off the check of certificates.
 */
export function openQuotes(
  profile: Profile,
  clock: SystemClock,
  variables: Readonly<Record<string, string | undefined>>,
): PaperQuotes {
  const feed = findPriceFeed(profile);
  if (feed === undefined)
    throw new UserError(`a paper run needs a price: ${NO_PRICE_FEED}`, EXIT.usage, 'configuration');
  const opened = openLive({ profile, clock, variables });
  if ('problem' in opened) throw new UserError(opened.problem, EXIT.usage, 'configuration');
  const { tokens, windowMs } = profile.rateLimit;
  const settings = budgetSettings({ tokens: Math.max(1, Math.floor(tokens / SHARE)), windowMs });
  const budget = new LocalBudget(settings, clock, listReadCosts(profile), {
    random: () => drawChance(1, `paper ${clock.now()}`),
  });
  return {
    quotes: new LiveQuotes({ profile, clock, budget, transport: opened.transport }),
    feed,
    async close() {
      await budget.close();
      await opened.transport.close();
    },
  };
}

/** Throws a UserError before the run begins where the account is killed, or the venue gives no prices. */
export async function runOnPaper(options: PaperRun): Promise<RunResult> {
  const { profile, clock, loaded, inputs, seed, store, run, shared } = options;
  const { quotes, feed } = options.quotes;
  const key = makeAccountKey(profile);
  // A kill that is given and released while this process is stopped ends the run too.
  const wasBefore = recognizeKills(await listKills(shared.killSwitch, key));
  const killed = await shared.killSwitch.engaged(key);
  if (killed !== undefined) throw makeKilledError(killed);
  const { traded } = listMarkets(loaded.runbook, inputs, Object.keys(profile.markets));
  const markets = traded.length > 0 ? traded : Object.keys(profile.markets);
  // What the simulated venue still waits for ends with the run.
  const venueClock = new RelayClock(clock);
  const simulator = new Simulator(await quoteMarkets(quotes, feed, profile, markets), venueClock, seed, {
    keptRequests: 0,
  });
  const simulated = { ...SIMULATED_PROFILE, limits: profile.limits };
  const writer = new JournalWriter(store, {
    run,
    account: 'paper',
    def: loaded.runbook.sha256.slice(0, 16),
    boot: identifyMachineStart(),
    epoch: 1,
    actor: 'engine',
    clock,
    durable: true,
  });
  const tracker = new OrderTracker({ absenceHorizonMs: SIMULATED_PROFILE.ambiguityWindowMs });
  const gate = new LimitFactsFold(tracker, simulator.markets, undefined, feed);
  const timers = new Set<Timer>();
  let over = false;
  let running: RunningRun | undefined;
  const log = new RunLog(writer, tracker, [
    (entry) => gate.apply(entry),
    ({ type, step }) => {
      const answer = type === 'approval.asked' ? findAnswer(options.answers ?? new Map(), step) : undefined;
      if (answer === undefined) return;
      timers.add(
        clock.after(answer.afterMs, () =>
          clock.arrive(() => pass({ command: answer.command, by: 'rehearsal', step }, 'rehearsal')),
        ),
      );
    },
    options.onEntry,
  ]);
  /** In a turn of the clock. */
  const pass = (command: OperatorCommand, actor?: string) => {
    if (!over && running !== undefined) act(running, log, command, actor);
  };
  const repeat = async (everyMs: number, work: () => Promise<void>) => {
    await work();
    if (!over) timers.add(clock.after(everyMs, () => void repeat(everyMs, work)));
  };
  const followPrices = async () => {
    for (const market of markets) {
      const price = await quotes.readPrice(feed, market);
      if (price !== undefined) clock.arrive(() => simulator.setPrice(market, price));
    }
  };
  const readCommands = makeCommandReader({ run, key, wasBefore, shared, flush: () => writer.flush() }, (command) =>
    clock.arrive(() => pass(command)),
  );
  try {
    const started = await new Promise<RunningRun>((resolve) => {
      clock.arrive(() => {
        const data = {
          ...buildVirtualStart(
            { loaded, inputs, at: clock.now(), seed },
            { mode: 'paper', account: 'paper', markets: simulator.markets, profile: simulated },
          ),
          ...options.origin,
          paper: describePaperProcess(key),
        };
        log.append('run.started', data);
        const client = makeVirtualClient({
          transport: simulator.transport(),
          feeds: withAccountPosition(
            quotes,
            (market) => decimal(simulator.feed(ACCOUNT_POSITION, market)?.value ?? '0'),
            () => clock.now(),
          ),
          markets: simulator.markets,
          clock,
          log,
          gate,
          seed,
          epoch: 1,
          profile: simulated,
        });
        const parts = { venue: client, clock, notifier: { send() {} }, log, onCrash: options.onCrash };
        running = startRun(makeSetup(run, loaded.runbook, inputs, data), parts);
        resolve(running);
      });
    });
    await writer.flush();
    options.onBegin((command, actor) => clock.arrive(() => pass(command, actor)));
    void repeat(PRICE_EVERY_MS, followPrices);
    void repeat(COMMANDS_EVERY_MS, readCommands);
    return await started.done;
  } finally {
    over = true;
    for (const timer of timers) timer.cancel();
    venueClock.stop();
    await writer.close();
  }
}

interface CommandParts extends Pick<PaperRun, 'run' | 'shared'> {
  /** Of the account whose kill switch counts. */
  readonly key: string;
  readonly wasBefore: (kill: KillEvent) => boolean;
  flush(): Promise<void>;
}

/** Reads the kill switch, once engaged, and what people send to the run; a store that does not answer is asked again. */
function makeCommandReader(
  { run, key, wasBefore, shared: { killSwitch, mailbox }, flush }: CommandParts,
  pass: (command: OperatorCommand) => void,
): () => Promise<void> {
  let readUpTo = 0;
  let isKilled = false;
  return async () => {
    try {
      const order = await killSwitch.engaged(key, wasBefore);
      if (order !== undefined && order.unread !== true && !isKilled) {
        isKilled = true;
        pass({ command: 'kill', by: order.by, reason: order.reason });
      }
      const pending = await mailbox.pending(run);
      for (const { sequence, command, by, step, reason } of pending) {
        if (sequence <= readUpTo) continue;
        readUpTo = sequence;
        pass({ command, by, ...(step === undefined ? {} : { step }), ...(reason === undefined ? {} : { reason }) });
      }
      // Also entries that no write waits for: who answers a question must see it.
      await flush();
      const last = pending.at(-1);
      if (last !== undefined) await mailbox.acknowledge(run, last.sequence);
    } catch (error) {
      if (!(error instanceof StoreError)) throw error;
    }
  };
}

function listReadCosts({ requests }: Profile): Readonly<Record<string, number>> {
  return Object.fromEntries(Object.values(requests).map(({ path, tokens }) => [`GET ${path}`, tokens]));
}

/** The simulated venue with the profile's markets at their live prices. */
async function quoteMarkets(
  quotes: PaperQuotes['quotes'],
  feed: string,
  { markets, baseUrl }: Profile,
  traded: readonly string[],
): Promise<SimulatorConfig> {
  const rows = await Promise.all(
    traded.map(async (id) => {
      const rules = markets[id];
      const price = await quotes.readPrice(feed, id);
      if (rules === undefined || price === undefined || !price.greaterThan(0))
        throw new UserError(
          `the price of ${makePrintable(id, 60)} cannot be read at ${makePrintable(baseUrl, 200)} by the feed ${feed}; nothing was started. \`runbook doctor\` says whether the venue answers`,
          EXIT.failed,
          'feed',
        );
      return [id, { ...rules, start: roundToNearest(price, decimal(rules.tick)), path: { kind: 'live' } }] as const;
    }),
  );
  if (rows.length === 0)
    throw new UserError('the profile names no markets; a paper run needs them with tick, lot and smallest size');
  return { markets: Object.fromEntries(rows) };
}
