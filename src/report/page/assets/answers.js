/**
 * Lays out the six answers for a reviewer, in the words of the server. Each reason links to the entry that shows it.
 */
import { element } from './dom.js';
import { formatNumber, getStateTone } from './words.js';

const MARKS = { good: '✓', doubt: '!', bad: '✕' };
const NAMES = { good: 'no problem', doubt: 'worth a look', bad: 'a problem' };
/** Reasons of an answer that are shown unfolded. */
const MOST_REASONS = 7;

/** `tools.unfolded`: the parts that were opened; `tools.isNarrow`: there is room for the answers alone. */
export function drawAnswers(run, tools) {
  return run.answers.map((answer) => drawCard(answer, run, tools));
}

function drawCard(answer, run, tools) {
  const { question, tone, said } = answer;
  const details = [drawOrderLines(answer, run, tools), drawReasons(answer, tools), drawLinks(answer, run, tools)];
  return element(
    'article.answer',
    { data: { tone } },
    element(
      'h2',
      {},
      question,
      MARKS[tone] !== undefined &&
        element(
          'span.mark',
          { title: NAMES[tone] },
          element('span', { 'aria-hidden': 'true' }, MARKS[tone]),
          element('span.unseen', {}, NAMES[tone]),
        ),
    ),
    // A narrow screen has room for the six answers, not for their reasons.
    tools.isNarrow
      ? makeFoldable(question, element('summary.said', {}, said), details, tools)
      : [element('p.said', {}, said), details],
  );
}

/** Parts that were opened stay open when the answers are drawn again. */
function makeFoldable(key, summary, content, { unfolded }) {
  const toggle = ({ target }) => (target.open ? unfolded.add(key) : unfolded.delete(key));
  return element('details', { open: unfolded.has(key), on: { toggle } }, summary, content);
}

function drawReasons({ question, because }, tools) {
  const rest = because.slice(MOST_REASONS);
  return [
    drawFacts(because.slice(0, MOST_REASONS), tools),
    rest.length > 0 &&
      makeFoldable(
        `${question} more`,
        element('summary.more', {}, `and ${rest.length} more`),
        drawFacts(rest, tools),
        tools,
      ),
  ];
}

function drawFacts(list, tools) {
  return element(
    'dl',
    {},
    list.map((reason) =>
      element(
        'div',
        {},
        element('dt', {}, reason.term),
        element('dd', { data: { tone: reason.tone } }, drawReason(reason, tools)),
      ),
    ),
  );
}

function drawReason({ term, text, entry, share, awaited }, { inspect }) {
  return [
    markInstants(text),
    awaited !== undefined && [', in ', element('span.left', { data: { until: awaited.at, of: awaited.ofMs } })],
    entry !== undefined && [
      ' ',
      element(
        'button.link.entry',
        { type: 'button', 'aria-label': `Entry ${entry}: ${term} ${text}`, on: { click: () => inspect(entry) } },
        `entry ${entry}`,
      ),
    ],
    share !== undefined && drawMeter(share),
  ];
}

/** Wraps each instant in an element, so that it is not broken over two lines. */
function markInstants(text) {
  return text
    .split(/(\d{4}-\d\d-\d\dT[\d:.]+Z)/)
    .map((part, index) => (index % 2 === 1 ? element('time', { datetime: part }, part) : part));
}

/** A share as a bar; the words beside it give the same figure. */
function drawMeter({ percent, tone }) {
  return element(
    'span.meter',
    { role: 'img', 'aria-label': `${percent} percent`, data: { tone } },
    element('span.fill', { style: { width: `${Math.min(percent, 100)}%` } }),
  );
}

/** Links to the tabs with the details. */
function drawLinks({ subject }, { people, orders }, { open, verify, isVerifying }) {
  const link = (word, tab, parameters) => [word, () => open(tab, parameters)];
  const links = {
    who: people.length === 0 ? [] : [link('What people did', 'entries', { groups: 'people' })],
    allowed: [link('Limits as written', 'runbook')],
    orders:
      orders.length === 0
        ? []
        : [
            link(
              orders.length > 1
                ? `All ${formatNumber(orders.length)} orders, with reasons`
                : 'The order’s history, with reasons',
              'orders',
            ),
          ],
    tokens: [link('Every request', 'entries', { groups: 'requests' })],
    deadman: [link('Every event of the switch', 'entries', { groups: 'deadman' })],
    missing: [[isVerifying ? 'Verifying …' : 'Verify again', verify], link('Every entry, raw', 'entries')],
  }[subject];
  return links.map(([word, act]) => element('button.link', { type: 'button', on: { click: act } }, word));
}

function drawOrderLines({ orders = [] }, run, { open }) {
  const lives = new Map(run.orders.map((order) => [order.clientOrderId, order]));
  return (
    orders.length > 0 &&
    element(
      'div.order-lines',
      {},
      orders.map((id) => drawOrderLine(lives.get(id), open)),
    )
  );
}

function drawOrderLine(
  { clientOrderId, state, stateMeaning, side, type, amount, price, trigger, currency, filled, moves },
  open,
) {
  const last = moves.at(-1);
  return element(
    'button.order-line',
    {
      type: 'button',
      title: `${clientOrderId}${stateMeaning === undefined ? '' : `: ${stateMeaning}`}${last === undefined ? '' : `; ${last.meaning}`}`,
      on: { click: () => open('orders', { order: clientOrderId }) },
    },
    element('span.pill', { data: { tone: getStateTone(state) } }, state),
    element(
      'span',
      {},
      element('span.side', { data: { side } }, side),
      ` ${type} `,
      element('span.value', {}, amount),
      price !== undefined && [' at ', element('span.value', {}, price), ` ${currency}`],
      price === undefined && trigger !== undefined && [' from ', element('span.value', {}, trigger), ` ${currency}`],
      filled !== '0' && element('span.soft', {}, `, ${filled} filled`),
    ),
  );
}
