import type { ReadableSpan } from '@opentelemetry/sdk-trace-base';
import { describe, expect, it, vi } from 'vitest';
import { readEntry, verifyChain } from '../../src/journal/chain.ts';
import type { Entry } from '../../src/journal/entry.ts';
import type { StoredEntry } from '../../src/journal/store.ts';
import { MemoryStore } from '../../src/journal/stores/memory.ts';
import { CSV_TABLES, type CsvTableName, quoteCell } from '../../src/report/export/csv.ts';
import { TraceFold } from '../../src/report/export/otlp.ts';
import { appendMany, newWriter, startedData } from '../journal/sample.ts';
import { Script, sampleRun } from './sample-run.ts';
import { exportCloudEvents, exportCsv, exportJsonl, exportOtlp, makeSpans } from './whole-run.ts';

/** Characters that a terminal, a log or a spreadsheet acts on. */
const UNSAFE = /[\u0000-\u0009\u000b\u000c\u000e-\u001f\u007f-\u009f\u2028-\u202e\u2066-\u2069]/;

async function storedRun(): Promise<readonly StoredEntry[]> {
  const store = new MemoryStore();
  const writer = newWriter(store, 'r1');
  appendMany(writer, 12);
  await writer.flush();
  return store.read('r1');
}

describe('jsonlExport', () => {
  it('holds every entry as it was hashed, so that it can be verified without this program', async () => {
    const stored = await storedRun();
    const lines = exportJsonl(stored).split('\n');
    expect(lines.pop()).toBe('');
    const again = lines.map((line): StoredEntry => {
      const { run, seq, at, type, step, hash } = JSON.parse(line) as StoredEntry;
      return { run, seq, at, type, step, hash, line: `${line.slice(0, line.lastIndexOf(',"hash":'))}}` };
    });
    expect(again).toEqual(stored);
    expect(verifyChain(again)).toMatchObject({ ok: true, entries: 12 });
    expect(lines.join('')).not.toMatch(UNSAFE);
  });
});

describe('csvCell', () => {
  it.each([
    ['=1+1', "'=1+1"],
    ['+49 30', "'+49 30"],
    ['-2+3+cmd|’ /C calc’!A0', "'-2+3+cmd|’ /C calc’!A0"],
    ['@SUM(1)', "'@SUM(1)"],
    ['  =1', "'  =1"],
    [' b ', '" b "'],
    ['＝1', "'＝1"],
    ['|calc', "'|calc"],
    ['"=1"', `"'""=1"""`],
    ['=HYPERLINK("http://x","y")', `"'=HYPERLINK(""http://x"",""y"")"`],
    ['-0.01', '-0.01'],
    ['0.10', '0.10'],
    ['a,b', '"a,b"'],
    ['a;b', '"a;b"'],
    ['say "hi"', '"say ""hi"""'],
    ['line\r\nbreak\ttab', 'line\\u000d\\u000abreak\\u0009tab'],
    ['\u001b[31m\u202e', '\\u001b[31m\\u202e'],
    ['', ''],
  ])('writes %j as %j', (text, cell) => {
    expect(quoteCell(text)).toBe(cell);
  });
});

