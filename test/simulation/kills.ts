/**
 * Real processes and a real SIGKILL: the built command runs runbooks against `runbook sim`, is killed at random moments, and
 * resumed until the run has ended; then the venue's books are compared with the run's own account of its orders. The one
 * place of the simulation with real time in it.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { Books } from '../../src/gateway/simulator/simulator.ts';
import type { JournalStore } from '../../src/journal/store.ts';
import { openSqliteStore } from '../../src/journal/stores/sqlite.ts';
import { CLIENT_ORDER_PREFIX } from '../../src/venue/order/identity.ts';
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
  /** Asked before each kill: whether it is enough. */
  readonly stopped?: () => boolean;
}

export interface KillsTold {
  readonly kills: number;
  readonly runs: number;
  /** How often runs were resumed, and how many calls were under way at those deaths. */
  readonly resumed: number;
  readonly interrupted: number;
  /** Orders of the runs at the venues. */
  readonly orders: number;
  readonly outcomes: Readonly<Record<string, number>>;
  readonly seconds: number;
  /** Every breach, in a sentence. */
  readonly problems: readonly string[];
}

/** A process that is waited for longer than this hangs. */
const PATIENCE_MS = 200_000;
/** After so many kills a run is left to come to its end. */
const KILLS_PER_RUN = 30;
const TOKEN = 'eyJhbGciOiJub25lIn0.e30.a-session-of-the-simulation';
const SWITCH_MS = 20_000;

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
  // Those that are over at once: the deaths are what is tried here, and each wait for an answer that never comes takes ten seconds.
  faults: [
    { on: 'POST /orders', do: 'status', status: 502, processed: true, when: { probability: 0.03 } },
    { on: 'POST /orders', do: 'reset_after', when: { probability: 0.02 } },
    { on: 'POST /orders', do: 'malformed', when: { probability: 0.02 } },
    { on: 'POST /orders', do: 'late_reject', reason: 'BY_CHANCE', when: { probability: 0.02 } },
    { on: 'POST /orders', do: 'invisible', ms: 800, when: { probability: 0.05 } },
    { on: 'PUT /orders', do: 'amend_lost', when: { probability: 0.05 } },
    { on: 'PUT /orders', do: 'truncated', when: { probability: 0.05 } },
    { on: 'DELETE /orders', do: 'cancel_lost', when: { probability: 0.03 } },
    { on: 'DELETE /orders', do: 'fill_first', fraction: '0.5', when: { probability: 0.05 } },
    { on: 'GET /orders', do: 'reset_before', when: { probability: 0.03 } },
    { on: 'POST /cancel_all_after', do: 'reset_after', when: { probability: 0.05 } },
    { on: '*', do: 'delay', ms: 300, way: 'reply', when: { probability: 0.03 } },
  ],
};
const CAUGHT = 'catch: [{on: [rejected, not_found, denied, transport, rate_limited, cancelled], then: continue}]';
/** Long ones: each death leaves something to go on with. */
const RUNBOOKS = [
  `runbook: orders
dsl: 1
leaves: {position: open, because: processes are killed here}
deadman: {market: BTC-USD, timeout: ${SWITCH_MS / 1000}s, on_exit: disarm}
steps:
  - repeat:
      every: 100ms
      max: 6
      do:
        - id: low
          place: {type: limit, market: BTC-USD, side: long, size: 0.01, price: 60000, on_ambiguous: resend}
          ${CAUGHT}
        - id: taken
          place: {type: market, market: BTC-USD, side: long, size: 0.02}
          ${CAUGHT}
        - cancel: {mine: BTC-USD}
          ${CAUGHT}
`,
  `runbook: branches
dsl: 1
leaves: {position: open, because: processes are killed here}
steps:
  - repeat:
      every: 100ms
      max: 6
      do:
        - parallel:
            join: all
            on_fail: let_others_finish
            branches:
              one:
                - id: a
                  place: {type: limit, market: BTC-USD, side: long, size: 0.03, price: 61000, on_ambiguous: resend}
              two:
                - id: b
                  place: {type: limit, market: BTC-USD, side: short, size: 0.04, price: 69000, tif: post_only, on_ambiguous: resend}
          ${CAUGHT}
        - cancel: {mine: BTC-USD}
          ${CAUGHT}
`,
  `runbook: amends
dsl: 1
leaves: {position: open, because: processes are killed here}
steps:
  - id: quote
    place: {type: limit, market: BTC-USD, side: long, size: 0.01, price: 60000, on_ambiguous: resend}
  - repeat:
      every: 100ms
      max: 8
      do:
        - if: quote.open
          amend: {order: quote, price: 60500}
          ${CAUGHT}
        - if: quote.open
          amend: {order: quote, price: 60400}
          ${CAUGHT}
finally:
  - cancel: {mine: BTC-USD}
`,
  // Rounds that change nothing are held back, and written as one entry every few seconds.
  `runbook: idle
dsl: 1
leaves: {position: open, because: processes are killed here}
deadman: {market: BTC-USD, timeout: ${SWITCH_MS / 1000}s, on_exit: disarm}
steps:
  - id: low
    place: {type: limit, market: BTC-USD, side: long, size: 0.01, price: 60000, on_ambiguous: resend}
    ${CAUGHT}
  - repeat:
      every: 250ms
      max: 60
      do:
        - list_orders: {market: BTC-USD, status: open}
          ${CAUGHT}
  - cancel: {mine: BTC-USD}
    ${CAUGHT}
`,
  // Its stop is replaced once, and its time is over soon: deaths come between each two of these requests.
  `runbook: held
dsl: 1
leaves: {position: open, because: processes are killed here}
steps:
  - place: {type: market, market: BTC-USD, side: long, size: 0.02, price: 70000}
    ${CAUGHT}
  - manage:
      market: BTC-USD
      side: short
      feed: 64500
      stop_loss: {trigger: 60000, price: 59000}
      take_profit: {trigger: 70000, price: 69000}
      trail: {by: 4%, step: 0.1%}
      time_limit: 2s
      escalate: {after: 1s, slip: 10%}
    ${CAUGHT.replace('rejected,', 'rejected, unprotected_position, not_placed,')}
`,
] as const;

