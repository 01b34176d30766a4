/**
 * The thirteen states of an order as one table: a row for each state, a column for each property that the program needs. Every
 * list of states elsewhere is a column here (orders.md, States).
 */

/** The properties of a state. */
interface StateRow {
  /**
   * `working`: the order is in the venue's book or may get there. `terminal`: the order does not leave the state by itself; fills
   * may still arrive, and a contradicting record can re-open it.
   */
  readonly life: 'draft' | 'working' | 'terminal';
  /** It is not certain whether the venue has it or ever had it. */
  readonly inDoubt: boolean;
  /** The result of placing it is known, or is left to a person: no step waits for it any longer. */
  readonly placed: boolean;
  /** A look-up by its client order id could find nothing more. */
  readonly found: boolean;
  /** It rests at the venue and is not being cancelled. */
  readonly resting: boolean;
  /** Its terms count as sent: it is not certain that the venue refused it or never had it. */
  readonly counts: boolean;
  /** How closely a reviewer should look: `unclear` and `odd` come first. */
  readonly review: 'unclear' | 'odd' | 'plain';
  /** In a few words, for someone who never saw a runbook. */
  readonly words: string;
}

const yes = true;
const no = false;

// biome-ignore format: a table is read by its columns
const STATES = {
  draft:       { life: 'draft',    inDoubt: no,  placed: no,  found: no,  resting: no,  counts: no,  review: 'plain',   words: 'meant, not sent' },
  submitting:  { life: 'working',  inDoubt: yes, placed: no,  found: no,  resting: no,  counts: yes, review: 'plain',   words: 'on its way to the venue' },
  unknown:     { life: 'working',  inDoubt: yes, placed: no,  found: no,  resting: no,  counts: yes, review: 'unclear', words: 'sent, and whether the venue has it is not known' },
  processing:  { life: 'working',  inDoubt: no,  placed: no,  found: yes, resting: no,  counts: yes, review: 'plain',   words: 'the venue has it, not confirmed yet' },
  open:        { life: 'working',  inDoubt: no,  placed: yes, found: yes, resting: yes, counts: yes, review: 'plain',   words: 'working at the venue' },
  amending:    { life: 'working',  inDoubt: no,  placed: yes, found: yes, resting: yes, counts: yes, review: 'plain',   words: 'being changed' },
  canceling:   { life: 'working',  inDoubt: no,  placed: yes, found: yes, resting: no,  counts: yes, review: 'plain',   words: 'being cancelled' },
  closed:      { life: 'terminal', inDoubt: no,  placed: yes, found: yes, resting: no,  counts: yes, review: 'plain',   words: 'done' },
  canceled:    { life: 'terminal', inDoubt: no,  placed: yes, found: yes, resting: no,  counts: yes, review: 'plain',   words: 'cancelled' },
  rejected:    { life: 'terminal', inDoubt: no,  placed: yes, found: yes, resting: no,  counts: no,  review: 'odd',     words: 'rejected by the venue' },
  // Proven absent, and still looked up: a late answer may contradict that.
  absent:      { life: 'terminal', inDoubt: yes, placed: yes, found: no,  resting: no,  counts: no,  review: 'odd',     words: 'proven not to be at the venue' },
  denied:      { life: 'terminal', inDoubt: no,  placed: yes, found: yes, resting: no,  counts: no,  review: 'plain',   words: 'refused here, never sent' },
  // Still looked up where the venue has never shown it: when it answers again, it may have it after all, or prove it absent.
  quarantined: { life: 'working',  inDoubt: yes, placed: yes, found: no,  resting: no,  counts: yes, review: 'unclear', words: 'not to be settled by machine; a person is needed' },
} as const satisfies Record<string, StateRow>;

export type OrderState = keyof typeof STATES;

/** In the column order of the transitions. */
export const ORDER_STATES = Object.keys(STATES) as readonly OrderState[];

export function isTerminal(state: OrderState): boolean {
  return STATES[state].life === 'terminal';
}

/** Whether it counts as live in every limit; `submitting`, `unknown` and `quarantined` orders do, because they may be live. */
export function isWorking(state: OrderState): boolean {
  return STATES[state].life === 'working';
}

/** Whether it is uncertain that the venue has it. */
export function isInDoubt(state: OrderState): boolean {
  return STATES[state].inDoubt;
}

/** Whether the venue has shown it and has not shown its end. */
export function isAtVenue(state: OrderState): boolean {
  return isWorking(state) && !isInDoubt(state);
}

/** Whether it is certainly not at the venue. */
export function isGone(state: OrderState): boolean {
  return !isWorking(state) && !isInDoubt(state);
}

/** Whether the result of placing it is known, or is left to a person. */
export function isPlaced(state: OrderState): boolean {
  return STATES[state].placed;
}

/** Whether a look-up by its client order id could find nothing more. */
export function isFound(state: OrderState): boolean {
  return STATES[state].found;
}

/** Whether it rests at the venue and is not being cancelled. */
export function isResting(state: OrderState): boolean {
  return STATES[state].resting;
}

/** Whether its terms count as sent. */
export function countsAsSent(state: OrderState): boolean {
  return STATES[state].counts;
}

/** How closely a reviewer should look at an order in the state. */
export function getReview(state: OrderState): StateRow['review'] {
  return STATES[state].review;
}

/** The state in a few words; undefined for a state of a journal that this table does not have. */
export function describeOrderState(state: string): string | undefined {
  return isOrderState(state) ? STATES[state].words : undefined;
}

export function isOrderState(word: string): word is OrderState {
  return Object.hasOwn(STATES, word);
}
