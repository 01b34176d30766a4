/** Starts and stops the runs of slots that are on paper. They share one way to the live feeds, which is open while one runs. */
import type { OperatorCommand } from '../../../engine/ports.ts';
import type { LaunchedRun, RunEnding } from '../../../engine/schedule/launcher.ts';
import { createSignal } from '../../../engine/waiting.ts';
import type { Entry } from '../../../journal/entry.ts';
import { openQuotes, type PaperQuotes, runOnPaper } from '../../paper/paper-run.ts';
import type { LiveHost } from '../../run/live-assembly.ts';
import type { PlannedSlot } from './timetable.ts';

export interface PaperRunsParts {
  readonly host: Pick<LiveHost, 'account' | 'observe' | 'onCrash'>;
  readonly describeError: (error: unknown) => string;
}

/** What an occurrence on paper begins with. */
export interface PaperLaunch {
  readonly run: string;
  readonly slot: PlannedSlot;
  readonly nominalMs: number;
  readonly hashPlan: () => string;
}

export class PaperRuns {
  private readonly parts: PaperRunsParts;
  private quotes: PaperQuotes | undefined;
  private underWay = 0;

  constructor(parts: PaperRunsParts) {
    this.parts = parts;
  }

  start(launch: PaperLaunch): LaunchedRun {
    let command: OperatorCommand | undefined;
    let act: ((command: OperatorCommand, actor: string) => void) | undefined;
    const begun = createSignal<boolean>();
    const done = this.execute(launch, (pass) => {
      act = pass;
      if (command !== undefined) pass(command, 'scheduler');
      begun.resolve(true);
    }).catch((error: unknown): RunEnding => {
      const why = this.parts.describeError(error);
      return act === undefined ? { kind: 'refused', why } : { kind: 'ended', outcome: 'failed', reason: why };
    });
    // Without an effect where it has begun.
    void done.then(() => begun.resolve(false));
    return {
      begun: begun.promise,
      done,
      stop: (wanted) => {
        command ??= wanted;
        act?.(wanted, 'scheduler');
      },
    };
  }

  private async execute(
    { run, slot: { id, loaded, inputs }, nominalMs, hashPlan }: PaperLaunch,
    onBegin: (act: (command: OperatorCommand, actor: string) => void) => void,
  ): Promise<RunEnding> {
    const { account, onCrash } = this.parts.host;
    this.underWay += 1;
    try {
      // The account was opened with the check of certificates on.
      this.quotes ??= openQuotes(account.profile, account.clock, {});
      const { outcome, reason } = await runOnPaper({
        loaded,
        inputs,
        profile: account.profile,
        run,
        seed: nominalMs % 2 ** 31,
        store: account.store,
        clock: account.clock,
        quotes: this.quotes,
        shared: account.shared,
        origin: { trigger: 'schedule', occurrence: { slot: id, nominal: nominalMs }, plan: hashPlan() },
        onBegin,
        onEntry: (entry) => this.report(entry),
        onCrash,
      });
      // Nothing is left at the venue for a person to look at.
      return {
        kind: 'ended',
        outcome: outcome === 'halted' ? 'failed' : outcome,
        ...(reason === undefined ? {} : { reason }),
      };
    } finally {
      this.underWay -= 1;
      if (this.underWay === 0) {
        const { quotes } = this;
        this.quotes = undefined;
        await quotes?.close();
      }
    }
  }

  /** Questions alone: the orders and the switch of a simulated venue are no alarm, and no figure of the account. */
  private report(entry: Entry): void {
    if (entry.type !== 'approval.asked') return;
    this.parts.host.observe?.({ ...entry, data: { ...entry.data, ask: `on paper: ${entry.data.ask}` } });
  }
}
