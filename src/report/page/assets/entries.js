/**
 * Lists every raw entry of the journal. Only the rows in view exist; the rest is fetched on scrolling, so a hundred thousand
 * entries open as fast as ten.
 */

import { formatOffset } from '../../../base/format.ts';
import { clamp } from '../../time-scale.ts';
import { get, makeRunPath } from './api.js';
import { makeChip } from './controls.js';
import { announce, element, replace } from './dom.js';
import { formatNumber } from './words.js';

const ROW = 30;
const PAGE = 200;
const GROUPS = ['run', 'steps', 'requests', 'feeds', 'orders', 'deadman', 'people'];
/** Browsers limit the height of an element not far above this number of rows. */
const MOST_ROWS = 500_000;

export function createEntriesTab(first, { inspect, context }) {
  let run = first;
  let selection = {};
  let total = 0;
  let current = 0;
  let pages = new Map();
  const space = element('div.virtual-space');
  const rows = element('div.virtual-rows', { role: 'rowgroup' });
  const view = element(
    'div.virtual',
    {
      tabindex: 0,
      role: 'table',
      'aria-label': 'Entries. Up and down choose one, Enter opens it.',
      on: { scroll: draw, keydown: handleKey },
    },
    space,
    rows,
  );
  const tools = element('div.list-tools');
  const head = element(
    'div.virtual-head',
    { 'aria-hidden': 'true' },
    ['entry', 'after', 'type', 'step', 'content'].map((name) => element('span', {}, name)),
  );
  const node = element('div.entries', {}, tools, element('div.virtual-frame', {}, head, view));
  let drawing;
  return { node, update, show };

  function show(parameters) {
    const next = { groups: parameters.groups, step: parameters.step, order: parameters.order };
    if (JSON.stringify(next) !== JSON.stringify(selection)) choose(next, false);
  }

  function update(next) {
    const hasGrown = next.seq !== run.seq;
    run = next;
    if (total === 0) load(0);
    // The last page may have more rows now; earlier pages never change.
    else if (hasGrown) {
      pages.delete(Math.floor(total / PAGE));
      load(Math.floor(total / PAGE));
    }
    drawTools();
    draw();
  }

  function choose(next, isRemembered = true) {
    selection = next;
    pages = new Map();
    total = 0;
    current = 0;
    view.scrollTop = 0;
    if (isRemembered) context.remember({ id: run.run, tab: 'entries', ...next });
    drawTools();
    load(0);
  }

  async function load(page) {
    if (pages.has(page)) return;
    const mine = pages;
    mine.set(page, undefined);
    try {
      const answer = await get(makeRunPath(run.run, 'entries'), { ...selection, from: page * PAGE, limit: PAGE });
      if (mine !== pages) return;
      mine.set(page, answer.rows);
      total = answer.total;
      drawTools();
    } catch (error) {
      if (mine !== pages) return;
      mine.delete(page);
      replace(rows, element('p.problem', {}, error.message));
      return;
    }
    draw();
  }

  function drawTools() {
    const chosen = (selection.groups ?? '').split(',').filter((each) => each !== '');
    const toggle = (group) => {
      const next = chosen.includes(group) ? chosen.filter((each) => each !== group) : [...chosen, group];
      choose({ ...selection, groups: next.length === 0 ? undefined : next.join(',') });
    };
    const narrowed = [
      ['step', selection.step],
      ['order', selection.order],
    ].filter(([, value]) => value !== undefined);
    replace(
      tools,
      element(
        'div.chips',
        { role: 'group', 'aria-label': 'Kinds' },
        GROUPS.map((group) => makeChip(group, chosen.includes(group), () => toggle(group))),
      ),
      narrowed.map(([name, value]) =>
        element(
          'button.chip.narrowed',
          { type: 'button', title: 'Remove', on: { click: () => choose({ ...selection, [name]: undefined }) } },
          `${name} ${value}`,
          element('span', { 'aria-hidden': 'true' }, ' ×'),
        ),
      ),
      element('span.spring'),
      element('span.soft', {}, `${formatNumber(total)} of ${formatNumber(run.seq)} entries`),
    );
  }

  /** Draws once, at the next frame. */
  function draw() {
    if (drawing !== undefined) return;
    drawing = requestAnimationFrame(() => {
      drawing = undefined;
      const count = Math.min(total, MOST_ROWS);
      space.style.setProperty('height', `${count * ROW}px`);
      view.setAttribute('aria-rowcount', String(total));
      const from = clamp(Math.floor(view.scrollTop / ROW) - 8, 0, count);
      const until = Math.min(count, from + Math.ceil(view.clientHeight / ROW) + 16);
      for (let page = Math.floor(from / PAGE); page * PAGE < until; page += 1) load(page);
      rows.style.setProperty('transform', `translateY(${from * ROW}px)`);
      const list = [];
      for (let index = from; index < until; index += 1) list.push(drawRow(index));
      replace(rows, list);
    });
  }

  function drawRow(index) {
    const entry = pages.get(Math.floor(index / PAGE))?.[index % PAGE];
    const attributes = {
      role: 'row',
      'aria-rowindex': index + 1,
      data: { index, current: index === current ? '' : undefined },
    };
    if (entry === undefined)
      return element('div.virtual-row.empty-row', attributes, element('span', { role: 'cell' }, '…'));
    const { seq, at, type, step, text } = entry;
    return element(
      'div.virtual-row',
      {
        ...attributes,
        on: {
          click: () => {
            current = index;
            draw();
            inspect(seq);
          },
        },
      },
      element('span.number', { role: 'cell' }, seq),
      element('span.number', { role: 'cell' }, formatOffset(at - run.startedAt)),
      element('span.type', { role: 'cell', data: { group: type.split('.')[0] } }, type),
      element('span.step', { role: 'cell', title: step }, step),
      element('span.text', { role: 'cell', title: text }, text),
    );
  }

  function handleKey(event) {
    const shown = Math.floor(view.clientHeight / ROW);
    const by = { ArrowDown: 1, ArrowUp: -1, j: 1, k: -1, PageDown: shown, PageUp: -shown, Home: -total, End: total }[
      event.key
    ];
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (by !== undefined) {
      current = clamp(current + by, 0, total - 1);
      const top = current * ROW;
      if (top < view.scrollTop) view.scrollTop = top;
      else if (top + ROW > view.scrollTop + view.clientHeight) view.scrollTop = top + ROW - view.clientHeight;
      draw();
      const entry = pages.get(Math.floor(current / PAGE))?.[current % PAGE];
      if (entry !== undefined) announce(`entry ${entry.seq}, ${entry.type}, ${entry.text}`);
    } else if (event.key === 'Enter') {
      const entry = pages.get(Math.floor(current / PAGE))?.[current % PAGE];
      if (entry !== undefined) inspect(entry.seq);
    } else return;
    event.preventDefault();
    event.stopPropagation();
  }
}
