/**
 * The words that this project does not use, and what it says instead. One list: `npm run lint` looks for them in source,
 * tests, documents and tables (check.ts).
 */

export interface WordRule {
  /** Whole words, found whatever their case. */
  readonly pattern: RegExp;
  readonly say: string;
  /**
   * `prose`: looked for in documents, and in the comments and texts of code. `names`: looked for in identifiers as well, whose
   * parts count as words (`openSeat` holds `seat`).
   */
  readonly within: 'prose' | 'names';
  /** Lines that match are right. */
  readonly except?: RegExp;
}

const prose = (pattern: RegExp, say: string, except?: RegExp): WordRule => ({
  pattern,
  say,
  within: 'prose',
  ...(except === undefined ? {} : { except }),
});
const names = (pattern: RegExp, say: string, except?: RegExp): WordRule => ({
  pattern,
  say,
  within: 'names',
  ...(except === undefined ? {} : { except }),
});

export const WORD_RULES: readonly WordRule[] = [
  // English of a translation.
  prose(/\bcan not\b/i, 'cannot'),
  prose(
    /\bnobody\b/i,
    'no one, or what does not happen: "no process", "unattended"',
    /user(?:s)? .*nobody|nobody.*user|'nobody'/i,
  ),
  prose(/\bwho(?:so)?ever\b/i, 'the person, the process or the reader that is meant'),
  prose(/\bt(?:ells|old)\b/i, 'says, shows, reports, knows'),
  prose(/\btak(?:e|es|en|ing) up\b/i, 'resume'),
  prose(
    /\bin order\b(?! to\b)(?! of\b)(?!:)/i,
    'cleanly',
    /in order per endpoint|in that order|the figures of the message, in order/i,
  ),
  prose(/\bclocks? on the wall\b/i, 'wall clock'),
  prose(/\b(?:the|one|this|our|only) road\b/i, 'the path of a request, or the module that is meant'),
  prose(/\bmend(?:ed|s|ing)?\b/i, 'fix, correct'),
  prose(/\bstands\b/i, 'is, holds, remains', /\bstands (?:for|in for)\b/i),
  prose(/\bin vain\b/i, 'without success'),
  prose(/\bdearest\b/i, 'most expensive'),
  prose(/\bwh(?:ence|ereof|erein)|\bhither\b|\bthereof\b/i, 'the plain word'),
  prose(/\bwhat is so\b/i, 'what is true'),
  prose(/\bare to be had\b|\bis to be had\b/i, 'is available'),
  prose(/\ba mistake of the program\b/i, 'an internal error'),
  prose(/\bas one would\b/i, 'as you would'),
  // Metaphors where the field has a term.
  names(/\b(?:order ?desks?|desks? order)\b/i, 'order manager'),
  names(/\bkeepers?\b/i, 'heartbeat, or lease'),
  names(/\bbeats?\b/i, 'heartbeat'),
  names(/\bseat(?:s|ed)?\b/i, 'account service, worker'),
  names(/\broll ?call\b|\bfarewell\b/i, 'what it is'),
  names(/\bdaemons?\b/i, 'scheduler', /systemd|daemon-reload/i),
  names(/\bguests?\b/i, 'submission'),
  names(/\bhandovers?\b/i, 'submission', /[`'" (]handover[`'" ]|FROM handover|INTO handover|UPDATE handover/),
  names(/\bagendas?\b/i, 'decide, schedule store, event queue', /agenda_(?:epoch|slot)|`agenda \$/),
  names(/\bflights\b/i, 'requests in flight'),
  names(/\bholdings\b/i, 'token holds'),
  names(/\baftermath\b/i, 'residual'),
  names(/\bresur(?:rect|fac)\w*\b/i, 'late order'),
  names(/\brecollections?\b/i, 'late orders'),
  names(/\bmanners\b/i, 'timeouts'),
  names(/\bmishaps?\b/i, 'injected fault'),
  names(/\berrands?\b/i, 'internal request'),
  names(/\bstrand(?:ed|s)?\b|\bstrange\w*\b/i, 'unknown, unusual'),
  prose(/\bwording\b/i, 'format, text'),
  // Names of the first version that people saw.
  prose(/\b(?:PICTURE_STALE|STEP_OVER|BEATS)\b/, 'MARKET_DATA_STALE, STEP_ENDED, HEARTBEAT_TOKENS'),
];

/** A file's header says what the file does; it does not begin with a question. */
export const RIDDLE = /^(?:What|Whether|Who(?:so)?ever|Who|How|Where|Why|When)\b/;
