/** Finds the account that a command is about, and opens the store that has its ledger: by a profile, else the only one known. */
import { makeAccountKey } from '../../app/account/account.ts';
import type { LedgerOf } from '../../app/account/ledger.ts';
import { EXIT, UserError } from '../../app/errors.ts';
import { readProfileFile } from '../../app/files/profile.ts';
import { readRecordedProfile } from '../../app/run/first-entry.ts';
import {
  accessStore,
  chooseStorePlace,
  convertStoreErrors,
  describePlace,
  isThere,
} from '../../app/stores/location.ts';
import { describeNoRuns, withJournal } from '../../app/stores/review.ts';
import { makePrintable } from '../../base/printable.ts';
import { readFirstEntry } from '../../journal/reading.ts';
import { StoreError } from '../../journal/store.ts';
import type { Profile } from '../../venue/profile/profile.ts';
import type { Invocation } from '../invocation.ts';

/** The profile in the file, else that of the newest live run, where the known runs are all of one account. */
export async function chooseProfile(file: string | undefined, invocation: Invocation): Promise<Profile> {
  if (file !== undefined) return readProfileFile(file, invocation.terminal);
  const profiles = await withJournal(invocation, async (store) => {
    const found = new Map<string, Profile>();
    for (const { run, mode } of await store.runs()) {
      if (mode !== 'live') continue;
      const profile = readRecordedProfile(await readFirstEntry(store, run));
      const key = makeAccountKey(profile);
      if (!found.has(key)) found.set(key, profile);
    }
    return found;
  });
  const [only, second] = profiles?.values() ?? [];
  if (only === undefined)
    throw new UserError(
      `no live run is known, so name the account with --profile FILE${profiles === undefined ? `; ${describeNoRuns(invocation.state)}` : ''}`,
    );
  if (second !== undefined)
    throw new UserError(
      `there are runs of several accounts (${[...(profiles?.keys() ?? [])].map((key) => makePrintable(key, 200)).join(', ')}): name one with --profile FILE`,
    );
  return only;
}

/** Opens the store of the account's ledger for `work`; nothing is sent, and no secret of the venue is needed. */
export async function withLedger<T>(
  profile: Profile,
  { state, environment }: Invocation,
  work: (of: LedgerOf) => Promise<T>,
): Promise<T> {
  const place = chooseStorePlace(profile, state);
  if (!isThere(place))
    throw new UserError(
      `the account has no run yet: its first \`runbook run FILE --profile …\` makes ${makePrintable(describePlace(place), 300)}`,
    );
  const store = await convertStoreErrors(() => accessStore(place, environment).openJournal());
  try {
    return await work({ store, name: profile.account, key: makeAccountKey(profile) });
  } catch (error) {
    if (error instanceof StoreError) throw new UserError(makePrintable(error.message, 400), EXIT.failed, error.reason);
    throw error;
  } finally {
    await store.close();
  }
}
