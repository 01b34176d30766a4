/** Runs the built command as background processes with a folder and a home of their own, watched and ended by the test. */
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll } from 'vitest';
import type { Ended } from './command.ts';
import { serve } from './command-client.js';

const BIN = fileURLToPath(new URL('../../bin/runbook.js', import.meta.url));

export interface Started {
  readonly child: ChildProcess;
  readonly ended: Promise<Ended>;
}

export interface Background {
  readonly path: string;
  write(name: string, text: string): void;
  /** Starts `runbook` with these arguments. */
  start(words: readonly string[]): Started;
  /** Runs it to its end; the test's own venue answers meanwhile. */
  run(words: readonly string[]): Promise<Ended>;
}

/** A folder whose processes and files are removed after the test file. */
export function background(): Background {
  const opened = openBackground();
  afterAll(opened.close);
  return opened;
}

export function openBackground(): Background & { close(): void } {
  const path = realpathSync(mkdtempSync(join(tmpdir(), 'runbook-background-')));
  mkdirSync(join(path, 'home'));
  const children: ChildProcess[] = [];
  const start: Background['start'] = (words) => {
    const child = spawn(process.execPath, [BIN, ...words], {
      cwd: path,
      env: environmentIn(path),
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    children.push(child);
    const text = { out: '', err: '' };
    child.stdout.setEncoding('utf8').on('data', (piece: string) => {
      text.out += piece;
    });
    child.stderr.setEncoding('utf8').on('data', (piece: string) => {
      text.err += piece;
    });
    const ended = new Promise<Ended>((resolve) => child.on('close', (exit) => resolve({ exit, ...text })));
    return { child, ended };
  };
  return {
    path,
    start,
    run: (words) => serve({ words, folder: path, environment: environmentIn(path) }),
    write: (name, text) => writeFileSync(join(path, name), text, { mode: 0o600 }),
    close() {
      for (const child of children) child.kill('SIGKILL');
      rmSync(path, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}

function environmentIn(path: string) {
  return { PATH: process.env['PATH'] ?? '', HOME: join(path, 'home'), VENUE_JWT: 'a.test.token' };
}

/** A profile for a venue at this address. */
export function profileFor(url: string): string {
  return [
    'profile: background',
    `base_url: ${url}`,
    'account: main',
    'auth: {mode: jwt, jwt: {env: VENUE_JWT}}',
    'markets: {BTC-USD: {tick: "1", lot: "0.0001", min_size: "0.0001"}}',
    'ambiguity: {window: 3s}',
  ].join('\n');
}

/** Resolves when the condition holds; rejects after the timeout. */
export async function until(holds: () => boolean | Promise<boolean>, withinMs = 200_000): Promise<void> {
  for (const end = Date.now() + withinMs; !(await holds()); ) {
    if (Date.now() > end) throw new Error(`did not come true within ${withinMs} ms`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}
