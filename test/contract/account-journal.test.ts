import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type AccountJournal, readAct, sealAct } from '../../src/journal/account/acts.ts';
import { MemoryAccountJournal } from '../../src/journal/account/memory.ts';
import { openPostgresAccountJournal } from '../../src/journal/account/postgres.ts';
import { openSqliteAccountJournal } from '../../src/journal/account/sqlite.ts';
import { verifyChain } from '../../src/journal/chain.ts';
import type { StoredEntry } from '../../src/journal/store.ts';
import { onServer, postgresOfFile } from '../postgres.ts';
import { accessTo } from './postgres-access.ts';

const server = postgresOfFile();

/** Two openings of one store. */
const STORES: Readonly<Record<string, (folder: string) => Promise<readonly AccountJournal[]>>> = {
  memory: async () => {
    const one = new MemoryAccountJournal();
    return [one, one];
  },
  sqlite: (folder) => Promise.all([1, 2].map(() => openSqliteAccountJournal(join(folder, 'runbook.db')))),
  postgresql: async () => {
    const access = await accessTo(server());
    return Promise.all([1, 2].map(() => openPostgresAccountJournal(access)));
  },
};

const restored = (at: number) =>
  ({ type: 'store.restored', by: 'ada', at, data: { backupAt: 1, restoredAt: at, epoch: 7 } }) as const;

const refused = (at: number) =>
  ({ type: 'start.refused', by: 'ada', at, data: { runbook: 'entry', kind: 'killed', why: 'by ada' } }) as const;

function testStore(name: string): void {
  let folder: string;
  let journals: readonly AccountJournal[];
  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'account-'));
    journals = (await STORES[name]?.(folder)) ?? [];
  });
  afterEach(async () => {
    for (const each of journals) await each.close();
    rmSync(folder, { recursive: true });
  });

  it('keeps the acts of each account in their order, from several openings', async () => {
    await Promise.all(Array.from({ length: 10 }, (_, at) => journals[at % 2]?.append('venue main', restored(at))));
    await journals[1]?.append('venue other', restored(99));
    const acts = await journals[0]?.find('venue main', ['store.restored']);
    expect(acts?.map(({ seq }) => seq)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
    expect(new Set(acts?.map(({ at }) => at)).size).toBe(10);
    expect(verifyChain((await journals[0]?.lines('venue main')) ?? [])).toMatchObject({ ok: true, entries: 10 });
    expect(await journals[0]?.find('venue other', ['store.restored'])).toMatchObject([
      { seq: 1, by: 'ada', type: 'store.restored', account: 'venue other' },
    ]);
    expect(await journals[0]?.accounts()).toEqual(['venue main', 'venue other']);
    expect(await journals[0]?.find('nobody', ['store.restored'])).toEqual([]);
  });

  it('finds acts by their type, in the order in which they were done', async () => {
    const [journal] = journals;
    await journal?.append('main', refused(1));
    await journal?.append('main', restored(2));
    await journal?.append('main', refused(3));
    expect((await journal?.find('main', ['store.restored', 'start.refused']))?.map(({ at }) => at)).toEqual([1, 2, 3]);
    expect((await journal?.find('main', ['start.refused']))?.map(({ at }) => at)).toEqual([1, 3]);
    expect((await journal?.lines('main'))?.at(-1)).toMatchObject({ seq: 3, type: 'start.refused' });
  });
}

for (const name of Object.keys(STORES))
  describe(`the journal of an account: ${name}`, onServer(name), () => testStore(name));

describe('the chain of acts', () => {
  const chain: StoredEntry[] = [];
  for (const at of [1, 2, 3]) chain.push(sealAct('main', restored(at), chain.at(-1), 'here'));

  it('is read as it was written, and has another name in another store', () => {
    expect(verifyChain(chain)).toMatchObject({ ok: true, entries: 3 });
    expect(chain.map(readAct)).toMatchObject([{ at: 1 }, { at: 2 }, { at: 3 }]);
    expect(sealAct('main', restored(1), undefined, 'elsewhere').run).not.toBe(chain[0]?.run);
  });

  it.each<[string, (acts: StoredEntry[]) => unknown]>([
    [
      'an act whose text was changed',
      (acts) => acts.splice(1, 1, { ...chain[1], line: chain[1]?.line.replace('ada', 'eve') } as StoredEntry),
    ],
    ['an act that was removed', (acts) => acts.splice(0, 1)],
    ['acts whose order was changed', (acts) => acts.reverse()],
    ['the act of another account', (acts) => acts.splice(0, 1, sealAct('other', restored(1), undefined, 'here'))],
  ])('shows %s', (_what, change) => {
    const acts = [...chain];
    change(acts);
    expect(verifyChain(acts).ok).toBe(false);
  });
});
