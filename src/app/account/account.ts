/**
 * Opens an account of a live venue: its store, what it shares with other processes, its session and its transport. Used by
 * runs, `kill` and `doctor`; closing releases everything. No text that leaves it contains a secret.
 */
import { join } from 'node:path';
import { SystemClock } from '../../base/clock.ts';
import { makePrintable } from '../../base/printable.ts';
import { ClockAgreement } from '../../engine/schedule/clock-agreement.ts';
import { CancelAllBarrier } from '../../gateway/cancel-all-barrier.ts';
import { Redactor, redactAnswers } from '../../gateway/live/redactor.ts';
import { listSecretVariables, loadSecrets, type ProfileSecrets } from '../../gateway/live/secret.ts';
import { VenueSession } from '../../gateway/live/session.ts';
import { chooseTokenStore } from '../../gateway/live/token-store.ts';
import { openLive } from '../../gateway/live/transport.ts';
import { LocalBudget } from '../../gateway/tokens/budget.ts';
import type { Transport } from '../../gateway/transport.ts';
import type { AccountJournal } from '../../journal/account/acts.ts';
import type { DataOf } from '../../journal/entry.ts';
import type { ScheduleStore } from '../../journal/schedule/store.ts';
import { buildLedgerKey, type Shared } from '../../journal/shared/shared.ts';
import type { JournalReader, JournalStore } from '../../journal/store.ts';
import { composeAccountKey } from '../../venue/profile/base-url.ts';
import type { Profile } from '../../venue/profile/profile.ts';
import { budgetSettings } from '../../venue/tokens/ledger.ts';
import type { AppContext } from '../context.ts';
import type { Environment } from '../environment.ts';
import { EXIT, UserError } from '../errors.ts';
import { ShutdownDeadline } from '../shutdown.ts';
import { rememberStore } from '../stores/known-stores.ts';
import {
  accessStore,
  chooseStorePlace,
  convertStoreErrors,
  locateFolder,
  makeVolatileStore,
  requireOwnFolders,
  type StorePlace,
} from '../stores/location.ts';
import { withPendingKills } from '../stores/pending-kills.ts';
import { withArchives, withJournal } from '../stores/review.ts';
import type { Voice } from '../voice.ts';
import { watchStorePlace } from './store-place.ts';

export interface Account {
  readonly profile: Profile;
  readonly clock: SystemClock;
  readonly store: JournalStore;
  /** Where the store is. */
  readonly place: StorePlace;
  /** Folder of the files beside the journal: anchors, refreshed tokens. */
  readonly folder: string;
  readonly shared: Shared;
  /** Reads every journal and archive that the state folder knows as one; undefined where there are none. */
  readElsewhere<T>(read: (reader: JournalReader) => Promise<T>): Promise<T | undefined>;
  /** The same of the archives alone: what another store has is not in this account's ledger. */
  readArchives<T>(read: (reader: JournalReader) => Promise<T>): Promise<T | undefined>;
  /** Throws a UserError (exit 2) where others can write to a folder with its leases and kill orders. */
  requireOwnFolders(): void;
  /** Opens the schedule store in the same database; the caller closes it. */
  openScheduleStore(): Promise<ScheduleStore>;
  /** Opens what people decided about the account, in the same database; the caller closes it. */
  openAccountJournal(): Promise<AccountJournal>;
  readonly budget: LocalBudget;
  /** Shared by all runs of this process; closed while one of them cancels all orders. */
  readonly barrier: CancelAllBarrier;
  readonly session: VenueSession;
  /** Redacts secrets from every answer. */
  readonly transport: Transport;
  /** This machine's clock beside the venue's, of which every answer says the time. */
  readonly clocks: ClockAgreement;
  readonly redactor: Redactor;
  readonly secrets: ProfileSecrets;
  /** Key of leases and kill orders: an account name is unique only within its venue. */
  readonly key: string;
  /** How long this process may take to release everything after a signal; `close` ends it. */
  readonly shutdown: ShutdownDeadline;
  /** Calls the listener when the session is requested, renewed or fails, until the returned function is called. */
  watchSession(listener: (moved: DataOf<'session.moved'>) => void): () => void;
  /**
   * Calls the listener with a message once a file of the journal, the leases or the kill orders is no longer the one at its path
   * (store-place.ts), until the account is closed. Who acts for the account must end its process then.
   */
  watchStorePlace(onReplaced: (message: string) => void): void;
  /** From now on no wait for a lock of another process on this machine holds up this one. */
  limitWaits(): void;
  /** Closes this with the account. */
  keepOpen<T extends { limitWait?(): void; close(): Promise<void> }>(part: T): T;
  close(): Promise<void>;
}

