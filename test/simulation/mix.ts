/**
 * Counts what a number of simulations met: how runs ended and why, which faults requests really met, where processes were
 * struck, what was ordered. A simulation in which nothing happens breaks no invariant either; so each kind of thing must
 * have happened so often, for their number, or they have shown too little.
 */
import { CRASH_POINTS } from '../../src/gateway/crash-points.ts';
import { FAULTS } from '../../src/gateway/simulator/config/faults.ts';
import { PAGE_ROWS } from '../../src/venue/order/requests.ts';
import type { Happened } from './world.ts';

export type Mix = Readonly<Record<string, number>>;

/** What happened in one simulation, by names such as `fault delay` or `strikes CP4 dies`. */
export function mixOf(happened: Happened): Mix {
  const mix: Record<string, number> = {};
  const count = (name: string, times = 1) => {
    if (times > 0) mix[name] = (mix[name] ?? 0) + times;
  };
  const { runs, books, lives, stops, scenario, sent, points } = happened;
  for (const { result, entries, shape, cells } of runs) {
    count(`run ${result?.outcome ?? 'without end'}`);
    if (result?.error !== undefined) count(`${result.outcome} by ${result.error.kind}`);
    count('run with a deadman switch', Number(shape.deadman !== undefined));
    let resumed = 0;
    for (const entry of entries) {
      if (entry.type === 'run.resumed') resumed += 1;
      else if (entry.type === 'step.ended') {
        count(`verb ${entry.data.verb} ${entry.data.outcome}`);
        if (entry.data.outcome === 'skipped') count('modifier if');
        if (entry.data.error?.kind === 'timeout') count('modifier timeout');
      } else if (entry.type === 'step.started') {
        for (const [, name] of entry.step.matchAll(/(?:^|\/)(catch|on_timeout|undo|on_error|finally)(?=\/)/g))
          count(`modifier ${name}`);
      } else if (entry.type === 'run.residual') count(`left ${entry.data.leaves} ${entry.data.ok ? 'ok' : 'more'}`);
      else if (entry.type === 'call.settled' && entry.data.kind === 'denied')
        count(`denied ${/^[A-Z_]+/.exec(entry.data.code ?? entry.data.message ?? '')?.[0]}`);
      else if (entry.type === 'step.retried') count('modifier retry');
      else if (entry.type === 'order.alarmed') count(`alarm ${entry.data.alarm}`);
      else if (entry.type === 'store.moved') count(`store ${entry.data.event}`);
      else if (entry.type === 'operator.acted') count(`person ${entry.data.command}`);
      else if (entry.type === 'call.settled' && entry.data.kind === 'unresolved') count('call unresolved');
      else if (entry.type === 'order.moved' && entry.data.to === 'absent') count('order proven absent');
      else if (entry.type === 'deadman.moved') count(`switch ${entry.data.event}`);
    }
    for (const name of ['await', 'allow']) count(`modifier ${name}`, Number(shape.text.includes(`${name}: `)));
    for (const [cell, times] of cells) {
      count(`row ${cell}`, times);
      count(`event ${cell.split(' ')[0]}`, times);
    }
    count(`run resumed ${resumed > 2 ? 'three times or more' : resumed === 2 ? 'twice' : 'once'}`, Number(resumed > 0));
    const attempts = new Map<string, number>();
    for (const entry of entries)
      if (entry.type === 'order.moved' && entry.data.event === 'SUBMIT')
        attempts.set(entry.data.clientOrderId, (attempts.get(entry.data.clientOrderId) ?? 0) + 1);
    count('order sent again', [...attempts.values()].filter((times) => times > 1).length);
  }
  for (const order of books.orders) {
    if (order.arrivedAt < scenario.startMs) continue;
    count(`order ${order.type} ${order.time_in_force}`);
    count(`order ended ${order.terminal ? order.status : 'open'}`);
    count('order filled in part', Number(order.filled !== '0' && order.status !== 'closed'));
  }
  for (const { fault } of books.requests) if (fault !== undefined) count(`fault ${fault}`);
  count('switch fired at the venue', books.deadman.events.filter(({ event }) => event === 'fired').length);
  for (const { point, how, life } of lives) {
    const name = point?.split(' ')[0];
    if (name === undefined) count(`process ${how}`);
    else {
      count(`strikes ${name} ${how}`);
      count(`process ${life} struck`);
    }
  }
  for (const { point } of stops) count(`strikes ${point.split(' ')[0]} stopped`);
  for (const [key, times] of points) {
    const [of, point] = [key.slice(0, key.lastIndexOf(' ')), key.slice(key.lastIndexOf(' ') + 1)];
    if (of !== '*') count(`passes ${point} of ${of}`, times);
  }
  count('refused with 401', sent.filter(({ reply }) => reply?.kind === 'answer' && reply.status === 401).length);
  count('refused with 429', sent.filter(({ reply }) => reply?.kind === 'answer' && reply.status === 429).length);
  count('refused for tokens', books.tokens.refused);
  count('world with several runs', Number(runs.length > 1));
  count('world with a kill', Number(happened.killedAt !== undefined));
  count('world with a kill that is released', Number(happened.releasedAt !== undefined));
  count('world that a kill has swept', Number(happened.swept !== undefined));
  count('world with more orders than a page holds', Number(books.orders.length > PAGE_ROWS));
  const { lookups, duplicateIds } = scenario.venue.surprises ?? {};
  count('world with loose ids', Number(lookups === 'all' || duplicateIds === 'same'));
  count('world with clocks apart', Number(scenario.skewMs !== 0));
  count('world with the clock put forward', Number(happened.clockPuts.some(({ byMs }) => byMs > 0)));
  count('world with the clock put back', Number(happened.clockPuts.some(({ byMs }) => byMs < 0)));
  count('world without a fault or a strike', Number(sent.length > 0 && isQuiet(happened)));
  count('world without an order', Number(books.orders.every(({ arrivedAt }) => arrivedAt < scenario.startMs)));
  count('simulation');
  return mix;
}

