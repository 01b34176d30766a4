/** Says in one line that a run has skipped the PostgreSQL store; where nothing may be skipped it is no run at all. */
import { hasPostgres } from './postgres.ts';

const MISSING =
  'No PostgreSQL server is installed here, so the tests of the PostgreSQL store are skipped (Debian, Ubuntu: apt-get install postgresql).';

export function setup(): (() => void) | undefined {
  if (hasPostgres) return undefined;
  if (process.env.CI === 'true') throw new Error(MISSING.replace('are skipped', 'can not run'));
  return () => console.warn(`\n${MISSING}`);
}
