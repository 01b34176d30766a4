/** Sets the stage of a soak: a simulated venue, its own PostgreSQL, and workers that are restarted whenever they end. */
import { type ChildProcess, spawn } from 'node:child_process';
import { createWriteStream, mkdirSync, mkdtempSync, rmSync, type WriteStream, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { Books } from '../../src/gateway/simulator/ledger-view.ts';
import { type PostgresServer, startPostgres } from '../postgres.ts';

const TOKEN = 'eyJhbGciOiJub25lIn0.e30.a-session-of-the-soak';
export const TOKENS_PER_MINUTE = 3000;
export const ACCOUNTS = ['first', 'second'] as const;
const MARKETS = '{BTC-USD: {tick: "1", lot: "0.0001", min_size: "0.0001"}}';
const VENUE = {
  latencyMs: { min: 2, max: 40 },
  processingMs: { min: 2, max: 40 },
  visibilityLagMs: { min: 0, max: 100 },
  tokens: { limit: TOKENS_PER_MINUTE },
  account: { equity: '100000000' },
};

const profile = (url: string, account: string) => `profile: ${account}
base_url: ${url}
account: ${account}
auth: {mode: jwt, jwt: {env: SIM_JWT}}
rate_limit: {tokens: ${TOKENS_PER_MINUTE}, window: 60s}
markets: ${MARKETS}
ambiguity: {window: 2s}
store: {postgres: {env: DATABASE_URL}}
`;

const MISFIRE = 'misfire: {within: 10m, then: run_once}';
/**
 * Orders that stay open and are cancelled, orders that fill, one that is amended, runs that outlive a worker, and a read. Each
 * order may be sent again once its absence is proven (so all are limit orders): otherwise a process that is killed before the
 * first byte would halt the run.
 */
export const RUNBOOKS = {
  orders: `runbook: orders
dsl: 1
leaves: {position: open, because: processes are killed here}
schedule: {every: 5s, ${MISFIRE}, overlap: skip}
steps:
  - id: low
    place: {type: limit, market: BTC-USD, side: long, size: 0.01, price: 60000, on_ambiguous: resend}
  - id: taken
    place: {type: limit, market: BTC-USD, side: long, size: 0.02, price: 70000, on_ambiguous: resend}
  - cancel: low
  - refresh: taken
outputs: {taken: taken.filled}
`,
  lasting: `runbook: lasting
dsl: 1
leaves: {position: open, because: processes are killed here}
schedule: {every: 7s, ${MISFIRE}, overlap: skip}
steps:
  - id: quote
    place: {type: limit, market: BTC-USD, side: short, size: 0.01, price: 71000, tif: post_only, on_ambiguous: resend}
  - wait: 4s
  - amend: {order: quote, price: 71500}
    catch: [{on: [rejected, not_found], then: continue}]
finally:
  - cancel: {mine: BTC-USD}
`,
  caught_up: `runbook: caught_up
dsl: 1
leaves: {position: open, because: processes are killed here}
schedule: {every: 4s, misfire: {within: 10m, then: run_all}, overlap: skip}
steps:
  - id: acct
    read_account: {}
outputs: {equity: acct.account_equity}
`,
} as const;

export interface StageParts {
  readonly bin: string;
  readonly workers: number;
  readonly seed: number;
  /** Called for every event. */
  readonly note: (line: string) => void;
  /** Time before a worker that has ended is restarted, ms. */
  readonly restartMs: () => number;
  /** Number of accounts that a new worker serves at most. */
  readonly maxAccounts: () => number;
}

export interface StageWorker {
  readonly name: string;
  readonly port: number;
  child: ChildProcess | undefined;
  asleep: boolean;
}

export class Stage {
  readonly folder: string;
  readonly workers: readonly StageWorker[];
  /** Of the venue of each account: one venue gives both names the same account, for which only one process may act. */
  readonly urls: ReadonlyMap<string, string>;
  /** Exits that were not requested and that no pause explains. */
  readonly surprises: string[] = [];
  private readonly parts: StageParts;
  private readonly venues: readonly ChildProcess[];
  private readonly postgres: PostgresServer;
  private readonly log: WriteStream;
  private readonly database: string;
  private restarting = true;

  private constructor(
    parts: StageParts,
    folder: string,
    venues: readonly ChildProcess[],
    urls: ReadonlyMap<string, string>,
    postgres: PostgresServer,
    database: string,
  ) {
    this.parts = parts;
    this.folder = folder;
    this.venues = venues;
    this.urls = urls;
    this.postgres = postgres;
    this.database = database;
    this.log = createWriteStream(join(folder, 'workers.log'));
    this.workers = Array.from({ length: parts.workers }, (_, index) => ({
      name: `worker ${index + 1}`,
      port: 0,
      child: undefined,
      asleep: false,
    }));
  }

  static async open(parts: StageParts): Promise<Stage> {
    const folder = mkdtempSync(join(tmpdir(), 'runbook-soak-'));
    mkdirSync(join(folder, 'runbooks'));
    for (const [name, text] of Object.entries(RUNBOOKS)) writeFileSync(join(folder, 'runbooks', `${name}.yaml`), text);
    writeFileSync(join(folder, 'venue.json'), JSON.stringify(VENUE));
    const postgres = await startPostgres();
    const database = await postgres.database();
    const words = ['sim', '--port', '0', '--config', 'venue.json', '--seed', String(parts.seed), '--json'];
    const venues: ChildProcess[] = [];
    const urls = new Map<string, string>();
    for (const account of ACCOUNTS) {
      const venue = spawn(process.execPath, [parts.bin, ...words], { cwd: folder, env: environment(folder, '') });
      venues.push(venue);
      const url = await new Promise<string>((resolve, reject) => {
        let said = '';
        venue.stdout.on('data', (piece: Buffer) => {
          said += piece.toString();
          const found = /"url":"([^"]+)"/.exec(said)?.[1];
          if (found !== undefined) resolve(found);
        });
        venue.once('exit', (code) => reject(new Error(`runbook sim ended with ${code}: ${said}`)));
      });
      urls.set(account, url);
      writeFileSync(join(folder, `${account}.yaml`), profile(url, account));
    }
    const stage = new Stage(parts, folder, venues, urls, postgres, database);
    // An interrupted soak leaves no process behind; the database ends by itself.
    process.once('exit', () => stage.endProcesses());
    for (const worker of stage.workers) stage.start(worker);
    return stage;
  }

  get databaseUrl(): string {
    return this.database;
  }

  /** Starts a worker like a service manager: it is restarted after a while, whatever its exit code. */
  private start(worker: StageWorker): void {
    const maxAccounts = this.parts.maxAccounts();
    const words = ['schedule', 'runbooks', '--port', '0', '--max-accounts', String(maxAccounts)];
    const profiles = ACCOUNTS.flatMap((account) => ['--profile', `${account}.yaml`]);
    const folder = join(this.folder, worker.name.replace(' ', '-'));
    const child = spawn(process.execPath, [this.parts.bin, ...words, ...profiles], {
      cwd: this.folder,
      env: environment(folder, this.database),
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    worker.child = child;
    worker.asleep = false;
    child.stderr?.on('data', (piece: Buffer) => this.log.write(piece));
    this.parts.note(`${worker.name} starts with at most ${maxAccounts} accounts, process ${child.pid}`);
    child.once('exit', (code, signal) => {
      worker.child = undefined;
      this.parts.note(`${worker.name} ended with ${signal ?? code}`);
      // 3: it lost its lease; 4: its journal could not be written; 143: it was asked to end. The next worker resumes its runs.
      if (signal === null && ![3, 4, 143].includes(code ?? -1))
        this.surprises.push(`${worker.name} ended with ${code}, which nothing explains`);
      if (this.restarting) setTimeout(() => this.restarting && this.start(worker), this.parts.restartMs());
    });
  }

  kill(worker: StageWorker, signal: 'SIGKILL' | 'SIGTERM'): void {
    worker.child?.kill('SIGCONT');
    worker.child?.kill(signal);
  }

  async sleep(worker: StageWorker, ms: number): Promise<void> {
    const { child } = worker;
    if (child === undefined) return;
    worker.asleep = true;
    child.kill('SIGSTOP');
    await pause(ms);
    child.kill('SIGCONT');
    worker.asleep = false;
  }

  restartDatabase(how: 'fast' | 'crash'): Promise<void> {
    return this.postgres.restart(how);
  }

  async withoutDatabase(ms: number): Promise<void> {
    await this.postgres.stop('crash');
    await pause(ms);
    await this.postgres.start();
  }

  query(sql: string) {
    return this.postgres.query(sql, this.database);
  }

  /** The books of every venue. */
  async books(): Promise<readonly Books[]> {
    return Promise.all(
      [...this.urls.values()].map(async (url) => (await (await fetch(`${url}/_sim/books`)).json()) as Books),
    );
  }

  /** Ends the workers cleanly; the venue and the database stay for the comparison. */
  async settle(withinMs: number): Promise<void> {
    this.restarting = false;
    for (const worker of this.workers) this.kill(worker, 'SIGTERM');
    for (const end = Date.now() + withinMs; this.workers.some(({ child }) => child !== undefined); ) {
      if (Date.now() > end) {
        this.surprises.push(`a worker did not settle within ${withinMs / 1000} s of SIGTERM`);
        return;
      }
      await pause(50);
    }
  }

  private endProcesses(): void {
    for (const worker of this.workers) this.kill(worker, 'SIGKILL');
    for (const venue of this.venues) {
      venue.removeAllListeners('exit');
      venue.kill('SIGKILL');
    }
  }

  /** With `keep`, the folder with the logs stays. */
  async close(keep: boolean): Promise<void> {
    this.restarting = false;
    this.endProcesses();
    await this.postgres.remove();
    await new Promise((resolve) => this.log.end(resolve));
    if (!keep) rmSync(this.folder, { recursive: true, force: true, maxRetries: 5 });
  }
}

function environment(folder: string, database: string) {
  mkdirSync(folder, { recursive: true });
  const home = { HOME: folder, XDG_STATE_HOME: join(folder, 'state'), RUNBOOK_STATE: join(folder, 'runbook') };
  return { PATH: process.env['PATH'] ?? '', ...home, SIM_JWT: TOKEN, DATABASE_URL: database };
}
