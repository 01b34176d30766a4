import fc from 'fast-check';
import { expect, it } from 'vitest';
import { ResumedTimeFold } from '../../src/app/run/resumed-clock.ts';
import type { SystemClock } from '../../src/base/clock.ts';
import { measureAway } from '../../src/base/run-clock.ts';
import type { Entry } from '../../src/journal/entry.ts';
import { identifyMachineStart } from '../../src/journal/shared/machine.ts';

it('the time of a resumed run follows from all entries of its last process', () => {
  const entry = fc.record({
    boot: fc.constantFrom(identifyMachineStart(), 'another start'),
    epoch: fc.integer({ min: 1, max: 2 }),
    at: fc.integer({ min: 0, max: 100 }),
    mono: fc.integer({ min: 0, max: 50 }),
  });
  // A process never comes back: its entries follow each other.
  const journal = fc
    .array(entry, { minLength: 1, maxLength: 12 })
    .map((entries) => entries.sort((a, b) => a.epoch - b.epoch || a.boot.localeCompare(b.boot)));
  const clock = { now: () => 1000, monotonic: () => 600, elapsed: () => 0 } as unknown as SystemClock;
  fc.assert(
    fc.property(journal, (entries) => {
      const fold = new ResumedTimeFold();
      for (const each of entries) fold.apply({ ...each, type: 'run.moved' } as unknown as Entry);
      const last = entries.at(-1);
      const own = entries.filter(({ boot, epoch }) => boot === last?.boot && epoch === last.epoch);
      const now = { at: clock.now(), mono: clock.monotonic(), boot: identifyMachineStart() };
      expect(fold.compute(clock).away).toEqual(measureAway(own, now));
    }),
  );
});
