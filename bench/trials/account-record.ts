/** What GET /account answers with no position, as text: what each call of a peer parses. */
export const ACCOUNT_RECORD = JSON.stringify({
  id: '1',
  wallet: '0x0000000000000000000000000000000000000000',
  status: 'active',
  balance: '50000.00',
  account_equity: '50000.00',
  total_position: '0',
  total_notional: '0',
  total_order_notional: '0',
  withdrawable_balance: '50000.00',
  cum_unrealized_pnl: '0',
  health: '100.00',
  account_leverage: '0',
  cum_trading_volume: '0',
  leverage: { 'BTC-USD': '3' },
  last_liq_check: 0,
  positions: [],
});
