/**
 * What stands on the time axis: lanes of steps, orders, requests, the deadman switch, tokens and prices. A lane says what to
 * draw for a stretch of time, what it was at a moment, and which entry is nearest. Many marks become one path, so a lane costs
 * the same whether it holds ten rounds or ten thousand.
 */
import { lowerBound, nearest, position, silenceColumns, tokenColumns } from './scale.js';
import { countText, plural, spanText } from './words.js';

const BAR = 14;

/** Every lane of a run, grouped, in reading order. `known`: how far anything is known, ms since the begin. */
export function lanesOf(run, known) {
  return [
    { key: 'steps', title: 'Steps', lanes: run.steps.map((step) => stepLane(step, known)) },
    { key: 'orders', title: 'Orders', lanes: run.orders.map((order) => orderLane(order, known)) },
    ...priceGroups(run, known),
    {
      key: 'requests',
      title: 'Requests',
      total: run.requests.count.reduce((sum, each) => sum + each, 0),
      lanes: requestLanes(run),
    },
    { key: 'deadman', title: 'Deadman switch', lanes: deadmanLanes(run, known) },
    { key: 'tokens', title: 'Tokens', lanes: tokenLanes(run) },
  ].filter(({ lanes }) => lanes.length > 0);
}

function stepLane({ path, label, verb, depth, count, bars, outcomes, retries, error, totalMs }, known) {
  const until = bars.until.map((end, index) => (bars.outcome[index] === 'active' ? Math.max(end, known) : end));
  const worst =
    outcomes.failed > 0 ? 'failed' : outcomes.halted > 0 ? 'halted' : outcomes.active > 0 ? 'active' : undefined;
  return {
    key: path,
    label,
    hint: label === verb ? '' : verb,
    count: count > 1 ? `×${countText(count)}` : '',
    indent: depth,
    height: 22,
    tone: worst,
    about: `${path}: ${verb}, ${plural(count, 'time')}, ${spanText(totalMs)} in all${retries > 0 ? `, ${plural(retries, 'retry', 'retries')}` : ''}${error === undefined ? '' : `; ${error.kind}: ${error.message}`}`,
    draw(scale, width) {
      return barPaths(bars.from, until, (index) => bars.outcome[index], scale, width, 4, BAR);
    },
    at(time) {
      const index = lastStarted(bars.from, time);
      if (index < 0 || until[index] < time) return undefined;
      const outcome = bars.outcome[index] === 'active' ? 'under way' : bars.outcome[index];
      return `${label} ${outcome}, ${spanText(until[index] - bars.from[index])}${bars.count[index] > 1 ? ` (${bars.count[index]} rounds)` : ''}`;
    },
    seqNear: (time) => bars.seq[nearest(bars.from, time)],
  };
}

/** Of bars that began one after the other, the last that had begun. */
function lastStarted(from, time) {
  return lowerBound(from, time + 1) - 1;
}

/** Bars by class as one path each; bars thinner than a pixel run together. */
function barPaths(from, until, classOf, scale, width, top, height) {
  const paths = new Map();
  const ends = new Map();
  for (let index = 0; index < from.length; index += 1) {
    const left = scale.x(from[index]);
    if (left > width) break;
    const right = Math.max(scale.x(until[index]), left + 1.5);
    if (right < 0) continue;
    const name = classOf(index);
    // What the bar before covers already on this screen need not be drawn again.
    if (right <= (ends.get(name) ?? -1) + 0.5) continue;
    const start = Math.max(left, -2);
    const end = Math.min(right, width + 2);
    paths.set(name, `${paths.get(name) ?? ''}M${tenth(start)} ${top}H${tenth(end)}V${top + height}H${tenth(start)}Z`);
    ends.set(name, right);
  }
  return { paths: [...paths].map(([name, d]) => ({ name: `bar ${name}`, d })), texts: [] };
}

const PHASES = {
  draft: 'meant',
  submitting: 'flight',
  unknown: 'doubt',
  processing: 'flight',
  open: 'open',
  amending: 'flight',
  canceling: 'flight',
  quarantined: 'doubt',
};

