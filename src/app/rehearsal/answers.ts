/** The answers of people in a rehearsal: `--answer STEP=approve|reject[:AFTER]`. */
import { parseDurationMs } from '../../base/duration.ts';
import { makePrintable } from '../../base/printable.ts';
import { suggestSpelling } from '../../base/spelling.ts';
import type { CheckedRunbook, CheckedStep } from '../../runbook/checked.ts';
import { listSteps } from '../../runbook/steps/walk.ts';
import { UserError } from '../errors.ts';
import { isOwn } from '../stores/find-step.ts';

export interface Answer {
  readonly command: 'approve' | 'reject';
  /** How long after the question, ms. */
  readonly afterMs: number;
}

/** An answer that is given with no time of its own comes after this: a person reads first. */
const DEFAULT_AFTER_MS = 1000;

/** Reads the answers, as typed; a step is named by its id or its path. Throws a UserError for a step that asks no one. */
export function readAnswers(texts: readonly string[], runbook: CheckedRunbook): ReadonlyMap<string, Answer> {
  const asking = listSteps(runbook).filter(({ verb }) => verb === 'approve');
  const answers = new Map<string, Answer>();
  for (const text of texts) {
    const [, step = '', command, after] = /^(.+)=(approve|reject)(?::(.*))?$/.exec(text) ?? [];
    const afterMs = after === undefined ? DEFAULT_AFTER_MS : parseDurationMs(after);
    if (step === '' || afterMs === undefined || afterMs < 0)
      throw new UserError(
        `--answer takes STEP=approve or STEP=reject, with a duration behind it such as :5m; found ${makePrintable(text, 100)}`,
      );
    if (!asking.some(({ path }) => isOwn(path, step))) throw makeNoQuestionError(runbook, step, asking);
    if (answers.has(step)) throw new UserError(`--answer names ${makePrintable(step, 100)} twice`);
    answers.set(step, { command: command === 'reject' ? 'reject' : 'approve', afterMs });
  }
  return answers;
}

/** The answer to the question of a step. */
export function findAnswer(answers: ReadonlyMap<string, Answer>, path: string): Answer | undefined {
  for (const [named, answer] of answers) if (isOwn(path, named)) return answer;
  return undefined;
}

function makeNoQuestionError(runbook: CheckedRunbook, step: string, asking: readonly CheckedStep[]): UserError {
  const names = asking.map(({ id, path }) => id ?? path);
  const meant = suggestSpelling(step, names);
  const hint =
    meant !== undefined
      ? `did you mean ${meant}?`
      : names.length === 0
        ? 'there is none'
        : `there are ${names.join(', ')}`;
  return new UserError(`${runbook.name} has no step ${makePrintable(step, 100)} that asks for approval; ${hint}`);
}
