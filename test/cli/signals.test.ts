/** Signals that ask this process to end, as its listeners see them. */
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { Signal } from '../../src/app/process.ts';
import { interrupts } from '../../src/cli/terminal/signals.ts';

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
const count = () => SIGNALS.map((signal) => process.listenerCount(signal));

let atExit = process.listeners('exit');

beforeEach(() => {
  atExit = process.listeners('exit');
});
afterEach(() => {
  for (const listener of process.listeners('exit')) if (!atExit.includes(listener)) process.off('exit', listener);
});

it.each(SIGNALS)('a second %s while the end is said does not end the process, a third does', (signal) => {
  const before = count();
  const heard: Signal[] = [];
  const off = interrupts.on((sent) => heard.push(sent));
  process.emit(signal, signal);
  off();
  // Without a listener a signal ends the process.
  expect(count()).toEqual(before.map((each) => each + 1));
  process.emit(signal, signal);
  expect([heard, count()]).toEqual([[signal], before]);
});

it('work that no signal asked to end leaves them as they were', () => {
  const before = count();
  interrupts.on(() => {})();
  expect(count()).toEqual(before);
});
