/** Runs the built command in its own folder and home, with processes that a test can watch and end. */
import { type ChildProcess, spawn } from 'node:child_process';
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { serve } from '../cli/command-client.js';
import { JWT, MockVenue } from './mock-venue.ts';

export const BIN = fileURLToPath(new URL('../../bin/runbook.js', import.meta.url));

export interface Ended {
  readonly exit: number | null;
  readonly out: string;
  readonly err: string;
}

export interface Started {
  readonly child: ChildProcess;
  readonly ended: Promise<Ended>;
}

/** File descriptors, and the working directory where it is not the desk's. */
export interface Redirected {
  readonly out?: number;
  readonly err?: number;
  readonly cwd?: string;
}

export interface Desk {
  readonly path: string;
  write(name: string, text: string, mode?: number): string;
  /** Starts `runbook` with these words. `to`: open files that replace standard output and error. */
  start(words: readonly string[], env?: Readonly<Record<string, string>>, to?: Redirected): Started;
  run(words: readonly string[], env?: Readonly<Record<string, string>>): Promise<Ended>;
  /** Every file below the folder, as bytes of Latin 1. */
  files(): ReadonlyMap<string, string>;
}

function openDesk(): Desk & { close(): void } {
  const path = realpathSync(mkdtempSync(join(tmpdir(), 'runbook-live-')));
  mkdirSync(join(path, 'home'));
  const children: ChildProcess[] = [];
  const start: Desk['start'] = (words, env = { VENUE_JWT: JWT }, to = {}) => {
    const child = spawn(process.execPath, [BIN, ...words], {
      cwd: to.cwd ?? path,
      env: { PATH: process.env['PATH'] ?? '', HOME: join(path, 'home'), ...env },
      stdio: ['ignore', to.out ?? 'pipe', to.err ?? 'pipe'],
    });
    children.push(child);
    let out = '';
    let err = '';
    child.stdout?.setEncoding('utf8').on('data', (text: string) => (out += text));
    child.stderr?.setEncoding('utf8').on('data', (text: string) => (err += text));
    const ended = new Promise<Ended>((resolve) => child.on('close', (exit) => resolve({ exit, out, err })));
    return { child, ended };
  };
  return {
    path,
    start,
    run: (words, env = { VENUE_JWT: JWT }) =>
      serve({
        words,
        folder: path,
        environment: { PATH: process.env['PATH'] ?? '', HOME: join(path, 'home'), ...env },
      }),
    write(name, text, mode = 0o600) {
      writeFileSync(join(path, name), text, { mode });
      return name;
    },
    close() {
      for (const child of children) child.kill('SIGKILL');
      rmSync(path, { recursive: true, force: true });
    },
    files: () => new Map(below(path).map((file) => [file, readFileSync(file, 'latin1')])),
  };
}

export interface Scene extends Desk {
  readonly venue: MockVenue;
  /** Runs `runbook run one.yaml --profile p.yaml --json` with more words. */
  live(words?: readonly string[], env?: Readonly<Record<string, string>>): Promise<LiveEnded>;
}
export interface LiveEnded extends Ended {
  /** The document on standard output. */
  readonly report: Report;
}
export interface Report {
  readonly outcome: string;
  readonly hadHalted?: true;
  readonly reason?: string;
  readonly error?: { readonly kind: string; readonly message: string; readonly step?: string };
  readonly steps: readonly { readonly path: string; readonly outcome: string }[];
  readonly requests: readonly { readonly method: string; readonly path: string }[];
  readonly orders: readonly {
    readonly clientOrderId: string;
    readonly orderId?: string;
    readonly state: string;
    readonly filled: string;
    readonly averagePrice?: string;
    readonly price?: string;
  }[];
  readonly outputs: Readonly<Record<string, unknown>>;
  readonly deadman: readonly { readonly event: string }[];
}

export interface Given {
  readonly venue?: (venue: MockVenue) => void;
  /** Text of `one.yaml`; by default a single limit order. */
  readonly runbook?: string;
  /** YAML that changes the profile. */
  readonly profile?: string;
}

/** Plays a scene with its own venue and desk, and removes both afterwards. */
export async function scene(given: Given, play: (scene: Scene) => Promise<void>): Promise<void> {
  const venue = await new MockVenue().open();
  given.venue?.(venue);
  const desk = openDesk();
  desk.write('p.yaml', profile(venue.url, given.profile));
  desk.write('one.yaml', given.runbook ?? LIMIT);
  const live: Scene['live'] = async (words = [], env) => {
    const ended = await desk.run(['run', 'one.yaml', '--profile', 'p.yaml', '--json', ...words], env);
    return { ...ended, report: document(ended.out) as Report };
  };
  try {
    await play({ ...desk, venue, live });
  } finally {
    desk.close();
    await venue.close();
  }
}

/** One order that rests. */
export const LIMIT = `runbook: one
dsl: 1
leaves: {position: open, because: the case is about something else}
steps:
  - id: o
    place: {type: limit, market: BTC-USD, side: long, size: 0.0001, price: 19800}
outputs: {id: "\${o.id}"}
`;

/** The same, for a minute. */
export const RESTING = `runbook: one
dsl: 1
leaves: {position: open, because: the case is about something else}
steps:
  - id: o
    place: {type: limit, market: BTC-USD, side: long, size: 0.0001, price: 19800}
  - wait: 60s
`;

/** Waits until the order is placed and was read as open. */
export const rests = (venue: MockVenue) => until(() => venue.of('GET', '/orders').length >= 3);

/** Parses standard output as one JSON document. */
export function document(out: string): unknown {
  if (!out.endsWith('\n') || out.trimEnd().includes('\n')) throw new Error(`not one document in one line: ${out}`);
  return JSON.parse(out);
}

function below(folder: string): readonly string[] {
  return readdirSync(folder).flatMap((name) => {
    const path = join(folder, name);
    return statSync(path).isDirectory() ? below(path) : [path];
  });
}

/** A profile for a venue at this address; `more` is YAML that adds or replaces keys. */
export function profile(url: string, more = ''): string {
  const given = new Set(more.split('\n').map((line) => line.split(':')[0]));
  return [
    'profile: mock',
    `base_url: ${url}`,
    'account: main',
    'auth: {mode: jwt, jwt: {env: VENUE_JWT}}',
    'markets: {BTC-USD: {tick: "1", lot: "0.0001", min_size: "0.0001"}}',
    'ambiguity: {window: 3s}',
  ]
    .filter((line) => !given.has(line.split(':')[0]))
    .concat(more)
    .join('\n');
}

/** Resolves when a condition holds; rejects if it does not within the time. */
export async function until(holds: () => boolean, withinMs = 200_000): Promise<void> {
  const end = Date.now() + withinMs;
  while (!holds()) {
    if (Date.now() > end) throw new Error(`did not come true within ${withinMs} ms`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}
