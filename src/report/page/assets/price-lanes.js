/**
 * Makes the price lane of a market: the prices the run read, the price and trigger of each working order, and the fills. A
 * price is shown as a text; only its position on the scale is a number.
 */
import { findLowerBound, findNearest, roundToTenth } from '../../time-scale.ts';

/** One group for each market that was traded or read. */
export function makePriceGroups(run, known) {
  const markets = [...new Set([...run.orders.map(({ market }) => market), ...run.prices.map(({ market }) => market)])];
  return markets.flatMap((market) => {
    const orders = run.orders.filter(
      (order) =>
        order.market === market && (order.levels.length > 0 || order.trigger !== undefined || order.fills.length > 0),
    );
    const feeds = run.prices.filter((each) => each.market === market);
    if (orders.length === 0 && feeds.length === 0) return [];
    return [{ key: `price ${market}`, title: `Price ${market}`, lanes: [makePriceLane(market, orders, feeds, known)] }];
  });
}

const PRICE_HEIGHT = 180;

/**
 * A price's position on the scale, without a unit; NaN for a text that is not a number. This is the only conversion of a price
 * to a number, and only for drawing: labels are the texts in the journal.
 */
export function toPosition(priceText) {
  return Number(priceText);
}

function makePriceLane(market, orders, feeds, known) {
  const levels = orders.flatMap((order) => findLevels(order, known));
  const fills = orders.flatMap((order) => order.fills.map((fill) => ({ ...fill, side: order.side })));
  return {
    key: `price ${market}`,
    label: feeds.map(({ feed }) => feed).join(', ') || 'orders',
    hint: feeds.length > 0 ? 'orders, fills' : 'fills',
    count: '',
    indent: 0,
    height: PRICE_HEIGHT,
    about: `${market}: prices the run read, prices of its working orders, and its fills`,
    draw(scale, width) {
      const [from, until] = [scale.at(0), scale.at(width)];
      const seen = [
        ...feeds.flatMap(({ at, price }) =>
          price.slice(Math.max(0, findLowerBound(at, from) - 1), findLowerBound(at, until) + 1),
        ),
        ...levels.filter((level) => level.until >= from && level.from <= until).map(({ price }) => price),
        ...fills.filter(({ at }) => at >= from && at <= until).map(({ price }) => price),
      ].filter((price) => Number.isFinite(toPosition(price)));
      if (seen.length === 0) return { paths: [], texts: [] };
      const lowest = seen.reduce((least, price) => (toPosition(price) < toPosition(least) ? price : least));
      const highest = seen.reduce((most, price) => (toPosition(price) > toPosition(most) ? price : most));
      const [low, high] = [toPosition(lowest), toPosition(highest)];
      const margin = (high - low || Math.abs(high) * 0.001 || 1) * 0.08;
      const y = (price) =>
        roundToTenth(
          PRICE_HEIGHT - 12 - ((toPosition(price) - low + margin) / (high - low + 2 * margin)) * (PRICE_HEIGHT - 24),
        );
      const lines = feeds.flatMap(({ at, price }, index) => [
        { name: `feed feed${index % 4}`, d: drawSteps(at, price, scale, width, y) },
        { name: `reading feed${index % 4}`, d: drawReadings(at, price, scale, width, y) },
      ]);
      const byClass = new Map();
      // The ends of the scale, above and below their lines, so that no line crosses the text.
      const texts = [
        { x: width - 4, y: Math.max(y(highest) - 4, 9), text: highest, name: 'level-label end' },
        { x: width - 4, y: Math.min(y(lowest) + 12, PRICE_HEIGHT - 1), text: lowest, name: 'level-label end' },
      ].slice(0, highest === lowest ? 1 : 2);
      for (const level of levels) {
        const [left, right] = [scale.x(level.from), scale.x(level.until)];
        if (right < 0 || left > width) continue;
        const name = `level ${level.kind} ${level.side}`;
        const x = Math.max(left, 0);
        byClass.set(
          name,
          `${byClass.get(name) ?? ''}M${roundToTenth(x)} ${y(level.price)}H${roundToTenth(Math.min(Math.max(right, x + 2), width))}`,
        );
        const words = `${level.kind === 'trigger' ? 'trigger' : level.side} ${level.price}`;
        const text = { x: x + 4, y: Math.max(y(level.price) - 4, 9), text: words, name: 'level-label' };
        const needed = words.length * 6.5 + 8;
        const isFree = texts.every(
          (other) => Math.abs(other.y - text.y) > 11 || other.x - text.x > needed + 50 || text.x - other.x > needed,
        );
        if (texts.length < 24 && Math.min(right, width) - x > Math.min(needed, 60) && isFree) texts.push(text);
      }
      const dots = fills
        .map(({ at, price }) => ({ x: scale.x(at), price }))
        .filter(({ x }) => x >= -5 && x <= width + 5);
      const diamonds = dots
        .map(
          ({ x, price }) =>
            `M${roundToTenth(x - 5)} ${y(price)}L${roundToTenth(x)} ${y(price) - 5}L${roundToTenth(x + 5)} ${y(price)}L${roundToTenth(x)} ${y(price) + 5}Z`,
        )
        .join('');
      return {
        paths: [...lines, ...[...byClass].map(([name, d]) => ({ name, d })), { name: 'fillmark', d: diamonds }].filter(
          ({ d }) => d !== '',
        ),
        texts,
      };
    },
    describeAt(time) {
      const read = feeds.flatMap(({ feed, at, price }) => {
        const index = findLowerBound(at, time + 1) - 1;
        return index < 0 ? [] : [`${feed} ${price[index]}`];
      });
      const working = levels
        .filter(({ from, until }) => from <= time && time <= until)
        .map(({ side, price, kind }) => `${kind === 'trigger' ? 'trigger' : side} ${price}`);
      const all = [...read, ...working.slice(0, 6)];
      return all.length === 0 ? undefined : all.join(', ');
    },
    findEntryNear(time) {
      const [feed] = feeds;
      return feed === undefined ? orders[0]?.seq : feed.seq[findNearest(feed.at, time)];
    },
  };
}

