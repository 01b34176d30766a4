/** Tests the answers of people to halted runs: they are found and written without the whole journal in memory. */
import { afterEach, expect, it } from 'vitest';
import { readHalt, recordAnswers } from '../../src/app/run/halt-answers.ts';
import { SILENT } from '../../src/app/voice.ts';
import { VirtualClock } from '../../src/base/clock.ts';
import type { JournalStore } from '../../src/journal/store.ts';
import { MemoryStore } from '../../src/journal/stores/memory.ts';
import { newWriter, START, startedData } from '../journal/sample.ts';
import { World } from './live-host.ts';

let world: World | undefined;
afterEach(() => world?.close());

const ENTRIES = 5000;

/** A run that halted, of which at most a page is read at a time. */
async function halt(answers: readonly string[]) {
  const memory = new MemoryStore();
  const clock = new VirtualClock(START);
  const writer = newWriter(memory, 'r1', { clock, durable: false });
  writer.append('run.started', startedData());
  writer.append('operator.acted', { command: 'cancel', by: 'earlier' }, '', 'human:earlier');
  for (let entry = 0; entry < ENTRIES; entry += 1)
    writer.append('step.ended', { verb: 'wait', outcome: 'skipped', attempts: 0 }, `steps/${entry}:wait`);
  writer.append('run.ended', { outcome: 'halted', reason: 'not known', outputs: {} });
  await writer.flush();
  for (const by of answers) writer.append('operator.acted', { command: 'cancel', by }, '', `human:${by}`);
  await writer.close();
  let most = 0;
  const store = new Proxy<JournalStore>(memory, {
    get(target, name) {
      const value = Reflect.get(target, name) as unknown;
      if (typeof value !== 'function') return value;
      return async (...args: unknown[]) => {
        const result: unknown = await value.apply(target, args);
        if (name === 'read') most = Math.max(most, (result as readonly unknown[]).length);
        return result;
      };
    },
  });
  return { store, countMost: () => most };
}

it.each([
  [[], { reason: 'not known' }],
  [['ada', 'bo'], { reason: 'not known', answeredBy: 'ada' }],
] as const)('of %j is read page by page', async (answers, found) => {
  const { store, countMost } = await halt(answers);
  expect(await readHalt(store, 'r1')).toEqual(found);
  expect(countMost()).toBeLessThan(ENTRIES);
});

it('is written behind the last entry', async () => {
  const { store, countMost } = await halt([]);
  world = new World({ config: {} });
  const { host } = await world.time.runUntil(world.openProcess());
  await world.shared.mailbox.post({ run: 'r1', command: 'cancel', by: 'ada', at: Number.MAX_SAFE_INTEGER });
  const account = { ...host.account, store };
  expect(await recordAnswers('r1', { account, epoch: 1, voice: SILENT })).toEqual({ by: 'ada', isWritten: true });
  expect(await readHalt(store, 'r1')).toEqual({ reason: 'not known', answeredBy: 'ada' });
  expect([await world.shared.mailbox.pending('r1'), countMost() < ENTRIES]).toEqual([[], true]);
});
