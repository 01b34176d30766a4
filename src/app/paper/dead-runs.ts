/**
 * Ends the journal of a run on paper whose process died. Nothing resumes such a run, because its simulated venue died with it, and without
 * an end it would be listed as unfinished for ever, and never archived.
 */
import { hostname } from 'node:os';
import type { Clock } from '../../base/clock.ts';
import { makePrintable } from '../../base/printable.ts';
import type { DataOf, EntryOf } from '../../journal/entry.ts';
import { RECOVERY, readFirstEntry } from '../../journal/reading.ts';
import { describeMachine, identifyMachineStart } from '../../journal/shared/machine.ts';
import { type JournalStore, StoreError } from '../../journal/store.ts';
import { JournalWriter } from '../../journal/writer.ts';

/** What the first entry of a run on paper says of its process. `of`: the account whose limits and kill switch hold for it. */
export function describePaperProcess(of: string): NonNullable<DataOf<'run.started'>['paper']> {
  return { of, host: hostname(), mark: describeMachine().self };
}

/**
 * Ends the runs on paper of this store whose process has certainly died: seen from the same start of the machine, after a restart of it,
 * or because this process holds the account whose scheduler started them. Gives their names.
 */
export async function endDeadPaperRuns(
  store: JournalStore,
  clock: Clock,
  heldAccount?: string,
): Promise<readonly string[]> {
  const ended: string[] = [];
  for (const { run, mode } of await store.runs({ account: 'paper', unfinished: true })) {
    if (mode !== 'paper') continue;
    const first = await readFirstEntry(store, run);
    if (!isDead(first, heldAccount)) continue;
    await endPaperRun(store, first, clock);
    ended.push(run);
  }
  return ended;
}

function isDead({ boot, data: { paper, trigger } }: EntryOf<'run.started'>, heldAccount: string | undefined): boolean {
  if (paper === undefined) return false;
  if (trigger === 'schedule' && paper.of === heldAccount) return true;
  const [before, now] = [boot, identifyMachineStart()].map((start) => /^start (\S+)/.exec(start)?.[1]);
  const hasRestarted = paper.host === hostname() && before !== undefined && now !== undefined && before !== now;
  return hasRestarted || (paper.mark !== '' && describeMachine().isGone(paper.mark));
}

/** Appends the end, under an epoch that fences the process where it lives after all. `by`: the person who ends it. */
export async function endPaperRun(
  store: JournalStore,
  { run, account, def }: EntryOf<'run.started'>,
  clock: Clock,
  by?: string,
): Promise<void> {
  const [head, row] = [await store.last(run), await store.run(run)];
  if (head === undefined || row === undefined || row.outcome !== undefined) return;
  const boot = identifyMachineStart();
  const epoch = 2;
  const writer = new JournalWriter(store, {
    run,
    account,
    def,
    boot,
    epoch,
    actor: 'engine',
    clock,
    durable: true,
    head,
    row,
  });
  const reason = by === undefined ? 'its process died' : `its process died; ended by ${makePrintable(by, 100)}`;
  writer.append('run.ended', { outcome: 'failed', reason, outputs: {} }, '', RECOVERY);
  try {
    await writer.close();
  } catch (error) {
    // Another process has just ended it.
    if (!(error instanceof StoreError && error.reason === 'conflict')) throw error;
  }
}
