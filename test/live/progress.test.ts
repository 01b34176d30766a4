import { describe, expect, it } from 'vitest';
import { RESTING, rests, scene, until } from './scene.ts';

const RUN = ['run', 'one.yaml', '--profile', 'p.yaml'];
const ASKING = `runbook: one
dsl: 1
steps:
  - id: ok
    approve: {ask: "Go on?", by: [trader], within: 60s}
`;
/** Standard error so far. */
function heard(child: { readonly stderr: NodeJS.ReadableStream | null }): () => string {
  let text = '';
  child.stderr?.on('data', (piece: string) => {
    text += piece;
  });
  return () => text;
}

describe.concurrent('a run under way', () => {
  it('shows what it asks a person, until when, and how to answer', () =>
    scene({ runbook: ASKING }, async ({ start, run }) => {
      const running = start(RUN);
      const said = heard(running.child);
      await until(() => said().includes('--by NAME'));
      expect(said()).toMatch(
        /ok asks \(trader\).* until \d{4}-\S+Z.*`runbook approve \S+-one-\S+ steps\/ok --by NAME`/s,
      );
      expect((await run(['approve', 'last', 'ok', '--by', 'ada'])).out).toContain('the run reads it within a second');
      expect((await running.ended).exit).toBe(0);
    }));

  it('shows what is open when it is asked to end while the venue is silent, and again at a second Ctrl-C', () =>
    scene({ runbook: RESTING }, async ({ venue, start }) => {
      const running = start(RUN);
      const said = heard(running.child);
      await rests(venue);
      await until(() => venue.orders[0]?.status === 'open');
      venue.rules.push(() => ({ delayMs: 120_000 }));
      running.child.kill('SIGINT');
      await until(() => said().includes('as far as is known 1 order open: '));
      expect(said()).toMatch(/\(limit long BTC-USD, (?:processing|open)\)/);
      running.child.kill('SIGINT');
      await until(() => said().includes('still settling: as far as is known 1 order open: '));
      expect(said()).toContain('docs/live.md, Stop one run');
    }));

  it('does not read a cancel after its process died: the sender is warned, also if there is nothing to resume', () =>
    scene({ runbook: RESTING }, async ({ venue, start, run, path }) => {
      const running = start(RUN);
      await rests(venue);
      running.child.kill('SIGKILL');
      await running.ended;
      const sent = await run(['cancel', 'last', '--by', 'ada']);
      expect([sent.exit, sent.out]).toEqual([0, expect.stringContaining('NO PROCESS executes the run')]);
      expect(sent.out).toContain('`runbook resume ');
      const elsewhere = await run(['resume', '--state', 'elsewhere']);
      expect([elsewhere.exit, elsewhere.out]).toEqual([
        0,
        `there is nothing to resume in the state folder ${path}/elsewhere; \`--state DIR\` names another\n`,
      ]);
    }));
});
