/**
 * Finds live runs that are unfinished or halted, in every known store: for `resume`, `cancel`, `approve` and `kill`; for commands of
 * people those on paper too.
 */
import { makePrintable } from '../../base/printable.ts';
import { readEntry } from '../../journal/chain.ts';
import type { EntryOf } from '../../journal/entry.ts';
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
  /** The run ended with `halted`: a person has to look at it. */
  readonly hasHalted: boolean;
}

/** `names`: whole or unambiguous parts of names; empty for all. `missed`: stores that are known not to answer. */
export async function findUnfinishedRuns(
  names: readonly string[],
  state: StateFolder,
  which: 'unfinished' | 'on paper too' | 'halted too' = 'unfinished',
  away: readonly StorePlace[] = [],
): Promise<readonly UnfinishedRun[]> {
  const found: UnfinishedRun[] = [];
  const opened: OpenedStore[] = [];
  const unreachable = new Set(away.map(describePlace));
  try {
    for (const place of listStorePlaces(state).filter((each) => isThere(each) && !unreachable.has(describePlace(each))))
      opened.push({
        place,
        store: await convertStoreErrors(() => accessStore(place, state.environment).openJournal()),
      });
    for (const one of opened) {
      const rows = which === 'halted too' ? await one.store.runs() : await one.store.runs({ unfinished: true });
      for (const { run, mode, outcome } of rows) {
        if (mode !== 'live' && !(mode === 'paper' && which === 'on paper too')) continue;
        if (outcome !== undefined && outcome !== 'halted') continue;
        const [stored] = await one.store.read(run, { limit: 1 });
        const first = stored === undefined ? undefined : readEntry(stored);
        if (first?.type !== 'run.started' || (await goesOnElsewhere(first, one, opened))) continue;
        found.push({ run, place: one.place, first, hasHalted: outcome === 'halted' });
      }
    }
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
    if (only === undefined || fitting.length > 1) {
      const known = found.map(({ run }) => run).slice(0, 5);
      const many = found.length > known.length ? ' and others' : '';
      const what = which === 'halted too' ? 'no run waits to be resumed' : 'no run is unfinished';
      throw new UserError(
        known.length === 0
          ? `${name === 'last' ? '' : `${makePrintable(name, 100)}: `}${what} in the state folder ${makePrintable(state.shown, 300)}; \`--state DIR\` names another`
          : `${makePrintable(name, 100)} ${fitting.length === 0 ? 'matches none of them' : `could be ${fitting.length} runs`}; unfinished: ${known.join(', ')}${many}`,
      );
    }
    return only;
  });
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
    if (there === here || (await there.store.read(run, { limit: 1 }))[0]?.hash !== hash) continue;
    const others = (await there.store.last(run))?.seq ?? 0;
    if (others > entries || (others === entries && index < opened.indexOf(here))) return true;
  }
  return false;
}
