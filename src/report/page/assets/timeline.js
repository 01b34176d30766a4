/**
 * Shows the run on one time axis: an overview to choose a span, a ruler, the lanes, and a cursor that describes a moment in
 * words. It is used by wheel, by dragging and by keys.
 */

import { formatOffset, formatSpan } from '../../../base/format.ts';
import { chooseTicks, clamp, createTimeScale } from '../../time-scale.ts';
import { announce, element, replace, svg } from './dom.js';
import { createLaneRows } from './lane-rows.js';
import { makeLanes } from './lanes.js';
import { createOverview } from './overview.js';
import { formatPlural, formatTime } from './words.js';

/** A silent run is drawn for this long after its last entry. */
const FOLLOWED_MS = 60_000;

/** The end of the axis of a run without an end, epoch ms: a run that fell silent is not drawn up to now. */
function findKnownEnd({ outcome, mode, lastAt, deadman: { firesAt = 0 } }) {
  return outcome === undefined && mode === 'live' ? Math.max(lastAt + FOLLOWED_MS, firesAt + FOLLOWED_MS / 4) : lastAt;
}

const SHORTEST_MS = 10;

export function createTimelineTab(_run, tools) {
  const axis = createAxis(tools);
  return { node: axis.node, update: axis.update, leave: axis.leave };
}

/**
 * `onRange(from, until)` is called when the reader chooses another span. `only`: the groups to show. `flag`: a moment to mark,
 * `{ at, word }`.
 */
