/**
 * Which worker is to try for which account: one job for each account in a BullMQ queue that lies in the workers' own
 * PostgreSQL. Its lock says who should try, and lapses four seconds after a worker has died. It does not say who may act:
 * that is the lease with its epoch, which whoever tries has to take first. So nothing that goes wrong here can make two
 * workers act for one account, and no failure of the queue takes a seat away from a worker that holds its lease.
 *
 * The door to BullMQ; loaded by the scheduler of shared accounts alone.
 */
import { createHash } from 'node:crypto';
import type { Job } from 'bullmq';
import type { Metronome, Timer } from '../../base/clock.ts';

export interface AccountQueueParts {
  /** The workers' database. Never printed. */
  readonly url: string;
  /** The keys of the accounts. Workers with the same accounts form a group, and share a queue. */
  readonly accounts: readonly string[];
  /** How many to try for at a time. */
  readonly seats: number;
  /**
   * Tries for an account and serves it, for as long as that lasts; never rejects. Gives after how many ms somebody is to try
   * again; 0 for at once.
   */
  readonly take: (account: string) => Promise<number>;
  /** Told why the queue cannot be used, and with undefined that it can again. */
  readonly told: (problem: string | undefined) => void;
  readonly metronome: Metronome;
}

/** A schema of its own: the tables are BullMQ's business, and can be dropped whenever no worker runs. */
const SCHEMA = 'perp_runbook_seats';
/** A worker that has died is noticed after this, ms: longer than a pause of the collector, shorter than a lease. */
const LOCK_MS = 4_000;
const STALLED_LOOK_MS = 2_000;
/** How often each account's job is made sure of: whatever was done to the queue, it comes back. */
const ROLL_CALL_MS = 10_000;
const RETRY_MS = 1_000;
/** How long the queue may take to hear that this worker ends. */
const FAREWELL_MS = 5_000;

type BullMq = typeof import('bullmq');
type QueueHandle = ReturnType<typeof queueOf>;
type QueueWorker = ReturnType<typeof workerOf>;

export class AccountQueue {
  private readonly parts: AccountQueueParts;
  private readonly bull: BullMq;
  private readonly name: string;
  private readonly accounts: ReadonlyMap<string, string>;
  private queue: QueueHandle | undefined;
  private worker: QueueWorker | undefined;
  private timer: Timer | undefined;
  private closed = false;
  /** How often a queue was left and another one made. */
  private joined = 0;
  /** Undefined while the queue can be used; that it can is told at first as well. */
  private problem: string | undefined = 'not tried yet';

  private constructor(parts: AccountQueueParts, bull: BullMq) {
    this.parts = parts;
    this.bull = bull;
    this.accounts = new Map(parts.accounts.map((account) => [digest(account), account]));
    this.name = `seats-${digest([...parts.accounts].sort().join('\n'))}`;
  }

  /** Takes part from now on, and again whenever the database has been away. */
  static async join(parts: AccountQueueParts): Promise<AccountQueue> {
    // Of a module in the older system, a bundle gives the default alone.
    const { default: bull } = (await import('bullmq')) as unknown as { default: BullMq };
    const dispatch = new AccountQueue(parts, bull);
    void dispatch.callRoll();
    return dispatch;
  }

  /**
   * Tries for nothing more. Resolves when every account that is being tried for has been given up and handed back; false when
   * the queue could not be told, so that others notice by the lock alone. `givenUp`: when this worker serves none any more.
   */
  async close(givenUp: Promise<unknown>): Promise<boolean> {
    this.closed = true;
    this.timer?.cancel();
    const gone = Promise.all([this.worker?.close(), this.queue?.close()]).then(
      () => true,
      () => false,
    );
    await givenUp;
    let patience: Timer | undefined;
    const late = new Promise<boolean>((resolve) => {
      patience = this.parts.metronome.after(FAREWELL_MS, () => resolve(false));
    });
    return Promise.race([gone, late]).finally(() => patience?.cancel());
  }