function orderLane(order, known) {
  const {
    clientOrderId,
    orderId,
    side,
    type,
    price,
    size,
    moves,
    fills,
    createdAt,
    isOver,
    label,
    alarms,
    state,
    seq,
  } = order;
  const starts = [createdAt, ...moves.map((move) => move.at)];
  const states = ['draft', ...moves.map((move) => move.to)];
  const ends = starts.map((_start, index) => starts[index + 1] ?? (isOver ? starts[index] : known));
  const seqs = [seq, ...moves.map((move) => move.seq)];
  return {
    key: clientOrderId,
    label: orderId ?? clientOrderId,
    hint: `${side} ${type}`,
    count: '',
    indent: 0,
    height: 22,
    tone: alarms.length > 0 || state === 'unknown' || state === 'quarantined' ? 'halted' : undefined,
    about: `${label}: ${type} ${side} ${size}${price === undefined ? '' : ` at ${price}`}, ${state}`,
    draw(scale, width) {
      const drawn = barPaths(starts, ends, (index) => PHASES[states[index]] ?? 'over', scale, width, 4, BAR);
      const marks = fills.map(({ at }) => scale.x(at)).filter((x) => x >= -6 && x <= width + 6);
      const diamonds = marks
        .map((x) => `M${tenth(x - 5)} 11L${tenth(x)} 6L${tenth(x + 5)} 11L${tenth(x)} 16Z`)
        .join('');
      const flags = alarms.map(({ at }) => `M${tenth(scale.x(at))} 1V21`).join('');
      return {
        paths: [...drawn.paths, { name: 'fillmark', d: diamonds }, { name: 'alarmmark', d: flags }].filter(
          ({ d }) => d !== '',
        ),
        texts: [],
      };
    },
    at(time) {
      const index = lastStarted(starts, time);
      if (index < 0) return undefined;
      const level =
        order.levels[
          lowerBound(
            order.levels.map((each) => each.at),
            time + 1,
          ) - 1
        ];
      return `${orderId ?? clientOrderId} ${states[index]}${level === undefined ? '' : ` at ${level.price}`}`;
    },
    seqNear: (time) => seqs[nearest(starts, time)],
  };
}

const REQUEST_LANES = [
  { key: 'write', label: 'writes', kinds: [2] },
  { key: 'read', label: 'reads', kinds: [0] },
  { key: 'keep_alive', label: 'keep-alives', kinds: [1] },
  { key: 'problem', label: 'refused, lost', kinds: [3, 4, 5] },
];
const MARK_WORDS = ['read', 'keep-alive', 'write', 'refused', 'no answer', 'not sent'];

function requestLanes({ requests }) {
  return REQUEST_LANES.flatMap(({ key, label, kinds }) => {
    const indexes = requests.kind.flatMap((kind, index) => (kinds.includes(kind) ? [index] : []));
    if (indexes.length === 0) return [];
    const at = indexes.map((index) => requests.at[index]);
    const count = indexes.map((index) => requests.count[index]);
    const total = count.reduce((sum, each) => sum + each, 0);
    return [
      {
        key,
        label,
        hint: '',
        count: countText(total),
        indent: 0,
        height: 24,
        tone: key === 'problem' ? 'failed' : undefined,
        about: `${label}: ${countText(total)}`,
        draw: (scale, width) => densityPath(key, at, count, scale, width, 24),
        at(time) {
          const index = nearest(at, time);
          if (index < 0) return undefined;
          const mark = indexes[index];
          return `${MARK_WORDS[requests.kind[mark]]} ${spanText(Math.abs(at[index] - time))} ${at[index] <= time ? 'before' : 'after'}, ${requests.tokens[mark]} tokens`;
        },
        seqNear: (time) => requests.seq[indexes[nearest(at, time)]],
      },
    ];
  });
}

/** A column for each pixel in which there are some, as high as there are many. */
function densityPath(key, at, count, scale, width, height) {
  const columns = new Map();
  const first = lowerBound(at, scale.at(-2));
  for (let index = first; index < at.length; index += 1) {
    const x = Math.round(scale.x(at[index]));
    if (x > width + 2) break;
    columns.set(x, (columns.get(x) ?? 0) + count[index]);
  }
  const most = Math.max(1, ...columns.values());
  let d = '';
  for (const [x, many] of columns) {
    const high = most === 1 ? height - 10 : 5 + Math.sqrt(many / most) * (height - 9);
    d += `M${x} ${height - 3}v${-tenth(high)}`;
  }
  return { paths: d === '' ? [] : [{ name: `tick ${key}`, d }], texts: [] };
}

