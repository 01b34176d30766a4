/**
 * Hosts live runs in virtual time: several runs of one account in one process, as the scheduler has them, at the simulated venue.
 * Composed as in the program, with its store and its shared records in memory.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Account } from '../../src/app/account/account.ts';
import { openLedger } from '../../src/app/account/ledger.ts';
import { LateOrders } from '../../src/app/reconciliation/late-orders.ts';
import { VenueComparison } from '../../src/app/reconciliation/venue-comparison.ts';
import type { LiveHost } from '../../src/app/run/live-assembly.ts';
import { LiveRun } from '../../src/app/run/live-run.ts';
import { SILENT } from '../../src/app/voice.ts';
import { VirtualClock } from '../../src/base/clock.ts';
import { ClockAgreement } from '../../src/engine/schedule/clock-agreement.ts';
import { CancelAllBarrier } from '../../src/gateway/cancel-all-barrier.ts';
import { Redactor } from '../../src/gateway/live/redactor.ts';
import { type Books, Simulator, type SimulatorConfig } from '../../src/gateway/simulator/simulator.ts';
import { LocalBudget } from '../../src/gateway/tokens/budget.ts';
import type { Transport } from '../../src/gateway/transport.ts';
import type { Entry } from '../../src/journal/entry.ts';
import { readLines } from '../../src/journal/reading.ts';
import { openSharedMemory } from '../../src/journal/shared/memory.ts';
import type { Shared } from '../../src/journal/shared/shared.ts';
import type { JournalStore } from '../../src/journal/store.ts';
import { MemoryStore } from '../../src/journal/stores/memory.ts';
import type { LimitRules } from '../../src/venue/limits/check.ts';
import { type Profile, SIMULATED_PROFILE } from '../../src/venue/profile/profile.ts';
import { budgetSettings } from '../../src/venue/tokens/ledger.ts';
import { loadedFrom, START } from '../engine/stage.ts';

export const KEY = 'https://venue.test main';

export interface Hosted {
  readonly config: SimulatorConfig;
  readonly limits?: LimitRules;
  /** Other settings of the profile. */
  readonly profile?: Partial<Profile>;
  /** Wraps the venue's transport: may delay answers. */
  readonly between?: (venue: Transport, time: VirtualClock) => Transport;
}

/** A venue, with a store that outlives the processes that act for the account. */
export class World {
  readonly time = new VirtualClock(START);
  readonly store = new MemoryStore();
  readonly shared: Shared;
  /** Called before a journal is read, or written: may delay that, or throw. */
  beforeRead: (run: string) => Promise<void> = async () => {};
  beforeAppend: () => Promise<void> = async () => {};
  private readonly simulator: Simulator;
  private readonly given: Hosted;
  private readonly folder = mkdtempSync(join(tmpdir(), 'runbook-host-'));
  private epoch = 0;

  constructor(given: Hosted) {
    this.given = given;
    this.simulator = new Simulator(given.config, this.time, 1);
    this.shared = openSharedMemory(() => this.time.monotonic());
  }

  get books(): Books {
    return this.simulator.books();
  }

  /** What the parts of a process share. `over`: other parts of its account. */
  async openProcess(over: Partial<Account> = {}): Promise<Process> {
    const { time, given, simulator, shared, folder } = this;
    const isDead = { yes: false };
    const store = this.wrapStore(isDead);
    const profile: Profile = {
      ...SIMULATED_PROFILE,
      account: 'main',
      baseUrl: 'https://venue.test',
      markets: simulator.markets,
      limits: given.limits ?? {},
      ...given.profile,
    };
    const { tokens, windowMs, costs } = profile.rateLimit;
    const account = {
      profile,
      clock: Object.assign(time, { onWallMoved: () => () => {} }),
      store,
      place: { kind: 'sqlite', file: join(folder, 'runbook.db') },
      folder,
      shared,
      requireOwnFolders: () => {},
      readElsewhere: async () => undefined,
      readArchives: async () => undefined,
      openAccountJournal: async () => this.store.accountJournal,
      budget: new LocalBudget(budgetSettings({ tokens, windowMs }), time, costs, { random: () => 0.5 }),
      barrier: new CancelAllBarrier(),
      session: { ready: async () => true, renew: async () => true, failing: false },
      transport: given.between?.(simulator.transport(), time) ?? simulator.transport(),
      clocks: new ClockAgreement(),
      redactor: new Redactor([]),
      secrets: { webhooks: {}, anchorAddresses: {} },
      key: KEY,
      watchSession: () => () => {},
      limitWaits: () => {},
      ...over,
    } as unknown as Account;
    this.epoch += 1;
    const lease = { epoch: this.epoch, holds: async () => !isDead.yes } as unknown as LiveHost['lease'];
    const host: LiveHost = {
      account,
      lease,
      voice: SILENT,
      gates: new Set(),
      accountId: undefined,
      lateOrders: new LateOrders(account.store, profile.account),
      ledger: await openLedger({ store: account.store, name: profile.account, key: KEY }),
      comparison: new VenueComparison(account),
      onCrash: (error) => {
        throw error;
      },
    };
    return new Process(host, isDead);
  }

  /** The store as a process has it: it gets nothing more when the process is dead. */
  private wrapStore(isDead: { readonly yes: boolean }): JournalStore {
    return new Proxy<JournalStore>(this.store, {
      get: (target, name) => {
        const value = Reflect.get(target, name) as unknown;
        if (typeof value !== 'function') return value;
        return async (...args: unknown[]) => {
          if (name === 'read') await this.beforeRead(String(args[0]));
          if (name === 'append') await this.beforeAppend();
          if (isDead.yes) return new Promise(() => {});
          return value.apply(target, args) as unknown;
        };
      },
    });
  }

  async entries(run: string): Promise<readonly Entry[]> {
    return [...readLines(await this.store.read(run))];
  }

  close(): void {
    rmSync(this.folder, { recursive: true, force: true });
  }
}

export class Process {
  readonly host: LiveHost;
  private readonly isDead: { yes: boolean };

  constructor(host: LiveHost, isDead: { yes: boolean }) {
    this.host = host;
    this.isDead = isDead;
  }

  live(run: string): LiveRun {
    return new LiveRun(this.host, run);
  }

  async begin(run: string, text: string): Promise<LiveRun> {
    const live = this.live(run);
    await live.begin(loadedFrom({ file: `${run}.yaml`, text }), {}, { trigger: 'manual' });
    return live;
  }

  /** It sends nothing any more. */
  die(): void {
    this.isDead.yes = true;
  }
}
