/** The built command at work for somebody: a folder and a home of their own, processes that can be watched and ended. */
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll } from 'vitest';
import { JWT } from './mock-venue.ts';

const BIN = fileURLToPath(new URL('../../bin/runbook.js', import.meta.url));

export interface Ended {
  readonly exit: number | null;
  readonly out: string;
  readonly err: string;
}

export interface Started {
  readonly child: ChildProcess;
  readonly ended: Promise<Ended>;
}

export interface Desk {
  readonly path: string;
  write(name: string, text: string, mode?: number): string;
  /** Starts `runbook` with these words. */
  start(words: readonly string[], env?: Readonly<Record<string, string>>): Started;
  run(words: readonly string[], env?: Readonly<Record<string, string>>): Promise<Ended>;
  /** Every file below the folder, as bytes of Latin 1. */
  files(): ReadonlyMap<string, string>;
}

export function desk(): Desk {
  const path = mkdtempSync(join(tmpdir(), 'runbook-live-'));
  mkdirSync(join(path, 'home'));
  const children: ChildProcess[] = [];
  afterAll(() => {
    for (const child of children) child.kill('SIGKILL');
    rmSync(path, { recursive: true, force: true });
  });
  const start: Desk['start'] = (words, env = { VENUE_JWT: JWT }) => {
    const child = spawn(process.execPath, [BIN, ...words], {
      cwd: path,
      env: { PATH: process.env['PATH'] ?? '', HOME: join(path, 'home'), ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    children.push(child);
    let out = '';
    let err = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => (out += text));
    child.stderr.setEncoding('utf8').on('data', (text: string) => (err += text));
    const ended = new Promise<Ended>((resolve) => child.on('close', (exit) => resolve({ exit, out, err })));
    return { child, ended };
  };
  return {
    path,
    start,
    run: (words, env) => start(words, env).ended,
    write(name, text, mode = 0o600) {
      writeFileSync(join(path, name), text, { mode });
      return name;
    },
    files: () => new Map(below(path).map((file) => [file, readFileSync(file, 'latin1')])),
  };
}

function below(folder: string): readonly string[] {
  return readdirSync(folder).flatMap((name) => {
    const path = join(folder, name);
    return statSync(path).isDirectory() ? below(path) : [path];
  });
}

/** A profile for a venue at this address; `more` is YAML that is added or takes the place of a key. */
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

/** Resolves when something holds; rejects when it does not within the time. */
export async function until(holds: () => boolean, withinMs = 10_000): Promise<void> {
  const end = Date.now() + withinMs;
  while (!holds()) {
    if (Date.now() > end) throw new Error(`did not come true within ${withinMs} ms`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}
