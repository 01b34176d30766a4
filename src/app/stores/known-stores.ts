/**
 * Remembers the stores that live runs were written to, so that `resume`, `cancel` and the audit commands need no profile. The
 * state folder keeps the path of a file, or the name of the variable that holds the URL of a database, never the URL.
 */
import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import type { StateFolder } from '../state.ts';
import { identifyStore, isThere, type StorePlace } from './location.ts';

const LIST = 'stores.txt';

/** Remembers a store that is not the state folder's own. */
export function rememberStore(state: StateFolder, place: StorePlace): void {
  const identity = identifyStore(place, state.environment);
  if (listStorePlaces(state).some((known) => identifyStore(known, state.environment) === identity)) return;
  const list = state.file(LIST);
  // Behind a line that a full disk cut off, the next one begins on its own.
  const isCut = existsSync(list) && !/(^|\n)$/.test(readFileSync(list, 'utf8'));
  appendFileSync(list, `${isCut ? '\n' : ''}${formatPlace(place)}\n`, { mode: 0o600 });
}

export interface KnownStores {
  /** To be opened: every one once, however it is spelled, the state folder's own first. */
  readonly there: readonly StorePlace[];
  /** SQLite files that runs were written to and that are not at their place any more. */
  readonly missing: readonly StorePlace[];
}

export function findKnownStores(state: StateFolder): KnownStores {
  const own = state.file('runbook.db');
  const list = state.file(LIST);
  const lines = existsSync(list) ? readFileSync(list, 'utf8').split('\n') : [];
  const named = [...new Set(lines)].filter((line) => line !== '').map((line) => parsePlace(line, state));
  const all: readonly StorePlace[] = [{ kind: 'sqlite', file: own }, ...named];
  const identities = all.map((place) => identifyStore(place, state.environment));
  const places = all.filter((_place, index) => identities.indexOf(identities[index] ?? '') === index);
  const isOpenable = (place: StorePlace) => place === all[0] || isThere(place);
  return { there: places.filter(isOpenable), missing: places.filter((place) => !isOpenable(place)) };
}

/** The known stores that can be opened. */
export function listStorePlaces(state: StateFolder): readonly StorePlace[] {
  return findKnownStores(state).there;
}

/** `postgres env NAME`, `postgres file PATH`, or a path, which is absolute and so matches neither. */
const DATABASE = /^postgres (env|file) (.+)$/;

/** Earlier versions wrote paths relative to the working directory, which has the state folder unless `--state` named another. */
function parsePlace(line: string, { path }: StateFolder): StorePlace {
  const [, by, name = ''] = DATABASE.exec(line) ?? [];
  if (by === 'env') return { kind: 'postgres', url: { env: name } };
  const file = resolve(dirname(path), by === undefined ? line : name);
  return by === undefined ? { kind: 'sqlite', file } : { kind: 'postgres', url: { file } };
}

/** With an absolute path: the list is read from any directory. */
export function formatPlace(place: StorePlace): string {
  if (place.kind === 'sqlite') return resolve(place.file);
  return 'env' in place.url ? `postgres env ${place.url.env}` : `postgres file ${resolve(place.url.file)}`;
}
