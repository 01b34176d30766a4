/**
 * Reads the records of the kill switch for reviewers: who engaged or released it, when and why, from every store the state
 * folder knows. They are kept beside the journals and not in them, because a kill needs no run.
 */
import type { EntryOf, JsonObject } from '../../journal/entry.ts';
import { EVERY_ACCOUNT, type KillEvent, killsOf } from '../../journal/shared/shared.ts';
import type { RunRow } from '../../journal/store.ts';
import { accountKey } from '../account/account.ts';
import type { StateFolder } from '../state.ts';
import { shownPlace, storeAt } from '../stores/location.ts';
import { journalPlaces, type Reviewed } from '../stores/review.ts';

export interface KillRecord extends KillEvent {
  /** The store of a kill that covers all its accounts. */
  readonly store?: string;
}

/** The records of every known store, oldest first. With `account` (a key): those of this account and of all accounts. */
export async function killRecords(state: StateFolder, account?: string): Promise<readonly KillRecord[]> {
  const records = new Map<string, KillRecord>();
  for (const place of journalPlaces({ state })) {
    const store = shownPlace(place);
    for (const event of killsOf(await storeAt(place, state.environment).kills(), account)) {
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
export async function killsMeanwhile(
  row: RunRow,
  started: EntryOf<'run.started'>,
  { state, archive }: Reviewed,
): Promise<readonly KillRecord[] | 'not read'> {
  return archive === undefined ? killsDuring(row, started, state) : 'not read';
}

/** Reads the same from the stores. */
export async function killsDuring(
  { run, mode, startedAt, endedAt = Number.POSITIVE_INFINITY }: RunRow,
  started: EntryOf<'run.started'>,
  state: StateFolder,
): Promise<readonly KillRecord[]> {
  const account = mode === 'live' ? keyOf(started) : undefined;
  if (account === undefined) return [];
  const records = await killRecords(state, account);
  const during = records.filter(({ at }) => at >= startedAt && at <= endedAt);
  if (during.every(({ store }) => store === undefined)) return during;
  const others = await storesWithout(run, state);
  return during.filter(({ store }) => store === undefined || !others.has(store));
}

/** Stores that do not hold the run, so that their kill of all accounts did not concern it: none where only an archive holds it. */
async function storesWithout(run: string, state: StateFolder): Promise<ReadonlySet<string>> {
  const without = new Set<string>();
  let isFound = false;
  for (const place of journalPlaces({ state })) {
    const journal = await storeAt(place, state.environment).journal();
    try {
      if ((await journal.run(run)) === undefined) without.add(shownPlace(place));
      else isFound = true;
    } finally {
      await journal.close();
    }
  }
  return isFound ? without : new Set();
}

/** The account's key when the run began; undefined for a journal that names no venue. */
function keyOf({ data: { account, settings } }: EntryOf<'run.started'>): string | undefined {
  const { base_url: baseUrl } = settings as JsonObject;
  return typeof baseUrl === 'string' ? accountKey({ baseUrl, account }) : undefined;
}
