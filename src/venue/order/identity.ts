/**
 * Names that must come out the same whenever they are made: client order ids are a pure function of the intent
 * (ARCHITECTURE.md, I6), so that a process that died can find its orders again, and no two intents share one.
 */
import { sha256 } from '../../base/digest.ts';

/** Marks every order of this program, so that a scan of the venue's list finds them although the journal were lost. */
export const CLIENT_ORDER_PREFIX = 'rb';

const BASE32 = 'abcdefghijklmnopqrstuvwxyz234567';

/** 22 characters of `[a-z0-9]`, and the author's tag behind a dash; at most 50 in all (venue-notes.md, surprise 8). */
export function clientOrderId(intent: {
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

/** A number in [0, 1) from a seed and a name: jitter that a replay draws again whatever else was drawn. */
export function chance(seed: number, name: string): number {
  const digest = sha256(`${seed}\0${name}`);
  return Number.parseInt(digest.slice(0, 8), 16) / 2 ** 32;
}
