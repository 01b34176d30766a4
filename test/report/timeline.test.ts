import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { readExport } from '../../src/app/library.ts';
import type { Entry } from '../../src/journal/entry.ts';
import { printTimeline, TimelineFold } from '../../src/report/timeline/timeline.ts';
import { START, startedData } from '../journal/sample.ts';
import { Script, sampleRun } from './sample-run.ts';
import { makeTimeline } from './whole-run.ts';

const JOURNALS = new URL('../golden/journals/0.1.0/', import.meta.url);
const golden = readFileSync(new URL('../golden/timelines/sample.txt', import.meta.url), 'utf8');

describe('timeline', () => {
  it('describes the whole run', async () => {
    expect(printTimeline(makeTimeline(await sampleRun()))).toBe(golden);
  });

  it('describes the same entry by entry, while the run goes on', async () => {
    const fold = new TimelineFold();
    const rows = (await sampleRun()).flatMap((entry) => fold.apply(entry));
    expect(printTimeline(rows)).toBe(golden);
    expect(fold.unanswered()).toEqual([]);
  });

  it.each(readdirSync(JOURNALS).filter((name) => name.endsWith('.jsonl')))(
    'has as many rows of the same kinds where they are only counted: %s',
    (name) => {
      const entries = readExport(readFileSync(new URL(name, JOURNALS), 'utf8'));
      const [told, counted] = [new TimelineFold(), new TimelineFold()];
      const kinds: string[] = [];
      for (const entry of entries) {
        const rows = told.apply(entry);
        kinds.push(...rows.map(({ kind }) => kind));
        expect(counted.count(entry).map(({ kind }) => kind)).toEqual(rows.map(({ kind }) => kind));
      }
      expect(kinds).toContain('step');
      expect(counted.unanswered()).toHaveLength(told.unanswered().length);
    },
  );

  it('reports that a request without an answer may have happened', async () => {
    const entries = await sampleRun();
    const cut = entries.findIndex((entry) => entry.type === 'call.attempted' && entry.data.path === '/orders');
    const rows = makeTimeline(entries.slice(0, cut + 1));
    expect(rows.at(-1)).toMatchObject({ kind: 'answer', seq: cut + 1 });
    expect(printTimeline(rows.slice(-1))).toMatch(/^ +\+2\.000 +\? POST \/orders was sent, .* may have happened\n$/);
  });

  it('passes roles to a painter', async () => {
    const rows = makeTimeline(await sampleRun()).filter(({ kind }) => kind === 'fill');
    expect(printTimeline(rows, (role, text) => `<${role}>${text}`)).toBe(
      [
        '<muted>   +1:05.080      <good>traded <value>0.1 BTC-USD at 64200 USD<plain> of order BTC-USD@11<muted>, fee -0.01 USD, as maker, fill BTC-USD-1',
        '<muted>   +1:05.080      <good>traded <value>0.2 BTC-USD at 64190 USD<plain> of order BTC-USD@11<muted>, fee -0.01 USD, as maker, fill BTC-USD-2',
        '',
      ].join('\n'),
    );
  });

  it('names the plan of an approval, if there is one', () => {
    const askWith = (plan: string) => {
      const script = new Script();
      script.append('run.started', startedData());
      script.append('approval.asked', { ask: 'go on?', by: ['trader'], until: START, plan }, 'steps/ok');
      return printTimeline(makeTimeline(script.entries)).trimEnd().split('\n').at(-1);
    };
    expect(askWith('')).toMatch(/asked trader: go on\?, until 2026-01-05T08:00:00\.000Z$/);
    expect(askWith('ab12')).toMatch(/, until 2026-01-05T08:00:00\.000Z, for plan ab12$/);
  });

  it('lets no text of a venue, a file or a person break the line or reach the terminal', () => {
    const evil = '\u001b[2J\u009b31m\r\n\u202e\u2028evil\u0007';
    const script = new Script();
    const { append } = script;
    append('run.started', startedData({ runbook: evil, account: evil, by: evil, inputs: { [evil]: evil } }));
    append('step.started', { verb: evil, id: evil, attempt: 1, now: 0 }, `steps/${evil}`);
    append(
      'step.decided',
      { what: evil, expression: evil, inputs: { [evil]: { [evil]: evil } }, value: evil },
      `steps/${evil}`,
    );
    append(
      'step.retried',
      { verb: evil, attempt: 1, error: { kind: evil, message: evil }, retryAt: 0 },
      `steps/${evil}`,
    );
    append('variable.set', { name: evil, value: [evil] });
    append('notification.sent', { to: evil, text: evil });
    const call = script.intend(`GET /fills${evil}`, {}, evil, { purpose: evil });
    append('call.checked', { call, limits: { [evil]: evil } });
    append('call.attempted', {
      call,
      n: 2,
      method: evil,
      path: evil,
      params: { [evil]: evil },
      digest: '',
      tokens: 1,
      epoch: 1,
      waitedMs: 1,
    });
    append('call.settled', { call, kind: 'rejected', status: 400, message: evil, notes: [evil] });
    append('call.settled', { call: evil, kind: 'denied', code: evil, message: evil });
    append('call.settled', { call: evil, kind: 'unresolved', failure: evil });
    append('call.settled', { call: evil, kind: 'confirmed', result: { [evil]: evil } });
    append('feed.read', { call: evil, name: evil, key: evil, value: evil, at: 0 });
    append('feed.read', { call: evil, name: evil });
    append('order.concluded', { clientOrderId: evil, event: 'T_SETTLE', because: evil });
    append('order.moved', { clientOrderId: evil, orderId: evil, from: evil, to: evil, event: evil, filled: evil });
    append('order.alarmed', { clientOrderId: evil, alarm: evil, detail: { [evil]: evil } });
    append('deadman.moved', { event: 'armed', market: evil, timeoutMs: 5000, because: evil });
    append('approval.asked', { ask: evil, by: [evil], until: 0, plan: evil });
    append('operator.acted', { command: evil, by: evil, step: evil, reason: evil });
    append('run.resumed', { openCalls: [evil] });
    append(
      'step.ended',
      { verb: evil, id: evil, outcome: 'failed', attempts: 1, error: { kind: evil, message: evil }, value: evil },
      `steps/${evil}`,
    );
    append('run.ended', { outcome: 'halted', reason: evil, outputs: { [evil]: evil } });
    const rows = makeTimeline(script.entries);
    const lines = printTimeline(rows).split('\n');
    expect(lines).toHaveLength(rows.length + 1);
    expect(rows.length).toBeGreaterThanOrEqual(23);
    // Characters a terminal acts on: C0 except the line feeds counted above, DEL, C1, bidi, separators.
    for (const line of lines)
      expect(line).not.toMatch(/[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/);
  });

  it('has no rows for entries that only the engine needs, nor for unknown types', () => {
    const script = new Script();
    script.append('run.started', startedData());
    script.append('run.moved', { from: 'starting', to: 'running', event: 'STARTED' });
    expect(makeTimeline(script.entries).map((row) => row.kind)).toEqual(['run', 'run']);
    const later = { ...(script.entries[0] as Entry), type: 'something.new' } as unknown as Entry;
    expect(new TimelineFold().apply(later)).toEqual([]);
  });

  it.each([
    [0, '+0.000'],
    [59_999, '+59.999'],
    [60_000, '+1:00.000'],
    [3_599_999, '+59:59.999'],
    [3_600_000, '+1:00:00.000'],
    [100 * 3_600_000 + 61_001, '+100:01:01.001'],
  ])('writes an offset of %i ms as %s', async (offsetMs, text) => {
    const script = new Script();
    script.append('run.started', startedData());
    await script.at(offsetMs);
    script.append('variable.set', { name: 'n', value: '1' });
    expect(printTimeline(makeTimeline(script.entries).slice(-1)).trim()).toBe(`${text}  n is now 1`);
  });
});
