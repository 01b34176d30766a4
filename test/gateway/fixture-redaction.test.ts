import { describe, expect, it } from 'vitest';
import { HIDDEN_JWT, HIDDEN_WALLET, redactText } from '../../src/gateway/fixture/redaction.ts';

describe('redacted text', () => {
  it('hides tokens, keys and wallets by their form', () => {
    expect(redactText('Authorization: Bearer abcdef0123456789')).toBe('Authorization: Bearer [redacted]');
    expect(redactText('x eyJhbGciOi.eyJleHAi.c2ln y')).toBe(`x ${HIDDEN_JWT} y`);
    expect(redactText(`key 0x${'ab'.repeat(32)}!`)).toBe('key [redacted]!');
    expect(redactText('to 0x52908400098527886E0F7030069857D2E4169EE7.')).toBe(`to ${HIDDEN_WALLET}.`);
    expect(redactText('postgres://user:pass@host/db')).toBe('postgres://[redacted]@host/db');
  });

  it('leaves JSON valid and everything else as it was', () => {
    const text = '{"token":"a\\"b","wallet" : "bc1q…","price":"12345678901234567890.10","id":"BTC-USD@1"}';
    expect(redactText(text)).toBe(
      `{"token":"[redacted]","wallet" : "${HIDDEN_WALLET}","price":"12345678901234567890.10","id":"BTC-USD@1"}`,
    );
  });
});
