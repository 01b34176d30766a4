/**
 * Runs the program in processes that stop themselves (SIGSTOP) at a named place within a request, until the test continues
 * them. The program is bundled from its sources with a few lines more, which report the places that it reaches.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { bundleProgram } from '../bundle.js';
import { type Heard, JWT, type MockOrder } from './mock-venue.ts';
import { document, type Ended, type Report, type Scene, scene, until } from './scene.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/**
 * The places of a request, in sequence: crash points (crash-points.ts), and between them `in the queue` for tokens, `connected`
 * before anything is asked again, `in a commit` that makes its attempt durable, with the lock of the file held, `behind the gate`
 * with no byte written, and `written`, when the kernel has them.
 */
export const PLACES = [
  'CP2',
  'in the queue',
  'CP5',
  'connected',
  'CP3',
  'in a commit',
  'CP4',
  'CP23',
  'behind the gate',
  'written',
  'CP10',
] as const;
export type Place = (typeof PLACES)[number];

/** A request that was stopped there leaves when its process goes on: no program can ask anything there (reliability.md, The last gate). */
export const BEHIND: ReadonlySet<Place> = new Set(['behind the gate']);

/** What happens while the process is stopped. `nothing`: it goes on after a second. */
export const EVENTS = ['kill', 'kill and release', 'deadman switch', 'takeover', 'nothing'] as const;
export type Event = (typeof EVENTS)[number];

/** What the process does when it is stopped: the request, and the how manieth of its kind. */
interface Task {
  readonly of: string;
  readonly nth: number;
  readonly runbook: string;
  readonly profile?: string;
  /** The process that is stopped resumes a run, whose first process was killed here. */
  readonly resumesAfter?: { readonly place: Place; readonly of: string };
}

const runbook = (steps: string, deadman: string) => `runbook: one
dsl: 1
leaves: {position: open, because: the process is stopped here}
${deadman}steps:
${steps}`;
/** The shortest that a live run may have; the process is stopped for longer. */
const SWITCH = 'deadman: {market: BTC-USD, timeout: 5s, on_exit: disarm}\n';
const LIMIT = (id: string) =>
  `  - {id: ${id}, place: {type: limit, market: BTC-USD, side: long, size: 0.0001, price: 19800}}\n`;
/** Its stop is moved at once, to 4 % below the feed, and its time is over soon. */
const HELD = `  - place: {type: market, market: BTC-USD, side: long, size: 0.02, price: 70000}
  - manage:
      market: BTC-USD
      side: short
      feed: 64500
      stop_loss: {trigger: 60000, price: 59000}
      take_profit: {trigger: 70000, price: 69000}
      trail: {by: 4%, step: 0.1%}
      time_limit: 3s
      escalate: {after: 1s, slip: 10%}
`;

export const TASKS = {
  'an order': { of: 'POST /orders', nth: 1, runbook: LIMIT('o') },
  'an order that waits for tokens': {
    of: 'POST /orders',
    nth: 1,
    runbook: LIMIT('o'),
    profile: 'rate_limit: {tokens: 40, window: 4s}',
  },
  'an amend': {
    of: 'PUT /orders',
    nth: 1,
    runbook: `${LIMIT('o')}  - {amend: {order: o, price: 19700}}\n`,
  },
  'a cancel': { of: 'DELETE /orders', nth: 1, runbook: `${LIMIT('o')}  - {cancel: o}\n` },
  'a heartbeat': { of: 'POST /cancel_all_after', nth: 2, runbook: `${LIMIT('o')}  - {wait: 4s}\n${LIMIT('p')}` },
  'the next stop of manage': { of: 'POST /orders', nth: 4, runbook: HELD },
  'the cancel of the last stop of manage': { of: 'DELETE /orders', nth: 1, runbook: HELD },
  'an order of a resumed run': {
    of: 'POST /orders',
    nth: 1,
    runbook: `${LIMIT('o')}${LIMIT('p')}`,
    resumesAfter: { place: 'written', of: 'POST /orders' },
  },
  'a look-up of a resumed run': {
    of: 'GET /orders',
    nth: 2,
    runbook: `${LIMIT('o')}${LIMIT('p')}`,
    resumesAfter: { place: 'written', of: 'POST /orders' },
  },
} as const satisfies Readonly<Record<string, Task>>;
export type TaskName = keyof typeof TASKS;

