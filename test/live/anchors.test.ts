import { join } from 'node:path';
import { expect, it } from 'vitest';
import { readAnchors } from '../../src/journal/anchors/anchors.ts';
import { JWT } from './mock-venue.ts';
import { scene } from './scene.ts';
import { webhook } from './webhook.ts';

/** Three orders make more than ten order events, so that anchors are written before the end. */
const PATIENT = `runbook: one
dsl: 1
leaves: {position: open, because: the case is about something else}
deadman: {market: BTC-USD, timeout: 20s, keep_alive: 1s, on_exit: disarm}
steps:
  - id: a
    place: {type: limit, market: BTC-USD, side: long, size: 0.0001, price: 19800}
  - id: b
    place: {type: limit, market: BTC-USD, side: long, size: 0.0001, price: 19700}
  - id: c
    place: {type: limit, market: BTC-USD, side: long, size: 0.0001, price: 19600}
  - wait: 4s
  - id: late
    place: {type: limit, market: BTC-USD, side: long, size: 0.0001, price: 19500}
`;

const PROFILE = (patience: string) =>
  `anchors: {copies: {away: {webhook: {env: ANCHORS_WEBHOOK}}}, patience: ${patience}}`;

it.concurrent(
  'sends no order while a copy of the anchors is down for too long, but sends cancels and the deadman switch',
  () =>
    webhook(503, (url, posted) =>
      scene({ runbook: PATIENT, profile: PROFILE('1s') }, async ({ venue, live, path }) => {
        const { exit, report, err, out } = await live([], { VENUE_JWT: JWT, ANCHORS_WEBHOOK: url });
        expect([exit, report.outcome, report.error]).toMatchObject([
          1,
          'failed',
          { step: 'steps/late', message: expect.stringContaining('ANCHORS_FAILING') },
        ]);
        expect(venue.placed).toHaveLength(3);
        expect(venue.orders.map(({ status }) => status)).toEqual(['canceled', 'canceled', 'canceled']);
        expect(report.deadman.map(({ event }) => event)).toEqual(
          expect.arrayContaining(['armed', 'renewed', 'disarmed']),
        );
        expect(err).toContain('anchors cannot be written to anchors.copies.away: HTTP_503');
        const { anchors } = readAnchors(join(path, '.runbook', 'anchors.jsonl'));
        expect(anchors.length).toBeGreaterThan(1);
        expect(posted.slice(0, 2)).toEqual([anchors[0], anchors[0]]);
        expect(`${out}${err}`).not.toContain('canary-address');
      }),
    ),
  60_000,
);

it.concurrent(
  'writes each anchor to a copy that answers, and delays nothing',
  () =>
    webhook(204, (url, posted) =>
      scene({ runbook: PATIENT, profile: PROFILE('1s') }, async ({ venue, live, path }) => {
        const { exit, err } = await live([], { VENUE_JWT: JWT, ANCHORS_WEBHOOK: url });
        expect([exit, venue.placed.length, err.includes('anchors cannot')]).toEqual([0, 4, false]);
        expect(posted).toEqual(readAnchors(join(path, '.runbook', 'anchors.jsonl')).anchors);
      }),
    ),
  60_000,
);
