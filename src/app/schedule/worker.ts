/**
 * The workers of one PostgreSQL store, as one of them sees it: it tries for accounts as the queue gives them out, serves as
 * many at a time as it has seats for, and hands them back when it is asked to stop. An account whose worker has died is tried
 * for as soon as the queue notices, and served once its lease has run out; its runs go on from their journals.
 *
 * The queue compares the machines' clocks on the wall, and can be broken by a person. So whoever has a seat left also tries
 * for each account from time to time without being told to: the lease decides, as ever.
 */
import { SystemClock, type Timer } from '../../base/clock.ts';
import { printable } from '../../base/printable.ts';
import { Redactor } from '../../gateway/live/redactor.ts';
import { loadSecrets, type Secret, secretVariables } from '../../gateway/live/secret.ts';
import { LEASE_LIFE_MS } from '../../journal/shared/shared.ts';
import { StoreError } from '../../journal/store.ts';
import { accountKey } from '../account/account.ts';
import { EXIT, UserError } from '../errors.ts';
import type { ActingContext, EndProcess } from '../process.ts';
import { AccountQueue } from './account-queue.ts';
import type { AccountService, AccountServices, Patience, ServedAccount, StopCause } from './account-service.ts';

/** As long as a lease lives whose holder has died, and a little: a living holder is not waited for. */
const PATIENCE: Patience = { ms: LEASE_LIFE_MS + 5_000 };
/** An account that a living worker holds is tried for again after this, ms. */
const HELD_MS = 15_000;
/** One that could not be served, after this. */
const FAILED_MS = 5_000;
/** How often an account is tried for that the queue has not given out. */
const UNTOLD_MS = 30_000;

const CRASHED: StopCause = { by: 'a mistake of the program', exit: EXIT.failed };

/** Long enough to write a report into the state folder. */
const REPORT_MS = 1_000;

interface Sitting {
  readonly ended: Promise<number>;
  readonly seat: AccountService;
}

export class Worker {
  private readonly seats: AccountServices;
  private readonly room: number;
  private readonly endProcess: EndProcess;
  private readonly url: Secret;
  private readonly clock = new SystemClock();
  private readonly sittings = new Map<ServedAccount, Sitting>();
  private readonly problems = new Map<string, string>();
  private dispatch: AccountQueue | undefined;
  private stopCause: StopCause | undefined;
  private timer: Timer | undefined;
  private queueProblem: string | undefined;
  private crash: (error: unknown) => void = () => {};
  private readonly crashed: Promise<{ readonly error: unknown }>;

  /** `room`: accounts at a time. Throws a UserError when the accounts do not lie in one store. */
  constructor(
    seats: AccountServices,
    room: number,
    { environment, endProcess }: Pick<ActingContext, 'environment' | 'endProcess'>,
  ) {
    this.seats = seats;
    this.room = room;
    this.endProcess = endProcess;
    const urls = seats.plans.map(({ profile }) => {
      const variables = Object.fromEntries(secretVariables(profile).map((name) => [name, environment.variable(name)]));
      // Said here, where it is read: later a worker that has everything it needs waits for whatever is away.
      const { secrets, all, problems } = loadSecrets(profile, variables);
      if (problems.length > 0 || secrets.postgres === undefined)
        throw new UserError(problems.map((each) => printable(each, 400)).join('\n'), EXIT.usage, 'configuration');
      const redactor = new Redactor(all);
      seats.log.redactWith(`${accountKey(profile)} store`, (text) => redactor.redact(text));
      return secrets.postgres;
    });
    const [url] = urls as [Secret];
    if (urls.some((other) => other.reveal() !== url.reveal()))
      throw new UserError('the accounts of one worker share one store: their profiles name different databases');
    this.url = url;
    this.crashed = new Promise((resolve) => {
      this.crash = (error) => resolve({ error });
    });
  }

