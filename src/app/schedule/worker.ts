/**
 * One of the workers of a PostgreSQL store: takes accounts from the queue, serves as many at a time as allowed, and releases
 * them when it is asked to stop. When a worker dies, the queue gives its accounts to another one, which serves them once the
 * lease has expired; the runs resume from their journals.
 *
 * The queue compares the machines' wall clocks, and people can break it. So a worker with free capacity also tries each account
 * from time to time without the queue: the lease decides in any case.
 */
import { SystemClock, type Timer } from '../../base/clock.ts';
import { makePrintable } from '../../base/printable.ts';
import { createSignal } from '../../engine/waiting.ts';
import { Redactor } from '../../gateway/live/redactor.ts';
import { listSecretVariables, loadSecrets, type Secret } from '../../gateway/live/secret.ts';
import { LEASE_LIFE_MS } from '../../journal/shared/shared.ts';
import { StoreError } from '../../journal/store.ts';
import { makeAccountKey } from '../account/account.ts';
import { EXIT, UserError } from '../errors.ts';
import type { ActingContext, EndProcess } from '../process.ts';
import { AccountQueue } from './account-queue.ts';
import type { AccountService, AccountServices, ServedAccount } from './account-service.ts';
import type { StopCause, WaitPolicy } from './standby.ts';

/** A little longer than the lease of a dead holder lasts: a living holder is not waited for. */
const WAIT_POLICY: WaitPolicy = { ms: LEASE_LIFE_MS + 5_000 };
/** Pause before an account that a living worker holds is tried again, ms. */
const HELD_MS = 15_000;
/** Pause after a failure to serve one, ms. */
const FAILED_MS = 5_000;
/** Interval for trying accounts that the queue has not given out, ms. */
const UNASSIGNED_MS = 30_000;

const CRASHED: StopCause = { by: 'an internal error', exit: EXIT.failed };

/** Time to write the crash report into the state folder, ms. */
const REPORT_MS = 1_000;

interface Serving {
  readonly ended: Promise<number>;
  readonly service: AccountService;
}

export class Worker {
  private readonly services: AccountServices;
  private readonly maxAccounts: number;
  private readonly endProcess: EndProcess;
  private readonly url: Secret;
  private readonly clock = new SystemClock();
  private readonly serving = new Map<ServedAccount, Serving>();
  private readonly problems = new Map<string, string>();
  private queue: AccountQueue | undefined;
  private stopCause: StopCause | undefined;
  private timer: Timer | undefined;
  private queueProblem: string | undefined;
  private readonly crashed = createSignal<{ readonly error: unknown }>();

  /** `maxAccounts`: accounts at a time. Throws a UserError when the accounts are not in one store. */
  constructor(
    services: AccountServices,
    maxAccounts: number,
    { environment, endProcess }: Pick<ActingContext, 'environment' | 'endProcess'>,
  ) {
    this.services = services;
    this.maxAccounts = maxAccounts;
    this.endProcess = endProcess;
    const urls = services.plans.map(({ profile }) => {
      const variables = Object.fromEntries(
        listSecretVariables(profile).map((name) => [name, environment.variable(name)]),
      );
      // Checked here, once: later a worker with a correct configuration waits for a store that is away.
      const { secrets, all, problems } = loadSecrets(profile, variables);
      if (problems.length > 0 || secrets.postgres === undefined)
        throw new UserError(problems.map((each) => makePrintable(each, 400)).join('\n'), EXIT.usage, 'configuration');
      const redactor = new Redactor(all);
      services.log.redactWith(`${makeAccountKey(profile)} store`, (text) => redactor.redact(text));
      return secrets.postgres;
    });
    const [url] = urls as [Secret];
    if (urls.some((other) => other.reveal() !== url.reveal()))
      throw new UserError('the accounts of one worker share one store, but their profiles name different databases');
    this.url = url;
  }

