/** What an answer to a reviewer's question is made of, for whoever shows it: a terminal, a file, the page. */

/** `soft` is neither good nor bad. */
export type Tone = 'good' | 'doubt' | 'bad' | 'soft';

export interface Answer {
  readonly subject: 'who' | 'allowed' | 'orders' | 'tokens' | 'deadman' | 'missing';
  readonly question: string;
  readonly tone: Tone;
  readonly said: string;
  readonly because: readonly Reason[];
  /** The first orders to look at, by client order id: those that need it before those that are newest. */
  readonly orders?: readonly string[];
}

/** What an answer rests on. Term and text read as one line: `account main`. */
export interface Reason {
  readonly term: string;
  readonly text: string;
  readonly tone?: Tone;
  /** The entry that shows it. */
  readonly entry?: number;
  /** How much of what was allowed, in whole percent. */
  readonly share?: { readonly percent: number; readonly tone: Tone };
  /** What will happen at a time, epoch ms, unless something is done within so long. */
  readonly awaited?: { readonly at: number; readonly ofMs: number };
}

/** Never a colour alone. */
const MARKS: Readonly<Record<Tone, string>> = { good: '✓', doubt: '!', bad: '✕', soft: '' };

/** The mark and what was said. */
export function saidText({ tone, said }: Answer): string {
  return `${MARKS[tone]} ${said}`.trimStart();
}

export function reasonText({ term, text }: Reason): string {
  return `${term} ${text}`;
}
