/** Makes the buttons that several lists have: the switches of a filter, and what shows the rest of a list. */
import { element } from './dom.js';
import { formatNumber } from './words.js';

/** A switch of a filter. `count`: how many rows it would show. */
export function makeChip(word, isPressed, press, { count, tone } = {}) {
  return element(
    'button.chip',
    { type: 'button', 'aria-pressed': String(isPressed), data: { tone }, on: { click: press } },
    word,
    count !== undefined && element('span.count', {}, formatNumber(count)),
  );
}

/** False where nothing is left. */
export function makeMore(left, show) {
  return (
    left > 0 && element('button', { type: 'button', on: { click: show } }, `Show more (${formatNumber(left)} left)`)
  );
}
