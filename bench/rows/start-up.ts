/** Rows 5 and 6: whole processes of the command, against Node itself and against a process that only parses. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { processMs, ratio } from '../measure.ts';
import { mixtureOf } from '../runbooks.ts';
import { workFolder } from '../work-folder.ts';
import type { Row } from './row.ts';

export const COMMAND = fileURLToPath(new URL('../../bin/runbook.js', import.meta.url));
const ROUNDS = 15;

function written(steps: number): string {
  const file = join(workFolder(), `mixture-${steps}.yaml`);
  writeFileSync(file, mixtureOf(steps));
  return file;
}

/** Here and not in a file of the benchmark's own: nothing else is loaded, as in a script one would write for it. */
function parser(): string {
  const file = fileURLToPath(new URL('./parse-only.mjs', import.meta.url));
  writeFileSync(
    file,
    "import { readFileSync } from 'node:fs';\nimport { parseDocument } from 'yaml';\nparseDocument(readFileSync(process.argv[2], 'utf8'));\n",
  );
  return file;
}

const bare = () => processMs(['-e', '0']);

export const START_UP_ROWS: readonly Row[] = [
  {
    id: '5',
    what: 'validate, 1000 steps, the whole process',
    against: 'a process that only parses the YAML',
    pass: 1.4,
    excellent: 1.15,
    measure: () => {
      const [file, script] = [written(1000), parser()];
      return ratio(
        ROUNDS,
        () => processMs([COMMAND, 'validate', file]),
        () => processMs([script, file]),
      );
    },
  },
  {
    id: '6',
    what: '--version',
    against: 'node -e 0',
    pass: 1.5,
    excellent: 1.2,
    measure: () => ratio(ROUNDS, () => processMs([COMMAND, '--version']), bare),
  },
  {
    id: '6',
    what: '--help',
    against: 'node -e 0',
    pass: 1.5,
    excellent: 1.2,
    measure: () => ratio(ROUNDS, () => processMs([COMMAND, '--help']), bare),
  },
  {
    id: '6',
    what: 'validate, 20 steps',
    against: 'node -e 0',
    pass: 2.1,
    excellent: 1.5,
    measure: () => {
      const file = written(20);
      return ratio(ROUNDS, () => processMs([COMMAND, 'validate', file]), bare);
    },
  },
];
