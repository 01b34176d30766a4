/**
 * Real processes and a real SIGKILL: the built command runs runbooks against `runbook sim`, is killed at random moments, and
 * resumed until the run has ended; then the venue's books are compared with the run's own account of its orders. The one
 * place of the simulation with real time in it.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { Books } from '../../src/gateway/simulator/simulator.ts';
import { CLIENT_ORDER_PREFIX } from '../../src/venue/identity.ts';
import { Draws } from './draws.ts';

export interface KillsWanted {
  /** The built command. */
  readonly bin: string;
  readonly kills: number;
  /** Venues with runs of their own, side by side. */
  readonly lanes: number;
  readonly seed: number;
  /** No run begins later than this after the start. */
  readonly withinMs?: number;
  readonly told?: (kills: number) => void;
}

export interface KillsTold {
  readonly kills: number;
  readonly runs: number;
  readonly outcomes: Readonly<Record<string, number>>;
  readonly seconds: number;
  /** Every breach, in a sentence. */
  readonly problems: readonly string[];
}

/** A process that is waited for longer than this hangs. */
const PATIENCE_MS = 60_000;
/** After so many kills a run is left to come to its end. */
const KILLS_PER_RUN = 8;
const TOKEN = 'eyJhbGciOiJub25lIn0.e30.a-session-of-the-simulation';

const PROFILE = (url: string) => `profile: kills
base_url: ${url}
account: kills
auth: {mode: jwt, jwt: {env: SIM_JWT}}
rate_limit: {tokens: 100000, window: 60s}
markets: {BTC-USD: {tick: "1", lot: "0.0001", min_size: "0.0001"}}
ambiguity: {window: 2s}
`;
const VENUE = {
  latencyMs: { min: 2, max: 40 },
  processingMs: { min: 2, max: 40 },
  visibilityLagMs: { min: 0, max: 100 },
  tokens: { limit: 100_000 },
  account: { equity: '100000000' },
};
const RUNBOOKS = [
  `runbook: orders
dsl: 1
deadman: {market: BTC-USD, timeout: 20s, on_exit: disarm}
steps:
  - id: low
    place: {type: limit, market: BTC-USD, side: long, size: 0.01, price: 60000, on_ambiguous: resend}
  - id: taken
    place: {type: market, market: BTC-USD, side: long, size: 0.02, price: 70000}
  - id: high
    place: {type: limit, market: BTC-USD, side: short, size: 0.01, price: 70000, tif: post_only, on_ambiguous: resend}
  - cancel: low
  - cancel: high
outputs: {taken: taken.filled}
`,
  `runbook: branches
dsl: 1
steps:
  - parallel:
      join: all
      on_fail: let_others_finish
      branches:
        one:
          - id: a
            place: {type: limit, market: BTC-USD, side: long, size: 0.03, price: 61000, on_ambiguous: resend}
        two:
          - id: b
            place: {type: limit, market: BTC-USD, side: short, size: 0.04, price: 69000, on_ambiguous: resend}
  - cancel: {mine: BTC-USD}
`,
  `runbook: amends
dsl: 1
steps:
  - id: quote
    place: {type: limit, market: BTC-USD, side: long, size: 0.01, price: 60000, on_ambiguous: resend}
  - amend: {order: quote, price: 60500}
    catch: [{on: [rejected, not_found], then: continue}]
finally:
  - cancel: {mine: BTC-USD}
`,
] as const;

export async function killRuns(wanted: KillsWanted): Promise<KillsTold> {
  const startedAt = performance.now();
  const told = { kills: 0, runs: 0, outcomes: {} as Record<string, number>, problems: [] as string[] };
  const mayGoOn = () =>
    told.kills < wanted.kills &&
    told.problems.length < 5 &&
    performance.now() - startedAt < (wanted.withinMs ?? Number.POSITIVE_INFINITY);
  const lanes = Array.from({ length: wanted.lanes }, async (_, index) => {
    const lane = await Lane.open(wanted, index);
    try {
      while (mayGoOn()) {
        const run = await lane.run();
        told.kills += run.kills;
        told.runs += 1;
        told.outcomes[run.outcome] = (told.outcomes[run.outcome] ?? 0) + 1;
        told.problems.push(...run.problems);
        wanted.told?.(told.kills);
      }
      told.problems.push(...(await lane.verify()));
    } finally {
      await lane.close();
    }
  });
  await Promise.all(lanes);
  return { ...told, seconds: (performance.now() - startedAt) / 1000 };
}