/** Of a session that was used before a run began, or between two. */
const MOST_UNHEARD = 20;

export function makeAccountKey(profile: Pick<Profile, 'baseUrl' | 'account'>): string {
  return composeAccountKey(profile.baseUrl, profile.account);
}

/**
 * Opens an account. Throws a UserError (exit 2) for a wrong configuration, before anything is sent. `kept`: `nothing` opens no
 * file, for a kill that must work where no disk can be written.
 */
export async function openAccount(
  profile: Profile,
  { environment, state, voice }: Omit<AppContext, 'voice'> & { readonly voice: Pick<Voice, 'complain'> },
  kept: 'as the profile says' | 'nothing' = 'as the profile says',
): Promise<Account> {
  const variables = readVariables(profile, environment, kept);
  const { secrets, all, problems } = loadSecrets(profile, variables);
  if (problems.length > 0)
    throw new UserError(problems.map((each) => makePrintable(each, 400)).join('\n'), EXIT.usage, 'configuration');
  for (const name of listSecretVariables(profile)) environment.forget(name);
  const redactor = new Redactor(all);
  const clock = new SystemClock();
  const live = openLive({ profile, clock, variables });
  if ('problem' in live) throw new UserError(live.problem, EXIT.usage, 'configuration');
  const forgets = kept === 'nothing';
  const place: StorePlace = forgets
    ? { kind: 'sqlite', file: join(state.path, 'runbook.db') }
    : chooseStorePlace(profile, state);
  const folder = locateFolder(place, state);
  const doors = forgets ? makeVolatileStore(() => clock.monotonic()) : accessStore(place, environment);
  const store = await convertStoreErrors(() => doors.openJournal());
  const opened = await doors.openShared().catch(async (error: unknown) => {
    await store.close();
    throw error;
  });
  const now = () => clock.now();
  const shared: Shared = forgets
    ? opened
    : { ...opened, killSwitch: withPendingKills(opened.killSwitch, { state, place, now }) };
  if (!forgets) rememberStore(state, place);
  const { tokens, windowMs, costs, sharedAs, orderRate, resetUnit } = profile.rateLimit;
  const declared = Object.fromEntries(
    Object.values(profile.requests).map((request) => [`GET ${request.path}`, request.tokens]),
  );
  const budget = new LocalBudget(
    budgetSettings({ tokens, windowMs }),
    clock,
    { ...costs, ...declared },
    {
      random: Math.random,
      orderRate,
      resetUnit,
      share: {
        rows: shared.ledgers,
        key: buildLedgerKey(profile.baseUrl, sharedAs),
        owner: `${process.pid}.${clock.now()}`,
      },
    },
  );
  const tokenStore = chooseTokenStore(profile, secrets.refreshToken, join(folder, `refresh-token.${profile.name}`));
  const shutdown = new ShutdownDeadline(clock, profile.shutdownWithinMs);
  const listeners = new Set<(moved: DataOf<'session.moved'>) => void>();
  /** What happened before a run listened: the next one's journal has it. */
  let unheard: DataOf<'session.moved'>[] = [];
  const notifyListeners = (moved: DataOf<'session.moved'>) => {
    if (listeners.size === 0) unheard = [...unheard, moved].slice(-MOST_UNHEARD);
    for (const listener of listeners) listener(moved);
  };
  const watches: (() => void)[] = [];
  const parts: { limitWait?(): void; close(): Promise<void> }[] = [];
  const clocks = new ClockAgreement();
  const session = new VenueSession({
    profile,
    secrets,
    transport: live.transport,
    budget,
    clock,
    obtained: (secret) => redactor.add(secret),
    requested: (request) => notifyListeners({ event: 'requested', request }),
    renewed: (expiresAt) => notifyListeners({ event: 'renewed', expiresAt }),
    alarm: (message) => {
      voice.complain(`${makePrintable(message)}${adviseRenewal(profile, secrets)}`);
      notifyListeners({ event: 'failing', because: message });
    },
    ...(tokenStore === undefined ? {} : { store: tokenStore }),
  });
  return {
    profile,
    clock,
    store,
    place,
    folder,
    readElsewhere: (read) => withJournal({ state }, read),
    readArchives: (read) => withArchives({ state }, read),
    requireOwnFolders: () => requireOwnFolders(place, environment),
    openScheduleStore: () => doors.openScheduleStore(),
    openAccountJournal: () => doors.openAccountJournal(),
    shared,
    budget,
    barrier: new CancelAllBarrier(),
    session,
    clocks,
    transport: redactAnswers(noteDates(session, clock, clocks), redactor),
    redactor,
    secrets,
    key: makeAccountKey(profile),
    shutdown,
    watchSession(listener) {
      listeners.add(listener);
      for (const moved of unheard.splice(0)) listener(moved);
      return () => void listeners.delete(listener);
    },
    watchStorePlace(onReplaced) {
      watches.push(watchStorePlace([...(store.places ?? []), ...(shared.places ?? [])], clock, onReplaced));
    },
    limitWaits() {
      for (const part of [store, shared, ...parts]) part.limitWait?.();
    },
    keepOpen(part) {
      parts.push(part);
      return part;
    },
    async close() {
      for (const stop of watches) stop();
      for (const part of parts) await part.close();
      await session.close();
      await budget.close();
      await shared.close();
      await store.close();
      shutdown.end();
    },
  };
}

