/** Tests what a resume knows of the rounds that it passes over: every request of a run under an approved plan. */
import { expect, it } from 'vitest';
import { RecordToResume } from '../../src/app/run/recorded-run.ts';
import { readFirstEntry } from '../../src/journal/reading.ts';
import { MemoryStore } from '../../src/journal/stores/memory.ts';
import { loadedFrom } from '../engine/stage.ts';
import { newWriter, startedData } from '../journal/sample.ts';

const { runbook } = loadedFrom({
  file: 'one.yaml',
  text: `runbook: one
dsl: 1
vars: {n: {type: number, init: 0}}
steps:
  - repeat:
      every: 1s
      max: 1000
      do: [{set: {n: n + 1}}]
`,
});
const ROUNDS = 60;

/** How many requests of feeds a resume counts, of a run that sent one in every third of its rounds; a line has five rounds. */
async function countRequests(bounds: Readonly<Record<string, number>> | undefined): Promise<number> {
  const store = new MemoryStore();
  const writer = newWriter(store, 'r1');
  writer.append('run.started', startedData(bounds === undefined ? {} : { bounds: { exposure: {}, requests: bounds } }));
  for (let n = 0; n < ROUNDS; n += 1) {
    const step = `steps/1:repeat[${n}]/do/1:set`;
    writer.append('step.started', { verb: 'set', attempt: 1, now: 0 }, step);
    if (n % 3 === 0) {
      const call = `${step}#feed-request:mid:${n}`;
      const attempt = {
        n: 1,
        method: 'GET',
        path: '/markets',
        params: {},
        digest: '',
        tokens: 1,
        epoch: 1,
        waitedMs: 0,
      };
      const answer = { kind: 'confirmed', status: 200, headers: {}, success: true, result: [], sentAt: 0 } as const;
      writer.append('call.intended', { call, endpoint: 'request markets', params: {}, class: 'read' }, step);
      writer.append('call.attempted', { call, ...attempt }, step);
      writer.append('call.settled', { call, ...answer }, step);
      writer.append('feed.read', { call: `${step}#feed:mid`, name: 'mid', value: `${n}`, at: n }, step);
    }
    writer.append('variable.set', { name: 'n', value: `${n + 1}` }, step);
    writer.append('step.ended', { verb: 'set', outcome: 'succeeded', attempts: 1 }, step);
    if (n % 5 === 4) await writer.flush();
  }
  await writer.close();
  const record = new RecordToResume(store, await readFirstEntry(store, 'r1'), runbook, { ahead: 100, mayPass: true });
  await record.readOn();
  let count = 0;
  for (const entry of record) {
    if (entry.type === 'rounds.passed') count += entry.requests.get('request markets') ?? 0;
    else if (entry.type === 'call.attempted') count += 1;
  }
  expect(record.isShort).toBe(true);
  return count;
}

it('counts the requests of feeds, of which rounds send different numbers, where its plan bounds them', async () => {
  expect(await countRequests({ 'request markets': 1000 })).toBe(ROUNDS / 3);
  // Nothing is asked about them otherwise, and no line is expanded for their number.
  expect(await countRequests(undefined)).toBeLessThan(ROUNDS / 3);
});
