/** The parts that a client of the venue is made of: transport, budget, journal, limits, session, feeds. */
import type { Clock } from '../base/clock.ts';
import type { DataOf, EntryType } from '../journal/entry.ts';
import type { OrderTracker } from '../journal/orders.ts';
import type { FeedValue, MarketRules, VenueCall } from '../venue/port.ts';
import type { Profile } from '../venue/profile/profile.ts';
import type { CancelAllBarrier } from './cancel-all-barrier.ts';
import type { CrashPoints } from './crash-points.ts';
import type { LimitFactsFold } from './limits/facts.ts';
import type { Budget } from './tokens/budget.ts';
import type { Transport, WireAnswer, WireRequest } from './transport.ts';

/** The journal of the run; `flush` resolves when everything appended is durable. */
interface GatewayLog {
  append<T extends EntryType>(type: T, data: DataOf<T>, step?: string): void;
  flush(): Promise<void>;
  readonly tracker: OrderTracker;
}

/** The session of a transport that needs one; simulated and recorded transports need none. */
export interface Session {
  /** Ensures a valid session before a request is sent. False when none can be obtained. */
  ready(): Promise<boolean>;
  /** Obtains a new session after the venue refused the old one, once for all callers. False when none can be obtained. */
  renew(): Promise<boolean>;
}

/** The source of feeds: the simulator, a fixture, or a request that the profile declares. */
export interface FeedSource {
  read(name: string, key: string | undefined, step: string): Promise<FeedValue | undefined>;
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
  readonly lease?: { holds(harmless: boolean): Promise<boolean> };
  /** Gives the reason why nothing may be sent now, although the limits allow it: a kill switch is engaged. */
  readonly forbidden?: (protective: boolean) => string | undefined;
  /** Asks a person before each write that adds risk (`run --step`); false denies it. */
  readonly confirm?: (call: VenueCall) => Promise<boolean>;
  /** Shared by the runs of an account within a process; the client creates its own when absent. */
  readonly barrier?: CancelAllBarrier;
  /** Builds declared requests and reads their answers. */
  readonly requests?: RequestReader;
  /** Notified of the points that a call reaches; used by simulations only. */
  readonly crashPoints?: CrashPoints;
}

export interface RequestReader {
  wire(
    name: string,
    params: Readonly<Record<string, string>>,
  ): { readonly request: WireRequest; readonly tokens: number } | { readonly problem: string };
  read(name: string, answer: WireAnswer): { readonly result: unknown } | { readonly problem: string };
}
