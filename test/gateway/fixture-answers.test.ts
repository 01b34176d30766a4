import { describe, expect, it } from 'vitest';
import { findBadAnswers } from '../../src/gateway/fixture/answers.ts';
import type { Fixture, RecordedExchange } from '../../src/gateway/fixture/fixture.ts';
import { SIMULATED_PROFILE } from '../../src/venue/profile/profile.ts';

function exchange(path: string, body: string, status = 200): RecordedExchange {
  return {
    afterMs: 0,
    tookMs: 0,
    request: { method: 'GET', path, params: {} },
    reply: { kind: 'answer', status, headers: {}, body },
  };
}

describe('invalid answers of a fixture', () => {
  it('are reported by position, with the fault', () => {
    const exchanges: RecordedExchange[] = [
      exchange('/orders', '{"success":true,"error":"","result":[]}'),
      exchange('/orders', '{"success":true,"error":"","result":[{"id":7}]}'),
      exchange('/orders', '{"success":false,"error":"ORDER_NOT_FOUND","result":[]}'),
      exchange('/fills', '<html>'),
      exchange('/markets', '<html>'),
      { ...exchange('/fills', ''), reply: { kind: 'failure', sent: true, message: 'timeout' } },
    ];
    const fixture: Fixture = { recordedAt: 0, startMs: 0, markets: {}, feeds: [], exchanges };
    expect(findBadAnswers(fixture, SIMULATED_PROFILE)).toEqual([
      expect.stringMatching(/^exchange 2: the recorded answer of GET \/orders is not a valid answer .*id/),
      expect.stringMatching(/^exchange 4: the recorded answer of GET \/fills is not a valid answer .*not JSON/),
    ]);
  });
});
