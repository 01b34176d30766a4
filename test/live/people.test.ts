/** Runs a live run with the people of a profile: the command refuses an approval that does not count, and so does the run. */
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { openSharedSqlite } from '../../src/journal/shared/sqlite.ts';
import { openSqliteStore } from '../../src/journal/stores/sqlite.ts';
import { document, scene } from './scene.ts';

const ASKING = `runbook: one
dsl: 1
steps:
  - id: ask
    approve: {ask: go on?, by: [desk], within: 30s}
`;

it('an approval counts from a person with the role that is asked', { tags: ['long'] }, () =>
  scene(
    { runbook: ASKING, profile: 'people: {bob: {roles: [desk]}, eve: {roles: [risk]}}' },
    async ({ live, run, path }) => {
      const running = live();
      const file = (name: string) => join(path, '.runbook', name);
      let name = '';
      const isAsked = async () => {
        const store = await openSqliteStore(file('runbook.db'));
        const [row] = await store.runs();
        const entries = row === undefined ? [] : await store.read(row.run);
        await store.close();
        name = row?.run ?? '';
        return entries.some(({ type }) => type === 'approval.asked');
      };
      const patience = { timeout: 200_000, interval: 200 };
      await expect.poll(isAsked, patience).toBe(true);
      const approve = (by: string) => run(['approve', name, 'ask', '--by', by, '--json']);
      for (const by of ['eve', 'mallory']) {
        const refused = await approve(by);
        expect([refused.exit, document(refused.out)]).toMatchObject([1, { error: { kind: 'refused' } }]);
      }
      const shared = await openSharedSqlite({ file: file('shared.db'), ledgerFile: join(path, 'tokens.db') });
      await shared.mailbox.post({ run: name, command: 'approve', by: 'eve', at: Date.now(), step: 'steps/1:ask' });
      await expect.poll(() => shared.mailbox.pending(name), patience).toEqual([]);
      await shared.close();
      expect((await approve('bob')).exit).toBe(0);
      expect((await running).exit).toBe(0);
      expect((await run(['audit', 'verify', '--json'])).exit).toBe(0);
      const { acts } = document((await run(['audit', 'people', '--json'])).out) as {
        acts: { who: string; act: string }[];
      };
      expect(acts.filter(({ act }) => act === 'approve').map(({ who }) => who)).toEqual(['bob']);
    },
  ),
);
