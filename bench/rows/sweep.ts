/** Measures row 23: many seeds of a shipped runbook on all cores. */
import { fileURLToPath } from 'node:url';
import { measureProcessMs } from '../measure.ts';
import { getWorkFolder } from '../work-folder.ts';
import type { Row } from './row.ts';
import { COMMAND } from './start-up.ts';

const TWAP = fileURLToPath(new URL('../../runbooks/twap.yaml', import.meta.url));

export const SWEEP_ROWS: readonly Row[] = [
  {
    id: '23',
    what: '200 seeds of the shipped TWAP of 55 minutes, `--sweep`, the whole process',
    against: 'none',
    unit: 's',
    pass: 20,
    excellent: 8,
    measure: async () =>
      measureProcessMs([COMMAND, 'dry-run', TWAP, '--sweep', '200', '--quiet', '--state', getWorkFolder()]) / 1000,
  },
];
