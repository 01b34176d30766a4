import { describe, expect, it } from 'vitest';
import { decimal } from '../../src/base/decimal.ts';
import { CALM, moving, SimulatedVenue, START_MS, total } from './harness.ts';

describe('GET /account', () => {
  it('shows an account at rest, with the leverage of each market', async () => {
    const venue = new SimulatedVenue({ ...CALM, account: { equity: '18234.10' } });
    const said = await venue.call('GET /account', {});
    expect(said.result).toEqual([
      {
        id: 88892,
        status: 'active',
        profile_type: 'trader',
        wallet: '0x51mu1a7ed',
        balance: '18234.1',
        withdrawable_balance: '18234.1',
        account_equity: '18234.1',
        account_leverage: '0',
        account_margin: '0',
        health: '1',
        cum_trading_volume: '0',
        cum_unrealized_pnl: '0',
        total_notional: '0',
        total_order_margin: '0',
        total_position_margin: '0',
        last_liq_check: START_MS * 1000,
        last_update: START_MS * 1000,
        leverage: { 'BTC-USD': '5', 'ETH-USD': '5' },
      },
    ]);
  });

  it('adds up to the last digit with a position, a working order and a fee', async () => {
    const venue = new SimulatedVenue(moving([0, '64000'], [60, '64333']));
    await venue.place({ type: 'market', price: '64010', size: '0.1' });
    await venue.place({ price: '63000', size: '0.3' });
    await venue.until(60_500);
    const account = await venue.account();
    // One level at 64001: fee 64001 x 0.1 x 0.0005.
    expect(account).toMatchObject({
      balance: total(['100000', '-3.20005']),
      cum_unrealized_pnl: '33.2',
      account_equity: total(['100000', '-3.20005', '33.2']),
      total_notional: '6433.3',
      total_position_margin: '1286.66',
      total_order_margin: '3780',
      account_margin: '5066.66',
      withdrawable_balance: total(['100000', '-3.20005', '33.2', '-5066.66']),
      cum_trading_volume: '6400.1',
    });
    expect(decimal(account.health).lessThan(1)).toBe(true);
  });

  it('books the profit of a closed position through a reversal, and is flat afterwards', async () => {
    const venue = new SimulatedVenue({
      ...moving([0, '64000'], [60, '65000'], [120, '64000']),
      account: { equity: '100000', fees: { maker: '0', taker: '0' } },
    });
    await venue.place({ type: 'market', price: '70000', size: '0.1' });
    await venue.until(60_500);
    await venue.place({ type: 'market', side: 'short', price: '60000', size: '0.2' });
    await venue.until(120_500);
    await venue.place({ type: 'market', price: '70000', size: '0.1' });
    await venue.pass(100);
    const account = await venue.account();
    // Bought at 64001, sold at 64999 and 64998 (two levels), bought back at 64001.
    expect(account.balance).toBe(total(['100000', '99.8', '99.7']));
    expect(account).toMatchObject({
      account_equity: account.balance,
      total_position_margin: '0',
      total_order_margin: '0',
      cum_unrealized_pnl: '0',
    });
  });

  it('keeps equity equal to balance plus open profit when a part of the cost cannot be divided evenly', async () => {
    const positions = [
      { market: 'BTC-USD', size: '0.0002', price: '63001', agoMs: 2000 },
      { market: 'BTC-USD', size: '0.0001', price: '63000', agoMs: 1000 },
    ];
    const venue = new SimulatedVenue({ ...CALM, account: { equity: '100000', positions } });
    const before = await venue.account();
    await venue.place({ type: 'market', side: 'short', price: '60000', size: '0.0001' });
    await venue.pass(100);
    const after = await venue.account();
    // A third of the cost of 18.9002 is 6.30006667, rounded; it sold for 6.3999, and the fee was 0.00319995.
    expect(after.balance).toBe(total([before.balance, '6.3999', '-6.30006667', '-0.00319995']));
    // 63999 instead of the mark of 64000, and the fee: that is all that may change.
    expect(after.account_equity).toBe(total([before.account_equity, '-0.0001', '-0.00319995']));
    expect(after.account_equity).toBe(total([after.balance, after.cum_unrealized_pnl]));
  });
});