/** What only a write comes by. */
const OF_WRITES: ReadonlySet<Place> = new Set(['in the queue', 'CP5', 'connected', 'CP23']);

/** The places that a task comes by. */
export function listPlaces(task: TaskName): readonly Place[] {
  return TASKS[task].of.startsWith('GET') ? PLACES.filter((place) => !OF_WRITES.has(place)) : PLACES;
}

/** What may happen meanwhile: no stop of `manage` rests under a switch that stays armed. */
export function listEvents(task: TaskName): readonly Event[] {
  // 40 tokens are too few for heartbeats as well.
  const without = task.includes('manage') || task === 'an order that waits for tokens';
  return without ? EVENTS.filter((event) => event !== 'deadman switch') : EVENTS;
}

/** Reports the places; the process is stopped, or ends, at the one that its environment names. */
const REPORTER = `
import { writeFileSync as writeStopped } from 'node:fs';
{
  const [place, of, nth, signal, file] = (process.env.STOP_AT ?? '').split('|');
  // The calls that came to the place: one that the gate held back comes by again.
  const calls = new Set();
  let [last, attempted] = [];
  let isOver = false;
  const reached = (found, call) => {
    if (found !== place || call?.endpoint !== of || isOver) return;
    calls.add(call.id);
    if (calls.size !== Number(nth)) return;
    isOver = true;
    writeStopped(file, found);
    process.kill(process.pid, signal);
    // The signal may take a moment to arrive.
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 30);
  };
  globalThis.stopping = {
    reached(point, call) {
      last = call;
      if (point === 'CP3') attempted = call;
      if (point === 'CP2') setTimeout(() => reached('in the queue', call), 40);
      reached(point === 'CP17' || point === 'CP18' || point === 'CP13' ? 'CP4' : point, call);
    },
    passed(found) { reached(found, last); },
    committing(path) {
      if (attempted === undefined || !path.endsWith('runbook.db')) return;
      const call = attempted;
      attempted = undefined;
      reached('in a commit', call);
    },
  };
}
`;

/** Each file with the lines that report a place. */
const REPORTS: readonly (readonly [RegExp, string, string])[] = [
  [/run\/live-assembly\.ts$/, 'new VenueClient({', '$& crashPoints: globalThis.stopping,'],
  [
    /gateway\/exchange\.ts$/,
    '    const timeoutMs = Math.max(1, ',
    "    if (flush !== undefined) globalThis.stopping.passed('connected');\n$&",
  ],
  [
    /live\/transport\.ts$/,
    "if (this.was === 'made') write();",
    "if (this.was === 'made') { globalThis.stopping.passed('behind the gate'); write(); globalThis.stopping.passed('written'); }",
  ],
  [/sql\/sqlite-connection\.ts$/, "this.statement('COMMIT').run();", 'globalThis.stopping.committing(this.file);\n$&'],
];

export type Program = Awaited<ReturnType<typeof bundleProgram>>;

export function buildStopping(): Promise<Program> {
  return bundleProgram(join(ROOT, 'src', 'cli', 'main.ts'), {
    banner: { js: REPORTER },
    plugins: [
      {
        name: 'report the places',
        setup({ onLoad }) {
          for (const [filter, line, becomes] of REPORTS)
            onLoad({ filter }, ({ path }) => {
              const text = readFileSync(path, 'utf8');
              if (!text.includes(line)) throw new Error(`${path} has changed: ${line}`);
              return { contents: text.replace(line, becomes), loader: 'ts' };
            });
        },
      },
    ],
  });
}