/** The hint for a session that only a person can renew: the same credentials would be rejected again. */
function adviseRenewal({ auth }: Profile, { refreshToken }: ProfileSecrets): string {
  if (auth.mode !== 'jwt' || auth.jwt === undefined || refreshToken !== undefined) return '';
  const where = 'env' in auth.jwt ? `the variable ${auth.jwt.env}` : `the file ${makePrintable(auth.jwt.file, 200)}`;
  return `; put a new JWT into ${where} and start again, or \`runbook resume\` the run: the old one can neither read nor cancel`;
}

/** Notes the time that the venue's answers show. */
function noteDates(inner: Transport, clock: Pick<SystemClock, 'monotonic'>, clocks: ClockAgreement): Transport {
  return {
    connect: (withinMs) => inner.connect?.(withinMs),
    async send(request, options) {
      const fromMs = clock.monotonic();
      const reply = await inner.send(request, options);
      const date = reply.kind === 'answer' ? Date.parse(reply.headers['date'] ?? '') : Number.NaN;
      if (!Number.isNaN(date)) clocks.note(VENUE_CLOCK, { fromMs, untilMs: clock.monotonic() }, date, DATE_GRAIN_MS);
      return reply;
    },
  };
}
const VENUE_CLOCK = 'the venue';
/** Of the `Date` header. */
const DATE_GRAIN_MS = 1_000;

/**
 * The variables a profile refers to, the one that would weaken TLS, and the one that has Node print secrets, which must not keep a kill
 * back; nothing else of the environment is read.
 */
function readVariables(
  profile: Profile,
  environment: Environment,
  kept: 'as the profile says' | 'nothing',
): Readonly<Record<string, string | undefined>> {
  const names = [
    ...listSecretVariables(profile),
    'NODE_TLS_REJECT_UNAUTHORIZED',
    ...(kept === 'nothing' ? [] : ['NODE_DEBUG']),
  ];
  return Object.fromEntries(names.map((name) => [name, environment.variable(name)]));
}
