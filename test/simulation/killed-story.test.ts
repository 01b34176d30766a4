/** Kills a process in the middle of an entry: the run is resumed, and its story shows what happened. */
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import type { Books } from '../../src/gateway/simulator/simulator.ts';

const BIN = fileURLToPath(new URL('../../bin/runbook.js', import.meta.url));
const RUNBOOK = `runbook: entry
dsl: 1
leaves: {position: open, because: the entry may fill before its cancel}
deadman: {market: BTC-USD, timeout: 120s, on_exit: disarm}
steps:
  - id: entry
    place: {type: limit, market: BTC-USD, side: long, size: 0.01, price: 60000, tif: post_only}
  - wait: 500ms
  - cancel: entry
    await: terminal
`;
/** The first order is carried out at once, and its answer arrives after its process has died. */
const VENUE = {
  latencyMs: { min: 5, max: 5 },
  processingMs: { min: 5, max: 5 },
  faults: [{ on: 'POST /orders', do: 'delay', way: 'reply', ms: 9000, when: { call: 1 } }],
};
const profile = (url: string) => `profile: person
base_url: ${url}
account: person
auth: {mode: jwt, jwt: {env: SIM_JWT}}
markets: {BTC-USD: {tick: "1", lot: "0.0001", min_size: "0.0001"}}
ambiguity: {window: 2s}
`;

interface Ended {
  readonly exit: number | null;
  readonly out: string;
}

describe('a process that is killed in the middle of an entry', () => {
  it('leaves a run that goes on under the text it began with, and shows what happened', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'runbook-story-'));
    const write = (name: string, text: string) => writeFileSync(join(folder, name), text);
    const start = (...words: string[]) => begun(folder, words);
    const run = (...words: string[]) => ended(start(...words));
    write('venue.json', JSON.stringify(VENUE));
    write('entry.yaml', RUNBOOK);
    const venue = start('sim', '--port', '0', '--config', 'venue.json', '--seed', '1', '--json');
    try {
      const url = await urlOf(venue);
      const books = async () => (await (await fetch(`${url}/_sim/books`)).json()) as Books;
      write('profile.yaml', profile(url));
      const dying = start('run', 'entry.yaml', '--profile', 'profile.yaml', '--json');
      const died = ended(dying);
      while ((await books()).orders.length === 0) await pause(50);
      dying.kill('SIGKILL');
      await died;
      // What is in the file by now is another runbook: the run goes on with the text that its journal has.
      write('entry.yaml', RUNBOOK.replace('size: 0.01', 'size: 7'));
      const resumed = await run('resume', '--json');
      expect([resumed.exit, (JSON.parse(resumed.out) as { outcome: string }).outcome]).toEqual([0, 'succeeded']);
      const { orders, deadman } = await books();
      expect(orders.map(({ status, initial_size }) => [status, initial_size])).toEqual([['canceled', '0.01']]);
      expect(deadman.armed).toEqual([]);
      const { out } = await run('audit', 'show', 'last', '--no-color');
      await expect(timeless(out)).toMatchFileSnapshot('killed-story.txt');
    } finally {
      venue.kill('SIGKILL');
      rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
    }
  });
});

function begun(folder: string, words: readonly string[]): ChildProcess {
  const env = {
    PATH: process.env['PATH'] ?? '',
    HOME: folder,
    SIM_JWT: 'eyJhbGciOiJub25lIn0.e30.a-session-of-a-person',
  };
  return spawn(process.execPath, [BIN, ...words], { cwd: folder, env, stdio: ['ignore', 'pipe', 'pipe'] });
}

function ended(child: ChildProcess): Promise<Ended> {
  let out = '';
  child.stdout?.on('data', (part: Buffer) => {
    out += part.toString();
  });
  return new Promise((resolve) => child.once('close', (exit) => resolve({ exit, out })));
}

function urlOf(venue: ChildProcess): Promise<string> {
  let out = '';
  return new Promise((resolve, reject) => {
    venue.stdout?.on('data', (part: Buffer) => {
      out += part.toString();
      const url = /"url":"([^"]+)"/.exec(out)?.[1];
      if (url !== undefined) resolve(url);
    });
    venue.once('exit', (code) => reject(new Error(`runbook sim ended with ${code}: ${out}`)));
  });
}

/** Without what differs from one evening to the next: times, and the names that are made from them. */
function timeless(story: string): string {
  return story
    .replace(/^ *\+[\d:.]+ {2}/gm, '')
    .replace(/, after waiting [\d.]+ m?s for tokens/g, '')
    .replace(/, after [\d.]+ m?s/g, ', after a while')
    .replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, 'TIME')
    .replace(/\d{8}T\d{9}-entry-\w+/g, 'RUN')
    .replace(/start_time=\d+/g, 'start_time=…')
    .replace(/\brb[a-z2-7]{20}\b/g, 'rb…');
}
