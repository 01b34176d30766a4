/** Tests which messages a scheduler sends about the entries of its runs. */
import { expect, it } from 'vitest';
import { SchedulerEvents } from '../../src/app/schedule/events.ts';
import type { SchedulerLog } from '../../src/app/schedule/log.ts';
import type { AccountMetrics } from '../../src/app/schedule/metrics.ts';
import type { Entry } from '../../src/journal/entry.ts';
import { World } from './live-host.ts';

const LEFT = { id: 'BTC-USD@7', client_order_id: '' };

it.each([
  ['reports what a sweep left, once', 'account.swept', { left: [LEFT, LEFT], unread: [{ why: 'size null' }] }, 1],
  ['reports no sweep that left nothing', 'account.swept', { left: [] }, 0],
  ['reports an alarm about an order', 'order.alarmed', { clientOrderId: 'rb1', alarm: 'LateFill' }, 1],
])('%s', async (_, type, data, reported) => {
  const world = new World({ config: {} });
  try {
    const { host } = await world.openProcess({});
    const written: unknown[] = [];
    const log = {
      write: (severity: string, event: string) => void written.push([severity, event]),
      asVoice: () => ({}),
    } as unknown as SchedulerLog;
    const metrics = { countEntry: () => {}, countNotice: () => {} } as unknown as AccountMetrics;
    const events = new SchedulerEvents(log, metrics, host.account);
    events.reportEntry({ run: 'r', step: 'steps/1:cancel_all', seq: 9, at: 0, type, data } as unknown as Entry);
    expect(written).toEqual(Array.from({ length: reported }, () => ['warn', 'order_alarmed']));
  } finally {
    await world.close();
  }
});
