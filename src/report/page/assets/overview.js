/** Draws the whole run as a strip of requests, with the span in view, which can be dragged or drawn anew. */

import { clamp, createTimeScale } from '../../time-scale.ts';
import { svg } from './dom.js';

/** Tiers by kind of request: reads and keep-alives behind, then writes, problems in front. */
const TIERS = [0, 0, 1, 2, 2, 2];
const HEIGHT = 28;

/** `view()` gives `{ from, until, isWhole }` and the ends of the strip, `{ first, last }`; `choose(from, until)` is called with the new span. */
export function createOverview(view, choose) {
  const node = svg('svg.overview-plot', { 'aria-hidden': 'true', preserveAspectRatio: 'none' });
  handlePointers();
  return { node, draw };

  function draw({ requests }, width) {
    const { from, until, first, last } = view();
    const scale = createTimeScale(first, last, width);
    const columns = [new Map(), new Map(), new Map()];
    for (const [index, at] of requests.at.entries()) {
      const x = Math.round(scale.x(at) / 2) * 2;
      const tier = columns[TIERS[requests.kind[index]]];
      tier.set(x, (tier.get(x) ?? 0) + requests.count[index]);
    }
    const most = Math.max(1, ...columns[0].values());
    const density = columns.map((tier) =>
      [...tier].map(([x, many]) => `M${x} 27v${-(3 + Math.sqrt(Math.min(many / most, 1)) * 20)}`).join(''),
    );
    const [left, right] = [scale.x(Math.max(from, first)), scale.x(until)];
    node.setAttribute('viewBox', `0 0 ${Math.max(width, 1)} ${HEIGHT}`);
    node.replaceChildren(
      ...density.map((d, tier) => svg('path', { class: `density tier${tier}`, d })),
      svg('rect', { class: 'outside', x: 0, y: 0, width: Math.max(0, left), height: HEIGHT }),
      svg('rect', { class: 'outside', x: right, y: 0, width: Math.max(0, width - right), height: HEIGHT }),
      svg('rect', { class: 'window', x: left, y: 0.5, width: Math.max(right - left, 3), height: HEIGHT - 1, rx: 3 }),
    );
  }

  function readTime({ clientX }) {
    const { left, width } = node.getBoundingClientRect();
    const { first, last } = view();
    return first + clamp((clientX - left) / Math.max(width, 1), 0, 1) * (last - first);
  }

  function handlePointers() {
    let grabbed;
    node.addEventListener('pointerdown', (event) => {
      const time = readTime(event);
      const { from, until, isWhole } = view();
      grabbed = time >= from && time <= until && !isWhole ? { offset: time - from } : { start: time };
      node.setPointerCapture(event.pointerId);
    });
    node.addEventListener('pointermove', (event) => {
      if (grabbed === undefined) return;
      const time = readTime(event);
      const { from, until, first, last } = view();
      if (grabbed.offset !== undefined) choose(time - grabbed.offset, time - grabbed.offset + (until - from));
      else if (Math.abs(time - grabbed.start) > (last - first) / 200)
        choose(Math.min(time, grabbed.start), Math.max(time, grabbed.start));
    });
    for (const end of ['pointerup', 'pointercancel'])
      node.addEventListener(end, () => {
        grabbed = undefined;
      });
  }
}
