import fc from 'fast-check';
import { isLosslessNumber, parse } from 'lossless-json';
import { describe, expect, it } from 'vitest';
import { ENDPOINT_NAMES } from '../../src/venue/catalogue.ts';
import { SIMULATED_PROFILE } from '../../src/venue/profile/profile.ts';
import { computeDigest, encodeBody, encodeQuery, readJson, toWireRequest } from '../../src/venue/wire/request.ts';

const LIMIT = {
  market_id: 'BTC-USD',
  side: 'long',
  size: '0.10',
  type: 'limit',
  price: '64264.200000000000000001',
  client_order_id: 'rbabc-1',
  time_in_force: 'post_only',
};

describe('wireRequest', () => {
  it('writes parameters in the order of the catalogue, decimals digit for digit, and leaves out what is absent', () => {
    const request = toWireRequest('POST /orders', { ...LIMIT, trigger_price: undefined }, SIMULATED_PROFILE);
    expect(encodeBody(request)).toBe(
      '{"market_id":"BTC-USD","price":64264.200000000000000001,"side":"long","size":0.10,"type":"limit","client_order_id":"rbabc-1","time_in_force":"post_only"}',
    );
    expect(encodeQuery(request)).toBe('');
  });

  it('puts the parameters of a GET into the query, encoded, and gives it no body', () => {
    const request = toWireRequest(
      'GET /orders',
      { order_id: 'BTC-USD@1859', p_limit: 1000, start_time: 1748776162875466 },
      SIMULATED_PROFILE,
    );
    expect(encodeQuery(request)).toBe('order_id=BTC-USD%401859&start_time=1748776162875466&p_limit=1000');
    expect(encodeBody(request)).toBe('');
  });

  it('sends an empty JSON object beside parameters in the query, where the profile says so', () => {
    const settings = {
      ...SIMULATED_PROFILE,
      encoding: { ...SIMULATED_PROFILE.encoding, 'POST /cancel_all_after': 'query' as const },
    };
    const request = toWireRequest('POST /cancel_all_after', { market_id: 'BTC-USD', timeout: 60000 }, settings);
    expect([encodeQuery(request), encodeBody(request)]).toEqual(['market_id=BTC-USD&timeout=60000', '{}']);
  });

  it('encodes whatever a key or a text of the query has', () => {
    const text = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.string({ unit: fc.constantFrom(..."aZ9-_.!~*'()&=%+ \n#é") }),
    );
    fc.assert(
      fc.property(text, text, (key, value) => {
        const params = { [key]: { as: 'text', text: value }, id: { as: 'text', text: value } } as const;
        const query = encodeQuery({
          endpoint: 'GET /orders',
          method: 'GET',
          path: '/orders',
          placement: 'query',
          params,
        });
        expect(new Set(query.split('&'))).toEqual(
          new Set(Object.keys(params).map((each) => `${encodeURIComponent(each)}=${encodeURIComponent(value)}`)),
        );
      }),
    );
  });

  it('sends an empty JSON object for a DELETE without parameters', () => {
    expect(encodeBody(toWireRequest('DELETE /orders/cancel_all', {}, SIMULATED_PROFILE))).toBe('{}');
  });

  it('spells position orders as the deployment does, and no others', () => {
    const positionOrders = {
      sizeField: 'size_percent',
      shownSize: 'fraction',
      types: { stop_loss: 'stop_loss_limit', take_profit: 'take_profit' },
    } as const;
    const settings = { ...SIMULATED_PROFILE, positionOrders };
    const stop = {
      market_id: 'BTC-USD',
      side: 'short',
      size: '0.5',
      type: 'stop_loss',
      price: '90',
      trigger_price: '91',
    };
    expect(encodeBody(toWireRequest('POST /orders', stop, settings))).toBe(
      '{"market_id":"BTC-USD","price":90,"side":"short","size_percent":0.5,"type":"stop_loss_limit","trigger_price":91}',
    );
    expect(encodeBody(toWireRequest('POST /orders', LIMIT, settings))).toContain('"size":0.10,"type":"limit"');
  });

  it.each([['1e-7'], ['.5'], ['1.'], ['+1'], ['NaN'], [''], ['0x10']])(
    'refuses %s as a decimal: it is our mistake',
    (price) => {
      expect(() => toWireRequest('POST /orders', { ...LIMIT, price }, SIMULATED_PROFILE)).toThrow(TypeError);
    },
  );

  it('refuses a JavaScript number as a decimal', () => {
    expect(() => toWireRequest('POST /orders', { ...LIMIT, price: 64264.2 }, SIMULATED_PROFILE)).toThrow(
      /^price .* decimal: found number/,
    );
  });

  it('gives every endpoint a placement of its parameters', () => {
    expect(ENDPOINT_NAMES.map((name) => SIMULATED_PROFILE.encoding[name])).not.toContain(undefined);
  });

  it('writes any decimal so that it reads back to the digit, without an exponent', () => {
    const digits = fc.stringMatching(/^(0|[1-9]\d{0,35})(\.\d{1,36})?$/);
    fc.assert(
      fc.property(digits, digits, (price, size) => {
        const body = encodeBody(toWireRequest('POST /orders', { ...LIMIT, price, size }, SIMULATED_PROFILE));
        const read = parse(body) as Record<string, unknown>;
        const literals = [read['price'], read['size']].map((value) => isLosslessNumber(value) && value.value);
        expect(literals).toEqual([price, size]);
        expect(body).not.toMatch(/:-?[\d.]+[eE]/);
      }),
    );
  });

  it('keeps any text in its place, whatever it holds', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme-composite', maxLength: 20 }), (text) => {
        const request = toWireRequest('POST /jwt', { is_client: true, refresh_token: text }, SIMULATED_PROFILE);
        expect(parse(encodeBody(request))).toEqual({ is_client: true, refresh_token: text });
      }),
    );
  });
});

