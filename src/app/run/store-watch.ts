/**
 * Watches the store of a live run: journals that it does not answer, or answers again, and passes it to the run, for which waiting is no
 * hang. A run whose journal is given up takes back what is open and ends.
 */
import { makePrintable } from '../../base/printable.ts';
import type { RunningRun } from '../../engine/run.ts';
import type { StoreError } from '../../journal/store.ts';
import type { Bars, LiveHost, LiveParts } from './live-assembly.ts';

interface StoreWatchParts {
  readonly host: Pick<LiveHost, 'account' | 'voice'>;
  readonly run: string;
  readonly running: RunningRun;
  readonly parts: Pick<LiveParts, 'writer' | 'log'>;
  readonly bars: Pick<Bars, 'unread'>;
  /** How long a run without a journal may take to end, ms. */
  readonly patienceMs: number;
  /** Whether the run has ended: then nothing is written any more. */
  isOver(): boolean;
  /** Asks the run to take back what is open and to end. */
  interrupt(reason: string): void;
}

export class StoreWatch {
  /** Rejects with the journal's failure when the run has not ended in time behind it. */
  readonly givenUp: Promise<never>;
  private readonly parts: StoreWatchParts;
  private giveUp: (failure: StoreError) => void = () => {};
  /** Whether the journal says that the store does not answer. */
  private isAway = false;
  private isEnding = false;

  constructor(parts: StoreWatchParts) {
    this.parts = parts;
    this.givenUp = new Promise((_, reject) => {
      this.giveUp = reject;
    });
  }

  check(): void {
    const { host, run, running, bars, parts, isOver } = this.parts;
    const because = parts.writer.away?.message ?? bars.unread;
    const { failure } = parts.writer;
    if (failure !== undefined) this.endWithoutJournal(failure);
    if (failure !== undefined || this.isAway === (because !== undefined)) return;
    this.isAway = because !== undefined;
    const event = this.isAway ? 'away' : 'back';
    host.account.clock.arrive(() => {
      if (isOver()) return;
      const why = because === undefined ? undefined : makePrintable(because, 300);
      parts.log.append('store.moved', { event, ...(why === undefined ? {} : { because: why }) }, '', 'store');
      running.storeMoved(event);
      if (why === undefined) host.voice.note(`run ${run}: the store answers again; the run goes on`);
      else
        host.voice.complain(
          `run ${run}: ${why}; nothing that adds risk is sent until the store answers, heartbeats and cancels go on`,
        );
    });
  }

  /** It has as long as after a signal, also where it waits: of what it still asks, some waits for the same disk. */
  private endWithoutJournal(failure: StoreError): void {
    if (this.isEnding) return;
    this.isEnding = true;
    const { host, run, patienceMs, interrupt } = this.parts;
    const why = makePrintable(failure.message, 300);
    host.voice.complain(
      `run ${run}: ${why}; nothing is journaled any more, so it cancels what is open and ends. \`runbook resume ${run}\` goes on with it once its store takes entries again`,
    );
    host.account.clock.after(patienceMs, () => this.giveUp(failure));
    interrupt(`the journal cannot be written: ${why}`);
  }
}
