/**
 * The words of refusals, as one table. `definite`: the venue decided, and nothing was done. `doubtful`: a part of the venue failed
 * or gave up, and another part may have done it. Any other words decide nothing yet. A profile adds its own (`refusals`).
 * Words for a failure count before words for a decision: a text wrongly taken for a decision leads to a second order, a decision
 * that is not recognized costs look-ups.
 */
import type { RefusalWords } from '../profile/profile.ts';

const REFUSAL_WORDS = {
  definite: [
    'client order id duplicate',
    'insufficient margin',
    'insufficient balance',
    'insufficient funds',
    'insufficient collateral',
    'invalid parameter',
    'missing parameter',
    'invalid price',
    'invalid size',
    'invalid json',
    'market not found',
    'post only would cross',
    'reduce only',
  ],
  doubtful: [
    'timeout',
    'time out',
    'timed out',
    'internal',
    'unavailable',
    'busy',
    'overloaded',
    'try again',
    'retry',
    'engine',
    'upstream',
    'gateway',
    'server error',
    'connection',
    'maintenance',
  ],
} as const satisfies RefusalWords;

/** The words of a text in small letters, a blank between them: `RATE_LIMIT`, `rate-limit` and `RateLimit` have the same. */
export function toWords(text: string): string {
  return text
    .replace(/([a-z0-9])([A-Z])/g, '$1 $2')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, ' ')
    .trim();
}

/** The class of a refusal by its words, which `toWords` gave; undefined where no words of the table are among them. */
export function classifyRefusal(words: string, added: RefusalWords): 'definite' | 'doubtful' | undefined {
  for (const kind of ['doubtful', 'definite'] as const)
    if ([...REFUSAL_WORDS[kind], ...added[kind]].some((each) => ` ${words} `.includes(` ${toWords(each)} `)))
      return kind;
  return undefined;
}
