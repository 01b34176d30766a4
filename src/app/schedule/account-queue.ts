/**
 * Distributes accounts among workers: one job for each account in a BullMQ queue in the workers' own PostgreSQL. The lock on a
 * job says which worker should try, and expires four seconds after that worker dies. It does not say who may act: a worker has
 * to take the lease with its epoch first. So no failure of the queue can make two workers act for one account, or take an
 * account away from a worker that holds its lease.
 *
 * The door to BullMQ; loaded by the scheduler of shared accounts alone.
 */
import { createHash } from 'node:crypto';
import type { Job } from 'bullmq';
import type { Metronome, Timer } from '../../base/clock.ts';

export interface AccountQueueParts {
  /** The workers' database. Never printed. */
  readonly url: string;
  /** The keys of the accounts. Workers with the same accounts form a group and share a queue. */
  readonly accounts: readonly string[];
  /** Maximum number of accounts at a time. */
  readonly maxAccounts: number;
  /**
   * Tries to take an account and serves it for as long as that lasts; never rejects. Resolves to the pause before the next
   * attempt by any worker, ms; 0 for none.
   */
  readonly serveAccount: (account: string) => Promise<number>;
  /** Called with the reason when the queue cannot be used, and with undefined when it can be used again. */
  readonly onProblem: (problem: string | undefined) => void;
  readonly metronome: Metronome;
}

/** A schema of its own: the tables belong to BullMQ, and can be dropped whenever no worker runs. */
const SCHEMA = 'perp_runbook_queue';
/** A dead worker is noticed after this, ms: longer than a pause of the garbage collector, shorter than a lease. */
const LOCK_MS = 4_000;
const STALLED_CHECK_MS = 2_000;
/** How often every account's job is checked and added again where it is missing, ms. */
const ENSURE_JOBS_MS = 10_000;
const RETRY_MS = 1_000;
/** How long closing may take to release this worker's jobs, ms. */
const CLOSE_WITHIN_MS = 5_000;

type BullMq = typeof import('bullmq');
type QueueHandle = ReturnType<typeof openQueue>;
type QueueWorker = ReturnType<typeof openWorker>;

export class AccountQueue {
  private readonly parts: AccountQueueParts;
  private readonly bull: BullMq;
  private readonly name: string;
  private readonly accounts: ReadonlyMap<string, string>;
  private queue: QueueHandle | undefined;
  private worker: QueueWorker | undefined;
  private timer: Timer | undefined;
  private closed = false;
  /** Increased when a queue is dropped and a new one opened. */
  private generation = 0;
  /** Undefined while the queue can be used; the first success is reported as well. */
  private problem: string | undefined = 'not tried yet';

  private constructor(parts: AccountQueueParts, bull: BullMq) {
    this.parts = parts;
    this.bull = bull;
    this.accounts = new Map(parts.accounts.map((account) => [digestName(account), account]));
    this.name = `accounts-${digestName([...parts.accounts].sort().join('\n'))}`;
  }

  /** Joins the queue, and again whenever the database has been away. */
  static async join(parts: AccountQueueParts): Promise<AccountQueue> {
    // A bundle gives only the default export of a CommonJS module.
    const { default: bull } = (await import('bullmq')) as unknown as { default: BullMq };
    const accountQueue = new AccountQueue(parts, bull);
    void accountQueue.ensureJobs();
    return accountQueue;
  }

  /**
   * Takes no more accounts. Resolves when every account has been released and its job returned; false when the queue did not
   * respond, so that other workers notice by the expiry of the lock alone. `givenUp`: resolves when no account is served any more.
   */
  async close(released: Promise<unknown>): Promise<boolean> {
    this.closed = true;
    this.timer?.cancel();
    const closed = Promise.all([this.worker?.close(), this.queue?.close()]).then(
      () => true,
      () => false,
    );
    await released;
    let timer: Timer | undefined;
    const timedOut = new Promise<boolean>((resolve) => {
      timer = this.parts.metronome.after(CLOSE_WITHIN_MS, () => resolve(false));
    });
    return Promise.race([closed, timedOut]).finally(() => timer?.cancel());
  }

