/** Shows the run's story, its timeline in sentences; reads and keep-alives that changed nothing are counted, not listed. */

import { formatOffset } from '../../../base/format.ts';
import { get, makeRunPath } from './api.js';
import { makeChip, makeMore } from './controls.js';
import { append, element, replace } from './dom.js';

const PAGE = 250;
const KINDS = ['run', 'step', 'decision', 'request', 'answer', 'order', 'fill', 'feed', 'deadman', 'person'];

export function createStoryTab(first, { inspect }) {
  const list = element('ol.story');
  const tools = element('div.list-tools');
  const end = element('p.more');
  const node = element('div', {}, tools, list, end);
  const shown = new Set(KINDS);
  let run = first;
  let loaded = 0;
  let total = 1;
  let loadedSeq = 0;
  let isLoading = false;
  const observer = new IntersectionObserver(
    (entries) => {
      if (entries.some((entry) => entry.isIntersecting)) load();
    },
    { rootMargin: '600px' },
  );
  observer.observe(end);
  drawTools();
  return {
    node,
    update(next) {
      run = next;
      // New entries may have added rows.
      if (run.seq !== loadedSeq) total = Math.max(total, loaded + 1);
      if (loaded === 0 || isVisible(end)) load();
    },
    leave: () => observer.disconnect(),
  };

  async function load() {
    if (isLoading || loaded >= total) return;
    isLoading = true;
    try {
      const { rows, total: all } = await get(makeRunPath(run.run, 'story'), { from: loaded, limit: PAGE });
      loaded += rows.length;
      total = all;
      loadedSeq = run.seq;
      append(list, rows.map(drawRow));
    } catch (error) {
      replace(end, element('span.problem', {}, error.message));
      return;
    } finally {
      isLoading = false;
    }
    drawEnd();
    if (isVisible(end) && loaded < total) load();
  }

  function drawEnd() {
    const left = total - loaded;
    replace(
      end,
      makeMore(left, load) ||
        element('span.soft', {}, run.outcome === undefined ? 'The run goes on …' : 'End of the story.'),
    );
  }

  function drawRow({ seq, offsetMs, depth, kind, spans }) {
    return element(
      'li',
      { data: { kind }, hidden: !shown.has(kind) },
      element(
        'button.link.story-at',
        { type: 'button', title: `Entry ${seq}`, on: { click: () => inspect(seq) } },
        formatOffset(offsetMs),
      ),
      element(
        'span.story-text',
        { style: { '--indent': Math.min(depth, 5) } },
        spans.map(({ role, text }) => element(`span.role-${role}`, {}, text)),
      ),
    );
  }

  function drawTools() {
    replace(
      tools,
      element(
        'div.chips',
        { role: 'group', 'aria-label': 'Kinds of rows' },
        KINDS.map((kind) =>
          makeChip(kind, shown.has(kind), () => {
            if (shown.has(kind)) shown.delete(kind);
            else shown.add(kind);
            for (const each of list.querySelectorAll(`[data-kind="${kind}"]`)) each.hidden = !shown.has(kind);
            drawTools();
          }),
        ),
      ),
    );
  }
}

function isVisible(node) {
  return node.isConnected && node.getBoundingClientRect().top < innerHeight + 600;
}
