/**
 * One account of a live venue, opened: its store, what it shares with other processes, its session and its road. Made for a
 * run, for `kill` and for `doctor` alike; closing gives everything back.
 */
import { mkdirSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { SystemClock } from '../base/clock.ts';
import { LocalBudget } from '../gateway/budget.ts';
import { liveTransport } from '../gateway/live.ts';
import { Redactor } from '../gateway/secret.ts';
import { openSession, type VenueSession } from '../gateway/session.ts';
import type { Transport } from '../gateway/transport.ts';
import { ledgerKey, type Shared } from '../journal/shared.ts';
import { openSharedSqlite } from '../journal/shared-sqlite.ts';
import { openSqliteStore } from '../journal/sqlite-store.ts';
import { type JournalStore, StoreError } from '../journal/store.ts';
import { budgetSettings } from '../venue/budget.ts';
import type { Profile } from '../venue/profile.ts';
import type { Environment } from './environment.ts';
import { EXIT, Refusal } from './exit.ts';
import type { Invocation } from './verb.ts';

export interface Account {
  readonly profile: Profile;
  readonly clock: SystemClock;
  readonly store: JournalStore;
  readonly shared: Shared;
  readonly budget: LocalBudget;
  readonly session: VenueSession;
  readonly transport: Transport;
  /** The names of leases, kill orders and ledgers: an account is only itself at its venue. */
  readonly key: string;
  close(): Promise<void>;
}

/** The file of a profile's store; the state folder's journal where the profile names none. */
export function storeFile(profile: Profile, { state }: Pick<Invocation, 'state'>): string {
  const { store } = profile;
  if (store === undefined) return state.file('runbook.db');
  if ('postgres' in store)
    throw new Refusal(
      'store: postgres is for the scheduler on several machines; a run by hand uses store: {sqlite: FILE}',
      EXIT.usage,
      'configuration',
    );
  mkdirSync(dirname(store.sqlite), { recursive: true, mode: 0o700 });
  return store.sqlite;
}

/** Beside the journal: leases, kill switch and mailbox of everyone who uses that store. */
export function sharedFile(journal: string): string {
  return join(dirname(journal), 'shared.db');
}

/** The user's own state folder: an address has one token limit whichever project sends from it (interface.md, settled points). */
export function ledgerFile(environment: Environment): string {
  const folder = join(
    environment.variable('XDG_STATE_HOME') ?? join(environment.variable('HOME') ?? homedir(), '.local', 'state'),
    'perp-runbook',
  );
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  return join(folder, 'tokens.db');
}

export async function openAccount(
  profile: Profile,
  invocation: Pick<Invocation, 'state' | 'environment' | 'terminal'>,
): Promise<Account> {
  const { environment, terminal } = invocation;
  if (environment.variable('NODE_TLS_REJECT_UNAUTHORIZED') === '0') {
    throw new Refusal(
      'NODE_TLS_REJECT_UNAUTHORIZED=0 turns certificate checks off; nothing is sent that way. Unset it.',
      EXIT.usage,
      'configuration',
    );
  }
  const clock = new SystemClock();
  const journal = storeFile(profile, invocation);
  const redactor = new Redactor();
  terminal.redactWith((text) => redactor.redact(text));
  const store = await opened(() => openSqliteStore(journal));
  const shared = await opened(() =>
    openSharedSqlite({ file: sharedFile(journal), ledgerFile: ledgerFile(environment) }),
  );
  const { tokens, windowMs, costs, sharedAs } = profile.rateLimit;
  const declared = Object.fromEntries(
    Object.values(profile.requests).map((request) => [`GET ${request.path}`, request.tokens]),
  );
  const budget = new LocalBudget(
    budgetSettings({ tokens, windowMs }),
    clock,
    { ...costs, ...declared },
    {
      random: Math.random,
      share: { rows: shared.ledgers, key: ledgerKey(profile.baseUrl, sharedAs), owner: `${process.pid}-${Date.now()}` },
    },
  );
  const session = await openSession({
    profile,
    clock,
    budget,
    redactor,
    variable: (name) => environment.variable(name),
  });
  const transport = await liveTransport({ profile, clock, session, redactor });
  return {
    profile,
    clock,
    store,
    shared,
    budget,
    session,
    transport,
    key: `${profile.baseUrl} ${profile.account}`,
    async close() {
      await transport.close?.();
      await shared.close();
      await store.close();
    },
  };
}

async function opened<T>(open: () => Promise<T>): Promise<T> {
  try {
    return await open();
  } catch (error) {
    if (error instanceof StoreError) throw new Refusal(error.message, EXIT.usage, 'configuration');
    throw error;
  }
}
