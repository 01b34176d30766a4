/**
 * A live run in this process: the assembly of a live account with the simulated venue behind it, in virtual time, and a store that
 * can be taken away. What a process needs besides (terminal, signals, sockets) is left out.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Account } from '../../src/app/account/account.ts';
import { LateOrders } from '../../src/app/reconciliation/late-orders.ts';
import type { VenueComparison } from '../../src/app/reconciliation/venue-comparison.ts';
import { LiveRun } from '../../src/app/run/live-run.ts';
import { replayRun } from '../../src/app/run/virtual-run.ts';
import { SILENT } from '../../src/app/voice.ts';
import { VirtualClock } from '../../src/base/clock.ts';
import { ClockAgreement } from '../../src/engine/schedule/clock-agreement.ts';
import { CancelAllBarrier } from '../../src/gateway/cancel-all-barrier.ts';
import { AccountLedger } from '../../src/gateway/limits/account-ledger.ts';
import { Redactor } from '../../src/gateway/live/redactor.ts';
import { Simulator } from '../../src/gateway/simulator/simulator.ts';
import { LocalBudget } from '../../src/gateway/tokens/budget.ts';
import type { Transport } from '../../src/gateway/transport.ts';
import type { Entry } from '../../src/journal/entry.ts';
import { readLines } from '../../src/journal/reading.ts';
import { takeLease } from '../../src/journal/shared/lease.ts';
import { openSharedMemory } from '../../src/journal/shared/memory.ts';
import { buildUnreadableKill, type Shared } from '../../src/journal/shared/shared.ts';
import { StoreAway } from '../../src/journal/store.ts';
import { MemoryStore } from '../../src/journal/stores/memory.ts';
import { SIMULATED_PROFILE } from '../../src/venue/profile/profile.ts';
import { budgetSettings } from '../../src/venue/tokens/ledger.ts';
import { loadedFrom, START } from '../engine/stage.ts';

/** The parts of a store. */
export type Part = 'journal' | 'leases' | 'kill switch' | 'commands' | 'token ledger';

export interface Outage {
  /** ms after the start. */
  readonly from: number;
  readonly ms: number;
  /** How long a statement hangs before it fails, ms. */
  readonly hangsMs?: number;
  /** What does not answer; everything where it is absent. */
  readonly only?: Part;
  /** The first append of the outage was stored, although its answer was lost. */
  readonly keepsFirst?: boolean;
}

export interface Played {
  readonly outcome: string;
  readonly reason: string | undefined;
  readonly entries: readonly Entry[];
  readonly orders: readonly { readonly status: string }[];
  /** What the venue got, with its ms after the start. */
  readonly heard: readonly { readonly at: number; readonly what: string }[];
  /** What the venue's deadman switch did. */
  readonly fired: boolean;
  readonly said: readonly string[];
}

const KEY = 'account';

/** A run that is left to be resumed: what became of it until then. */
export type LeftRun = { readonly endedAt: number } & Pick<Played, 'orders' | 'heard' | 'fired'>;