export async function killRuns(wanted: KillsWanted): Promise<KillsTold> {
  const startedAt = performance.now();
  const told = {
    kills: 0,
    runs: 0,
    resumed: 0,
    interrupted: 0,
    orders: 0,
    outcomes: {} as Record<string, number>,
    problems: [] as string[],
  };
  const hasTime = () => performance.now() - startedAt < (wanted.withinMs ?? Number.POSITIVE_INFINITY);
  const mayKill = () => told.kills < wanted.kills && hasTime() && wanted.stopped?.() !== true;
  const killed = () => {
    told.kills += 1;
    wanted.told?.(told.kills);
  };
  const lanes = Array.from({ length: wanted.lanes }, async (_, index) => {
    const lane = await Lane.open(wanted, index);
    try {
      while (mayKill() && told.problems.length < 5) {
        const run = await lane.run(mayKill, killed);
        told.runs += 1;
        told.resumed += run.resumed;
        told.interrupted += run.interrupted;
        told.orders += run.orders;
        told.outcomes[run.outcome] = (told.outcomes[run.outcome] ?? 0) + 1;
        told.problems.push(...run.problems);
      }
      told.problems.push(...(await lane.verify()));
    } finally {
      await lane.close();
    }
  });
  await Promise.all(lanes);
  return { ...told, seconds: (performance.now() - startedAt) / 1000 };
}

interface Chain {
  readonly outcome: string;
  /** How often the run was resumed, and how many calls were under way then. */
  readonly resumed: number;
  readonly interrupted: number;
  readonly orders: number;
  readonly problems: readonly string[];
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
  readonly size: string;
  readonly filled: string;
}

/** When a process dies, counted from one of two moments. */
interface Death {
  readonly of: 'start' | 'first write';
  readonly afterMs: number;
}

/** One simulated venue in a process of its own, one folder, one run after another. */
class Lane {
  private readonly bin: string;
  readonly folder: string;
  private readonly draws: Draws;
  readonly venue: ChildProcess;
  readonly url: string;
  private readonly name: string;
  /** The runbook of the first run, by its index: the lanes begin with different ones. */
  private readonly first: number;
  private runs = 0;
  readonly store: JournalStore;
  private newest = { run: '', sequence: 0 };
  /** When processes that act were there, epoch ms. */
  private readonly alive: { readonly from: number; readonly until: number }[] = [];

  private constructor(
    { bin, seed }: KillsWanted,
    index: number,
    parts: Pick<Lane, 'folder' | 'venue' | 'url' | 'store'>,
  ) {
    this.bin = bin;
    this.draws = new Draws(seed, `lane ${index}`);
    this.name = `lane ${index} of seed ${seed}`;
    this.first = index;
    this.folder = parts.folder;
    this.venue = parts.venue;
    this.url = parts.url;
    this.store = parts.store;
  }