interface Ended {
  readonly exit: number | null;
  readonly out: string;
  readonly err: string;
}

interface ToldOrder {
  readonly clientOrderId: string;
  readonly orderId?: string;
  readonly state: string;
  readonly filled: string;
}

/** One simulated venue in a process of its own, one folder, one run after another. */
class Lane {
  private readonly bin: string;
  private readonly folder: string;
  private readonly draws: Draws;
  private readonly venue: ChildProcess;
  private readonly url: string;
  private readonly name: string;
  private runs = 0;
  /** How long a process takes before it does anything, by the last one that was timed. */
  private startUpMs = 0;

  private constructor(bin: string, folder: string, draws: Draws, venue: ChildProcess, url: string, name: string) {
    this.bin = bin;
    this.folder = folder;
    this.draws = draws;
    this.venue = venue;
    this.url = url;
    this.name = name;
  }

  static async open({ bin, seed }: KillsWanted, index: number): Promise<Lane> {
    const folder = mkdtempSync(join(tmpdir(), 'runbook-kills-'));
    writeFileSync(join(folder, 'venue.json'), JSON.stringify(VENUE));
    for (const [at, text] of RUNBOOKS.entries()) writeFileSync(join(folder, `${nameOf(at)}.yaml`), text);
    const venue = started(bin, folder, [
      'sim',
      '--port',
      '0',
      '--config',
      'venue.json',
      '--seed',
      String(seed + index),
      '--json',
    ]);
    const url = await new Promise<string>((resolve, reject) => {
      let out = '';
      venue.stdout?.on('data', (part: Buffer) => {
        out += part.toString();
        const read = /"url":"([^"]+)"/.exec(out)?.[1];
        if (read !== undefined) resolve(read);
      });
      venue.once('exit', (code) => reject(new Error(`runbook sim ended with ${code}: ${out}`)));
    });
    writeFileSync(join(folder, 'profile.yaml'), PROFILE(url));
    return new Lane(bin, folder, new Draws(seed, `lane ${index}`), venue, url, `lane ${index} of seed ${seed}`);
  }

  async close(): Promise<void> {
    this.venue.kill('SIGKILL');
    rmSync(this.folder, { recursive: true, force: true, maxRetries: 5 });
  }

  /** One run, killed again and again until it comes through. */
  async run(): Promise<{ kills: number; outcome: string; problems: string[] }> {
    const before = new Set((await this.books()).orders.map(({ id }) => id));
    const known = (await this.lastRun()).runs;
    const at = this.runs % RUNBOOKS.length;
    this.runs += 1;
    const problems: string[] = [];
    let kills = 0;
    let words = ['run', `${nameOf(at)}.yaml`, '--profile', 'profile.yaml', '--json'];
    for (;;) {
      const killAfterMs =
        kills < KILLS_PER_RUN
          ? Math.round((kills === 0 ? 1.6 : 0.9) * this.startUpMs) +
            this.draws.within(0, this.draws.of([300, 1500, 3500]))
          : undefined;
      const ended = await this.process(words, killAfterMs);
      if (ended.exit === null) {
        kills += 1;
        words = ['resume', '--json'];
        continue;
      }
      // The lease of the process that died: at most fifteen seconds.
      if (ended.exit === 3) {
        await pause(300);
        continue;
      }
      const outcome = outcomeOf(ended);
      if (outcome === undefined)
        problems.push(
          `${this.name}: ${words.join(' ')} ended with ${ended.exit} and told nothing: ${ended.out.slice(0, 200)} ${ended.err.slice(-400)}`,
        );
      if (outcome === 'nothing') {
        // Killed before its first commit, a run has never been; killed behind its last, it has ended already.
        const listed = await this.lastRun();
        if (listed.runs === known)
          return { kills, outcome: 'never began', problems: [...problems, ...(await this.strangers(before))] };
        return {
          kills,
          outcome: listed.outcome,
          problems: [...problems, ...(await this.compare(before, listed.outcome))],
        };
      }
      if (ended.exit !== EXITS[outcome ?? ''])
        problems.push(`${this.name}: a run that ${outcome} ended with ${ended.exit}: ${ended.err.slice(-300)}`);
      problems.push(...(await this.compare(before, outcome ?? '')));
      return { kills, outcome: outcome ?? 'none', problems };
    }
  }

  /** Whether the journal of everything that ran here is what was written. */
  async verify(): Promise<string[]> {
    const { exit, out, err } = await this.process(['audit', 'verify', '--json']);
    return exit === 0
      ? []
      : [`${this.name}: audit verify ended with ${exit}: ${out.slice(0, 300)} ${err.slice(0, 300)}`];
  }

  /** The run's account of its orders against the venue's. */
  private async compare(before: ReadonlySet<string>, outcome: string): Promise<string[]> {
    const ended = await this.process(['audit', 'orders', 'last', '--json']);
    const { orders } = JSON.parse(ended.out) as { readonly orders: readonly ToldOrder[] };
    const books = await this.books();
    const own = books.orders.filter(({ id }) => !before.has(id));
    const problems: string[] = [];
    for (const order of own) {
      const same = own.filter((each) => each.client_order_id === order.client_order_id);
      if (same.length > 1) problems.push(`${same.length} orders of ${order.client_order_id} at the venue`);
      const told = orders.find((each) => each.clientOrderId === order.client_order_id);
      if (told === undefined) problems.push(`order ${order.id} (${order.client_order_id}) is not in the journal`);
      else if (outcome !== 'halted' && (told.state !== order.status || told.filled !== order.filled))
        problems.push(
          `order ${order.id} is ${order.status} with ${order.filled} filled, the journal says ${told.state} with ${told.filled}`,
        );
    }
    for (const told of orders) {
      const known = own.some((each) => each.client_order_id === told.clientOrderId);
      const never = ['denied', 'absent', 'draft'].includes(told.state);
      if (!known && !never)
        problems.push(`the journal has ${told.clientOrderId} as ${told.state}, the venue has no such order`);
    }
    if (outcome !== 'halted' && books.deadman.armed.length > 0) problems.push('the deadman switch is left armed');
    return problems.map((problem) => `${this.name}, run ${this.runs}: ${problem}`);
  }

  private async lastRun(): Promise<{ readonly runs: number; readonly outcome: string }> {
    const startedAt = performance.now();
    const { out } = await this.process(['audit', 'list', '--json']);
    this.startUpMs = performance.now() - startedAt;
    const { runs } = JSON.parse(out) as {
      readonly runs: readonly { readonly run: string; readonly outcome: string | null }[];
    };
    const newest = [...runs].sort((a, b) => (a.run < b.run ? 1 : -1))[0];
    return { runs: runs.length, outcome: newest?.outcome ?? 'none' };
  }

  private async strangers(before: ReadonlySet<string>): Promise<string[]> {
    const { orders } = await this.books();
    return orders
      .filter(({ id, client_order_id }) => !before.has(id) && client_order_id.startsWith(CLIENT_ORDER_PREFIX))
      .map(({ id }) => `${this.name}: order ${id} came from a run that never was`);
  }

  private async books(): Promise<Books> {
    return (await (await fetch(`${this.url}/_sim/books`)).json()) as Books;
  }

  /** Exit null: it was killed. */
  private process(words: readonly string[], killAfterMs: number = PATIENCE_MS): Promise<Ended> {
    const child = started(this.bin, this.folder, words);
    let [out, err] = ['', ''];
    child.stdout?.on('data', (part: Buffer) => {
      out += part.toString();
    });
    child.stderr?.on('data', (part: Buffer) => {
      err += part.toString();
    });
    const timer = setTimeout(() => child.kill('SIGKILL'), killAfterMs);
    return new Promise((resolve) => {
      child.once('close', (exit) => {
        clearTimeout(timer);
        resolve({ exit, out, err });
      });
    });
  }
}

/** Exit codes by what became of the run (interface.md). */
const EXITS: Readonly<Record<string, number>> = { succeeded: 0, stopped: 0, failed: 1, halted: 4 };

function started(bin: string, folder: string, words: readonly string[]): ChildProcess {
  const env = { PATH: process.env['PATH'] ?? '', HOME: folder, XDG_STATE_HOME: join(folder, 'state'), SIM_JWT: TOKEN };
  return spawn(process.execPath, [bin, ...words], { cwd: folder, env, stdio: ['ignore', 'pipe', 'pipe'] });
}

function nameOf(index: number): string {
  return /^runbook: (\w+)/.exec(RUNBOOKS[index] ?? '')?.[1] ?? '';
}

/** The outcome of the run that a process tells of; `nothing` where there was no run to resume. */
function outcomeOf({ out }: Ended): string | undefined {
  try {
    const told = JSON.parse(out) as { readonly outcome?: string; readonly runs?: readonly unknown[] };
    return told.outcome ?? (told.runs?.length === 0 ? 'nothing' : undefined);
  } catch {
    return undefined;
  }
}
