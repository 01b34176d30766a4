import { describe, expect, it } from 'vitest';
import { CALM, SimulatedVenue } from './harness.ts';

describe('GET /profile', () => {
  it('shows the tier, the next, and the volume that is needed for it', async () => {
    const venue = new SimulatedVenue({ ...CALM, account: { equity: '100000', volume: '999000' } });
    const read = async () => (await venue.call('GET /profile', {})).result;
    expect(await read()).toEqual([
      {
        tier_status: {
          current: { tier: 0, title: 'Standard', min_volume: '0' },
          next: { tier: 1, title: 'VIP 1', min_volume: '1000000' },
          needed_volume: '1000',
        },
      },
    ]);
    await venue.place({ type: 'market', price: '64010', size: '0.1' });
    await venue.pass(100);
    expect((await read())[0]?.tier_status).toMatchObject({
      current: { tier: 1 },
      next: { tier: 2 },
      needed_volume: '8994599.9',
    });
  });

  it('needs nothing on the highest tier', async () => {
    const venue = new SimulatedVenue({ ...CALM, account: { volume: '10000000' } });
    expect((await venue.call('GET /profile', {})).result[0]?.tier_status).toMatchObject({
      current: { tier: 2 },
      next: { tier: 2 },
      needed_volume: '0',
    });
  });
});
