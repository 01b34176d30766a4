/**
 * The last filter before anything is written: takes every secret the process holds out of a text, in whatever spelling it
 * got there: as it is, in JSON, in a URL, in base 64 at any place. A part of twelve characters is hidden too, so that a text
 * cut short shows nothing either (ARCHITECTURE.md, I19).
 */
import type { Secret } from './secret.ts';

const PART = 12;

export class Redactor {
  /** Every part of twelve characters of every spelling. */
  private readonly parts = new Set<string>();
  /** Spellings shorter than a part. */
  private readonly short = new Set<string>();

  constructor(secrets: readonly Secret[] = []) {
    for (const secret of secrets) this.add(secret);
  }

  /** Also filters `secret` from now on: one that was rotated or obtained. */
  add(secret: Secret): void {
    for (const spelling of secretParts(secret.reveal()).flatMap(spellings)) {
      if (spelling.length < PART) this.short.add(spelling);
      for (let at = 0; at + PART <= spelling.length; at += 1) this.parts.add(spelling.slice(at, at + PART));
    }
  }

  /** `text` with `[redacted]` in the place of each run that belongs to a secret. A JSON text stays one. */
  redact(text: string): string {
    let shown = text;
    for (const spelling of this.short) shown = shown.replaceAll(spelling, '[redacted]');
    return this.parts.size === 0 ? shown : this.withoutParts(shown);
  }

  private withoutParts(text: string): string {
    let out = '';
    let copied = 0;
    let hiddenUntil = 0;
    for (let at = 0; at + PART <= text.length; at += 1) {
      if (!this.parts.has(text.slice(at, at + PART))) continue;
      if (at > hiddenUntil || hiddenUntil === 0) out += `${text.slice(copied, at)}[redacted]`;
      hiddenUntil = at + PART;
      copied = hiddenUntil;
    }
    return out + text.slice(copied);
  }
}

/** Of a URL what is secret in it: scheme, host and user are ordinary words, and hiding them would hide harmless texts. */
function secretParts(secret: string): readonly string[] {
  if (!/^[a-z][a-z0-9+.-]*:\/\//i.test(secret) || !URL.canParse(secret)) return [secret];
  const { protocol, password, pathname, search, hash } = new URL(secret);
  // The path of a webhook is its key; that of a database is its name.
  const path = protocol.startsWith('http') ? pathname : '';
  const parts = [password, decodeURIComponent(password), `${path}${search}${hash}`];
  return [...new Set(parts)].filter((part) => part.length >= SHORTEST);
}
const SHORTEST = 6;

function spellings(secret: string): readonly string[] {
  const encoded = encodeURIComponent(secret);
  return [
    secret,
    JSON.stringify(secret).slice(1, -1),
    encoded,
    // Some writers use small letters in what they escape.
    encoded.replace(/%[0-9A-F]{2}/g, (escaped) => escaped.toLowerCase()),
    Buffer.from(secret).toString('hex'),
    ...[0, 1, 2].flatMap((before) => base64Within(secret, before)),
  ];
}

/** The characters of a base 64 text that come from the secret alone, when `before` bytes (mod 3) stand in front of it. */
function base64Within(secret: string, before: number): readonly string[] {
  const bytes = Buffer.concat([Buffer.alloc(before), Buffer.from(secret)]);
  const whole = bytes.subarray(0, bytes.length - (bytes.length % 3)).toString('base64');
  const own = whole.slice(before === 0 ? 0 : 4);
  return own.length < 8 ? [] : [own, own.replaceAll('+', '-').replaceAll('/', '_')];
}
