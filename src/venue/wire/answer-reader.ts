/**
 * Reads the answers that one client gets, and gives the verdict of before for an answer that repeats one byte for byte: a page
 * that is read each second is parsed once for each change, and its unchanged records are the same objects to all that compare them.
 */
import { type EndpointName, getEndpoint } from '../catalogue.ts';
import { type Answer, type AnswerSettings, type AnswerVerdict, type RowReading, readAnswer } from './answer.ts';

/** An answer that was read, and what its verdict depends on beside its body. */
interface KnownAnswer {
  readonly rows: RowReading;
  readonly status: number;
  readonly type: string | undefined;
  readonly body: string;
  readonly verdict: AnswerVerdict;
}

/** How many answers of an endpoint are kept: a loop may ask about several orders in turn. */
const KEPT = 4;
/** UTF-16 units of the longest body that is kept. */
const LONGEST_KEPT = 64 * 1024;

export class AnswerReader {
  private readonly settings: AnswerSettings;
  private readonly known = new Map<EndpointName, KnownAnswer[]>();

  constructor(settings: AnswerSettings) {
    this.settings = settings;
  }

  read<E extends EndpointName>(name: E, answer: Answer, rows: RowReading): AnswerVerdict<E> {
    const { status, body } = answer;
    const type = answer.headers['content-type'];
    const known = this.known.get(name) ?? [];
    for (const each of known)
      if (each.body === body && each.status === status && each.rows === rows && each.type === type)
        return each.verdict as AnswerVerdict<E>;
    const verdict = readAnswer(name, answer, this.settings, rows);
    // A refusal is read from other headers too, and a session must not be kept.
    if (verdict.kind !== 'confirmed' || getEndpoint(name).method !== 'GET' || body.length > LONGEST_KEPT)
      return verdict;
    known.unshift({ rows, status, type, body, verdict: verdict as AnswerVerdict });
    if (known.length > KEPT) known.pop();
    this.known.set(name, known);
    return verdict;
  }
}
