/**
 * Remembers the stores that live runs were written to, so that `resume`, `cancel` and the audit commands need no profile. The
 * state folder keeps the path of a file, or the name of the variable that holds the URL of a database, never the URL.
 */
import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import type { StateFolder } from '../state.ts';
import { identifyStore, isThere, type StorePlace } from './location.ts';

const LIST = 'stores.txt';

/** Remembers a store that is not the state folder's own. */
export function rememberStore(state: StateFolder, place: StorePlace): void {
  const identity = identifyStore(place, state.environment);
  if (listStorePlaces(state).some((known) => identifyStore(known, state.environment) === identity)) return;
  appendFileSync(state.file(LIST), `${formatPlace(place)}\n`, { mode: 0o600 });
}

/** Every known store once, however it is spelled, the state folder's own first; SQLite files only where they exist. */
export function listStorePlaces(state: StateFolder): readonly StorePlace[] {
  const own = state.file('runbook.db');
  const list = state.file(LIST);
  const lines = existsSync(list) ? readFileSync(list, 'utf8').split('\n') : [];
  const named = [...new Set(lines)].filter((line) => line !== '' && line !== own).map(parsePlace);
  const places: readonly StorePlace[] = [{ kind: 'sqlite', file: own }, ...named.filter(isThere)];
  const identities = places.map((place) => identifyStore(place, state.environment));
  return places.filter((_place, index) => identities.indexOf(identities[index] ?? '') === index);
}

/** `postgres env NAME`, `postgres file PATH`, or a path, which is absolute and so matches neither. */
const DATABASE = /^postgres (env|file) (.+)$/;

function parsePlace(line: string): StorePlace {
  const [, by, name = ''] = DATABASE.exec(line) ?? [];
  if (by === undefined) return { kind: 'sqlite', file: line };
  return { kind: 'postgres', url: by === 'env' ? { env: name } : { file: name } };
}

function formatPlace(place: StorePlace): string {
  if (place.kind === 'sqlite') return place.file;
  return 'env' in place.url ? `postgres env ${place.url.env}` : `postgres file ${place.url.file}`;
}
