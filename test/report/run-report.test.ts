/** Tests that the report of a run is written while its journal is read, and that a run that goes on keeps nothing of its rounds. */
import { inspect } from 'node:util';
import { describe, expect, it } from 'vitest';
import type { Entry } from '../../src/journal/entry.ts';
import { type ReportSource, readRows, readRunReport, writeRunReport } from '../../src/report/export/run-report.ts';
import { RunFold, RunOutlineFold } from '../../src/report/folds/run.ts';
import { SummaryRows } from '../../src/report/summary.ts';
import { startedData } from '../journal/sample.ts';
import { Script, sampleRun } from './sample-run.ts';
import { makeRunReport } from './whole-run.ts';

function makeSource(entries: readonly Entry[]): ReportSource {
  const known = new RunOutlineFold();
  for (const entry of entries) known.apply(entry);
  return {
    known,
    async *entries() {
      yield* entries;
    },
  };
}

async function join(pieces: AsyncIterable<string>): Promise<string> {
  let text = '';
  for await (const piece of pieces) text += piece;
  return text;
}

const SESSION = { tokens: 1, status: 200, success: true } as const;

/** A loop under way: in each round a reading, and every tenth an answer that is lost, a session and a heartbeat. */
async function writeRounds(rounds: number): Promise<Script> {
  const script = new Script();
  script.append('run.started', startedData());
  script.append('step.started', { verb: 'repeat', attempt: 1, now: 0 }, 'steps/0:repeat');
  for (let round = 0; round < rounds; round += 1) {
    await script.at(round * 1000);
    const step = `steps/0:repeat[${round}]/do/0:read_account`;
    script.append('step.started', { verb: 'read_account', attempt: 1, now: 0 }, step);
    const call = script.intend('GET /account', {}, step);
    script.attempt(call, 'GET /account', {}, 10, step);
    if (round % 10 === 0) {
      await script.at(round * 1000 + 500);
      script.attempt(call, 'GET /account', { again: 1 }, 10, step);
      const sentAt = script.entries.at(-1)?.at ?? 0;
      script.append('session.moved', {
        event: 'requested',
        request: { ...SESSION, sentAt: sentAt - 500 - (round % 7) },
      });
      script.append('deadman.moved', { event: 'renewed', market: 'BTC-USD', timeoutMs: 60_000 });
    }
    script.confirm(call, {}, step);
    script.append('step.ended', { verb: 'read_account', outcome: 'succeeded', attempts: 1 }, step);
  }
  return script;
}

describe('the report of a run', () => {
  it('is, written in pieces, the JSON of the document at every length of the journal', async () => {
    const entries = await sampleRun();
    for (let end = 1; end <= entries.length; end += 1) {
      const some = entries.slice(0, end);
      const whole = JSON.stringify(makeRunReport(some));
      expect(await join(writeRunReport(makeSource(some)))).toBe(whole);
      expect(JSON.stringify(await readRunReport(makeSource(some)))).toBe(whole);
    }
  });

  it('has requests in the order of sending, also those that are journaled later', async () => {
    const { entries } = await writeRounds(40);
    const sent = entries.flatMap((entry) =>
      entry.type === 'call.attempted'
        ? [[entry.at, entry.data.path] as const]
        : entry.type === 'session.moved' && entry.data.request !== undefined
          ? [[entry.data.request.sentAt, '/jwt'] as const]
          : [],
    );
    const { requests, tokens } = JSON.parse(await join(writeRunReport(makeSource(entries))));
    const inOrder = [...sent].sort(([a], [b]) => a - b).map(([at, path]) => [new Date(at).toISOString(), path]);
    expect(requests.map(({ at, path }: { at: string; path: string }) => [at, path])).toEqual(inOrder);
    expect(tokens).toEqual(makeRunReport(entries).tokens);
  });

  it('is written while the journal is read, though a step goes on from the first round to the last', async () => {
    const script = new Script();
    script.append('run.started', startedData());
    script.append('step.started', { verb: 'repeat', attempt: 1, now: 0 }, 'steps/0:repeat');
    for (let round = 0; round < 11_000; round += 1)
      script.append(
        'step.ended',
        { verb: 'wait', outcome: 'skipped', attempts: 0 },
        `steps/0:repeat[${round}]/do/0:wait`,
      );
    script.append('step.ended', { verb: 'repeat', outcome: 'succeeded', attempts: 1 }, 'steps/0:repeat');
    script.append('run.ended', { outcome: 'succeeded', outputs: {} });
    const pieces: string[] = [];
    for await (const piece of writeRunReport(makeSource(script.entries))) pieces.push(piece);
    expect(pieces.join('')).toBe(JSON.stringify(makeRunReport(script.entries)));
    expect(Math.max(...pieces.map(({ length }) => length))).toBeLessThan(100_000);
  });

  it('ends where the run had ended when it was folded, though it was resumed since', async () => {
    const script = await writeRounds(3);
    script.append('run.ended', { outcome: 'halted', reason: 'killed', outputs: {} });
    const source = makeSource([...script.entries]);
    const resumed = await writeRounds(3);
    resumed.append('run.ended', { outcome: 'halted', reason: 'killed', outputs: {} });
    const whole = JSON.stringify(makeRunReport(resumed.entries));
    resumed.append('run.resumed', { openCalls: [] });
    resumed.append('step.started', { verb: 'wait', attempt: 1, now: 0 }, 'steps/1:wait');
    const later = { ...source, entries: makeSource(resumed.entries).entries };
    expect(await join(writeRunReport(later))).toBe(whole);
  });
});

describe('a run that goes on', () => {
  const measure = (fold: object) =>
    inspect(fold, { depth: null, maxArrayLength: null, maxStringLength: null, showHidden: true }).length;

  it('keeps nothing of its rounds, and says the same of itself', async () => {
    const sizes: number[] = [];
    for (const rounds of [300, 3000]) {
      const [known, whole] = [new RunOutlineFold(), new RunFold()];
      // Sessions are renewed by the hour, not by the round.
      const entries = (await writeRounds(rounds)).entries.filter(({ type }) => type !== 'session.moved');
      for (const entry of entries) {
        known.apply(entry);
        whole.apply(entry);
      }
      expect(whole.report()).toMatchObject({ ...known.outline() });
      expect(known.findUnanswered()).toEqual(whole.findUnanswered());
      sizes.push(measure(known));
    }
    const [few, many] = sizes as [number, number];
    expect(many / few).toBeLessThan(1.05);
  });

  it('shows of many rows those that a reader of all would choose', async () => {
    const script = await writeRounds(200);
    script.append('step.ended', { verb: 'repeat', outcome: 'failed', attempts: 1 }, 'steps/0:repeat');
    const error = { kind: 'timeout', message: 'too late', step: 'steps/0:repeat[77]/do/0:read_account' };
    script.append('run.ended', { outcome: 'failed', error, outputs: {} });
    const rows = new SummaryRows({ error });
    await readRows(makeSource(script.entries), rows);
    const { steps } = makeRunReport(script.entries);
    const chosen = rows.steps.choose();
    expect(chosen).toHaveLength(40);
    for (const [index, row] of chosen) expect(row).toEqual(steps[index]);
    const indices = chosen.map(([index]) => index);
    for (const index of [0, 3, 70, 78, 82, 193, 200]) expect(indices).toContain(index);
  });
});
