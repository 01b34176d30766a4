/** Finds the step that an answer is for: it must be waiting for approval now, or the answer would be stored without effect. */

import { type Clock, type Metronome, pause } from '../../base/clock.ts';
import { makePrintable } from '../../base/printable.ts';
import { readEntry } from '../../journal/chain.ts';
import { readStoredEntries } from '../../journal/reading.ts';
import type { JournalReader } from '../../journal/store.ts';
import { ApprovalFold, type ApprovalRow } from '../../report/folds/approvals.ts';
import { formatText } from '../../report/format.ts';
import { EXIT, UserError } from '../errors.ts';
import { isOwn } from './find-step.ts';

/** A question is shown to people shortly before it is in the journal: an immediate answer must not be refused for that. */
const PATIENCE_MS = 2_000;
const LOOK_EVERY_MS = 200;

/** Returns the question, with the whole path of the step. Throws a UserError that lists the waiting steps where none or several match. */
export async function findAskedStep(
  store: JournalReader,
  run: string,
  named: string,
  clock: Pick<Clock & Metronome, 'monotonic' | 'after'>,
): Promise<Pick<ApprovalRow, 'step' | 'by'>> {
  const since = clock.monotonic();
  for (;;) {
    const found = await lookFor(store, run, named);
    if ('step' in found) return found;
    if (found.isSure || clock.monotonic() - since > PATIENCE_MS)
      throw new UserError(found.why, EXIT.usage, 'not_asked');
    await pause(clock, LOOK_EVERY_MS);
  }
}

/** `isSure`: what the run writes next cannot change the result. */
type Found = Pick<ApprovalRow, 'step' | 'by'> | { readonly why: string; readonly isSure: boolean };

async function lookFor(store: JournalReader, run: string, named: string): Promise<Found> {
  const fold = new ApprovalFold();
  let exists = false;
  for await (const stored of readStoredEntries(store, run)) {
    exists ||= stored.step !== '' && isOwn(stored.step, named);
    fold.apply(readEntry(stored));
  }
  const rows = fold.approvals();
  const asking = rows.filter(({ isOpen }) => isOpen);
  const [only, other] = asking.filter(({ step }) => isOwn(step, named));
  if (only !== undefined && other === undefined) return only;
  const before = rows.findLast(({ step }) => isOwn(step, named));
  const about =
    only !== undefined
      ? `${formatText(named)} could be several steps that wait for approval`
      : exists
        ? (describeAnswered(before) ?? `step ${formatText(named)} does not wait for approval now`)
        : `no step ${makePrintable(named, 100)} of run ${formatText(run)} has begun`;
  const now =
    asking.length === 0 ? 'no step waits now' : `waiting now: ${asking.map(({ step }) => formatText(step)).join(', ')}`;
  return { why: `${about}; ${now}`, isSure: only !== undefined || before !== undefined };
}

function describeAnswered(row: ApprovalRow | undefined): string | undefined {
  if (row === undefined) return undefined;
  const by = row.answer === undefined ? '' : `: ${row.answer.command} by ${formatText(row.answer.by)}`;
  return `step ${formatText(row.step)} does not wait any more${by}`;
}