  /** Takes part until it is stopped; for a mistake of our own it gives every seat up as well, and rejects. */
  async serve(stopAsked: Promise<StopCause>): Promise<StopCause> {
    const { plans, log } = this.seats;
    this.dispatch = await AccountQueue.join({
      url: this.url.reveal(),
      accounts: plans.map(({ profile }) => accountKey(profile)),
      seats: this.room,
      take: (account) =>
        this.take(plans.find(({ profile }) => accountKey(profile) === account) as ServedAccount, PATIENCE),
      told: (problem) => {
        this.queueProblem = problem;
        if (problem === undefined) log.tell('info', 'queue_joined', 'the queue of accounts can be used');
        else
          log.tell(
            'warn',
            'queue_failed',
            `the queue of accounts cannot be used: ${printable(problem, 300)}. Nobody loses a seat by it; it is tried again, and accounts twice a minute without it`,
          );
      },
      metronome: this.clock,
    });
    this.tryUntold();
    const ending = await Promise.race([stopAsked, this.crashed]);
    const cause = 'error' in ending ? CRASHED : ending;
    this.stopCause = cause;
    this.timer?.cancel();
    for (const { seat } of this.sittings.values()) seat.stop(cause);
    const givenUp = Promise.all([...this.sittings.values()].map(({ ended }) => ended));
    const clean = await this.dispatch.close(givenUp);
    // What waits for a database that is away would keep the process from ending; a mistake is told before.
    if ('error' in ending) {
      if (!clean) this.clock.after(REPORT_MS, () => this.endProcess(cause.exit));
      throw ending.error;
    }
    if (!clean) this.endProcess(cause.exit);
    return cause;
  }

  /** Why this worker would not serve an account that it was to; undefined while it would. */
  obstacle(): string | undefined {
    if (this.stopCause !== undefined) return 'stopping';
    if (this.queueProblem !== undefined && this.sittings.size === 0) return 'the queue of accounts cannot be used';
    const [failed] = this.problems;
    return failed && `${failed[0]} cannot be served: ${printable(failed[1], 300)}`;
  }

  /** Serves an account; gives after how many ms somebody is to try for it again. */
  private take(plan: ServedAccount, patience: Patience): Promise<number> {
    const sitting = this.sittings.get(plan);
    // The queue has given the account to the worker that serves it, after it had lost the lock on its job.
    if (sitting !== undefined) return sitting.ended;
    if (this.stopCause !== undefined) return Promise.resolve(0);
    if (this.sittings.size >= this.room) return Promise.resolve(FAILED_MS);
    let ended: Promise<number> = Promise.resolve(0);
    this.seats
      .sit(plan, (seat) => {
        const serving = seat.serve(patience);
        ended = this.outcome(plan, serving).finally(() => this.sittings.delete(plan));
        this.sittings.set(plan, { seat, ended });
        return serving;
      })
      .catch(() => {});
    return ended;
  }

  private async outcome(plan: ServedAccount, serving: ReturnType<AccountService['serve']>): Promise<number> {
    try {
      const end = await serving;
      this.problems.delete(plan.name);
      if (end.kind === 'taken') return HELD_MS;
      return end.exit === EXIT.halted ? FAILED_MS : 0;
    } catch (error) {
      if (error instanceof UserError || error instanceof StoreError) this.tell(plan, error.message);
      else this.crash(error);
      return FAILED_MS;
    }
  }

  /** The same is told once. */
  private tell({ profile, name }: ServedAccount, problem: string): void {
    if (this.problems.get(name) === problem) return;
    this.problems.set(name, problem);
    this.seats.log
      .of(name)
      .tell('error', 'seat_failed', `the account ${profile.account} cannot be served: ${printable(problem, 500)}`);
  }

  private tryUntold(): void {
    this.timer = this.clock.after(UNTOLD_MS, () => {
      for (const plan of this.seats.plans) if (!this.sittings.has(plan)) void this.take(plan, { ms: 0 });
      this.tryUntold();
    });
  }
}
