/** The rows of the steps that read, and of those that change the account or the session. */

import type { Params } from '../../venue/catalogue.ts';
import { SENDS_UNANSWERED } from '../../venue/order/polling.ts';
import { PAGE_ROWS } from '../../venue/order/requests.ts';
import { MOST_PAGES } from '../../venue/pages.ts';
import { ORDER_STATUSES } from '../../venue/records.ts';
import type { StepName, StepOf } from '../checked.ts';
import { ACCOUNT, FILL, makeRecordType, ORDER, TIER } from '../functions/records.ts';
import { INTEGER as INTEGER_TYPE } from '../functions/typing.ts';
import {
  ANYTHING,
  type Fields,
  FREE_NAME_PATTERN,
  fields,
  INTEGER,
  MARKET,
  may,
  need,
  type Shape,
  TEXT,
  TIME,
  value,
  word,
} from '../shapes.ts';
import type { Expr } from '../values.ts';
import { completeOrder } from './confirming.ts';
import { call, given, READING, type StepRow, type Values, WRITE } from './row.ts';

type Args<V extends StepName> = StepOf<V>['args'];

const ORDERS = makeRecordType('Orders', { orders: { kind: 'list', of: ORDER } });
/** With `skip_unread`: a run of an earlier version has no `unread` in its journal, and replays. */
export const READABLE_ORDERS = makeRecordType('ReadableOrders', { ...ORDERS.fields, unread: INTEGER_TYPE });
const FILLS = makeRecordType('Fills', { fills: { kind: 'list', of: FILL } });
const ORDER_OR_ID = { kind: 'value', type: 'any', spelling: 'order or order id' } as const satisfies Shape;
const NOTHING = fields({});

const period = {
  since: may(TIME, 'earliest time; without it the venue reads its whole history, up to ten times slower'),
  until: may(TIME, 'latest time'),
  limit: may(INTEGER, 'most rows, 1 to 1000'),
  page: may(INTEGER, 'page, from 0'),
  sort: may(word('asc', 'desc'), 'order by time', 'desc'),
  all_pages: may({ kind: 'flag' }, 'read further pages until one is not full', 'false'),
} as const satisfies Fields;

/**
 * The part of a listing's parameters that bounds it. Rows move between pages while orders change, so all pages are read oldest
 * first and a repeated record counts once (venue-notes.md, surprise 10).
 */
function makePaging<U>(args: Args<'list_orders'> | Args<'list_fills'>, values: Values<U>) {
  const { allPages } = args;
  return {
    start_time: given(args.since, (expr) => values.time(expr)),
    end_time: given(args.until, (expr) => values.time(expr)),
    p_limit: allPages ? PAGE_ROWS : given(args.limit, (expr) => values.whole(expr)),
    p_page: allPages ? values.page() : given(args.page, (expr) => values.whole(expr)),
    p_order: allPages
      ? ('ASC' as const)
      : given(args.sort, (sort) => (sort === 'asc' ? ('ASC' as const) : ('DESC' as const))),
  };
}

function countPages({ args }: StepOf<'list_orders'> | StepOf<'list_fills'>) {
  return args.allPages ? { min: 1, max: MOST_PAGES, words: 'for each page' } : { min: 1, max: 1 };
}

type Status = Params<'GET /orders'>['status'];

