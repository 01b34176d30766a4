import { describe, expect, it } from 'vitest';
import { SETTLED_MS, Watch } from '../../src/app/project/watch.ts';
import { VirtualClock } from '../../src/base/clock.ts';

/** A watch whose work ends, and whose files change, when the test says so. */
function scene() {
  const clock = new VirtualClock(0);
  const ends: (() => void)[] = [];
  let changed: (() => void) | undefined = () => {};
  let begun = 0;
  const watch = new Watch({
    clock,
    observe: (each) => {
      changed = each;
      return () => {
        changed = undefined;
      };
    },
    work: () => {
      begun += 1;
      return new Promise((resolve) => void ends.push(resolve));
    },
  });
  return {
    watch,
    change: () => changed?.(),
    isObserved: () => changed !== undefined,
    pass: (ms: number) => clock.advanceTo(clock.now() + ms),
    end: async () => {
      ends.shift()?.();
      await clock.quiesce();
    },
    begun: () => begun,
  };
}

describe('a watch', () => {
  it('works at once, and once after a burst of changes', async () => {
    const { change, pass, end, begun } = scene();
    expect(begun()).toBe(1);
    await end();
    for (let count = 0; count < 10; count += 1) {
      change();
      await pass(SETTLED_MS - 1);
    }
    expect(begun()).toBe(1);
    await pass(1);
    expect(begun()).toBe(2);
  });

  it('never works twice at the same time, and once more after changes during the work', async () => {
    const { change, pass, end, begun } = scene();
    for (let count = 0; count < 3; count += 1) {
      change();
      await pass(SETTLED_MS);
    }
    expect(begun()).toBe(1);
    await end();
    expect(begun()).toBe(2);
    await end();
    await pass(10 * SETTLED_MS);
    expect(begun()).toBe(2);
  });

  it('ends with its work, and does none afterwards', async () => {
    const { watch, change, pass, end, begun, isObserved } = scene();
    change();
    let stopped = false;
    const stop = watch.stop().then(() => {
      stopped = true;
    });
    change();
    await pass(10 * SETTLED_MS);
    expect([begun(), stopped, isObserved()]).toEqual([1, false, false]);
    await end();
    await stop;
    expect([begun(), stopped]).toEqual([1, true]);
  });
});
