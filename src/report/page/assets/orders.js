/** Shows each order's history: every change with its time, its reason and the entry that shows it. */

import { formatOffset } from '../../../base/format.ts';
import { makeChip, makeMore } from './controls.js';
import { element, replace } from './dom.js';
import { formatNumber, formatPlural, getStateTone } from './words.js';

const PAGE = 50;

export function createOrdersTab(_run, { inspect, open }) {
  const list = element('div.orders');
  const tools = element('div.list-tools');
  const money = element('div.money');
  const node = element('div', {}, money, tools, list);
  const unfolded = new Set();
  let limit = PAGE;
  let filter = '';
  let wanted;
  let run;
  return { node, update, show };

  /** Unfolds one order and scrolls to it. */
  function show({ order }) {
    if (order === undefined) return;
    filter = '';
    wanted = order;
    unfolded.add(order);
  }

  function update(next) {
    run = next;
    const position = run.orders.findIndex(({ clientOrderId }) => clientOrderId === wanted);
    limit = Math.max(limit, position + 1);
    const states = [...new Set(run.orders.map(({ state }) => state))];
    if (filter !== '' && !states.includes(filter)) filter = '';
    const fitting = run.orders.filter(({ state }) => filter === '' || state === filter);
    replace(money, drawMoney(run.money));
    replace(
      tools,
      states.length > 1 &&
        element(
          'div.chips',
          { role: 'group', 'aria-label': 'State' },
          ['', ...states].map((state) => {
            const press = () => {
              filter = state;
              update(run);
            };
            const those = state === '' ? run.orders : run.orders.filter((order) => order.state === state);
            return makeChip(state === '' ? 'all' : state, filter === state, press, { count: those.length });
          }),
        ),
    );
    replace(
      list,
      fitting.length === 0 && element('div.empty', {}, element('p', {}, 'The run placed no orders.')),
      fitting.slice(0, limit).map(drawCard),
      makeMore(fitting.length - limit, () => {
        limit += PAGE;
        update(run);
      }),
    );
    if (position >= 0) {
      const card = list.children[position];
      card.scrollIntoView({ block: 'nearest' });
      card.querySelector('summary').focus({ preventScroll: true });
    }
    wanted = undefined;
  }

  function drawCard(order) {
    const {
      clientOrderId,
      orderId,
      market,
      side,
      type,
      price,
      trigger,
      size,
      filled,
      averagePrice,
      state,
      stateMeaning,
      label,
      moves,
      alarms,
      levels,
      fills,
      seq,
      createdAt,
      timeInForce,
      onAmbiguous,
      currency,
      ofPosition,
    } = order;
    const drawMoney = (name, amount) =>
      element('span.figure', {}, element('small', {}, currency === '' ? name : `${name}, ${currency}`), amount ?? '–');
    const isOpen = unfolded.has(clientOrderId) || (run.orders.length <= 3 && !unfolded.has(`-${clientOrderId}`));
    return element(
      'details.order',
      {
        open: isOpen,
        data: { tone: alarms.length > 0 ? 'doubt' : getStateTone(state) },
        on: {
          toggle: (event) => {
            unfolded.delete(event.target.open ? `-${clientOrderId}` : clientOrderId);
            unfolded.add(event.target.open ? clientOrderId : `-${clientOrderId}`);
          },
        },
      },
      element(
        'summary',
        {},
        element('span.pill', { data: { tone: getStateTone(state) }, title: stateMeaning }, state),
        element('span.order-what', {}, element('span.side', { data: { side } }, side), ` ${type} ${market}`),
        element('span.figure', {}, element('small', {}, ofPosition ? 'of the position' : 'size'), size),
        drawMoney('price', price),
        trigger !== undefined && drawMoney('trigger', trigger),
        element('span.figure', {}, element('small', {}, 'filled'), filled),
        drawMoney('average', averagePrice),
        element('span.order-id', {}, label, element('span.id', {}, orderId ?? clientOrderId)),
      ),
      element(
        'div.life',
        {},
        element(
          'ol.moves',
          {},
          drawMove(
            createdAt,
            seq,
            'draft',
            'the run intended it',
            [
              `by step ${label}`,
              timeInForce,
              onAmbiguous === undefined ? undefined : `if its outcome is unclear: ${onAmbiguous}`,
            ]
              .filter(Boolean)
              .join(', '),
          ),
          moves.map(({ at, seq: entry, to, meaning, because, step: asked }) =>
            drawMove(
              at,
              entry,
              to,
              meaning,
              [asked === undefined ? undefined : `requested by ${asked}`, because].filter(Boolean).join('; '),
            ),
          ),
        ),
        alarms.length > 0 &&
          element(
            'ul.alarms',
            {},
            alarms.map(({ seq: entry, at, alarm, meaning, detail }) =>
              element(
                'li',
                {},
                element(
                  'button.link.problem',
                  { type: 'button', on: { click: () => inspect(entry) } },
                  `${formatOffset(at)} ${alarm}`,
                ),
                ` ${meaning ?? ''} ${detail}`,
              ),
            ),
          ),
        fills.length > 0 &&
          element(
            'p.soft',
            {},
            `${formatPlural(fills.length, 'fill')}: `,
            element(
              'span.value',
              {},
              fills
                .slice(0, 12)
                .map((fill) => `${fill.size} at ${fill.price} ${currency} (${formatOffset(fill.at)})`)
                .join(', '),
            ),
            fills.length > 12 && ` and ${formatNumber(fills.length - 12)} more`,
          ),
        levels.length > 1 &&
          element(
            'p.soft',
            {},
            `${formatPlural(levels.length, 'price')}: `,
            element(
              'span.value',
              {},
              levels
                .slice(-12)
                .map((level) => level.price)
                .join(' → '),
            ),
          ),
        element(
          'p.soft',
          {},
          stateMeaning === undefined ? '' : `${run.outcome === undefined ? 'Now' : 'As last seen'}: ${stateMeaning}. `,
          `Client order id ${clientOrderId}. `,
          element(
            'button.link',
            { type: 'button', on: { click: () => open('entries', { order: clientOrderId }) } },
            'Its entries',
          ),
        ),
      ),
    );
  }

  function drawMove(at, seq, to, meaning, because) {
    return element(
      'li',
      { data: { tone: getStateTone(to) } },
      element(
        'button.link.move-at',
        { type: 'button', title: `Entry ${seq}`, on: { click: () => inspect(seq) } },
        formatOffset(at),
      ),
      element('span.move-to', {}, to),
      element('span.move-why', {}, meaning, because !== '' && element('span.soft', {}, `: ${because}`)),
    );
  }
}

