/** Finds steps by their names in timelines, order lists and paths. */
import { describe, expect, it } from 'vitest';
import { isIteration, isOwn, isWithin } from '../../src/app/stores/find-step.ts';
import { formatStepName } from '../../src/report/format.ts';

const PATHS = [
  'steps/1:for_each[0]/o',
  'steps/1:for_each[0]/2:cancel',
  'steps/1:for_each[1]/o~2',
  'rungs[3]',
  'steps/ok',
];

describe('a step', () => {
  it.each(PATHS)('%s is found by every printed name', (path) => {
    const printed = formatStepName(path, undefined);
    for (const named of [path, printed, printed.replace(/~\d+/, '')]) {
      expect([named, isOwn(path, named), isWithin(path, named)]).toEqual([named, true, true]);
    }
  });

  it.each([
    ['steps/1:for_each[0]/o', 'o[0]', true],
    ['steps/1:for_each[1]/o', 'o[0]', false],
    ['steps/1:for_each[0]/2:cancel', 'cancel[0]', true],
    ['steps/1:for_each[0]/2:cancel', 'o[0]', false],
    ['steps/1:for_each[10]/o', 'o[1]', false],
  ])('%s is the own path of %s: %s', (path, named, own) => expect(isOwn(path, named)).toBe(own));

  it('is inside its round', () => {
    expect(PATHS.filter((path) => isWithin(path, 'steps/1:for_each[0]'))).toEqual(PATHS.slice(0, 2));
    expect(['o[0]', 'steps/1:for_each[0]', 'o', 'steps/0:if'].map(isIteration)).toEqual([true, true, false, false]);
  });
});
