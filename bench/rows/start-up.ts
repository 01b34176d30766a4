/** Measures rows 5 and 6: whole processes of the command, against plain Node and against a process that only parses. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { measureProcessMs, measureRatio } from '../measure.ts';
import { writeMixture } from '../runbooks.ts';
import { getWorkFolder } from '../work-folder.ts';
import type { Row } from './row.ts';

export const COMMAND = fileURLToPath(new URL('../../bin/runbook.js', import.meta.url));
const ROUNDS = 15;

function writeRunbook(steps: number): string {
  const file = join(getWorkFolder(), `mixture-${steps}.yaml`);
  writeFileSync(file, writeMixture(steps));
  return file;
}

/** Writes the script at run time, so that it loads nothing but the parser, like a script written for this purpose. */
function writeParser(): string {
  const file = fileURLToPath(new URL('./parse-only.mjs', import.meta.url));
  writeFileSync(
    file,
    "import { readFileSync } from 'node:fs';\nimport { parseDocument } from 'yaml';\nparseDocument(readFileSync(process.argv[2], 'utf8'));\n",
  );
  return file;
}

const measureBare = () => measureProcessMs(['-e', '0']);

export const START_UP_ROWS: readonly Row[] = [
  {
    id: '5',
    what: 'validate, 1000 steps, the whole process',
    against: 'a process that only parses the YAML',
    pass: 1.4,
    excellent: 1.15,
    measure: () => {
      const [file, script] = [writeRunbook(1000), writeParser()];
      return measureRatio(
        ROUNDS,
        () => measureProcessMs([COMMAND, 'validate', file]),
        () => measureProcessMs([script, file]),
      );
    },
  },
  {
    id: '6',
    what: '--version',
    against: 'node -e 0',
    pass: 1.5,
    excellent: 1.2,
    measure: () => measureRatio(ROUNDS, () => measureProcessMs([COMMAND, '--version']), measureBare),
  },
  {
    id: '6',
    what: '--help',
    against: 'node -e 0',
    pass: 1.5,
    excellent: 1.2,
    measure: () => measureRatio(ROUNDS, () => measureProcessMs([COMMAND, '--help']), measureBare),
  },
  {
    id: '6',
    what: 'validate, 20 steps',
    against: 'node -e 0',
    pass: 2.1,
    excellent: 1.5,
    measure: () => {
      const file = writeRunbook(20);
      return measureRatio(ROUNDS, () => measureProcessMs([COMMAND, 'validate', file]), measureBare);
    },
  },
];
