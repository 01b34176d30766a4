/**
 * Makes the lanes of the time axis: steps, orders, requests, the deadman switch, tokens and prices. A lane draws a span of
 * time, describes its state at a moment, and finds the nearest entry. Many marks become one path, so a lane costs the same
 * with ten rounds as with ten thousand.
 */

import { formatSpan } from '../../../base/format.ts';
import {
  computeSilenceColumns,
  computeTokenColumns,
  findLowerBound,
  findNearest,
  roundToTenth,
} from '../../time-scale.ts';
import { makePriceGroups } from './price-lanes.js';
import { formatNumber, formatPlural, OUTCOMES } from './words.js';

const BAR = 14;

/** Every lane of a run, grouped, in reading order. `known`: the time up to which the run is known, ms since it began. */
export function makeLanes(run, known) {
  return [
    { key: 'steps', title: 'Steps', lanes: run.steps.map((step) => makeStepLane(step, known)) },
    { key: 'orders', title: 'Orders', lanes: run.orders.map((order) => makeOrderLane(order, known)) },
    ...makePriceGroups(run, known),
    {
      key: 'requests',
      title: 'Requests',
      total: run.requests.count.reduce((sum, each) => sum + each, 0),
      lanes: makeRequestLanes(run),
    },
    { key: 'deadman', title: 'Deadman switch', lanes: makeDeadmanLanes(run, known) },
    { key: 'tokens', title: 'Tokens', lanes: makeTokenLanes(run) },
  ].filter(({ lanes }) => lanes.length > 0);
}

function makeStepLane({ path, label, verb, depth, count, bars, outcomes, retries, error, totalMs }, known) {
  const until = bars.until.map((end, index) => (bars.outcome[index] === 'active' ? Math.max(end, known) : end));
  const worst =
    outcomes.failed > 0 ? 'failed' : outcomes.halted > 0 ? 'halted' : outcomes.active > 0 ? 'active' : undefined;
  return {
    key: path,
    label,
    hint: label === verb ? '' : verb,
    count: count > 1 ? `×${formatNumber(count)}` : '',
    indent: depth,
    height: 22,
    tone: worst,
    about: `${path}: ${verb}, ${formatPlural(count, 'time')}, ${formatSpan(totalMs)} in all${retries > 0 ? `, ${formatPlural(retries, 'retry', 'retries')}` : ''}${error === undefined ? '' : `; ${error.kind}: ${error.message}`}`,
    draw(scale, width) {
      return drawBars(bars.from, until, (index) => bars.outcome[index], scale, width, 4, BAR);
    },
    describeAt(time) {
      const index = findLastStarted(bars.from, time);
      if (index < 0 || until[index] < time) return undefined;
      const outcome = OUTCOMES[bars.outcome[index]].word;
      return `${label} ${outcome}, ${formatSpan(until[index] - bars.from[index])}${bars.count[index] > 1 ? ` (${bars.count[index]} rounds)` : ''}`;
    },
    findEntryNear: (time) => bars.seq[findNearest(bars.from, time)],
  };
}

/** The index of the last bar that had begun; bars are sorted by their start. */
function findLastStarted(from, time) {
  return findLowerBound(from, time + 1) - 1;
}

