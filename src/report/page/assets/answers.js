/**
 * What a reviewer wants to know of a run in a minute: six questions with their answers, in the words the server gives. Here
 * they are only laid out, each reason with the way to the entry that shows it.
 */
import { element } from './dom.js';
import { countText, stateTone } from './words.js';

const MARKS = { good: '✓', doubt: '!', bad: '✕' };
const NAMES = { good: 'in order', doubt: 'to look at', bad: 'a problem' };
/** Of each answer so many are seen at once. */
const MOST_REASONS = 7;

/** `tools.unfolded`: what was opened; `tools.isNarrow`: there is no room for more than the answers themselves. */
export function answers(run, tools) {
  return run.answers.map((answer) => card(answer, run, tools));
}

function card(answer, run, tools) {
  const { question, tone, said } = answer;
  const details = [orderLines(answer, run, tools), reasons(answer, tools), ways(answer, run, tools)];
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
    // On a narrow screen six answers fit, and what is behind them does not.
    tools.isNarrow
      ? foldable(question, element('summary.said', {}, said), details, tools)
      : [element('p.said', {}, said), details],
  );
}

/** What was opened stays open when the answers are drawn anew. */
function foldable(key, summary, content, { unfolded }) {
  const toggle = ({ target }) => (target.open ? unfolded.add(key) : unfolded.delete(key));
  return element('details', { open: unfolded.has(key), on: { toggle } }, summary, content);
}

function reasons({ question, because }, tools) {
  const rest = because.slice(MOST_REASONS);
  return [
    facts(because.slice(0, MOST_REASONS), tools),
    rest.length > 0 &&
      foldable(`${question} more`, element('summary.more', {}, `and ${rest.length} more`), facts(rest, tools), tools),
  ];
}

function facts(list, tools) {
  return element(
    'dl',
    {},
    list.map((reason) =>
      element(
        'div',
        {},
        element('dt', {}, reason.term),
        element('dd', { data: { tone: reason.tone } }, shown(reason, tools)),
      ),
    ),
  );
}

function shown({ term, text, entry, share, awaited }, { inspect }) {
  return [
    withInstants(text),
    awaited !== undefined && [', in ', element('span.left', { data: { until: awaited.at, of: awaited.ofMs } })],
    entry !== undefined && [
      ' ',
      element(
        'button.link.entry',
        { type: 'button', 'aria-label': `Entry ${entry}: ${term} ${text}`, on: { click: () => inspect(entry) } },
        `entry ${entry}`,
      ),
    ],
    share !== undefined && meter(share),
  ];
}

/** An instant is not broken over two lines. */
function withInstants(text) {
  return text
    .split(/(\d{4}-\d\d-\d\dT[\d:.]+Z)/)
    .map((part, index) => (index % 2 === 1 ? element('time', { datetime: part }, part) : part));
}

/** A share as a bar; the words beside it say the same. */
function meter({ percent, tone }) {
  return element(
    'span.meter',
    { role: 'img', 'aria-label': `${percent} percent`, data: { tone } },
    element('span.fill', { style: { width: `${Math.min(percent, 100)}%` } }),
  );
}

/** Where the rest of it is. */
function ways({ subject }, { people, orders }, { open, verify, isVerifying }) {
  const way = (word, tab, parameters) => [word, () => open(tab, parameters)];
  const links = {
    who: people.length === 0 ? [] : [way('What people did', 'entries', { groups: 'people' })],
    allowed: [way('Limits as written', 'runbook')],
    orders:
      orders.length === 0
        ? []
        : [
            way(
              orders.length > 1
                ? `All ${countText(orders.length)} orders, with reasons`
                : 'The order’s life, with reasons',
              'orders',
            ),
          ],
    tokens: [way('Every request', 'entries', { groups: 'requests' })],
    deadman: [way('Every move of the switch', 'entries', { groups: 'deadman' })],
    missing: [[isVerifying ? 'Verifying …' : 'Verify again', verify], way('Every entry, raw', 'entries')],
  }[subject];
  return links.map(([word, act]) => element('button.link', { type: 'button', on: { click: act } }, word));
}

function orderLines({ orders = [] }, run, { open }) {
  const lives = new Map(run.orders.map((order) => [order.clientOrderId, order]));
  return (
    orders.length > 0 &&
    element(
      'div.order-lines',
      {},
      orders.map((id) => orderLine(lives.get(id), open)),
    )
  );
}

function orderLine(
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
    element('span.pill', { data: { tone: stateTone(state) } }, state),
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
