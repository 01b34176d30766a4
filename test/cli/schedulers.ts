/** Schedulers as processes, and what their logs say. */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { it } from 'vitest';
import { SystemClock } from '../../src/base/clock.ts';
import { startSimServer } from '../../src/gateway/simulator/server.ts';
import { Simulator } from '../../src/gateway/simulator/simulator.ts';
import { holdFile } from '../../src/journal/sql/sqlite.ts';
import { openBackground, profileFor, type Started, until } from './background.ts';

/** An order far from the market at each occurrence; all that were missed are made up for. */
export const ORDERING = `
runbook: ordering
dsl: 1
leaves: {position: open, because: the case is about something else}
schedule: {every: 1s, misfire: {within: 1h, then: run_all}}
steps:
  - place: {type: limit, market: BTC-USD, side: long, size: 0.001, price: 20000, tif: post_only}
`;

/** A venue and a folder of each test's own, gone with their processes when it ends: the tests run side by side. */
export const itSchedules = it
  .extend('simulator', () => new Simulator({}, new SystemClock(), 1))
  .extend('venue', async ({ simulator }, { onCleanup }) => {
    const venue = await startSimServer(simulator, { port: 0 });
    onCleanup(() => venue.close());
    return venue;
  })
  .extend('at', ({ venue }, { onCleanup }) => {
    const at = openBackground();
    onCleanup(() => at.close());
    at.write('profile.yaml', profileFor(venue.url));
    return at;
  })
  .extend(
    'schedule',
    ({ at }) =>
      (file: string, ...words: string[]) =>
        new Scheduler(at.start(['schedule', file, '--profile', 'profile.yaml', '--port', '0', ...words])),
  )
  .extend('json', ({ at }) => async (...words: readonly string[]) => {
    const { out, exit, err } = await at.run([...words, '--json']);
    return { exit, err, document: JSON.parse(out) as Record<string, unknown> };
  });

export interface Line {
  readonly event: string;
  readonly msg: string;
  readonly account?: string;
  readonly run?: string;
  readonly [key: string]: unknown;
}

/** A running scheduler, and its log. */
export class Scheduler {
  readonly started: Started;
  private text = '';

  constructor(started: Started) {
    this.started = started;
    started.child.stderr?.on('data', (text: string) => {
      this.text += text;
    });
  }

  log(): readonly Line[] {
    return this.text
      .split('\n')
      .slice(0, -1)
      .map((line) => (line.startsWith('{') ? JSON.parse(line) : { event: 'said', msg: line }) as Line);
  }

  events(event: string): readonly Line[] {
    return this.log().filter((line) => line.event === event);
  }

  /** Resolves when it has logged nothing for half a second. */
  async rests(): Promise<void> {
    let [length, since] = [-1, 0];
    await until(() => {
      if (this.text.length !== length) [length, since] = [this.text.length, Date.now()];
      return Date.now() - since > 500;
    });
  }

  async sees(event: string, count = 1, withinMs?: number): Promise<readonly Line[]> {
    try {
      await until(() => this.events(event).length >= count, withinMs);
    } catch (error) {
      throw new Error(`${count} × ${event} not seen in:\n${this.text}`, { cause: error });
    }
    return this.events(event);
  }

  /** Its address; `event`: the log event that names it. */
  async url(event = 'started'): Promise<string> {
    const [line] = await this.sees(event);
    return String(line?.['url']);
  }

  /** Suspends it at an instant at which it holds no lock on a database in this folder: no process could replace it before it wakes up. */
  async suspend(folder: string): Promise<void> {
    const databases = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.db'));
    await until(async () => {
      this.started.child.kill('SIGSTOP');
      const free = await Promise.all(databases.map((name) => isFree(join(folder, name))));
      if (free.every(Boolean)) return true;
      this.started.child.kill('SIGCONT');
      return false;
    });
  }

  stop(signal: 'SIGTERM' | 'SIGINT' | 'SIGHUP' | 'SIGKILL') {
    this.started.child.kill(signal);
    return this.started.ended;
  }
}

async function isFree(file: string): Promise<boolean> {
  const held = await holdFile(file);
  held?.release();
  return held !== undefined;
}

export async function get(url: string): Promise<{ readonly status: number; readonly text: string }> {
  const response = await fetch(url);
  return { status: response.status, text: await response.text() };
}

export interface Readiness {
  readonly status: number;
  readonly ready: boolean;
  readonly reasons: readonly string[];
  readonly accounts: Readonly<
    Record<
      string,
      {
        readonly served: 'here' | 'elsewhere';
        readonly ready: boolean;
        readonly reasons: readonly string[];
        readonly needs_a_person: readonly { readonly run: string; readonly why: string }[];
      }
    >
  >;
}

export async function readiness(url: string): Promise<Readiness> {
  const { status, text } = await get(`${url}/readyz`);
  return { status, ...(JSON.parse(text) as Omit<Readiness, 'status'>) };
}
