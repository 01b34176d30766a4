/** The parts that a client of the venue is made of: transport, budget, journal, limits, session, feeds. */
import type { Clock } from '../base/clock.ts';
import type { DataOf, EntryType } from '../journal/entry.ts';
import type { OrderTracker } from '../journal/orders.ts';
import type { FlushOf } from '../journal/run-log.ts';
import type { FeedNeed, FeedValue, MarketRules, VenueCall, Wanted } from '../venue/port.ts';
import type { Profile } from '../venue/profile/profile.ts';
import type { CancelAllBarrier } from './cancel-all-barrier.ts';
import type { CrashPoints } from './crash-points.ts';
import type { Exchange, Session } from './exchange.ts';
import type { LimitFactsFold } from './limits/facts.ts';
import type { Budget } from './tokens/budget.ts';
import type { Transport } from './transport.ts';

/** The journal of the run; `flush` resolves when everything appended is durable, `written` for a heartbeat (RunLog). */
interface GatewayLog {
  append<T extends EntryType>(type: T, data: DataOf<T>, step?: string): void;
  flush(of?: FlushOf): Promise<void>;
  readonly tracker: OrderTracker;
  /** Why nothing is stored any more; undefined while it is. */
  findFailure?(): string | undefined;
}

/** The source of feeds: the simulator, a fixture, or a request that the profile declares. */
export interface FeedSource {
  read(name: string, key: string | undefined, step: string, need?: ReadNeed): Promise<FeedValue | undefined>;
}

/** The need of a declared request, and whether it is wanted; what is absent is as it is for any request of a step. */
export interface ReadNeed extends FeedNeed {
  readonly wanted?: Wanted | undefined;
}

export interface ClientParts {
  readonly profile: Profile;
  readonly transport: Transport;
  readonly budget: Budget;
  readonly log: GatewayLog;
  readonly clock: Clock;
  /** Gets the entries of the run from the same source as the tracker. */
  readonly gate: LimitFactsFold;
  readonly feeds: FeedSource;
  readonly markets: Readonly<Record<string, MarketRules>>;
  readonly epoch: number;
  readonly session?: Session;
  /** Called before each attempt; resolves, once it is certain, to whether this process still acts for the account. */
  readonly lease?: { holds(harmless: boolean, isGivenUp?: () => boolean): Promise<boolean | undefined> };
  /** Gives the reason why nothing may be sent now, although the limits allow it: a kill switch is engaged. */
  readonly forbidden?: (protective: boolean) => string | undefined;
  /**
   * Reads the kill switch anew, so that `forbidden` knows it as it is now; called before each write that adds risk. False where it
   * could not be read: the write waits until it can.
   */
  readonly readKillSwitch?: () => Promise<boolean>;
  /** Counts what other processes have kept of the account; called before the limits of an order are checked. */
  readonly recount?: () => Promise<unknown>;
  /** Asks a person before each write that adds risk, and once before those of an exit (`run --step`); false denies it. */
  readonly confirm?: (call: VenueCall) => Promise<boolean>;
  /** Shared by the runs of an account within a process; the client creates its own when absent. */
  readonly barrier?: CancelAllBarrier;
  /** Prepares a request that the profile declares. */
  readonly requests?: DeclaredRequests;
  /** Called with what was thrown while a call was made; the call is journaled as settled all the same. */
  readonly onCrash?: (error: unknown) => void;
  /** Notified of the points that a call reaches; used by simulations only. */
  readonly crashPoints?: CrashPoints;
}

type DeclaredVerdict =
  | { readonly kind: 'confirmed'; readonly result: unknown }
  | { readonly kind: 'refused'; readonly limited: true }
  /** `unauthorized`: the session was refused, and is renewed for what is read next. */
  | { readonly kind: 'unreadable'; readonly why: string; readonly unauthorized: boolean };

export type DeclaredRequests = (
  name: string,
  params: Readonly<Record<string, string>>,
) => Exchange<DeclaredVerdict> | { readonly problem: string };
