/** The rows of an account's ledger beside its journal: which are used, and which runs are folded again. */
import { describe, expect, it } from 'vitest';
import { compareLedger, keepListed, type LedgerOf, loadLedger, updateLedgers } from '../../src/app/account/ledger.ts';
import { AccountLedger } from '../../src/gateway/limits/account-ledger.ts';
import type { RunLedger } from '../../src/gateway/limits/ledger-rows.ts';
import { MemoryStore } from '../../src/journal/stores/memory.ts';
import { newWriter, START, startedData } from '../journal/sample.ts';
import { Script, TERMS } from '../report/sample-run.ts';

const KEY = 'https://venue.example main';

/** A store with a live run of the account for each name. */
async function keep(...runs: readonly string[]): Promise<LedgerOf & { readonly store: MemoryStore }> {
  const store = new MemoryStore();
  for (const run of runs) await write(store, run);
  return { store, name: 'main', key: KEY };
}

async function write(
  store: MemoryStore,
  run: string,
  url = 'https://venue.example',
  mode: 'live' | 'simulated' = 'live',
) {
  const writer = newWriter(store, run);
  writer.append('run.started', startedData({ mode, settings: { base_url: url } }));
  writer.append('run.ended', { outcome: 'succeeded', outputs: {} });
  await writer.close();
}

const names = (loaded: Awaited<ReturnType<typeof loadLedger>>) => loaded.parts.runs.map(({ run }) => run).sort();

