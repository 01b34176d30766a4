/**
 * The last filter before anything is written: removes every secret of the process from a text, in any spelling: plain, in
 * JSON, in a URL, in base 64 at any offset. Parts of twelve characters are hidden too, so that a truncated text shows
 * nothing either (ARCHITECTURE.md, I19).
 */
import { mapFields } from '../../base/json.ts';
import { decodePercent } from '../../base/printable.ts';
import type { Transport } from '../transport.ts';
import type { Secret } from './secret.ts';

const PART = 12;
/** Of the secrets that were obtained under one name the newest are filtered: those before have expired, or are spent. */
const KEPT = 16;

export class Redactor {
  private readonly given: readonly Secret[];
  /** The newest last. */
  private obtained: readonly Secret[] = [];
  /** All parts of twelve characters of all spellings. */
  private readonly parts = new Set<string>();
  /** Spellings shorter than a part. */
  private readonly short = new Set<string>();

  constructor(secrets: readonly Secret[] = []) {
    this.given = secrets;
    for (const secret of secrets) this.hide(secret);
  }

  /** Filters `secret` too from now on: one that was rotated or obtained. */
  add(secret: Secret): void {
    const same = this.obtained.filter(({ name }) => name === secret.name);
    const over = same.length < KEPT ? undefined : same[0];
    this.obtained = [...this.obtained.filter((each) => each !== over), secret];
    if (over !== undefined) {
      this.parts.clear();
      this.short.clear();
    }
    for (const each of over === undefined ? [secret] : [...this.given, ...this.obtained]) this.hide(each);
  }

  private hide(secret: Secret): void {
    for (const spelling of splitSecret(secret.reveal()).flatMap(listSpellings)) {
      if (spelling.length < PART) this.short.add(spelling);
      for (let at = 0; at + PART <= spelling.length; at += 1) this.parts.add(spelling.slice(at, at + PART));
    }
  }

  /** Replaces each part of a secret in `text` by `[redacted]`. A JSON text stays JSON. */
  redact(text: string): string {
    let shown = text;
    for (const spelling of this.short) shown = shown.replaceAll(spelling, '[redacted]');
    return this.parts.size === 0 ? shown : this.hideParts(shown);
  }

  private hideParts(text: string): string {
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

/** Redacts answers whole, so that a venue or a gateway that echoes a token, in a header too, cannot get it into the journal. */
export function redactAnswers(inner: Transport, redactor: Redactor): Transport {
  const hide = (text: string) => redactor.redact(text);
  return {
    connect: (withinMs) => inner.connect?.(withinMs),
    async send(request, options) {
      const reply = await inner.send(request, options);
      return reply.kind === 'answer'
        ? { ...reply, headers: mapFields(reply.headers, hide), body: hide(reply.body) }
        : { ...reply, message: hide(reply.message) };
    },
  };
}

/** Selects the secret parts of a URL: scheme, host and user are ordinary words, and hiding them would hide harmless texts. */
function splitSecret(secret: string): readonly string[] {
  if (!/^[a-z][a-z0-9+.-]*:\/\//i.test(secret) || !URL.canParse(secret)) return [secret];
  const { protocol, password, pathname, search, hash } = new URL(secret);
  // The path of a webhook is its key; that of a database is its name.
  const path = protocol.startsWith('http') ? pathname : '';
  const parts = [password, decodePercent(password), `${path}${search}${hash}`];
  return [...new Set(parts)].filter((part) => part.length >= SHORTEST);
}
const SHORTEST = 6;

function listSpellings(secret: string): readonly string[] {
  const encoded = encodeURIComponent(secret);
  return [
    secret,
    JSON.stringify(secret).slice(1, -1),
    encoded,
    // Some programs escape in lower case.
    encoded.replace(/%[0-9A-F]{2}/g, (escaped) => escaped.toLowerCase()),
    Buffer.from(secret).toString('hex'),
    ...[0, 1, 2].flatMap((before) => encodeBase64At(secret, before)),
  ];
}

/** Gives the characters of a base 64 text that come from the secret alone when `before` bytes (mod 3) precede it. */
function encodeBase64At(secret: string, before: number): readonly string[] {
  const bytes = Buffer.concat([Buffer.alloc(before), Buffer.from(secret)]);
  const whole = bytes.subarray(0, bytes.length - (bytes.length % 3)).toString('base64');
  const own = whole.slice(before === 0 ? 0 : 4);
  return own.length < 8 ? [] : [own, own.replaceAll('+', '-').replaceAll('/', '_')];
}
