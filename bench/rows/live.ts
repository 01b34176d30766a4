/** Rows 7, 8 and 18: the built command against a venue on the loopback, in processes of their own. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { readEntry } from '../../src/journal/chain.ts';
import { openSqliteStore } from '../../src/journal/stores/sqlite.ts';
import { median, ratio } from '../measure.ts';
import { writesOf } from '../runbooks.ts';
import { workFolder } from '../work-folder.ts';
import type { Row } from './row.ts';
import { COMMAND } from './start-up.ts';

const BY_HAND = fileURLToPath(new URL('./by-hand.mjs', import.meta.url));
const VENUE = fileURLToPath(new URL('./venue.mjs', import.meta.url));
/** As many as the tokens of one minute allow, which the check of the runbook goes by. */
const STEPS = 60;
const ROUNDS = 5;
/** What the first steps of a process cost tells of compiling, not of calling. */
const WARMING = 20;
/** Clock ticks a second, in which Linux counts a process's time. */
const TICKS = 100;

let address: Promise<string> | undefined;
let folders = 0;

function venue(): Promise<string> {
  address ??= (async () => {
    const child = spawn(process.execPath, [VENUE], { stdio: ['pipe', 'pipe', 'inherit'] });
    process.on('exit', () => child.kill());
    const [port] = (await once(child.stdout, 'data')) as [Buffer];
    // It must not keep the benchmark from ending.
    child.unref();
    return `http://127.0.0.1:${port.toString().trim()}`;
  })();
  return address;
}

interface Desk {
  readonly folder: string;
  start(...words: readonly string[]): ChildProcess;
}

async function desk(runbook: string): Promise<Desk> {
  const folder = join(workFolder(), `live-${++folders}`);
  mkdirSync(join(folder, 'home'), { recursive: true });
  writeFileSync(join(folder, 'writes.yaml'), runbook);
  const profile = `profile: bench
base_url: ${await venue()}
account: main
auth: {mode: jwt, jwt: {env: VENUE_JWT}}
rate_limit: {tokens: 1000000, window: 60s}
markets:
  BTC-USD: {tick: "1", lot: "0.0001", min_size: "0.0001"}
`;
  writeFileSync(join(folder, 'profile.yaml'), profile, { mode: 0o600 });
  const env = { PATH: process.env['PATH'] ?? '', HOME: join(folder, 'home'), VENUE_JWT: 'a.bench.token' };
  return {
    folder,
    start: (...words) =>
      spawn(process.execPath, [COMMAND, ...words], { cwd: folder, env, stdio: ['ignore', 'ignore', 'pipe'] }),
  };
}

async function ended(child: ChildProcess): Promise<void> {
  let said = '';
  child.stderr?.setEncoding('utf8').on('data', (piece: string) => {
    said += piece;
  });
  const [exit] = (await once(child, 'close')) as [number | null];
  if (exit !== 0) throw new Error(`runbook ended with ${exit}: ${said.slice(0, 1000)}`);
}

/** Median of a step, from its start to its end by its own journal, ms. */
async function ourStep(every?: string): Promise<number> {
  const { folder, start } = await desk(writesOf(STEPS, every));
  await ended(start('run', 'writes.yaml', '--profile', 'profile.yaml'));
  const store = await openSqliteStore(join(folder, '.runbook', 'runbook.db'));
  const [run] = await store.runs();
  const entries = (await store.read(run?.run ?? '')).map(readEntry);
  await store.close();
  const begun = new Map<string, number>();
  const times: number[] = [];
  for (const { type, step, mono } of entries) {
    if (!step.includes('set_leverage')) continue;
    if (type === 'step.started') begun.set(step, mono);
    if (type === 'step.ended') times.push(mono - (begun.get(step) ?? Number.NaN));
  }
  return median(times.slice(WARMING));
}

async function theirStep(pauseMs: number): Promise<number> {
  const args = [BY_HAND, await venue(), join(workFolder(), `by-hand-${++folders}.db`), String(STEPS), String(pauseMs)];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  const [text] = (await once(child.stdout, 'data')) as [Buffer];
  return Number(text.toString());
}

/** Share of one processor, in percent, of a run that sends twenty a second; the first second is the start's. */
async function processorShare(): Promise<number> {
  const { start } = await desk(writesOf(STEPS, '50ms'));
  const child = start('run', 'writes.yaml', '--profile', 'profile.yaml');
  const samples: { readonly at: number; readonly usedMs: number }[] = [];
  const look = setInterval(() => {
    const used = usedMs(child.pid ?? 0);
    if (used !== undefined) samples.push({ at: performance.now(), usedMs: used });
  }, 100);
  await ended(child);
  clearInterval(look);
  const [first, last] = [samples[10], samples.at(-1)];
  if (first === undefined || last === undefined) throw new Error('this system does not tell the time of processes');
  return (100 * (last.usedMs - first.usedMs)) / (last.at - first.at);
}

function usedMs(pid: number): number | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return ((Number(fields[11]) + Number(fields[12])) * 1000) / TICKS;
  } catch {
    return undefined;
  }
}

/** From the start of a process to the first DELETE at the venue, ms. */
async function toTheWire(begin: () => Promise<void> | void): Promise<number> {
  const url = `${await venue()}/seen`;
  await (await fetch(url)).text();
  const begun = performance.timeOrigin + performance.now();
  await begin();
  const seen = (await (await fetch(url)).json()) as readonly { readonly method: string; readonly at: number }[];
  return (seen.find(({ method }) => method === 'DELETE')?.at ?? Number.NaN) - begun;
}

async function killed(): Promise<number> {
  const { start } = await desk(writesOf(1));
  return toTheWire(() => ended(start('kill', '--profile', 'profile.yaml')));
}

async function sentByHand(): Promise<number> {
  const url = await venue();
  return toTheWire(() => void spawnSync(process.execPath, [BY_HAND, url, 'send'], { encoding: 'utf8' }));
}

export const LIVE_ROWS: readonly Row[] = [
  {
    id: '7',
    what: 'a live step, one behind the other, durable (FULL)',
    against: 'got and two raw inserts',
    pass: 1.5,
    excellent: 1.25,
    measure: () =>
      ratio(
        ROUNDS,
        () => ourStep(),
        () => theirStep(0),
      ),
  },
  {
    id: '8',
    what: 'a live step at 20 a second, durable (FULL)',
    against: 'got and two raw inserts',
    pass: 1.5,
    excellent: 1.2,
    measure: () =>
      ratio(
        3,
        () => ourStep('50ms'),
        () => theirStep(50),
      ),
  },
  {
    id: '8',
    what: 'processor share at 20 a second',
    against: 'one processor',
    unit: '%',
    pass: 15,
    excellent: 10,
    measure: processorShare,
  },
  {
    id: '18',
    what: 'kill: from the start of the command to the first byte at the venue',
    against: 'a process that only sends it with got',
    measure: () => ratio(ROUNDS, killed, sentByHand),
  },
];
