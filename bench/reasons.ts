/** Says why a row misses its goal, by its number; shares are of `node --cpu-prof` over the trial of the row. */
const ONE_CALL =
  'A call here is decided, bounded by the plan, checked by the limits, paid from the token budget, journaled in a chain ' +
  'of hashes, and its answer is checked field by field into decimals; the peer calls a function. No part is much larger than the others: ' +
  'sealing the entries 17 % (SHA-256 5 %), garbage 12 %, reading the answer 11 %, clock and queue 11 %, the simulated venue 7 %.';

export const REASONS: Readonly<Record<string, string>> = {
  '1':
    'Three tenths are reading and checking the text: shape, types, the flow of orders, and a plan for the rate of tokens, ' +
    `which the peer does not do. The rest is row 1b.`,
  '1b': ONE_CALL,
  '2': 'As row 1; the peer is written in JavaScript and reads no text.',
  '2b': ONE_CALL,
  '4': 'Cold, the start of a dry-run counts: the simulated venue, the budget and the plan are made for 100 short branches.',
  '4b': ONE_CALL,
  '5': 'The peer parses; this process also checks types, the flow of orders and the rate of tokens of 1000 steps.',
  '6': 'Loading the code of the checks: types, the flow of orders, the plan.',
  '7': 'The durable attempt and the durable answer are each a commit, as with the peer; each also carries the decision, the limits and the hash.',
  '8': 'As row 7.',
  '9': 'The rest is the text of the entry, its SHA-256, and the check that the run still has its lease, in the same transaction.',
  '11': 'The journal of the run is read and folded from its first entry; there is no checkpoint.',
  '14d':
    'After each acquisition and each answer the first of those that wait is asked once more whether it may go; without any, nothing is asked.',
  '15': 'A condition is journaled as a step and a decision with what it read, and compared with that of the round before.',
  '21b':
    'Each entry is read, compared with what the engine appends now, and folded, and each step is executed again. No part is much larger ' +
    'than the others: garbage 17 %, reading the store 13 %, the states of the orders 12 %, parsing 10 %, comparing 3 %.',
  '22':
    'While an order rests, each round checks, applies, journals and compares its record, and every fifteenth has a heartbeat; only ' +
    'what is stored is short. No part is much larger than the others: garbage 10 %, comparing entries with those of ' +
    'the round before 6 %, digests 3 %.',
};
