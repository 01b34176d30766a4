/** Shows one run: its head, open questions, the six answers, and the tabs with the details. */

import { formatWholeSeconds } from '../../../base/format.ts';
import { MODE_MEANING } from '../../glossary.ts';
import { drawActions } from './actions.js';
import { drawAnswers } from './answers.js';
import { get, makeRunPath } from './api.js';
import { createChartTab } from './chart.js';
import { createDefinitionTab } from './definition.js';
import { announce, element, isTyping, replace } from './dom.js';
import { createEntriesTab } from './entries.js';
import { createInspector } from './inspector.js';
import { createOrdersTab } from './orders.js';
import { startPolling } from './polling.js';
import { createStepsTab } from './steps.js';
import { createStoryTab } from './story.js';
import { createTimelineTab } from './timeline.js';
import { describeEnd, describeWhy, formatAgo, formatNumber, formatTime, shortenName } from './words.js';

const EVERY_MS = 2000;

const TABS = [
  { key: 'overview', word: 'Overview', make: createTimelineTab },
  { key: 'chart', word: 'State chart', make: createChartTab },
  { key: 'orders', word: 'Orders', make: createOrdersTab, count: (run) => run.orders.length },
  { key: 'steps', word: 'Steps', make: createStepsTab, count: (run) => run.steps.length },
  { key: 'story', word: 'Story', make: createStoryTab },
  { key: 'entries', word: 'Entries', make: createEntriesTab, count: (run) => run.seq },
  { key: 'runbook', word: 'Runbook', make: createDefinitionTab },
];

