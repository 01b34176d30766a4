/** Answers who started a run, who acted on it later, and which process resumed it. */

import { formatSpan } from '../../base/format.ts';
import type { RunPageDocument } from '../folds/run-facts.ts';
import { isoTime, shown } from '../format.ts';
import { findMeaning, MODE_MEANING, TRIGGERS } from '../glossary.ts';
import { isGoing } from '../liveness.ts';
import type { Answer, Reason } from './answer.ts';

/** Acts, and resumes, that are listed one by one. */
const MOST_LISTED = 4;

export function answerWho(run: RunPageDocument, now: number | undefined): Answer {
  const { by, trigger, startedAt, endedAt, lastAt, account, mode, occurrence, takeovers, plan, definition } = run;
  const how = findMeaning(TRIGGERS, trigger) ?? shown(trigger);
  const length = formatSpan(Math.max(0, (endedAt ?? lastAt) - startedAt));
  return {
    subject: 'who',
    question: 'Who started it?',
    tone: 'soft',
    said: by === undefined ? `Started ${how}` : `${shown(by)}, ${how}`,
    because: [
      { term: 'began', text: isoTime(startedAt), entry: 1 },
      {
        term: 'took',
        text: endedAt === undefined ? `${length} ${isGoing(run, now) ? 'so far' : 'until its last entry'}` : length,
      },
      { term: 'account', text: `${shown(account)}, ${MODE_MEANING[mode]}` },
      ...(occurrence === undefined
        ? []
        : [{ term: 'schedule', text: `${shown(occurrence.slot)}, due ${isoTime(occurrence.nominal)}` }]),
      ...listActs(run).slice(0, MOST_LISTED),
      ...takeovers.slice(-MOST_LISTED).map(formatResume),
      ...(plan === undefined ? [] : [{ term: 'plan', text: shown(plan.slice(0, 16)) }]),
      { term: 'definition', text: definition },
      { term: 'engine', text: `${shown(run.engine)}${mode === 'simulated' ? `, seed ${run.seed}` : ''}` },
    ],
  };
}

/** Answers that counted, and every other command to the run. */
function listActs({ people }: RunPageDocument): readonly Reason[] {
  return people.flatMap(({ seq, command, by, answered }): readonly Reason[] => {
    if (answered === undefined && (command === 'approve' || command === 'reject')) return [];
    const of = answered === undefined ? '' : `of ${shown(answered)} `;
    return [{ term: shown(command), text: `${of}by ${shown(by)}`, entry: seq }];
  });
}

function formatResume({ seq, at, hadHalted, pid, away }: RunPageDocument['takeovers'][number]): Reason {
  const process = pid === undefined ? '' : ` by process ${pid}`;
  const doubt = away?.by === 'wall' ? ' by the wall clock, which may have been adjusted' : '';
  const gap = away === undefined ? '' : `, unattended for ${formatSpan(away.ms)}${doubt}`;
  return hadHalted
    ? { term: 'resumed', text: `${isoTime(at)}${process}, after it halted`, entry: seq }
    : {
        term: 'resumed',
        text: `${isoTime(at)}${process}, after its process died${gap}`,
        tone: 'doubt',
        entry: seq,
      };
}
