/** Measures rows 7, 8 and 18: the built command against a venue on loopback, in separate processes. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { readLines } from '../../src/journal/reading.ts';
import { openSqliteStore } from '../../src/journal/stores/sqlite.ts';
import { computeMedian, measureRatio } from '../measure.ts';
import { writeWrites } from '../runbooks.ts';
import { getWorkFolder } from '../work-folder.ts';
import type { Row } from './row.ts';
import { COMMAND } from './start-up.ts';

const BY_HAND = fileURLToPath(new URL('./by-hand.mjs', import.meta.url));
const VENUE = fileURLToPath(new URL('./venue.mjs', import.meta.url));
/** The most that the tokens of one minute allow; the check of the runbook counts them. */
const STEPS = 60;
const ROUNDS = 5;
/** Steps to leave out: the first ones of a process measure compilation, not calls. */
const WARMING = 20;
/** Clock ticks per second, in which Linux counts the time of a process. */
const TICKS = 100;

let address: Promise<string> | undefined;
let folders = 0;

function startVenue(): Promise<string> {
  address ??= (async () => {
    const child = spawn(process.execPath, [VENUE], { stdio: ['pipe', 'pipe', 'inherit'] });
    process.on('exit', () => child.kill());
    const [port] = (await once(child.stdout, 'data')) as [Buffer];
    // The benchmark can end while the venue runs.
    child.unref();
    return `http://127.0.0.1:${port.toString().trim()}`;
  })();
  return address;
}

interface RunFolder {
  readonly folder: string;
  start(...words: readonly string[]): ChildProcess;
}

async function createRunFolder(runbook: string): Promise<RunFolder> {
  const folder = join(getWorkFolder(), `live-${++folders}`);
  mkdirSync(join(folder, 'home'), { recursive: true });
  writeFileSync(join(folder, 'writes.yaml'), runbook);
  const profile = `profile: bench
base_url: ${await startVenue()}
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

async function waitForExit(child: ChildProcess): Promise<void> {
  let said = '';
  child.stderr?.setEncoding('utf8').on('data', (piece: string) => {
    said += piece;
  });
  const [exit] = (await once(child, 'close')) as [number | null];
  if (exit !== 0) throw new Error(`runbook ended with ${exit}: ${said.slice(0, 1000)}`);
}

/** Median time of a step, from its start to its end in the journal, ms. */
async function measureOurStep(every?: string): Promise<number> {
  const { folder, start } = await createRunFolder(writeWrites(STEPS, every));
  await waitForExit(start('run', 'writes.yaml', '--profile', 'profile.yaml'));
  const store = await openSqliteStore(join(folder, '.runbook', 'runbook.db'));
  const [run] = await store.runs();
  const entries = [...readLines(await store.read(run?.run ?? ''))];
  await store.close();
  const begun = new Map<string, number>();
  const times: number[] = [];
  for (const { type, step, mono } of entries) {
    if (!step.includes('set_leverage')) continue;
    if (type === 'step.started') begun.set(step, mono);
    if (type === 'step.ended') times.push(mono - (begun.get(step) ?? Number.NaN));
  }
  return computeMedian(times.slice(WARMING));
}

async function measureTheirStep(pauseMs: number): Promise<number> {
  const args = [
    BY_HAND,
    await startVenue(),
    join(getWorkFolder(), `by-hand-${++folders}.db`),
    String(STEPS),
    String(pauseMs),
  ];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  const [text] = (await once(child.stdout, 'data')) as [Buffer];
  return Number(text.toString());
}

/** Share of one processor in percent while a run sends twenty requests per second; leaves out the first second. */
async function measureProcessorShare(): Promise<number> {
  const { start } = await createRunFolder(writeWrites(STEPS, '50ms'));
  const child = start('run', 'writes.yaml', '--profile', 'profile.yaml');
  const samples: { readonly at: number; readonly usedMs: number }[] = [];
  const look = setInterval(() => {
    const used = readUsedMs(child.pid ?? 0);
    if (used !== undefined) samples.push({ at: performance.now(), usedMs: used });
  }, 100);
  await waitForExit(child);
  clearInterval(look);
  const [first, last] = [samples[10], samples.at(-1)];
  if (first === undefined || last === undefined)
    throw new Error('this system does not report the processor time of processes');
  return (100 * (last.usedMs - first.usedMs)) / (last.at - first.at);
}

function readUsedMs(pid: number): number | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return ((Number(fields[11]) + Number(fields[12])) * 1000) / TICKS;
  } catch {
    return undefined;
  }
}

/** Time from the start of a process to the first DELETE at the venue, ms. */
async function measureToFirstDelete(begin: () => Promise<void> | void): Promise<number> {
  const url = `${await startVenue()}/seen`;
  await (await fetch(url)).text();
  const begun = performance.timeOrigin + performance.now();
  await begin();
  const seen = (await (await fetch(url)).json()) as readonly { readonly method: string; readonly at: number }[];
  return (seen.find(({ method }) => method === 'DELETE')?.at ?? Number.NaN) - begun;
}

async function measureKill(): Promise<number> {
  const { start } = await createRunFolder(writeWrites(1));
  return measureToFirstDelete(() => waitForExit(start('kill', '--profile', 'profile.yaml')));
}

async function measureByHand(): Promise<number> {
  const url = await startVenue();
  return measureToFirstDelete(() => void spawnSync(process.execPath, [BY_HAND, url, 'send'], { encoding: 'utf8' }));
}

export const LIVE_ROWS: readonly Row[] = [
  {
    id: '7',
    what: 'a live step, one behind the other, durable (FULL)',
    against: 'got and two raw inserts',
    pass: 1.5,
    excellent: 1.25,
    measure: () =>
      measureRatio(
        ROUNDS,
        () => measureOurStep(),
        () => measureTheirStep(0),
      ),
  },
  {
    id: '8',
    what: 'a live step at 20 a second, durable (FULL)',
    against: 'got and two raw inserts',
    pass: 1.5,
    excellent: 1.2,
    measure: () =>
      measureRatio(
        3,
        () => measureOurStep('50ms'),
        () => measureTheirStep(50),
      ),
  },
  {
    id: '8',
    what: 'processor share at 20 a second',
    against: 'one processor',
    unit: '%',
    pass: 15,
    excellent: 10,
    measure: measureProcessorShare,
  },
  {
    id: '18',
    what: 'kill: from the start of the command to the first byte at the venue',
    against: 'a process that only sends it with got',
    measure: () => measureRatio(ROUNDS, measureKill, measureByHand),
  },
];