const FIGURES = [
  { key: 'position', word: 'position' },
  { key: 'averageEntry', word: 'average entry' },
  { key: 'realized', word: 'realized' },
  { key: 'unrealized', word: 'unrealized' },
  { key: 'fees', word: 'fees' },
  { key: 'net', word: 'net' },
  { key: 'slippage', word: 'slippage' },
  { key: 'maxExposure', word: 'largest exposure' },
  { key: 'maxDrawdown', word: 'largest drawdown' },
];

/** What the run's own fills came to, a row for each market that traded. */
function drawMoney(money) {
  const rows = Object.entries(money).filter(([, { maxExposure }]) => maxExposure !== '0');
  if (rows.length === 0) return false;
  const heads = FIGURES.filter(({ key }) => rows.some(([, figures]) => figures[key] !== undefined));
  const table = element(
    'table.grid-table',
    {},
    element('caption.unseen', {}, 'What the fills came to, by market'),
    element(
      'thead',
      {},
      element(
        'tr',
        {},
        element('th', { scope: 'col' }, 'market'),
        heads.map(({ word }) => element('th.number', { scope: 'col' }, word)),
      ),
    ),
    element(
      'tbody',
      {},
      rows.map(([market, figures]) =>
        element(
          'tr',
          {},
          element('th', { scope: 'row' }, market),
          heads.map(({ key }) => element('td.number', {}, figures[key] ?? '')),
        ),
      ),
    ),
  );
  return element('div.scroll', { tabindex: 0, role: 'region', 'aria-label': 'Money' }, table);
}
