/** Answers whether anything is missing: journal entries, the run's end, answers of the venue, or the outcome of an order. */

import { capitalize, formatCount, formatList, pluralize } from '../../base/format.ts';
import { describeLeft } from '../../venue/position/residual.ts';
import type { RunVerdict } from '../compare/verify.ts';
import { POSITION_LEFT } from '../folds/residual.ts';
import type { RunPageDocument } from '../folds/run-facts.ts';
import { formatIsoTime, formatText } from '../format.ts';
import { isGoing, isSilent } from '../liveness.ts';
import type { Answer, Reason, Tone } from './answer.ts';

/** The result of verifying the journal, as far as it has come. */
export type VerdictSoFar = RunVerdict | 'under way' | { readonly failed: string };

const MOST_LISTED = 3;

export function answerMissing(
  run: RunPageDocument,
  verdict: VerdictSoFar | undefined,
  now: number | undefined,
): Answer {
  const { unanswered, unclearOrders, leftOpen, lost, alarms, alarmCount } = run.unaccounted;
  const bare = isGoing(run, now) ? [] : run.unaccounted.beyond;
  const { outcome, error, reason, lastAt } = run;
  // While the run goes on, an answer may still arrive.
  const open = isGoing(run, now) ? [] : unanswered;
  const why = error === undefined ? reason : `${error.kind}: ${error.message}`;
  return {
    subject: 'missing',
    question: 'Is anything missing?',
    ...summarizeMissing(run, { open: open.length, bare: bare.length, verdict, now }),
    because: [
      formatJournalReason(verdict, run.seq),
      {
        term: 'ended',
        text:
          outcome ??
          (isGoing(run, now)
            ? 'not yet'
            : `not in the journal; the last entry is from ${formatIsoTime(lastAt)}, so the process is waiting or gone; \`runbook resume ${run.run}\` goes on where it is gone`),
      },
      ...(outcome === 'halted' && why !== undefined ? [{ term: 'because', text: formatText(why) }] : []),
      ...listFirst(unclearOrders, 'unknown:', (order) => ({ text: formatText(order), tone: 'bad' })),
      ...listFirst(bare, POSITION_LEFT, (left) => ({ text: formatText(describeLeft(left)), tone: 'bad' })),
      ...listFirst(open, 'no answer to', ({ seq, title }) => ({ text: formatText(title), tone: 'doubt', entry: seq })),
      ...listFirst(lost, 'lost answer to', ({ seq, title }) => ({
        text: formatText(title),
        tone: 'doubt',
        entry: seq,
      })),
      ...listFirst(
        alarms,
        'alarm',
        ({ seq, alarm, meaning }) => ({
          text: `${formatText(alarm)}${meaning === undefined ? '' : `: ${meaning}`}`,
          tone: 'doubt',
          entry: seq,
        }),
        alarmCount,
      ),
      ...listFirst(
        leftOpen.filter((order) => !unclearOrders.includes(order)),
        'still working',
        (order) => ({ text: `${formatText(order)}, as last seen` }),
      ),
    ],
  };
}

/** The first few, and the number of the others. */
function listFirst<T>(
  all: readonly T[],
  term: string,
  describe: (each: T) => Omit<Reason, 'term'>,
  count = all.length,
): readonly Reason[] {
  const first = all.slice(0, MOST_LISTED).map((each) => ({ term, ...describe(each) }));
  return count > first.length ? [...first, { term, text: `${count - first.length} more` }] : first;
}

function summarizeMissing(
  run: RunPageDocument,
  {
    open,
    bare,
    verdict,
    now,
  }: {
    readonly open: number;
    readonly bare: number;
    readonly verdict: VerdictSoFar | undefined;
    readonly now: number | undefined;
  },
): Pick<Answer, 'tone' | 'said'> {
  const { unclearOrders, alarmCount } = run.unaccounted;
  if (isVerdict(verdict) && !verdict.ok) return { tone: 'bad', said: 'The journal is not what was written' };
  if (unclearOrders.length > 0)
    return { tone: 'bad', said: `The outcome of ${formatCount(unclearOrders.length, 'order')} is unknown` };
  const missing = [
    ...(isSilent(run, now) ? ['its end'] : []),
    ...(open > 0 ? [formatCount(open, 'answer')] : []),
    ...(isVerdict(verdict) && verdict.unanchored === true ? ['its anchors'] : []),
  ];
  const notes = [
    ...(bare > 0 ? [`${formatCount(bare, 'position is', 'positions are')} left beyond what it declares`] : []),
    ...(run.outcome === 'halted' ? ['a person needs to look at it'] : []),
    ...(alarmCount > 0 ? [`there ${pluralize(alarmCount, 'was', 'were')} ${formatCount(alarmCount, 'alarm')}`] : []),
  ];
  if (missing.length > 0) return { tone: 'doubt', said: capitalize([formatList(missing), ...notes].join('; ')) };
  if (notes.length > 0) return { tone: 'doubt', said: `Nothing, but ${notes.join(', and ')}` };
  if (verdict === 'under way') return { tone: 'soft', said: 'Checking …' };
  if (verdict === undefined) return { tone: 'doubt', said: 'Not verified' };
  if (!isVerdict(verdict)) return { tone: 'doubt', said: 'Unknown: the journal could not be verified' };
  return { tone: 'good', said: run.outcome === undefined ? 'Nothing so far' : 'Nothing' };
}

function isVerdict(verdict: VerdictSoFar | undefined): verdict is RunVerdict {
  return typeof verdict === 'object' && 'ok' in verdict;
}

function formatJournalReason(verdict: VerdictSoFar | undefined, count: number): Reason {
  const journal = (tone: Tone, text: string): Reason => ({ term: 'journal', text, tone });
  if (verdict === undefined) return journal('doubt', `not verified, ${formatCount(count, 'entry', 'entries')}`);
  if (verdict === 'under way') return journal('soft', `being verified, ${formatCount(count, 'entry', 'entries')}`);
  if (!isVerdict(verdict)) return journal('doubt', `not verified: ${formatText(verdict.failed)}`);
  const { ok, problem, entries, anchors, unanchored } = verdict;
  if (!ok) return journal('bad', `not as it was written: ${formatText(problem?.detail ?? 'unknown')}`);
  // A run that goes on has written more entries since.
  const read = `${entries < count ? `the first ${entries} of ${count}` : entries} ${pluralize(count, 'entry', 'entries')}`;
  if (unanchored === true)
    return journal('doubt', `verified by its own hashes alone: ${read}, no anchor confirms them`);
  return journal('good', `verified: ${read}, ${formatCount(anchors, 'anchor')}`);
}
