/**
 * Which stores there are: the state folder's own journal, and those that profiles named. `resume`, `cancel` and the audit
 * verbs need no profile, so the state folder remembers where live runs were written.
 */
import { appendFileSync, existsSync, readFileSync } from 'node:fs';
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
