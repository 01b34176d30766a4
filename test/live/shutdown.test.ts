/** A process that was asked to end does so in its time, whatever does not answer; what is open is left to `resume`. */
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { openDatabase } from '../../src/journal/sql/sqlite.ts';
import { postgresOfFile } from '../postgres.ts';
import { JWT } from './mock-venue.ts';
import { document, type Ended, RESTING, type Report, rests, type Scene, scene, until } from './scene.ts';

const RUN = ['run', 'one.yaml', '--profile', 'p.yaml', '--json'];
const WITHIN = 'shutdown: {within: 1500ms}';
const GUARDED = RESTING.replace('steps:', 'deadman: {market: BTC-USD, timeout: 60s, on_exit: disarm}\nsteps:');
const SCHEDULED = RESTING.replace(
  'dsl: 1',
  'dsl: 1\nschedule: {every: 1s, misfire: {within: 20s, then: run_once}, overlap: skip}',
);

const server = postgresOfFile();

/** A database behind a line that can hang: what was sent is never answered, and no connection is closed. */
async function openLine(url: string): Promise<{ readonly url: string; hang(on: boolean): void; close(): void }> {
  const { port } = new URL(url);
  const sockets = new Set<Socket>();
  let isHanging = false;
  const line = createServer((near) => {
    const far = connect(Number(port), '127.0.0.1');
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(from);
      from.on('data', (data) => {
        if (!isHanging) to.write(data);
      });
      from.on('error', () => {});
      from.on('close', () => to.destroy());
    }
  });
  await new Promise<void>((resolve) => line.listen(0, '127.0.0.1', resolve));
  const through = new URL(url);
  through.port = String((line.address() as AddressInfo).port);
  return {
    url: through.href,
    hang: (on) => {
      isHanging = on;
    },
    close: () => {
      for (const socket of sockets) socket.destroy();
      line.close();
    },
  };
}

interface Interrupted {
  readonly error: { readonly kind: string };
  readonly run: string;
  readonly orders: readonly { readonly clientOrderId: string; readonly state: string }[];
}

/** Resumes when the lease of the ended process has expired. */
async function resumed({ run }: Scene, env?: Readonly<Record<string, string>>): Promise<Ended> {
  for (const end = Date.now() + 50_000; ; await pause(300)) {
    const ended = await run(['resume', '--json'], env);
    if (ended.exit !== 3 || Date.now() > end) return ended;
  }
}

/** Waits until the order rests and nothing is under way. */
async function restsIn({ venue }: Scene): Promise<void> {
  await rests(venue);
  await until(() => venue.orders[0]?.status === 'open');
  await pause(300);
}

