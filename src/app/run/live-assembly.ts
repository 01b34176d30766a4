/**
 * Assembles the parts of a live run: its journal with anchors, its limits, its path to the venue. live-run.ts drives the run
 * itself.
 */
import type { RunClock } from '../../base/run-clock.ts';
import { findAccountPosition, withAccountPosition } from '../../gateway/account-position.ts';
import { VenueClient } from '../../gateway/client.ts';
import type { FeedSource, ReadNeed } from '../../gateway/client-parts.ts';
import type { Fixture } from '../../gateway/fixture/fixture.ts';
import { FixtureRecorder } from '../../gateway/fixture/recorder.ts';
import type { AccountLedger } from '../../gateway/limits/account-ledger.ts';
import { LimitFactsFold } from '../../gateway/limits/facts.ts';
import { buildDeclaredRequests, DeclaredFeeds } from '../../gateway/live/declared.ts';
import type { Who } from '../../journal/account/acts.ts';
import { Anchorer } from '../../journal/anchors/anchors.ts';
import type { ChainHead } from '../../journal/chain.ts';
import type { Entry } from '../../journal/entry.ts';
import { OrderTracker } from '../../journal/orders.ts';
import { RunLog } from '../../journal/run-log.ts';
import type { HeldLease } from '../../journal/shared/lease.ts';
import { identifyMachineStart } from '../../journal/shared/machine.ts';
import type { KillEvent, KillOrder } from '../../journal/shared/shared.ts';
import type { RunRow } from '../../journal/store.ts';
import { JournalWriter } from '../../journal/writer.ts';
import type { CheckedRunbook } from '../../runbook/checked.ts';
import type { Value } from '../../runbook/values.ts';
import type { VenueCall } from '../../venue/port.ts';
import { findPriceFeed } from '../../venue/profile/price-feed.ts';
import type { Profile } from '../../venue/profile/profile.ts';
import type { Account } from '../account/account.ts';
import { makeRunAct } from '../account/acts.ts';
import { checkAnchorsOverdue, makeAnchoring } from '../account/anchoring.ts';
import { formatInputs, type LoadedRunbook } from '../files/load.ts';
import type { LateOrders } from '../reconciliation/late-orders.ts';
import type { RunReconciliation } from '../reconciliation/run-reconciliation.ts';
import type { VenueComparison } from '../reconciliation/venue-comparison.ts';
import type { Voice } from '../voice.ts';

/** Parts that the runs of an account share within a process. */
export interface LiveHost {
  readonly account: Account;
  readonly lease: HeldLease;
  readonly voice: Voice;
  /** Limit facts of the running runs: the working orders of each count against the limits of all. */
  readonly gates: Set<LimitFactsFold>;
  /** The venue's own id of the account, where it is known. */
  readonly accountId: string | undefined;
  /** Why nothing is placed, of runs that are resumed. */
  readonly contradiction?: string | undefined;
  /** What they know of the account's earlier runs. */
  readonly lateOrders: LateOrders;
  /** The sums over all runs of the account, to which the limits of the profile hold. */
  readonly ledger: AccountLedger;
  readonly comparison: VenueComparison;
  /** Called for every entry as it is written. */
  readonly observe?: (entry: Entry) => void;
  /** Called with what was thrown where a run fails because of an internal error. */
  readonly onCrash: (error: unknown) => void;
}

export interface LiveOptions {
  /** Records the exchanges, for a fixture. */
  readonly record?: boolean | undefined;
  /** Asks a person before each write. */
  readonly confirm?: ((call: VenueCall) => Promise<boolean>) | undefined;
  /** The person who starts it. */
  readonly who?: Who | undefined;
}

/** Reasons why a run sends nothing new, as of the last check. */
export interface Bars {
  /** The engaged kill switch, as last read; or a kill that was released while the run's process was stopped, dead, or without its store. */
  killed: KillOrder | undefined;
  /** Whether a kill was given before the run began, and so does not concern it. */
  wasBefore(kill: KillEvent): boolean;
  /** Why it could not be read when it was last asked: no verdict, but nothing that adds risk is sent until it is read. */
  unread: string | undefined;
  /** Whether all is known by now that has to be before the first order; asked before each. */
  isReady(): Promise<boolean>;
  /** What contradicts the journal, and what is known of the account's other runs. */
  readonly reconciliation: Pick<RunReconciliation, 'contradiction' | 'recount'>;
}

/** Reads the kill switch; false, and the last reading stays, where it cannot be read. */
export async function readKillSwitch({ shared, key }: Pick<Account, 'shared' | 'key'>, bars: Bars): Promise<boolean> {
  const order = await shared.killSwitch.engaged(key, (kill) => bars.wasBefore(kill));
  bars.unread = order?.unread === true ? order.reason : undefined;
  if (bars.unread === undefined) bars.killed = order;
  return bars.unread === undefined;
}

/**
 * How long the journal of a live run is tried again while its store does not answer, ms. After that the process ends, the run stays
 * as it is, and `resume` continues it.
 */
const PATIENCE_MS = 60_000;

export interface LiveParts {
  readonly clock: RunClock;
  readonly log: RunLog;
  readonly writer: JournalWriter;
  readonly anchorer: Anchorer;
  readonly gate: LimitFactsFold;
}

/** The orders of a run, and what its limits know of it. */
export interface RunBook {
  readonly tracker: OrderTracker;
  readonly gate: LimitFactsFold;
}

