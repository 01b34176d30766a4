/** Lays out the lanes as rows, in groups that fold: their labels, and the drawing area of each. */
import { element, replace, svg } from './dom.js';
import { formatNumber, OUTCOMES } from './words.js';

/** Lanes of a group that are shown until the reader asks for all. */
const FIRST_LANES = 16;
/** Outcomes that a lane's label shows by a mark, not by colour alone. */
const MARKED = ['failed', 'halted', 'active'];

/** `onChange()` is called when the reader folds or unfolds a group. */
export function createLaneRows(onChange) {
  const node = element('div.lanes');
  const folded = new Set();
  const whole = new Set();
  let groups = [];
  let rows = [];
  let structure = '';
  return {
    node,
    update,
    /** `{ lane, plot, node }` of each lane that is shown. */
    get rows() {
      return rows;
    },
  };

  /** Rebuilds the rows only if lanes were added or removed. */
  function update(next) {
    groups = next;
    const shown = groups.map((group) => ({ ...group, shown: folded.has(group.key) ? [] : listVisible(group) }));
    const wanted = shown.flatMap((group) => [group.key, ...group.shown.map(({ key }) => key)]).join('\n');
    if (wanted !== structure) {
      structure = wanted;
      rows = [];
      replace(node, shown.map(drawGroup));
    } else {
      const lanes = shown.flatMap((group) => group.shown);
      for (const [index, row] of rows.entries()) row.lane = lanes[index];
    }
    for (const row of rows) drawLabel(row);
  }

  function listVisible({ key, lanes }) {
    return whole.has(key) ? lanes : lanes.slice(0, FIRST_LANES);
  }

  function drawGroup({ key, title, lanes, shown, total = lanes.length }) {
    const isFolded = folded.has(key);
    return [
      element(
        'button.group',
        { type: 'button', 'aria-expanded': String(!isFolded), on: { click: () => toggle(folded, key) } },
        element('span.fold', { 'aria-hidden': 'true' }, isFolded ? '▸' : '▾'),
        title,
        total > 1 && element('span.count', {}, formatNumber(total)),
      ),
      shown.map(drawLane),
      !isFolded &&
        lanes.length > FIRST_LANES &&
        element(
          'button.link.more-lanes',
          { type: 'button', on: { click: () => toggle(whole, key) } },
          lanes.length > shown.length ? `show all ${formatNumber(lanes.length)}` : `show the first ${FIRST_LANES}`,
        ),
    ];
  }

  function drawLane(lane) {
    const name = element('div.lane-label');
    const plot = svg('svg.plot', { height: lane.height, 'aria-hidden': 'true' });
    const row = { lane, name, plot, node: element('div.lane', {}, name, plot) };
    rows.push(row);
    return row.node;
  }

  function drawLabel({ lane, name, node: place }) {
    place.dataset.tone = lane.tone ?? '';
    name.title = lane.about;
    name.style.setProperty('--indent', String(Math.min(lane.indent, 5)));
    replace(
      name,
      MARKED.includes(lane.tone) &&
        element(
          'span.lane-mark',
          {},
          element('span', { 'aria-hidden': 'true' }, OUTCOMES[lane.tone].mark),
          element('span.unseen', {}, OUTCOMES[lane.tone].word),
        ),
      element('span.lane-name', {}, lane.label),
      lane.hint !== '' && element('span.lane-hint', {}, lane.hint),
      lane.count !== '' && element('span.lane-count', {}, lane.count),
    );
  }

  function toggle(set, key) {
    if (set.has(key)) set.delete(key);
    else set.add(key);
    update(groups);
    onChange();
  }
}
