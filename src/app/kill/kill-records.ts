/**
 * Reads the records of the kill switch for reviewers: who engaged or released it, when and why, from every store the state
 * folder knows. They are kept beside the journals and not in them, because a kill needs no run.
 */
import type { EntryOf, JsonObject } from '../../journal/entry.ts';
import { EVERY_ACCOUNT, type KillEvent, selectKills } from '../../journal/shared/shared.ts';
import type { RunRow } from '../../journal/store.ts';
import { makeAccountKey } from '../account/account.ts';
import type { StateFolder } from '../state.ts';
import { accessStore, describePlace } from '../stores/location.ts';
import { listJournalPlaces, type Reviewed } from '../stores/review.ts';

export interface KillRecord extends KillEvent {
  /** The store of a kill that covers all its accounts. */
  readonly store?: string;
}

/** The records of every known store, oldest first. With `account` (a key): those of this account and of all accounts. */
export async function readKillRecords(state: StateFolder, account?: string): Promise<readonly KillRecord[]> {
  const records = new Map<string, KillRecord>();
  for (const place of listJournalPlaces({ state })) {
    const store = describePlace(place);
    for (const event of selectKills(await accessStore(place, state.environment).readKills(), account)) {
      const record = event.scope === EVERY_ACCOUNT ? { ...event, store } : event;
      records.set(JSON.stringify(record), record);
    }
  }
  return [...records.values()].sort((a, b) => a.at - b.at);
}

/**
 * Records of a live run's account between its begin and its end; a dry-run has none. Where only one archive is reviewed, no
 * store is read: there may be none here.
 */
export async function readKillsOfRun(
  row: RunRow,
  started: EntryOf<'run.started'>,
  { state, archive }: Reviewed,
): Promise<readonly KillRecord[] | 'not read'> {
  return archive === undefined ? readKillsDuring(row, started, state) : 'not read';
}

/** Reads the same from the stores. */
export async function readKillsDuring(
  { run, mode, startedAt, endedAt = Number.POSITIVE_INFINITY }: RunRow,
  started: EntryOf<'run.started'>,
  state: StateFolder,
): Promise<readonly KillRecord[]> {
  const account = mode === 'live' ? findAccountKey(started) : undefined;
  if (account === undefined) return [];
  const records = await readKillRecords(state, account);
  const during = records.filter(({ at }) => at >= startedAt && at <= endedAt);
  if (during.every(({ store }) => store === undefined)) return during;
  const others = await findStoresWithout(run, state);
  return during.filter(({ store }) => store === undefined || !others.has(store));
}

/** Stores that do not hold the run, so that their kill of all accounts did not concern it: none where only an archive holds it. */
async function findStoresWithout(run: string, state: StateFolder): Promise<ReadonlySet<string>> {
  const without = new Set<string>();
  let isFound = false;
  for (const place of listJournalPlaces({ state })) {
    const journal = await accessStore(place, state.environment).openJournal();
    try {
      if ((await journal.run(run)) === undefined) without.add(describePlace(place));
      else isFound = true;
    } finally {
      await journal.close();
    }
  }
  return isFound ? without : new Set();
}

/** The account's key when the run began; undefined for a journal that names no venue. */
export function findAccountKey({ data: { account, settings } }: EntryOf<'run.started'>): string | undefined {
  const { base_url: baseUrl } = settings as JsonObject;
  return typeof baseUrl === 'string' ? makeAccountKey({ baseUrl, account }) : undefined;
}