function isQuiet({ books, lives }: Happened): boolean {
  return books.requests.every(({ fault }) => fault === undefined) && lives.every(({ how }) => how === 'ended');
}

export function sumOf(a: Mix, b: Mix): Mix {
  const sum: Record<string, number> = { ...a };
  for (const [name, times] of Object.entries(b)) sum[name] = (sum[name] ?? 0) + times;
  return sum;
}

/** Writes whose every point must be passed: the five kinds of step of reliability.md, Crash points. */
const WRITES = [
  'POST /orders',
  'PUT /orders',
  'DELETE /orders',
  'PUT /account/leverage',
  'POST /cancel_all_after',
  'DELETE /cancel_all_after',
] as const;
const POINTS_OF_A_WRITE = [
  'CP0',
  'CP1',
  'CP2',
  'CP3',
  'CP4',
  'CP5',
  'CP6',
  'CP7',
  'CP8',
  'CP9',
  'CP10',
  'CP11',
] as const;

/** No points of a call, with tests of their own; and the gate: to die there is to die at CP4, and processes are stopped at it. */
const STRUCK_ELSEWHERE: ReadonlySet<string> = new Set(['CP19', 'CP21', 'CP22', 'CP23']);

/** How often each thing must have happened in twenty thousand simulations. */
export const LEAST: Mix = {
  ...Object.fromEntries(Object.keys(FAULTS).map((kind) => [`fault ${kind}`, 40])),
  ...Object.fromEntries(
    Object.keys(CRASH_POINTS)
      .filter((point) => !STRUCK_ELSEWHERE.has(point))
      .map((point) => [`strikes ${point} dies`, 20]),
  ),
  ...Object.fromEntries(
    WRITES.flatMap((write) => POINTS_OF_A_WRITE.map((point) => [`passes ${point} of ${write}`, 500])),
  ),
  'strikes CP23 stopped': 100,
  'strikes CP4 stopped': 100,
  'strikes CP5 stopped': 50,
  'strikes CP3 frozen': 30,
  'strikes CP4 frozen': 20,
  'strikes CP7 frozen': 30,
  'strikes CP12 frozen': 30,
  'process 2 struck': 1000,
  'process 3 struck': 400,
  'process refused by the disk': 40,
  'store back': 30,
  'run resumed once': 2000,
  'run resumed twice': 500,
  'run resumed three times or more': 200,
  'run succeeded': 6000,
  'run stopped': 200,
  'run halted': 200,
  'call unresolved': 5000,
  'order proven absent': 500,
  'order sent again': 200,
  'order filled in part': 50,
  'order limit good_till_cancel': 2000,
  'order limit post_only': 2000,
  'order limit immediate_or_cancel': 500,
  'order limit fill_or_kill': 500,
  'order market immediate_or_cancel': 1000,
  'order stop_limit good_till_cancel': 500,
  'order stop_market good_till_cancel': 500,
  'order stop_loss good_till_cancel': 200,
  'order take_profit good_till_cancel': 50,
  'verb place succeeded': 10_000,
  'verb amend succeeded': 500,
  'verb cancel succeeded': 3000,
  'verb cancel_all succeeded': 200,
  'verb set_leverage succeeded': 500,
  'verb protect succeeded': 50,
  'verb parallel succeeded': 1000,
  'verb repeat succeeded': 500,
  'verb wait_for succeeded': 500,
  'switch armed': 3000,
  'switch assumed_fired': 300,
  'switch fired at the venue': 500,
  'person approve': 100,
  'person reject': 40,
  'person cancel': 40,
  'person kill': 200,
  'refused with 401': 100,
  'refused with 429': 200,
  'world with several runs': 1000,
  'world with a kill': 300,
  'world with a kill that is released': 200,
  'world that a kill has swept': 100,
  'world with loose ids': 300,
  'world with more orders than a page holds': 200,
  'world with clocks apart': 1000,
  'world with the clock put forward': 100,
  'world with the clock put back': 100,
  'world without a fault or a strike': 2000,
};

/** Shares of all runs, or worlds, above which the others would show too little. */
const MOST: readonly { readonly name: string; readonly of: string; readonly share: number }[] = [
  { name: 'run halted', of: 'simulation', share: 0.08 },
  { name: 'run failed', of: 'simulation', share: 0.78 },
  { name: 'world without an order', of: 'simulation', share: 0.2 },
];

/** What was too rare, or too frequent, in so many simulations: a sentence for each. A few say nothing about what is rare. */
export function lacking(mix: Mix, simulations: number): string[] {
  const rare = Object.entries(LEAST).flatMap(([name, least]) => {
    const times = mix[name] ?? 0;
    const expected = Math.floor((least * simulations) / 20_000);
    return times < expected ? [`${name}: ${times} times, expected ${expected} at least`] : [];
  });
  const frequent = MOST.flatMap(({ name, of, share }) => {
    const [times, all] = [mix[name] ?? 0, mix[of] ?? 0];
    return times > share * all ? [`${name}: ${times} times in ${all}, expected ${share * all} at most`] : [];
  });
  return [...rare, ...frequent];
}
