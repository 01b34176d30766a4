/**
 * Classifies the text of a refusal. Texts come as a bare code, a code and a text, or free text (venue-notes.md, surprise 12), so
 * parts of them are matched, in any case. The list of texts that prove that nothing was done is short: a text wrongly taken for
 * proof leads to a second order, a proof that is not recognized costs a look-up.
 */

export interface ErrorMeaning {
  /** The rate limit is exhausted. */
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

const LIMITED = /rate[\s_-]*limit|too[\s_-]*many[\s_-]*requests|throttl/i;
const UNAUTHORIZED =
  /unauthori[sz]ed|not[\s_-]*authenticated|authentication[\s_-]*(?:failed|required)|jwt|(?:token|session|signature)[\s_-]*(?:has[\s_-]*|is[\s_-]*)?(?:expired|invalid)|invalid[\s_-]*(?:token|session|signature|api[\s_-]*key)/i;
const NOT_FOUND =
  /(?:^|[^a-z])(?:orders?[\s_-]*(?:id[\s_-]*)?(?:is[\s_-]*|was[\s_-]*)?)?(?:not[\s_-]*found|does[\s_-]*not[\s_-]*exist)|unknown[\s_-]*order|no[\s_-]*such[\s_-]*order/i;
/** Other things that can be missing; none of them means that an order is missing. */
const OTHER_THING =
  /(?:market|instrument|symbol|contract|account|profile|position|endpoint|route|page|path|user|token)s?[\s_-]*(?:id[\s_-]*)?(?:is[\s_-]*|was[\s_-]*)?(?:not[\s_-]*found|does[\s_-]*not[\s_-]*exist)/i;
const CLIENT_ID = /client[\s_-]*(?:order[\s_-]*)?id|cl[\s_-]*ord[\s_-]*id/i;
const TAKEN = /duplicat|already|not[\s_-]*unique|in[\s_-]*use|exists/i;

/** Texts that were seen and have only one meaning (venue-notes.md, Sample answers and surprise 11). */
const KNOWN_DEFINITE = ['ORDER_NOT_FOUND', 'CLIENT_ORDER_ID_DUPLICATE'] as const;

/** `status`: the HTTP status of the answer with the text. `definiteRejects`: parts of texts, from the profile. */
export function readErrorText(text: string, status: number, definiteRejects: readonly string[] = []): ErrorMeaning {
  const folded = text.toLowerCase();
  return {
    limited: LIMITED.test(text),
    unauthorized: UNAUTHORIZED.test(text),
    notFound: (NOT_FOUND.test(text) || status === 404) && !OTHER_THING.test(text),
    duplicate: CLIENT_ID.test(text) && TAKEN.test(text),
    definite: [...KNOWN_DEFINITE, ...definiteRejects].some((part) => folded.includes(part.toLowerCase())),
  };
}