/** Bars by class, one path each; bars thinner than a pixel merge. */
function drawBars(from, until, classOf, scale, width, top, height) {
  const paths = new Map();
  const ends = new Map();
  for (let index = 0; index < from.length; index += 1) {
    const left = scale.x(from[index]);
    if (left > width) break;
    const right = Math.max(scale.x(until[index]), left + 1.5);
    if (right < 0) continue;
    const name = classOf(index);
    // The previous bar covers this one on the screen.
    if (right <= (ends.get(name) ?? -1) + 0.5) continue;
    const start = Math.max(left, -2);
    const end = Math.min(right, width + 2);
    paths.set(
      name,
      `${paths.get(name) ?? ''}M${roundToTenth(start)} ${top}H${roundToTenth(end)}V${top + height}H${roundToTenth(start)}Z`,
    );
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

function makeOrderLane(order, known) {
  const {
    clientOrderId,
    orderId,
    side,
    type,
    price,
    amount,
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
    about: `${label}: ${type} ${side} ${amount}${price === undefined ? '' : ` at ${price}`}, ${state}`,
    draw(scale, width) {
      const drawn = drawBars(starts, ends, (index) => PHASES[states[index]] ?? 'over', scale, width, 4, BAR);
      const marks = fills.map(({ at }) => scale.x(at)).filter((x) => x >= -6 && x <= width + 6);
      const diamonds = marks
        .map((x) => `M${roundToTenth(x - 5)} 11L${roundToTenth(x)} 6L${roundToTenth(x + 5)} 11L${roundToTenth(x)} 16Z`)
        .join('');
      const flags = alarms.map(({ at }) => `M${roundToTenth(scale.x(at))} 1V21`).join('');
      return {
        paths: [...drawn.paths, { name: 'fillmark', d: diamonds }, { name: 'alarmmark', d: flags }].filter(
          ({ d }) => d !== '',
        ),
        texts: [],
      };
    },
    describeAt(time) {
      const index = findLastStarted(starts, time);
      if (index < 0) return undefined;
      const level =
        order.levels[
          findLowerBound(
            order.levels.map((each) => each.at),
            time + 1,
          ) - 1
        ];
      return `${orderId ?? clientOrderId} ${states[index]}${level === undefined ? '' : ` at ${level.price}`}`;
    },
    findEntryNear: (time) => seqs[findNearest(starts, time)],
  };
}

const REQUEST_LANES = [
  { key: 'write', label: 'writes', kinds: [2] },
  { key: 'read', label: 'reads', kinds: [0] },
  { key: 'keep_alive', label: 'keep-alives', kinds: [1] },
  { key: 'problem', label: 'refused, lost', kinds: [3, 4, 5] },
];
const MARK_WORDS = ['read', 'keep-alive', 'write', 'refused', 'no answer', 'not sent'];

function makeRequestLanes({ requests }) {
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
        count: formatNumber(total),
        indent: 0,
        height: 24,
        tone: key === 'problem' ? 'failed' : undefined,
        about: `${label}: ${formatNumber(total)}`,
        draw: (scale, width) => drawDensity(key, at, count, scale, width, 24),
        describeAt(time) {
          const index = findNearest(at, time);
          if (index < 0) return undefined;
          const mark = indexes[index];
          return `${MARK_WORDS[requests.kind[mark]]} ${formatSpan(Math.abs(at[index] - time))} ${at[index] <= time ? 'before' : 'after'}, ${formatPlural(requests.tokens[mark], 'token')}`;
        },
        findEntryNear: (time) => requests.seq[indexes[findNearest(at, time)]],
      },
    ];
  });
}

/** A column for each pixel with requests; its height shows how many. */
function drawDensity(key, at, count, scale, width, height) {
  const columns = new Map();
  const first = findLowerBound(at, scale.at(-2));
  for (let index = first; index < at.length; index += 1) {
    const x = Math.round(scale.x(at[index]));
    if (x > width + 2) break;
    columns.set(x, (columns.get(x) ?? 0) + count[index]);
  }
  const most = Math.max(1, ...columns.values());
  let d = '';
  for (const [x, many] of columns) {
    const high = most === 1 ? height - 10 : 5 + Math.sqrt(many / most) * (height - 9);
    d += `M${x} ${height - 3}v${-roundToTenth(high)}`;
  }
  return { paths: d === '' ? [] : [{ name: `tick ${key}`, d }], texts: [] };
}

