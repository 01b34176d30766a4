/** Tests a live loop that finds nothing: what a process that dies has stored of it, and that the run goes on from there. */
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { RecordedRun } from '../../src/journal/reading.ts';
import { openSqliteStore } from '../../src/journal/stores/sqlite.ts';
import { JWT } from './mock-venue.ts';
import { scene, until } from './scene.ts';

const ROUNDS = 16;
const WATCH = `runbook: watch
dsl: 1
steps:
  - repeat:
      every: 400ms
      max: ${ROUNDS}
      do:
        - id: mine
          list_orders: {market: BTC-USD, status: open, since: run.started_at}
        - if: size(mine.orders) > 0
          stop: {outcome: found}
`;

it(
  'stores its rounds as one entry, and goes on after its process was killed between two of them',
  { tags: ['long'] },
  () =>
    scene({ runbook: WATCH }, async ({ venue, path, start, run }) => {
      const asked = () => venue.of('GET', '/orders').length;
      const first = start(['run', 'one.yaml', '--profile', 'p.yaml', '--json'], { VENUE_JWT: JWT });
      await until(() => asked() >= 8);
      first.child.kill('SIGKILL');
      await first.ended;
      const resumed = await run(['resume', '--json']);
      expect(resumed.exit).toBe(0);
      const store = await openSqliteStore(join(path, '.runbook', 'runbook.db'));
      const [row] = await store.runs();
      const recorded = new RecordedRun(await store.read(row?.run ?? ''));
      await store.close();
      const decided = [...recorded].filter(({ type }) => type === 'step.decided');
      expect(decided.map(({ step }) => step)).toEqual(
        Array.from({ length: ROUNDS }, (_, round) => `steps/1:repeat[${round}]/do/2:stop`),
      );
      expect(recorded.lines.filter(({ type }) => type === 'round.idle').length).toBeGreaterThanOrEqual(1);
      expect(recorded.lines.filter(({ type }) => type === 'step.decided').length).toBeLessThan(ROUNDS / 2);
      expect(row?.outcome).toBe('succeeded');
      expect((await run(['audit', 'verify'])).exit).toBe(0);
      expect((await run(['audit', 'replay', row?.run ?? ''])).exit).toBe(0);
    }),
);
