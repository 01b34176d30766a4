import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { settle, VirtualClock } from '../../src/base/clock.ts';
import { readEntry, sealEntry, toHead, verifyChain } from '../../src/journal/chain.ts';
import type { DataOf, Entry, EntryType, Json, JsonObject } from '../../src/journal/entry.ts';
import { readEntries, readEntriesOf, readLines } from '../../src/journal/reading.ts';
import { expandEntry } from '../../src/journal/rounds/round-line.ts';
import { MOST_ROUNDS } from '../../src/journal/rounds/round-shape.ts';
import { type StoredEntry, StoreError } from '../../src/journal/store.ts';
import { MemoryStore } from '../../src/journal/stores/memory.ts';
import { type JournalWriter, updateRow } from '../../src/journal/writer.ts';
import { newWriter, START, startedData } from './sample.ts';

/** What the journal has of an entry: everything but its number, its links, and the digits behind a millisecond. */
function pickRecorded({ at, type, step, actor, data, boot, epoch, account, run, def, v }: Entry) {
  return JSON.stringify({ at, type, step, actor, data, boot, epoch, account, run, def, v });
}

class Journal {
  readonly store = new MemoryStore();
  readonly clock = new VirtualClock(START);
  readonly writer: JournalWriter = newWriter(this.store, 'r1', { clock: this.clock });
  readonly appended: string[] = [];

  constructor() {
    this.append('run.started', startedData());
  }

  append<T extends EntryType>(type: T, data: DataOf<T>, step?: string): void {
    this.appended.push(pickRecorded(this.writer.append(type, data, step) as unknown as Entry));
  }

  after(ms: number): void {
    this.clock.skipTo(this.clock.now() + ms);
  }

  /** A round of a loop that reads the open orders and decides by them. */
  round(
    loop: string,
    number: number,
    { latency = 20, found = [] as readonly string[], remaining = '100', between = () => {} } = {},
  ): void {
    const path = `${loop}[${number}]`;
    const step = `${path}/do/mine`;
    const call = `${step}#1`;
    const params = { status: 'open', start_time: this.clock.now() * 1000 };
    this.append('step.started', { verb: 'list_orders', attempt: 1, now: this.clock.now() }, step);
    this.append('call.intended', { call, endpoint: 'GET /orders', params, class: 'read' }, step);
    const sentAt = this.clock.now();
    const digest = String(params.start_time).padStart(64, 'a');
    const attempt = { n: 1, method: 'GET', path: '/orders', params, digest, tokens: 10, epoch: 1, waitedMs: 0 };
    this.append('call.attempted', { call, ...attempt }, step);
    between();
    this.after(latency);
    const date = new Date(Math.floor(this.clock.now() / 1000) * 1000).toUTCString();
    const headers = { date, 'x-ratelimit-remaining': remaining };
    const answer = { call, kind: 'confirmed' as const, status: 200, headers, success: true, result: found, sentAt };
    this.append('call.settled', answer, step);
    const value = { orders: found };
    this.append('step.ended', { verb: 'list_orders', outcome: 'succeeded', attempts: 1, value }, step);
    const decided = {
      what: 'if',
      expression: 'size(mine.orders) > 0',
      inputs: { mine: value },
      value: found.length > 0,
    };
    this.append('step.decided', decided, `${path}/do/2:stop`);
    this.after(1000 - latency);
  }