describe('digestOf', () => {
  it('is the sha256 of the bytes that carry the parameters', () => {
    expect(computeDigest(toWireRequest('DELETE /orders/cancel_all', {}, SIMULATED_PROFILE))).toBe(
      '44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a',
    );
  });

  it('distinguishes 0.1 from 0.10: all attempts of an intent have the same bytes', () => {
    const digests = ['0.1', '0.10'].map((size) =>
      computeDigest(toWireRequest('POST /orders', { ...LIMIT, size }, SIMULATED_PROFILE)),
    );
    expect(new Set(digests).size).toBe(2);
  });
});

describe('readJson', () => {
  const limits = { maxLength: 200, maxDepth: 3, maxValues: 20 };

  it('keeps every number as the text it came as', () => {
    const { value } = readJson('{"a":12345678901234567890.1234567890123456789,"b":1e-7}') as {
      value: Record<string, { value: string }>;
    };
    expect([value['a']?.value, value['b']?.value]).toEqual(['12345678901234567890.1234567890123456789', '1e-7']);
  });

  it('keeps whole numbers of any length, and uses the faster parser only while it is exact', () => {
    const digits = fc.stringMatching(/^(?:0|-?[1-9]\d{0,19})$/);
    fc.assert(
      fc.property(fc.array(digits, { maxLength: 4 }), (literals) => {
        const { value } = readJson(`[${literals.join(',')}]`) as { value: readonly { value: string }[] };
        expect(value.map((each) => each.value)).toEqual(literals);
      }),
    );
  });

  it.each([
    ['[[[[1]]]]', 'nested more than 3 levels deep'],
    [`[${'1,'.repeat(30)}1]`, 'more than 20 values'],
    [`"${'x'.repeat(300)}"`, expect.stringMatching(/302 characters.* 200 /)],
    ['{"a":1} x', 'not JSON'],
    ['{"a":1', 'not JSON'],
    ['', 'not JSON'],
    ['{"a":NaN}', 'not JSON'],
    ['{"a":1.5,"a":2}', 'not JSON'],
    ['{"a":1,"a":2}', 'an object names a key twice'],
    ['{"a":1,"a":1}', 'an object names a key twice'],
  ])('refuses %s', (text, problem) => {
    expect(readJson(text, limits)).toEqual({ problem });
  });

  it('does not take brackets, colons and quotes inside texts for structure', () => {
    expect(readJson('{"a":"[[[[[{\\"b\\":1,,,"}', limits)).toEqual({ value: { a: '[[[[[{"b":1,,,' } });
  });

  it('reads a hundred thousand opening brackets without a stack overflow', () => {
    expect(readJson('['.repeat(100_000))).toEqual({ problem: 'nested more than 16 levels deep' });
  });

  it('keeps an own __proto__ key a key', () => {
    const { value } = readJson('{"__proto__":{"polluted":true}}') as { value: object };
    expect(Object.keys(value)).toEqual(['__proto__']);
    expect(({} as Record<string, unknown>)['polluted']).toBeUndefined();
  });

  it('never throws, whatever the text', () => {
    const texts = fc.oneof(fc.json({ maxDepth: 3 }), fc.string({ unit: 'grapheme-ascii', maxLength: 40 }));
    fc.assert(
      fc.property(texts, fc.nat(60), (text, cut) => {
        const read = readJson(text.slice(0, cut));
        if (read.problem === undefined) expect(() => JSON.parse(text.slice(0, cut)) as unknown).not.toThrow();
        else expect(read.problem).not.toBe('');
      }),
    );
  });
});