describe('csvExport', () => {
  it('has the orders and the fills of a run', async () => {
    const entries = await sampleRun();
    expect(exportCsv(entries, 'orders').split('\r\n')).toEqual([
      'clientOrderId,orderId,market,side,type,price,size,filled,averagePrice,state',
      'k2entry1,,BTC-USD,long,limit,64200,0.3,0,,denied',
      'k2entry2,BTC-USD@11,BTC-USD,long,limit,64200,0.3,0.3,64193.333333333333333333,closed',
      '',
    ]);
    expect(exportCsv(entries, 'fills').split('\r\n')[1]).toBe(
      'BTC-USD-1,2026-01-05T08:00:00.000Z,k2entry2,BTC-USD@11,steps/entry~2,BTC-USD,long,64200,0.1,6420,-0.01,true,false',
    );
  });

  it('has the timeline by default, one line per row', async () => {
    const lines = exportCsv(await sampleRun()).split('\r\n');
    expect(lines.slice(0, 2)).toEqual([
      'sequence,at,offsetMs,kind,depth,text',
      '1,2026-01-05T08:00:00.000Z,0,run,0,"sample begins at 2026-01-05T08:00:00.000Z, against the simulated venue, account main, run r1, started by hand"',
    ]);
  });

  it.each(Object.keys(CSV_TABLES) as CsvTableName[])(
    'has as many cells in every row of %s as columns, and nothing that acts',
    (table) => {
      const evil = '=cmd|"\u001b[2J\r\n,;\'';
      const script = new Script();
      script.append('run.started', startedData({ runbook: evil, account: evil, inputs: { [evil]: evil } }));
      script.append('step.started', { verb: evil, id: evil, attempt: 1, now: 0 }, evil);
      const call = script.intend('GET /orders', {}, evil);
      script.attempt(call, 'GET /orders', { [evil]: evil }, 1, evil);
      script.append('call.settled', { call, kind: 'rejected', status: 400, message: evil }, evil);
      const text = exportCsv(script.entries, table);
      const rows = text.split('\r\n');
      expect(rows.pop()).toBe('');
      for (const row of rows) {
        expect(cellsOf(row)).toHaveLength(CSV_TABLES[table].columns.length);
        for (const cell of cellsOf(row)) expect(cell).not.toMatch(/^\s*[=+@|]/);
      }
      expect(text).not.toMatch(UNSAFE);
    },
  );
});

/** Reads RFC 4180 independently of the writer. */
function cellsOf(line: string): string[] {
  const cells: string[] = [];
  let cell = '';
  let quoted = false;
  for (let at = 0; at < line.length; at += 1) {
    const character = line.charAt(at);
    if (character === '"' && quoted && line.charAt(at + 1) === '"') {
      cell += '"';
      at += 1;
    } else if (character === '"') quoted = !quoted;
    else if (character === ',' && !quoted) {
      cells.push(cell);
      cell = '';
    } else cell += character;
  }
  expect(quoted).toBe(false);
  return [...cells, cell];
}

