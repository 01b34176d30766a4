/**
 * Chooses the connection of a request: the most recently used idle one that is fit, or none, so that another is opened. One that was
 * idle for too long may have been given up by its server, or by a balancer on the way, and a request on it would be neither sent nor
 * not sent. Without a socket, so that the simulation of processes chooses as a live run does.
 */
import { type Clock, type ClockReading, measureBetween } from '../../base/clock.ts';

/** A server that says how long it keeps an idle connection is left this much earlier, ms. */
const HINT_MARGIN_MS = 1_000;

/** How long a connection has been idle, by the clocks of its process. */
export class IdleTime {
  private readonly clock: Pick<Clock, 'read'>;
  private mostMs: number;
  private since: ClockReading;

  /** `mostMs`: the longest time that it may be idle and still carry a request. */
  constructor(clock: Pick<Clock, 'read'>, mostMs: number) {
    this.clock = clock;
    this.mostMs = mostMs;
    this.since = clock.read();
  }

  /** A request on it has ended, or it has just been opened. */
  begin(): void {
    this.since = this.clock.read();
  }

  /** Whether it has been idle for longer than its server is expected to keep it. */
  isOver(): boolean {
    return measureBetween(this.since, this.clock.read()) > this.mostMs;
  }

  /** Takes the server's word on how long it keeps the connection: `timeout=5` of the header Keep-Alive. */
  heed(keepAlive: string | undefined): void {
    const seconds = /(?:^|[,\s])timeout=(\d{1,9})/i.exec(keepAlive ?? '')?.[1];
    if (seconds !== undefined)
      this.mostMs = Math.min(this.mostMs, Math.max(0, Number(seconds) * 1000 - HINT_MARGIN_MS));
  }
}

interface Idle {
  /** False where a request on it could be lost on the way. */
  isFit(): boolean;
  destroy(): void;
}

export class IdleConnections<C extends Idle> {
  /** The most recently used last. */
  private readonly idle: C[] = [];

  /** One that is fit; those that are not are closed on the way to it. */
  take(): C | undefined {
    for (let found = this.idle.pop(); found !== undefined; found = this.idle.pop()) {
      if (found.isFit()) return found;
      found.destroy();
    }
    return undefined;
  }

  add(connection: C): void {
    this.idle.push(connection);
  }
}
