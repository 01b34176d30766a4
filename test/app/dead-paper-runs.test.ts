/** Runs on paper whose process died: who ends them in their journal, and when. */
import { hostname } from 'node:os';
import { describe, expect, it } from 'vitest';
import { describePaperProcess, endDeadPaperRuns, endPaperRun } from '../../src/app/paper/dead-runs.ts';
import { VirtualClock } from '../../src/base/clock.ts';
import type { DataOf } from '../../src/journal/entry.ts';
import { hasEngineEnd, readFirstEntry } from '../../src/journal/reading.ts';
import { RecordAhead } from '../../src/journal/record-ahead.ts';
import { readParts } from '../../src/journal/rounds/passed-rounds.ts';
import { identifyMachineStart } from '../../src/journal/shared/machine.ts';
import { MemoryStore } from '../../src/journal/stores/memory.ts';
import { verifyRun } from '../../src/report/compare/verify.ts';
import { readAllEntries } from '../journal/read-all.ts';
import { newWriter, START, startedData } from '../journal/sample.ts';

const KEY = 'https://venue.example main';
const HERE = describePaperProcess(KEY);
const clock = new VirtualClock(START + 1_000);

async function begin(paper: DataOf<'run.started'>['paper'], over: { boot?: string; trigger?: string } = {}) {
  const store = new MemoryStore();
  const writer = newWriter(store, 'r', { account: 'paper', boot: over.boot ?? identifyMachineStart() });
  const more = paper === undefined ? {} : { paper };
  writer.append(
    'run.started',
    startedData({ mode: 'paper', account: 'paper', trigger: over.trigger ?? 'manual', ...more }),
  );
  await writer.flush();
  return { store, writer };
}

describe('a run on paper', () => {
  it.each<[string, DataOf<'run.started'>['paper'], { boot?: string; trigger?: string }, boolean]>([
    ['whose process is gone', { ...HERE, mark: HERE.mark.replace(/\d+ \d+$/, '999999999 1') }, {}, true],
    ['of before a restart of the machine', { ...HERE, mark: 'x' }, { boot: 'start another time:[1]' }, true],
    ['of another machine', { ...HERE, mark: 'x', host: `${hostname()}-2` }, { boot: 'start another time:[1]' }, false],
    ['whose process lives', HERE, {}, false],
    ['that a scheduler of this account started', HERE, { trigger: 'schedule' }, true],
    ['that a scheduler of another account started', { ...HERE, of: 'other' }, { trigger: 'schedule' }, false],
    ['of an earlier version', undefined, {}, false],
  ])('%s', { tags: ['linux'] }, async (_what, paper, over, isDead) => {
    const { store } = await begin(paper, over);
    expect(await endDeadPaperRuns(store, clock, KEY)).toEqual(isDead ? ['r'] : []);
    expect((await store.run('r'))?.outcome).toBe(isDead ? 'failed' : undefined);
    expect(await endDeadPaperRuns(store, clock, KEY)).toEqual([]);
  });

  it('that a person ended is whole, is replayed up to where its engine was, and takes nothing from a process that lives after all', async () => {
    const { store, writer } = await begin(HERE);
    await endPaperRun(store, await readFirstEntry(store, 'r'), clock, 'ada');
    expect(await verifyRun(store, 'r', [])).toMatchObject({ ok: true, entries: 2 });
    expect((await readAllEntries(store, 'r')).at(-1)).toMatchObject({
      data: { outcome: 'failed', reason: expect.stringContaining('ada') },
    });
    expect(await hasEngineEnd(store, 'r')).toBe(false);
    const played = new RecordAhead(readParts(store, 'r', { size: 10 }), 10);
    await played.readOn();
    expect([...played].map(({ type }) => type)).toEqual(['run.started']);
    writer.append('variable.set', { name: 'a', value: '1' });
    await expect(writer.flush()).rejects.toThrow();
    expect(await store.read('r')).toHaveLength(2);
  });
});
