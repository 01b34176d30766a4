/**
 * Loads luxon and croner when the first date, zone or cron expression is read. Checking a runbook without any of them takes
 * less time than loading the two libraries.
 */
import { createRequire } from 'node:module';

const load = createRequire(import.meta.url);
let loadedLuxon: typeof import('luxon') | undefined;
let loadedCroner: typeof import('croner') | undefined;

export function loadLuxon(): typeof import('luxon') {
  loadedLuxon ??= load('luxon') as typeof import('luxon');
  return loadedLuxon;
}

export function loadCroner(): typeof import('croner') {
  loadedCroner ??= load('croner') as typeof import('croner');
  return loadedCroner;
}
