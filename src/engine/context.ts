/** Holds what the parts of one run share while it is executed. run.ts creates it and passes it to the rest of the engine. */

import type { Heartbeat } from './deadman/heartbeat.ts';
import type { FeedCache } from './feeds.ts';
import type { Cancellation } from './interruption.ts';
import type { OrderManager } from './orders/orders.ts';
import type { RunPorts, RunSetup } from './ports.ts';
import type { RunPositions } from './positions.ts';
import type { Approvals } from './waiting.ts';
import type { WallTime } from './wall-time.ts';

export interface RunContext extends RunPorts {
  readonly setup: RunSetup;
  readonly wall: WallTime;
  readonly orderManager: OrderManager;
  readonly heartbeat: Heartbeat;
  readonly feeds: FeedCache;
  readonly positions: RunPositions;
  readonly approvals: Approvals;
  /** Whether the kill switch ends the run. */
  isKilled(): boolean;
  /** How many times another process took the run up. */
  countResumes(): number;
  /** Numbers the calls of a step: `<path>#<n>`. A replay gives the same numbers. */
  callId(path: string): string;
  /** Forgets the number of a step that calls no more, so that memory does not grow with the rounds of a loop. */
  releaseCalls(path: string): void;
  /** Of completed steps, the oldest first. */
  readonly undos: Undo[];
}

/** Undoes a completed step. */
export type Undo = (cancel: Cancellation) => Promise<void>;
