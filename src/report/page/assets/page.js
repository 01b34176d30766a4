/**
 * Runs the page: chooses the view for the address, and draws the bar, the theme and the list of keys. A view is a function that
 * fills an element and returns a function that leaves it.
 */
import { get, keepToken, takeToken } from './api.js';
import { openComparison } from './compare.js';
import { announce, append, element, isTyping, replace } from './dom.js';
import { openRun } from './run.js';
import { openRuns } from './runs.js';

const VIEWS = { '/': openRuns, '/run': openRun, '/compare': openComparison };
const THEME = 'runbook-theme';
const THEMES = ['system', 'light', 'dark'];

const main = document.getElementById('main');
const bar = document.getElementById('bar');
const status = element('span.status', { role: 'status' });
let session;
let leave = () => {};

/** Passed to each view after its element and its parameters. */
const context = {
  navigate,
  /** Changes the address without rebuilding the view. */
  remember(parameters) {
    history.replaceState(null, '', makeAddress(location.pathname, parameters));
  },
  /** `state`: `live`, `idle` or `wrong`. */
  report(state, text) {
    status.className = `status ${state}`;
    replace(status, element('span.dot', { 'aria-hidden': 'true' }), element('span.status-text', {}, text));
  },
  crumbs(...parts) {
    const list = document.getElementById('crumbs');
    replace(
      list,
      parts.map((part) => [element('span.slash', { 'aria-hidden': 'true' }, '/'), part]),
    );
    document.title = [...parts.map((part) => part.textContent).reverse(), 'runbook audit'].join(' · ');
  },
  get session() {
    return session;
  },
};

applyTheme(localStorage.getItem(THEME) ?? 'system');
// A change after `#` fires this event too: without a token there is nothing to show.
addEventListener('popstate', () => {
  if (session !== undefined) show();
});
addEventListener('hashchange', () => {
  if (takeToken()) start();
});
document.addEventListener('click', followLink);
document.addEventListener('keydown', handleShortcut);
start();

async function start() {
  drawBar();
  if (!takeToken())
    return askForToken('This page needs the address that `runbook audit serve` printed: the token is in it.');
  try {
    session = await get('/api/session');
  } catch (error) {
    return askForToken(
      error.status === 401 ? 'This token belongs to an earlier start or to another server.' : error.message,
    );
  }
  drawBar();
  show();
}

function show() {
  leave();
  const view = VIEWS[location.pathname] ?? openRuns;
  const parameters = Object.fromEntries(new URLSearchParams(location.search));
  replace(main);
  scrollTo(0, 0);
  leave = view(main, parameters, context) ?? (() => {});
}

/** `navigate('/run', { id })`. */
function navigate(path, parameters = {}) {
  history.pushState(null, '', makeAddress(path, parameters));
  show();
  main.focus({ preventScroll: true });
}

function makeAddress(path, parameters) {
  const given = Object.entries(parameters).filter(([, value]) => value !== undefined && value !== '');
  const query = new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString();
  return query === '' ? path : `${path}?${query}`;
}

/** Links of this page change the view; the browser follows links elsewhere and clicks with a modifier. */
function followLink(event) {
  const link = event.target instanceof Element ? event.target.closest('a[href]') : null;
  if (link === null || event.defaultPrevented || event.button !== 0) return;
  if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey || link.target !== '') return;
  const url = new URL(link.href);
  if (url.origin !== location.origin || VIEWS[url.pathname] === undefined || url.hash !== '') return;
  event.preventDefault();
  navigate(url.pathname, Object.fromEntries(url.searchParams));
}

function drawBar() {
  const theme = localStorage.getItem(THEME) ?? 'system';
  const picker = element(
    'select.theme',
    {
      'aria-label': 'Colours',
      on: {
        change: (event) => {
          localStorage.setItem(THEME, event.target.value);
          applyTheme(event.target.value);
        },
      },
    },
    THEMES.map((each) => element('option', { value: each, selected: each === theme }, each)),
  );
  const allowed = session?.allowActions === true;
  replace(
    bar,
    element(
      'a.brand',
      { href: '/' },
      element('img', { src: '/assets/icon.svg', alt: '', width: 22, height: 22 }),
      'runbook audit',
    ),
    element('nav.crumbs', { id: 'crumbs', 'aria-label': 'Where you are' }),
    element('span.spring'),
    session === undefined
      ? undefined
      : element(
          allowed ? 'span.badge.armed' : 'span.badge',
          { title: allowed ? 'Started with --allow-actions' : 'Started without --allow-actions' },
          allowed ? 'actions allowed' : 'read-only',
        ),
    status,
    picker,
    element(
      'button.quiet.help',
      { type: 'button', 'aria-label': 'Keys', title: 'Keys (?)', on: { click: showKeys } },
      '?',
    ),
  );
}

function applyTheme(theme) {
  if (theme === 'system') delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
}

function askForToken(why) {
  const field = element('input', {
    type: 'text',
    name: 'token',
    autocomplete: 'off',
    spellcheck: 'false',
    'aria-label': 'Address or token',
    placeholder: 'http://127.0.0.1:…/#token=…',
  });
  const submit = (event) => {
    event.preventDefault();
    if (keepToken(field.value)) start();
    else announce('No token found');
  };
  const parts = why.split('`').map((part, index) => (index % 2 === 1 ? element('code', {}, part) : part));
  replace(
    main,
    element(
      'section.gate',
      {},
      element('h1', {}, 'Nothing to show yet'),
      element('p', {}, parts),
      element('form', { on: { submit } }, field, element('button.primary', { type: 'submit' }, 'Open')),
    ),
  );
  field.focus();
}

const KEYS = [
  ['/', 'search the runs'],
  ['j k  or  ↓ ↑', 'next, previous run or row'],
  ['Enter', 'open'],
  ['x', 'choose a run to compare; c compares two'],
  ['1 … 7', 'the tabs of a run'],
  ['← →', 'move along the time axis; with Shift, further'],
  ['+ −  0', 'zoom the time axis in, out, to the whole run'],
  ['↑ ↓', 'another lane of the time axis'],
  ['Esc', 'close'],
  ['g', 'back to the list of runs'],
];

function showKeys() {
  const rows = KEYS.map(([key, what]) => [element('dt', {}, element('kbd', {}, key)), element('dd', {}, what)]);
  const dialog = element(
    'dialog.keys',
    { 'aria-label': 'Keys', on: { close: () => dialog.remove() } },
    element('h2', {}, 'Keys'),
    element('dl', {}, rows),
    element(
      'form',
      { method: 'dialog' },
      element('button.primary', { autofocus: true, on: { click: close } }, 'Close'),
    ),
  );
  function close(event) {
    // Closed here, not by submitting: the page's policy forbids it.
    event.preventDefault();
    dialog.close();
  }
  append(document.body, dialog);
  dialog.showModal();
}

function handleShortcut(event) {
  if (
    isTyping(event) ||
    event.metaKey ||
    event.ctrlKey ||
    event.altKey ||
    document.querySelector('dialog[open]') !== null
  )
    return;
  if (event.key === '?') showKeys();
  else if (event.key === 'g' && location.pathname !== '/') navigate('/');
  else return;
  event.preventDefault();
}