  static async open(wanted: KillsWanted, index: number): Promise<Lane> {
    const { bin, seed } = wanted;
    const folder = mkdtempSync(join(tmpdir(), 'runbook-kills-'));
    writeFileSync(join(folder, 'venue.json'), JSON.stringify(VENUE));
    for (const [at, text] of RUNBOOKS.entries()) writeFileSync(join(folder, `${nameOf(at)}.yaml`), text);
    const words = ['sim', '--port', '0', '--config', 'venue.json', '--seed', String(seed + index), '--json'];
    const venue = started(bin, folder, words);
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
    mkdirSync(join(folder, '.runbook'), { mode: 0o700 });
    const store = await openSqliteStore(join(folder, '.runbook', 'runbook.db'));
    return new Lane(wanted, index, { folder, venue, url, store });
  }

  async close(): Promise<void> {
    this.venue.kill('SIGKILL');
    await this.store.close();
    rmSync(this.folder, { recursive: true, force: true, maxRetries: 5 });
  }

  /** One run, killed again and again until it comes through. */
  async run(mayKill: () => boolean, killed: () => void): Promise<Chain> {
    const before = new Set((await this.books()).orders.map(({ id }) => id));
    const known = (await this.lastRun()).runs;
    const at = (this.first + this.runs) % RUNBOOKS.length;
    this.runs += 1;
    this.alive.length = 0;
    const problems: string[] = [];
    let [kills, asked] = [0, 0];
    let words = ['run', `${nameOf(at)}.yaml`, '--profile', 'profile.yaml', '--json'];
    for (;;) {
      const isKilled = kills < KILLS_PER_RUN && mayKill();
      const ended = await this.process(words, isKilled ? this.momentOfDeath() : undefined);
      if (ended.exit === null) {
        if (!isKilled) problems.push(`${this.name}: ${words.join(' ')} did not end within ${PATIENCE_MS} ms`);
        else killed();
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
          `${this.name}: ${words.join(' ')} ended with ${ended.exit} and reported nothing: ${ended.out.slice(0, 200)} ${ended.err.slice(-400)}`,
        );
      // A person looks, and resumes it.
      if (outcome === 'halted' && asked === 0) {
        asked += 1;
        words = ['resume', '--json'];
        continue;
      }
      // Killed before its first commit, a run has never been; killed behind its last, it has ended already.
      const listed = outcome === 'nothing' ? await this.lastRun() : undefined;
      if (listed?.runs === known)
        return {
          outcome: 'never began',
          resumed: 0,
          interrupted: 0,
          orders: 0,
          problems: [...problems, ...(await this.findUnknownOrders(before))],
        };
      const became = listed?.outcome ?? outcome ?? 'none';
      if (listed === undefined && ended.exit !== EXITS[became])
        problems.push(`${this.name}: a run that ${became} ended with ${ended.exit}: ${ended.err.slice(-300)}`);
      const compared = await this.compare(before, became);
      return { outcome: became, ...compared, problems: [...problems, ...compared.problems] };
    }
  }

  /** Mostly soon behind the first thing a process writes, so that it is hit in the middle of something; now and then before. */
  private momentOfDeath(): Death {
    const { draws } = this;
    return draws.chance(0.1)
      ? { of: 'start', afterMs: draws.within(0, 300) }
      : { of: 'first write', afterMs: draws.within(0, draws.of([20, 60, 150, 400, 1000])) };
  }

  /** Whether the journal of everything that ran here is what was written. */
  async verify(): Promise<string[]> {
    const { exit, out, err } = await this.process(['audit', 'verify', '--json']);
    return exit === 0
      ? []
      : [`${this.name}: audit verify ended with ${exit}: ${out.slice(0, 300)} ${err.slice(0, 300)}`];
  }

