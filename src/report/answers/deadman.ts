/**
 * Answers whether the deadman switch was ever at risk. The journal records silences that ended. A silence that still lasts
 * is measured by the clock: a process that dies with the switch armed writes nothing, and the venue cancels nevertheless.
 */
import { formatCount, formatSpan } from '../../base/format.ts';
import { RISK_SHARE } from '../folds/deadman.ts';
import type { RunPageDocument } from '../folds/run-facts.ts';
import { formatIsoTime, formatText } from '../format.ts';
import type { Answer, Reason } from './answer.ts';

const MOST_FIRED = 2;

export function answerDeadman(run: RunPageDocument, now: number | undefined): Answer {
  const asked = { subject: 'deadman', question: 'Was the deadman switch ever at risk?' } as const;
  const { state, market, timeoutMs, longest, renewals, fired, because } = run.deadman;
  if (state === 'never')
    return {
      ...asked,
      tone: 'soft',
      said: 'It was never armed',
      because: [{ term: 'without it,', text: 'open orders would have stayed at the venue had the process died' }],
    };
  const countdown = findCountdown(run, now);
  return {
    ...asked,
    ...summarizeRisk(run, countdown, now),
    because: [
      ...formatArmedReason(run, countdown),
      ...fired.slice(0, MOST_FIRED).map(
        ({ seq, at, because: why }): Reason => ({
          term: 'must have fired',
          text: `${formatIsoTime(run.startedAt + at)}${why === undefined ? '' : `: ${formatText(why)}`}`,
          tone: 'bad',
          entry: seq,
        }),
      ),
      ...(longest === undefined ? [] : [formatLongestReason(longest)]),
      {
        term: 'armed',
        text: `${market === undefined ? '' : `for ${formatText(market)}, `}renewed ${formatCount(renewals, 'time')}${timeoutMs === undefined ? '' : `; it fires after ${formatSpan(timeoutMs)} of silence`}`,
      },
      ...(state === 'armed'
        ? []
        : [
            {
              term: run.outcome === undefined ? 'at the last entry' : 'at the end',
              text: `${state === 'assumed_fired' ? 'fired' : state}${because === undefined ? '' : `: ${formatText(because)}`}`,
            },
          ]),
    ],
  };
}

/** The time left of an armed switch. Live runs only: it follows the wall clock, and a dry-run's time is virtual. */
interface Countdown {
  readonly firesAt: number;
  readonly timeoutMs: number;
  readonly isOver: boolean;
}

function findCountdown({ mode, deadman }: RunPageDocument, now: number | undefined): Countdown | undefined {
  const { state, firesAt, timeoutMs } = deadman;
  if (state !== 'armed' || firesAt === undefined || timeoutMs === undefined || mode !== 'live') return undefined;
  return { firesAt, timeoutMs, isOver: now !== undefined && now >= firesAt };
}

function summarizeRisk(
  { outcome, deadman: { state, fired, risks, longest } }: RunPageDocument,
  countdown: Countdown | undefined,
  now: number | undefined,
): Pick<Answer, 'tone' | 'said'> {
  const hasEnded = outcome !== undefined;
  if (fired.length > 0)
    return {
      tone: 'bad',
      said: `It must have fired${fired.length === 1 ? '' : ` ${formatCount(fired.length, 'time')}`}`,
    };
  if (countdown?.isOver === true)
    return hasEnded
      ? { tone: 'doubt', said: 'Left armed at the end; its time-out has passed' }
      : { tone: 'bad', said: 'It must have fired: the run fell silent' };
  if (longest !== undefined && longest.ms >= longest.timeoutMs)
    return { tone: 'bad', said: `It may have fired: ${formatSpan(longest.ms)} of silence` };
  if (!hasEnded && countdown !== undefined && now !== undefined && isAtRisk(countdown, now))
    return { tone: 'doubt', said: 'At risk now: more than half of its time-out has passed' };
  if (risks > 0)
    return { tone: 'doubt', said: `At risk ${formatCount(risks, 'time')}: silent for more than half of its time-out` };
  if (hasEnded) return { tone: 'good', said: 'Never at risk' };
  if (state !== 'armed' || (countdown !== undefined && now !== undefined)) return { tone: 'good', said: 'Not so far' };
  return { tone: 'doubt', said: 'Not so far; the journal ends while it is armed' };
}

function isAtRisk({ firesAt, timeoutMs }: Countdown, now: number): boolean {
  return now - (firesAt - timeoutMs) > timeoutMs * RISK_SHARE;
}

function formatArmedReason({ outcome, deadman }: RunPageDocument, countdown: Countdown | undefined): readonly Reason[] {
  if (countdown === undefined)
    return deadman.firesAt === undefined
      ? []
      : [
          {
            term: 'left armed:',
            text: `fires at ${formatIsoTime(deadman.firesAt)} by the run's own clock, unless renewed`,
          },
        ];
  const { firesAt, timeoutMs, isOver } = countdown;
  if (isOver)
    return [
      {
        term: 'not renewed',
        text: `after ${formatIsoTime(firesAt - timeoutMs)} by this run: unless another process renewed it, the venue cancelled every open order of the account at ${formatIsoTime(firesAt)}`,
        tone: outcome === undefined ? 'bad' : 'doubt',
      },
    ];
  const text = `the venue cancels every open order of the account at ${formatIsoTime(firesAt)} unless it is renewed`;
  return outcome === undefined
    ? [
        {
          term: 'fires',
          text: `at ${formatIsoTime(firesAt)} unless renewed`,
          awaited: { at: firesAt, ofMs: timeoutMs },
        },
      ]
    : [{ term: 'left armed:', text }];
}

function formatLongestReason({ ms, timeoutMs, seq }: NonNullable<RunPageDocument['deadman']['longest']>): Reason {
  const percent = Math.round((ms / timeoutMs) * 100);
  const tone = ms >= timeoutMs ? 'bad' : ms > timeoutMs * RISK_SHARE ? 'doubt' : 'good';
  return {
    term: 'longest silence',
    text: `${formatSpan(ms)} of ${formatSpan(timeoutMs)}`,
    entry: seq,
    share: { percent, tone },
  };
}
