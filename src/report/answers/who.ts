/** Answers who started a run, who acted on it later, and which process resumed it. */

import { formatSpan } from '../../base/format.ts';
import type { RunPageDocument } from '../folds/run-facts.ts';
import { formatIsoTime, formatText } from '../format.ts';
import { findMeaning, MODE_MEANING, TRIGGERS } from '../glossary.ts';
import { isGoing } from '../liveness.ts';
import type { Answer, Reason } from './answer.ts';

/** Acts, and resumes, that are listed one by one. */
const MOST_LISTED = 4;

export function answerWho(run: RunPageDocument, now: number | undefined): Answer {
  const { by, trigger, startedAt, endedAt, lastAt, account, mode, occurrence, takeovers, plan, definition } = run;
  const how = findMeaning(TRIGGERS, trigger) ?? formatText(trigger);
  const length = formatSpan(Math.max(0, (endedAt ?? lastAt) - startedAt));
  return {
    subject: 'who',
    question: 'Who started it?',
    tone: 'soft',
    said: by === undefined ? `Started ${how}` : `${formatText(by)}, ${how}`,
    because: [
      { term: 'began', text: formatIsoTime(startedAt), entry: 1 },
      {
        term: 'took',
        text: endedAt === undefined ? `${length} ${isGoing(run, now) ? 'so far' : 'until its last entry'}` : length,
      },
      { term: 'account', text: `${formatText(account)}, ${MODE_MEANING[mode]}` },
      ...(occurrence === undefined
        ? []
        : [{ term: 'schedule', text: `${formatText(occurrence.slot)}, due ${formatIsoTime(occurrence.nominal)}` }]),
      ...listActs(run).slice(0, MOST_LISTED),
      ...takeovers.slice(-MOST_LISTED).map(formatResume),
      ...(plan === undefined ? [] : [{ term: 'plan', text: formatText(plan.slice(0, 16)) }]),
      { term: 'definition', text: definition },
      { term: 'engine', text: `${formatText(run.engine)}${mode === 'simulated' ? `, seed ${run.seed}` : ''}` },
    ],
  };
}

/** Answers that counted, and every other command to the run. */
function listActs({ people }: RunPageDocument): readonly Reason[] {
  return people.flatMap(({ seq, command, by, answered }): readonly Reason[] => {
    if (answered === undefined && (command === 'approve' || command === 'reject')) return [];
    const of = answered === undefined ? '' : `of ${formatText(answered)} `;
    return [{ term: formatText(command), text: `${of}by ${formatText(by)}`, entry: seq }];
  });
}

function formatResume({ seq, at, hadHalted, pid, away }: RunPageDocument['takeovers'][number]): Reason {
  const process = pid === undefined ? '' : ` by process ${pid}`;
  const doubt = away?.by === 'wall' ? ' by the wall clock, which may have been adjusted' : '';
  const gap = away === undefined ? '' : `, unattended for ${formatSpan(away.ms)}${doubt}`;
  return hadHalted
    ? { term: 'resumed', text: `${formatIsoTime(at)}${process}, after it halted`, entry: seq }
    : {
        term: 'resumed',
        text: `${formatIsoTime(at)}${process}, after its process died${gap}`,
        tone: 'doubt',
        entry: seq,
      };
}
