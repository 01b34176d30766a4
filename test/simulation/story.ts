/**
 * Formats a simulation for a reader: the journal, line by line, and between its lines what only the venue and the processes
 * know: requests that arrived after their process had died, orders as they really moved, deaths and returns.
 */
import { TimelineFold } from '../../src/report/timeline/timeline.ts';
import type { Breach } from './invariants.ts';
import type { WorldName } from './scenario.ts';
import { writeParts } from './shrink.ts';
import type { Happened } from './world.ts';

interface Line {
  readonly at: number;
  readonly rank: number;
  readonly text: string;
}

/** How a world is repeated; `mutant`: the broken protocol it was run with. */
export function repeatCommand(world: WorldName, mutant?: string): string {
  const { drawn, without = [] } = typeof world === 'number' ? { drawn: undefined } : world;
  const which = drawn === undefined ? `--seed ${String(world)}` : `--drawn --seed ${drawn}`;
  const less = without.length === 0 ? '' : ` --without ${writeParts(without)}`;
  return `npm run simulate -- ${which}${less}${mutant === undefined ? '' : ` --mutant '${mutant}'`}`;
}

export function storyOf(happened: Happened, breaches: readonly Breach[], mutant?: string): string {
  const { scenario, runs } = happened;
  const lines = [...journalLines(happened), ...venueLines(happened), ...lifeLines(happened)].sort(
    (a, b) => a.at - b.at || a.rank - b.rank,
  );
  const start = scenario.startMs;
  const told = lines.map(({ at, text }) => `${((at - start) / 1000).toFixed(3).padStart(9)}  ${text}`);
  return [
    `${typeof scenario.world === 'number' ? '' : 'drawn '}seed ${scenario.seed}: ${breaches.length === 0 ? 'every invariant holds' : breaches.length === 1 ? 'a breach' : `${breaches.length} breaches`}`,
    ...breaches.map(({ invariant, what }) => `  ${invariant}: ${what}`),
    `  again: ${repeatCommand(scenario.world, mutant)}`,
    '',
    ...runs.flatMap(({ shape }) => [shape.text.trimEnd(), '']),
    ...(scenario.venue.faults ?? []).map((fault) => `fault: ${JSON.stringify(fault)}`),
    ...scenario.injectedFaults.map(
      ({ kind, point, at, downMs }, index) =>
        `process ${index + 1} ${kind} at ${point === 'time' ? `${at} ms` : `${point}, time ${at}`}, back after ${downMs} ms`,
    ),
    `a commit takes at most ${scenario.commitMs} ms, clocks differ by ${scenario.skewMs} ms, the window is ${scenario.profile.ambiguityWindowMs} ms`,
    '',
    ...told,
    '',
  ].join('\n');
}

function journalLines({ runs, venueTime }: Happened): Line[] {
  return runs.flatMap(({ name, entries }) => {
    const fold = new TimelineFold();
    const who = runs.length === 1 ? 'journal' : `journal of ${name}`;
    return entries.flatMap((entry) =>
      fold.apply(entry).map(({ depth, spans }) => ({
        at: venueTime(entry, entry.at),
        rank: 2,
        text: `${who} ${'  '.repeat(depth)}${spans.map((span) => span.text).join('')}`,
      })),
    );
  });
}

function venueLines({ books, scenario }: Happened): Line[] {
  const orders = books.orders
    .filter((order) => order.arrivedAt >= scenario.startMs)
    .flatMap((order) =>
      order.history.map(({ at, status, total_filled_size, price }) => ({
        at,
        rank: 1,
        text: `venue   ${order.id} (${order.client_order_id}) ${status}, price ${price}, filled ${total_filled_size}`,
      })),
    );
  const lost = books.requests
    .filter((request) => request.fault !== undefined)
    .map((request) => ({
      at: request.arrivedAt ?? request.sentAt,
      rank: 1,
      text: `venue   ${request.method} ${request.path} meets the fault ${request.fault}${request.arrivedAt === undefined ? ' and never arrives' : ''}`,
    }));
  const deadman = books.deadman.events.map(({ at, event }) => ({
    at,
    rank: 1,
    text: `venue   deadman switch ${event}`,
  }));
  return [...orders, ...lost, ...deadman];
}

function lifeLines({ lives, killedAt, releasedAt, swept, clockPuts, scenario }: Happened): Line[] {
  const told = lives.flatMap(({ life, epoch, startedAt, endedAt, how, point, thawedAt }) => [
    { at: startedAt, rank: 0, text: `process ${life} begins, epoch ${epoch}` },
    { at: endedAt, rank: 3, text: `process ${life} ${how}${point === undefined ? '' : `, at ${point}`}` },
    ...(thawedAt === undefined ? [] : [{ at: thawedAt, rank: 3, text: `process ${life} thaws` }]),
  ]);
  const { startMs, cancelAfterMs } = scenario;
  return [
    ...told,
    ...(killedAt === undefined ? [] : [{ at: killedAt, rank: 0, text: 'a person engages the kill switch' }]),
    ...(releasedAt === undefined ? [] : [{ at: releasedAt, rank: 0, text: 'a person releases the kill switch' }]),
    ...(swept === undefined
      ? []
      : [{ at: swept.at, rank: 0, text: `the kill says that ${swept.left} orders are left` }]),
    ...(cancelAfterMs === undefined
      ? []
      : [{ at: startMs + cancelAfterMs, rank: 0, text: 'a person cancels the first run' }]),
    ...clockPuts.map(({ at, byMs }) => ({
      at,
      rank: 0,
      text: `the wall clock is set ${byMs > 0 ? 'forward' : 'back'} by ${Math.abs(byMs)} ms`,
    })),
  ];
}
