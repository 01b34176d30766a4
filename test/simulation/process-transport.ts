/**
 * The transport of a process to the venue. It notes of each request what the venue never knows, namely which
 * process sent it and what was on its disk then; and the points between the first byte out and the last byte in are here.
 */
import type { Clock } from '../../src/base/clock.ts';
import type { ProcessClock } from '../../src/base/run-clock.ts';
import type { CrashPoint } from '../../src/gateway/crash-points.ts';
import { IdleConnections, IdleTime } from '../../src/gateway/live/idle-connections.ts';
import { HELD, type Transport, type WireReply, type WireRequest } from '../../src/gateway/transport.ts';
import { computeDigest } from '../../src/venue/wire/request.ts';
import { awake, type Disk, type Process } from './process.ts';

/** A request that left a process. */
export interface Sent {
  readonly life: number;
  /** Epoch ms by the venue's clock. */
  readonly at: number;
  readonly endpoint: string;
  readonly method: string;
  readonly params: Readonly<Record<string, string>>;
  readonly digest: string;
  /** How long ago the oldest of what a write depends on had been asked when it left, ms. */
  readonly askedMs: number;
  /** For how long its connection had been idle when it left, by the venue's clock, ms. */
  readonly idleMs: number;
  /** Entries that were durable when it left. */
  readonly durable: number;
  /** When the process had the reply; absent where it never had. */
  repliedAt?: number;
  reply?: WireReply;
}

export interface RoadParts {
  readonly process: Process;
  readonly base: Clock;
  readonly disk: Disk;
  readonly sent: Sent[];
  readonly venue: Transport;
  /** The longest time that the program leaves a connection idle and still uses it, ms. */
  readonly idleMs: number;
  /** For how long a balancer on the way keeps an idle connection, ms. */
  readonly balancerMs: number;
}

/** What comes of a request on a connection that the balancer has given up: it is lost, and its sender cannot know that. */
const GIVEN_UP: WireReply = { kind: 'failure', sent: true, message: 'ECONNRESET' };
/** When the process hears of that, ms. */
const RESET_MS = 10;

/** A connection of a process, which chooses among them as a live transport does. */
class SimulatedConnection {
  private readonly base: Clock;
  private readonly idle: IdleTime;
  private freedAt: number;

  constructor(process: ProcessClock, base: Clock, idleMs: number) {
    this.base = base;
    this.idle = new IdleTime(process, idleMs);
    this.freedAt = base.now();
  }

  isFit(): boolean {
    return !this.idle.isOver();
  }

  free(): void {
    this.idle.begin();
    this.freedAt = this.base.now();
  }

  /** How long it has been idle by the venue's clock, ms. */
  measureIdle(): number {
    return this.base.now() - this.freedAt;
  }

  destroy(): void {}
}

export function roadOf({ process, base, disk, sent, venue, idleMs, balancerMs }: RoadParts): Transport {
  const idle = new IdleConnections<SimulatedConnection>();
  const reached = (point: CrashPoint, request: WireRequest) => process.reached(point, request.endpoint);
  return {
    async connect() {
      await awake(process);
      return undefined;
    },
    async send(request, options): Promise<WireReply> {
      await awake(process);
      const connection = idle.take() ?? new SimulatedConnection(process.clock, base, idleMs);
      const mayLeave = () => connection.isFit() && options.mayLeave?.() !== false;
      let passed = mayLeave();
      if (process.state !== 'running') {
        // It was stopped at the gate, which reads the clocks when it goes on.
        await awake(process);
        passed = mayLeave();
      }
      if (!passed) return new Promise((resolve) => process.clock.arrive(() => resolve(HELD)));
      // From the gate to here nothing waits, except for a process that is struck behind the gate.
      if (reached('CP6', request)) await awake(process);
      const note: Sent = {
        life: process.life,
        at: base.now(),
        endpoint: request.endpoint,
        method: request.method,
        params: Object.fromEntries(Object.entries(request.params).map(([key, { text }]) => [key, text])),
        digest: computeDigest(request),
        askedMs: process.measureAsked(),
        idleMs: connection.measureIdle(),
        durable: disk.lines.length,
      };
      sent.push(note);
      // The venue is beyond the gate, and before it a balancer.
      const isGivenUp = note.idleMs >= balancerMs;
      const reply = isGivenUp
        ? new Promise<WireReply>((resolve) => base.at(base.now() + RESET_MS, () => resolve(GIVEN_UP)))
        : venue.send(request, { timeoutMs: options.timeoutMs });
      reached('CP7', request);
      // Halfway back, as far as the shortest latencies go.
      base.at(base.now() + 8, () => {
        if (note.repliedAt === undefined) reached('CP8', request);
      });
      const answer = await reply;
      reached('CP9', request);
      return new Promise((resolve) =>
        process.whenRunning(() => {
          note.repliedAt = base.now();
          note.reply = answer;
          if (answer.kind === 'answer') {
            connection.free();
            idle.add(connection);
          }
          resolve(answer);
        }),
      );
    },
  };
}
