/** A mistake of ours on the way of a request is an outcome of its call: it is journaled, and the run can be executed again. */
import { describe, expect, it } from 'vitest';
import type { EndpointName } from '../../src/venue/catalogue.ts';
import { loadedFrom, perform, replay, type Scene } from './stage.ts';

const TEXT = `runbook: case
dsl: 1
leaves: {position: open, because: the case is about something else}
steps:
  - id: o
    place: {type: limit, market: BTC-USD, side: long, size: 0.01, price: 50000}
  - cancel: o
`;

async function thrown(endpoint: EndpointName, when: 'before' | 'after') {
  let count = 0;
  const scene: Scene = {
    loaded: loadedFrom({ file: 'case.yaml', text: TEXT }),
    inputs: {},
    config: {},
    between: (venue) => ({
      async send(request, options) {
        const isMet = request.endpoint === endpoint;
        if (isMet) count += 1;
        if (isMet && count === 1 && when === 'before') throw new TypeError('a mistake of ours');
        const reply = await venue.send(request, options);
        if (isMet && count === 1) throw new TypeError('a mistake of ours');
        return reply;
      },
    }),
  };
  const performance = await perform(scene);
  await replay(performance, scene);
  const { entries, report, books } = performance;
  const calls = (type: string) => entries.filter((entry) => entry.type === type).length;
  return {
    unsettled: calls('call.intended') - calls('call.settled'),
    outcome: report.outcome,
    atVenue: books.orders.map(({ status }) => status),
    orders: report.orders.map(({ state }) => state),
  };
}

describe('a mistake on the way of a request', () => {
  it.each([
    ['POST /orders', 'after'],
    ['DELETE /orders', 'before'],
    ['DELETE /orders', 'after'],
    ['GET /orders', 'before'],
  ] as const)('%s, thrown %s it was carried out, leaves no call without its outcome', async (endpoint, when) => {
    expect(await thrown(endpoint, when)).toEqual({
      unsettled: 0,
      outcome: 'succeeded',
      atVenue: ['canceled'],
      orders: ['canceled'],
    });
  });

  it('of an order that was not carried out is looked up, and fails its step', async () => {
    expect(await thrown('POST /orders', 'before')).toEqual({
      unsettled: 0,
      outcome: 'failed',
      atVenue: [],
      orders: ['absent'],
    });
  });
});