export interface Stopped {
  /** False where the process never came to the place, and so was never stopped. */
  readonly wasStopped: boolean;
  /** Orders that reached the venue before the process was continued. */
  readonly before: number;
  /** Writes that reached the venue after that, and which this process should not have sent. */
  readonly late: readonly string[];
  /** Client order ids that reached the venue more than once. */
  readonly repeated: readonly string[];
  /** Orders whose state in the journal is not that of the venue, or that only one of them knows. */
  readonly unknown: readonly string[];
  /** What `audit replay` finds in the journal. */
  readonly unsound: readonly string[];
  readonly ended: Ended;
  readonly report: Report | undefined;
  /** Of `runbook kill`: orders left, as it said. */
  readonly left: number | undefined;
}

/** A process that is stopped at a place of its task while something happens, and then goes on to its end. */
export async function playStop(program: Program, task: TaskName, place: Place, event: Event): Promise<Stopped> {
  const { of, nth, ...given }: Task = TASKS[task];
  const deadman = event === 'deadman switch' || task === 'a heartbeat' ? SWITCH : '';
  let played: Stopped | undefined;
  let end = () => true;
  await scene({ runbook: runbook(given.runbook, deadman), profile: given.profile ?? '' }, async (stage) => {
    const { venue, run, path } = stage;
    let words = ['run', 'one.yaml', '--profile', 'p.yaml', '--json'];
    if (given.resumesAfter !== undefined) {
      const { place: at, of: what } = given.resumesAfter;
      await start(program, path, words, `${at}|${what}|1|SIGKILL|${join(path, 'killed')}`).ended;
      words = ['resume', '--json'];
    }
    const mark = join(path, 'stopped');
    const process = start(program, path, words, `${place}|${of}|${nth}|SIGSTOP|${mark}`);
    end = () => process.child.kill('SIGKILL');
    const isStopped = () => existsSync(mark) && readState(process.child).startsWith('T');
    await Promise.race([until(isStopped, HANGS_MS), process.ended]);
    const reached = existsSync(mark);
    const { left, came = true } = reached ? await happen(event, stage, place) : {};
    // On a busy machine the switch may be armed a second time before the first order: that is no heartbeat, and the order is due.
    const wasStopped = reached && (task !== 'a heartbeat' || venue.placed.length > 0);
    const before = venue.heard.length;
    process.child.kill('SIGCONT');
    const ended = await process.ended;
    const late = venue.heard.slice(before).filter((heard) => wasStopped && came && isLate(heard, event));
    await settle(run);
    // Nothing was left to do for a run that ended before it could see the kill, which cancelled what it left.
    const endedBefore = event.startsWith('kill') && ended.exit === 0;
    const ids = venue.placed.map(({ params }) => params['client_order_id'] ?? '');
    played = {
      wasStopped,
      before: venue.heard.slice(0, before).filter(({ method, path: to }) => method === 'POST' && to === '/orders')
        .length,
      late: late.map(({ method, path: to, body }) => `${method} ${to} ${body}`),
      repeated: ids.filter((id, index) => ids.indexOf(id) !== index),
      ...(wasStopped ? await compare(stage, endedBefore) : { unknown: [], unsound: [] }),
      ended,
      report: ended.out === '' ? undefined : (document(ended.out) as Report),
      left,
    };
  }).finally(() => end());
  if (played === undefined) throw new Error('the scene was not played');
  return played;
}

/** For what hangs: a busy machine needs a multiple of what a scene takes. */
const HANGS_MS = 300_000;
/** A lease that is not renewed has expired after this. */
const LEASE_MS = 16_000;

/** Writes that a process must not send any more when it goes on: none behind a takeover, and no order behind a kill or a switch that fired. */
function isLate({ method, path }: Heard, event: Event): boolean {
  if (event === 'nothing' || method === 'GET') return false;
  return event === 'takeover' || (path === '/orders' && method !== 'DELETE');
}

/** `came`: whether it could happen at all. */
interface Happened {
  readonly left?: number | undefined;
  readonly came?: boolean;
}