/** The journal of a resumed run: where it ends, and its row, which is completed when the run ends. */
interface JournalSoFar {
  readonly head: ChainHead;
  readonly row: RunRow | undefined;
}

export class LiveAssembly {
  private readonly host: LiveHost;
  private readonly run: string;
  private readonly profile: Profile;
  private readonly options: LiveOptions;
  private readonly bars: Bars;
  private recorder: FixtureRecorder | undefined;

  constructor(host: LiveHost, run: string, profile: Profile, options: LiveOptions, bars: Bars) {
    this.host = host;
    this.run = run;
    this.profile = profile;
    this.options = options;
    this.bars = bars;
  }

  makeBook(): RunBook {
    const { gates, ledger } = this.host;
    const { profile, bars } = this;
    const tracker = new OrderTracker({ absenceHorizonMs: profile.ambiguityWindowMs });
    const listOthers = () => ({
      killed: bars.killed !== undefined,
      working: [...gates].flatMap((other) => (other === gate ? [] : other.workingOrders())),
      ledger: { sums: ledger, gates: [...new Set([...gates, gate])] },
    });
    const gate: LimitFactsFold = new LimitFactsFold(tracker, profile.markets, listOthers, findPriceFeed(profile));
    return { tracker, gate };
  }

  /** `observers`: called for every entry after the limits' facts. */
  makeParts(
    runbook: CheckedRunbook,
    clock: RunClock,
    { tracker, gate }: RunBook,
    observers: readonly ((entry: Entry) => void)[],
    soFar?: JournalSoFar,
  ): LiveParts {
    const { account, lease, voice } = this.host;
    const { run, profile } = this;
    const writer = new JournalWriter(account.store, {
      run,
      account: profile.account,
      def: runbook.sha256.slice(0, 16),
      boot: identifyMachineStart(),
      epoch: lease.epoch,
      actor: 'engine',
      clock,
      durable: true,
      patienceMs: PATIENCE_MS,
      acts: { key: account.key, actOf: (entry) => makeRunAct(entry, this.options.who) },
      ...(soFar === undefined ? {} : { head: soFar.head }),
      ...(soFar?.row === undefined ? {} : { row: soFar.row }),
    });
    const anchorer = new Anchorer(writer, { run, clock, ...makeAnchoring(account, voice) });
    const log = new RunLog(writer, tracker, [(entry: Entry) => gate.apply(entry), ...observers]);
    return { clock, writer, anchorer, gate, log };
  }

  /** The path of requests to the venue. */
  makeClient({ log, gate, anchorer, clock }: LiveParts): VenueClient {
    const { profile, bars, recorder } = this;
    const { account, lease, onCrash } = this.host;
    const { ledger, gates } = this.host;
    const { reconciliation } = bars;
    const declared = new DeclaredFeeds(profile, () => clock.now());
    const feeds = withAccountPosition(
      declared,
      async (market) =>
        (await reconciliation.recount(market))
          ? findAccountPosition(ledger, new Set([...gates, gate]), market, clock.now())
          : undefined,
      () => clock.now(),
    );
    const client = new VenueClient({
      profile,
      transport: recorder ?? account.transport,
      budget: account.budget,
      barrier: account.barrier,
      log,
      clock,
      gate,
      feeds: recorder === undefined ? feeds : recordFeeds(feeds, recorder),
      markets: profile.markets,
      epoch: lease.epoch,
      lease,
      session: account.session,
      requests: buildDeclaredRequests(profile),
      onCrash,
      ...(this.options.confirm === undefined ? {} : { confirm: this.options.confirm }),
      recount: () => reconciliation.recount(),
      readKillSwitch: async () => (await readKillSwitch(account, bars)) && bars.isReady(),
      forbidden: (protective) => {
        if (protective) return undefined;
        if (account.session.failing)
          return 'SESSION_FAILING: the session could not be renewed; nothing new is sent under it';
        if (reconciliation.contradiction !== undefined) return reconciliation.contradiction;
        const overdue = checkAnchorsOverdue(anchorer, account);
        if (overdue !== undefined) return overdue;
        return bars.killed === undefined ? undefined : `KILL_SWITCH_ENGAGED: by ${bars.killed.by}`;
      },
    });
    declared.through(client);
    return client;
  }

  /** Records the exchanges from now on, where the options ask for it. */
  startRecording(
    { runbook }: LoadedRunbook,
    inputs: Readonly<Record<string, Value>>,
    { clock, seed }: { readonly clock: RunClock; readonly seed: number },
  ): void {
    if (this.options.record !== true) return;
    const { transport, redactor } = this.host.account;
    this.recorder = new FixtureRecorder(transport, clock, {
      runbook: runbook.name,
      inputs: formatInputs(inputs) as NonNullable<Fixture['inputs']>,
      seed,
      markets: this.profile.markets,
      startMs: clock.now(),
      redact: (text) => redactor.redact(text),
    });
  }

  getRecording(): Fixture | undefined {
    return this.recorder?.fixture();
  }
}

function recordFeeds(feeds: FeedSource, recorder: FixtureRecorder) {
  return {
    async read(name: string, key: string | undefined, step: string, need?: ReadNeed) {
      const value = await feeds.read(name, key, step, need);
      if (value !== undefined) recorder.feed(value);
      return value;
    },
  };
}
