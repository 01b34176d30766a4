/**
 * Draws the state chart of the runbook with the run in it: where it is, where it went, where it failed. Without a layout from
 * the server the states are listed.
 */

import { formatSpan } from '../../../base/format.ts';
import { get, makeRunPath } from './api.js';
import { element, replace, svg } from './dom.js';
import { formatNumber, formatPlural, OUTCOMES } from './words.js';

const ZOOMS = [0.35, 0.5, 0.65, 0.8, 1, 1.25, 1.6, 2];
const FINALS = ['succeeded', 'stopped', 'failed', 'halted'];

export function createChartTab(first, { open }) {
  const canvas = element('div.chart-canvas', { tabindex: 0, role: 'region', 'aria-label': 'State chart' });
  const side = element('div.chart-side', { 'aria-live': 'polite' });
  const tools = element('div.chart-tools');
  const node = element('div.chart', {}, element('div.chart-main', {}, tools, canvas), side);
  let run = first;
  let chart;
  let zoomAt;
  let marks = new Map();
  let shown;
  load();
  return {
    node,
    update(next) {
      run = next;
      if (chart !== undefined) draw(false);
    },
  };

  async function load() {
    replace(canvas, element('p.waiting', {}, 'Laying out the chart …'));
    try {
      chart = await get(makeRunPath(run.run, 'chart'));
    } catch (error) {
      chart = { kind: 'listed', because: error.message, states: [] };
    }
    draw(true);
  }

  function draw(isFirst) {
    marks = findMarks(run, chart);
    if (chart.kind === 'listed') drawList();
    else drawChart(isFirst);
    const mark = shown === undefined ? undefined : marks.get(shown);
    if (mark === undefined) showHint();
    else show(shown, mark);
  }

  function showHint() {
    shown = undefined;
    const notable = [...marks].filter(([, { tone }]) => tone === 'active' || tone === 'failed' || tone === 'halted');
    replace(
      side,
      element('h2', {}, 'In this run'),
      element(
        'ul.chart-key',
        {},
        ['succeeded', 'active', 'failed', 'halted', 'skipped'].map((tone) =>
          element(
            'li',
            {},
            element('span.swatch', { data: { tone }, 'aria-hidden': 'true' }, OUTCOMES[tone].mark),
            OUTCOMES[tone].word,
          ),
        ),
      ),
      notable
        .slice(0, 8)
        .map(([id, mark]) =>
          element(
            'button.link',
            { type: 'button', on: { click: () => show(id, mark) } },
            `${OUTCOMES[mark.tone].mark} ${mark.label}`,
          ),
        ),
      element('p.soft', {}, 'Choose a state to see what it did.'),
    );
  }

  function drawChart(isFirst) {
    const { width, height, blocks, states, arrows } = chart;
    const drawing = svg(
      'svg.chart-drawing',
      { viewBox: `-8 -8 ${width + 16} ${height + 16}`, role: 'group', 'aria-label': `${states.length} states` },
      blocks.toSorted((a, b) => b.width * b.height - a.width * a.height).map(drawBlock),
      arrows.map(drawArrow),
      states.map(drawState),
    );
    replace(canvas, drawing);
    fitTexts(drawing);
    zoomAt ??= ZOOMS.findLastIndex((zoom) => zoom <= 1 && zoom * (width + 16) <= Math.max(canvas.clientWidth, 320));
    if (zoomAt < 0) zoomAt = 0;
    resize(drawing);
    drawTools(drawing);
    if (isFirst) reveal(drawing);
  }

  /** The boxes were laid out for one font; on a machine with a wider font, texts are condensed to fit. */
  function fitTexts(drawing) {
    const wide = [];
    for (const text of drawing.querySelectorAll('.state > text, .block > text')) {
      const room = text.parentElement.querySelector('rect').width.baseVal.value - 8;
      if (text.getComputedTextLength() > room) wide.push([text, room]);
    }
    for (const [text, room] of wide) {
      text.setAttribute('textLength', String(room));
      text.setAttribute('lengthAdjust', 'spacingAndGlyphs');
    }
  }

  function resize(drawing) {
    const zoom = ZOOMS[zoomAt];
    drawing.setAttribute('width', String(Math.round((chart.width + 16) * zoom)));
    drawing.setAttribute('height', String(Math.round((chart.height + 16) * zoom)));
  }

  function drawTools(drawing) {
    const step = (by) => () => {
      zoomAt = Math.max(0, Math.min(ZOOMS.length - 1, zoomAt + by));
      resize(drawing);
    };
    replace(
      tools,
      element('button.quiet', { type: 'button', 'aria-label': 'Smaller', on: { click: step(-1) } }, '−'),
      element('button.quiet', { type: 'button', 'aria-label': 'Larger', on: { click: step(1) } }, '+'),
    );
  }

  /** Scrolls to the state where the run is or went wrong. */
  function reveal(drawing) {
    const current = drawing.querySelector(
      '[data-tone=active].state, [data-tone=failed].state, [data-tone=halted].state',
    );
    if (current === null) return;
    const [box, around] = [current.getBoundingClientRect(), canvas.getBoundingClientRect()];
    canvas.scrollBy({ top: box.top - around.top - around.height / 3, left: box.left - around.left - around.width / 3 });
  }

  function drawBlock({ id, x, y, width, height, label }) {
    const mark = marks.get(id);
    return svg(
      'g.block',
      {
        data: { tone: mark?.tone, selectable: mark === undefined ? undefined : '' },
        ...(mark === undefined ? {} : makeChoosable(id, mark)),
      },
      svg('rect', { x, y, width, height, rx: 8 }),
      svg('text', { x: x + width / 2, y: y + 16 }, label),
    );
  }

  function drawState({ id, kind, x, y, width, height, label }) {
    const mark = marks.get(id);
    if (kind === 'start' || kind === 'end')
      return svg('circle.point', {
        cx: x + width / 2,
        cy: y + height / 2,
        r: Math.min(width, height) / 2,
        data: { kind },
      });
    if (kind === 'choice') {
      const [cx, cy] = [x + width / 2, y + height / 2];
      return svg('path.choice', { d: `M${cx} ${y}L${x + width} ${cy}L${cx} ${y + height}L${x} ${cy}Z` });
    }
    const isFinal = FINALS.includes(id);
    return svg(
      'g.state',
      {
        data: { kind, tone: mark?.tone, final: isFinal ? '' : undefined },
        ...(mark === undefined ? {} : makeChoosable(id, mark)),
      },
      svg('rect', { x, y, width, height, rx: kind === 'pause' ? 2 : 9 }),
      isFinal && svg('rect.inner', { x: x + 3, y: y + 3, width: width - 6, height: height - 6, rx: 7 }),
      svg('text', { x: x + width / 2, y: y + height / 2 + 4 }, label),
      mark !== undefined && mark.count > 1 && drawBadge(x + width, y, `×${formatNumber(mark.count)}`),
      mark !== undefined && OUTCOMES[mark.tone] !== undefined && mark.tone !== 'skipped' && drawCorner(x, y, mark.tone),
    );
  }

  function drawBadge(x, y, text) {
    const width = 10 + text.length * 6;
    return svg(
      'g.badge-count',
      {},
      svg('rect', { x: x - width + 6, y: y - 8, width, height: 15, rx: 7.5 }),
      svg('text', { x: x - width / 2 + 6, y: y + 3 }, text),
    );
  }

  function drawCorner(x, y, tone) {
    return svg(
      'g.corner',
      { data: { tone } },
      svg('circle', { cx: x, cy: y, r: 7.5 }),
      svg('text', { x, y: y + 3.5 }, OUTCOMES[tone].mark),
    );
  }

  function drawArrow({ line, head, label, labelX, labelY, from, to }) {
    const went = marks.has(from) && marks.has(to) && marks.get(from).tone !== 'skipped';
    return svg(
      'g.arrow',
      { data: { went: went ? '' : undefined } },
      svg('path', { d: line }),
      svg('polygon', { points: head.join(' ') }),
      label !== undefined && svg('text', { x: labelX, y: labelY + 3 }, label),
    );
  }

  function makeChoosable(id, mark) {
    return {
      tabindex: 0,
      role: 'button',
      'aria-label': `${mark.label}: ${OUTCOMES[mark.tone]?.word ?? mark.tone}${mark.count > 1 ? `, ${mark.count} times` : ''}`,
      on: {
        click: (event) => {
          event.stopPropagation();
          show(id, mark);
        },
        keydown: (event) => {
          if (event.key !== 'Enter' && event.key !== ' ') return;
          event.preventDefault();
          event.stopPropagation();
          show(id, mark);
        },
      },
    };
  }

  function show(id, { label, step, tone, facts }) {
    shown = id;
    const rows = [...(step === undefined ? [] : listStepFacts(step)), ...(facts ?? [])];
    replace(
      side,
      element('h2', {}, label),
      element(
        'p',
        {},
        element(
          'span.pill',
          { data: { tone: OUTCOMES[tone]?.tone } },
          OUTCOMES[tone]?.mark,
          ' ',
          OUTCOMES[tone]?.word ?? tone,
        ),
      ),
      element(
        'dl.facts',
        {},
        rows.map(([term, value]) => element('div', {}, element('dt', {}, term), element('dd', {}, value))),
      ),
      step !== undefined &&
        element(
          'button.link',
          { type: 'button', on: { click: () => open('entries', { step: step.path }) } },
          'Its entries',
        ),
      element('button.link', { type: 'button', on: { click: showHint } }, 'Back to the legend'),
    );
  }

  function listStepFacts({ path, verb, count, outcomes, retries, totalMs, error }) {
    const ends = Object.entries(outcomes).filter(([, many]) => many > 0);
    return [
      ['step', element('code', {}, path)],
      ['verb', verb],
      ['rounds', formatNumber(count)],
      ['ended', ends.map(([outcome, many]) => `${formatNumber(many)} ${OUTCOMES[outcome].word}`).join(', ')],
      ['took', `${formatSpan(totalMs)} in all`],
      ...(retries > 0 ? [['retries', formatNumber(retries)]] : []),
      ...(error === undefined ? [] : [['last error', element('span.problem', {}, `${error.kind}: ${error.message}`)]]),
    ];
  }

  function drawList() {
    replace(tools);
    const listed =
      chart.states.length > 0
        ? chart.states
        : run.steps.map(({ path, label, depth, verb }) => ({
            id: path,
            path,
            label: `${label}: ${verb}`,
            depth,
            kind: 'step',
          }));
    replace(
      canvas,
      element('p.soft', {}, `Not drawn: ${chart.because}. List of the states:`),
      element(
        'ul.chart-list',
        {},
        listed.map(({ id, path, label, depth }) => {
          const mark = marks.get(id) ?? marks.get(path);
          return element(
            'li',
            { style: { '--indent': depth }, data: { tone: mark?.tone } },
            mark === undefined
              ? element('span', {}, label)
              : element(
                  'button.link',
                  { type: 'button', on: { click: () => show(marks.has(id) ? id : path, mark) } },
                  `${OUTCOMES[mark.tone]?.mark ?? ''} ${label}`,
                ),
            mark !== undefined && mark.count > 1 && element('span.count', {}, formatPlural(mark.count, 'time')),
          );
        }),
      ),
    );
  }
}

