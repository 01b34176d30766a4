/**
 * Runs the program in a process that stops itself (SIGSTOP) at a named point of its first order, until the test
 * continues it. The program is bundled from its sources with one change: its client reports the points that a call reaches.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { CrashPoint } from '../../src/gateway/crash-points.ts';
import { bundleProgram } from '../bundle.js';
import { JWT } from './mock-venue.ts';
import { document, type Ended, type Report, type Scene, scene, until } from './scene.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** The points of an order at which it is stopped, in sequence: from the first checks to the last reading of the clocks. */
export const PLACES = ['CP2', 'CP5', 'CP3', 'CP4', 'CP23'] as const satisfies readonly CrashPoint[];
export type Place = (typeof PLACES)[number];

/** What happens while the process is stopped. */
export const EVENTS = ['kill', 'deadman switch', 'takeover'] as const;
export type Event = (typeof EVENTS)[number];

/** Stops the process where the order's call reaches the place, and says so in a file. */
const STOP = `
import { writeFileSync as writeStopped } from 'node:fs';
globalThis.stopping = { reached(point, call) {
  const [place, file] = (process.env.STOP_AT ?? '').split(' ');
  if (point !== place || call.endpoint !== 'POST /orders' || globalThis.stopping.over) return;
  globalThis.stopping.over = true;
  writeStopped(file, point);
  process.kill(process.pid, 'SIGSTOP');
  // The signal may take a moment to arrive.
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 30);
} };
`;

export type Program = Awaited<ReturnType<typeof bundleProgram>>;

export function buildStopping(): Promise<Program> {
  return bundleProgram(join(ROOT, 'src', 'cli', 'main.ts'), {
    banner: { js: STOP },
    plugins: [
      {
        name: 'report the points of calls',
        setup({ onLoad }) {
          onLoad({ filter: /live-assembly\.ts$/ }, ({ path }) => {
            const text = readFileSync(path, 'utf8');
            const contents = text.replace('new VenueClient({', '$& crashPoints: globalThis.stopping,');
            if (contents === text) throw new Error('the client is made elsewhere now');
            return { contents, loader: 'ts' };
          });
        },
      },
    ],
  });
}

const ORDER = (deadman: string) => `runbook: one
dsl: 1
leaves: {position: open, because: the process is stopped here}
${deadman}steps:
  - id: o
    place: {type: limit, market: BTC-USD, side: long, size: 0.0001, price: 19800}
`;
/** The shortest that a live run may have; the process is stopped for longer. */
const SWITCH = 'deadman: {market: BTC-USD, timeout: 5s, on_exit: disarm}\n';
const RUN = ['run', 'one.yaml', '--profile', 'p.yaml', '--json'];

export interface Stopped {
  /** Orders that reached the venue before the process was continued, and after that. */
  readonly before: number;
  readonly late: number;
  /** Client order ids that reached the venue more than once. */
  readonly repeated: readonly string[];
  readonly ended: Ended;
  readonly report: Report | undefined;
  /** Of `runbook kill`: orders left, as it said. */
  readonly left: number | undefined;
}

/** A run that is stopped at a place of its first order while something happens, and then goes on to its end. */
export async function playStop(program: Program, place: Place, event: Event): Promise<Stopped> {
  let told: Stopped | undefined;
  await scene({ runbook: ORDER(event === 'deadman switch' ? SWITCH : '') }, async (stage) => {
    const { venue, run, path } = stage;
    const mark = join(path, 'stopped');
    const process = start(program, path, { STOP_AT: `${place} ${mark}` });
    await Promise.race([until(() => existsSync(mark) && isStopped(process.child)), process.ended]);
    const left = await happen(event, stage, run);
    const before = venue.placed.length;
    process.child.kill('SIGCONT');
    const ended = await process.ended;
    const ids = venue.placed.map(({ params }) => params['client_order_id'] ?? '');
    told = {
      before,
      late: venue.placed.length - before,
      repeated: ids.filter((id, index) => ids.indexOf(id) !== index),
      ended,
      report: ended.out === '' ? undefined : (document(ended.out) as Report),
      left,
    };
  });
  if (told === undefined) throw new Error('the scene was not played');
  return told;
}

async function happen(event: Event, { venue }: Scene, run: Scene['run']): Promise<number | undefined> {
  if (event === 'kill') {
    const killed = await run(['kill', '--profile', 'p.yaml', '--json']);
    return (document(killed.out) as { left?: number }).left;
  }
  if (event === 'deadman switch') return void (await pause(6_000));
  // The lease of a process that says nothing lasts for 15 s.
  for (const end = Date.now() + 60_000; Date.now() < end; await pause(300))
    if (hasTakenOver(await run(['resume', '--json']))) return undefined;
  throw new Error(`no process took the run over; ${venue.heard.length} requests`);
}

/** Whether a process that should resume the run has brought it to an end; it may be refused, or find nothing to resume yet. */
function hasTakenOver({ exit, out }: Ended): boolean {
  return exit !== 3 && out !== '' && (document(out) as Partial<Report>).outcome !== undefined;
}

function start(program: Program, cwd: string, more: Readonly<Record<string, string>>) {
  const env = { PATH: process.env['PATH'] ?? '', HOME: join(cwd, 'home'), VENUE_JWT: JWT, ...more };
  const child = spawn(process.execPath, [program.file, ...RUN], { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] });
  let [out, err] = ['', ''];
  child.stdout.setEncoding('utf8').on('data', (text: string) => (out += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (err += text));
  const ended = new Promise<Ended>((resolve) => child.on('close', (exit) => resolve({ exit, out, err })));
  return { child, ended };
}

/** Whether the kernel has stopped the process: the state behind its name in its file of /proc. */
function isStopped({ pid }: ChildProcess): boolean {
  const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
  return stat.slice(stat.lastIndexOf(')') + 2).startsWith('T');
}
