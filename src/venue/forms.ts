/** Checks the forms of the venue's ids (venue-api.md, Conventions). */

const MARKET = /^[A-Za-z0-9._]{1,32}-[A-Za-z0-9._]{1,32}$/;
/** Order ids: <market_id>@<number>. Fill and trade ids: <market_id>-<number>. The number may exceed the safe integers. */
const ORDER_ID = /^([A-Za-z0-9._]{1,32}-[A-Za-z0-9._]{1,32})@\d{1,40}$/;
const FILL_ID = /^([A-Za-z0-9._]{1,32}-[A-Za-z0-9._]{1,32})-\d{1,40}$/;
/** Safe for every venue seen (venue-notes.md, surprise 8). */
const CLIENT_ORDER_ID = /^[A-Za-z0-9_-]{1,50}$/;

export const isMarketId = (text: string): boolean => MARKET.test(text);
export const isOrderId = (text: string): boolean => ORDER_ID.test(text);
export const isFillId = (text: string): boolean => FILL_ID.test(text);
export const isClientOrderId = (text: string): boolean => CLIENT_ORDER_ID.test(text);

/** The market in an order id or a fill id; undefined where the text is neither. */
export function readMarketOfId(id: string): string | undefined {
  return (ORDER_ID.exec(id) ?? FILL_ID.exec(id))?.[1];
}
