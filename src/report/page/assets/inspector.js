/** Shows one entry beside the page: formatted, and as the line that was hashed. */
import { stripRounds } from '../../../journal/entry.ts';
import { get, makeRunPath } from './api.js';
import { element, replace } from './dom.js';
import { formatTime } from './words.js';

export function createInspector(run, open) {
  const node = element('aside.inspector', { 'aria-label': 'Entry', hidden: true, tabindex: -1 });
  let current = 0;
  let returnTo;

  return {
    node,
    show,
    close,
    get isOpen() {
      return !node.hidden;
    },
  };

  async function show(seq) {
    if (node.hidden) returnTo = document.activeElement;
    current = seq;
    node.hidden = false;
    document.body.classList.add('inspecting');
    let entry;
    try {
      entry = await get(makeRunPath(run, 'entries', String(seq)));
    } catch (error) {
      if (seq === current) replace(node, drawHead(seq), element('p.problem', {}, error.message));
      return;
    }
    if (seq !== current) return;
    const step = entry.step === '' ? undefined : entry.step;
    replace(
      node,
      drawHead(seq),
      element(
        'dl.facts',
        {},
        drawFact('type', element('code', {}, entry.type)),
        drawFact('at', formatTime(entry.at)),
        step !== undefined &&
          drawFact(
            'step',
            element('button.link', { type: 'button', on: { click: () => open({ step: stripRounds(step) }) } }, step),
          ),
        drawFact('hash', element('code.hash', {}, entry.hash)),
      ),
      element('h3', {}, 'Formatted'),
      element('pre', { tabindex: 0 }, entry.pretty.join('\n')),
      element(
        'details',
        {},
        element('summary', {}, 'The stored line, which was hashed'),
        element('pre.raw', { tabindex: 0 }, entry.line),
      ),
    );
    node.focus({ preventScroll: true });
  }

  function drawHead(seq) {
    return element(
      'div.inspector-head',
      {},
      element('h2', {}, `Entry ${seq}`),
      element('span.spring'),
      element(
        'button.quiet',
        { type: 'button', 'aria-label': 'Entry before', disabled: seq <= 1, on: { click: () => show(seq - 1) } },
        '‹',
      ),
      element('button.quiet', { type: 'button', 'aria-label': 'Entry after', on: { click: () => show(seq + 1) } }, '›'),
      element('button.quiet', { type: 'button', 'aria-label': 'Close', on: { click: close } }, '×'),
    );
  }

  function drawFact(term, value) {
    return element('div', {}, element('dt', {}, term), element('dd', {}, value));
  }

  function close() {
    if (node.hidden) return;
    node.hidden = true;
    document.body.classList.remove('inspecting');
    returnTo?.focus?.({ preventScroll: true });
  }
}
