/** Checks each row of the table (docs/audit.md, What is recorded) against the entries of real runs. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { beforeAll, describe, expect, it } from 'vitest';
import { readAnchors } from '../../src/journal/anchors/anchors.ts';
import { readEntry } from '../../src/journal/chain.ts';
import { type Entry, ORIGIN } from '../../src/journal/entry.ts';
import { readLines } from '../../src/journal/reading.ts';
import { REPEATED } from '../../src/journal/repeated-rows.ts';
import { openDatabase } from '../../src/journal/sql/sqlite.ts';
import { openSqliteStore } from '../../src/journal/stores/sqlite.ts';
import { MemoryScheduleStore } from '../engine/memory-schedule-store.ts';
import { inputsFrom, loadedFrom, perform, type Scene } from '../engine/stage.ts';
import { playLive } from '../live/live-bench.ts';
import { envelope, JWT, REFRESH } from '../live/mock-venue.ts';
import { LIMIT, scene } from '../live/scene.ts';

const DOCUMENT = readFileSync(new URL('../../docs/audit.md', import.meta.url), 'utf8');

/** `run.started: by, trigger`: the entry type of an event, and its required fields. */
interface Claim {
  readonly event: string;
  readonly carrier: string;
  readonly fields: readonly string[];
}

function claims(): readonly Claim[] {
  const table = DOCUMENT.slice(DOCUMENT.indexOf('## What is recorded'), DOCUMENT.indexOf('## Export'));
  const rows = [...table.matchAll(/^\| ([^|`]+) \| (`[^|]+) \|$/gm)];
  return rows.flatMap(([, event = '', cell = '']) =>
    [...cell.matchAll(/`([^`:]+): ([^`]+)`/g)].map(([, carrier = '', fields = '']) => ({
      event,
      carrier,
      fields: fields.split(', '),
    })),
  );
}

const LIVE = `runbook: one
dsl: 1
leaves: {position: open, because: the case is about something else}
vars: {tries: {type: integer, init: 0}}
deadman: {market: BTC-USD, timeout: 20s, on_exit: disarm}
steps:
  - set: {tries: tries + 1}
  - id: ask
    approve: {ask: go on?, by: [desk], within: 60s}
  - id: o
    place: {type: limit, market: BTC-USD, side: long, size: 0.0001, price: 19800}
  - wait: 4s
  - cancel: o
    await: terminal
  - notify: {to: ops, text: done, severity: warn}
`;

/** Everything that runs wrote, by its name in the table. */
const found = new Map<string, object[]>();
const keep = (carrier: string, record: object) => void found.set(carrier, [...(found.get(carrier) ?? []), record]);

function keepEntries(entries: readonly Entry[]): void {
  for (const entry of entries) {
    keep(entry.type, entry.data);
    keep('envelope', entry);
  }
}

/** A run on a stage, against the simulated venue with these faults. */
async function played(text: string, rest: Partial<Scene>): Promise<void> {
  const loaded = loadedFrom({ file: 'evidence.yaml', text });
  const { entries } = await perform({ loaded, inputs: inputsFrom(loaded, {}), config: {}, ...rest });
  keepEntries(entries);
}

const PLACE = (more: string) => `runbook: evidence
dsl: 1
leaves: {position: open, because: the case is about something else}
feeds: {mid: {type: price, max_age: 5s}}
limits: {max_open_orders: 2}
deadman: {market: BTC-USD, timeout: 20s, on_exit: disarm}
steps:
  - assert: feeds.mid > 1
    because: there is a market
  - id: o
    place: {type: limit, market: BTC-USD, side: long, size: 0.001, price: tick(feeds.mid * 0.9)}
${more}`;

const SWEEP = `runbook: evidence
dsl: 1
leaves: {position: open, because: the case is about something else}
needs: [cancel_all]
steps: [{cancel_all: {everyone: true}}]
`;

const LISTS = `runbook: evidence
dsl: 1
leaves: {position: open, because: the case is about something else}
steps:
${'  - place: {type: limit, market: BTC-USD, side: long, size: 0.001, price: 1000}\n'.repeat(4)}${'  - list_orders: {market: BTC-USD}\n'.repeat(2)}`;

async function playedLive(): Promise<void> {
  await scene(
    {
      runbook: LIVE,
      profile: 'auth: {mode: jwt, refresh_token: {env: VENUE_REFRESH_TOKEN}}\nnotify: {ops: {log: true}}',
      venue: (venue) => {
        venue.jwt = () => [JWT];
        venue.rules.push((heard) =>
          heard.method === 'GET' && heard.path === '/orders' && venue.of('GET', '/orders').length === 3
            ? { body: { ...envelope([]), success: true, error: 'mind the gap' } }
            : undefined,
        );
        venue.rules.push((heard) =>
          heard.method === 'GET' && heard.path === '/orders' && venue.of('GET', '/orders').length === 2
            ? { status: 401, body: envelope([], 'UNAUTHORIZED') }
            : undefined,
        );
      },
    },
    async ({ path, venue, start, run, write }) => {
      const env = { VENUE_REFRESH_TOKEN: REFRESH, USER: 'ada' };
      const words = ['run', 'one.yaml', '--profile', 'p.yaml', '--json'];
      const running = start(words, env);
      // An answer before the question is ignored: it is repeated until the order exists.
      while (venue.placed.length === 0) {
        await run(['approve', 'last', 'ask', '--by', 'desk'], env);
        await new Promise((resolve) => setTimeout(resolve, 300));
      }
      running.child.kill('SIGKILL');
      await running.ended;
      const resumed = await run(['resume', '--json'], env);
      expect(resumed).toMatchObject({ exit: 0 });
      // An order that no look-up found, and that the next run finds.
      venue.hiddenMs = 3_600_000;
      venue.rules.push((heard) =>
        heard.method === 'POST' && heard.path === '/orders' ? { done: true, cut: true } : undefined,
      );
      write('two.yaml', LIMIT);
      expect((await run(['run', 'two.yaml', '--profile', 'p.yaml', '--json'], env)).exit).toBe(1);
      venue.hiddenMs = 0;
      write(
        'three.yaml',
        'runbook: one\ndsl: 1\nleaves: {position: open, because: the case is about something else}\nvars: {n: {type: integer, init: 0}}\nsteps:\n  - repeat: {every: 200ms, max: 6, do: [{assert: n == 0}]}\n',
      );
      expect((await run(['run', 'three.yaml', '--profile', 'p.yaml', '--json'], env)).exit).toBe(0);
      expect((await run(['kill', '--profile', 'p.yaml', '--by', 'ada', '--reason', 'a drill'], env)).exit).toBe(0);
      expect((await run(['release', '--profile', 'p.yaml', '--by', 'grace'], env)).exit).toBe(0);
      const shipped = (name: string) => fileURLToPath(new URL(`../../runbooks/${name}`, import.meta.url));
      const dry = await run(['dry-run', shipped('requote.yaml'), '--fixtures', shipped('fixtures/requote.yaml')]);
      expect(dry.exit).toBe(0);
      write('four.yaml', LISTS);
      expect((await run(['dry-run', 'four.yaml'])).exit).toBe(0);
      const store = await openSqliteStore(join(path, '.runbook', 'runbook.db'));
      for (const row of await store.runs()) {
        const stored = await store.read(row.run);
        keepEntries([...readLines(stored)]);
        keepEntries(stored.filter(({ type }) => type === 'round.idle').map(readEntry));
        for (const { line } of stored.filter(({ type }) => type === REPEATED)) keep(REPEATED, JSON.parse(line).data);
      }
      await store.close();
      for (const anchor of readAnchors(join(path, '.runbook', 'anchors.jsonl')).anchors) keep('anchor', anchor);
      const shared = await openDatabase(join(path, '.runbook', 'shared.db'));
      for (const row of shared.statement('SELECT * FROM kill_event').all()) keep('kill switch', row);
      shared.close();
    },
  );
}

function has(record: object, path: string): boolean {
  let value: unknown = record;
  for (const part of path.split('.')) value = (value as Record<string, unknown> | null | undefined)?.[part];
  return value !== undefined;
}

describe('what is recorded', { tags: ['long'] }, () => {
  beforeAll(async () => {
    await played(PLACE('  - amend: {order: o, price: tick(feeds.mid * 0.91)}\n  - cancel: o\n'), {
      config: { faults: [{ on: 'PUT /orders', do: 'amend_lost' }] },
      clockPut: { afterMs: 300, byMs: 3_600_000 },
    });
    await played(PLACE('  - cancel: o\n'), { config: { faults: [{ on: 'POST /orders', do: 'lost_before' }] } });
    await played(PLACE('  - read_account: {}\n'), {
      config: { faults: [{ on: 'GET /account', when: { call: 1 }, do: 'status', status: 503 }] },
    });
    await played(
      PLACE('  - place: {type: limit, market: BTC-USD, side: long, size: 0.001, price: 1}\n').replace(
        'max_open_orders: 2',
        'max_open_orders: 1',
      ),
      {},
    );
    await played(PLACE('  - list_orders: {}\n'.repeat(3)), { config: { tokens: { limit: 240 } } as never });
    await played(PLACE('  - wait: 10s\n'), {
      commands: [{ afterMs: 5000, command: 'cancel', by: 'ada', reason: 'enough' }],
    });
    await played(SWEEP, {
      config: {
        account: { resting: [{ market: 'BTC-USD', side: 'long', size: '1', price: '60000', agoMs: 60_000 }] },
        faults: ['DELETE /orders/cancel_all', 'DELETE /orders'].map((on) => ({ on, do: 'cancel_lost' })),
      } as never,
    });
    keepEntries((await playLive('runbook: away\ndsl: 1\nsteps: [{wait: 10s}]\n', { from: 3000, ms: 5000 })).entries);
    await playedLive();
    const scheduleStore = new MemoryScheduleStore();
    const row = {
      slot: 'morning',
      nominalMs: 1,
      verdict: 'missed',
      why: 'the process was down',
      decidedAt: 2,
    } as const;
    await scheduleStore.engage('main', 1, ['morning'], 0);
    await scheduleStore.record('main', 1, [row]);
    for (const each of await scheduleStore.occurrences('main')) keep('schedule', each);
  });

  it('has a table row for every type of entry', () => {
    const carriers = new Set(claims().map(({ carrier }) => carrier));
    expect(Object.keys(ORIGIN).filter((type) => !carriers.has(type))).toEqual([]);
    expect(claims().length).toBeGreaterThan(30);
  });

  it.each(claims())('$event: $carrier', ({ carrier, fields }) => {
    const records = found.get(carrier) ?? [];
    const missing = fields.filter((field) => !records.some((record) => has(record, field)));
    expect({ carrier, records: records.length > 0, missing }).toEqual({ carrier, records: true, missing: [] });
  });
});
