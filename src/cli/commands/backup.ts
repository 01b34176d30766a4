/** `runbook backup` and `runbook restore`: copy a store into one file while it is used, and put such a file in its place. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describeActor } from '../../app/account/acts.ts';
import { requireName } from '../../app/account/person.ts';
import { EXIT, type ExitCode, UserError } from '../../app/errors.ts';
import { readProfileFile } from '../../app/files/profile.ts';
import { backUpStore } from '../../app/stores/backup.ts';
import { listStorePlaces } from '../../app/stores/known-stores.ts';
import { chooseStorePlace, describePlace, identifyStore, isThere, type StorePlace } from '../../app/stores/location.ts';
import { markRestored, restoreStore } from '../../app/stores/restore.ts';
import { SystemClock } from '../../base/clock.ts';
import { formatCount } from '../../base/format.ts';
import { makePrintable } from '../../base/printable.ts';
import type { Given } from '../actions/actions.ts';
import type { Invocation } from '../invocation.ts';

export async function backUp({ file, profile }: Given<'backup'>, invocation: Invocation): Promise<ExitCode> {
  const { terminal, state, environment } = invocation;
  const place = choosePlace(profile, invocation);
  if (place.kind === 'postgres')
    throw new UserError(
      `runbook backup is for a SQLite store; ${makePrintable(describePlace(place), 200)} is backed up with pg_dump, see docs/deployment.md`,
    );
  const { runs, entries, at, ...made } = await backUpStore(place.file, file, new SystemClock().now());
  const others = listStorePlaces(state).filter(
    (each) => isThere(each) && identifyStore(each, environment) !== identifyStore(place, environment),
  );
  for (const other of others)
    terminal.note(`${makePrintable(describePlace(other), 300)} is another store, and not in this backup`);
  terminal.answer(
    { file: made.file, at: new Date(at).toISOString(), runs, entries },
    () =>
      `${makePrintable(file, 300)} has ${formatCount(runs, 'run')} with ${formatCount(entries, 'entry', 'entries')}, read back and verified`,
  );
  return EXIT.done;
}

export async function restore(options: Given<'restore'>, invocation: Invocation): Promise<ExitCode> {
  const { terminal, environment } = invocation;
  const who = describeActor(options.by === undefined ? undefined : requireName('restore', options.by));
  const by = who.name;
  const place = choosePlace(options.profile, invocation);
  const request = { who, nowMs: new SystemClock().now(), environment };
  const restored =
    place.kind === 'sqlite'
      ? await restoreStore({ ...request, place, backup: requireBackup(options.file) })
      : await markRestored({ ...request, place: requireNoBackup(options.file, place) });
  const { runs, backupAt, restoredAt, kept, unfinished } = restored;
  const from = new Date(backupAt).toISOString();
  terminal.answer(
    { ...restored, by, backupAt: from, restoredAt: new Date(restoredAt).toISOString(), kept: kept ?? null },
    () =>
      [
        `restored ${formatCount(runs, 'run')} as of ${from}${kept === undefined ? '' : `; what was there is kept as ${makePrintable(kept, 300)}`}`,
        'what was due since then is missed and not started; the next start compares the orders at the venue with the journal',
        ...unfinished.map(
          (run) =>
            `unfinished: ${run}; the next scheduler lets it cancel what is open and place nothing, \`runbook cancel ${run} --by NAME\` ends it`,
        ),
      ].join('\n'),
  );
  return EXIT.done;
}

/** The store of the profile, or the state folder's own. */
function choosePlace(profile: string | undefined, { state, terminal }: Invocation): StorePlace {
  // A folder that is there is checked; none is made for a command that may be refused.
  if (profile === undefined)
    return { kind: 'sqlite', file: existsSync(state.path) ? state.file('runbook.db') : join(state.path, 'runbook.db') };
  return chooseStorePlace(readProfileFile(profile, terminal), state);
}

function requireBackup(file: string | undefined): string {
  if (file !== undefined) return file;
  throw new UserError('runbook restore needs the file that `runbook backup` wrote');
}

function requireNoBackup<P extends StorePlace>(file: string | undefined, place: P): P {
  if (file === undefined) return place;
  throw new UserError(
    `runbook restore takes no file for ${makePrintable(describePlace(place), 200)}: put its dump back with pg_restore first, see docs/deployment.md`,
  );
}
