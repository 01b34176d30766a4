/**
 * A story is a test case to which something more happens: an answer is lost or refused, a process dies, what rests fills, fills
 * are shown late, the price jumps through a stop. It is an ordinary case again, so that what is found can be written as one.
 * `drawStories` chooses some of the many there are, by the seed, spread over their kinds.
 */
import { decimal, formatDecimal, roundToStep } from '../../base/decimal.ts';
import { formatSpan } from '../../base/format.ts';
import { listTicks } from '../../gateway/simulator/config/config.ts';
import { drawChance } from '../../venue/order/identity.ts';
import { isStop } from '../../venue/position/residual.ts';
import type { OrderType } from '../../venue/records.ts';
import { formatRequestName } from './file/request-names.ts';
import type { Crash, RequestPattern, TestCase, VenueRule } from './file/test-case.ts';
import type { Sent } from './venue/venue.ts';

/** The keys of a rule that a story sets, in the form that a test file has. */
type Change = Partial<Pick<VenueRule, 'error' | 'fills' | 'headers' | 'http' | 'jump' | 'lost'>>;
type Death = Pick<Crash, 'answer' | 'when'>;

/** What happens at one request. It can be cloned, as a job of a worker. */
export interface StoryEvent {
  readonly on: RequestPattern;
  /** Which of these requests, from 1. */
  readonly call: number;
  /** Which of all requests of the case, from 1. */
  readonly number: number;
  readonly text: string;
  readonly change?: Change;
  readonly crash?: Death;
}

export interface Story {
  readonly events: readonly StoryEvent[];
  /** How late fills are shown, ms. */
  readonly fillLagMs?: number;
}

/** A request of the case as it is. */
export type Target = Pick<Sent, 'name' | 'number' | 'params' | 'type'>;

/** A case of which stories are drawn: what names it, its content, and its requests. */
export interface Explored {
  readonly id: string;
  readonly test: TestCase;
  readonly sent: readonly Target[];
}

export interface DrawnStory {
  readonly id: string;
  readonly story: Story;
}

export const DOWN_MS = 5000;
/** Later than a step goes on reading by itself, and within `fills.window`. */
const FILL_LAG_MS = 12_000;
/** How far a price jumps beyond the limit of a stop. */
const GAP = '0.03';

type Variation = Pick<StoryEvent, 'change' | 'crash' | 'text'>;

const FAULTS: readonly Variation[] = [
  { text: 'lost before it arrives', change: { lost: 'before' } },
  { text: 'its answer lost', change: { lost: 'after' } },
  { text: 'refused for the rate limit', change: { http: 429, headers: { 'x-ratelimit-retry-after': '2' } } },
  { text: 'refused', change: { error: 'REFUSED_BY_TEST' } },
  { text: 'the process killed before it', crash: { when: 'before', answer: 'lost' } },
  { text: 'the process killed before its answer', crash: { when: 'after', answer: 'lost' } },
  { text: 'the process killed after its answer', crash: { when: 'after', answer: 'kept' } },
];

const FILLS: readonly Variation[] = [
  { text: 'half of what rests is filled before it', change: { fills: { before: '0.5' } } },
  { text: 'what rests is filled before it', change: { fills: { before: '1' } } },
  { text: 'half of what rests is filled before its answer', change: { fills: { after: '0.5' } } },
  { text: 'what rests is filled before its answer', change: { fills: { after: '1' } } },
];

/** At most `count` stories of the cases, by the seeds of these: one of each kind in turn. */
export function drawStories(cases: readonly Explored[], count: number): readonly DrawnStory[] {
  if (count === 0) return [];
  const kinds = new Map<string, { readonly drawn: DrawnStory; readonly rank: number }[]>();
  for (const { id, test, sent } of cases) {
    for (const { kind, story } of listStories(test, sent)) {
      const rank = drawChance(test.seed, `${id} ${describeStory(story)}`);
      const alike = kinds.get(kind) ?? [];
      alike.push({ drawn: { id, story }, rank });
      kinds.set(kind, alike);
    }
  }
  const queues = [...kinds.values()].map((stories) => stories.sort((a, b) => a.rank - b.rank));
  queues.sort((a, b) => (a[0]?.rank ?? 0) - (b[0]?.rank ?? 0));
  const drawn: DrawnStory[] = [];
  for (let turn = 0; drawn.length < count && queues.some((queue) => queue.length > turn); turn += 1)
    drawn.push(...queues.flatMap((queue) => queue[turn]?.drawn ?? []).slice(0, count - drawn.length));
  return drawn;
}

interface Candidate {
  readonly kind: string;
  readonly story: Story;
}