function deadmanLanes({ deadman }, known) {
  if (deadman.armed.length === 0) return [];
  const height = 46;
  const floor = height - 4;
  const top = 6;
  return [
    {
      key: 'silence',
      label: 'silence',
      hint: deadman.timeoutMs === undefined ? '' : `of ${spanText(deadman.timeoutMs)}`,
      count: '',
      indent: 0,
      height,
      tone: deadman.fired.length > 0 ? 'failed' : undefined,
      about:
        'how long the venue had heard nothing of us, as a share of the time-out; above the dashed line it is called a risk',
      draw(scale, width) {
        const armed = barPaths(
          deadman.armed.map((each) => each.from),
          deadman.armed.map((each) => each.until ?? known),
          () => 'armed',
          scale,
          width,
          top,
          floor - top,
        );
        const shares = silenceColumns(deadman, scale.at(0), scale.at(width), Math.ceil(width), known);
        const area = areaPath(shares, (share) => floor - Math.min(share, 1) * (floor - top), floor);
        const half = (floor + top) / 2;
        const worse = (least) =>
          areaPath(
            shares.map((share) => (share >= least ? share : 0)),
            (share) => floor - Math.min(share, 1) * (floor - top),
            floor,
          );
        const fired = deadman.fired.map(({ at }) => `M${tenth(scale.x(at))} 1V${height - 1}`).join('');
        return {
          paths: [
            ...armed.paths,
            { name: 'silence', d: area },
            ...(shares.some((share) => share > 0.5) ? [{ name: 'silence risky', d: worse(0.5) }] : []),
            ...(shares.some((share) => share >= 1) ? [{ name: 'silence lost', d: worse(1) }] : []),
            { name: 'risk', d: `M0 ${half}H${width}` },
            ...(fired === '' ? [] : [{ name: 'firedmark', d: fired }]),
          ],
          texts:
            deadman.timeoutMs === undefined
              ? []
              : [{ x: 4, y: half - 3, text: spanText(deadman.timeoutMs / 2), name: 'level-label' }],
        };
      },
      at(time) {
        const stretch = deadman.armed.find(({ from, until = known }) => from <= time && time <= until);
        if (stretch === undefined) return 'not armed';
        const beat = deadman.beats[lowerBound(deadman.beats, time + 1) - 1];
        const silentFor = time - Math.max(beat ?? stretch.from, stretch.from);
        const left = stretch.timeoutMs - silentFor;
        return left > 0 ? `armed, fires in ${spanText(left)} unless renewed` : 'its time-out is over';
      },
      seqNear: () => deadman.longest?.seq ?? deadman.fired[0]?.seq,
    },
  ];
}

function areaPath(values, y, floor) {
  let d = `M0 ${floor}`;
  let before;
  for (const [x, value] of values.entries()) {
    const place = tenth(y(value));
    // Only where it changes: a flat stretch is one line.
    if (place !== before) d += `L${x} ${before ?? place}L${x} ${place}`;
    before = place;
  }
  return `${d}L${values.length} ${before ?? floor}L${values.length} ${floor}Z`;
}

function tokenLanes({ tokens, requests }) {
  if (tokens.requests === 0) return [];
  const height = 76;
  const floor = height - 4;
  const top = 10;
  const most = Math.max(tokens.limit ?? 0, tokens.peak, 1);
  const y = (value) => floor - (Math.min(value, most) / most) * (floor - top);
  return [
    {
      key: 'tokens',
      label: `in ${spanText(tokens.windowMs)}`,
      hint: tokens.limit === undefined ? '' : `limit ${countText(tokens.limit)}`,
      count: `peak ${countText(tokens.peak)}`,
      indent: 0,
      height,
      about: `tokens spent within any ${spanText(tokens.windowMs)}, against the limit`,
      draw(scale, width) {
        const values = tokenColumns(requests, tokens.windowMs, scale.at(0), scale.at(width), Math.ceil(width));
        const limit = tokens.limit === undefined ? [] : [{ name: 'limit', d: `M0 ${tenth(y(tokens.limit))}H${width}` }];
        const texts =
          tokens.limit === undefined
            ? []
            : [{ x: width - 4, y: y(tokens.limit) + 11, text: countText(tokens.limit), name: 'level-label end' }];
        return { paths: [{ name: 'spent', d: areaPath(values, y, floor) }, ...limit], texts };
      },
      at(time) {
        const [value] = tokenColumns(requests, tokens.windowMs, time, time + 1, 1);
        return `${countText(value)} tokens${tokens.limit === undefined ? '' : ` of ${countText(tokens.limit)}`}`;
      },
      seqNear: (time) => requests.seq[nearest(requests.at, time)],
    },
  ];
}

function priceGroups(run, known) {
  const markets = [...new Set([...run.orders.map(({ market }) => market), ...run.prices.map(({ market }) => market)])];
  return markets.flatMap((market) => {
    const orders = run.orders.filter(
      (order) =>
        order.market === market && (order.levels.length > 0 || order.trigger !== undefined || order.fills.length > 0),
    );
    const feeds = run.prices.filter((each) => each.market === market);
    if (orders.length === 0 && feeds.length === 0) return [];
    return [{ key: `price ${market}`, title: `Price ${market}`, lanes: [priceLane(market, orders, feeds, known)] }];
  });
}

