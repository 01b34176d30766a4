/** Lists the runs, with filters kept in the address, the progress of unfinished runs, and a choice of two to compare. */

import { formatSpan } from '../../../base/format.ts';
import { MODE_MEANING } from '../../glossary.ts';
import { get } from './api.js';
import { makeChip, makeMore } from './controls.js';
import { announce, element, isTyping, replace } from './dom.js';
import { startPolling } from './polling.js';
import { describeEnd, formatAgo, formatNumber, formatPlural, formatTime, OUTCOMES, shortenName } from './words.js';

const PAGE = 100;
const EVERY_MS = 2000;

export function openRuns(main, parameters, context) {
  const filter = { text: '', outcome: '', mode: '', runbook: '', account: '', ...parameters };
  const chosen = new Set();
  let limit = PAGE;
  let known = '';
  let shown;

  context.crumbs();
  const search = element('input', {
    type: 'search',
    placeholder: 'Search runs',
    'aria-label': 'Search runs',
    value: filter.text,
    autocomplete: 'off',
    spellcheck: 'false',
    on: { input: () => change('text', search.value) },
  });
  const outcomes = element('div.chips', { role: 'group', 'aria-label': 'Outcome' });
  const selects = element('div.selects');
  const table = element('div.runs', {});
  const more = element('p.more');
  const compare = element('div.compare-bar', { hidden: true });
  const summary = element('p.soft');
  replace(
    main,
    element('div.head', {}, element('h1', {}, 'Runs'), summary),
    element(
      'form.filters',
      { role: 'search', on: { submit: (event) => event.preventDefault() } },
      search,
      outcomes,
      selects,
    ),
    table,
    more,
    compare,
  );
  document.addEventListener('keydown', handleKey);
  const poll = startPolling(refresh, EVERY_MS, context);
  return () => {
    poll.stop();
    document.removeEventListener('keydown', handleKey);
  };

  async function refresh(signal) {
    const document_ = await get('/api/runs', { ...filter, limit }, signal);
    const { now, ...rest } = document_;
    const text = JSON.stringify(rest);
    // Rebuilt only if something changed: a rebuild would disturb a tap or a screen reader.
    if (text !== known) draw(document_);
    else
      for (const place of table.querySelectorAll('[data-since]'))
        place.textContent = formatAgo(now - Number(place.dataset.since));
    known = text;
    return document_.runs.some(({ outcome, mode }) => outcome === undefined && mode === 'live') ? 'live' : 'idle';
  }

  function change(name, value) {
    filter[name] = value;
    limit = PAGE;
    context.remember(filter);
    poll.now();
  }

  function draw(list) {
    shown = list;
    const { counts, runs, total, now } = list;
    summary.textContent = `${formatPlural(counts.all, 'run')} in ${context.session.state}${total === counts.all ? '' : `, ${formatNumber(total)} shown`}`;
    drawFilters(counts);
    const focused = document.activeElement?.closest?.('[data-run]')?.dataset.run;
    replace(table, runs.length === 0 ? drawEmpty(counts) : runs.map((run) => drawRow(run, now)));
    if (focused !== undefined)
      table.querySelector(`[data-run="${CSS.escape(focused)}"] a`)?.focus({ preventScroll: true });
    replace(
      more,
      makeMore(total - runs.length, () => {
        limit += PAGE;
        poll.now();
      }),
    );
    drawCompare();
  }

  function drawEmpty({ all }) {
    return all === 0
      ? element(
          'div.empty',
          {},
          element('p', {}, 'There are no runs yet.'),
          element(
            'p.soft',
            {},
            'Start one with ',
            element('code', {}, 'runbook dry-run FILE'),
            '; it appears here by itself.',
          ),
        )
      : element(
          'div.empty',
          {},
          element('p', {}, 'No run matches the filters.'),
          element('button', { type: 'button', on: { click: clear } }, 'Clear the filters'),
        );
  }

  function clear() {
    for (const name of Object.keys(filter)) filter[name] = '';
    search.value = '';
    context.remember(filter);
    poll.now();
  }

  function drawFilters(counts) {
    const chip = (value, word, count, tone) => {
      const press = () => change('outcome', filter.outcome === value ? '' : value);
      return makeChip(word, filter.outcome === value, press, { count, tone });
    };
    const kinds = ['unfinished', 'succeeded', 'stopped', 'failed', 'halted'].filter(
      (kind) => counts.outcomes[kind] > 0 || filter.outcome === kind,
    );
    replace(
      outcomes,
      chip('', 'all', counts.all, 'soft'),
      kinds.map((kind) => chip(kind, OUTCOMES[kind].word, counts.outcomes[kind], OUTCOMES[kind].tone)),
    );
    const select = (name, label, values) =>
      Object.keys(values).length > 1 || filter[name] !== ''
        ? element(
            'select',
            { 'aria-label': label, on: { change: (event) => change(name, event.target.value) } },
            element('option', { value: '' }, label),
            Object.entries(values).map(([value, count]) =>
              element('option', { value, selected: value === filter[name] }, `${value} (${count})`),
            ),
          )
        : undefined;
    replace(
      selects,
      select('runbook', 'every runbook', counts.runbooks),
      select('mode', 'every mode', counts.modes),
      select('account', 'every account', counts.accounts),
    );
  }

  function drawRow(run, now) {
    const { outcome = 'unfinished', startedAt, endedAt, mode, trigger, account, progress } = run;
    const { word, tone, mark } = describeEnd(run, progress?.isGoing === true);
    const isLive = outcome === 'unfinished' && mode === 'live';
    return element(
      'article.run',
      { data: { run: run.run, tone } },
      element(
        'label.pick',
        { title: 'Choose for comparison' },
        element('input', {
          type: 'checkbox',
          checked: chosen.has(run.run),
          'aria-label': `Compare ${shortenName(run.run)}`,
          on: { change: (event) => choose(run.run, event.target.checked) },
        }),
      ),
      element(
        isLive ? 'span.pill.pulse' : 'span.pill',
        { data: { tone } },
        element('span', { 'aria-hidden': 'true' }, mark),
        word,
      ),
      element(
        'div.run-name',
        {},
        element('a', { href: `/run?id=${encodeURIComponent(run.run)}` }, run.runbook),
        element('span.id', {}, run.run),
      ),
      element('span.mode', { data: { mode }, title: MODE_MEANING[mode] }, mode),
      element('span.account', {}, account),
      element('span.trigger', {}, trigger),
      element('time.when', { datetime: new Date(startedAt).toISOString(), title: 'began' }, formatTime(startedAt, 0)),
      element('span.took', {}, endedAt === undefined ? '' : formatSpan(endedAt - startedAt)),
      progress === undefined ? undefined : drawProgress(progress, now, isLive),
    );
  }

  function drawProgress({ entries, lastAt, active, waitsForPerson }, now, isLive) {
    const innermost = active.at(-1);
    return element(
      'p.progress',
      {},
      waitsForPerson && element('strong.asks', {}, 'waits for a person'),
      innermost === undefined
        ? 'between steps'
        : [element('strong', {}, innermost.label), innermost.verb === innermost.label ? '' : ` ${innermost.verb}`],
      element('span.soft', {}, ` · ${formatPlural(entries, 'entry', 'entries')}`),
      isLive &&
        element('span.soft', {}, ' · last one ', element('span', { data: { since: lastAt } }, formatAgo(now - lastAt))),
    );
  }

  function choose(run, isChosen) {
    if (isChosen) chosen.add(run);
    else chosen.delete(run);
    // Two can be compared; a third replaces the first.
    while (chosen.size > 2) chosen.delete(chosen.values().next().value);
    for (const box of table.querySelectorAll('input[type=checkbox]'))
      box.checked = chosen.has(box.closest('[data-run]').dataset.run);
    drawCompare();
  }

  function drawCompare() {
    const [left, right] = [...chosen].sort();
    compare.hidden = left === undefined;
    if (left === undefined) return;
    replace(
      compare,
      element(
        'span',
        {},
        right === undefined
          ? `${shortenName(left)}: choose another one`
          : `${shortenName(left)} and ${shortenName(right)}`,
      ),
      element('button.primary', { type: 'button', disabled: right === undefined, on: { click: open } }, 'Compare'),
      element(
        'button.quiet',
        {
          type: 'button',
          on: {
            click: () => {
              chosen.clear();
              choose('', false);
            },
          },
        },
        'Clear',
      ),
    );
    announce(right === undefined ? 'one run chosen' : 'two runs chosen');
  }

  function open() {
    const [left, right] = [...chosen].sort();
    if (right !== undefined) context.navigate('/compare', { left, right });
  }

  function handleKey(event) {
    if (event.metaKey || event.ctrlKey || event.altKey || document.querySelector('dialog[open]') !== null) return;
    if (event.key === 'Escape' && event.target === search) search.blur();
    if (isTyping(event) && !(event.target instanceof HTMLInputElement && event.target.type === 'checkbox')) return;
    const links = [...table.querySelectorAll('.run-name a')];
    const current = links.findIndex((link) => link.closest('[data-run]').contains(document.activeElement));
    if (event.key === '/') search.focus();
    else if (event.key === 'j' || event.key === 'ArrowDown') links[Math.min(current + 1, links.length - 1)]?.focus();
    else if (event.key === 'k' || event.key === 'ArrowUp') links[Math.max(current - 1, 0)]?.focus();
    else if (event.key === 'x' && current >= 0) {
      const { run } = shown.runs[current];
      choose(run, !chosen.has(run));
    } else if (event.key === 'c') open();
    else return;
    event.preventDefault();
  }
}
