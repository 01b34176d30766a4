/**
 * The door to luxon and croner. They are loaded when the first date, zone or cron expression is met: a runbook without any
 * is checked in less time than loading them takes.
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
