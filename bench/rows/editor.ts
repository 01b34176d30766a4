/** Measures row 20: how long the findings of a runbook of 300 lines take while it is typed, each change checked as a whole. */
import { LanguageService } from '../../src/app/editor/service.ts';
import { computeMedian } from '../measure.ts';
import { writeMixture } from '../runbooks.ts';
import type { Row } from './row.ts';

const LINES = 300;
const EDITS = 60;
/** Before the runtime has compiled what an open editor uses all day. */
const FIRST = 20;

function writeLong(): string {
  for (let steps = 10; ; steps += 1) {
    const text = writeMixture(steps);
    if (text.split('\n').length > LINES) return text;
  }
}

function measureTyping(): number {
  const service = new LanguageService({ loadBeside: () => undefined, checkOther: () => [] }, () => 0);
  const text = writeLong();
  const times = Array.from({ length: FIRST + EDITS }, (_, edit) => {
    const typed = text.replace(/^steps:/m, `# edit ${edit}\nsteps:`);
    const begun = performance.now();
    service.update('/bench/long.yaml', typed);
    const found = service.diagnose('/bench/long.yaml');
    const took = performance.now() - begun;
    if (found.some(({ severity }) => severity === 'error')) throw new Error('the long runbook has errors');
    return took;
  });
  return computeMedian(times.slice(FIRST));
}

export const EDITOR_ROWS: readonly Row[] = [
  {
    id: '20',
    what: `findings of a runbook of ${LINES} lines after a change, in the language server`,
    against: 'none',
    unit: 'ms',
    pass: 30,
    excellent: 10,
    measure: async () => measureTyping(),
  },
];
