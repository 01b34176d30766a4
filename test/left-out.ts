/** Says in the last lines of a run which tests it has left out, how many, and why; and which ones passed only at the second attempt. */
import type { Reporter, TestModule } from 'vitest/node';
import { NEEDS } from './needs.ts';

export class LeftOut implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const counts = new Map<string, number>();
    for (const module of modules)
      for (const test of module.children.allTests('skipped')) {
        const lacking = NEEDS.filter(({ name, here }) => here !== true && test.tags.includes(name));
        // Where the machine lacks something, `npm run test:ci` leaves the test out too.
        const need = lacking.find(({ here }) => here === false) ?? lacking[0];
        if (need !== undefined) counts.set(need.name, (counts.get(need.name) ?? 0) + 1);
      }
    for (const module of modules)
      for (const test of module.children.allTests('passed'))
        if (test.diagnostic()?.flaky === true) console.log(`Passed only at the second attempt: ${test.fullName}`);
    for (const later of [true, false]) {
      const reasons = NEEDS.filter(({ name, here }) => counts.has(name) && (here === 'later') === later);
      if (reasons.length === 0) continue;
      const list = reasons.map(({ name, description }) => `${counts.get(name)} ${description}`).join(', ');
      console.log(`Left out ${later ? 'here, run by `npm run test:ci`' : 'on this machine'}: ${list}`);
    }
  }
}
