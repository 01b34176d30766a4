/**
 * Classifies the text of a refusal. Texts come as a bare code, a code and a text, or free text (venue-notes.md, surprise 12), so
 * they are compared as whole words, however these are separated: a part of a word may mean something else.
 */
import { stringify } from 'lossless-json';
import type { RefusalWords } from '../profile/profile.ts';
import { classifyRefusal, toWords } from './refusals.ts';

export interface ErrorMeaning {
  /** It speaks of the rate limit. Words alone prove nothing: a rule of the market may have the same ones. */
  readonly limited: boolean;
  /** The session or the signature is not valid. */
  readonly unauthorized: boolean;
  /** The order does not exist. */
  readonly notFound: boolean;
  /** An order with this client order id exists already. */
  readonly duplicate: boolean;
  /** The text proves that nothing was done. */
  readonly definite: boolean;
  /** The text says that a part of the venue failed: it may have been done. */
  readonly doubtful: boolean;
}

const LIMITED = /\b(?:rate limit(?:s|ed|ing)?|too many requests|throttl(?:e|ed|ing))\b/;
const UNAUTHORIZED =
  /\b(?:unauthori[sz]ed|not authenticated|authentication (?:failed|required)|jwt|(?:token|session|signature) (?:has |is )?(?:expired|invalid)|invalid (?:token|session|signature|api key))\b/;
const NOT_FOUND = /\b(?:not ?found|does not exist|unknown order|no such order)\b/;
const ORDER_MISSING = /\b(?:orders? (?:id )?(?:is |was )?(?:not ?found|does not exist)|unknown order|no such order)\b/;
/** Other things that can be missing; none of them means that an order is missing. */
const OTHER_THING =
  /\b(?:market|instrument|symbol|contract|account|profile|position|endpoint|route|page|path|user|token)s? (?:id )?(?:is |was )?(?:not ?found|does not exist)\b/;
const CLIENT_ID = /\b(?:client (?:order )?id|cl ?ord ?id)\b/;
const TAKEN = /\b(?:duplicate[ds]?|already|not unique|in use|exists)\b/;

/** `status`: the HTTP status of the answer with the text. `added`: words of the profile. */
export function readErrorText(text: string, status: number, added: RefusalWords): ErrorMeaning {
  const words = toWords(text);
  const refusal = classifyRefusal(words, added);
  return {
    limited: LIMITED.test(words),
    unauthorized: UNAUTHORIZED.test(words),
    notFound: (NOT_FOUND.test(words) || status === 404) && !OTHER_THING.test(words),
    duplicate: CLIENT_ID.test(words) && TAKEN.test(words),
    definite: refusal === 'definite' || (refusal === undefined && ORDER_MISSING.test(words)),
    doubtful: refusal === 'doubtful',
  };
}

/** The error of an envelope, whole: a text as it is, anything else as the JSON that came, its numbers digit for digit. */
export function writeError(error: unknown): string {
  if (typeof error === 'string') return error;
  return error === undefined || error === null ? '' : (stringify(error) ?? '');
}
