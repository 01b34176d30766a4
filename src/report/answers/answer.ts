/** Defines an answer to a reviewer's question, as the terminal, the HTML report and the page show it. */

/** `soft` is neither good nor bad. */
export type Tone = 'good' | 'doubt' | 'bad' | 'soft';

export interface Answer {
  readonly subject: 'who' | 'allowed' | 'orders' | 'tokens' | 'deadman' | 'missing';
  readonly question: string;
  readonly tone: Tone;
  /** The answer in one line. */
  readonly said: string;
  readonly because: readonly Reason[];
  /** Client order ids of the orders to look at first: those that need a look, then the newest. */
  readonly orders?: readonly string[];
}

/** One fact behind an answer. Term and text read as one line: `account main`. */
export interface Reason {
  readonly term: string;
  readonly text: string;
  readonly tone?: Tone;
  /** The entry that shows it. */
  readonly entry?: number;
  /** The share of the limit that was used, in whole percent. */
  readonly share?: { readonly percent: number; readonly tone: Tone };
  /** A deadline to count down to: `at` in epoch ms, `ofMs` the whole time-out in ms. */
  readonly awaited?: { readonly at: number; readonly ofMs: number };
}

/** A tone is always shown by a mark too, never by its colour alone. */
const MARKS: Readonly<Record<Tone, string>> = { good: '✓', doubt: '!', bad: '✕', soft: '' };

/** The mark and the answer. */
export function formatAnswer({ tone, said }: Answer): string {
  return `${MARKS[tone]} ${said}`.trimStart();
}

export function formatReason({ term, text }: Reason): string {
  return `${term} ${text}`;
}
