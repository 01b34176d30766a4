/** Prints one line when a test run skips the PostgreSQL store; in CI, where nothing may be skipped, it fails the run. */
import { hasPostgres } from './postgres.ts';

const MISSING =
  'No PostgreSQL server is installed here, so the tests of the PostgreSQL store are skipped (Debian, Ubuntu: apt-get install postgresql).';

export function setup(): (() => void) | undefined {
  if (hasPostgres) return undefined;
  if (process.env.CI === 'true') throw new Error(MISSING.replace('are skipped', 'cannot run'));
  return () => console.warn(`\n${MISSING}`);
}
