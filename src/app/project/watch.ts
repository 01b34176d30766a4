/**
 * Does work again when files have changed: once after a burst of changes, never twice at the same time, and once more where a
 * change arrived meanwhile. The clock and what observes the files are passed in.
 */
import type { Metronome, Timer } from '../../base/clock.ts';

/** An editor that saves a file often writes it in several steps. */
export const SETTLED_MS = 200;

interface WatchOptions {
  readonly clock: Metronome;
  /** Calls `changed` after each change until the function that it returns is called. */
  readonly observe: (changed: () => void) => () => void;
  readonly work: () => Promise<void>;
}

export class Watch {
  private readonly options: WatchOptions;
  private readonly close: () => void;
  private timer: Timer | undefined;
  private running: Promise<void> | undefined;
  private again = false;
  private stopped = false;

  /** Works for the first time at once. */
  constructor(options: WatchOptions) {
    this.options = options;
    this.close = options.observe(() => this.note());
    this.run();
  }

  /** No work begins any more; resolves when the last has ended. */
  async stop(): Promise<void> {
    this.stopped = true;
    this.timer?.cancel();
    this.close();
    await this.running;
  }

  private note(): void {
    if (this.stopped) return;
    this.timer?.cancel();
    this.timer = this.options.clock.after(SETTLED_MS, () => {
      this.timer = undefined;
      if (this.running === undefined) this.run();
      else this.again = true;
    });
  }

  private run(): void {
    this.running = this.options.work().finally(() => {
      this.running = undefined;
      if (!this.again || this.stopped) return;
      this.again = false;
      this.run();
    });
  }
}