const PRICE_HEIGHT = 180;

function priceLane(market, orders, feeds, known) {
  const levels = orders.flatMap((order) => levelsOf(order, known));
  const fills = orders.flatMap((order) => order.fills.map((fill) => ({ ...fill, side: order.side })));
  return {
    key: `price ${market}`,
    label: feeds.map(({ feed }) => feed).join(', ') || 'orders',
    hint: feeds.length > 0 ? 'orders, fills' : 'fills',
    count: '',
    indent: 0,
    height: PRICE_HEIGHT,
    about: `${market}: what the run read, the prices of its orders while they worked, and its fills`,
    draw(scale, width) {
      const [from, until] = [scale.at(0), scale.at(width)];
      const seen = [
        ...feeds.flatMap(({ at, price }) =>
          price.slice(Math.max(0, lowerBound(at, from) - 1), lowerBound(at, until) + 1),
        ),
        ...levels.filter((level) => level.until >= from && level.from <= until).map(({ price }) => price),
        ...fills.filter(({ at }) => at >= from && at <= until).map(({ price }) => price),
      ].filter((price) => Number.isFinite(position(price)));
      if (seen.length === 0) return { paths: [], texts: [] };
      const lowest = seen.reduce((least, price) => (position(price) < position(least) ? price : least));
      const highest = seen.reduce((most, price) => (position(price) > position(most) ? price : most));
      const [low, high] = [position(lowest), position(highest)];
      const margin = (high - low || Math.abs(high) * 0.001 || 1) * 0.08;
      const y = (price) =>
        tenth(PRICE_HEIGHT - 12 - ((position(price) - low + margin) / (high - low + 2 * margin)) * (PRICE_HEIGHT - 24));
      const lines = feeds.flatMap(({ at, price }, index) => [
        { name: `feed feed${index % 4}`, d: steps(at, price, scale, width, y) },
        { name: `reading feed${index % 4}`, d: readings(at, price, scale, width, y) },
      ]);
      const byClass = new Map();
      // The ends of the scale, above and below what they name, so that no line runs through them.
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
          `${byClass.get(name) ?? ''}M${tenth(x)} ${y(level.price)}H${tenth(Math.min(Math.max(right, x + 2), width))}`,
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
            `M${tenth(x - 5)} ${y(price)}L${tenth(x)} ${y(price) - 5}L${tenth(x + 5)} ${y(price)}L${tenth(x)} ${y(price) + 5}Z`,
        )
        .join('');
      return {
        paths: [...lines, ...[...byClass].map(([name, d]) => ({ name, d })), { name: 'fillmark', d: diamonds }].filter(
          ({ d }) => d !== '',
        ),
        texts,
      };
    },
    at(time) {
      const read = feeds.flatMap(({ feed, at, price }) => {
        const index = lowerBound(at, time + 1) - 1;
        return index < 0 ? [] : [`${feed} ${price[index]}`];
      });
      const working = levels
        .filter(({ from, until }) => from <= time && time <= until)
        .map(({ side, price, kind }) => `${kind === 'trigger' ? 'trigger' : side} ${price}`);
      const all = [...read, ...working.slice(0, 6)];
      return all.length === 0 ? undefined : all.join(', ');
    },
    seqNear(time) {
      const [feed] = feeds;
      return feed === undefined ? orders[0]?.seq : feed.seq[nearest(feed.at, time)];
    },
  };
}

/** A price from when the order was sent until it was changed or over. */
function levelsOf({ levels, side, moves, isOver, trigger, createdAt }, known) {
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

/** A price holds until the next one was read. */
function steps(at, price, scale, width, y) {
  let d = '';
  let column;
  for (let index = Math.max(0, lowerBound(at, scale.at(0)) - 1); index < at.length; index += 1) {
    const x = scale.x(at[index]);
    const place = Math.round(x);
    if (place === column && index + 1 < at.length) continue;
    column = place;
    const shownX = tenth(Math.min(Math.max(x, 0), width));
    d += d === '' ? `M${shownX} ${y(price[index])}` : `H${shownX}V${y(price[index])}`;
    if (x > width) break;
  }
  return d;
}

/** Where readings are far apart, each is a point of its own: between two of them nobody looked. */
function readings(at, price, scale, width, y) {
  const first = lowerBound(at, scale.at(0));
  const last = lowerBound(at, scale.at(width) + 1);
  if (last - first > width / 12) return '';
  let d = '';
  for (let index = first; index < last; index += 1) d += `M${tenth(scale.x(at[index]))} ${y(price[index])}h.01`;
  return d;
}

function tenth(value) {
  return Math.round(value * 10) / 10;
}
