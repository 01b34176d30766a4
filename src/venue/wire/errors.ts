/**
 * Classifies the text of a refusal. Texts come as a bare code, a code and a text, or free text (venue-notes.md, surprise 12), so
 * they are compared as whole words, however these are separated: a part of a word may mean something else. The list of texts that
 * prove that nothing was done is short: a text wrongly taken for proof leads to a second order, a proof that is not recognized
 * costs a look-up.
 */

export interface ErrorMeaning {
  /** It speaks of the rate limit. Words alone prove nothing: a rule of the market may have the same ones. */
  readonly limited: boolean;
  /** The session or the signature is not valid. */
  readonly unauthorized: boolean;
  /** The order does not exist. */
  readonly notFound: boolean;
  /** An order with this client order id exists already. */
  readonly duplicate: boolean;
  /** The text is one of those that prove that nothing was done. */
  readonly definite: boolean;
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

/** Texts that were seen and have only one meaning (venue-notes.md, Sample answers and surprise 11). */
const KNOWN_DEFINITE = ['CLIENT_ORDER_ID_DUPLICATE'] as const;

/** `status`: the HTTP status of the answer with the text. `definiteRejects`: texts or words of them, from the profile. */
export function readErrorText(text: string, status: number, definiteRejects: readonly string[] = []): ErrorMeaning {
  const words = toWords(text);
  return {
    limited: LIMITED.test(words),
    unauthorized: UNAUTHORIZED.test(words),
    notFound: (NOT_FOUND.test(words) || status === 404) && !OTHER_THING.test(words),
    duplicate: CLIENT_ID.test(words) && TAKEN.test(words),
    definite:
      ORDER_MISSING.test(words) ||
      [...KNOWN_DEFINITE, ...definiteRejects].some((part) => ` ${words} `.includes(` ${toWords(part)} `)),
  };
}

/** The words of a text in small letters, a blank between them: `RATE_LIMIT`, `rate-limit` and `RateLimit` have the same. */
function toWords(text: string): string {
  return text
    .replace(/([a-z0-9])([A-Z])/g, '$1 $2')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, ' ')
    .trim();
}