  /** A round of a loop that reads the account and a price, and keeps the highest; \`step\`: by how much each differs from the round before. */
  watch(number: number, { loop = 'steps/1:repeat', step = 7, readsFeed = true, between = () => {} } = {}): void {
    const path = `${loop}[${number}]`;
    const read = `${path}/do/1:read_account`;
    const set = `${path}/do/2:set`;
    const [call, now] = [`${read}#1`, this.clock.now()];
    const result = [{ equity: `${100 + step * number}.5`, positions: [{ size: '1' }] }];
    this.append('step.started', { verb: 'read_account', attempt: 1, now }, read);
    this.append('call.intended', { call, endpoint: 'GET /account', params: {}, class: 'read' }, read);
    const attempt = { n: 1, method: 'GET', path: '/account', params: {}, digest: 'a'.repeat(64), tokens: 5, epoch: 1 };
    this.append('call.attempted', { call, ...attempt, waitedMs: 0 }, read);
    between();
    const answer = { call, kind: 'confirmed' as const, status: 200, headers: {}, success: true, result, sentAt: now };
    this.append('call.settled', answer, read);
    const value = { equity: result[0]?.equity ?? '' };
    this.append('step.ended', { verb: 'read_account', outcome: 'succeeded', attempts: 1, value }, read);
    if (readsFeed) {
      // As a feed of a profile is read: by a declared request, whose calls are counted.
      this.asked += 1;
      const asked = { call: `${set}#feed-request:mid:${this.asked}` };
      const price = `${64_000 + step * number}`;
      this.append('call.intended', { ...asked, endpoint: 'request markets', params: {}, class: 'read' }, set);
      this.append('call.attempted', { ...asked, ...attempt, path: '/markets', waitedMs: 0 }, set);
      this.append('call.settled', { ...answer, ...asked, result: [{ mid: price }] as never }, set);
      this.append('feed.read', { call: `${set}#feed:mid`, name: 'mid', value: price, at: now }, set);
    }
    this.append('variable.set', { name: 'high', value: `${64_000 + step * number}` }, set);
    this.append('step.ended', { verb: 'set', outcome: 'succeeded', attempts: 1 }, set);
    this.after(1000);
  }

  private asked = 0;
  private heartbeats = 0;

  /** The entries of a heartbeat, or of a reading of the switch; what they wait for happens where `between` is called. */
  heartbeat(
    kind: 'renew' | 'read',
    { between = () => {}, timeout = 60_000, notes = [] as readonly string[] } = {},
  ): void {
    const call = `deadman#${++this.heartbeats + 1}`;
    const method = kind === 'renew' ? 'POST' : 'GET';
    const params = { market_id: 'BTC-USD', ...(kind === 'renew' ? { timeout } : {}) };
    const purpose = kind === 'renew' ? 'keep-alive' : 'verify';
    const endpoint = `${method} /cancel_all_after`;
    this.append('call.intended', { call, endpoint, params, class: 'protect', purpose }, 'deadman');
    const attempt = { n: 1, method, path: '/cancel_all_after', params, digest: kind, tokens: 1, epoch: 1, waitedMs: 0 };
    this.append('call.attempted', { call, ...attempt }, 'deadman');
    between();
    const sentAt = this.clock.now();
    this.after(7);
    const result = { profile_id: 1, timeout, last_updated: this.clock.now() * 1000, status: 'active' };
    const headers = { date: new Date(sentAt).toUTCString() };
    const answer = { kind: 'confirmed' as const, status: 200, headers, success: true, result, sentAt };
    this.append('call.settled', { call, ...answer, ...(notes.length === 0 ? {} : { notes }) }, 'deadman');
    if (kind === 'renew')
      this.append('deadman.moved', { event: 'renewed', market: 'BTC-USD', timeoutMs: timeout }, 'deadman');
  }

  async read(): Promise<readonly StoredEntry[]> {
    await this.writer.close();
    return this.store.read('r1');
  }

  /** The journal says exactly what was appended, in a chain that holds. */
  async expectWhole(): Promise<readonly StoredEntry[]> {
    const lines = await this.read();
    expect([...readLines(lines)].map(pickRecorded)).toEqual(this.appended);
    expect(verifyChain(lines).ok).toBe(true);
    return lines;
  }
}

const typesOf = (lines: readonly StoredEntry[]) => lines.map(({ type }) => type);

