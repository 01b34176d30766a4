/** The limits over HTTP: what is denied never arrives, and the price feed of the profile measures what its own price cannot. */
import { describe, expect, it } from 'vitest';
import { envelope, type MockVenue } from './mock-venue.ts';
import { document, LIMIT, scene } from './scene.ts';

const SHORT = LIMIT.replace('side: long', 'side: short');
const FEED = `requests: {info: {method: GET, path: /markets, query: {market_id: text}, tokens: 10, result: {type: list, of: {fair_price: price}}}}
feeds: {mid: {request: info, with: {market_id: "\${market}"}, read: "result[0].fair_price"}}
`;

/** GET /markets gives this price. */
function atPrice(price: string): (venue: MockVenue) => void {
  return (venue) =>
    venue.rules.push(({ path }) => (path === '/markets' ? { body: envelope([{ fair_price: price }]) } : undefined));
}

interface Planned {
  readonly requests: readonly { readonly limits?: string; readonly denied?: { readonly code: string } }[];
}

describe.concurrent('a short under a notional limit', { timeout: 60_000 }, () => {
  it.each<[string, string, string, readonly [exit: number, asked: number, code: string | undefined]]>([
    ['is measured by its own price without a price feed', '', 'max_order_notional: 2', [0, 0, undefined]],
    ['is denied by its own price', '', 'max_order_notional: 1.9', [1, 0, 'NOTIONAL_EXCEEDS_MAX_PER_ORDER']],
    [
      'is denied where that was asked for',
      '',
      'max_order_notional: 2, unknown_price: deny',
      [1, 0, 'NOTIONAL_UNKNOWN'],
    ],
    ['is measured by the price feed', FEED, 'max_order_notional: 2, unknown_price: deny', [0, 1, undefined]],
    ['is denied by the price feed', FEED, 'max_order_notional: 1.99', [1, 1, 'NOTIONAL_EXCEEDS_MAX_PER_ORDER']],
  ])('%s', (_name, feed, limits, [exit, asked, code]) =>
    scene(
      { venue: atPrice('20000'), runbook: SHORT, profile: `${feed}limits: {${limits}}` },
      async ({ venue, live, run }) => {
        const planned = document((await run(['plan', 'one.yaml', '--profile', 'p.yaml', '--json'])).out) as Planned;
        const ended = await live();
        expect([ended.exit, ended.report.error?.message.split(':')[0]]).toEqual([exit, code]);
        expect([venue.placed.length, venue.of('GET', '/markets').length]).toEqual([exit === 0 ? 1 : 0, asked]);
        // The plan says what the run does, except for a price that only the run reads.
        const expected = feed === '' ? code : undefined;
        expect(planned.requests.flatMap(({ denied }) => denied?.code ?? [])).toEqual(
          expected === undefined ? [] : [expected],
        );
        expect(planned.requests.find((row) => row.limits !== undefined)?.limits).toMatch(/^notional at least 1\.98\//);
        expect((await run(['audit', 'replay', 'last'])).exit).toBe(0);
      },
    ),
  );

  it('is measured by its own price where the feed does not answer', () =>
    scene(
      {
        venue: (venue) =>
          venue.rules.push(({ path }) => (path === '/markets' ? { status: 503, body: 'x' } : undefined)),
        runbook: SHORT,
        profile: `${FEED}limits: {max_order_notional: 2}`,
      },
      async ({ venue, live }) => {
        expect((await live()).exit).toBe(0);
        expect(venue.placed).toHaveLength(1);
      },
    ));
});