describe('otlpExport', () => {
  const named = (spans: readonly ReadableSpan[], name: string) => spans.find((span) => span.name === name);

  it('has the run, its steps and its requests as one tree', async () => {
    const spans = makeSpans(await sampleRun());
    const names = new Map(spans.map((span) => [span.spanContext().spanId, span.name]));
    expect(names.size).toBe(spans.length);
    expect(
      spans.map(({ name, kind, parentSpanContext, status }) => [
        name,
        kind,
        parentSpanContext && names.get(parentSpanContext.spanId),
        status.code,
      ]),
    ).toEqual([
      ['set_leverage', 0, 'sample', 0],
      ['POST /cancel_all_after', 2, 'sample', 1],
      ['POST /orders', 2, 'entry: place', 1],
      ['GET /orders', 2, 'sample', 1],
      ['entry: place', 0, 'sample', 1],
      ['GET /fills/order', 2, 'seen: list_fills', 1],
      ['seen: list_fills', 0, 'repeat', 1],
      ['GET /orders', 2, 'sample', 1],
      ['repeat', 0, 'sample', 1],
      ['GET /account', 2, 'read_account', 2],
      ['read_account', 0, 'sample', 2],
      ['sample', 0, undefined, 2],
    ]);
    expect(new Set(spans.map((span) => span.spanContext().traceId)).size).toBe(1);
  });

  it('follows the JSON form of OTLP', async () => {
    const { resourceSpans } = JSON.parse(exportOtlp(await sampleRun()));
    expect(resourceSpans).toHaveLength(1);
    const { resource, scopeSpans } = resourceSpans[0];
    expect(resource.attributes).toContainEqual({ key: 'service.name', value: { stringValue: 'perp-runbook' } });
    expect(scopeSpans[0].spans.at(-1)).toMatchObject({
      traceId: expect.stringMatching(/^[0-9a-f]{32}$/),
      spanId: expect.stringMatching(/^[0-9a-f]{16}$/),
      name: 'sample',
      kind: 1,
      startTimeUnixNano: '1767600000000000000',
      endTimeUnixNano: '1767600075160000000',
      status: { code: 2, message: 'timeout: response' },
    });
  });

  it('has requests, answers and decisions', async () => {
    const spans = makeSpans(await sampleRun());
    expect(named(spans, 'POST /orders')?.attributes).toMatchObject({
      'http.response.status_code': 200,
      'venue.param.price': '64200',
    });
    expect(named(spans, 'GET /account')?.attributes).toMatchObject({
      'error.type': 'unresolved',
      'venue.waited_ms': 250,
    });
    expect(named(spans, 'entry: place')?.events.map((event) => event.name)).toEqual([
      'call.denied',
      'order.moved',
      'step.retried',
      'step.attempt',
      'order.moved',
      'order.moved',
    ]);
    expect(named(spans, 'sample')?.events.map((event) => event.name)).toContain('step.decided');
  });

  it('ends spans that a crash left open with the journal', async () => {
    const entries = await sampleRun();
    const cut = entries.slice(
      0,
      entries.findIndex((entry) => entry.type === 'call.attempted' && entry.data.path === '/orders') + 1,
    );
    const open = makeSpans(cut).filter((span) => span.status.code === 0);
    expect(open.map(({ name, endTime: [seconds] }) => [name, seconds])).toEqual([
      ['set_leverage', 1_767_600_000],
      ['POST /orders', 1_767_600_002],
      ['entry: place', 1_767_600_002],
      ['sample', 1_767_600_002],
    ]);
  });

  it('of a long run is written while it is read, as the same trace', async () => {
    const [first, ...rest] = await sampleRun();
    if (first === undefined) throw new Error('no entries');
    const step = rest.filter(({ step: of, type }) => of.includes('set_leverage') && type.startsWith('step.'));
    const round = (n: number) =>
      step.map((entry) => ({ ...entry, seq: 1000 * n + entry.seq, step: `${entry.step}[${n}]` }));
    const entries = [first, ...Array.from({ length: 1000 }, (_, n) => round(n + 1)).flat(), ...rest] as Entry[];
    const fold = new TraceFold();
    const pieces = entries.map((entry) => fold.write(entry)).filter((piece) => piece !== '');
    expect(pieces.length).toBeGreaterThan(3);
    const text = [...pieces, fold.end()].join('');
    const { spans } = JSON.parse(text).resourceSpans[0].scopeSpans[0];
    const whole = makeSpans(entries);
    expect(spans.map(({ spanId }: { spanId: string }) => spanId)).toEqual(
      whole.map((span) => span.spanContext().spanId),
    );
    expect(whole.length).toBeGreaterThan(1000);
    expect(text.match(/\n/g)).toHaveLength(1);
    expect(text.endsWith('\n')).toBe(true);
  });

  it('is the same every time, whatever the environment says about tracing', async () => {
    const entries = await sampleRun();
    const text = exportOtlp(entries);
    vi.stubEnv('OTEL_TRACES_SAMPLER', 'always_off');
    vi.stubEnv('OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT', '1');
    vi.stubEnv('OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT', '3');
    vi.stubEnv('OTEL_RESOURCE_ATTRIBUTES', 'host.name=here');
    try {
      expect(exportOtlp(entries)).toBe(text);
    } finally {
      vi.unstubAllEnvs();
    }
    expect(text).not.toMatch(UNSAFE);
  });

  it('refuses entries that do not begin with run.started', async () => {
    const entries = await sampleRun();
    const damaged = expect.objectContaining({ name: 'StoreError', reason: 'damaged' });
    expect(() => makeSpans([])).toThrow(damaged);
    expect(() => makeSpans(entries.slice(1))).toThrow(damaged);
  });
});

describe('cloudEventsExport', () => {
  it('is an event a line with the required attributes, and extension names of letters and digits', async () => {
    const stored = await storedRun();
    const lines = exportCloudEvents(stored.map((each) => readEntry(each)))
      .split('\n')
      .slice(0, -1);
    const events = lines.map((line) => JSON.parse(line) as Record<string, unknown>);
    expect(events).toHaveLength(12);
    expect(events[1]).toMatchObject({
      specversion: '1.0',
      id: '2',
      source: '/runs/r1',
      type: 'perp-runbook.variable.set',
      time: '2026-01-05T08:00:00.000Z',
      subject: 'steps/2:set',
      sequence: '000000000002',
      entryhash: stored[1]?.hash,
    });
    for (const event of events) for (const name of Object.keys(event)) expect(name).toMatch(/^[a-z0-9]{1,20}$/);
    expect(new Set(events.map((event) => event.id)).size).toBe(12);
    expect(lines.join('')).not.toMatch(UNSAFE);
  });
});
