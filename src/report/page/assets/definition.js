/** Shows what was run: the runbook as pinned in the journal, its inputs and outputs, and the settings in force. */
import { get, makeRunPath } from './api.js';
import { element, replace } from './dom.js';

export function createDefinitionTab(first) {
  const values = element('div.value-tables');
  const texts = element('div', {}, element('p.waiting', {}, 'Reading …'));
  const node = element('div.definition', {}, values, texts);
  load();
  return {
    node,
    update(run) {
      replace(
        values,
        drawTable('Inputs', run.inputs),
        drawTable('Variables', run.variables),
        drawTable('Outputs', run.outputs),
        drawTable(
          'Limits of the profile',
          Object.entries(run.allowed.profile).map(([name, value]) => ({
            name,
            value: typeof value === 'string' ? value : JSON.stringify(value),
          })),
        ),
      );
    },
  };

  async function load() {
    try {
      const { sources, settings } = await get(makeRunPath(first.run, 'definition'));
      replace(
        texts,
        sources.map(({ name, file, sha256, lines }, index) =>
          element(
            'details.source',
            { open: index === 0 },
            element('summary', {}, name, element('span.soft', {}, ` ${file}, sha256 ${sha256.slice(0, 16)}`)),
            drawNumbered(lines),
          ),
        ),
        element('details.source', {}, element('summary', {}, 'Settings in force'), drawNumbered(settings)),
      );
    } catch (error) {
      replace(texts, element('p.problem', {}, error.message));
    }
  }
}

function drawTable(title, rows) {
  return rows.length === 0
    ? undefined
    : element(
        'section',
        {},
        element('h2', {}, title),
        element(
          'dl.facts',
          {},
          rows.map(({ name, value }) =>
            element('div', {}, element('dt', {}, name), element('dd', {}, element('span.value', {}, value))),
          ),
        ),
      );
}

function drawNumbered(lines) {
  return element(
    'pre.numbered',
    { tabindex: 0 },
    lines.map((line) => element('span.line', {}, `${line}\n`)),
  );
}