  /** Ensures that each account has its job, and that this worker waits for jobs. */
  private async ensureJobs(): Promise<void> {
    const { queue } = this;
    try {
      this.queue ??= await this.makeReady(openQueue(this.bull, this.name, this.parts.url));
      for (const [id] of this.accounts)
        await this.queue.add('account', {}, { jobId: id, removeOnComplete: true, removeOnFail: true });
      this.worker ??= await this.makeReady(
        openWorker(this.bull, this.name, this.parts, (job, token) => this.processJob(job, token, this.generation)),
      );
      this.reportProblem(undefined);
    } catch (error) {
      this.reportProblem(describeError(error));
      // Both handles cache what they found at first, and would not create dropped tables again.
      if (queue !== undefined && isDropped(error)) this.dropHandles();
    }
    if (!this.closed)
      this.timer = this.parts.metronome.after(
        this.problem === undefined ? ENSURE_JOBS_MS : RETRY_MS,
        () => void this.ensureJobs(),
      );
  }

  /** Drops the handles of the queue, so that new ones are opened. Accounts that are served continue. */
  private dropHandles(): void {
    const { queue, worker } = this;
    this.generation += 1;
    this.queue = undefined;
    this.worker = undefined;
    for (const closing of [queue?.close(), worker?.close(true)]) void closing?.catch(() => {});
  }

  /** A handle that failed to get ready is useless: it keeps the rejection. */
  private async makeReady<T extends QueueHandle | QueueWorker>(opened: T): Promise<T> {
    const { generation: joined } = this;
    (opened as Pick<QueueWorker, 'on'>).on('error', (error: Error) => {
      if (joined === this.generation) this.handleFailure(error);
    });
    try {
      await opened.waitUntilReady();
      return opened;
    } catch (error) {
      void opened.close().catch(() => {});
      throw error;
    }
  }

  private async processJob(job: Job, token: string | undefined, joined: number): Promise<never> {
    const { DelayedError, WaitingError } = this.bull;
    const account = this.accounts.get(job.id ?? '');
    const pauseMs = account === undefined ? ENSURE_JOBS_MS : await this.parts.serveAccount(account);
    // The queue was replaced meanwhile: the new one has a job of its own for the account.
    if (joined !== this.generation) throw new WaitingError();
    try {
      if (pauseMs > 0) await job.moveToDelayed(Date.now() + pauseMs, token);
      else await job.moveToWait(token);
    } catch (error) {
      // The lock has passed to another worker, or the database is away: in both cases the queue finds the job again by itself.
      this.handleFailure(error);
    }
    throw pauseMs > 0 ? new DelayedError() : new WaitingError();
  }

  private handleFailure(error: unknown): void {
    const message = describeError(error);
    // The worker that has the job by now finds the lease held, and returns it.
    if (!/could not renew lock|lock mismatch|not active/i.test(message)) this.reportProblem(message);
  }

  private reportProblem(problem: string | undefined): void {
    if (this.closed || problem === this.problem) return;
    this.problem = problem;
    this.parts.onProblem(problem);
  }
}

function openQueue({ Queue, createPostgresBackend }: BullMq, name: string, url: string) {
  return new Queue(name, { connection: connectionOptions(url, 1) }, createPostgresBackend);
}

function openWorker(
  { Worker, createPostgresBackend }: BullMq,
  name: string,
  { url, maxAccounts }: Pick<AccountQueueParts, 'url' | 'maxAccounts'>,
  process: (job: Job, token: string | undefined) => Promise<never>,
) {
  const options = {
    connection: connectionOptions(url, 2),
    concurrency: maxAccounts,
    lockDuration: LOCK_MS,
    stalledInterval: STALLED_CHECK_MS,
    // A job is an account: it must be served however often its workers have died.
    maxStalledCount: 1_000_000_000,
    runRetryDelay: RETRY_MS,
    drainDelay: 1,
  };
  return new Worker(name, process, options, createPostgresBackend);
}

function connectionOptions(url: string, max: number) {
  return { connectionString: url, schema: SCHEMA, migrate: true, max };
}

/** SQLSTATE: a schema, a table or a function does not exist. */
function isDropped(error: unknown): boolean {
  return ['3F000', '42P01', '42883'].includes(String((error as { readonly code?: unknown } | undefined)?.code));
}

/** Names that BullMQ accepts, independent of the account's name. */
function digestName(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 32);
}

function describeError(error: unknown): string {
  return error instanceof Error ? error.message || error.name : String(error);
}
