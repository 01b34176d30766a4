/**
 * Explains a code, an alarm or an error kind: what it means, what draws it, what is accepted instead or to do now. Reads the tables
 * that they are made from, so that none is without an explanation.
 */
import { toSentence } from '../../base/format.ts';
import { suggestSpelling } from '../../base/spelling.ts';
import { listAlarmMeanings } from '../../report/results/alarm-meaning.ts';
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
   * run or of the scheduler, or the kind of a run's error.
   */
  readonly kind: 'diagnostic' | 'profile' | 'denial' | 'obstacle' | 'alarm' | 'error_kind';
  readonly severity: 'error' | 'warning' | 'denied' | 'alarm' | 'failed' | 'halted';
  readonly meaning: string;
  /** A line, or of a run a situation, that draws it. */
  readonly example: string;
  /** What would be accepted; of a run, what to do now. */
  readonly accepted: string;
  /** A denial that ends the run, not only the request. */
  readonly endsRun?: true;
}

export function listExplanations(): readonly Explanation[] {
  const checks = Object.entries(CODES as Record<string, CodeRow>).map(
    ([code, { severity, summary, cause, example, fix }]): Explanation => ({
      code,
      kind: 'diagnostic',
      severity,
      meaning: `${toSentence(summary)} ${cause}`,
      example,
      accepted: fix,
    }),
  );
  const profiles = Object.entries(PROFILE_CODES).map(
    ([code, { summary, example, fix }]): Explanation => ({
      code,
      kind: 'profile',
      severity: code === 'profile-ineffective' ? 'warning' : 'error',
      meaning: toSentence(summary),
      example,
      accepted: fix,
    }),
  );
  const denials = (Object.keys(DENIALS) as (keyof typeof DENIALS)[]).map((code): Explanation => {
    const { summary, names, example, fix } = DENIALS[code];
    const figures = names.length === 0 ? '' : ` Its message names ${names.join(', ')}.`;
    return {
      code,
      kind: 'denial',
      severity: 'denied',
      meaning: `${toSentence(summary)} The request is not sent.${figures}`,
      example,
      accepted: toSentence(fix),
      ...(endsRun(code) ? { endsRun: true } : {}),
    };
  });
  const obstacles = Object.entries(OBSTACLES).map(
    ([code, { summary, example, fix }]): Explanation => ({
      code,
      kind: 'obstacle',
      severity: 'denied',
      meaning: `${toSentence(summary)} The request is not sent.`,
      example,
      accepted: toSentence(fix),
    }),
  );
  const scheduler = Object.entries(SCHEDULER_ALARMS).map(([name, row]) => ({ name, ...row }));
  const alarms = [...listAlarmMeanings(), ...scheduler].map(
    ({ name, summary, example, now }): Explanation => ({
      code: name,
      kind: 'alarm',
      severity: 'alarm',
      meaning: toSentence(summary),
      example,
      accepted: toSentence(now),
    }),
  );
  const kinds = Object.entries(ERROR_KIND_ROWS).map(
    ([code, { summary, example, now }]): Explanation => ({
      code,
      kind: 'error_kind',
      severity: code === ('unknown_outcome' satisfies ErrorKind) ? 'halted' : 'failed',
      meaning: toSentence(summary),
      example,
      accepted: toSentence(now),
    }),
  );
  return [...checks, ...profiles, ...denials, ...obstacles, ...alarms, ...kinds];
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
