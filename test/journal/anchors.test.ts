import { generateKeyPairSync } from 'node:crypto';
import { appendFileSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { VirtualClock } from '../../src/base/clock.ts';
import {
  type Anchor,
  Anchorer,
  AnchorFile,
  type AnchorSink,
  findGaps,
  hashAnchor,
  readAnchors,
} from '../../src/journal/anchors/anchors.ts';
import { MemoryStore } from '../../src/journal/stores/memory.ts';
import { newWriter, START, startedData } from './sample.ts';

const anchor = (seq: number): Anchor => ({
  v: 1,
  run: 'r1',
  seq,
  head: String(seq % 10).repeat(64),
  count: seq,
  time: '2026-01-05T08:00:00.000Z',
});

class MemorySink implements AnchorSink {
  readonly name: string;
  readonly anchors: Anchor[] = [];
  fails = false;
  constructor(name = 'memory') {
    this.name = name;
  }
  async write(each: Anchor): Promise<void> {
    if (this.fails) throw new Error('no route to the log');
    this.anchors.push(each);
  }
}

function toMove(filled: string) {
  return { clientOrderId: 'c1', orderId: 'BTC-USD@1', from: 'open', to: 'open', event: 'FILL', filled } as const;
}

describe('Anchorer', () => {
  it('anchors the stored head after ten order events and at the end, never before it is stored', async () => {
    const store = new MemoryStore();
    const writer = newWriter(store, 'r1');
    const sink = new MemorySink();
    const anchorer = new Anchorer(writer, { run: 'r1', clock: new VirtualClock(START), sinks: [sink], everyMs: null });
    writer.append('run.started', startedData());
    for (let index = 0; index < 25; index += 1) {
      writer.append('order.moved', toMove(String(index)));
      if (index === 9) expect(sink.anchors).toEqual([]);
      if (index % 5 === 4) await writer.flush();
    }
    const { hash } = writer.append('run.ended', { outcome: 'succeeded', outputs: {} });
    await writer.flush();
    await anchorer.settled();
    expect(sink.anchors.map((each) => each.seq)).toEqual([11, 21, 27]);
    expect(sink.anchors.at(-1)).toEqual({
      v: 1,
      run: 'r1',
      seq: 27,
      head: hash,
      count: 27,
      time: '2026-01-05T08:00:00.000Z',
      prev: hashAnchor(sink.anchors[1] as Anchor),
    });
    for (const each of sink.anchors) expect((await store.read('r1'))[each.seq - 1]?.hash).toBe(each.head);
  });

  it('names the anchor before it in each, the last one of the file in the first', async () => {
    const writer = newWriter(new MemoryStore(), 'r1');
    const sink = new MemorySink();
    const account = { run: 'account main #1', seq: 3, hash: '3'.repeat(64) };
    const anchorer = new Anchorer(writer, {
      run: 'r1',
      clock: new VirtualClock(START),
      sinks: [sink],
      everyOrderEvents: 1,
      everyMs: null,
      accountHeads: async () => [account],
      findPrevious: () => hashAnchor(anchor(9)),
      key: generateKeyPairSync('ed25519').privateKey.export({ format: 'pem', type: 'pkcs8' }).toString(),
    });
    writer.append('run.started', startedData());
    for (const filled of ['1', '2']) {
      writer.append('order.moved', toMove(filled));
      await writer.flush();
    }
    await anchorer.settled();
    const [first, ofAccount, last] = sink.anchors as [Anchor, Anchor, Anchor];
    expect([first.run, ofAccount.run, last.run]).toEqual(['r1', account.run, 'r1']);
    expect([first.prev, ofAccount.prev, last.prev]).toEqual([anchor(9), first, ofAccount].map(hashAnchor));
    const known = new Set([anchor(9), ...sink.anchors].map(hashAnchor));
    expect(findGaps(sink.anchors, known)).toEqual([]);
    known.delete(hashAnchor(ofAccount));
    expect(findGaps([first, last], known)).toEqual([last]);
    // What was before the first of a file may have been moved away.
    expect(findGaps([last], known)).toEqual([]);
    expect([first, ofAccount, last].map((each) => each.first)).toEqual([true, undefined, undefined]);
  });

  it('shows no gap in a copy where a machine began to write it, whose own file is not known', async () => {
    const sink = new MemorySink();
    const anchorOf = async (run: string, before: Anchor) => {
      const writer = newWriter(new MemoryStore(), run);
      const findPrevious = () => hashAnchor(before);
      const anchorer = new Anchorer(writer, {
        run,
        clock: new VirtualClock(START),
        sinks: [sink],
        everyOrderEvents: 1,
        everyMs: null,
        findPrevious,
      });
      writer.append('run.started', startedData());
      for (const filled of ['1', '2', '3']) {
        writer.append('order.moved', toMove(filled));
        await writer.flush();
      }
      await anchorer.settled();
    };
    await anchorOf('r1', anchor(8));
    // Another machine goes on with the same run, then begins another.
    await anchorOf('r1', anchor(9));
    await anchorOf('r2', anchor(10));
    const gapsOf = (copy: readonly Anchor[]) => findGaps(copy, new Set(copy.map(hashAnchor)), { isCopy: true });
    expect(sink.anchors).toHaveLength(9);
    expect(gapsOf(sink.anchors)).toEqual([]);
    expect(findGaps(sink.anchors, new Set(sink.anchors.map(hashAnchor)))).toHaveLength(2);
    const removed = sink.anchors.filter((_, index) => index !== 4);
    expect(gapsOf(removed)).toEqual([sink.anchors[5]]);
  });

  it('anchors once a minute while new entries are stored, and not otherwise', async () => {
    const clock = new VirtualClock(START);
    const writer = newWriter(new MemoryStore(), 'r1', { clock });
    const sink = new MemorySink();
    new Anchorer(writer, { run: 'r1', clock, sinks: [sink] });
    writer.append('run.started', startedData());
    await writer.flush();
    await clock.advanceTo(START + 59_999);
    expect(sink.anchors).toEqual([]);
    await clock.advanceTo(START + 600_000);
    expect(sink.anchors.map(({ seq, time }) => ({ seq, time }))).toEqual([
      { seq: 1, time: '2026-01-05T08:01:00.000Z' },
    ]);
  });

  it('continues with the other sinks when one fails, and reports once that it failed and once that it works again', async () => {
    const writer = newWriter(new MemoryStore(), 'r1');
    const good = new MemorySink('good');
    const bad = new MemorySink('bad');
    bad.fails = true;
    const told: unknown[] = [];
    const onSink = (sink: string, failure: string | undefined) => void told.push([sink, failure]);
    const anchorer = new Anchorer(writer, {
      run: 'r1',
      clock: new VirtualClock(START),
      sinks: [bad, good],
      everyOrderEvents: 1,
      everyMs: null,
      onSink,
    });
    writer.append('run.started', startedData());
    for (const filled of ['1', '2', '3']) {
      writer.append('order.moved', toMove(filled));
      await writer.flush();
      await anchorer.settled();
      if (filled === '2') {
        expect(anchorer.longestFailure?.sink).toBe('bad');
        bad.fails = false;
      }
    }
    expect(good.anchors.map((each) => each.seq)).toEqual([2, 3, 4]);
    expect(told).toEqual([
      ['bad', 'no route to the log'],
      ['bad', undefined],
    ]);
    expect(anchorer.longestFailure).toBeUndefined();
  });
});

describe('a sink that fails', () => {
  it('gets what it missed once it works again, even when no entry is written', async () => {
    const clock = new VirtualClock(START);
    const writer = newWriter(new MemoryStore(), 'r1', { clock });
    const sink = new MemorySink();
    sink.fails = true;
    const anchorer = new Anchorer(writer, { run: 'r1', clock, sinks: [sink], everyOrderEvents: 1 });
    writer.append('run.started', startedData());
    for (const filled of ['1', '2']) {
      writer.append('order.moved', toMove(filled));
      await writer.flush();
      await anchorer.settled();
    }
    for (let tries = 0; tries < 40; tries += 1) {
      await clock.advanceTo(clock.now() + 15_000);
      await anchorer.settled();
    }
    expect(anchorer.longestFailure).toEqual({ sink: 'memory', ms: 600_000 });
    sink.fails = false;
    await clock.advanceTo(clock.now() + 15_000);
    await anchorer.settled();
    expect(sink.anchors.map((each) => each.seq)).toEqual([2, 3]);
    expect(anchorer.longestFailure).toBeUndefined();
  });

  it('leaves no timer after the end of the run', async () => {
    const clock = new VirtualClock(START);
    const writer = newWriter(new MemoryStore(), 'r1', { clock });
    const sink = new MemorySink();
    sink.fails = true;
    const anchorer = new Anchorer(writer, { run: 'r1', clock, sinks: [sink], everyOrderEvents: 1 });
    writer.append('run.started', startedData());
    writer.append('order.moved', toMove('1'));
    await writer.flush();
    await anchorer.settled();
    anchorer.close();
    sink.fails = false;
    await clock.advanceTo(START + 3_600_000);
    await anchorer.settled();
    expect(sink.anchors).toEqual([]);
  });
});

describe('anchor file', () => {
  let folder: string;
  let file: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'anchors-'));
    file = join(folder, 'state', 'anchors.jsonl');
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  it('is read back, is private to its owner, and counts as empty when absent', async () => {
    expect(readAnchors(file)).toEqual({ anchors: [], unreadable: [], changed: [], unsigned: [] });
    const sink = new AnchorFile(file);
    await sink.write(anchor(1));
    await sink.write(anchor(12));
    expect(readAnchors(file)).toEqual({ anchors: [anchor(1), anchor(12)], unreadable: [], changed: [], unsigned: [] });
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(statSync(join(folder, 'state')).mode & 0o777).toBe(0o700);
  });

  it('tolerates a line that a crash cut short', async () => {
    const sink = new AnchorFile(file);
    await sink.write(anchor(1));
    appendFileSync(file, '{"v":1,"run":"r1","se');
    await sink.write(anchor(12));
    expect(readAnchors(file)).toEqual({ anchors: [anchor(1), anchor(12)], unreadable: [2], changed: [], unsigned: [] });
  });

  it('distinguishes a line that a crash cut short, wherever it was cut, from a changed one', () => {
    const cut = join(folder, 'cut.jsonl');
    for (const prev of [{}, { prev: 'a'.repeat(64) }, { prev: 'a'.repeat(64), first: true }]) {
      const line = JSON.stringify({ ...anchor(12), ...prev, signature: 'YWJj+/=' });
      for (let left = 1; left < line.length; left += 1) {
        writeFileSync(cut, `${line.slice(0, left)}\n${line}\n`);
        expect([left, readAnchors(cut)]).toMatchObject([left, { anchors: [{ seq: 12 }], changed: [] }]);
      }
      for (const odd of [
        'x',
        '{}',
        `${line}x`,
        line.replace('"v":1', '"v":2'),
        line.replace('"count":12', '"count":11'),
      ]) {
        writeFileSync(cut, `${odd}\n${line}\n`);
        expect([odd, readAnchors(cut)]).toMatchObject([odd, { anchors: [{ seq: 12 }], unreadable: [1], changed: [1] }]);
      }
    }
  });

  it('accepts only signed anchors when a public key is given', async () => {
    const { privateKey, publicKey } = generateKeyPairSync('ed25519');
    const key = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
    const publicPem = publicKey.export({ type: 'spki', format: 'pem' }).toString();
    const writer = newWriter(new MemoryStore(), 'r1');
    const anchorer = new Anchorer(writer, {
      run: 'r1',
      clock: new VirtualClock(START),
      sinks: [new AnchorFile(file)],
      key,
      everyMs: null,
    });
    writer.append('run.started', startedData());
    writer.append('run.ended', { outcome: 'succeeded', outputs: {} });
    await writer.flush();
    await anchorer.settled();
    expect(readAnchors(file, { publicKey: publicPem })).toMatchObject({
      anchors: [{ run: 'r1', seq: 2 }],
      unsigned: [],
    });

    const signed = readFileSync(file, 'utf8');
    writeFileSync(
      file,
      `${JSON.stringify(anchor(5))}\n${signed.replace('"seq":2', '"seq":3').replace('"count":2', '"count":3')}${signed}`,
    );
    expect(readAnchors(file, { publicKey: publicPem })).toMatchObject({ anchors: [{ seq: 2 }], unsigned: [1, 2] });
  });

  it('accepts only Ed25519 keys', () => {
    const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const key = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
    const writer = newWriter(new MemoryStore(), 'r1');
    expect(() => new Anchorer(writer, { run: 'r1', clock: new VirtualClock(START), sinks: [], key })).toThrow(
      'Ed25519',
    );
  });
});
