/** Shows two runs side by side: the facts of each, their first difference, and both on one time scale. */

import { formatSpan } from '../../../base/format.ts';
import { MODE_MEANING } from '../../glossary.ts';
import { get } from './api.js';
import { element, replace } from './dom.js';
import { createInspector } from './inspector.js';
import { createAxis } from './timeline.js';
import { describeWhy, formatNumber, formatPlural, formatTime, OUTCOMES, shortenName } from './words.js';

export function openComparison(main, { left = '', right = '' }, context) {
  const leaving = [];
  const picker = element('div.pickers');
  const result = element('div');
  context.crumbs(element('span', {}, 'Compare'));
  replace(main, element('div.head', {}, element('h1', {}, 'Two runs side by side')), picker, result);
  load();
  return () => {
    for (const leave of leaving) leave();
  };

  async function load() {
    try {
      const { runs } = await get('/api/runs', { limit: 500 });
      drawPickers(runs);
      if (left === '' || right === '')
        return void replace(result, element('div.empty', {}, element('p', {}, 'Choose two runs.')));
      replace(result, element('p.waiting', {}, 'Reading both journals …'));
      draw(await get('/api/compare', { left, right }));
      context.report('idle', 'up to date');
    } catch (error) {
      replace(result, element('p.problem', {}, error.message));
    }
  }

  function drawPickers(runs) {
    const select = (label, value, choose) =>
      element(
        'label',
        {},
        label,
        element(
          'select',
          { on: { change: (event) => choose(event.target.value) } },
          element('option', { value: '' }, 'choose a run'),
          runs.map(({ run, outcome }) =>
            element('option', { value: run, selected: run === value }, `${run} (${outcome ?? 'no end yet'})`),
          ),
        ),
      );
    replace(
      picker,
      select('Left', left, (value) => context.navigate('/compare', { left: value, right })),
      element(
        'button.quiet',
        {
          type: 'button',
          'aria-label': 'Swap',
          title: 'Swap',
          on: { click: () => context.navigate('/compare', { left: right, right: left }) },
        },
        '⇄',
      ),
      select('Right', right, (value) => context.navigate('/compare', { left, right: value })),
    );
  }

  function draw({ left: a, right: b, diff }) {
    const inspectors = [createInspector(a.run, () => {}), createInspector(b.run, () => {})];
    const inspect = (side) => (seq) => {
      inspectors[1 - side].close();
      inspectors[side].show(seq);
    };
    replace(
      result,
      element('p.verdict', { data: { tone: diff.same ? 'good' : 'doubt' } }, describeVerdict(diff)),
      drawFindings(diff, inspect),
      drawHeads(a, b),
      drawAxes(a, b, diff.first, inspect),
      inspectors.map(({ node }) => node),
    );
  }

  function describeVerdict({ same, sameDefinition, first, differenceCount, start, until }) {
    if (same) return 'Both received the same and did the same.';
    const text = sameDefinition ? 'They ran the same text of the runbook' : 'They ran different texts of the runbook';
    if (first === undefined) return `${text}; they did the same, whatever they received.`;
    const ends = until === undefined ? '' : ` They were compared until ${describeUntil(until)}: behind it is more.`;
    return `${text}; ${formatPlural(differenceCount, 'difference')}${start.length > 0 ? `, ${start.length} at their start` : ''}.${ends}`;
  }

  function describeUntil({ left: ofLeft, right: ofRight }) {
    const name = (side, seq) => (seq === undefined ? `the end of the ${side} run` : `entry ${seq} of the ${side}`);
    return `${name('left', ofLeft)} and ${name('right', ofRight)}`;
  }

  function drawHeads(a, b) {
    const rows = [
      [
        'run',
        (run) => element('a', { href: `/run?id=${encodeURIComponent(run.run)}` }, shortenName(run.run)),
        () => '',
      ],
      [
        'outcome',
        (run) =>
          element(
            'span.pill',
            { data: { tone: OUTCOMES[run.outcome ?? 'unfinished'].tone } },
            OUTCOMES[run.outcome ?? 'unfinished'].word,
          ),
        (run) => run.outcome,
      ],
      ['why', (run) => describeWhy(run) ?? ''],
      ['runbook', (run) => run.runbook],
      ['definition', (run) => element('code', {}, run.definition), (run) => run.definition],
      ['mode', (run) => MODE_MEANING[run.mode]],
      ['began', (run) => formatTime(run.startedAt, 0), () => ''],
      ['took', (run) => formatSpan((run.endedAt ?? run.lastAt) - run.startedAt)],
      [
        'inputs',
        (run) => run.inputs.map(({ name, value }) => element('span.block', {}, `${name} = ${value}`)),
        (run) => JSON.stringify(run.inputs),
      ],
      ['steps', (run) => formatNumber(run.steps.reduce((sum, { count }) => sum + count, 0))],
      ['requests', (run) => formatNumber(run.tokens.requests)],
      ['tokens', (run) => `${formatNumber(run.tokens.used)}, peak ${formatNumber(run.tokens.peak)}`],
      ['orders', (run) => formatOrders(run)],
      [
        'traded',
        (run) =>
          run.fills.totals.map(({ market, side, size, averagePrice }) =>
            element('span.block', {}, `${side} ${size} ${market} at ${averagePrice} ${findCurrency(run, market)}`),
          ),
        (run) => JSON.stringify(run.fills.totals),
      ],
      [
        'outputs',
        (run) => run.outputs.map(({ name, value }) => element('span.block', {}, `${name} = ${value}`)),
        (run) => JSON.stringify(run.outputs),
      ],
      [
        'longest silence',
        (run) =>
          run.deadman.longest === undefined
            ? ''
            : `${formatSpan(run.deadman.longest.ms)} of ${formatSpan(run.deadman.longest.timeoutMs)}`,
      ],
    ];
    return element(
      'div.scroll',
      { tabindex: 0, role: 'region', 'aria-label': 'Both runs' },
      element(
        'table.grid-table.pairs',
        {},
        element(
          'thead',
          {},
          element(
            'tr',
            {},
            element('th'),
            element('th', { scope: 'col' }, 'left'),
            element('th', { scope: 'col' }, 'right'),
          ),
        ),
        element(
          'tbody',
          {},
          // A fact that neither run has gets no row.
          rows.map(([name, show, compare = show]) => {
            if (String(show(a)) === '' && String(show(b)) === '') return undefined;
            const differs = String(compare(a)) !== String(compare(b));
            return element(
              'tr',
              { data: { differs: differs ? '' : undefined } },
              element('th', { scope: 'row' }, name, differs && element('span.unseen', {}, ' (differs)')),
              element('td', {}, show(a)),
              element('td', {}, show(b)),
            );
          }),
        ),
      ),
    );
  }

  function findCurrency({ orders }, market) {
    return orders.find((order) => order.market === market)?.currency ?? '';
  }

  function formatOrders({ orders }) {
    const states = new Map();
    for (const { state } of orders) states.set(state, (states.get(state) ?? 0) + 1);
    return orders.length === 0 ? 'none' : [...states].map(([state, count]) => `${count} ${state}`).join(', ');
  }

  function drawFindings({ same, start, first, before, differences, differenceCount, until }, inspect) {
    if (same) return undefined;
    return element(
      'section.findings',
      {},
      start.length > 0 && [
        element('h2', {}, 'Different at their start'),
        element(
          'ul.changes',
          {},
          start.map(({ field, left: l, right: r }) =>
            element('li', {}, element('strong', {}, `${field}: `), drawChange(l, r)),
          ),
        ),
      ],
      first !== undefined && [
        element('h2', {}, 'First done differently'),
        element('ul.changes', {}, drawDifference(first, inspect)),
      ],
      before.length > 0 && [
        element('h2', {}, 'Received differently before that, nearest last'),
        element(
          'ul.changes',
          {},
          before.map((each) => drawDifference(each, inspect)),
        ),
      ],
      element(
        'details',
        {},
        element(
          'summary',
          {},
          `${until === undefined ? 'All' : 'The first'} differences (${formatNumber(differenceCount)})`,
        ),
        element(
          'ul.changes',
          {},
          differences.map((each) => drawDifference(each, inspect)),
        ),
        differenceCount > differences.length &&
          element(
            'p.soft',
            {},
            `The first ${formatNumber(differences.length)}; \`runbook audit diff --json\` has all.`,
          ),
      ),
    );
  }

  function drawDifference({ what, step, about, left: l, right: r, fields }, inspect) {
    const entry = (occurrence, side, word) =>
      occurrence !== undefined &&
      element(
        'button.link',
        { type: 'button', on: { click: () => inspect(side)(occurrence.sequence) } },
        `${word} ${occurrence.sequence}`,
      );
    const only = l === undefined ? ['only right', r] : r === undefined ? ['only left', l] : undefined;
    return element(
      'li',
      {},
      element('strong', {}, step === '' ? 'run' : step),
      ` ${what} `,
      element('span.value', {}, about),
      element('span.soft', {}, ' entry ', entry(l, 0, 'left'), ' ', entry(r, 1, 'right')),
      only === undefined
        ? fields
            .slice(0, 12)
            .map((field) =>
              element('div.field', {}, field.field !== '' && `${field.field}: `, drawChange(field.left, field.right)),
            )
        : element('div.field', {}, `${only[0]}: `, element('span.value', {}, formatValue(only[1].value))),
    );
  }

  function drawChange(l, r) {
    return element('span.change', {}, element('del', {}, formatValue(l)), ' → ', element('ins', {}, formatValue(r)));
  }

  function formatValue(value) {
    const whole = typeof value === 'string' ? value : JSON.stringify(value ?? null);
    return whole.length > 300 ? `${whole.slice(0, 299)}…` : whole;
  }

  function drawAxes(a, b, first, inspect) {
    const flags = [
      [a, first?.left],
      [b, first?.right],
    ].map(([run, occurrence]) =>
      occurrence === undefined
        ? undefined
        : { at: Date.parse(occurrence.at) - run.startedAt, word: 'first done differently' },
    );
    const longest = Math.max(...[a, b].map((run) => run.lastAt - run.startedAt));
    const made = flags.map((flag, side) =>
      createAxis(
        { inspect: inspect(side) },
        { flag, least: longest, onRange: (from, until) => made[1 - side].setRange(from, until, false) },
      ),
    );
    leaving.push(...made.map((axis) => axis.leave));
    const section = element(
      'section.axes',
      {},
      element('h2', {}, 'Over time, on one scale'),
      [a, b].map((run, side) =>
        element(
          'div',
          {},
          element('h3', {}, ['Left', 'Right'][side], element('span.soft', {}, ` ${shortenName(run.run)}`)),
          made[side].node,
        ),
      ),
    );
    for (const [side, run] of [a, b].entries()) made[side].update(run);
    return section;
  }
}