/** The spans of an order's prices, each from sending until a change or the end of the order. */
function findLevels({ levels, side, moves, isOver, trigger, createdAt }, known) {
  const sent = moves.find(({ event }) => event === 'SUBMIT')?.at ?? createdAt;
  const over = isOver ? (moves.at(-1)?.at ?? createdAt) : known;
  const prices = levels.map(({ at, price }, index) => ({
    kind: 'price',
    side,
    price,
    from: Math.max(at, sent),
    until: levels[index + 1]?.at ?? over,
  }));
  return trigger === undefined
    ? prices
    : [...prices, { kind: 'trigger', side, price: trigger, from: sent, until: over }];
}

/** A line of steps: a price holds until the next reading. */
function drawSteps(at, price, scale, width, y) {
  let d = '';
  let column;
  for (let index = Math.max(0, findLowerBound(at, scale.at(0)) - 1); index < at.length; index += 1) {
    const x = scale.x(at[index]);
    const place = Math.round(x);
    if (place === column && index + 1 < at.length) continue;
    column = place;
    const shownX = roundToTenth(Math.min(Math.max(x, 0), width));
    d += d === '' ? `M${shownX} ${y(price[index])}` : `H${shownX}V${y(price[index])}`;
    if (x > width) break;
  }
  return d;
}

/** Points for the readings if they are far apart: between two of them the price is unknown. */
function drawReadings(at, price, scale, width, y) {
  const first = findLowerBound(at, scale.at(0));
  const last = findLowerBound(at, scale.at(width) + 1);
  if (last - first > width / 12) return '';
  let d = '';
  for (let index = first; index < last; index += 1) d += `M${roundToTenth(scale.x(at[index]))} ${y(price[index])}h.01`;
  return d;
}
