import { describe, expect, it } from 'vitest';
import { ShutdownDeadline } from '../../src/app/shutdown.ts';
import { VirtualClock } from '../../src/base/clock.ts';

function begin(withinMs: number) {
  const clock = new VirtualClock(0);
  const overdue: string[] = [];
  return { clock, overdue, deadline: new ShutdownDeadline(clock, withinMs) };
}

describe('the deadline of a process that was asked to end', () => {
  it('counts from the first signal; a second one gives no more time and changes nothing', async () => {
    const { clock, overdue, deadline } = begin(30_000);
    await clock.advanceTo(100_000);
    deadline.begin(() => overdue.push('first'));
    await clock.advanceTo(129_999);
    deadline.begin(() => overdue.push('second'));
    expect(overdue).toEqual([]);
    await clock.advanceTo(130_000);
    expect(overdue).toEqual(['first']);
    await clock.advanceTo(500_000);
    expect(overdue).toEqual(['first']);
  });

  it('does nothing once everything is closed, or where no signal came', async () => {
    const { clock, overdue, deadline } = begin(30_000);
    deadline.end();
    deadline.begin(() => overdue.push('overdue'));
    await clock.advanceTo(10_000);
    deadline.end();
    await clock.advanceTo(500_000);
    expect(overdue).toEqual([]);
  });
});