describe.concurrent('a run that cannot be settled in time', () => {
  it.each([
    ['SIGTERM', 143],
    ['SIGINT', 130],
  ] as const)('%s while the venue is silent: names what is open, exit %i, and resume settles it', (signal, code) =>
    scene({ runbook: GUARDED, profile: WITHIN }, async (stage) => {
      const { venue, start, run } = stage;
      const running = start(RUN);
      await restsIn(stage);
      let silent = true;
      venue.rules.push(() => (silent ? { delayMs: 120_000 } : undefined));
      running.child.kill(signal);
      const ended = await running.ended;
      expect(ended.exit, ended.err).toBe(code);
      const said = document(ended.out) as Interrupted;
      const order = venue.orders[0];
      expect(said).toMatchObject({
        error: { kind: 'interrupted' },
        orders: [{ clientOrderId: order?.client_order_id }],
      });
      for (const words of [
        `order ${order?.client_order_id} (${order?.id})`,
        `runbook resume ${said.run}`,
        'the deadman switch stays armed',
      ])
        expect(ended.err).toContain(words);
      const verified = await run(['audit', 'verify', '--json']);
      expect([verified.exit, document(verified.out)]).toMatchObject([0, { ok: true }]);
      silent = false;
      const settled = await resumed(stage);
      expect([settled.exit, (document(settled.out) as Report).reason]).toEqual([1, `interrupted by ${signal}`]);
      expect([venue.placed.length, venue.orders.map(({ status }) => status)]).toEqual([1, ['canceled']]);
      expect(venue.switchTimeout).toBeUndefined();
    }),
  );

  it('a further signal gives it no more time', () =>
    scene({ runbook: RESTING, profile: WITHIN }, async (stage) => {
      const running = stage.start(RUN);
      await restsIn(stage);
      stage.venue.rules.push(() => ({ delayMs: 120_000 }));
      running.child.kill('SIGINT');
      const begun = Date.now();
      const again = setInterval(() => running.child.kill('SIGTERM'), 300);
      const ended = await running.ended.finally(() => clearInterval(again));
      expect(ended.exit).toBe(130);
      expect(Date.now() - begun).toBeLessThan(60_000);
    }));

  it('while the token ledger is locked by another process', () =>
    scene({ runbook: RESTING, profile: WITHIN }, async (stage) => {
      const { venue, start, files } = stage;
      const running = start(RUN);
      await restsIn(stage);
      const ledger = [...files().keys()].find((file) => file.endsWith('tokens.db'));
      const other = await openDatabase(String(ledger));
      other.exec('BEGIN EXCLUSIVE');
      running.child.kill('SIGTERM');
      const ended = await running.ended;
      other.exec('ROLLBACK');
      other.close();
      expect(ended.exit, ended.err).toBe(143);
      expect(ended.err).toContain(`order ${venue.orders[0]?.client_order_id}`);
    }));

  it('while its database hangs', { tags: ['postgres'] }, () =>
    scene({ runbook: RESTING, profile: `store: {postgres: {env: DATABASE_URL}}\n${WITHIN}` }, async (stage) => {
      const { venue, start, run } = stage;
      const line = await openLine(await server().database());
      const env = { VENUE_JWT: JWT, DATABASE_URL: line.url };
      const running = start(RUN, env);
      await restsIn(stage);
      line.hang(true);
      running.child.kill('SIGTERM');
      const ended = await running.ended;
      expect(ended.exit, ended.err).toBe(143);
      expect(ended.err).toContain(`order ${venue.orders[0]?.client_order_id}`);
      const [cancel] = /runbook cancel \S+ --by NAME/.exec(ended.err) ?? [];
      line.hang(false);
      const sent = await run((cancel ?? '').replace('NAME', 'ada').split(' ').slice(1), env);
      expect(sent.exit, `${ended.err}${sent.err}`).toBe(0);
      const settled = await resumed(stage, env);
      line.close();
      expect(settled.exit, settled.err).toBe(1);
      expect([venue.placed.length, venue.orders.map(({ status }) => status)]).toEqual([1, ['canceled']]);
    }),
  );

  it('a scheduler ends too, and names the run', { tags: ['long'] }, () =>
    scene({ runbook: SCHEDULED, profile: WITHIN }, async (stage) => {
      const { venue, start } = stage;
      const scheduler = start(['schedule', 'one.yaml', '--profile', 'p.yaml', '--port', '0', '--json']);
      await restsIn(stage);
      let silent = true;
      venue.rules.push(() => (silent ? { delayMs: 120_000 } : undefined));
      scheduler.child.kill('SIGTERM');
      const ended = await scheduler.ended;
      expect(ended.exit, ended.err).toBe(143);
      const said = JSON.parse(ended.out.trim().split('\n').at(-1) ?? '') as { error: { kind: string }; runs: string[] };
      expect(said).toMatchObject({ error: { kind: 'interrupted' }, runs: [expect.stringContaining('-one-')] });
      expect(ended.err).toContain(`order ${venue.orders[0]?.client_order_id}`);
      silent = false;
      expect((await resumed(stage)).exit).toBe(1);
      expect(venue.orders.map(({ status }) => status)).toEqual(['canceled']);
    }),
  );
});
