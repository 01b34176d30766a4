import { expect, it } from 'vitest';
import { JWT } from './mock-venue.ts';
import { document, LIMIT, scene } from './scene.ts';
import { webhook } from './webhook.ts';

const NEXT = 'runbook: one\ndsl: 1\nsteps:\n  - read_account: {}\n  - wait: 1s\n';

it('reports an order that appears after its run failed in the next run: on the terminal, to ops, and in its journal', {
  tags: ['long'],
}, async () => {
  await webhook(204, async (url, posted) => {
    const env = { VENUE_JWT: JWT, OPS_WEBHOOK: url };
    await scene(
      { runbook: LIMIT, profile: 'notify: {ops: {webhook: {env: OPS_WEBHOOK}}}' },
      async ({ venue, live, run, write }) => {
        venue.rules.push(({ method, path }) =>
          method === 'POST' && path === '/orders' ? { done: true, cut: true } : undefined,
        );
        venue.hiddenMs = 3_600_000;
        const lost = await live([], env);
        const [order] = lost.report.orders;
        expect([lost.exit, lost.report.outcome, order?.state]).toEqual([1, 'failed', 'absent']);
        venue.hiddenMs = 0;
        for (const each of venue.orders) Object.assign(each, { status: 'closed', total_filled_size: '0.0001' });
        // A row of another program that cannot be read hides nothing.
        venue.orders.push({ ...venue.orders[0], id: 'BTC-USD@7', client_order_id: 'theirs', side: null } as never);
        write('one.yaml', NEXT);
        const next = await live([], env);
        expect([next.exit, next.report.outcome]).toEqual([0, 'succeeded']);
        const sentence = `is closed at the venue, with 0.0001 filled, although the journal of run`;
        expect(next.err).toContain(`client order id ${order?.clientOrderId}) ${sentence}`);
        expect(posted).toMatchObject([{ to: 'ops', severity: 'error', text: expect.stringContaining(sentence) }]);
        // The look-up is one request in addition to the run's own, and counts among its tokens.
        expect(next.report.requests.map(({ method, path }) => `${method} ${path}`).sort()).toEqual([
          'GET /account',
          'GET /orders',
          'GET /orders',
        ]);
        const entries = (await run(['audit', 'export', 'last', '--format', 'jsonl'])).out
          .trim()
          .split('\n')
          .map((line) => JSON.parse(line) as { type: string; actor: string; data: object });
        expect(entries.filter(({ type }) => type === 'account.late_orders')).toMatchObject([
          {
            actor: 'recall',
            data: {
              inDoubt: 1,
              late: [
                {
                  clientOrderId: order?.clientOrderId,
                  orderId: venue.orders[0]?.id,
                  recorded: 'absent',
                  status: 'closed',
                  filled: '0.0001',
                },
              ],
              requests: [{ status: 200, success: true }],
            },
          },
        ]);
        expect((await run(['audit', 'show', 'last'])).out).toMatch(/order .* is closed at the venue, .* absent/);
        expect((await run(['audit', 'summary', 'last'])).out).toContain('alarm LateOrderOfEarlierRun');
        expect((await run(['replay', 'last'])).exit).toBe(0);
        expect(document((await run(['audit', 'verify', '--json'])).out)).toMatchObject({ ok: true });
      },
    );
  });
});
