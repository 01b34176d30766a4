/** Tests what answers have shown of orders that ended with less than they asked for: to the millisecond, and of orders that no answer names. */
import { expect, it } from 'vitest';
import { NOT_RECORDED } from '../../src/venue/port.ts';
import { completing, make } from './completing-stage.ts';
import { START } from './tracked-orders.ts';

const WINDOW_MS = 30_000;
/** A record shows the end of an order so long after it. */
const LAG_MS = 2500;
const LATER = START + 100_000;

/** One of which a record shows its end at START. */
const ended = (context: object = {}) =>
  make(
    'BTC-USD',
    { size: '10', filled: '4', recordFilled: '4', terminalAt: START - LAG_MS, since: START - LAG_MS, ...context },
    'canceled',
  );
const KNOWN = { confirmedAt: START - 5000 };
const NOTHING = { kind: 'confirmed', result: [] } as never;
const denied = (code: string) => ({ kind: 'denied', code, message: '', settledAt: START }) as never;

it.each([
  ['before a record shows its end proves nothing of one that no record has shown', {}, START - 1, undefined, false],
  ['when a record shows its end proves that of one that no record has shown', {}, START, undefined, true],
  ['while its fills may lag proves nothing of another', KNOWN, START + WINDOW_MS, LATER, false],
  ['when its fills have to be out is believed where these were read', KNOWN, START + WINDOW_MS + 1, LATER, true],
  ['then is not where they were read before', KNOWN, START + WINDOW_MS + 1, START - LAG_MS + WINDOW_MS - 1, false],
  [
    'then is where they were read when they had to be out',
    KNOWN,
    START + WINDOW_MS + 1,
    START - LAG_MS + WINDOW_MS,
    true,
  ],
])('an answer without the order that was asked for %s', (_, context, askedAt, fillsReadAt, isSeen) => {
  const { seen, fillsReadAt: readAt } = completing();
  const order = ended(context);
  if (fillsReadAt !== undefined) readAt.set(order, fillsReadAt);
  seen.note([order], NOTHING, askedAt);
  expect(seen.has(order)).toBe(isSeen);
});

it('what a recording does not hold is not asked for again, what was denied otherwise is', () => {
  const { seen } = completing();
  const [unrecorded, refused] = [ended(KNOWN), ended(KNOWN)];
  seen.note([unrecorded], denied(NOT_RECORDED), START);
  seen.note([refused], denied('DEADLINE'), START);
  expect([seen.has(unrecorded), seen.has(refused)]).toEqual([true, false]);
});
