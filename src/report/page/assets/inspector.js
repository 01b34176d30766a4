/** One entry whole, beside the page: as it reads, and the very line that was hashed. */
import { get, runPath } from './api.js';
import { element, replace } from './dom.js';
import { timeText } from './words.js';

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
      entry = await get(runPath(run, 'entries', String(seq)));
    } catch (error) {
      if (seq === current) replace(node, head(seq), element('p.problem', {}, error.message));
      return;
    }
    if (seq !== current) return;
    const step = entry.step === '' ? undefined : entry.step;
    replace(
      node,
      head(seq),
      element(
        'dl.facts',
        {},
        fact('type', element('code', {}, entry.type)),
        fact('at', timeText(entry.at)),
        step !== undefined &&
          fact(
            'step',
            element(
              'button.link',
              { type: 'button', on: { click: () => open({ step: step.replace(/\[\d+\]|~\d+/g, '') }) } },
              step,
            ),
          ),
        fact('hash', element('code.hash', {}, entry.hash)),
      ),
      element('h3', {}, 'As it reads'),
      element('pre', { tabindex: 0 }, entry.pretty.join('\n')),
      element(
        'details',
        {},
        element('summary', {}, 'The line as stored, which the hash is over'),
        element('pre.raw', { tabindex: 0 }, entry.line),
      ),
    );
    node.focus({ preventScroll: true });
  }

  function head(seq) {
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

  function fact(term, value) {
    return element('div', {}, element('dt', {}, term), element('dd', {}, value));
  }

  function close() {
    if (node.hidden) return;
    node.hidden = true;
    document.body.classList.remove('inspecting');
    returnTo?.focus?.({ preventScroll: true });
  }
}
