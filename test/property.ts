/** Tests of properties with random cases, others at each run: an eighth of them in `npm test`, half of them in `npm run test:ci`. */
import { it } from 'vitest';

/** `check` takes the number of cases. */
export function itHolds(title: string, cases: number, check: (numRuns: number) => void): void {
  it(title, () => check(Math.ceil(cases / 8)));
  it(`${title}, in more cases`, { tags: ['long'], timeout: 300_000 }, () => check(Math.ceil(cases / 2)));
}
