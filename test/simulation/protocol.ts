/**
 * The places at which a world can be put together wrongly on purpose. A mutant replaces one or a few of them by something
 * that breaks the protocol in a way somebody could really write; the right world replaces none.
 */
import type { Clock } from '../../src/base/clock.ts';
import type { measureAway } from '../../src/base/run-clock.ts';
import type { RunPorts, RunSetup } from '../../src/engine/ports.ts';
import type { VenueClient } from '../../src/gateway/client.ts';
import type { ClientParts } from '../../src/gateway/client-parts.ts';
import type { LimitFactsFold } from '../../src/gateway/limits/facts.ts';
import type { Budget } from '../../src/gateway/tokens/budget.ts';
import type { Transport } from '../../src/gateway/transport.ts';
import type { HeldLease } from '../../src/journal/shared/lease.ts';
import type { JournalStore, StoredEntry } from '../../src/journal/store.ts';
import type { CheckedRunbook } from '../../src/runbook/checked.ts';
import type { VenuePort } from '../../src/venue/port.ts';
import type { Profile } from '../../src/venue/profile/profile.ts';
import type { Process } from './process.ts';

/** What a replaced part may know of the process it is for. */
export interface Around {
  readonly life: number;
  readonly clock: Clock;
}

export interface EngineParts {
  readonly setup: RunSetup;
  readonly ports: RunPorts;
}

export interface Protocol {
  readonly flush?: (flush: () => Promise<void>, around: Around) => () => Promise<void>;
  readonly store?: (store: JournalStore, around: Around) => JournalStore;
  /** Between the session and the transport. */
  readonly transport?: (road: Transport, around: Around) => Transport;
  readonly client?: (parts: ClientParts) => ClientParts;
  readonly makeClient?: (parts: ClientParts) => VenueClient;
  /** What the engine sees. */
  readonly venue?: (port: VenuePort, around: Around) => VenuePort;
  /** What settles the calls that a dead process left open. */
  readonly continueCall?: (client: VenueClient) => VenueClient['continueCall'];
  readonly budget?: (budget: Budget, around: Around) => Budget;
  readonly gate?: (gate: LimitFactsFold) => LimitFactsFold;
  readonly profile?: (profile: Profile) => Profile;
  readonly absenceHorizonMs?: number;
  readonly fillsWindowMs?: number;
  /** What the engine executes; a replay has the runbook as it is written. */
  readonly runbook?: (runbook: CheckedRunbook) => CheckedRunbook;
  /** What a process that takes the run up finds on the disk. */
  readonly read?: (lines: readonly StoredEntry[]) => readonly StoredEntry[];
  /** How long no process executed the resumed run. */
  readonly awaySince?: typeof measureAway;
  readonly lease?: (lease: HeldLease) => NonNullable<ClientParts['lease']>;
  readonly ports?: (ports: RunPorts, around: Around) => RunPorts;
  /** What the engine executes and with what, at each start of the run and each replay; without a process in a replay. */
  readonly engine?: (given: EngineParts, process?: Process) => EngineParts;
  /** Each process has a ledger of its own. */
  readonly freshBudget?: boolean;
  /** Limits of the account see the run alone. */
  readonly noLedger?: boolean;
  /** A kill that a person has released counts for no run. */
  readonly forgetsReleased?: boolean;
  /** The kill switch is never read. */
  readonly deaf?: boolean;
}