export function openRun(main, { id = '', tab = 'overview', ...rest }, context) {
  const inspector = createInspector(id, (parameters) => open('entries', parameters));
  const head = element('div.head.run-head');
  const asks = element('div.asks');
  const cards = element('section.answers', { 'aria-label': 'The run in a minute' });
  const tabList = element('div.tabs', { role: 'tablist', 'aria-label': 'The run in detail' });
  const panel = element('section.panel', { role: 'tabpanel', id: 'panel', tabindex: 0 });
  const made = new Map();
  let selected = TABS.some(({ key }) => key === tab) ? tab : 'overview';
  const pending = rest;
  let run;
  let isVerifying = false;
  let clockSkew = 0;
  let shownAnswers = '';
  const unfolded = new Set();
  const narrow = matchMedia('screen and (max-width: 720px)');

  context.crumbs(element('span', {}, shortenName(id)));
  replace(main, element('p.waiting', {}, 'Reading the journal …'));
  document.addEventListener('keydown', handleKey);
  narrow.addEventListener('change', drawCards);
  const poll = startPolling(refresh, EVERY_MS, context);
  const clock = setInterval(tick, 250);
  return () => {
    poll.stop();
    clearInterval(clock);
    document.removeEventListener('keydown', handleKey);
    narrow.removeEventListener('change', drawCards);
    inspector.close();
    for (const each of made.values()) each.leave?.();
  };

  async function refresh(signal) {
    let answer;
    try {
      answer = await get(makeRunPath(id), { after: run?.seq }, signal);
    } catch (error) {
      if (error.status !== 404 && error.status !== 422) throw error;
      replace(
        main,
        element(
          'section.gate',
          {},
          element('h1', {}, 'This run cannot be shown'),
          element('p', {}, error.message),
          element('p', {}, element('a', { href: '/' }, 'All runs')),
        ),
      );
      return 'done';
    }
    clockSkew = answer.now - Date.now();
    if (answer.unchanged !== true) {
      const isFirst = run === undefined;
      const hadEnded = run?.outcome !== undefined;
      run = answer;
      if (isFirst) replace(main, head, asks, tabList, cards, panel, inspector.node);
      if (isFirst || (!hadEnded && run.outcome !== undefined)) verify();
      if (!isFirst && !hadEnded && run.outcome !== undefined) announce(`the run has ended: ${run.outcome}`);
      draw(isFirst);
    } else if (JSON.stringify(answer.answers) !== shownAnswers) {
      run = { ...run, answers: answer.answers, isGoing: answer.isGoing };
      drawHead();
      drawCards();
    }
    if (run.outcome !== undefined) return 'done';
    return run.mode === 'live' ? 'live' : 'idle';
  }

  /** The server verifies the journal and reads the kill switch's record; its next answers hold the results. */
  async function verify() {
    if (isVerifying) return;
    isVerifying = true;
    drawCards();
    try {
      await get(makeRunPath(id, 'checks'));
    } catch (error) {
      context.report('wrong', error.message);
    }
    isVerifying = false;
    drawCards();
    poll.now();
  }

  function draw(isFirst) {
    drawHead();
    drawAsks();
    drawCards();
    drawTabs();
    if (isFirst) select(selected, pending, false);
    else for (const [key, each] of made) if (key === selected) each.update(run);
  }

  function drawHead() {
    const { outcome = 'unfinished', runbook, mode, error, account, phase } = run;
    const { word, tone, mark } = describeEnd(run, run.isGoing);
    const why = describeWhy(run);
    const isLive = outcome === 'unfinished' && mode === 'live';
    replace(
      head,
      element(
        'div.title',
        {},
        element('h1', {}, runbook),
        element(
          isLive ? 'span.pill.large.pulse' : 'span.pill.large',
          { data: { tone } },
          element('span', { 'aria-hidden': 'true' }, mark),
          word,
        ),
        element('span.mode', { data: { mode }, title: MODE_MEANING[mode] }, mode),
        element('span.spring'),
        drawActions(run, context, poll.now),
        element('a.button', { href: `/compare?left=${encodeURIComponent(id)}` }, 'Compare with …'),
      ),
      why !== undefined &&
        element(
          'p.why',
          { data: { tone } },
          why,
          error?.step !== undefined && error.step !== '' && element('span.soft', {}, ` in ${error.step}`),
        ),
      element(
        'p.soft.ids',
        {},
        element('span.id', {}, id),
        ` · ${MODE_MEANING[mode]} · account ${account}`,
        outcome === 'unfinished' && ` · ${phase}${run.isGoing ? '' : ' as of its last entry'}`,
      ),
      outcome === 'unfinished' && drawNow(isLive),
    );
  }

  function drawNow(isLive) {
    const innermost = run.active.at(-1);
    return element(
      'p.now',
      {},
      element('strong', {}, run.isGoing ? 'Now: ' : 'As of its last entry: '),
      innermost === undefined
        ? 'between steps'
        : [
            innermost.label,
            innermost.verb === innermost.label ? '' : ` (${innermost.verb})`,
            element('span.soft', {}, ` ${innermost.path}`),
          ],
      isLive
        ? [
            element('span.soft', {}, ' · last entry '),
            element('span.soft', { data: { since: run.lastAt } }, formatAgo(now() - run.lastAt)),
          ]
        : element('span.soft', {}, ' · the journal ends here: the process died, or is still writing'),
    );
  }

  function drawAsks() {
    const open = run.approvals.filter(({ isOpen }) => isOpen);
    // Rebuilt only if the questions changed: a screen reader reads an alert aloud each time it is built.
    const asked = open.map(({ seq }) => seq).join(' ');
    if (asks.dataset.asked === asked) return;
    asks.dataset.asked = asked;
    replace(
      asks,
      open.map((approval) =>
        element(
          'div.ask',
          { role: 'alert' },
          element('p', {}, element('strong', {}, 'A person is asked: '), approval.ask),
          element(
            'p.soft',
            {},
            `asks ${approval.by.join(' or ')} until ${formatTime(approval.until, 0)}; step ${approval.label}, plan ${approval.plan.slice(0, 12)}`,
          ),
          context.session.allowActions
            ? drawActions(run, context, poll.now, approval)
            : element('p', {}, element('code', {}, `runbook approve ${shortenName(id)} ${approval.step} --by NAME`)),
        ),
      ),
    );
  }

  function drawCards() {
    if (run === undefined) return;
    shownAnswers = JSON.stringify(run.answers);
    const tools = { verify, isVerifying, open, inspect: inspector.show, unfolded, isNarrow: narrow.matches };
    replace(cards, drawAnswers(run, tools));
    tick();
  }

  function drawTabs() {
    const focused = document.activeElement?.closest?.('[role=tab]')?.dataset.tab;
    const scrolled = tabList.scrollLeft;
    replace(
      tabList,
      TABS.map(({ key, word, count }) =>
        element(
          'button',
          {
            type: 'button',
            role: 'tab',
            id: `tab-${key}`,
            'aria-selected': String(key === selected),
            'aria-controls': 'panel',
            tabindex: key === selected ? 0 : -1,
            data: { tab: key },
            on: { click: () => select(key), keydown: moveAlongTabs },
          },
          word,
          count !== undefined && element('span.count', {}, formatNumber(count(run))),
        ),
      ),
    );
    if (focused !== undefined) tabList.querySelector(`[data-tab="${focused}"]`)?.focus({ preventScroll: true });
    tabList.scrollLeft = scrolled;
  }

  function select(key, parameters = {}, isChange = true) {
    const before = selected;
    selected = key;
    drawTabs();
    const button = tabList.querySelector('[aria-selected=true]');
    const [left, right] = [button.offsetLeft - 24, button.offsetLeft + button.offsetWidth + 48];
    if (left < tabList.scrollLeft) tabList.scrollLeft = left;
    else if (right > tabList.scrollLeft + tabList.clientWidth) tabList.scrollLeft = right - tabList.clientWidth;
    panel.setAttribute('aria-labelledby', `tab-${key}`);
    if (isChange) context.remember({ id, tab: key === 'overview' ? undefined : key, ...parameters });
    if (before !== key) made.get(before)?.pause?.();
    let tab = made.get(key);
    if (tab === undefined) {
      tab = TABS.find((each) => each.key === key).make(run, { open, inspect: inspector.show, now, context });
      made.set(key, tab);
    }
    cards.hidden = key !== 'overview';
    replace(panel, tab.node);
    tab.show?.(parameters);
    tab.update(run);
  }

  /** Opens a tab, for links from another tab. */
  function open(key, parameters = {}) {
    select(key, parameters);
    panel.scrollIntoView({ block: 'nearest' });
  }

  function now() {
    return Date.now() + clockSkew;
  }

  function tick() {
    if (document.hidden || run === undefined || run.outcome !== undefined) return;
    for (const place of main.querySelectorAll('[data-since]'))
      place.textContent = formatAgo(now() - Number(place.dataset.since));
    for (const place of main.querySelectorAll('[data-until]')) {
      const left = Number(place.dataset.until) - now();
      place.textContent = left > 0 ? formatWholeSeconds(left) : 'any moment';
      place.style.setProperty('--left', String(Math.max(0, Math.min(1, left / Number(place.dataset.of)))));
    }
  }

  function moveAlongTabs(event) {
    const current = TABS.findIndex(({ key }) => key === selected);
    const to = { ArrowRight: current + 1, ArrowLeft: current - 1, Home: 0, End: TABS.length - 1 }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    select(TABS[(to + TABS.length) % TABS.length].key);
    tabList.querySelector('[aria-selected=true]')?.focus();
  }

  function handleKey(event) {
    if (isTyping(event) || event.metaKey || event.ctrlKey || event.altKey || run === undefined) return;
    if (document.querySelector('dialog[open]') !== null) return;
    const tab = TABS[Number(event.key) - 1];
    if (event.key === 'Escape' && inspector.isOpen) inspector.close();
    else if (/^[1-7]$/.test(event.key) && tab !== undefined) select(tab.key);
    else return;
    event.preventDefault();
  }
}
