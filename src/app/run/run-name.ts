/** Makes the name of a new run. */
import { randomBytes } from 'node:crypto';

/** Sorts by start time, contains the runbook's name, and is not guessable: `20260105T080000123-bracket-entry-3f9a0c1b2d`. */
export function makeRunName(runbook: string, now = Date.now()): string {
  const stamp = new Date(now).toISOString().replace(/[-:.Z]/g, '');
  return `${stamp}-${runbook.slice(0, 40)}-${randomBytes(5).toString('hex')}`;
}