export const READING_STEPS = {
  set_leverage: {
    group: 'venue',
    summary: 'Sets the leverage of a market.',
    takes: fields({ market: need(MARKET, 'market id'), leverage: need(INTEGER, 'whole number, 1 to 20') }),
    calls: [
      call('set_leverage', 'PUT /account/leverage', {
        sends: () => SENDS_UNANSWERED,
        class: 'enter',
        params: (args, values) => ({ market_id: values.text(args.market), leverage: values.whole(args.leverage) }),
      }),
    ],
    retry: 'write',
    risk: 'increases',
    yields: ACCOUNT,
    yieldsDoc: 'the account record after the change',
    modifiers: WRITE,
    say: (args: Args<'set_leverage'>) => `${args.leverage.text} in ${args.market.text}`,
  },
  read_account: {
    ...READING,
    summary: 'Reads the account record.',
    takes: NOTHING,
    calls: [call('read_account', 'GET /account', { class: 'read', params: () => ({}) })],
    yields: ACCOUNT,
    yieldsDoc: 'the account record',
  },
  read_tier: {
    ...READING,
    summary: 'Reads the volume tier.',
    takes: NOTHING,
    calls: [call('read_tier', 'GET /profile', { class: 'read', params: () => ({}) })],
    yields: TIER,
    yieldsDoc: 'the tier status record',
  },
  list_orders: {
    ...READING,
    summary: 'Lists orders of the account.',
    takes: fields(
      {
        market: may(MARKET, 'only this market'),
        status: may(value({ kind: 'text', of: ORDER_STATUSES }, 'text'), 'only this status'),
        order: may(ORDER_OR_ID, 'only this order'),
        client_order_id: may(TEXT, 'only this client order id; needs market'),
        skip_unread: may(
          { kind: 'flag' },
          'leave out the rows of other programs that cannot be read, and count them; without it one fails the step; not beside `order` or `client_order_id`',
          'false',
        ),
        ...period,
      },
      {
        // Whatever the row of an order shows that was asked for, it is that order.
        atMostOne: [
          ['order', 'skip_unread'],
          ['client_order_id', 'skip_unread'],
        ],
        together: { client_order_id: 'market' },
        codes: { client_order_id: 'lookup-without-market' },
      },
    ),
    calls: [
      call('list_orders', 'GET /orders', {
        class: 'read',
        params: <U>(args: Args<'list_orders'>, values: Values<U>) => ({
          market_id: given(args.market, (expr) => values.text(expr)),
          status: given(args.status, (expr) => values.text(expr) as Status | U),
          order_id: given(args.order, (expr) => values.orderId(expr)),
          client_order_id: given(args.clientOrderId, (expr) => values.text(expr)),
          ...makePaging(args, values),
        }),
        times: countPages,
      }),
    ],
    // Orders of this run in the list are completed like every order that a step hands out.
    otherwise: completeOrder('list_orders', (_args, values) => values.each(undefined), {
      rounds: (_step, { placed }) => placed,
    }),
    yields: ORDERS,
    yieldsDoc: '`orders`: the list, and `unread` where `skip_unread` is set: how many rows that left out',
  },
  list_fills: {
    ...READING,
    summary: 'Lists fills of the account, or those of one order.',
    takes: fields({ market: may(MARKET, 'only this market'), order: may(ORDER_OR_ID, 'only this order'), ...period }),
    calls: [
      call('list_fills', 'GET /fills', {
        class: 'read',
        applies: ({ args }) => args.order === undefined,
        params: (args, values) => ({
          market_id: given(args.market, (expr) => values.text(expr)),
          ...makePaging(args, values),
        }),
        times: countPages,
      }),
      call('list_fills', 'GET /fills/order', {
        class: 'read',
        applies: ({ args }) => args.order !== undefined,
        params: (args, values) => ({ order_id: values.orderId(args.order as Expr) }),
      }),
    ],
    yields: FILLS,
    yieldsDoc: '`fills`: the list',
  },
  refresh_session: {
    ...READING,
    summary: 'Obtains a new JWT. The engine also does this by itself when it is needed.',
    takes: NOTHING,
    // The gateway inserts the refresh token; it never passes through the engine or the journal.
    calls: [
      call('refresh_session', 'POST /jwt', {
        class: 'protect',
        sends: () => SENDS_UNANSWERED,
        params: () => ({ is_client: true, refresh_token: '' }),
      }),
    ],
    yields: 'nothing',
    yieldsDoc: 'nothing',
  },
  request: {
    ...READING,
    summary: 'Calls a read-only endpoint that the profile declares.',
    takes: fields({
      name: need(
        { kind: 'text', pattern: FREE_NAME_PATTERN, accepts: 'the name of a request of the profile' },
        'name of the request in the profile',
      ),
      with: may({ kind: 'names', of: ANYTHING }, 'its parameters'),
    }),
    // No `calls`: its endpoint is one of the profile, not of the catalogue.
    yields: 'computed',
    yieldsDoc: 'the result, of the type the profile declares',
    say: (args: Args<'request'>) => args.name,
  },
} as const satisfies Partial<Record<StepName, StepRow>>;
