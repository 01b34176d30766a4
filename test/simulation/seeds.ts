import { randomInt } from 'node:crypto';

/** Where seeds begin that have probably never been run. */
export function freshSeed(): number {
  return randomInt(1_000_000, 2 ** 40);
}

/**
 * Seeds that have failed once, each with what was wrong: they are run first, and for ever. They mean what they meant only as
 * long as the generator deals them the same world (shapes.ts, scenario.ts): a draw that is added there goes to the end, and
 * one that is changed re-deals every seed below.
 */
export const KEPT_SEEDS = [
  { seed: 3, was: 'two branches passed the limits before either had sent: more open orders than allowed' },
  { seed: 400, was: 'a branch that halted was overruled by the cancellation of the whole run, which ended as failed' },
  { seed: 462, was: 'a process that had slept through its lease went on beating when another one had the account' },
  { seed: 974, was: 'the journal of a run that was taken up could still be written by the process that had slept' },
  {
    seed: 1434,
    was: 'an answer came before a timer of the same millisecond, and the replay had them the other way round',
  },
  {
    seed: 3052,
    was: 'an order that had waited in a dead process was sent when the deadman switch had fired meanwhile',
  },
  { seed: 5305, was: 'a timer of the deadman keeper that only looked again changed the order of things in a replay' },
  { seed: 5876, was: 'the switch was armed with a full disk, and the next process did not know of it' },
  { seed: 9050, was: 'the switch was given back with a full disk, and the next process believed it armed' },
  { seed: 10189, was: 'a run that was killed while it waited for an amend ended without knowing the terms in force' },
  {
    seed: 19094,
    was: 'an amend to the terms in force hid that the venue showed the order as cancelled for an instant',
  },
  { seed: 426, was: 'a beat that hung was waited for as long as an order, and a short switch fired meanwhile' },
  {
    seed: 1071,
    was: 'the clock was put back while no process was there: nobody saw that the switch had fired, and an order was sent',
  },
  { seed: 6791, was: 'a run sent an order while another run of the process cancelled all' },
  { seed: 10007, was: 'a beat waited for the tokens that the readings of other runs had taken' },
  { seed: 2638, was: 'one lost answer was taken for a hang under a short switch, which was renewed too late' },
  { seed: 7219, was: 'a run that was taken up counted as hanging since its process had died' },
  { seed: 23700, was: 'what failed in `finally` kept the orders from being settled' },
] as const satisfies readonly { readonly seed: number; readonly was: string }[];
