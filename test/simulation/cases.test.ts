import { describe, expect, it } from 'vitest';
import { breachesOf } from './invariants.ts';
import { KEPT_SEEDS } from './seeds.ts';
import { storyOf } from './story.ts';
import { simulate } from './world.ts';

describe('seeds that have failed once', () => {
  it.each(KEPT_SEEDS)('$seed: $was', async ({ seed }) => {
    const happened = await simulate(seed);
    const breaches = await breachesOf(happened);
    if (breaches.length > 0) throw new Error(storyOf(happened, breaches));
  });
});

describe('a simulation', () => {
  it('is the same whenever its seed is run', async () => {
    for (const seed of [0, 29, 84, 1195]) {
      const [once, again] = [await simulate(seed), await simulate(seed)];
      expect(again.stored).toEqual(once.stored);
      expect(again.books).toEqual(once.books);
      expect(again.lives).toEqual(once.lives);
    }
  });

  it('prints a story with the command that repeats it, and with the venue’s side between lines of the journal', async () => {
    const happened = await simulate(29);
    const story = storyOf(happened, [{ invariant: 'I1', what: 'two orders' }]);
    expect(story).toContain('seed 29: a breach');
    expect(story).toContain('I1: two orders');
    expect(story).toContain('npm run simulate -- --seed 29');
    expect(story).toMatch(/^ +\d+\.\d{3} {2}journal .*POST \/orders/m);
    expect(story).toMatch(/^ +\d+\.\d{3} {2}venue {3}\S+@\d+ \(rb\w+(?:-sim)?\) processing/m);
    expect(story).toMatch(/^ +\d+\.\d{3} {2}process 1 begins/m);
  });
});
