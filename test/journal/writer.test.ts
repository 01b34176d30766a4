import { describe, expect, it } from 'vitest';
import { VirtualClock } from '../../src/base/clock.ts';
import { readEntry, verifyChain } from '../../src/journal/chain.ts';
import type { Entry } from '../../src/journal/entry.ts';
import { type AppendOptions, type RunRow, StoreAway, type StoredEntry, StoreError } from '../../src/journal/store.ts';
import { MemoryStore } from '../../src/journal/stores/memory.ts';
import { type JournalWriter, updateRow } from '../../src/journal/writer.ts';
import { appendMany, newWriter, START, startedData } from './sample.ts';

describe('JournalWriter', () => {
  it('seals at once, numbers without gaps and stores nothing before a flush', async () => {
    const store = new MemoryStore();
    const writer = newWriter(store, 'r1');
    const first = writer.append('run.started', startedData());
    const second = writer.append('variable.set', { name: 'a', value: '1' }, 'steps/0:set', 'human:ann');
    expect([first.seq, second.seq, second.prev]).toEqual([1, 2, first.hash]);
    expect(second).toMatchObject({ step: 'steps/0:set', actor: 'human:ann', at: START, account: 'main', epoch: 1 });
    expect(await store.read('r1')).toEqual([]);
    await writer.flush();
    expect((await store.read('r1')).map(readEntry)).toEqual([first, second]);
    expect(writer.storedHead).toEqual({ seq: 2, hash: second.hash });
  });

  it('makes one commit for everything flushed in one turn', async () => {
    const store = new MemoryStore();
    const writer = newWriter(store, 'r1');
    const lane = async (name: string, microtasks: number) => {
      for (let index = 0; index < microtasks; index += 1) await null;
      writer.append('variable.set', { name, value: '1' });
      await writer.flush();
      expect(writer.storedHead.seq).toBeGreaterThan(0);
    };
    writer.append('run.started', startedData());
    await Promise.all([writer.flush(), lane('a', 0), lane('b', 1), lane('c', 7)]);
    expect(store.appends).toBe(1);
    expect(await store.read('r1')).toHaveLength(4);
  });

  it('resolves within a turn of the virtual clock', async () => {
    const clock = new VirtualClock(START);
    const writer = newWriter(new MemoryStore(), 'r1', { clock });
    const times: number[] = [];
    const work = async () => {
      writer.append('run.started', startedData());
      for (let index = 0; index < 5; index += 1) {
        await writer.flush();
        writer.append('variable.set', { name: 'a', value: String(index) });
        times.push(clock.now());
      }
    };
    clock.at(START + 60_000, () => {});
    await clock.runUntil(work());
    expect(times).toEqual([START, START, START, START, START]);
  });

  it('commits in sequence while a slow disk still works on the commit before', async () => {
    let release: () => void = () => {};
    const slow = new Promise<void>((resolve) => {
      release = resolve;
    });
    const store = new MemoryStore({ before: (entries) => (entries[0]?.seq === 1 ? slow : Promise.resolve()) });
    const writer = newWriter(store, 'r1');
    writer.append('run.started', startedData());
    const first = writer.flush();
    await new Promise((resolve) => setImmediate(resolve));
    writer.append('variable.set', { name: 'a', value: '1' });
    let secondDone = false;
    const second = writer.flush().then(() => {
      secondDone = true;
    });
    await new Promise((resolve) => setImmediate(resolve));
    expect(secondDone).toBe(false);
    release();
    await Promise.all([first, second]);
    expect((await store.read('r1')).map((entry) => entry.seq)).toEqual([1, 2]);
  });

  it.each([true, false])('does not buffer a long turn completely (durable: %s)', async (durable) => {
    const store = new MemoryStore();
    const writer = newWriter(store, 'r1', { durable });
    writer.append('run.started', startedData());
    // One turn: only promises are awaited.
    for (let index = 0; index < 2000; index += 1) {
      writer.append('variable.set', { name: 'a', value: String(index) });
      await Promise.resolve();
      await Promise.resolve();
      await Promise.resolve();
      await Promise.resolve();
    }
    expect(writer.head.seq - writer.storedHead.seq).toBeLessThan(512);
    await writer.close();
    expect(verifyChain(await store.read('r1'))).toMatchObject({ ok: true, entries: 2001 });
  });

  it('fails every time after one failed commit, with the same error, for every caller', async () => {
    const store = new MemoryStore({ failAfter: 1 });
    const writer = newWriter(store, 'r1');
    writer.append('run.started', startedData());
    await writer.flush();
    writer.append('variable.set', { name: 'a', value: '1' });
    const error = await writer.flush().catch((reason: unknown) => reason);
    expect(error).toMatchObject({ name: 'StoreError', reason: 'unavailable' });
    expect(writer.failure).toBe(error);
    const told: string[] = [];
    writer.subscribe((entry) => void told.push(entry.type));
    writer.append('variable.set', { name: 'b', value: '2' });
    await expect(writer.flush()).rejects.toBe(error);
    await expect(writer.close()).rejects.toBe(error);
    expect(told).toEqual(['variable.set']);
    expect(await store.read('r1')).toHaveLength(1);
  });

  it.each([true, false])('stores nothing behind a failed commit, and says so to all (durable: %s)', async (durable) => {
    let fail: () => void = () => {};
    const slow = new Promise<void>((_, reject) => {
      fail = () => reject(new StoreError('unavailable', 'the disk is full'));
    });
    let asked = 0;
    const before = () => {
      asked += 1;
      return slow;
    };
    const store = new MemoryStore({ before });
    const writer = newWriter(store, 'r1', { durable });
    writer.append('run.started', startedData());
    const first = writer.close().catch((reason: unknown) => reason);
    await new Promise((resolve) => setImmediate(resolve));
    // Due behind a commit of which nothing is known yet.
    writer.append('variable.set', { name: 'a', value: '1' });
    const second = writer.close().catch((reason: unknown) => reason);
    fail();
    const error = await first;
    expect(error).toMatchObject({ name: 'StoreError', reason: 'unavailable' });
    expect(await second).toBe(error);
    writer.append('variable.set', { name: 'b', value: '2' });
    const ways = [
      () => writer.flush(),
      () => writer.flushWritten(),
      () => writer.flushOlder(5, 5),
      () => writer.close(),
    ];
    for (const way of [...ways, ...ways]) await expect(way()).rejects.toBe(error);
    expect([asked, await store.read('r1')]).toEqual([1, []]);
  });

  it('numbers what is held back as the line that will stand for it', async () => {
    const store = new MemoryStore();
    const writer = newWriter(store, 'r1');
    writer.append('run.started', startedData());
    const decided = { what: 'if', expression: 'a', inputs: {}, value: false } as const;
    const entries = [0, 1, 2].map((n) => writer.append('step.decided', decided, `steps/1:repeat[${n}]/do/1:stop`));
    expect(entries.map(({ seq, hash, prev }) => [seq, hash === '', prev])).toEqual([
      [2, false, expect.any(String)],
      [3, true, entries[0]?.hash],
      [3, true, entries[0]?.hash],
    ]);
    await writer.flush();
    expect((await store.read('r1')).map(({ seq, type }) => [seq, type]).at(-1)).toEqual([3, 'round.idle']);
  });

  describe('with patience for a store that does not answer', () => {
    /** A store whose nth appends get no answer; `lost`: the entries are stored all the same. */
    function flaky(away: number, lost = false): MemoryStore {
      const store = new MemoryStore();
      const append = store.append.bind(store);
      let left = away;
      store.append = async (entries, options) => {
        if (left === 0) return append(entries, options);
        left -= 1;
        if (lost) await append(entries, options).catch(() => {});
        throw new StoreAway('the store does not answer');
      };
      return store;
    }
    async function write(store: MemoryStore, meanwhile?: (seen: JournalWriter) => void): Promise<JournalWriter> {
      const clock = new VirtualClock(START);
      const writer = newWriter(store, 'r1', { clock, patienceMs: 10_000 });
      writer.append('run.started', startedData());
      clock.at(START + 400, () => meanwhile?.(writer));
      await clock.runUntil(writer.flush());
      writer.append('variable.set', { name: 'a', value: '1' });
      await clock.runUntil(writer.flush());
      return writer;
    }

    it.each([
      ['was not stored', false],
      ['was stored, although its answer was lost', true],
    ])('goes on behind a commit that %s', async (_what, lost) => {
      const store = flaky(3, lost);
      const seen: unknown[] = [];
      const writer = await write(store, ({ away }) => seen.push(away?.message));
      expect([seen, writer.away]).toEqual([['the store does not answer'], undefined]);
      expect(verifyChain(await store.read('r1'))).toMatchObject({ ok: true, entries: 2 });
    });

    it('gives up after its time, and does not take what another process wrote for its own', async () => {
      await expect(write(flaky(100))).rejects.toMatchObject({ reason: 'unavailable' });
      const store = flaky(1);
      const other = newWriter(store, 'r1', { boot: 'boot-2' });
      await expect(
        write(store, () => {
          other.append('run.started', startedData({ seed: 2 }));
          void other.flush();
        }),
      ).rejects.toMatchObject({ reason: 'conflict' });
    });
  });

  it('reports that another process wrote, and that it was fenced', async () => {
    const conflicting = newWriter(new MemoryStore({ conflictAfter: 0 }), 'r1');
    conflicting.append('run.started', startedData());
    await expect(conflicting.flush()).rejects.toMatchObject({ reason: 'conflict' });

    const store = new MemoryStore();
    const old = newWriter(store, 'r1', { epoch: 1 });
    old.append('run.started', startedData());
    await old.flush();
    const heir = newWriter(store, 'r1', { epoch: 2, head: old.head });
    heir.append('run.resumed', { openCalls: [] });
    await heir.flush();
    old.append('variable.set', { name: 'late', value: '1' });
    await expect(old.flush()).rejects.toMatchObject({ reason: 'fenced' });
    expect(verifyChain(await store.read('r1'))).toMatchObject({ ok: true, entries: 2 });
  });

  it('calls listeners in the order of the entries, also for entries that a listener appends', () => {
    const writer = newWriter(new MemoryStore(), 'r1');
    const first: number[] = [];
    const second: number[] = [];
    writer.subscribe((entry) => {
      first.push(entry.seq);
      if (entry.seq === 1) writer.append('variable.set', { name: 'a', value: '1' });
    });
    const unsubscribe = writer.subscribe((entry) => void second.push(entry.seq));
    writer.append('run.started', startedData());
    writer.append('variable.set', { name: 'b', value: '2' });
    unsubscribe();
    writer.append('variable.set', { name: 'c', value: '3' });
    expect(first).toEqual([1, 2, 3, 4]);
    expect(second).toEqual([1, 2, 3]);
  });

  it('batches entries that need not be durable, and stores all by the end', async () => {
    const store = new MemoryStore();
    const writer = newWriter(store, 'r1', { durable: false });
    writer.append('run.started', startedData());
    for (let index = 0; index < 999; index += 1) {
      writer.append('variable.set', { name: 'a', value: String(index) });
      await writer.flush();
    }
    expect(store.appends).toBeLessThanOrEqual(4);
    writer.append('run.ended', { outcome: 'stopped', reason: 'enough', outputs: {} });
    await writer.flush();
    expect(store.appends).toBeLessThanOrEqual(5);
    expect(verifyChain(await store.read('r1'))).toMatchObject({ ok: true, entries: 1001 });
  });

  it('closes a run that did not end', async () => {
    const store = new MemoryStore();
    const writer = newWriter(store, 'r1', { durable: false });
    writer.append('run.started', startedData());
    await writer.close();
    expect(await store.read('r1')).toHaveLength(1);
    await writer.close();
    expect(store.appends).toBe(1);
  });

  it('keeps the row of the run from its entries', async () => {
    const store = new MemoryStore();
    const writer = newWriter(store, 'r1');
    appendMany(writer, 5);
    await writer.flush();
    expect(await store.run('r1')).toEqual({
      run: 'r1',
      runbook: 'sample',
      mode: 'simulated',
      account: 'main',
      trigger: 'manual',
      startedAt: START,
      endedAt: START,
      outcome: 'succeeded',
    });
  });

  it('continues an existing chain', async () => {
    const store = new MemoryStore();
    const before = newWriter(store, 'r1');
    before.append('run.started', startedData());
    await before.flush();
    const row = await store.run('r1');
    const after = newWriter(store, 'r1', {
      head: before.storedHead,
      boot: 'boot-2',
      epoch: 2,
      ...(row === undefined ? {} : { row }),
    });
    after.append('run.resumed', { openCalls: ['steps/0#1'] });
    after.append('run.ended', { outcome: 'failed', outputs: {} });
    await after.flush();
    expect(verifyChain(await store.read('r1'))).toMatchObject({ ok: true, entries: 3 });
    expect(await store.run('r1')).toMatchObject({ startedAt: START, outcome: 'failed' });
  });
});

