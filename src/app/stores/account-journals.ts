/** Reads the journals of accounts for reviewers, from every store that the state folder knows. Reading makes no file. */
import type { AccountJournal } from '../../journal/account/acts.ts';
import type { OccurrenceRow } from '../../journal/schedule/store.ts';
import type { KillEvent } from '../../journal/shared/shared.ts';
import { type AccountRow, type StoredEntry, StoreError } from '../../journal/store.ts';
import type { StateFolder } from '../state.ts';
import { asUserError } from '../system-errors.ts';
import { accessStore, describePlace, type StorePlace } from './location.ts';
import { listJournalPlaces } from './review.ts';

/** Calls `read` for each account that a store has a journal of. Rejects with a UserError. */
export async function readAccountJournals<T>(
  state: StateFolder,
  read: (journal: AccountJournal, account: string, place: StorePlace) => Promise<T>,
): Promise<readonly T[]> {
  const found: T[] = [];
  for (const place of listJournalPlaces({ state })) {
    const journal = await accessStore(place, state.environment).openAccountJournal();
    try {
      for (const account of await journal.accounts()) found.push(await read(journal, account, place));
    } catch (error) {
      throw error instanceof StoreError ? asUserError(error) : error;
    } finally {
      await journal.close();
    }
  }
  return found;
}

/** The lines of an account in a store, and what the kill switch shows of it. */
export interface PlacedAccount {
  readonly account: string;
  readonly store: string;
  readonly place: StorePlace;
  readonly lines: readonly StoredEntry[];
  /** In this store. */
  readonly kills: readonly KillEvent[];
  /** Here and for this user on this machine. */
  readonly killsOfUser: readonly KillEvent[];
  /** The rows of its ledger (app/account/ledger.ts). */
  readonly rows: readonly AccountRow[];
  readonly occurrences: readonly OccurrenceRow[];
}

export function readPlacedAccounts(state: StateFolder): Promise<readonly PlacedAccount[]> {
  return readAccountJournals(state, async (journal, account, place) => {
    const doors = accessStore(place, state.environment);
    const ofAccount = ({ scope }: KillEvent) => scope === account;
    const kills = (await doors.readKills('of the store alone')).filter(ofAccount);
    const killsOfUser = (await doors.readKills()).filter(ofAccount);
    const store = await doors.openJournal();
    const rows = await store.accountRows(account).finally(() => store.close());
    const occurrences = await doors.readOccurrences(account);
    const lines = await journal.lines(account);
    return { account, store: describePlace(place), place, lines, kills, killsOfUser, rows, occurrences };
  });
}