function* listStories(test: TestCase, sent: readonly Target[]): Generator<Candidate> {
  const calls = new Map<string, number>();
  const firstOrder = sent.find(({ name }) => name === 'POST /orders')?.number ?? Number.POSITIVE_INFINITY;
  const gaps: Variation[] = [];
  const fills: StoryEvent[] = [];
  yield { kind: 'late', story: { events: [], fillLagMs: FILL_LAG_MS } };
  for (const { name, type, number, params } of sent) {
    const on: RequestPattern = { endpoint: name as RequestPattern['endpoint'], type };
    const named = formatRequestName(on);
    const call = (calls.get(named) ?? 0) + 1;
    calls.set(named, call);
    const at = (variation: Variation): StoryEvent => ({ on, call, number, ...variation });
    for (const variation of FAULTS) {
      const event = at(variation);
      yield { kind: `${named} ${variation.text}`, story: { events: [event] } };
      const earlier = fills[Math.floor(drawChance(test.seed, `${number} ${variation.text}`) * fills.length)];
      // A fill is no fault: it may come before one.
      if (earlier !== undefined && earlier.number < number)
        yield { kind: `fill, then ${variation.text}`, story: { events: [earlier, event] } };
    }
    for (const variation of FILLS) {
      const isLate = variation.change?.fills?.after !== undefined;
      // Nothing rests yet; and behind a request that reads comes the next one.
      if (isLate ? number < firstOrder || name.startsWith('GET ') : number <= firstOrder) continue;
      const event = at(variation);
      fills.push(event);
      yield { kind: `${named} ${variation.text}`, story: { events: [event] } };
      yield { kind: `${variation.text}, late`, story: { events: [event], fillLagMs: FILL_LAG_MS } };
    }
    for (const gap of gaps) yield { kind: `gap ${named}`, story: { events: [at(gap)] } };
    if (name === 'POST /orders' && isStop(type as OrderType)) gaps.push(...jumpThrough(params, number, test));
  }
}

/** The price jumps beyond the limit of a stop. */
function jumpThrough(
  { market_id: market = '', price, side }: Sent['params'],
  number: number,
  test: TestCase,
): readonly Variation[] {
  const tick = listTicks(test.simulator)[market];
  if (price === undefined || tick === undefined) return [];
  const limit = decimal(price);
  const away = limit.times(decimal(GAP));
  const beyond = roundToStep(side === 'long' ? limit.plus(away) : limit.minus(away), decimal(tick), 'nearest');
  return [
    {
      text: `the price jumps through the stop of request ${number}, to ${formatDecimal(beyond)}`,
      change: { jump: { [market]: formatDecimal(beyond) } },
    },
  ];
}

/** The case with what happens in the story. */
export function tell(test: TestCase, { events, fillLagMs }: Story): TestCase {
  const rules = events.flatMap(({ on, call, change }): VenueRule[] =>
    change === undefined ? [] : [{ ...NO_RULE, ...change, on, call: { first: call, last: call }, span: test.span }],
  );
  const crashes = events.flatMap(({ on, call, crash }): Crash[] =>
    crash === undefined ? [] : [{ ...crash, on, call, downMs: DOWN_MS }],
  );
  return {
    ...test,
    rules: [...rules, ...test.rules],
    crashes: [...test.crashes, ...crashes],
    simulator: fillLagMs === undefined ? test.simulator : { ...test.simulator, fillLagMs },
  };
}

const NO_RULE: Omit<VenueRule, 'call' | 'on' | 'span'> = {
  match: {},
  reply: undefined,
  http: undefined,
  headers: {},
  error: undefined,
  lost: undefined,
  delayMs: 0,
  malformed: undefined,
  fills: undefined,
  jump: {},
};

/** `request 7, DELETE /orders: refused; fills are shown 12 s late`. */
export function describeStory({ events, fillLagMs }: Story): string {
  return [
    ...events.map(({ number, on, text }) => `request ${number}, ${formatRequestName(on)}: ${text}`),
    ...(fillLagMs === undefined ? [] : [`fills are shown ${formatSpan(fillLagMs)} late`]),
  ].join('; ');
}

/** The story without one of the things that happen in it, for each of them; empty for a story of one. */
export function listShorter({ events, fillLagMs }: Story): readonly Story[] {
  const late = fillLagMs === undefined ? {} : { fillLagMs };
  if (events.length + Object.keys(late).length < 2) return [];
  return [
    ...events.map((event) => ({ events: events.filter((each) => each !== event), ...late })),
    ...(fillLagMs === undefined ? [] : [{ events }]),
  ];
}