export function createAxis(
  { inspect, now = () => Date.now() },
  { onRange = () => {}, only = undefined, least = 0, flag = undefined } = {},
) {
  let run;
  let known = 1;
  let from = 0;
  let until = 1;
  let follows = true;
  let isWhole = true;
  let groups = [];
  let cursor;
  let laneAt = 0;
  let width = 600;
  let drawing;

  const overview = createOverview(
    () => ({ from, until, isWhole, first: -getMargin(), last: known + getMargin() }),
    (first, last) => setRange(first, last),
  );
  const lanes = createLaneRows(draw);
  const rangeText = element('span.range');
  const ruler = svg('svg.ruler-plot', { 'aria-hidden': 'true' });
  const line = element('div.cursor-line', { hidden: true, 'aria-hidden': 'true' });
  const chosen = element('div.chosen', { hidden: true, 'aria-hidden': 'true' });
  const flagged = element('div.flag', { hidden: true }, flag === undefined ? '' : element('span', {}, flag.word));
  const readout = element('div.readout', { role: 'status', 'aria-live': 'polite' });
  const button = (word, title, act) =>
    element('button.quiet', { type: 'button', title, 'aria-label': title, on: { click: act } }, word);
  const stage = element(
    'div.stage',
    {
      tabindex: 0,
      role: 'group',
      'aria-label':
        'Time axis. Left and right move the cursor, up and down choose a lane, plus and minus zoom, Enter opens the nearest entry. The other tabs give the same facts in words.',
      on: { keydown: handleKey, wheel: handleWheel },
    },
    element('div.ruler', {}, element('div.lane-label'), ruler),
    lanes.node,
    line,
    flag !== undefined && flagged,
    chosen,
  );
  const node = element(
    'div.axis',
    {},
    element(
      'div.axis-tools',
      {},
      rangeText,
      element('span.spring'),
      button('−', 'Zoom out (−)', () => zoom(2)),
      button('+', 'Zoom in (+)', () => zoom(0.5)),
      button('Whole run', 'The whole run (0)', fit),
    ),
    element('div.overview', {}, element('div.lane-label', {}, 'overview'), overview.node),
    stage,
    readout,
    drawLegend(),
  );
  const observer = new ResizeObserver(measure);
  observer.observe(ruler);
  handlePointers();

  return { node, update, leave: () => observer.disconnect(), setRange };

  function update(next) {
    run = next;
    const last = Math.max(run.lastAt, Math.min(now(), findKnownEnd(run)));
    known = Math.max(
      last - run.startedAt,
      ...run.steps.flatMap(({ bars }) => bars.until.slice(-1)),
      least,
      SHORTEST_MS,
    );
    if (follows) [from, until] = [isWhole || until <= 1 ? -getMargin() : from, known + getMargin()];
    groups = makeLanes(run, known).filter(({ key }) => only === undefined || only.some((each) => key.startsWith(each)));
    lanes.update(groups);
    draw();
  }

  function measure() {
    const found = ruler.getBoundingClientRect().width;
    if (found > 0 && Math.abs(found - width) > 0.5) {
      width = found;
      draw();
    }
  }

  /** Draws once, at the next frame. */
  function draw() {
    if (drawing !== undefined || run === undefined) return;
    drawing = requestAnimationFrame(() => {
      drawing = undefined;
      drawRuler();
      overview.draw(run, width);
      const scale = createTimeScale(from, until, width);
      const { ticks } = chooseTicks(from, until, Math.max(3, width / 110));
      const grid = ticks.map((at) => `M${Math.round(scale.x(at)) + 0.5} 0V400`).join('');
      for (const { lane, plot } of lanes.rows) {
        const { paths, texts } = lane.draw(scale, Math.floor(width));
        replace(
          plot,
          svg('path', { class: 'grid', d: grid }),
          paths.map(({ name, d }) => svg('path', { class: name, d })),
          texts.map(({ x, y, text, name }) => svg('text', { class: name, x, y }, text)),
        );
      }
      moveCursor();
    });
  }

  function drawRuler() {
    const scale = createTimeScale(from, until, width);
    const { ticks, digits } = chooseTicks(from, until, Math.max(3, width / 110));
    replace(
      ruler,
      ticks.map((at) => [
        svg('path', { class: 'grid', d: `M${Math.round(scale.x(at)) + 0.5} 18V26` }),
        svg(
          'text',
          { x: scale.x(at), y: 13, class: scale.x(at) > width - 40 ? 'end' : scale.x(at) < 30 ? 'start' : 'middle' },
          formatOffset(at, digits),
        ),
      ]),
    );
    rangeText.textContent = `${formatTime(run.startedAt + Math.max(from, 0), isWhole ? 0 : 3)}, ${formatSpan(Math.min(until, known) - Math.max(from, 0))}${follows && run.outcome === undefined ? ', following' : ''}`;
  }

  function setRange(nextFrom, nextUntil, isReported = true) {
    const room = getMargin();
    const length = clamp(nextUntil - nextFrom, SHORTEST_MS, known + 2 * room);
    from = clamp(nextFrom, -room, known + room - length);
    until = from + length;
    follows = until >= known;
    isWhole = follows && from <= 0;
    draw();
    if (isReported) onRange(from, until);
  }

  function zoom(factor, around = cursor ?? (from + until) / 2) {
    const length = Math.max((until - from) * factor, SHORTEST_MS);
    const share = (around - from) / (until - from);
    setRange(around - share * length, around + (1 - share) * length);
  }

  function fit() {
    setRange(-getMargin(), known + getMargin());
  }

  /** Room at both ends, so that marks there can be seen. */
  function getMargin() {
    return known * 0.012;
  }

  function moveCursor() {
    const scale = createTimeScale(from, until, width);
    if (flag !== undefined) {
      flagged.hidden = flag.at < from || flag.at > until;
      flagged.style.setProperty('left', `${measureLabel() + scale.x(flag.at)}px`);
      flagged.classList.toggle('late', scale.x(flag.at) > width / 2);
    }
    const isShown = cursor !== undefined && cursor >= from && cursor <= until;
    line.hidden = !isShown;
    if (!isShown) {
      readout.textContent = 'Point at a moment, or use the arrow keys, to read its state here. Drag to zoom.';
      return;
    }
    line.style.setProperty('left', `${measureLabel() + scale.x(cursor)}px`);
    for (const [index, row] of lanes.rows.entries()) row.node.classList.toggle('current', index === laneAt);
    const lane = lanes.rows[laneAt]?.lane;
    const facts = [
      lane?.describeAt(cursor) ?? (lane === undefined ? undefined : `${lane.label}: nothing`),
      ...summarize(),
    ];
    replace(
      readout,
      element('strong', {}, formatOffset(cursor)),
      element('span.soft', {}, ` ${formatTime(run.startedAt + cursor)}`),
      facts.filter((fact) => fact !== undefined).map((fact) => element('span.fact', {}, fact)),
    );
  }

  /** The state at the cursor apart from the current lane. */
  function summarize() {
    const current = lanes.rows[laneAt]?.lane.key;
    const describe = (key) => {
      const lane = groups.flatMap(({ lanes }) => lanes).find((each) => each.key === key);
      return lane === undefined || key === current ? undefined : lane.describeAt(cursor);
    };
    const working = run.orders.filter(
      ({ createdAt, isOver, moves }) => createdAt <= cursor && (!isOver || (moves.at(-1)?.at ?? 0) >= cursor),
    ).length;
    return [
      run.orders.length > 0 ? `${formatPlural(working, 'order')} not over` : undefined,
      describe('tokens'),
      describe('silence'),
    ];
  }

  function measureLabel() {
    return ruler.getBoundingClientRect().left - stage.getBoundingClientRect().left;
  }

  function openNearest() {
    const seq = lanes.rows[laneAt]?.lane.findEntryNear(cursor ?? from);
    if (seq !== undefined) inspect(seq);
  }

  function handleKey(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target !== stage) return;
    const step = (until - from) / (event.shiftKey ? 4 : 100);
    const at = cursor ?? (from + until) / 2;
    const go = (time) => {
      cursor = clamp(time, 0, known);
      if (cursor < from || cursor > until) setRange(cursor - (until - from) / 2, cursor + (until - from) / 2);
      else moveCursor();
    };
    switch (event.key) {
      case 'ArrowLeft':
        go(at - step);
        break;
      case 'ArrowRight':
        go(at + step);
        break;
      case 'ArrowUp':
      case 'ArrowDown':
        laneAt = clamp(laneAt + (event.key === 'ArrowUp' ? -1 : 1), 0, lanes.rows.length - 1);
        cursor ??= at;
        lanes.rows[laneAt]?.node.scrollIntoView({ block: 'nearest' });
        moveCursor();
        announce(lanes.rows[laneAt]?.lane.about ?? '');
        break;
      case 'Home':
        go(0);
        break;
      case 'End':
        go(known);
        break;
      case '+':
      case '=':
        zoom(0.5, at);
        break;
      case '-':
      case '_':
        zoom(2, at);
        break;
      case '0':
        fit();
        break;
      case 'Enter':
        openNearest();
        break;
      default:
        return;
    }
    event.preventDefault();
    event.stopPropagation();
  }

  /** Zooms with a modifier and moves sideways; otherwise the wheel scrolls the page. */
  function handleWheel(event) {
    if (event.ctrlKey || event.metaKey) {
      event.preventDefault();
      zoom(Math.exp(clamp(event.deltaY, -100, 100) * 0.01), readTime(event));
    } else if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
      event.preventDefault();
      const by = ((event.deltaX || event.deltaY) / width) * (until - from);
      setRange(from + by, until + by);
    }
  }

  function readTime({ clientX }) {
    const x = clamp(clientX - ruler.getBoundingClientRect().left, 0, width);
    return createTimeScale(from, until, width).at(x);
  }

  function handlePointers() {
    let startX;
    const isPlot = (event) => event.target instanceof Element && event.target.closest('.plot, .ruler-plot') !== null;
    stage.addEventListener('pointermove', (event) => {
      if (startX !== undefined) return drag(event);
      if (!isPlot(event)) return;
      cursor = readTime(event);
      const index = lanes.rows.findIndex(({ node: place }) => place.contains(event.target));
      if (index >= 0) laneAt = index;
      moveCursor();
    });
    stage.addEventListener('pointerdown', (event) => {
      if (event.button !== 0 || !isPlot(event)) return;
      startX = event.clientX;
      cursor = readTime(event);
      stage.setPointerCapture(event.pointerId);
    });
    stage.addEventListener('pointerup', (event) => {
      if (startX === undefined) return;
      const isDrag = Math.abs(event.clientX - startX) > 6;
      const [a, b] = [readTime({ clientX: startX }), readTime(event)];
      startX = undefined;
      chosen.hidden = true;
      if (isDrag) setRange(Math.min(a, b), Math.max(a, b));
      else openNearest();
    });
    stage.addEventListener('pointercancel', () => {
      startX = undefined;
      chosen.hidden = true;
    });
    stage.addEventListener('dblclick', (event) => {
      if (isPlot(event)) fit();
    });
    function drag(event) {
      const left = stage.getBoundingClientRect().left;
      const edge = ruler.getBoundingClientRect();
      const x = clamp(event.clientX, edge.left, edge.right);
      chosen.hidden = Math.abs(x - startX) <= 6;
      chosen.style.setProperty('left', `${Math.min(x, startX) - left}px`);
      chosen.style.setProperty('width', `${Math.abs(x - startX)}px`);
      cursor = readTime(event);
      moveCursor();
    }
  }
}

const LEGEND = [
  ['bar succeeded', 'step done'],
  ['bar failed', 'failed'],
  ['bar halted', 'halted'],
  ['bar active', 'in progress'],
  ['bar flight', 'order in flight'],
  ['bar open', 'order open'],
  ['bar over', 'order over'],
  ['fillmark', 'fill'],
];

function drawLegend() {
  return element(
    'ul.legend',
    { 'aria-label': 'Legend' },
    LEGEND.map(([name, word]) =>
      element(
        'li',
        {},
        svg(
          'svg',
          { width: 16, height: 12, 'aria-hidden': 'true' },
          svg('path', { class: name, d: name === 'fillmark' ? 'M3 6L8 1L13 6L8 11Z' : 'M1 2H15V10H1Z' }),
        ),
        word,
      ),
    ),
  );
}