describe('what a commit gives to the store', () => {
  /** A store in memory that keeps the options of each append, and fails the nth with what `fails` gives. */
  function watched(fails: (nth: number) => Error | undefined = () => undefined, storesAnyway = false) {
    const store = new MemoryStore();
    const append = store.append.bind(store);
    const options: AppendOptions[] = [];
    store.append = async (entries, given) => {
      options.push(given);
      const error = fails(options.length);
      if (error === undefined || storesAnyway) await append(entries, given).catch(() => {});
      if (error !== undefined) throw error;
    };
    return { store, options };
  }
  const away = new StoreAway('the store does not answer');
  const variable = (writer: JournalWriter) => writer.append('variable.set', { name: 'a', value: '1' });

  it('is the row of the run where it changed, or was given', async () => {
    const { store, options } = watched();
    const writer = newWriter(store, 'r1');
    writer.append('run.started', startedData());
    await writer.flush();
    variable(writer);
    await writer.flush();
    expect(options.map(({ row }) => row?.run)).toEqual(['r1', undefined]);
    const row = await store.run('r1');
    const heir = newWriter(store, 'r1', { head: writer.head, ...(row && { row }) });
    for (const _ of [1, 2]) {
      variable(heir);
      await heir.flush();
    }
    expect(options.slice(2).map((each) => each.row)).toEqual([row, undefined]);
    const known = { ...(row as RunRow), runbook: 'first' };
    expect(updateRow(known, readEntry((await store.read('r1'))[0] as StoredEntry))).toBe(known);
  });

  it('are the acts of the entries, where there are any', async () => {
    const { store, options } = watched();
    const act = { type: 'orders.adopted', by: 'ada', at: START, data: { orders: [] } } as const;
    const acts = {
      key: 'venue main',
      actOf: ({ type }: Entry) => (type === 'variable.set' ? act : undefined),
    };
    const writer = newWriter(store, 'r1', { acts });
    writer.append('run.started', startedData());
    await writer.flush();
    variable(writer);
    await writer.flush();
    writer.append('variable.set', { name: 'b', value: '2' });
    await writer.flush();
    const posted = { account: 'venue main', acts: [act] };
    expect(options.map((each) => each.acts)).toEqual([undefined, posted, posted]);
    expect(options[0]).not.toHaveProperty('acts');
  });

  it('is stored once a batch is full, without a flush', async () => {
    const { store, options } = watched();
    const writer = newWriter(store, 'r1', { durable: false });
    writer.append('run.started', startedData());
    for (let count = 2; count < 256; count += 1) variable(writer);
    await Promise.all([writer.flush(), writer.flushWritten()]);
    await new Promise((resolve) => setImmediate(resolve));
    expect(options).toHaveLength(0);
    variable(writer);
    await new Promise((resolve) => setImmediate(resolve));
    expect([options.length, writer.storedHead.seq]).toEqual([1, 256]);
  });

  it('has times to the microsecond', () => {
    const clock = Object.assign(new VirtualClock(START), { monotonic: () => 12.34567 });
    expect(newWriter(new MemoryStore(), 'r1', { clock }).append('run.started', startedData()).mono).toBe(12.346);
  });

  it('is reported to who asked, until it asks no more', async () => {
    const writer = newWriter(new MemoryStore(), 'r1');
    const told: number[] = [];
    const stop = writer.onStored(({ seq }) => told.push(seq));
    writer.append('run.started', startedData());
    await writer.flush();
    stop();
    variable(writer);
    await writer.flush();
    expect(told).toEqual([1]);
  });

  /** Appends once before the store fails, and once more; the clock has run for a minute. */
  async function writeOn(store: MemoryStore, patienceMs: number): Promise<JournalWriter> {
    const clock = new VirtualClock(START);
    await clock.advanceTo(START + 60_000);
    const writer = newWriter(store, 'r1', { clock, patienceMs });
    writer.append('run.started', startedData());
    await clock.runUntil(writer.flush());
    variable(writer);
    await clock.runUntil(writer.flush());
    return writer;
  }

  it('is given again every half second while the store does not answer, for as long as said', async () => {
    const { store, options } = watched((nth) => (nth > 1 ? away : undefined));
    await expect(writeOn(store, 1_000)).rejects.toMatchObject({ reason: 'unavailable' });
    expect(options).toHaveLength(4);
  });

  it('is found behind others where only the answer was lost', async () => {
    const lost = watched((nth) => (nth === 2 ? away : undefined), true);
    const conflicts = watched(
      (nth) => (nth === 2 ? away : nth === 3 ? new StoreError('conflict', 'taken') : undefined),
      true,
    );
    for (const { store } of [lost, conflicts]) expect((await writeOn(store, 10_000)).storedHead.seq).toBe(2);
  });

  it('is not taken for stored where another error follows, or where the journal cannot be read', async () => {
    const fenced = watched((nth) => (nth === 2 ? away : nth > 2 ? new StoreError('fenced', 'old') : undefined), true);
    await expect(writeOn(fenced.store, 10_000)).rejects.toMatchObject({ reason: 'fenced' });
    const unread = watched(
      (nth) => (nth === 2 ? away : nth > 2 ? new StoreError('conflict', 'taken') : undefined),
      true,
    );
    unread.store.read = () => Promise.reject(new Error('unreadable'));
    await expect(writeOn(unread.store, 10_000)).rejects.toMatchObject({ reason: 'unavailable', message: 'unreadable' });
  });
});
