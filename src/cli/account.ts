/**
 * One account of a live venue, opened: its store, what it shares with other processes, its session and its road. Made for a
 * run, for `kill` and for `doctor` alike; closing gives everything back. No secret leaves it in any text.
 */
import { mkdirSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { SystemClock } from '../base/clock.ts';
import { printable } from '../base/printable.ts';
import { LocalBudget } from '../gateway/budget.ts';
import { openLive } from '../gateway/live.ts';
import { Redactor } from '../gateway/redactor.ts';
import { loadSecrets, type ProfileSecrets, secretVariables } from '../gateway/secret.ts';
import { VenueSession } from '../gateway/session.ts';
import { tokenStoreFor } from '../gateway/token-store.ts';
import type { Transport } from '../gateway/transport.ts';
import { ledgerKey, type Shared } from '../journal/shared.ts';
import { openSharedSqlite } from '../journal/shared-sqlite.ts';
import { openSqliteStore } from '../journal/sqlite-store.ts';
import { type JournalStore, StoreError } from '../journal/store.ts';
import { budgetSettings } from '../venue/budget.ts';
import type { Profile } from '../venue/profile.ts';
import type { Environment } from './environment.ts';
import { EXIT, Refusal } from './exit.ts';
import type { Voice } from './terminal.ts';
import type { Invocation } from './verb.ts';

export interface Account {
  readonly profile: Profile;
  readonly clock: SystemClock;
  readonly store: JournalStore;
  /** The journal's file; leases, kill switch and anchors lie beside it. */
  readonly storeFile: string;
  readonly shared: Shared;
  readonly budget: LocalBudget;
  readonly session: VenueSession;
  /** Every answer has passed the filter for secrets. */
  readonly transport: Transport;
  readonly redactor: Redactor;
  readonly secrets: ProfileSecrets;
  /** The name of leases and kill orders: an account is only itself at its venue. */
  readonly key: string;
  close(): Promise<void>;
}

export function accountKey(profile: Profile): string {
  return `${profile.baseUrl} ${profile.account}`;
}

/** The file of a profile's store; the state folder's journal where the profile names none. */
export function storeFileOf(profile: Profile, { state }: Pick<Invocation, 'state'>): string {
  const { store } = profile;
  if (store === undefined) return state.file('runbook.db');
  if ('postgres' in store) {
    throw new Refusal(
      'store: postgres serves the scheduler on several machines; here a profile needs store: {sqlite: FILE}',
      EXIT.usage,
      'configuration',
    );
  }
  mkdirSync(dirname(store.sqlite), { recursive: true, mode: 0o700 });
  return store.sqlite;
}

/** Opens what the processes of a store share: leases, kill switch and mailbox beside the journal, token ledgers and the guard of each account of the user. */
export async function openShared(storeFile: string, environment: Environment): Promise<Shared> {
  return sentence(() =>
    openSharedSqlite({
      file: join(dirname(storeFile), 'shared.db'),
      ledgerFile: userFile('tokens.db', environment),
      accountsFile: userFile('accounts.db', environment),
    }),
  );
}

export async function openStore(storeFile: string): Promise<JournalStore> {
  return sentence(() => openSqliteStore(storeFile));
}

/**
 * The user's own state folder: an address has one token limit, and an account one process, whichever project they are used
 * from (interface.md, settled points).
 */
function userFile(name: string, environment: Environment): string {
  const home = environment.variable('HOME') ?? homedir();
  const folder = join(environment.variable('XDG_STATE_HOME') ?? join(home, '.local', 'state'), 'perp-runbook');
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  return join(folder, name);
}

/** Opens an account. Refuses with exit 2 what is wrong with the configuration, before anything is sent. */
export async function openAccount(
  profile: Profile,
  invocation: Pick<Invocation, 'state' | 'environment'> & { readonly terminal: Pick<Voice, 'complain'> },
): Promise<Account> {
  const { environment, terminal } = invocation;
  const variables = variablesFor(profile, environment);
  const { secrets, all, problems } = loadSecrets(profile, variables);
  if (problems.length > 0)
    throw new Refusal(problems.map((each) => printable(each, 400)).join('\n'), EXIT.usage, 'configuration');
  for (const name of secretVariables(profile)) environment.forget(name);
  const redactor = new Redactor(all);
  const clock = new SystemClock();
  const live = openLive({ profile, clock, variables });
  if ('problem' in live) throw new Refusal(live.problem, EXIT.usage, 'configuration');
  const storeFile = storeFileOf(profile, invocation);
  const store = await openStore(storeFile);
  const shared = await openShared(storeFile, environment);
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
      share: {
        rows: shared.ledgers,
        key: ledgerKey(profile.baseUrl, sharedAs),
        owner: `${process.pid}.${clock.now()}`,
      },
    },
  );
  const tokenStore = tokenStoreFor(
    profile,
    secrets.refreshToken,
    join(dirname(storeFile), `refresh-token.${profile.name}`),
  );
  const session = new VenueSession({
    profile,
    secrets,
    transport: live.transport,
    budget,
    clock,
    obtained: (secret) => redactor.add(secret),
    alarm: (message) => terminal.complain(printable(message)),
    ...(tokenStore === undefined ? {} : { store: tokenStore }),
  });
  return {
    profile,
    clock,
    store,
    storeFile,
    shared,
    budget,
    session,
    transport: redacting(session, redactor),
    redactor,
    secrets,
    key: accountKey(profile),
    async close() {
      await session.close();
      await shared.close();
      await store.close();
    },
  };
}

/** A venue that sends our own token back must not get it into the journal. */
function redacting(inner: Transport, redactor: Redactor): Transport {
  return {
    async send(request, options) {
      const reply = await inner.send(request, options);
      return reply.kind === 'answer'
        ? { ...reply, body: redactor.redact(reply.body) }
        : { ...reply, message: redactor.redact(reply.message) };
    },
  };
}

/** The variables a profile refers to, and the one that would weaken TLS; nothing else of the environment is looked at. */
function variablesFor(profile: Profile, environment: Environment): Readonly<Record<string, string | undefined>> {
  const names = [...secretVariables(profile), 'NODE_TLS_REJECT_UNAUTHORIZED'];
  return Object.fromEntries(names.map((name) => [name, environment.variable(name)]));
}

async function sentence<T>(open: () => Promise<T>): Promise<T> {
  try {
    return await open();
  } catch (error) {
    if (error instanceof StoreError) throw new Refusal(printable(error.message), EXIT.usage, 'configuration');
    throw error;
  }
}