describe('the rows of a ledger', () => {
  it('are made once, and used while the journal of their run ends as it did', async () => {
    const of = await keep('a', 'b');
    expect((await loadLedger(of)).folded).toBe(2);
    const again = await loadLedger(of);
    expect([again.folded, names(again)]).toEqual([0, ['a', 'b']]);
    await write(of.store, 'c');
    expect((await loadLedger(of)).folded).toBe(1);
    expect((await loadLedger(of, { anew: true })).folded).toBe(3);
  });

  it('are made again where they hold up to another entry, or are of another version', async () => {
    const of = await keep('a');
    await loadLedger(of);
    const [row] = await of.store.accountRows(KEY);
    for (const [from, to] of [
      [/"hash":"[0-9a-f]+"/, '"hash":"0"'],
      [/"seq":\d+/, '"seq":1'],
      [/"version":\d+/, '"version":0'],
    ] as const) {
      const text = row?.text.replace(from, to) ?? '';
      expect(text).not.toBe(row?.text);
      await of.store.changeAccountRows(KEY, () => [{ name: row?.name ?? '', text }]);
      expect((await loadLedger(of)).folded).toBe(1);
      expect(await of.store.accountRows(KEY)).toEqual([row]);
    }
  });

  it('leave out dry-runs and runs of another venue, and keep what an archive took out of the store', async () => {
    const of = await keep('a');
    await write(of.store, 'dry', 'https://venue.example', 'simulated');
    await write(of.store, 'other', 'https://other.example');
    expect(names(await loadLedger(of))).toEqual(['a']);
    // That another run is of another venue is known the next time.
    expect((await loadLedger(of)).folded).toBe(0);
    const last = (await of.store.read('a')).at(-1);
    expect(await of.store.remove('a', last?.hash ?? '')).toBe(true);
    expect(names(await loadLedger(of))).toEqual(['a']);
  });

  it('are made before an archive takes their run out of the store', async () => {
    const of = await keep('a');
    await updateLedgers(of.store, await of.store.runs());
    expect(await of.store.remove('a', (await of.store.read('a')).at(-1)?.hash ?? '')).toBe(true);
    expect(names(await loadLedger(of))).toEqual(['a']);
  });

  it('say that the sums lack an archived run whose row another version wrote', async () => {
    const of = await keep('a');
    await updateLedgers(of.store, await of.store.runs());
    await of.store.remove('a', (await of.store.read('a')).at(-1)?.hash ?? '');
    const [row] = await of.store.accountRows(KEY);
    const rewrite = (text = '') => of.store.changeAccountRows(KEY, () => [{ name: 'run a', text }]);
    await rewrite(row?.text.replace(/"version":\d+/, '"version":0'));
    const { startedAt, lastAt } = JSON.parse(row?.text ?? '').ledger;
    expect((await loadLedger(of)).parts).toMatchObject({
      runs: [],
      unknown: { why: 'the row "run a" cannot be read', since: startedAt, until: lastAt },
    });
    await rewrite('{}');
    expect((await loadLedger(of)).parts.unknown).toMatchObject({ since: 0, until: Number.POSITIVE_INFINITY });
  });

  it('say that the sums lack a journal that cannot be read', async () => {
    const of = await keep();
    const writer = newWriter(of.store, 'a');
    writer.append('run.started', startedData({ mode: 'live', settings: { base_url: 'https://venue.example' } }));
    await writer.close();
    const [first] = await of.store.read('a');
    if (first === undefined) throw new Error('nothing was written');
    await of.store.append([{ ...first, seq: 2, type: 'variable.set', line: '{' }], { durable: true, epoch: 1 });
    expect((await loadLedger(of)).parts.unknown).toMatchObject({
      until: START,
      why: expect.stringContaining('journal of a'),
    });
    const other = await keep('b');
    for (const text of ['{', '{}']) {
      await other.store.changeAccountRows(KEY, () => [{ name: 'run b', text }]);
      expect((await loadLedger(other)).parts.unknown).toBeUndefined();
    }
    await other.store.changeAccountRows(KEY, () => [{ name: 'gone', text: '{' }]);
    expect((await loadLedger(other)).parts.unknown?.why).toContain('gone');
  });

  it('are compared with their journals: what the venue showed of an order since is no change', async () => {
    const store = new MemoryStore();
    const of = { store, name: 'main', key: KEY };
    const script = new Script(store);
    script.append('run.started', startedData({ mode: 'live', settings: { base_url: 'https://venue.example' } }));
    const call = script.intend('POST /orders', {}, 'steps/o', { intent: TERMS });
    script.attempt(call, 'POST /orders', {}, 1, 'steps/o');
    await script.close();
    const { clientOrderId } = TERMS;
    await loadLedger(of);
    const compare = async () => (await compareLedger(of, store)).changed;
    const keep = (change: (sums: AccountLedger) => readonly RunLedger[]) =>
      keepListed(of, ({ baselines, ...kept }) => ({
        ...kept,
        runs: change(new AccountLedger({ ...kept, baselines })),
      }));
    expect(await compare()).toEqual([]);
    await keep((sums) => sums.name(new Map([[clientOrderId, 'BTC-USD@7']])));
    expect(await compare()).toEqual([]);
    await keep((sums) => sums.end(new Set([clientOrderId])));
    expect(await compare()).toEqual([]);
    const row = (await store.accountRows(KEY)).find(({ name }) => name === 'run r1');
    expect(row?.text).toContain('"open":"0","orderId":"BTC-USD@7"');
    // It is in no journal, so a rebuild keeps it.
    const rows = await store.accountRows(KEY);
    expect((await loadLedger(of, { anew: true })).folded).toBe(1);
    expect(await store.accountRows(KEY)).toEqual(rows);
    for (const [from, to, kind] of [
      ['"orders":1', '"orders":0', 'edited'],
      ['"filled":"0"', '"filled":"0.1"', 'edited'],
      [/"seq":\d+/, '"seq":99', 'inserted'],
    ] as const) {
      const text = row?.text.replace(from, to) ?? '';
      expect(text).not.toBe(row?.text);
      await store.changeAccountRows(KEY, () => [{ name: 'run r1', text }]);
      expect(await compare()).toMatchObject([{ run: 'r1', kind }]);
    }
  });
});
