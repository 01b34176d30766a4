/**
 * Guesses whether a text is a secret that was written where none belongs. It prefers false alarms: a profile with a token in it
 * gets copied, committed and mailed. It does not find short passwords and does not know any secret.
 */

const JWT = /eyJ[\w-]{8,}\.[\w-]{4,}/;
const LONG_HEX = /(?:^|[^0-9A-Za-z])(?:0x)?[0-9a-fA-F]{32,}(?:$|[^0-9A-Za-z])/;
const PRIVATE_KEY = /-----BEGIN [A-Z ]*PRIVATE KEY-----/;
/** Of Ed25519: in the form of OpenSSH, and in DER. Their first bytes say that they are public. */
const PUBLIC_KEY = /(?:AAAAC3NzaC1lZDI1NTE5AAAAI|MCowBQYDK2VwAyEA)[A-Za-z0-9+/]{43}=?/;
const CREDENTIALS_IN_URL = /\w+:\/\/[^\s/@:]*:[^\s/@]+@/;
/** Runs that a token could be made of. */
const RUN = /[A-Za-z0-9+_=-]{20,}/g;

/** A run of mixed letters and digits with at least this many bits per character counts as random; words and ids have fewer. */
const RANDOM_BITS = 3.7;

export function looksSecret(given: string): boolean {
  const text = given.replace(PUBLIC_KEY, '');
  if (JWT.test(text) || LONG_HEX.test(text) || PRIVATE_KEY.test(text) || CREDENTIALS_IN_URL.test(text)) return true;
  return (text.match(RUN) ?? []).some(looksRandom);
}

function looksRandom(run: string): boolean {
  const mixed = /[a-z]/.test(run) && /[A-Z]/.test(run) && /\d/.test(run);
  return mixed && computeBitsPerCharacter(run) >= RANDOM_BITS;
}

function computeBitsPerCharacter(text: string): number {
  const counts = new Map<string, number>();
  for (const character of text) counts.set(character, (counts.get(character) ?? 0) + 1);
  let bits = 0;
  for (const count of counts.values()) bits -= (count / text.length) * Math.log2(count / text.length);
  return bits;
}