/** Plays one live run from its start to its end, and replays its journal. Rejects with a LeftRun where it is left to be resumed. */
export async function playLive(text: string, outage: Outage): Promise<Played> {
  const loaded = loadedFrom({ file: 'one.yaml', text });
  const folder = mkdtempSync(join(tmpdir(), 'runbook-bench-'));
  const clock = new VirtualClock(START);
  const simulator = new Simulator({}, clock, 1);
  const profile = { ...SIMULATED_PROFILE, account: 'main', markets: simulator.markets };
  const isAway = (part: Part) =>
    (outage.only ?? part) === part && clock.elapsed() >= outage.from && clock.elapsed() < outage.from + outage.ms;
  const fail = async () => {
    if (outage.hangsMs !== undefined) await new Promise<void>((done) => void clock.after(outage.hangsMs ?? 0, done));
    return new StoreAway('the store cannot be reached');
  };
  const reach = async <T>(part: Part, work: () => Promise<T>): Promise<T> => {
    if (isAway(part)) throw await fail();
    return work();
  };
  const store = new MemoryStore();
  const append = store.append.bind(store);
  let keeps = outage.keepsFirst === true;
  store.append = async (entries, options) => {
    if (isAway('journal') && keeps) {
      keeps = false;
      await append(entries, options);
    }
    return reach('journal', () => append(entries, options));
  };
  const read = store.read.bind(store);
  store.read = (run, range) => reach('journal', () => read(run, range));
  const memory = openSharedMemory(() => clock.monotonic());
  const { leases, killSwitch, mailbox, ledgers } = memory;
  const shared: Shared = {
    ledgers: { change: (key, work) => reach('token ledger', () => ledgers.change(key, work)) },
    leases: {
      ofThisMachine: false,
      acquire: (account, holder) => reach('leases', () => leases.acquire(account, holder)),
      renew: (account, epoch) => reach('leases', () => leases.renew(account, epoch)),
      release: (account, epoch) => reach('leases', () => leases.release(account, epoch)),
      holder: (account) => reach('leases', () => leases.holder(account)),
    },
    killSwitch: {
      ...killSwitch,
      engaged: async (account) =>
        isAway('kill switch') ? buildUnreadableKill(account, await fail()) : killSwitch.engaged(account),
    },
    mailbox: {
      post: (message) => mailbox.post(message),
      pending: (run) => reach('commands', () => mailbox.pending(run)),
      acknowledge: (run, sequence) => reach('commands', () => mailbox.acknowledge(run, sequence)),
    },
    close: async () => {},
  };
  const heard: { at: number; what: string }[] = [];
  const venue = simulator.transport();
  const transport: Transport = {
    ...venue,
    async send(request, options) {
      const at = clock.elapsed();
      const reply = await venue.send(request, options);
      // What the last gate held back did not leave.
      const wasHeld = reply.kind === 'failure' && reply.held === true;
      if (!wasHeld) heard.push({ at, what: `${request.method} ${request.path}` });
      return reply;
    },
  };
  const { tokens, windowMs, costs } = profile.rateLimit;
  const account = {
    profile,
    clock: Object.assign(clock, { onWallMoved: () => () => {} }),
    store,
    place: { kind: 'sqlite', file: join(folder, 'runbook.db') },
    folder,
    shared,
    budget: new LocalBudget(budgetSettings({ tokens, windowMs }), clock, costs, {
      random: () => 0.5,
      share: { rows: shared.ledgers, key: 'address', owner: 'bench' },
    }),
    barrier: new CancelAllBarrier(),
    session: { failing: false, ready: async () => true, renew: async () => true },
    transport,
    clocks: new ClockAgreement(),
    redactor: new Redactor([]),
    secrets: { webhooks: {}, anchorAddresses: {} },
    key: KEY,
    watchSession: () => () => {},
    limitWaits: () => {},
  } as unknown as Account;
  const said: string[] = [];
  const voice = {
    ...SILENT,
    note: (line: string) => void said.push(line),
    complain: (line: string) => void said.push(line),
  };
  const lost = () => said.push('LEASE LOST');
  try {
    const lease = await takeLease({
      leases: shared.leases,
      account: KEY,
      holder: 'bench',
      clock,
      metronome: clock,
      onLost: lost,
    });
    if (lease.kind !== 'held') throw new Error('the lease is taken');
    const lateOrders = new LateOrders(store, 'main');
    const comparison = {
      begin: async () => {},
      compare: async () => ({ kind: 'agrees' }),
    } as unknown as VenueComparison;
    const onCrash = (error: unknown) => void said.push(String(error));
    const ledger = new AccountLedger();
    const host = {
      account,
      lease,
      voice,
      gates: new Set<never>(),
      accountId: '7',
      lateOrders,
      ledger,
      comparison,
      onCrash,
    };
    const live = new LiveRun(host, 'bench');
    const result = await clock.runUntil(
      (async () => {
        await live.begin(loaded, {}, { trigger: 'manual' });
        return live.waitForEnd();
      })(),
    );
    const entries = [...readLines(await read('bench'))];
    await replayRun(entries, loaded, {});
    const books = simulator.books();
    return {
      outcome: result.outcome,
      reason: result.reason,
      entries,
      orders: books.orders,
      heard,
      fired: books.deadman.events.some(({ event }) => event === 'fired'),
      said,
    };
  } catch (error) {
    const { orders, deadman } = simulator.books();
    const fired = deadman.events.some(({ event }) => event === 'fired');
    throw Object.assign(error as Error, { endedAt: clock.elapsed(), orders, heard, fired } satisfies LeftRun);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
