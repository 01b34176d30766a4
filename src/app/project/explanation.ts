/**
 * Explains a code, an alarm or an error kind: what it means, what draws it, what is accepted instead or to do now. Reads the tables
 * that they are made from, so that none is without an explanation.
 */
import { toSentence } from '../../base/format.ts';
import { suggestSpelling } from '../../base/spelling.ts';
import { ALARM_MEANINGS } from '../../report/results/alarm-meaning.ts';
import { DEADMAN_EVENT_ROWS } from '../../report/results/deadman-event.ts';
import { SCHEDULER_ALARMS } from '../../report/results/scheduler-alarms.ts';
import type { ErrorKind } from '../../runbook/checked.ts';
import { CODES } from '../../runbook/codes/codes.ts';
import { ERROR_KIND_ROWS } from '../../runbook/codes/error-kinds.ts';
import type { CodeRow } from '../../runbook/codes/row.ts';
import { DENIALS, endsRun } from '../../venue/limits/denials.ts';
import { OBSTACLES } from '../../venue/limits/obstacles.ts';
import { PROFILE_CODES } from '../../venue/profile/reading.ts';

export interface Explanation {
  readonly code: string;
  /**
   * What shows it: a check of a file, the reading of a profile, a limit during a run, what else keeps a request back, an alarm of a
   * run or of the scheduler, an event of the deadman switch in a run's report, or the kind of a run's error.
   */
  readonly kind: 'diagnostic' | 'profile' | 'denial' | 'obstacle' | 'alarm' | 'deadman_event' | 'error_kind';
  readonly severity: 'error' | 'warning' | 'denied' | 'alarm' | 'failed' | 'halted' | 'event';
  readonly meaning: string;
  /** A line, or of a run a situation, that draws it. */
  readonly example: string;
  /** What would be accepted; of a run, what to do now. */
  readonly accepted: string;
  /** A denial that ends the run, not only the request. */
  readonly endsRun?: true;
}

export function listExplanations(): readonly Explanation[] {
  return [
    ...explain('diagnostic', CODES as Record<string, CodeRow>, ({ severity, summary, cause, fix }) => ({
      severity,
      meaning: `${toSentence(summary)} ${cause}`,
      accepted: fix,
    })),
    ...explain('profile', PROFILE_CODES, ({ summary, fix }, code) => ({
      severity: code === 'profile-ineffective' ? 'warning' : 'error',
      meaning: toSentence(summary),
      accepted: fix,
    })),
    ...explain('denial', DENIALS, ({ summary, names, fix }, code) => ({
      severity: 'denied',
      meaning: `${toSentence(summary)} The request is not sent.${names.length === 0 ? '' : ` Its message names ${names.join(', ')}.`}`,
      accepted: toSentence(fix),
      ...(endsRun(code) ? { endsRun: true } : {}),
    })),
    ...explain('obstacle', OBSTACLES, ({ summary, fix }) => ({
      severity: 'denied',
      meaning: `${toSentence(summary)} The request is not sent.`,
      accepted: toSentence(fix),
    })),
    ...explain('alarm', { ...ALARM_MEANINGS, ...SCHEDULER_ALARMS }, ({ summary, now }) => ({
      severity: 'alarm',
      meaning: toSentence(summary),
      accepted: toSentence(now),
    })),
    ...explain('deadman_event', DEADMAN_EVENT_ROWS, ({ summary, now }, code) => ({
      severity: code === 'assumed_fired' ? 'alarm' : 'event',
      meaning: toSentence(summary),
      accepted: toSentence(now),
    })),
    ...explain('error_kind', ERROR_KIND_ROWS, ({ summary, now }, code) => ({
      severity: code === ('unknown_outcome' satisfies ErrorKind) ? 'halted' : 'failed',
      meaning: toSentence(summary),
      accepted: toSentence(now),
    })),
  ];
}

/** Explains every row of a table. */
function explain<C extends string, R extends { readonly example: string }>(
  kind: Explanation['kind'],
  table: Readonly<Record<C, R>>,
  say: (row: R, code: C) => Pick<Explanation, 'severity' | 'meaning' | 'accepted' | 'endsRun'>,
): readonly Explanation[] {
  return (Object.entries(table) as [C, R][]).map(([code, row]) => {
    const { severity, meaning, ...rest } = say(row, code);
    return { code, kind, severity, meaning, example: row.example, ...rest };
  });
}

/** The explanation of a code, in whichever case it is written, or the code that a misspelt one probably means. */
export function explainCode(code: string): Explanation | { readonly meant: string | undefined } {
  const all = listExplanations();
  const found = all.find((each) => each.code.toLowerCase() === code.trim().toLowerCase());
  return (
    found ?? {
      meant: suggestSpelling(
        code.trim(),
        all.map((each) => each.code),
      ),
    }
  );
}