  /** The run's account of its orders against the venue's. */
  private async compare(before: ReadonlySet<string>, outcome: string): Promise<Omit<Chain, 'outcome'>> {
    const ended = await this.process(['audit', 'orders', 'last', '--json']);
    const { orders } = JSON.parse(ended.out) as { readonly orders: readonly ToldOrder[] };
    const books = await this.books();
    const own = books.orders.filter(({ id }) => !before.has(id));
    const problems: string[] = [];
    for (const order of own) {
      const same = own.filter((each) => each.client_order_id === order.client_order_id);
      if (same.length > 1) problems.push(`${same.length} orders of ${order.client_order_id} at the venue`);
      const journaled = orders.find((each) => each.clientOrderId === order.client_order_id);
      if (journaled === undefined) problems.push(`order ${order.id} (${order.client_order_id}) is not in the journal`);
      else if (outcome !== 'halted' && (journaled.state !== order.status || journaled.filled !== order.filled))
        problems.push(
          `order ${order.id} is ${order.status} with ${order.filled} filled, the journal says ${journaled.state} with ${journaled.filled}`,
        );
      if (order.initial_size !== journaled?.size)
        problems.push(`order ${order.id} came with size ${order.initial_size}, the journal says ${journaled?.size}`);
    }
    for (const journaled of orders) {
      const known = own.some((each) => each.client_order_id === journaled.clientOrderId);
      const never = ['denied', 'absent', 'draft', 'rejected'].includes(journaled.state);
      if (!known && !never)
        problems.push(`the journal has ${journaled.clientOrderId} as ${journaled.state}, the venue has no such order`);
    }
    if (outcome !== 'halted' && books.deadman.armed.length > 0) problems.push('the deadman switch is left armed');
    for (const { event, at } of books.deadman.events) {
      const spared = this.alive.some(({ from, until }) => from <= at - SWITCH_MS && at <= until);
      if (event === 'fired' && spared) problems.push('the deadman switch fired although a process was there');
    }
    if (books.tokens.refused > 0) problems.push(`${books.tokens.refused} requests were refused for want of tokens`);
    const exported = (await this.process(['audit', 'export', 'last', '--format', 'jsonl'])).out.trim().split('\n');
    const resumed = exported.flatMap((line) => {
      const entry = JSON.parse(line) as {
        readonly type: string;
        readonly data: { readonly openCalls?: readonly string[] };
      };
      return entry.type === 'run.resumed' ? [entry.data.openCalls?.length ?? 0] : [];
    });
    return {
      resumed: resumed.length,
      interrupted: resumed.reduce((sum, calls) => sum + calls, 0),
      orders: own.length,
      problems: problems.map((problem) => `${this.name}, run ${this.runs}: ${problem}`),
    };
  }

  private async lastRun(): Promise<{ readonly runs: number; readonly outcome: string }> {
    const { out } = await this.process(['audit', 'list', '--json']);
    const { runs } = JSON.parse(out) as {
      readonly runs: readonly { readonly run: string; readonly outcome: string | null }[];
    };
    const newest = [...runs].sort((a, b) => (a.run < b.run ? 1 : -1))[0];
    return { runs: runs.length, outcome: newest?.outcome ?? 'none' };
  }

  private async findUnknownOrders(before: ReadonlySet<string>): Promise<string[]> {
    const { orders } = await this.books();
    return orders
      .filter(({ id, client_order_id }) => !before.has(id) && client_order_id.startsWith(CLIENT_ORDER_PREFIX))
      .map(({ id }) => `${this.name}: order ${id} came from a run that never was`);
  }

  private async books(): Promise<Books> {
    return (await (await fetch(`${this.url}/_sim/books`)).json()) as Books;
  }

  /** Exit null: it was killed. */
  private async process(words: readonly string[], death?: Death): Promise<Ended> {
    const written = death?.of === 'first write' ? await this.lastWrite() : '';
    const child = started(this.bin, this.folder, words);
    let [out, err] = ['', ''];
    child.stdout?.on('data', (part: Buffer) => {
      out += part.toString();
    });
    child.stderr?.on('data', (part: Buffer) => {
      err += part.toString();
    });
    const kill = () => child.kill('SIGKILL');
    const timers = [setTimeout(kill, PATIENCE_MS)];
    if (death?.of === 'start') timers.push(setTimeout(kill, death.afterMs));
    const from = Date.now();
    const closed = new Promise<number | null>((resolve) => child.once('close', resolve));
    if (death?.of === 'first write') {
      while (child.exitCode === null && (await this.lastWrite()) === written) await pause(10);
      timers.push(setTimeout(kill, death.afterMs));
    }
    const exit = await closed;
    for (const timer of timers) clearTimeout(timer);
    if (words[0] !== 'audit') this.alive.push({ from, until: Date.now() });
    return { exit, out, err };
  }

  /** The newest entry of the newest run. */
  private async lastWrite(): Promise<string> {
    const [row] = await this.store.runs({ limit: 1 });
    if (row === undefined) return '';
    const before = row.run === this.newest.run ? this.newest.sequence : 0;
    const more = await this.store.read(row.run, { after: before });
    this.newest = { run: row.run, sequence: before + more.length };
    return `${row.run} ${this.newest.sequence}`;
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

/** The outcome of the run that a process reports; `nothing` where there was no run to resume. */
function outcomeOf({ out }: Ended): string | undefined {
  try {
    const told = JSON.parse(out) as { readonly outcome?: string; readonly runs?: readonly unknown[] };
    return told.outcome ?? (told.runs?.length === 0 ? 'nothing' : undefined);
  } catch {
    return undefined;
  }
}
