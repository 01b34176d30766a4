import { describe, expect, it } from 'vitest';
import { HIDDEN_JWT, HIDDEN_WALLET, redactedText } from '../../src/gateway/fixture-redaction.ts';

describe('redacted text', () => {
  const secret = 's3cr3t/with+"quotes"';
  const spelled = {
    'as it is': secret,
    'in JSON': JSON.stringify({ a: secret }),
    'in a URL': `https://x/?t=${encodeURIComponent(secret)}`,
    'in base 64': Buffer.from(secret).toString('base64'),
    'in base 64 for URLs': Buffer.from(secret).toString('base64url'),
  };
  it.each(Object.entries(spelled))('hides a known secret %s', (_name, text) => {
    const hidden = redactedText(text, [secret]);
    expect(hidden).toContain('hidden');
    for (let at = 0; at + 12 <= secret.length; at += 1) expect(hidden).not.toContain(secret.slice(at, at + 12));
  });

  it('hides tokens, keys and wallets by their form', () => {
    expect(redactedText('Authorization: Bearer abcdef0123456789')).toBe('Authorization: Bearer hidden');
    expect(redactedText('x eyJhbGciOi.eyJleHAi.c2ln y')).toBe(`x ${HIDDEN_JWT} y`);
    expect(redactedText(`key 0x${'ab'.repeat(32)}!`)).toBe('key hidden!');
    expect(redactedText('to 0x52908400098527886E0F7030069857D2E4169EE7.')).toBe(`to ${HIDDEN_WALLET}.`);
    expect(redactedText('postgres://user:pass@host/db')).toBe('postgres://hidden@host/db');
  });

  it('leaves JSON valid and everything else as it was', () => {
    const text = '{"token":"a\\"b","wallet" : "bc1q…","price":"12345678901234567890.10","id":"BTC-USD@1"}';
    expect(redactedText(text)).toBe(
      `{"token":"hidden","wallet" : "${HIDDEN_WALLET}","price":"12345678901234567890.10","id":"BTC-USD@1"}`,
    );
  });

  it('does not tear texts apart for a secret of a few letters', () => {
    expect(redactedText('the order is open', ['the', 'o'])).toBe('the order is open');
  });
});
