import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type AccountJournal, readActs, type StoredAct, sealAct } from '../../src/journal/account/acts.ts';
import { MemoryAccountJournal } from '../../src/journal/account/memory.ts';
import { openPostgresAccountJournal } from '../../src/journal/account/postgres.ts';
import { openSqliteAccountJournal } from '../../src/journal/account/sqlite.ts';
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
    const acts = await journals[0]?.read('venue main');
    expect(acts?.map(({ seq }) => seq)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
    expect(new Set(acts?.map(({ at }) => at)).size).toBe(10);
    expect(await journals[0]?.read('venue other')).toMatchObject([{ seq: 1, by: 'ada', type: 'store.restored' }]);
    expect(await journals[0]?.read('nobody')).toEqual([]);
  });
}

for (const name of Object.keys(STORES))
  describe(`the journal of an account: ${name}`, onServer(name), () => testStore(name));

describe('the chain of acts', () => {
  const chain: StoredAct[] = [];
  for (const at of [1, 2, 3]) chain.push(sealAct('main', restored(at), chain.at(-1)));

  it('is read as it was written', () => {
    expect(readActs('main', chain)).toMatchObject([{ at: 1 }, { at: 2 }, { at: 3 }]);
  });

  it.each<[string, (acts: StoredAct[]) => unknown]>([
    [
      'an act whose text was changed',
      (acts) => acts.splice(1, 1, { ...chain[1], line: chain[1]?.line.replace('ada', 'eve') } as StoredAct),
    ],
    ['an act that was removed', (acts) => acts.splice(0, 1)],
    ['acts whose order was changed', (acts) => acts.reverse()],
    ['the act of another account', (acts) => acts.splice(0, 3, sealAct('other', restored(1), undefined))],
  ])('shows %s', (_what, change) => {
    const acts = [...chain];
    change(acts);
    expect(() => readActs('main', acts)).toThrow(expect.objectContaining({ reason: 'damaged' }));
  });
});
