/**
 * Records a person's answer to a halted run: `runbook cancel` of it. The answer belongs into the run's own journal, chained and
 * anchored like everything else. The command waits in the mailbox until a process that holds the account writes it there:
 * `cancel` itself where the account is free, else the scheduler that has it.
 */

import { Anchorer } from '../../journal/anchors/anchors.ts';
import { readEntry, toHead } from '../../journal/chain.ts';
import type { Entry } from '../../journal/entry.ts';
import { toCurrentType } from '../../journal/entry-v1.ts';
import { readStoredEntries } from '../../journal/reading.ts';
import { identifyMachineStart } from '../../journal/shared/machine.ts';
import type { PostedMessage } from '../../journal/shared/shared.ts';
import { type JournalReader, type StoredEntry, StoreError } from '../../journal/store.ts';
import { JournalWriter } from '../../journal/writer.ts';
import type { Account } from '../account/account.ts';
import { makeAnchoring } from '../account/anchoring.ts';
import type { Voice } from '../voice.ts';
import { ResumedTimeFold } from './resumed-clock.ts';
import { nameHumanActor } from './virtual-run.ts';

/** Needed to write: the lease on the account with its epoch. */
export interface HaltAnswerParts {
  readonly account: Account;
  readonly epoch: number;
  readonly voice: Pick<Voice, 'note' | 'complain'>;
}

export interface HaltAnswer {
  readonly by: string;
  /** False where nothing can be written behind the last entry. */
  readonly isWritten: boolean;
}

/**
 * Writes the waiting answers to a halted run into its journal, also of a run that cannot be resumed. Gives who answered, and whether the
 * journal has it now; undefined without an answer. Answers are marked as read only afterwards: after a crash one may be written twice, but none is lost. Throws a
 * StoreError, `fenced` where another process holds the account by then.
 */
export async function recordAnswers(
  run: string,
  { account, epoch, voice }: HaltAnswerParts,
): Promise<HaltAnswer | undefined> {
  const { store, shared } = account;
  const pending = await shared.mailbox.pending(run);
  const row = await store.run(run);
  const answers = pending.filter(({ command, at }) => command === 'cancel' && at >= (row?.endedAt ?? 0));
  const [answer] = answers;
  if (answer === undefined || row === undefined) return undefined;
  // A run that cannot be resumed has no end behind which it could stand. The command stays, for a version that can.
  const { by } = answer;
  if (row.outcome === undefined) return { by, isWritten: false };
  if (row.outcome !== 'halted') return undefined;
  const time = new ResumedTimeFold();
  let first: Entry | undefined;
  let last: StoredEntry | undefined;
  try {
    for await (last of readStoredEntries(store, run)) {
      const entry = readEntry(last);
      first ??= entry;
      time.apply(entry);
    }
  } catch (error) {
    // Nothing can follow an entry that cannot be read. The command stays, as above.
    if (error instanceof StoreError && error.reason === 'damaged') return { by, isWritten: false };
    throw error;
  }
  if (first === undefined) return undefined;
  const { clock } = time.compute(account.clock);
  const writer = new JournalWriter(store, {
    run,
    account: first.account,
    def: first.def,
    boot: identifyMachineStart(),
    epoch,
    actor: 'engine',
    clock,
    durable: true,
    head: toHead(last),
    row,
  });
  const anchorer = new Anchorer(writer, { run, clock, everyOrderEvents: 0, ...makeAnchoring(account, voice) });
  for (const { command, by, reason } of answers)
    writer.append(
      'operator.acted',
      { command, by, ...(reason === undefined ? {} : { reason }) },
      '',
      nameHumanActor(by),
    );
  try {
    await writer.close();
    await anchorer.settled();
  } finally {
    anchorer.close();
  }
  await shared.mailbox.acknowledge(run, Math.max(...answers.map(({ sequence }: PostedMessage) => sequence)));
  return { by, isWritten: true };
}

/** Why a run halted, and who has answered for it since, according to its journal. */
export async function readHalt(
  store: JournalReader,
  run: string,
): Promise<{ readonly reason?: string; readonly answeredBy?: string }> {
  let reason: string | undefined;
  let answeredBy: string | undefined;
  for await (const stored of readStoredEntries(store, run)) {
    const type = toCurrentType(stored.type);
    if (type !== 'run.ended' && type !== 'operator.acted') continue;
    const entry = readEntry(stored);
    if (entry.type === 'operator.acted' && entry.data.command === 'cancel') answeredBy ??= entry.data.by;
    if (entry.type !== 'run.ended') continue;
    reason = entry.data.reason;
    answeredBy = undefined;
  }
  return { ...(reason === undefined ? {} : { reason }), ...(answeredBy === undefined ? {} : { answeredBy }) };
}
