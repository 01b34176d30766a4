/**
 * Executes a runbook on paper: live feeds in real time, orders at the simulated venue, whose price follows the live one. It needs
 * no credentials, takes no lease and uses the store of dry-runs. Its journal says `paper`.
 */
import type { SystemClock, Timer } from '../../base/clock.ts';
import { type Decimal, decimal, formatDecimal, roundToStep } from '../../base/decimal.ts';
import { makePrintable } from '../../base/printable.ts';
import { type RunningRun, type RunResult, startRun } from '../../engine/run.ts';
import { LimitFactsFold } from '../../gateway/limits/facts.ts';
import { openLive } from '../../gateway/live/transport.ts';
import { Simulator, type SimulatorConfig } from '../../gateway/simulator/simulator.ts';
import { LocalBudget } from '../../gateway/tokens/budget.ts';
import type { Entry } from '../../journal/entry.ts';
import { OrderTracker } from '../../journal/orders.ts';
import { RunLog } from '../../journal/run-log.ts';
import { identifyMachineStart } from '../../journal/shared/machine.ts';
import type { JournalStore } from '../../journal/store.ts';
import { JournalWriter } from '../../journal/writer.ts';
import type { Value } from '../../runbook/values.ts';
import { drawChance } from '../../venue/order/identity.ts';
import { findPriceFeed } from '../../venue/profile/price-feed.ts';
import { type Profile, SIMULATED_PROFILE } from '../../venue/profile/profile.ts';
import { budgetSettings } from '../../venue/tokens/ledger.ts';
import { EXIT, UserError } from '../errors.ts';
import type { LoadedRunbook } from '../files/load.ts';
import type { Interrupts } from '../process.ts';
import { type Answer, findAnswer } from '../rehearsal/answers.ts';
import { listTradedMarkets } from '../rehearsal/recorded-market.ts';
import { act, buildStartedData, makeVirtualClient, makeVirtualSetup } from '../run/virtual-run.ts';
import { LiveQuotes } from './live-quotes.ts';

export interface PaperRun {
  readonly loaded: LoadedRunbook;
  readonly inputs: Readonly<Record<string, Value>>;
  readonly profile: Profile;
  readonly run: string;
  readonly seed: number;
  readonly store: JournalStore;
  readonly clock: SystemClock;
  /** NODE_TLS_REJECT_UNAUTHORIZED, which would switch off the check of certificates. */
  readonly variables: Readonly<Record<string, string | undefined>>;
  readonly answers: ReadonlyMap<string, Answer>;
  readonly interrupts: Interrupts;
  readonly onEntry: (entry: Entry) => void;
  readonly onCrash: (error: unknown) => void;
}

/** How often the price of a market is read, ms. */
const LOOK_EVERY_MS = 2000;
/** The share of the profile's tokens that a paper run uses: live runs of the same address need the others. */
const SHARE = 4;

/** Throws a UserError before the run begins where the profile or the venue gives no prices. */
export async function runOnPaper(options: PaperRun): Promise<RunResult> {
  const { profile, clock, variables, loaded, inputs, seed, store, run } = options;
  const feed = findPriceFeed(profile);
  if (feed === undefined)
    throw new UserError(
      'the profile has no feed that reads a price of the market it is asked for; a paper run needs one (docs/profile.md)',
      EXIT.usage,
      'configuration',
    );
  const opened = openLive({ profile, clock, variables });
  if ('problem' in opened) throw new UserError(opened.problem, EXIT.usage, 'configuration');
  const { tokens, windowMs } = profile.rateLimit;
  const settings = budgetSettings({ tokens: Math.max(1, Math.floor(tokens / SHARE)), windowMs });
  const budget = new LocalBudget(settings, clock, listReadCosts(profile), {
    random: () => drawChance(seed, `paper ${clock.now()}`),
  });
  const quotes = new LiveQuotes({ profile, clock, budget, transport: opened.transport });
  let watch: Timer | undefined;
  let over = false;
  try {
    const known = Object.keys(profile.markets);
    const traded = listTradedMarkets(loaded.runbook, inputs, known);
    const markets = traded.length > 0 ? traded : known;
    const simulator = new Simulator(await quoteMarkets(quotes, feed, profile, markets), clock, seed);
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
    const gate = new LimitFactsFold(tracker, simulator.markets);
    let running: RunningRun | undefined;
    const log = new RunLog(writer, tracker, [
      (entry) => gate.apply(entry),
      ({ type, step }) => {
        const answer = type === 'approval.asked' ? findAnswer(options.answers, step) : undefined;
        if (answer === undefined) return;
        const { command, afterMs } = answer;
        clock.after(afterMs, () => running && act(running, log, { command, by: 'rehearsal', step }, 'rehearsal'));
      },
      options.onEntry,
    ]);
    const follow = async () => {
      for (const market of markets) {
        const price = await quotes.readPrice(feed, market);
        if (price !== undefined) clock.arrive(() => simulator.setPrice(market, price));
      }
      if (!over) watch = clock.after(LOOK_EVERY_MS, () => void follow());
    };
    const off = options.interrupts.on((signal) =>
      clock.arrive(() => running && act(running, log, { command: 'interrupt', by: signal }, 'process')),
    );
    try {
      running = await new Promise<RunningRun>((resolve) => {
        clock.arrive(() => {
          const started = buildStartedData(
            { loaded, inputs, at: clock.now(), seed },
            { mode: 'paper', account: 'paper', markets: simulator.markets },
          );
          log.append('run.started', started);
          const client = makeVirtualClient({
            transport: simulator.transport(),
            feeds: quotes,
            markets: simulator.markets,
            clock,
            log,
            gate,
            seed,
            epoch: 1,
          });
          const parts = { venue: client, clock, notifier: { send() {} }, log, onCrash: options.onCrash };
          resolve(startRun(makeVirtualSetup({ loaded, inputs, run }, started), parts));
        });
      });
      void follow();
      return await running.done;
    } finally {
      off();
      await writer.close();
    }
  } finally {
    over = true;
    watch?.cancel();
    await budget.close();
    await opened.transport.close();
  }
}

function listReadCosts({ requests }: Profile): Readonly<Record<string, number>> {
  return Object.fromEntries(Object.values(requests).map(({ path, tokens }) => [`GET ${path}`, tokens]));
}

/** The simulated venue with the profile's markets at their live prices. */
async function quoteMarkets(
  quotes: LiveQuotes,
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
          `the price of ${makePrintable(id, 60)} cannot be read at ${makePrintable(baseUrl, 200)} by the feed ${feed}; nothing was started`,
          EXIT.failed,
          'feed',
        );
      return [id, { ...rules, start: toTick(price, decimal(rules.tick)), path: { kind: 'live' } }] as const;
    }),
  );
  if (rows.length === 0)
    throw new UserError('the profile names no markets; a paper run needs them with tick, lot and smallest size');
  return { markets: Object.fromEntries(rows) };
}

function toTick(price: Decimal, tick: Decimal): string {
  const rounded = roundToStep(price, tick, 'nearest');
  return formatDecimal(rounded.isZero() ? tick : rounded);
}
