/** An answer that repeats one of before gives the verdict that it would give alone, and the same records. */
import { expect, it } from 'vitest';
import type { EndpointName } from '../../src/venue/catalogue.ts';
import { SIMULATED_PROFILE } from '../../src/venue/profile/profile.ts';
import { type Answer, type RowReading, readAnswer } from '../../src/venue/wire/answer.ts';
import { AnswerReader } from '../../src/venue/wire/answer-reader.ts';
import { Draws } from '../simulation/draws.ts';

const JSON_TYPE = { 'content-type': 'application/json' };

function makeOrder(id: string, size = '1'): object {
  return {
    id,
    market_id: 'BTC-USD',
    order_type: 'limit',
    side: 'long',
    price: '64000',
    size,
    initial_size: '1',
    total_filled_size: '0',
    status: 'open',
    reason: '',
    profile_id: 1,
    timestamp: 1767600000000000,
    client_order_id: 'a',
    time_in_force: 'good_till_cancel',
  };
}

function makeBody(...result: unknown[]): string {
  return JSON.stringify({ success: true, error: '', result });
}

it('gives the same records for the same bytes, and others for others', () => {
  const reader = new AnswerReader(SIMULATED_PROFILE);
  const read = (body: string) => {
    const verdict = reader.read('GET /orders', { status: 200, headers: JSON_TYPE, body }, 'whole');
    return verdict.kind === 'confirmed' ? verdict.result[0] : undefined;
  };
  const first = read(makeBody(makeOrder('BTC-USD@1')));
  expect(first).toMatchObject({ id: 'BTC-USD@1', size: '1' });
  expect(read(makeBody(makeOrder('BTC-USD@1')))).toBe(first);
  expect(read(makeBody(makeOrder('BTC-USD@1', '0.5')))).toMatchObject({ size: '0.5' });
});

it('judges each answer as if it were the only one', () => {
  const draws = new Draws(11, 'answers');
  const reader = new AnswerReader(SIMULATED_PROFILE);
  const bodies = [
    makeBody(),
    makeBody(makeOrder('BTC-USD@1')),
    makeBody(makeOrder('BTC-USD@2')),
    makeBody(makeOrder('BTC-USD@1'), { id: 'BTC-USD@7' }),
    makeBody('a.b.c'),
    JSON.stringify({ success: false, error: 'RATE_LIMIT_EXCEEDED', result: [] }),
    'not JSON',
  ];
  const names: readonly EndpointName[] = ['GET /orders', 'GET /fills', 'POST /orders', 'POST /jwt', 'DELETE /orders'];
  for (let turn = 0; turn < 3000; turn += 1) {
    const name = draws.of(names);
    const answer: Answer = {
      status: draws.of([200, 200, 200, 401, 302]),
      headers: draws.of([
        JSON_TYPE,
        JSON_TYPE,
        { 'content-type': 'text/html' },
        { ...JSON_TYPE, 'x-ratelimit-remaining': '0', 'x-ratelimit-retry-after': String(draws.within(1, 9)) },
      ]),
      body: draws.of(bodies),
    };
    const rows: RowReading = draws.of(['whole', 'each']);
    expect(reader.read(name, answer, rows)).toEqual(readAnswer(name, answer, SIMULATED_PROFILE, rows));
  }
});

it('keeps no answer to a write: it may carry a session', () => {
  const reader = new AnswerReader(SIMULATED_PROFILE);
  const answer: Answer = { status: 200, headers: JSON_TYPE, body: makeBody('a.b.c') };
  const first = reader.read('POST /jwt', answer, 'whole');
  expect(first.kind).toBe('confirmed');
  expect(reader.read('POST /jwt', answer, 'whole')).not.toBe(first);
});