describe('PUT /account/leverage', () => {
  it('sets the leverage of one market and answers with the account', async () => {
    const venue = new SimulatedVenue();
    const said = await venue.call('PUT /account/leverage', { market_id: 'BTC-USD', leverage: 3 });
    expect(said.result[0]?.leverage).toEqual({ 'BTC-USD': '3', 'ETH-USD': '5' });
  });

  it.each([0, 21])('refuses leverage %i', async (leverage) => {
    const venue = new SimulatedVenue();
    expect(await venue.call('PUT /account/leverage', { market_id: 'BTC-USD', leverage })).toMatchObject({
      success: false,
      error: 'INVALID_PARAMETER',
    });
  });

  it('allows the maximum of the account', async () => {
    const venue = new SimulatedVenue({ ...CALM, account: { maxLeverage: 50 } });
    expect((await venue.call('PUT /account/leverage', { market_id: 'BTC-USD', leverage: 50 })).success).toBe(true);
  });

  it('refuses a leverage that the equity could not carry, and leaves the old one', async () => {
    const venue = new SimulatedVenue({
      ...CALM,
      account: { equity: '10000', positions: [{ market: 'BTC-USD', size: '0.5', price: '64000', agoMs: 1000 }] },
    });
    expect(await venue.call('PUT /account/leverage', { market_id: 'BTC-USD', leverage: 1 })).toMatchObject({
      success: false,
      error: 'INSUFFICIENT_MARGIN',
    });
    expect((await venue.account()).leverage['BTC-USD']).toBe('5');
  });
});

describe('POST /jwt', () => {
  const EXPIRING = { ...CALM, auth: { lifeMs: 60_000 } };
  /** What the venue sends: a list of one, a text or an object. */
  const refreshed = async (venue: SimulatedVenue, refresh_token = 'anything') => {
    const said = await venue.call('POST /jwt', { is_client: true, refresh_token });
    return said.result as unknown as readonly [string & { readonly refresh_token: string }];
  };

  it('renews the session of a transport whose token has run out', async () => {
    const venue = new SimulatedVenue(EXPIRING);
    expect((await venue.call('GET /account', {})).success).toBe(true);
    await venue.until(60_001);
    expect(await venue.call('GET /account', {})).toMatchObject({ status: 401, success: false, error: 'JWT_EXPIRED' });
    expect(await refreshed(venue)).toEqual([expect.stringMatching(/^[\w-]+\.[\w-]+\.simulated$/)]);
    expect((await venue.call('GET /account', {})).success).toBe(true);
  });

  it('puts the end of its life into the token', async () => {
    const venue = new SimulatedVenue(EXPIRING);
    const [token] = await refreshed(venue);
    const claims = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString());
    expect(claims).toMatchObject({ iat: START_MS / 1000, exp: START_MS / 1000 + 60 });
  });

  it('spends a refresh token that rotates, and gives the next one', async () => {
    const venue = new SimulatedVenue({ ...CALM, auth: { rotate: true, refreshToken: 'first' } });
    const refresh = (refresh_token: string) => venue.call('POST /jwt', { is_client: true, refresh_token });
    const [{ refresh_token: next }] = await refreshed(venue, 'first');
    expect(await refresh('first')).toMatchObject({ status: 401, success: false, error: 'INVALID_REFRESH_TOKEN' });
    expect((await refresh(next)).success).toBe(true);
    expect(venue.simulator.books().requests.map((request) => request.params['refresh_token'])).toEqual([
      '[redacted]',
      '[redacted]',
      '[redacted]',
    ]);
  });

  it('accepts the token of the credentials, and no other where only issued ones are valid', async () => {
    let token: string | undefined;
    const venue = new SimulatedVenue({ ...CALM, auth: { accept: 'issued' } }, 1, { token: () => token });
    expect(await venue.call('GET /account', {})).toMatchObject({ status: 401, error: 'UNAUTHORIZED' });
    token = 'made-up';
    expect(await venue.call('GET /account', {})).toMatchObject({ status: 401, error: 'UNAUTHORIZED' });
    [token] = await refreshed(venue);
    expect((await venue.call('GET /account', {})).success).toBe(true);
  });
});

describe('API-key signing', () => {
  it('accepts the signature of the notes, and refuses it for another body or after it has expired', async () => {
    const config = { ...CALM, auth: { mode: 'api_key' as const, apiKey: { key: 'k', secret: '0xdeadbeef' } } };
    const venue = new SimulatedVenue(config, 1, undefined, 1_700_000_290_000);
    const signed = async (size: string) => {
      const reply = await venue.serve({
        method: 'POST',
        path: '/orders',
        query: '',
        headers: {
          'rbt-api-key': 'k',
          'rbt-ts': '1700000300',
          'rbt-signature': '0x5085330e0988cf691b89665a645bc08670d149db58f5bb36496ea33b1f03f219',
        },
        body: `{"market_id":"BTC-USD","price":19800,"side":"long","size":${size},"type":"limit","client_order_id":"abc-1","time_in_force":"post_only"}`,
      });
      return reply.kind === 'answer' ? JSON.parse(reply.body).error : reply;
    };
    expect(await signed('0.45')).toBe('');
    expect(await signed('0.450')).toBe('INVALID_SIGNATURE');
    await venue.pass(10_000);
    expect(await signed('0.45')).toBe('SIGNATURE_EXPIRED');
  });
});
