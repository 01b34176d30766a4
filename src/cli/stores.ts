/**
 * Which stores there are: the state folder's own journal, and those that profiles named. `resume`, `cancel` and the audit
 * verbs need no profile, so the state folder remembers where live runs were written.
 */
import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { readEntry } from '../journal/chain.ts';
import type { EntryOf } from '../journal/entry.ts';
import { openStore } from './account.ts';
import { Refusal } from './exit.ts';
import type { StateFolder } from './state.ts';

const LIST = 'stores.txt';

/** Keeps the path of a store that is not the state folder's own. */
export function rememberStore(state: StateFolder, file: string): void {
  if (storeFiles(state).includes(file)) return;
  appendFileSync(state.file(LIST), `${file}\n`, { mode: 0o600 });
}

/** Every known store that exists, the state folder's own first. */
export function storeFiles(state: StateFolder): readonly string[] {
  const own = state.file('runbook.db');
  const list = state.file(LIST);
  const named = existsSync(list)
    ? readFileSync(list, 'utf8')
        .split('\n')
        .filter((line) => line !== '')
    : [];
  return [...new Set([own, ...named])].filter((file) => file === own || existsSync(file));
}

export interface UnfinishedRun {
  readonly run: string;
  readonly storeFile: string;
  readonly first: EntryOf<'run.started'>;
}

/** Live runs without an end: those named (whole or by an unambiguous part), or all. */
export async function unfinishedRuns(names: readonly string[], state: StateFolder): Promise<readonly UnfinishedRun[]> {
  const found: UnfinishedRun[] = [];
  for (const storeFile of storeFiles(state).filter((file) => existsSync(file))) {
    const store = await openStore(storeFile);
    try {
      for (const { run, mode } of await store.runs({ unfinished: true })) {
        if (mode !== 'live') continue;
        const [stored] = await store.read(run, { limit: 1 });
        const first = stored === undefined ? undefined : readEntry(stored);
        if (first?.type === 'run.started') found.push({ run, storeFile, first });
      }
    } finally {
      await store.close();
    }
  }
  if (names.length === 0) return found;
  return names.map((name) => {
    const latest = [...found].sort((a, b) => (a.run < b.run ? 1 : -1)).slice(0, 1);
    const fitting = name === 'last' ? latest : found.filter(({ run }) => run === name || run.includes(name));
    const [only] = fitting;
    if (only === undefined || fitting.length > 1) {
      const known = found.map(({ run }) => run).slice(0, 5);
      throw new Refusal(
        `${name} names ${fitting.length} unfinished runs; unfinished ${known.length === 0 ? 'are none' : `are ${known.join(', ')}`}`,
      );
    }
    return only;
  });
}
