/** Tests that rounds which a live run holds back are kept beside its journal: who resumes the run appends them, readers see them. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { VirtualClock } from '../../src/base/clock.ts';
import { toHead, verifyChain } from '../../src/journal/chain.ts';
import type { Entry } from '../../src/journal/entry.ts';
import { readLines } from '../../src/journal/reading.ts';
import { appendHeldLines, keepHeldLines } from '../../src/journal/rounds/held-lines.ts';
import { type StoredEntry, StoreError } from '../../src/journal/store.ts';
import { MemoryStore } from '../../src/journal/stores/memory.ts';
import { readAllEntries } from './read-all.ts';
import { newWriter, START, startedData } from './sample.ts';

const KEY = 'held r1';
const pick = ({ at, type, step, data }: Entry) => JSON.stringify({ at, type, step, data });

class Run {
  readonly store = new MemoryStore();
  readonly clock = new VirtualClock(START);
  readonly writer = newWriter(this.store, 'r1', { clock: this.clock });
  readonly appended: string[] = [];
  /** How many of them were appended when what is held back was kept last. */
  kept = 0;
  private rounds = 0;
  private heartbeats = 1;

  constructor() {
    this.append('run.started', startedData());
  }

  private append(...entry: Parameters<typeof this.writer.append>): void {
    this.appended.push(pick(this.writer.append(...entry) as unknown as Entry));
  }

  /** A round that reads the price, or nothing new, and in whose middle `between` happens. */
  round({ price = '1', between = () => {} } = {}): void {
    const step = `steps/1:repeat[${this.rounds}]/do`;
    this.rounds += 1;
    this.append('feed.read', { call: `${step}#feed:mid`, name: 'mid', value: price, at: START }, step);
    between();
    this.append('step.decided', { what: 'if', expression: 'a', inputs: { a: price }, value: false }, step);
    this.clock.skipTo(this.clock.now() + 1000);
  }

  heartbeat(between = () => {}): void {
    this.heartbeats += 1;
    const call = `deadman#${this.heartbeats}`;
    const params = { market_id: 'BTC-USD', timeout: 60_000 };
    const [endpoint, path] = ['POST /cancel_all_after', '/cancel_all_after'];
    this.append('call.intended', { call, endpoint, params, class: 'protect', purpose: 'keep-alive' }, 'deadman');
    const attempt = { n: 1, method: 'POST', path, params, digest: 'd', tokens: 1, epoch: 1, waitedMs: 0 };
    this.append('call.attempted', { call, ...attempt }, 'deadman');
    between();
    const answer = { kind: 'confirmed', status: 200, headers: {}, success: true, result: {} } as const;
    this.append('call.settled', { call, ...answer, sentAt: this.clock.now() }, 'deadman');
    this.append('deadman.moved', { event: 'renewed', market: 'BTC-USD', timeoutMs: 60_000 }, 'deadman');
  }

  note(): void {
    this.append('variable.set', { name: 'a', value: `${this.appended.length}` }, 'steps/2:set');
  }

  async keep(): Promise<void> {
    this.kept = this.appended.length;
    // As a live run does.
    void this.writer.flushOlder(300_000, 300_000);
    this.writer.keepHeld(0, 0);
    await this.clock.quiesce();
  }

  readonly readStored = async () => [...readLines(await this.store.read('r1'))].map(pick);
  readonly readAll = async () => (await readAllEntries(this.store, 'r1')).map(pick);
}

