/** Who started it, and who had a hand in it afterwards. */

import { formatSpan } from '../../base/format.ts';
import type { RunPageDocument } from '../folds/run-facts.ts';
import { isoTime, shown } from '../format.ts';
import { MODE_MEANING, meaningOf, TRIGGERS } from '../glossary.ts';
import { isGoing } from '../liveness.ts';
import type { Answer, Reason } from './answer.ts';

/** Deeds, and takeovers, that are told one by one. */
const MOST_TOLD = 4;

export function whoStarted(run: RunPageDocument, now: number | undefined): Answer {
  const { by, trigger, startedAt, endedAt, lastAt, account, mode, occurrence, takeovers, plan, definition } = run;
  const how = meaningOf(TRIGGERS, trigger) ?? shown(trigger);
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
        text: endedAt === undefined ? `${length} ${isGoing(run, now) ? 'so far' : 'up to its last entry'}` : length,
      },
      { term: 'account', text: `${shown(account)}, ${MODE_MEANING[mode]}` },
      ...(occurrence === undefined
        ? []
        : [{ term: 'schedule', text: `${shown(occurrence.slot)}, due ${isoTime(occurrence.nominal)}` }]),
      ...deedsOf(run).slice(0, MOST_TOLD),
      ...takeovers.slice(-MOST_TOLD).map(takenUp),
      ...(plan === undefined ? [] : [{ term: 'plan', text: shown(plan.slice(0, 16)) }]),
      { term: 'definition', text: definition },
      { term: 'engine', text: `${shown(run.engine)}${mode === 'simulated' ? `, seed ${run.seed}` : ''}` },
    ],
  };
}

/** Answers that counted, and whatever else was done to the run. */
function deedsOf({ people }: RunPageDocument): readonly Reason[] {
  return people.flatMap(({ seq, command, by, answered }): readonly Reason[] => {
    if (answered === undefined && (command === 'approve' || command === 'reject')) return [];
    const of = answered === undefined ? '' : `of ${shown(answered)} `;
    return [{ term: shown(command), text: `${of}by ${shown(by)}`, entry: seq }];
  });
}

function takenUp({ seq, at, hadHalted, pid, away }: RunPageDocument['takeovers'][number]): Reason {
  const process = pid === undefined ? '' : ` by process ${pid}`;
  const doubt = away?.by === 'wall' ? ' by the clock on the wall, which proves nothing' : '';
  const gone = away === undefined ? '' : `, nobody was there for ${formatSpan(away.ms)}${doubt}`;
  return hadHalted
    ? { term: 'asked once more', text: `${isoTime(at)}${process}, after it had halted`, entry: seq }
    : {
        term: 'taken up again',
        text: `${isoTime(at)}${process}: its process had died${gone}`,
        tone: 'doubt',
        entry: seq,
      };
}