describe('rounds that say what the one before said', () => {
  it('are one entry, which holds every instant and figure of them', async () => {
    const journal = new Journal();
    for (let n = 0; n < 50; n += 1)
      journal.round('steps/1:repeat', n, { latency: 5 + ((n * 7) % 13), remaining: `${n}` });
    journal.append('run.ended', { outcome: 'succeeded', outputs: {} });
    const lines = await journal.expectWhole();
    expect(typesOf(lines).slice(7)).toEqual(['round.idle', 'run.ended']);
    expect(readEntry(lines[7] as StoredEntry).data).toMatchObject({ loop: 'steps/1:repeat', first: 1, rounds: 49 });
    expect((lines[7]?.line.length ?? 0) / 49).toBeLessThan(200);
  });

  it.each([
    ['every entry', (store: MemoryStore) => readEntries(store, 'r1')],
    ['entries of one type', (store: MemoryStore) => readEntriesOf(store, 'r1', new Set(['call.attempted']))],
  ] as const)('do not hold up the process that reads %s of them', async (_which, read) => {
    const journal = new Journal();
    for (let n = 0; n < MOST_ROUNDS; n += 1) journal.round('steps/1:repeat', n);
    expect((await journal.read()).length).toBeLessThan(20);
    let isRead = false;
    let sinceTurn = 0;
    let most = 0;
    const others = (async () => {
      while (!isRead) {
        sinceTurn = 0;
        await settle();
      }
    })();
    for await (const _entry of read(journal.store)) most = Math.max(most, ++sinceTurn);
    isRead = true;
    await others;
    expect(most).toBeLessThan(300);
  });

  it('are kept apart from a reading that says something else', async () => {
    const journal = new Journal();
    for (let n = 0; n < 30; n += 1) journal.round('steps/1:repeat', n, { found: n === 10 || n === 20 ? ['o1'] : [] });
    const lines = await journal.expectWhole();
    const idle = lines.filter(({ type }) => type === 'round.idle').map((line) => readEntry(line).data);
    expect(idle).toMatchObject([
      { first: 1, rounds: 9 },
      { first: 12, rounds: 8 },
      { first: 22, rounds: 8 },
    ]);
  });

  it('are one entry where they read, count or note something new', async () => {
    const journal = new Journal();
    for (let n = 0; n < 40; n += 1) journal.watch(n);
    const lines = await journal.expectWhole();
    expect(typesOf(lines).filter((type) => type === 'round.idle')).toHaveLength(1);
    expect(lines.length).toBe(1 + 11 + 1);
  });

  it('are one entry where a feed is read in some of them alone', async () => {
    for (const pause of [2, 3, 7]) {
      const journal = new Journal();
      for (let n = 0; n < 40; n += 1) journal.watch(n, { readsFeed: n % pause === 0 });
      const lines = await journal.expectWhole();
      expect(typesOf(lines).filter((type) => type === 'round.idle')).toHaveLength(1);
    }
  });

  it('that read something new are held back for a shorter time', async () => {
    const journal = new Journal();
    const stored = async () => typesOf(await journal.store.read('r1')).filter((type) => type === 'round.idle').length;
    for (let n = 0; n < 6; n += 1) journal.watch(n, { step: 0 });
    await journal.writer.flushOlder(30_000, 3000);
    expect(await stored()).toBe(0);
    for (let n = 6; n < 8; n += 1) journal.watch(n, { step: 1 });
    await journal.writer.flushOlder(30_000, 3000);
    expect(await stored()).toBe(0);
    for (let n = 8; n < 11; n += 1) journal.watch(n, { step: 1 });
    await journal.writer.flushOlder(30_000, 3000);
    expect(await stored()).toBe(1);
    journal.watch(11, { step: 1 });
    await journal.writer.flushOlder(30_000, 3000);
    expect(await stored()).toBe(1);
    await journal.expectWhole();
  });

  it('wait longer again where what was read stays as it is', async () => {
    const journal = new Journal();
    const stored = async () => typesOf(await journal.store.read('r1')).filter((type) => type === 'round.idle').length;
    journal.watch(0);
    journal.watch(1, { step: 7 });
    await journal.writer.flush();
    for (let n = 2; n < 8; n += 1) journal.watch(n, { step: 7 / n });
    await journal.writer.flushOlder(30_000, 3000);
    expect(await stored()).toBe(1);
    await journal.expectWhole();
  });

  it('are written while one is under way that read something new, when that is old enough', async () => {
    const ended = { verb: 'wait', outcome: 'succeeded', attempts: 1 } as const;
    for (const before of [false, true]) {
      const journal = new Journal();
      const last = async () => typesOf(await journal.store.read('r1')).at(-1);
      for (let n = 0; n < 5; n += 1) {
        const path = `steps/1:repeat[${n}]/do`;
        journal.append('variable.set', { name: 'seen', value: n }, `${path}/1:set`);
        if (n === 4) break;
        journal.after(1000);
        journal.append('step.ended', ended, `${path}/2:wait`);
      }
      if (before) {
        await journal.writer.flushOlder(500, 500);
        expect(await last()).toBe('round.idle');
      }
      journal.after(5000);
      await journal.writer.flushOlder(30_000, 3000);
      expect(await last()).toBe('variable.set');
      journal.append('step.ended', ended, 'steps/1:repeat[4]/do/2:wait');
      await journal.expectWhole();
    }
  });

  it('are one entry where some lack a reading at their end, and not where they lack the one that they begin with', async () => {
    const read = (journal: Journal, step: string) => {
      const at = journal.clock.now();
      journal.append('feed.read', { call: `${step}#feed:mid`, name: 'mid', value: '1', at }, step);
    };
    const counts: number[] = [];
    for (const isFirst of [false, true]) {
      const journal = new Journal();
      for (let n = 0; n < 20; n += 1) {
        const step = `steps/1:repeat[${n}]/do/1:if`;
        const isRead = n % 4 === 0;
        if (isRead && isFirst) read(journal, step);
        journal.append('step.decided', { what: 'if', expression: 'a', inputs: {}, value: false }, step);
        if (isRead && !isFirst) read(journal, step);
        journal.after(1000);
      }
      const lines = await journal.expectWhole();
      counts.push(typesOf(lines).filter((type) => type === 'round.idle').length);
    }
    expect(counts[0]).toBe(1);
    expect(counts[1]).toBeGreaterThan(1);
  });

  it('are written in full where an order that was read is another, and folded where the account beside it is', async () => {
    const rounds = async (what: {
      readonly account?: boolean;
      readonly orders?: boolean;
      readonly fills?: boolean;
    }) => {
      const journal = new Journal();
      for (let n = 0; n < 20; n += 1) {
        const path = `steps/1:repeat[${n}]/do`;
        const ask = (step: string, id: string, endpoint: string, result: readonly JsonObject[]) => {
          const call = `${step}#${id}`;
          journal.append('call.intended', { call, endpoint, params: {}, class: 'read' }, step);
          const answer = {
            call,
            kind: 'confirmed',
            status: 200,
            headers: {},
            success: true,
            sentAt: journal.clock.now(),
          } as const;
          journal.append('call.settled', { ...answer, result }, step);
        };
        const differs = (isOther: boolean | undefined) => [{ id: 'o', filled: isOther === true ? `${n}` : '0' }];
        ask(`${path}/1`, '1', 'GET /account', differs(what.account));
        ask(`${path}/2`, '1', 'GET /orders', differs(what.orders));
        ask(`${path}/3`, '1', 'GET /account', differs(what.fills));
        // Each answer of a step is judged by itself.
        if (what.fills) ask(`${path}/3`, '2', 'GET /fills', differs(false));
        journal.after(1000);
      }
      return typesOf(await journal.expectWhole()).filter((type) => type === 'round.idle').length;
    };
    expect([await rounds({ account: true }), await rounds({ orders: true }), await rounds({ fills: true })]).toEqual([
      1, 0, 1,
    ]);
  });

  it('are written in full where a step that asked for nothing gives another value', async () => {
    const journal = new Journal();
    for (let n = 0; n < 10; n += 1) {
      const ended = { verb: 'place', outcome: 'succeeded', attempts: 1, value: { filled: `${n}` } } as const;
      journal.append('step.ended', ended, `steps/1:repeat[${n}]/do/1:place`);
    }
    expect(typesOf(await journal.expectWhole())).not.toContain('round.idle');
  });

  it('are the same only in what is written of them', async () => {
    const rounds = async (...each: readonly unknown[]) => {
      const journal = new Journal();
      for (const [n, a] of each.entries()) {
        const inputs = { a } as JsonObject;
        journal.append(
          'step.decided',
          { what: 'if', expression: 'a', inputs, value: false },
          `steps/1:repeat[${n}]/do/1`,
        );
      }
      return typesOf(await journal.expectWhole()).filter((type) => type === 'round.idle').length;
    };
    expect(await rounds({ b: 'x' }, { b: 'x', c: undefined }, { c: undefined, b: 'y' })).toBe(1);
    expect(await rounds({ 0: 'x' }, ['x'])).toBe(0);
    expect(await rounds(['x'], { 0: 'x', length: 1 })).toBe(0);
    expect(await rounds({}, new Date(START))).toBe(0);
    // An object that was compared before gives its figures again.
    const same = { b: 'x' };
    expect(await rounds({ b: 'z' }, same, same, { b: 'y' }, same)).toBe(1);
    // Not where it names the round it was found in.
    const named = { b: ['steps/1:repeat[1]/do'], c: 'x' };
    expect(await rounds({ b: ['steps/1:repeat[0]/do'], c: 'y' }, named, named, named)).toBe(2);
  });

  describe('of a line without a form, as earlier builds of this version wrote it', () => {
    const step = 'steps/1:repeat[0]/do/1:set';
    /** The entries of three rounds, a second apart: when, and of which type. */
    const expand = (second: object, columns: readonly Json[], form = {}) => {
      const entries = [
        { type: 'step.started', step, data: { verb: 'set', attempt: 1, now: START } },
        { step, ...second },
      ];
      const times = [
        ['number', START + 1000, [1000, 2]],
        ['start', 0],
      ];
      const counts = {
        loop: 'steps/1:repeat',
        first: 1,
        rounds: 3,
        firstAt: START + 1000,
        lastAt: START + 3000,
        like: 0,
      };
      const data = { ...counts, entries, columns: [...times, ...columns], ...form };
      const line = {
        v: 2,
        run: 'r1',
        seq: 5,
        type: 'round.idle',
        step: counts.loop,
        at: START + 3000,
        mono: 3000,
        data,
      };
      return [...expandEntry(line as never)].map(({ at, type }) => [at - START, type]);
    };
    const inEach = (type: string) =>
      [1000, 2000, 3000].flatMap((at) => [
        [at, 'step.started'],
        [at, type],
      ]);

    it('each has each reading of a feed', () => {
      const read = { type: 'feed.read', data: { call: `${step}#feed:mid`, name: 'mid', value: '7', at: START } };
      expect(
        expand(read, [
          ['number', 0],
          ['start', 0],
        ]),
      ).toEqual(inEach('feed.read'));
    });

    it('no news is among the figures', () => {
      const set = { type: 'variable.set', data: { name: 'seen', value: '7' } };
      expect(expand(set, [['number', 0]])).toEqual(inEach('variable.set'));
      for (const form of [2, 3]) expect(() => expand(set, [['number', 0]], { form })).toThrow(StoreError);
    });
  });

  it('are written before an entry of something else, and at a flush', async () => {
    const journal = new Journal();
    for (let n = 0; n < 5; n += 1) journal.round('steps/1:repeat', n);
    journal.append('deadman.moved', { event: 'renewed', market: 'BTC-USD' }, 'deadman');
    for (let n = 5; n < 8; n += 1) journal.round('steps/1:repeat', n);
    await journal.writer.flush();
    expect(typesOf(await journal.store.read('r1')).slice(7)).toEqual(['round.idle', 'deadman.moved', 'round.idle']);
    await journal.expectWhole();
  });

  it('the heartbeats among them are in the same entry, wherever they fall', async () => {
    const journal = new Journal();
    for (let n = 0; n < 60; n += 1) {
      const heartbeat = () => journal.heartbeat('renew');
      if (n % 15 === 3) journal.round('steps/1:repeat', n, { between: n === 33 ? heartbeat : () => {} });
      else journal.round('steps/1:repeat', n);
      if (n % 15 === 3 && n !== 33)
        journal.heartbeat('renew', { between: n === 48 ? () => journal.after(900) : () => {} });
      if (n === 7 || n === 40 || n === 41) journal.heartbeat('read');
    }
    const lines = await journal.expectWhole();
    // The first heartbeat and the first reading are written in full.
    const kinds = lines.map((line) => readEntry(line)).filter(({ type }) => type === 'round.idle');
    expect(kinds).toHaveLength(3);
    expect(kinds[2]?.data).toMatchObject({
      first: 8,
      rounds: 52,
      heartbeats: [{ count: 3 }, { count: 2 }],
    });
    expect(lines.filter(({ type }) => type !== 'round.idle')).toHaveLength(7 + 4 + 3);
  });

  it('heartbeats alone are one entry too, and what changes a term of them is none', async () => {
    const journal = new Journal();
    for (let n = 0; n < 30; n += 1) {
      journal.heartbeat('renew', { timeout: n < 20 ? 60_000 : 30_000 });
      journal.after(15_000);
    }
    const lines = await journal.expectWhole();
    const heartbeat = ['call.intended', 'call.attempted', 'call.settled', 'deadman.moved'];
    expect(typesOf(lines)).toEqual(['run.started', ...heartbeat, 'round.idle', ...heartbeat, 'round.idle']);
  });

  it('a heartbeat waits for the disk where it says something new, and only there', async () => {
    const journal = new Journal();
    for (let n = 0; n < 4; n += 1) journal.round('steps/1:repeat', n);
    const store = async () => typesOf(await journal.store.read('r1')).length;
    journal.heartbeat('renew');
    await journal.writer.flushWritten();
    const written = await store();
    expect(typesOf(await journal.store.read('r1')).slice(-4)).toContain('call.attempted');
    journal.round('steps/1:repeat', 4);
    journal.heartbeat('renew');
    await journal.writer.flushWritten();
    expect(await store()).toBe(written);
    journal.heartbeat('renew', { timeout: 30_000 });
    await journal.writer.flushWritten();
    expect(typesOf(await journal.store.read('r1')).slice(-5)).toEqual([
      'round.idle',
      'call.intended',
      'call.attempted',
      'call.settled',
      'deadman.moved',
    ]);
    await journal.expectWhole();
  });

  it('stay back where a flush asks for older ones alone, at most as long as it says', async () => {
    const journal = new Journal();
    for (let n = 0; n < 5; n += 1) journal.round('steps/1:repeat', n);
    await journal.writer.flushOlder(10_000, 10_000);
    expect(await journal.store.read('r1')).toHaveLength(7);
    journal.after(7000);
    await journal.writer.flushOlder(10_000, 10_000);
    expect(typesOf(await journal.store.read('r1')).slice(7)).toEqual(['round.idle']);
    await journal.expectWhole();
  });

  it('a write of each round is never held back', async () => {
    const journal = new Journal();
    for (let n = 0; n < 5; n += 1) {
      const step = `steps/1:repeat[${n}]/do/lever`;
      journal.append(
        'call.intended',
        { call: `${step}#1`, endpoint: 'POST /leverage', params: {}, class: 'write' as never },
        step,
      );
    }
    expect(typesOf(await journal.expectWhole())).not.toContain('round.idle');
  });

  it('a round that is longer than a hundred entries is compared by the loops inside it', async () => {
    const journal = new Journal();
    for (let n = 0; n < 60; n += 1) journal.round('steps/1:for_each[0]/do/1:repeat', n);
    for (let n = 0; n < 60; n += 1) journal.round('steps/1:for_each[1]/do/1:repeat', n);
    const lines = await journal.expectWhole();
    expect(typesOf(lines).filter((type) => type === 'round.idle')).toHaveLength(2);
    expect(lines.length).toBeLessThan(300);
  });

  it('give back any sequence of entries', async () => {
    const round = fc.record({
      loop: fc.constantFrom('steps/1:repeat', 'steps/1:repeat', 'steps/2:for_each[0]/do/1:repeat', 'steps/2:repeat'),
      latency: fc.integer({ min: 1, max: 900 }),
      found: fc.constantFrom([], [], [], ['steps/1:repeat[3]/x'], ['__proto__']),
      remaining: fc.constantFrom('7', '7', '007', '9007199254740993', 'Invalid Date', 'Mon, 05 Jan 2026 08:00:01 GMT'),
      times: fc.integer({ min: 1, max: 6 }),
      heartbeats: fc.array(fc.constantFrom('none', 'within', 'after', 'around', 'read', 'other', 'long'), {
        maxLength: 4,
      }),
      watches: fc.boolean(),
      reads: fc.array(fc.boolean(), { minLength: 6, maxLength: 6 }),
      then: fc.constantFrom('nothing', 'nothing', 'flush', 'written', 'older', 'heartbeat', 'loop', 'jump'),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(round, { maxLength: 12 }), async (rounds) => {
        const journal = new Journal();
        const counts = new Map<string, number>();
        for (const { loop, times, then, heartbeats, watches, reads, ...said } of rounds) {
          const next = () => {
            const number = counts.get(loop) ?? 0;
            counts.set(loop, number + 1);
            return number;
          };
          for (let n = 0; n < times; n += 1) {
            const kind = heartbeats[n];
            const between = kind === 'within' ? () => journal.heartbeat('renew') : () => {};
            if (watches) journal.watch(next(), { loop, step: said.latency % 3, readsFeed: reads[n] === true, between });
            else if (kind === 'around')
              journal.heartbeat('renew', { between: () => journal.round(loop, next(), said) });
            else journal.round(loop, next(), { ...said, between });
            if (kind === 'after') journal.heartbeat('renew');
            if (kind === 'read') journal.heartbeat('read');
            if (kind === 'other') journal.heartbeat('renew', { notes: ['x'] });
            if (kind === 'long') for (let heartbeat = 0; heartbeat < 20; heartbeat += 1) journal.heartbeat('renew');
          }
          if (then === 'written') await journal.writer.flushWritten();
          if (then === 'flush') await journal.writer.flush();
          if (then === 'older') await journal.writer.flushOlder(3000, 1000);
          if (then === 'heartbeat') journal.append('deadman.moved', { event: 'renewed', market: 'BTC-USD' }, 'deadman');
          if (then === 'loop')
            journal.append('step.decided', { what: 'until', expression: 'x', inputs: {}, value: false }, loop);
          if (then === 'jump') counts.set(loop, (counts.get(loop) ?? 0) + 2);
        }
        await journal.expectWhole();
      }),
      { numRuns: 25 },
    );
  });

  it('a line whose rounds cannot be expanded is damaged', async () => {
    const journal = new Journal();
    journal.heartbeat('renew');
    for (let n = 0; n < 5; n += 1) journal.round('steps/1:repeat', n);
    journal.heartbeat('renew');
    const lines = await journal.read();
    const idle = readEntry(lines[11] as StoredEntry) as Extract<Entry, { type: 'round.idle' }>;
    const [heartbeat] = idle.data.heartbeats ?? [];
    const forge = (changed: object) => {
      const data = { ...idle.data, ...changed } as DataOf<'round.idle'>;
      return sealEntry({ type: 'round.idle', data }, idle, toHead(lines[10])).stored;
    };
    expect([...readLines([forge({})])]).toHaveLength(4 * 6 + 4);
    const many: readonly object[] = [
      { rounds: 1e9 },
      { rounds: MOST_ROUNDS + 1 },
      { rounds: 0.5 },
      { columns: [] },
      { columns: [['number', 1e300], ...idle.data.columns.slice(1)] },
      { columns: [['number', 8.7e15], ...idle.data.columns.slice(1)] },
      { columns: [...idle.data.columns, ['number', 1]] },
      { columns: [['number', 1, [1, 1e9]], ...idle.data.columns.slice(1)] },
      { entries: [] },
      { entries: [{ type: 'run.ended', step: '', data: {} }] },
      { entries: null },
      { first: 'x' },
      { heartbeats: [{ ...heartbeat, count: 0 }] },
      { heartbeats: [heartbeat, heartbeat] },
      { heartbeats: [{ ...heartbeat, entries: [{ type: 'run.ended', step: '', data: {} }] }] },
      {
        heartbeats: [
          {
            ...heartbeat,
            columns: [
              ...(heartbeat?.columns ?? []).slice(0, 1),
              ['number', 99],
              ...(heartbeat?.columns ?? []).slice(2),
            ],
          },
        ],
      },
      { rounds: 0, heartbeats: [] },
    ];
    for (const changed of many)
      expect(() => [...readLines([forge(changed)])], JSON.stringify(changed)).toThrow(StoreError);
  });

  it('the row of a run follows from its lines', async () => {
    const journal = new Journal();
    for (let n = 0; n < 5; n += 1) journal.round('steps/1:repeat', n);
    journal.append('run.ended', { outcome: 'stopped', outputs: {} });
    const lines = await journal.read();
    const row = lines.map(readEntry).reduce<ReturnType<typeof updateRow>>(updateRow, undefined);
    expect(await journal.store.run('r1')).toEqual(row);
  });
});
