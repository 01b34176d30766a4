/**
 * Finds live runs that are unfinished or halted, in every known store: for `resume`, `cancel`, `approve` and `kill`; for commands of
 * people those on paper too.
 */
import { makePrintable } from '../../base/printable.ts';
import type { EntryOf } from '../../journal/entry.ts';
import { readFirstEntry } from '../../journal/reading.ts';
import type { JournalStore } from '../../journal/store.ts';
import { UserError } from '../errors.ts';
import type { StateFolder } from '../state.ts';
import { listStorePlaces } from './known-stores.ts';
import { accessStore, convertStoreErrors, describePlace, isThere, type StorePlace } from './location.ts';

export interface UnfinishedRun {
  readonly run: string;
  /** Where it was found: its recorded profile may name the store by a path that is another one from here. */
  readonly place: StorePlace;
  readonly first: EntryOf<'run.started'>;
  /** When the run ended with `halted`, epoch ms: a person has to look at it. Undefined of one that has not. */
  readonly haltedAt: number | undefined;
}

/**
 * `names`: whole or unambiguous parts of names; empty for all. `away`: stores that are known not to answer. `unread`: called with what
 * cannot be read, which is then left out; where it is missing, that is thrown, unless every name is that of another run.
 */
export async function findUnfinishedRuns(
  names: readonly string[],
  state: StateFolder,
  which: 'unfinished' | 'on paper too' | 'halted too' = 'unfinished',
  { away = [], unread }: UnreadStores = {},
): Promise<readonly UnfinishedRun[]> {
  const found: UnfinishedRun[] = [];
  const opened: OpenedStore[] = [];
  const unreachable = new Set(away.map(describePlace));
  const failures: { readonly error: unknown; readonly run?: string }[] = [];
  const read = async (place: StorePlace, work: () => Promise<void>, run?: string) => {
    try {
      await work();
    } catch (error) {
      if (unread !== undefined) unread(place, error, run);
      else if (names.length === 0) throw error;
      else failures.push({ error, ...(run === undefined ? {} : { run }) });
    }
  };
  try {
    for (const place of listStorePlaces(state).filter((each) => isThere(each) && !unreachable.has(describePlace(each))))
      await read(place, async () => {
        const store = await convertStoreErrors(() => accessStore(place, state.environment).openJournal());
        opened.push({ place, store });
      });
    for (const { place, store } of opened)
      await read(place, async () => {
        const rows = which === 'halted too' ? await store.runs() : await store.runs({ unfinished: true });
        for (const { run, mode, outcome, endedAt = 0 } of rows) {
          if (mode !== 'live' && !(mode === 'paper' && which === 'on paper too')) continue;
          if (outcome !== undefined && outcome !== 'halted') continue;
          await read(
            place,
            async () => {
              const first = await readFirstEntry(store, run);
              if (await goesOnElsewhere(first, { place, store }, opened)) return;
              found.push({ run, place, first, haltedAt: outcome === 'halted' ? endedAt : undefined });
            },
            run,
          );
        }
      });
  } finally {
    for (const { store } of opened) await store.close();
  }
  if (names.length === 0) return found;
  return names.map((name) => {
    // Never one on paper: who means the live run must not miss it.
    const latest = found
      .filter(({ first }) => first.data.mode === 'live')
      .sort((a, b) => (a.run < b.run ? 1 : -1))
      .slice(0, 1);
    const fitting = name === 'last' ? latest : found.filter(({ run }) => run === name || run.includes(name));
    const [only] = fitting;
    // The one that is meant may be among those that cannot be read.
    const unreadable = failures.find(({ run = '' }) =>
      name === 'last' ? run > (only?.run ?? '') : run !== '' && only?.run !== name && run.includes(name),
    );
    const failure = unreadable ?? (only === undefined ? failures[0] : undefined);
    if (failure !== undefined) throw failure.error;
    if (only === undefined || fitting.length > 1) {
      const known = found.map(({ run }) => run).slice(0, 5);
      const many = found.length > known.length ? ' and others' : '';
      const what = which === 'halted too' ? 'no run waits to be resumed' : 'no run is unfinished';
      throw new UserError(
        known.length === 0
          ? `${name === 'last' ? '' : `${makePrintable(name, 100)}: `}${what} in the state folder ${state.shown}; \`--state DIR\` names another`
          : `${makePrintable(name, 100)} ${fitting.length === 0 ? 'matches none of them' : `could be ${fitting.length} runs`}; unfinished: ${known.join(', ')}${many}`,
      );
    }
    return only;
  });
}

/** Where a run of this whole name is unfinished or halted although its journal cannot be read; undefined where none is. */
export async function findUnreadRun(name: string, state: StateFolder): Promise<StorePlace | undefined> {
  let found: StorePlace | undefined;
  await findUnfinishedRuns([], state, 'halted too', {
    unread: (place, _error, run) => {
      if (run === name) found ??= place;
    },
  });
  return found;
}

interface UnreadStores {
  readonly away?: readonly StorePlace[];
  readonly unread?: (place: StorePlace, error: unknown, run?: string) => void;
}

interface OpenedStore {
  readonly place: StorePlace;
  readonly store: JournalStore;
}

/**
 * Whether a run is that of another store: one store under two spellings, or a copy of it, of which the longer journal is the run's. A
 * run that has ended there must not be resumed here.
 */
async function goesOnElsewhere(
  { run, hash }: EntryOf<'run.started'>,
  here: OpenedStore,
  opened: readonly OpenedStore[],
): Promise<boolean> {
  const entries = (await here.store.last(run))?.seq ?? 0;
  for (const [index, there] of opened.entries()) {
    if (there.store === here.store || (await there.store.read(run, { limit: 1 }))[0]?.hash !== hash) continue;
    const others = (await there.store.last(run))?.seq ?? 0;
    if (others > entries || (others === entries && index < opened.findIndex(({ store }) => store === here.store)))
      return true;
  }
  return false;
}
