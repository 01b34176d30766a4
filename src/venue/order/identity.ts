/**
 * Derives client order ids and repeatable random numbers. A client order id is a pure function of the intent (ARCHITECTURE.md,
 * I6), so that after a crash the next process finds its orders, and no two intents share an id.
 */
import { sha256 } from '../../base/digest.ts';

/** The beginning of every client order id of this program, which finds its orders in the venue's list even without the journal. */
export const CLIENT_ORDER_PREFIX = 'rb';

const BASE32 = 'abcdefghijklmnopqrstuvwxyz234567';

/** 22 characters of `[a-z0-9]`, then a dash and the author's tag if there is one; at most 50 in all (venue-notes.md, surprise 8). */
export function deriveClientOrderId(intent: {
  account: string;
  run: string;
  path: string;
  attempt: number;
  tag?: string;
}): string {
  const digest = sha256([intent.account, intent.run, intent.path, String(intent.attempt)].join('\0'));
  let text = '';
  let bits = 0;
  let held = 0;
  for (const byte of Buffer.from(digest.slice(0, 26), 'hex')) {
    held = (held << 8) | byte;
    bits += 8;
    while (bits >= 5) {
      bits -= 5;
      text += BASE32[(held >> bits) & 31];
    }
    held &= (1 << bits) - 1;
  }
  const id = CLIENT_ORDER_PREFIX + text.slice(0, 20);
  return intent.tag === undefined ? id : `${id}-${intent.tag}`.slice(0, 50);
}

const OWN = new RegExp(`^${CLIENT_ORDER_PREFIX}[${BASE32}]{20}(-|$)`);

/** Whether a client order id has the form of ours, whichever run or machine derived it. */
export function isOwnClientOrderId(id: string): boolean {
  return OWN.test(id);
}

/** A number in [0, 1) from a seed and a name: jitter that a replay repeats, independent of other draws. */
export function drawChance(seed: number, name: string): number {
  const digest = sha256(`${seed}\0${name}`);
  return Number.parseInt(digest.slice(0, 8), 16) / 2 ** 32;
}
