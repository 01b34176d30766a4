/** Tests of properties with random cases: some of them in `npm test`, all of them in `npm run test:ci`. */
import { it } from 'vitest';

/** `check` takes the number of cases: an eighth of them in `npm test`, which draws others each time. */
export function itHolds(title: string, cases: number, check: (numRuns: number) => void): void {
  it(title, () => check(Math.ceil(cases / 8)));
  it(`${title}, in ${cases} cases`, { tags: ['long'], timeout: 300_000 }, () => check(cases));
}