  /** Serves until it is stopped. After an internal error it releases every account, and rejects. */
  async serve(stopAsked: Promise<StopCause>): Promise<StopCause> {
    const { plans, log } = this.services;
    this.queue = await AccountQueue.join({
      url: this.url.reveal(),
      accounts: plans.map(({ profile }) => makeAccountKey(profile)),
      maxAccounts: this.maxAccounts,
      serveAccount: (account) =>
        this.takeAccount(
          plans.find(({ profile }) => makeAccountKey(profile) === account) as ServedAccount,
          WAIT_POLICY,
        ),
      onProblem: (problem) => {
        this.queueProblem = problem;
        if (problem === undefined) log.write('info', 'queue_joined', 'the queue of accounts can be used');
        else
          log.write(
            'warn',
            'queue_failed',
            `the queue of accounts cannot be used: ${makePrintable(problem, 300)}. Accounts that are served stay served; the queue is tried again, and free accounts are tried twice a minute without it`,
          );
      },
      metronome: this.clock,
    });
    this.tryUnassigned();
    const ending = await Promise.race([stopAsked, this.crashed.promise]);
    const cause = 'error' in ending ? CRASHED : ending;
    this.stopCause = cause;
    this.timer?.cancel();
    for (const { service } of this.serving.values()) service.stop(cause);
    const released = Promise.all([...this.serving.values()].map(({ ended }) => ended));
    const clean = await this.queue.close(released);
    // A wait for an unreachable database would keep the process from ending; an internal error is reported first.
    if ('error' in ending) {
      if (!clean) this.clock.after(REPORT_MS, () => this.endProcess(cause.exit));
      throw ending.error;
    }
    if (!clean) this.endProcess(cause.exit);
    return cause;
  }

  /** Why this worker would not serve an account given to it; undefined while it would. */
  findObstacle(): string | undefined {
    if (this.stopCause !== undefined) return 'stopping';
    if (this.queueProblem !== undefined && this.serving.size === 0) return 'the queue of accounts cannot be used';
    const [failed] = this.problems;
    return failed && `${failed[0]} cannot be served: ${makePrintable(failed[1], 300)}`;
  }

  /** Serves an account; resolves to the pause before the next attempt by any worker, ms. */
  private takeAccount(plan: ServedAccount, policy: WaitPolicy): Promise<number> {
    const current = this.serving.get(plan);
    // The queue gave the account to the worker that serves it, after that one had lost the lock on its job.
    if (current !== undefined) return current.ended;
    if (this.stopCause !== undefined) return Promise.resolve(0);
    if (this.serving.size >= this.maxAccounts) return Promise.resolve(FAILED_MS);
    let ended: Promise<number> = Promise.resolve(0);
    this.services
      .open(plan, (service) => {
        const serving = service.serve(policy);
        ended = this.waitForEnd(plan, serving).finally(() => this.serving.delete(plan));
        this.serving.set(plan, { service, ended });
        return serving;
      })
      .catch(() => {});
    return ended;
  }

  private async waitForEnd(plan: ServedAccount, serving: ReturnType<AccountService['serve']>): Promise<number> {
    try {
      const end = await serving;
      this.problems.delete(plan.name);
      if (end.kind === 'taken') return HELD_MS;
      return end.exit === EXIT.halted ? FAILED_MS : 0;
    } catch (error) {
      if (error instanceof UserError || error instanceof StoreError) this.reportFailure(plan, error.message);
      else this.crashed.resolve({ error });
      return FAILED_MS;
    }
  }

  /** Reports a problem once. */
  private reportFailure({ profile, name }: ServedAccount, problem: string): void {
    if (this.problems.get(name) === problem) return;
    this.problems.set(name, problem);
    this.services.log
      .forAccount(name)
      .write(
        'error',
        'account_failed',
        `the account ${profile.account} cannot be served: ${makePrintable(problem, 500)}`,
      );
  }

  private tryUnassigned(): void {
    this.timer = this.clock.after(UNASSIGNED_MS, () => {
      for (const plan of this.services.plans) if (!this.serving.has(plan)) void this.takeAccount(plan, { ms: 0 });
      this.tryUnassigned();
    });
  }
}