async function happen(event: Event, { run }: Scene, place: Place): Promise<Happened> {
  if (event === 'nothing' || event === 'deadman switch') {
    await pause(event === 'nothing' ? 1_000 : 6_000);
    return {};
  }
  if (event === 'kill' || event === 'kill and release') {
    const killed = await run(['kill', '--profile', 'p.yaml', '--json']);
    if (event !== 'kill') await run(['release', '--profile', 'p.yaml', '--by', 'bo']);
    return { left: (document(killed.out) as { left?: number }).left };
  }
  const expired = Date.now() + LEASE_MS;
  await pause(LEASE_MS - 2_000);
  for (;;) {
    const asked = Date.now();
    const { exit, out, err } = await run(['resume', '--json']);
    const said = out === '' ? {} : (document(out) as Partial<Report> & { readonly runs?: readonly unknown[] });
    if (said.outcome !== undefined) return {};
    // No other process can write while the process holds the lock of the file, and a run that was never written is none to resume.
    const isLocked = place === 'in a commit' && /held by another process for too long/.test(err);
    if (isLocked || said.runs?.length === 0) return { came: false };
    if (asked > expired) throw new Error(`resume took no run over, exit ${exit}: ${out} ${err}`);
    await pause(300);
  }
}

/** Resumes what is unfinished, until nothing is. */
async function settle(run: Scene['run']): Promise<void> {
  for (let tries = 0; tries < 20; tries += 1) {
    const { out } = await run(['resume', '--json']);
    if (out !== '' && (document(out) as { readonly runs?: readonly unknown[] }).runs?.length === 0) return;
    await pause(300);
  }
  throw new Error('a run was not finished after 20 resumes');
}

/** The orders of the journal against the venue's, and the journal against itself. */
async function compare({ venue, run }: Scene, endedBefore: boolean): Promise<Pick<Stopped, 'unknown' | 'unsound'>> {
  const told = await run(['audit', 'orders', 'last', '--json']);
  const { orders } = document(told.out) as {
    readonly orders: readonly { readonly clientOrderId: string; readonly state: string; readonly filled: string }[];
  };
  const unknown: string[] = [];
  for (const { client_order_id: id, status, total_filled_size: filled } of venue.orders as readonly MockOrder[]) {
    const known = orders.find(({ clientOrderId }) => clientOrderId === id);
    if (endedBefore && status === 'canceled' && known?.state === 'open') continue;
    if (known?.state !== status || known.filled !== filled)
      unknown.push(`${id} is ${status}, ${filled} filled, the journal says ${known?.state}, ${known?.filled}`);
  }
  for (const { clientOrderId: id, state } of orders)
    if (!venue.orders.some(({ client_order_id: known }) => known === id) && !NEVER_THERE.has(state))
      unknown.push(`${id} is not at the venue, the journal says ${state}`);
  const replayed = await run(['audit', 'replay', 'last', '--json']);
  return {
    unknown,
    unsound: replayed.exit === 0 ? [] : [`${replayed.out.slice(0, 600)} ${replayed.err.slice(0, 300)}`],
  };
}
const NEVER_THERE: ReadonlySet<string> = new Set(['denied', 'absent', 'draft', 'rejected']);

function start(program: Program, cwd: string, words: readonly string[], stopAt: string) {
  const env = { PATH: process.env['PATH'] ?? '', HOME: join(cwd, 'home'), VENUE_JWT: JWT, STOP_AT: stopAt };
  const child = spawn(process.execPath, [program.file, ...words], { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] });
  let [out, err] = ['', ''];
  child.stdout.setEncoding('utf8').on('data', (text: string) => (out += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (err += text));
  const ended = new Promise<Ended>((resolve) => child.on('close', (exit) => resolve({ exit, out, err })));
  return { child, ended };
}

/** The state of a process, as the kernel has it behind the name in its file of /proc; empty once it is gone. */
function readState({ pid }: ChildProcess): string {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    return stat.slice(stat.lastIndexOf(')') + 2);
  } catch {
    return '';
  }
}