function makeDeadmanLanes({ deadman }, known) {
  if (deadman.armed.length === 0) return [];
  const height = 46;
  const floor = height - 4;
  const top = 6;
  return [
    {
      key: 'silence',
      label: 'silence',
      hint: deadman.timeoutMs === undefined ? '' : `of ${formatSpan(deadman.timeoutMs)}`,
      count: '',
      indent: 0,
      height,
      tone: deadman.fired.length > 0 ? 'failed' : undefined,
      about: 'time since the venue last heard from us, as a share of the time-out; above the dashed line it is a risk',
      draw(scale, width) {
        const armed = drawBars(
          deadman.armed.map((each) => each.from),
          deadman.armed.map((each) => each.until ?? known),
          () => 'armed',
          scale,
          width,
          top,
          floor - top,
        );
        const shares = computeSilenceColumns(deadman, scale.at(0), scale.at(width), Math.ceil(width), known);
        const area = drawArea(shares, (share) => floor - Math.min(share, 1) * (floor - top), floor);
        const half = (floor + top) / 2;
        const worse = (least) =>
          drawArea(
            shares.map((share) => (share >= least ? share : 0)),
            (share) => floor - Math.min(share, 1) * (floor - top),
            floor,
          );
        const fired = deadman.fired.map(({ at }) => `M${roundToTenth(scale.x(at))} 1V${height - 1}`).join('');
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
              : [{ x: 4, y: half - 3, text: formatSpan(deadman.timeoutMs / 2), name: 'level-label' }],
        };
      },
      describeAt(time) {
        const stretch = deadman.armed.find(({ from, until = known }) => from <= time && time <= until);
        if (stretch === undefined) return 'not armed';
        const heartbeat = deadman.heartbeats[findLowerBound(deadman.heartbeats, time + 1) - 1];
        const silentFor = time - Math.max(heartbeat ?? stretch.from, stretch.from);
        const left = stretch.timeoutMs - silentFor;
        return left > 0 ? `armed, fires in ${formatSpan(left)} unless renewed` : 'its time-out has passed';
      },
      findEntryNear: () => deadman.longest?.seq ?? deadman.fired[0]?.seq,
    },
  ];
}

function drawArea(values, y, floor) {
  let d = `M0 ${floor}`;
  let before;
  for (const [x, value] of values.entries()) {
    const place = roundToTenth(y(value));
    // A point only where the value changes: a flat part is one line.
    if (place !== before) d += `L${x} ${before ?? place}L${x} ${place}`;
    before = place;
  }
  return `${d}L${values.length} ${before ?? floor}L${values.length} ${floor}Z`;
}

function makeTokenLanes({ tokens, requests }) {
  if (tokens.requests === 0) return [];
  const height = 76;
  const floor = height - 4;
  const top = 10;
  const most = Math.max(tokens.limit ?? 0, tokens.peak, 1);
  const y = (value) => floor - (Math.min(value, most) / most) * (floor - top);
  return [
    {
      key: 'tokens',
      label: `in ${formatSpan(tokens.windowMs)}`,
      hint: tokens.limit === undefined ? '' : `limit ${formatNumber(tokens.limit)}`,
      count: `peak ${formatNumber(tokens.peak)}`,
      indent: 0,
      height,
      about: `tokens spent within any ${formatSpan(tokens.windowMs)}, against the limit`,
      draw(scale, width) {
        const values = computeTokenColumns(
          tokens.spent,
          tokens.windowMs,
          scale.at(0),
          scale.at(width),
          Math.ceil(width),
        );
        const limit =
          tokens.limit === undefined ? [] : [{ name: 'limit', d: `M0 ${roundToTenth(y(tokens.limit))}H${width}` }];
        const texts =
          tokens.limit === undefined
            ? []
            : [{ x: width - 4, y: y(tokens.limit) + 11, text: formatNumber(tokens.limit), name: 'level-label end' }];
        return { paths: [{ name: 'spent', d: drawArea(values, y, floor) }, ...limit], texts };
      },
      describeAt(time) {
        const [value] = computeTokenColumns(tokens.spent, tokens.windowMs, time, time + 1, 1);
        return `${formatPlural(value, 'token')}${tokens.limit === undefined ? '' : ` of ${formatNumber(tokens.limit)}`}`;
      },
      findEntryNear: (time) => requests.seq[findNearest(requests.at, time)],
    },
  ];
}