/** What the run did, by state. A state that the run did not reach has no mark. */
function findMarks(run, chart) {
  const marks = new Map();
  const steps = new Map(run.steps.map((step) => [step.path, step]));
  for (const { id, path, label } of [...(chart.blocks ?? []), ...chart.states]) {
    const step = path === undefined ? undefined : steps.get(path);
    if (step !== undefined) marks.set(id, { label, step, count: step.count, tone: chooseTone(step.outcomes) });
  }
  if (chart.states.length === 0)
    for (const step of run.steps)
      marks.set(step.path, { label: step.label, step, count: step.count, tone: chooseTone(step.outcomes) });
  const running = run.steps.filter(({ path }) => path.startsWith('steps/'));
  if (running.length > 0)
    marks.set('running', {
      label: run.runbook,
      count: 1,
      tone: run.outcome === undefined ? 'active' : run.outcome === 'stopped' ? 'succeeded' : run.outcome,
      facts: [
        ['steps', formatNumber(running.length)],
        ['phase', run.phase],
      ],
    });
  const { armed, fired, state } = run.deadman;
  if (armed.length > 0)
    marks.set('starting', {
      label: 'deadman switch',
      count: 1,
      tone: fired.length > 0 ? 'failed' : 'succeeded',
      facts: [
        ['armed', formatPlural(armed.length, 'time')],
        ['now', state],
      ],
    });
  if (state === 'disarmed' && run.outcome !== undefined)
    marks.set('on_exit', { label: 'disarm the deadman switch', count: 1, tone: 'succeeded', facts: [] });
  if (run.outcome !== undefined)
    marks.set(run.outcome, {
      label: run.outcome,
      count: 1,
      tone: run.outcome === 'stopped' ? 'succeeded' : run.outcome,
      facts: run.reason === undefined ? [] : [['reason', run.reason]],
    });
  return marks;
}

function chooseTone({ active, failed, halted, succeeded }) {
  if (active > 0) return 'active';
  if (halted > 0) return 'halted';
  if (failed > 0) return 'failed';
  return succeeded > 0 ? 'succeeded' : 'skipped';
}