  /** Sees to it that each account has its job, and that this worker waits for them. */
  private async callRoll(): Promise<void> {
    const { queue } = this;
    try {
      this.queue ??= await this.ready(queueOf(this.bull, this.name, this.parts.url));
      for (const [id] of this.accounts)
        await this.queue.add('seat', {}, { jobId: id, removeOnComplete: true, removeOnFail: true });
      this.worker ??= await this.ready(
        workerOf(this.bull, this.name, this.parts, (job, token) => this.process(job, token, this.joined)),
      );
      this.tell(undefined);
    } catch (error) {
      this.tell(sentenceOf(error));
      // They would look for what they found at first for ever, and make nothing that was dropped since.
      if (queue !== undefined && isDropped(error)) this.leave();
    }
    if (!this.closed)
      this.timer = this.parts.metronome.after(
        this.problem === undefined ? ROLL_CALL_MS : RETRY_MS,
        () => void this.callRoll(),
      );
  }

  /** Gives up the queue as it was found, for another to be made. What is served on the strength of it goes on. */
  private leave(): void {
    const { queue, worker } = this;
    this.joined += 1;
    this.queue = undefined;
    this.worker = undefined;
    for (const closing of [queue?.close(), worker?.close(true)]) void closing?.catch(() => {});
  }

  /** One that could not be readied is of no use any more: it remembers the refusal for good. */
  private async ready<T extends QueueHandle | QueueWorker>(opened: T): Promise<T> {
    const { joined } = this;
    (opened as Pick<QueueWorker, 'on'>).on('error', (error: Error) => {
      if (joined === this.joined) this.failed(error);
    });
    try {
      await opened.waitUntilReady();
      return opened;
    } catch (error) {
      void opened.close().catch(() => {});
      throw error;
    }
  }

  private async process(job: Job, token: string | undefined, joined: number): Promise<never> {
    const { DelayedError, WaitingError } = this.bull;
    const account = this.accounts.get(job.id ?? '');
    const pauseMs = account === undefined ? ROLL_CALL_MS : await this.parts.take(account);
    // Of a queue that was left meanwhile: the one after it has a job of its own for the account.
    if (joined !== this.joined) throw new WaitingError();
    try {
      if (pauseMs > 0) await job.moveToDelayed(Date.now() + pauseMs, token);
      else await job.moveToWait(token);
    } catch (error) {
      // Its lock has passed on, or the database is away: either way the job is found again without our word.
      this.failed(error);
    }
    throw pauseMs > 0 ? new DelayedError() : new WaitingError();
  }

  private failed(error: unknown): void {
    const message = sentenceOf(error);
    // Whoever has the job by now finds the lease held, and gives it back.
    if (!/could not renew lock|lock mismatch|not active/i.test(message)) this.tell(message);
  }

  private tell(problem: string | undefined): void {
    if (this.closed || problem === this.problem) return;
    this.problem = problem;
    this.parts.told(problem);
  }
}

function queueOf({ Queue, createPostgresBackend }: BullMq, name: string, url: string) {
  return new Queue(name, { connection: connectionOf(url, 1) }, createPostgresBackend);
}

function workerOf(
  { Worker, createPostgresBackend }: BullMq,
  name: string,
  { url, seats }: Pick<AccountQueueParts, 'url' | 'seats'>,
  process: (job: Job, token: string | undefined) => Promise<never>,
) {
  const options = {
    connection: connectionOf(url, 2),
    concurrency: seats,
    lockDuration: LOCK_MS,
    stalledInterval: STALLED_LOOK_MS,
    // A job is an account: however often its workers have died, somebody is to serve it.
    maxStalledCount: 1_000_000_000,
    runRetryDelay: RETRY_MS,
    drainDelay: 1,
  };
  return new Worker(name, process, options, createPostgresBackend);
}

function connectionOf(url: string, max: number) {
  return { connectionString: url, schema: SCHEMA, migrate: true, max };
}

/** SQLSTATE: a schema, a table or a function is not there. */
function isDropped(error: unknown): boolean {
  return ['3F000', '42P01', '42883'].includes(String((error as { readonly code?: unknown } | undefined)?.code));
}

/** Names that BullMQ accepts, whatever an account is called. */
function digest(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 32);
}

function sentenceOf(error: unknown): string {
  return error instanceof Error ? error.message || error.name : String(error);
}
