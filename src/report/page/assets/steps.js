/** Lists the steps of the run in the order of their first start, with the number and outcome of their rounds. */

import { formatOffset, formatSpan } from '../../../base/format.ts';
import { element, replace } from './dom.js';
import { formatNumber, formatPlural, OUTCOMES } from './words.js';

export function createStepsTab(_run, { open, inspect }) {
  const body = element('tbody');
  const table = element(
    'table.grid-table',
    {},
    element('caption.unseen', {}, 'Every step that was executed or skipped'),
    element(
      'thead',
      {},
      element(
        'tr',
        {},
        ['step', 'verb', 'first', 'times', 'ended', 'took in all', 'last error'].map((name, index) =>
          element(index >= 2 && index !== 4 && index !== 6 ? 'th.number' : 'th', { scope: 'col' }, name),
        ),
      ),
    ),
    body,
  );
  const node = element('div.scroll', { tabindex: 0, role: 'region', 'aria-label': 'Steps' }, table);
  return {
    node,
    update(run) {
      replace(
        body,
        run.steps.map(drawRow),
        run.steps.length === 0 && element('tr', {}, element('td', { colspan: 7 }, 'No step has started.')),
      );
    },
  };

  function drawRow({ path, label, verb, depth, count, outcomes, retries, totalMs, error, bars }) {
    const ends = Object.entries(outcomes).filter(([, many]) => many > 0);
    return element(
      'tr',
      {},
      element(
        'td',
        { style: { '--indent': Math.min(depth, 6) } },
        element(
          'button.link.step-name',
          { type: 'button', title: path, on: { click: () => open('entries', { step: path }) } },
          label,
        ),
      ),
      element('td', {}, verb),
      element(
        'td.number',
        {},
        element(
          'button.link',
          { type: 'button', on: { click: () => inspect(bars.seq[0]) } },
          formatOffset(bars.from[0] ?? 0),
        ),
      ),
      element(
        'td.number',
        {},
        formatNumber(count),
        retries > 0 && element('span.soft', {}, `, ${formatPlural(retries, 'retry', 'retries')}`),
      ),
      element(
        'td',
        {},
        ends.map(([outcome, many]) =>
          element(
            'span.end',
            { data: { tone: OUTCOMES[outcome].tone } },
            `${OUTCOMES[outcome].mark} ${ends.length > 1 ? `${formatNumber(many)} ` : ''}${OUTCOMES[outcome].word}`,
          ),
        ),
      ),
      element('td.number', {}, formatSpan(totalMs)),
      element(
        'td.why-cell',
        {},
        error === undefined ? '' : element('span.problem', {}, `${error.kind}: ${error.message}`),
      ),
    );
  }
}
