/**
 * Finds live runs that are unfinished or halted, in every known store: for `resume`, `cancel`, `approve` and `kill`; for commands of
 * people those on paper too.
 */
import { makePrintable } from '../../base/printable.ts';
import { readEntry } from '../../journal/chain.ts';
import type { EntryOf } from '../../journal/entry.ts';
import type { JournalReader } from '../../journal/store.ts';
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
  const unreachable = new Set(away.map(describePlace));
  for (const place of listStorePlaces(state).filter((each) => isThere(each) && !unreachable.has(describePlace(each)))) {
    const store = await convertStoreErrors(() => accessStore(place, state.environment).openJournal());
    try {
      const rows = which === 'halted too' ? await store.runs() : await store.runs({ unfinished: true });
      for (const { run, mode, outcome } of rows) {
        if (mode !== 'live' && !(mode === 'paper' && which === 'on paper too')) continue;
        if (outcome !== undefined && outcome !== 'halted') continue;
        const [stored] = await store.read(run, { limit: 1 });
        const first = stored === undefined ? undefined : readEntry(stored);
        if (first?.type !== 'run.started') continue;
        const unfinished = { run, place, first, hasHalted: outcome === 'halted' };
        const twin = found.findIndex((each) => each.run === run && each.first.hash === first.hash);
        if (twin === -1) found.push(unfinished);
        // One store under two spellings, or a copy: the journal that goes on further is the run's.
        else if ((await findLast(store, run)) > (await findLastAt(found[twin] as UnfinishedRun, state)))
          found[twin] = unfinished;
      }
    } finally {
      await store.close();
    }
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

const PAGE_ENTRIES = 2_000;

/** The number of the last entry of a run. */
async function findLast(store: JournalReader, run: string): Promise<number> {
  for (let after = 0; ; ) {
    const page = await store.read(run, { after, limit: PAGE_ENTRIES });
    after = page.at(-1)?.seq ?? after;
    if (page.length < PAGE_ENTRIES) return after;
  }
}

async function findLastAt({ run, place }: UnfinishedRun, { environment }: StateFolder): Promise<number> {
  const store = await convertStoreErrors(() => accessStore(place, environment).openJournal());
  return findLast(store, run).finally(() => store.close());
}
