import { describe, expect, it } from 'vitest';
import { weighAims } from './coverage.ts';
import { aimOf, drawnWorld } from './drawn-world.ts';
import { readParts, shrink, writeParts } from './shrink.ts';
import { simulate } from './world.ts';

describe('a drawn world', () => {
  it('is the same whenever its seed is run', async () => {
    for (const drawn of [0, 9]) {
      const [once, again] = [await simulate({ drawn }), await simulate({ drawn })];
      expect(again.stored).toEqual(once.stored);
      expect(again.books).toEqual(once.books);
    }
  });

  it('keeps what surrounds its runbook, whatever is left out of that', () => {
    const whole = drawnWorld({ drawn: 9 });
    const less = drawnWorld({ drawn: 9, without: [0, 1, 2] });
    expect(less?.parts).toBe(whole?.parts);
    expect(less?.scenario.shape.text.length).toBeLessThan(whole?.scenario.shape.text.length ?? 0);
    expect({ ...less?.scenario, shape: undefined, world: undefined }).toEqual({
      ...whole?.scenario,
      shape: undefined,
      world: undefined,
    });
  });

  it('is made as small as what it shows allows', async () => {
    const places = async (without: ReadonlySet<number>) =>
      drawnWorld({ drawn: 9, without: [...without] })?.scenario.shape.text.includes('place:') === true;
    const small = await shrink({ drawn: 9 }, places);
    const shape = drawnWorld(small)?.scenario.shape;
    expect(shape?.text.match(/place:/g)).toHaveLength(1);
    expect(shape?.text).not.toMatch(/catch|retry|limits|finally/);
    expect(readParts(writeParts(small.without ?? []))).toEqual(small.without);
  });
});

describe('the choice of seeds', () => {
  it('gives each seed an aim of its own, and more weight to the aims that have more left to meet', () => {
    expect(aimOf(3)).toBe(aimOf(3 + 11));
    const [none, some] = [weighAims({}), weighAims({ 'denied SIDE_NOT_ALLOWED': 1, 'denied SELF_MATCH': 2 })];
    expect(some.limits).toBe(none.limits - 2);
    expect(some.amend).toBe(none.amend);
  });
});
