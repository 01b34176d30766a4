/**
 * Processes the events of the simulated venue at their time: price steps that reach an order, and outcomes that are due. At
 * each time, all earlier price steps are processed first, so that the history does not depend on who reads it and when. One
 * timer waits for the next price step that matters. Without working orders there is none, so that virtual time can end.
 */
import type { Clock, Timer } from '../../../base/clock.ts';
import type { Market } from './matching.ts';

interface Due {
  readonly market: Market;
  /** Epoch ms. */
  readonly at: number;
  readonly happens: boolean;
}

export class EventQueue {
  private readonly clock: Clock;
  private readonly markets: readonly Market[];
  private readonly step: (market: Market, at: number) => void;
  private timer: { readonly at: number; readonly timer: Timer } | undefined;

  /** `step` processes one price step of one market. */
  constructor(clock: Clock, markets: readonly Market[], step: (market: Market, at: number) => void) {
    this.clock = clock;
    this.markets = markets;
    this.step = step;
  }

  /** Processes all price steps up to a time. */
  settle(at: number): void {
    for (let due = this.findNext(); due !== undefined && due.at <= at; due = this.findNext()) {
      due.market.moveTo(due.at);
      if (due.happens) this.step(due.market, due.at);
    }
    for (const market of this.markets) market.moveTo(at);
    this.watch();
  }

  /** Runs `work` at a time, after all price steps up to it. `work` gets that time even if the timer fires late. */
  schedule(when: number, work: (at: number) => void): void {
    this.clock.at(when, () => {
      this.settle(when);
      work(when);
      this.watch();
    });
  }

  /** Sets the timer again after orders were added, changed or removed. */
  watch(): void {
    const at = this.findNext()?.at;
    if (at === this.timer?.at) return;
    this.timer?.timer.cancel();
    this.timer = undefined;
    if (at === undefined) return;
    const timer = this.clock.at(at, () => {
      this.timer = undefined;
      this.settle(at);
    });
    this.timer = { at, timer };
  }

  /** The earliest event of all markets; at the same time, the one of the market that the configuration names first. */
  private findNext(): Due | undefined {
    let first: Due | undefined;
    for (const market of this.markets) {
      const next = market.findNext();
      if (next !== undefined && (first === undefined || next.at < first.at)) first = { market, ...next };
    }
    return first;
  }
}