describe('what a run holds back', () => {
  it('is found by the next process as far as it was kept, whatever it is made of', async () => {
    const act = fc.oneof(
      { weight: 6, arbitrary: fc.record({ do: fc.constantFrom('round', 'news', 'heartbeat', 'within') }) },
      { weight: 2, arbitrary: fc.record({ do: fc.constantFrom('keep', 'keep', 'flush', 'note') }) },
    );
    await fc.assert(
      fc.asyncProperty(fc.array(act, { maxLength: 60 }), async (acts) => {
        const run = new Run();
        for (const [n, { do: what }] of acts.entries()) {
          if (what === 'round') run.round();
          if (what === 'news') run.round({ price: `${n}` });
          if (what === 'within') run.round({ between: () => run.heartbeat() });
          if (what === 'heartbeat') run.heartbeat(() => run.round());
          if (what === 'note') run.note();
          if (what === 'keep') await run.keep();
          if (what === 'flush') await run.writer.flush();
        }
        const before = await run.readAll();
        await appendHeldLines(run.store, 'r1', 2);
        const lines = await run.store.read('r1');
        const found = await run.readStored();
        expect(verifyChain(lines).ok).toBe(true);
        expect(found).toEqual(run.appended.slice(0, found.length));
        expect(found.length).toBeGreaterThanOrEqual(run.kept);
        // Readers saw the same, and nothing is left beside the journal.
        expect(before).toEqual(found);
        expect(await run.store.accountRows(KEY)).toEqual([]);
      }),
    );
  });

  it('is kept once at a time, and removed once, at an end behind which something was kept', async () => {
    const countChanges = (run: Run, slow = Promise.resolve()) => {
      const change = run.store.changeAccountRows.bind(run.store);
      let changes = 0;
      run.store.changeAccountRows = async (...row) => {
        changes += 1;
        await slow;
        await change(...row);
      };
      return () => changes;
    };
    const none = new Run();
    const never = countChanges(none);
    none.round();
    await none.writer.close();
    expect(never()).toBe(0);
    const run = new Run();
    let go = () => {};
    const changes = countChanges(run, new Promise<void>((resolve) => (go = resolve)));
    for (let n = 0; n < 3; n += 1) run.round();
    await run.writer.flush();
    for (let n = 0; n < 3; n += 1) {
      run.round();
      await run.keep();
    }
    expect(changes()).toBe(1);
    go();
    await run.writer.close();
    await run.writer.close();
    expect(changes()).toBe(2);
  });

  it('grows no journal while it is kept, and is in it as one line at the end', async () => {
    const run = new Run();
    for (let n = 0; n < 4; n += 1) run.round({ price: `${n}` });
    await run.writer.flush();
    const { length } = await run.store.read('r1');
    for (let n = 0; n < 50; n += 1) {
      run.round({ price: `${n}`, between: n % 20 === 0 ? () => run.heartbeat() : () => {} });
      await run.keep();
    }
    expect(await run.readAll()).toEqual(run.appended);
    expect((await run.store.read('r1')).length - length).toBeLessThan(8);
    await run.writer.close();
    expect(await run.readStored()).toEqual(run.appended);
    expect(await run.store.accountRows(KEY)).toEqual([]);
  });

  it('is kept where it is older than asked, or reads something new, and only then', async () => {
    const run = new Run();
    const isKept = async () => {
      run.writer.keepHeld(30_000, 5000);
      await run.clock.quiesce();
      return (await run.readAll()).length === run.appended.length;
    };
    for (let n = 0; n < 3; n += 1) run.round();
    await run.writer.flush();
    for (let n = 0; n < 29; n += 1) run.round();
    expect(await isKept()).toBe(false);
    run.round();
    expect(await isKept()).toBe(true);
    // Counted from what was not kept yet.
    for (let n = 0; n < 3; n += 1) run.round();
    run.round({ price: '2' });
    run.clock.skipTo(run.clock.now() + 3999);
    expect(await isKept()).toBe(false);
    run.clock.skipTo(run.clock.now() + 1);
    expect(await isKept()).toBe(true);
  });

  it('is nothing once another line follows, and nothing where it was changed', async () => {
    const run = new Run();
    for (let n = 0; n < 5; n += 1) run.round();
    await run.keep();
    const [row] = await run.store.accountRows(KEY);
    const text = String(row?.text);
    const held = await run.readAll();
    expect(held.length).toBe(run.appended.length);
    for (const other of [
      '',
      '{}',
      '[1]',
      text.replace('step.decided', 'step.ended'),
      text.replace('"seq":', '"seq":1'),
    ]) {
      await run.store.changeAccountRows(KEY, () => [{ name: row?.name ?? '', text: other }]);
      expect((await run.readAll()).length).toBeLessThan(held.length);
      await appendHeldLines(run.store, 'r1', 1);
      expect(await run.store.accountRows(KEY)).toEqual([]);
    }
    run.note();
    await run.writer.flush();
    const lines = await run.store.read('r1');
    await run.store.changeAccountRows(KEY, () => [{ name: row?.name ?? '', text }]);
    expect(await run.readAll()).toEqual(run.appended);
    await appendHeldLines(run.store, 'r1', 1);
    expect(await run.store.read('r1')).toEqual(lines);
  });

  it('is not taken by a process that has lost its lease', async () => {
    const run = new Run();
    for (let n = 0; n < 5; n += 1) run.round();
    await run.keep();
    const [row] = await run.store.accountRows(KEY);
    await keepHeldLines(run.store, { run: 'r1', epoch: 99 }, []);
    await keepHeldLines(run.store, { run: 'r1', epoch: 98 }, [{ ...(await run.store.read('r1'))[0] } as StoredEntry]);
    expect(await run.store.accountRows(KEY)).toContainEqual(row);
    expect(await run.readAll()).toEqual(run.appended);
    await appendHeldLines(run.store, 'r1', 1);
    expect(await run.store.accountRows(KEY)).toEqual([]);
    expect(await run.readStored()).toEqual(run.appended);
  });

  it('is written into the journal where it cannot be kept beside it', async () => {
    const run = new Run();
    for (let n = 0; n < 5; n += 1) run.round();
    await run.writer.flush();
    run.store.changeAccountRows = async () => {
      throw new StoreError('unavailable', 'the disk is full');
    };
    for (let n = 0; n < 5; n += 1) run.round();
    await run.keep();
    expect(await run.readStored()).toEqual(run.appended);
    await run.writer.close();
    expect(run.writer.failure).toBeUndefined();
  });

  it('is followed by what the next process writes', async () => {
    const run = new Run();
    for (let n = 0; n < 9; n += 1) run.round();
    await run.keep();
    await appendHeldLines(run.store, 'r1', 2);
    const next = newWriter(run.store, 'r1', { epoch: 2, head: toHead(await run.store.last('r1')) });
    next.append('variable.set', { name: 'a', value: '1' }, 'steps/2:set');
    await next.flush();
    run.note();
    await expect(run.writer.flush()).rejects.toMatchObject({ reason: 'fenced' });
    expect(verifyChain(await run.store.read('r1')).ok).toBe(true);
  });
});
