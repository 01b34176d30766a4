/**
 * What happens when, if nobody asks: price steps that reach an order, and outcomes that are due. Markets are worked off in
 * order of time before anything else is done at a time, so that a history does not depend on who looked. One timer
 * stands at the next price step that matters, none while nothing works: virtual time can end.
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

  /** `step` works off one price step of one market. */
  constructor(clock: Clock, markets: readonly Market[], step: (market: Market, at: number) => void) {
    this.clock = clock;
    this.markets = markets;
    this.step = step;
  }

  /** Works off everything that prices have done up to a time. */
  settle(at: number): void {
    for (let due = this.findNext(); due !== undefined && due.at <= at; due = this.findNext()) {
      due.market.moveTo(due.at);
      if (due.happens) this.step(due.market, due.at);
    }
    for (const market of this.markets) market.moveTo(at);
    this.watch();
  }

  /** Does something at a time, once prices have been worked off up to it. It is told that time, also where it runs late. */
  schedule(when: number, work: (at: number) => void): void {
    this.clock.at(when, () => {
      this.settle(when);
      work(when);
      this.watch();
    });
  }

  /** Puts the timer where it belongs, after orders have come, changed or gone. */
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

  /** The earliest over all markets; of two at one time, that of the market named first. */
  private findNext(): Due | undefined {
    let first: Due | undefined;
    for (const market of this.markets) {
      const next = market.findNext();
      if (next !== undefined && (first === undefined || next.at < first.at)) first = { market, ...next };
    }
    return first;
  }
}
