/**
 * Whether the answers of a fixture are answers of the venue: each that says success must have the shape of its endpoint
 * (interface.md, Fixtures). Says so before a dry-run begins; what the run then does with such an answer is what it would do
 * with it live.
 */
import { printable } from '../base/printable.ts';
import { ENDPOINT_NAMES } from '../venue/catalogue.ts';
import { type AnswerSettings, readAnswer } from '../venue/wire/answer.ts';
import type { Fixture } from './fixture.ts';

/** One printable sentence for each answer that does not fit, in the order of the recording. */
export function unfitAnswers(fixture: Fixture, settings: AnswerSettings): readonly string[] {
  return fixture.exchanges.flatMap(({ request, reply }, index) => {
    const name = ENDPOINT_NAMES.find((each) => each === `${request.method} ${request.path}`);
    if (name === undefined || reply.kind === 'failure') return [];
    const verdict = readAnswer(name, reply, settings);
    if (verdict.kind !== 'unreadable') return [];
    return [
      `exchange ${index + 1}: the recorded answer of ${name} is none of the venue: ${printable(verdict.why, 300)}`,
    ];
  });
}
