import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { UserError } from '../../src/app/errors.ts';
import { accessStore } from '../../src/app/stores/location.ts';
import { VirtualClock } from '../../src/base/clock.ts';
import { readAction } from '../../src/cli/serve/actions.ts';
import { drawRunChart } from '../../src/cli/serve/chart.ts';
import { openDatabase } from '../../src/journal/sql/sqlite.ts';
import { openSqliteStore } from '../../src/journal/stores/sqlite.ts';
import { newWriter, START, startedData } from '../journal/sample.ts';
import { Script, sampleRun } from '../report/sample-run.ts';
import { folder as commandFolder } from './command.ts';
import { keepMore, keepRun, type Served, serve, temporaryFolder } from './served-journal.ts';

const RUN = '20260105T080000000-sample-1';
const HOSTILE = '\u001b]0;owned\u0007<img src=x onerror=alert(1)>\u202etxt.exe';
const SHOWN = '\\u001b]0;owned\\u0007<img src=x onerror=alert(1)>\\u202etxt.exe';

describe('the server of the review page', () => {
  let served: Served;
  beforeAll(async () => {
    const folder = temporaryFolder();
    await keepRun(folder, RUN, await sampleRun());
    const hostile = new Script();
    hostile.append('run.started', startedData({ runbook: HOSTILE, by: HOSTILE, inputs: { [HOSTILE]: HOSTILE } }));
    hostile.append('variable.set', { name: HOSTILE, value: HOSTILE }, `steps/${HOSTILE}`);
    hostile.append('run.ended', { outcome: 'failed', error: { kind: 'venue', message: HOSTILE }, outputs: {} });
    await keepRun(folder, '20260105T080000000-hostile-2', hostile.entries);
    served = await serve(folder);
  });

  it('serves the document and its parts under a strict policy, to requests with the right host', async () => {
    for (const path of ['/', '/run?id=x', '/compare', '/assets/page.js', '/assets/page.css', '/assets/icon.svg']) {
      const { status, headers, text } = await served.ask(path, { headers: { 'x-runbook-token': undefined } });
      expect([path, status]).toEqual([path, 200]);
      expect(headers).toMatchObject({
        'content-security-policy': expect.stringContaining("default-src 'none'"),
        'x-content-type-options': 'nosniff',
        'referrer-policy': 'no-referrer',
        'cache-control': 'no-store',
      });
      expect(headers['access-control-allow-origin']).toBeUndefined();
      expect(headers['set-cookie']).toBeUndefined();
      expect(text).not.toContain(served.server.token);
    }
  });

  it('imports only existing scripts', async () => {
    const seen = new Set(['/assets/page.js']);
    for (const path of seen) {
      const { status, text } = await served.ask(path);
      expect([path, status]).toEqual([path, 200]);
      for (const [, name] of text.matchAll(/from '\.\/([\w.-]+)'/g)) seen.add(`/assets/${name}`);
    }
    expect(seen.size).toBeGreaterThan(15);
    expect([...seen].every((path) => path.endsWith('.js'))).toBe(true);
  });

  it('never turns a text into markup', async () => {
    const { text } = await served.ask('/assets/dom.js');
    const scripts = await Promise.all(
      [...new Set((await served.ask('/assets/run.js')).text.match(/\.\/[\w-]+\.js/g))].map((name) =>
        served.ask(`/assets/${name.slice(2)}`),
      ),
    );
    for (const script of [text, ...scripts.map((each) => each.text)])
      expect(script).not.toMatch(
        /innerHTML|outerHTML|insertAdjacentHTML|document\.write|DOMParser|\beval\(|new Function|srcdoc/,
      );
  });

  it('lists, filters and shows runs', async () => {
    const list = (await served.ask('/api/runs?text=sample')).json as {
      runs: { run: string }[];
      counts: { all: number };
    };
    expect(list.runs.map(({ run }) => run)).toEqual([RUN]);
    expect(list.counts.all).toBe(2);
    const { json } = await served.ask(`/api/runs/${RUN}`);
    expect(json).toMatchObject({ run: RUN, outcome: 'failed', confirmation: 'sample-1', startedAt: START });
    const known = Number(json['seq']);
    expect((await served.ask(`/api/runs/${RUN}?after=${known}`)).json).toEqual({
      run: RUN,
      seq: known,
      unchanged: true,
      answers: json['answers'],
      isGoing: false,
      now: expect.any(Number),
    });
    expect((await served.ask(`/api/runs/${RUN}?after=${known - 1}`)).json).toHaveProperty('steps');
  });

  it('returns every entry raw: the exact line, and the hash that verifies it', async () => {
    const page = (await served.ask(`/api/runs/${RUN}/entries?from=2&limit=3`)).json as {
      total: number;
      rows: { seq: number }[];
    };
    expect(page.rows.map(({ seq }) => seq)).toEqual([3, 4, 5]);
    const narrowed = (await served.ask(`/api/runs/${RUN}/entries?groups=deadman,people&limit=500`)).json;
    expect(narrowed).toMatchObject({ total: 2, rows: [{ type: 'deadman.moved' }, { type: 'deadman.moved' }] });
    const { json } = await served.ask(`/api/runs/${RUN}/entries/2`);
    expect(JSON.parse(String(json['line']))).toMatchObject({ seq: 2, type: 'step.decided', run: RUN });
    expect(json['hash']).toMatch(/^[0-9a-f]{64}$/);
    for (const none of ['0', '9999', '-1', '1e3', 'x'])
      expect((await served.ask(`/api/runs/${RUN}/entries/${none}`)).status).toBe(404);
  });

  it('shows the timeline, the definition, the verdict, and compares', async () => {
    expect((await served.ask(`/api/runs/${RUN}/story?from=0&limit=5`)).json).toMatchObject({
      from: 0,
      rows: { length: 5 },
    });
    expect((await served.ask(`/api/runs/${RUN}/definition`)).json).toMatchObject({
      sources: [{ name: 'sample', lines: ['runbook: sample', ''] }],
    });
    expect((await served.ask(`/api/runs/${RUN}/checks`)).json).toMatchObject({
      verdict: { ok: true, anchors: 0 },
      kills: [],
    });
    // The next request includes the findings, although no entry was written.
    const known = Number((await served.ask(`/api/runs/${RUN}`)).json['seq']);
    const { answers } = (await served.ask(`/api/runs/${RUN}?after=${known}`)).json;
    expect((answers as readonly { said: string }[]).at(-1)?.said).toBe('Nothing');
    expect((await served.ask(`/api/compare?left=${RUN}&right=${RUN}`)).json).toMatchObject({ diff: { same: true } });
  });

  it('lists the states where the recorded runbook cannot be drawn', async () => {
    const { status, json } = await served.ask(`/api/runs/${RUN}/chart`);
    expect([status, json['kind']]).toEqual([200, 'listed']);
  });

  it('shows texts of a venue or a file without hidden characters', async () => {
    const { text, json } = await served.ask('/api/runs/20260105T080000000-hostile-2');
    expect(text).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u202e]/);
    expect(json).toMatchObject({ runbook: SHOWN, by: SHOWN, error: { message: SHOWN } });
    expect((await served.ask('/api/runs')).text).not.toContain('\u202e');
    const entry = await served.ask('/api/runs/20260105T080000000-hostile-2/entries/2');
    expect(String(entry.json['line'])).toContain('\\u202etxt.exe');
  });

  it.each([
    ['/nothing', 404],
    ['/assets/', 404],
    ['/assets/../serve.ts', 404],
    ['/assets/..%2f..%2f..%2fpackage.json', 404],
    ['/assets/%2e%2e/shell.ts', 404],
    ['/assets/constructor', 404],
    ['/assets/__proto__', 404],
    ['//etc/passwd', 404],
    ['/api/nothing', 404],
    ['/api/runs/missing', 404],
    ['/api/runs/..%2f..%2fetc%2fpasswd', 404],
    ['/api/runs/%', 404],
    [`/api/runs/${RUN}/nothing`, 404],
    [`/api/runs/${RUN}/entries/1/2`, 404],
    ['/api/compare?left=a&right=b', 404],
  ])('has no %s', async (path, status) => {
    const reply = await served.ask(path);
    expect(reply.status).toBe(status);
    expect(reply.text).not.toMatch(/ENOENT|at .*\.ts:|root:x/);
  });

  it('returns no data without the token, under another host or to another page', async () => {
    for (const headers of [
      { 'x-runbook-token': 'guess' },
      { host: 'evil.example' },
      { origin: 'https://evil.example' },
      { 'sec-fetch-site': 'cross-site' },
    ]) {
      const { status, text } = await served.ask(`/api/runs/${RUN}`, { headers });
      expect([401, 403, 421]).toContain(status);
      expect(text).not.toContain('sample');
    }
  });

  it('does nothing without --allow-actions', async () => {
    const body = JSON.stringify({ action: 'kill', run: RUN, by: 'eve', confirm: 'sample-1' });
    expect((await served.ask('/api/actions', { method: 'POST', body })).status).toBe(403);
    expect(existsSync(join(served.folder, 'shared.db'))).toBe(false);
  });

  it('had no internal error', () => expect(served.mistakes).toEqual([]));
});

describe('a running run', () => {
  it('is read from the last known entry', async () => {
    const folder = temporaryFolder();
    const entries = await sampleRun();
    await keepRun(folder, RUN, entries.slice(0, 10));
    const { ask } = await serve(folder);
    expect((await ask('/api/runs')).json).toMatchObject({
      runs: [{ progress: { entries: 10, active: [{ path: 'steps/entry' }] } }],
    });
    expect((await ask(`/api/runs/${RUN}`)).json).toMatchObject({ seq: 10, active: [{ label: 'entry' }] });
    await keepMore(folder, RUN, entries.slice(10));
    const both = await Promise.all([
      ask(`/api/runs/${RUN}?after=10`),
      ask(`/api/runs/${RUN}/story?limit=1000`),
      ask(`/api/runs/${RUN}?after=10`),
    ]);
    expect(both.map(({ status }) => status)).toEqual([200, 200, 200]);
    expect(both[0]?.json).toMatchObject({
      seq: entries.length,
      outcome: 'failed',
      active: [],
      requests: { totals: { write: 2, lost: 1 } },
    });
  });

  it('is read with what it holds back, each of its entries once', async () => {
    const folder = temporaryFolder();
    const store = await openSqliteStore(join(folder, 'runbook.db'));
    const clock = new VirtualClock(START);
    const writer = newWriter(store, RUN, { clock });
    writer.append('run.started', startedData({ mode: 'live' }));
    const keep = () => {
      void writer.flushOlder(300_000, 300_000);
      writer.keepHeld(0, 0);
    };
    const { ask } = await serve(folder);
    const read = async (from = ask) => {
      const { json } = await from(`/api/runs/${RUN}`);
      const { text } = await from(`/api/runs/${RUN}/story?limit=1000`);
      const { lastAt, requests, steps } = json;
      return { lastAt, requests, steps, text };
    };
    for (let round = 0; round < 40; round += 1) {
      const step = `steps/1:repeat[${round}]/do/1:read_account`;
      const answer = { kind: 'confirmed', status: 200, headers: {}, success: true, result: {} } as const;
      const attempt = { n: 1, method: 'GET', path: '/account', params: {}, digest: 'd', tokens: 5, epoch: 1 };
      writer.append('step.started', { verb: 'read_account', attempt: 1, now: clock.now() }, step);
      writer.append('call.intended', { call: `${step}#1`, endpoint: 'GET /account', params: {}, class: 'read' }, step);
      writer.append('call.attempted', { call: `${step}#1`, ...attempt, waitedMs: 0 }, step);
      if (round % 7 === 3) keep();
      writer.append('call.settled', { call: `${step}#1`, ...answer, sentAt: clock.now() }, step);
      writer.append('step.ended', { verb: 'read_account', outcome: 'succeeded', attempts: 1 }, step);
      if (round % 5 === 0) keep();
      if (round === 2 || round === 21) await writer.flush();
      await clock.quiesce();
      if (round % 5 === 0) expect((await read()).lastAt).toBe(clock.now());
      clock.skipTo(clock.now() + 1000);
    }
    expect((await store.read(RUN)).length).toBeLessThan(20);
    await writer.close();
    await store.close();
    expect(await read()).toEqual(await read((await serve(folder)).ask));
    expect((await read()).requests).toMatchObject({ totals: { read: 40 } });
  });

  it('appears with its journal, and reading creates none', async () => {
    const folder = temporaryFolder();
    const { ask } = await serve(folder);
    expect((await ask('/api/runs')).json).toMatchObject({ total: 0, runs: [] });
    expect(existsSync(join(folder, 'runbook.db'))).toBe(false);
    await keepRun(folder, RUN, await sampleRun());
    expect((await ask('/api/runs')).json).toMatchObject({ total: 1 });
  });
});

describe('an archived run', () => {
  it('is listed once, and shown and verified as in its journal', async () => {
    const folder = temporaryFolder();
    await keepRun(folder, RUN, await sampleRun());
    const { ask, mistakes } = await serve(folder);
    const paths = ['/api/runs', `/api/runs/${RUN}`, `/api/runs/${RUN}/story?limit=1000`, `/api/runs/${RUN}/entries/12`];
    const answers = async () =>
      (await Promise.all(paths.map((path) => ask(path)))).map(({ status, json: { now: _, ...json } }) => [
        status,
        json,
      ]);
    const before = await answers();
    const here = commandFolder();
    const archive = (...words: string[]) => here.run('audit', 'archive', '--state', folder, ...words).exit;
    expect(archive('--keep')).toBe(0);
    expect(await answers()).toEqual(before);
    expect(archive()).toBe(0);
    expect(await answers()).toEqual(before);
    expect((await ask(`/api/runs/${RUN}/checks`)).json).toMatchObject({ verdict: { ok: true, anchors: 1 } });
    expect(mistakes).toEqual([]);
  });
});

describe('a long run', () => {
  const LONG = '20260105T080000000-long-1';
  const writeLong = async () => {
    const folder = temporaryFolder();
    const long = new Script();
    long.append('run.started', startedData({ runbook: 'long' }));
    for (let n = 0; n < 8_000; n += 1) long.append('variable.set', { name: 'n', value: n }, 'steps/1');
    await keepRun(folder, LONG, long.entries);
    return folder;
  };

  it('keeps no other request waiting while it is read', async () => {
    const { ask } = await serve(await writeLong());
    const answered: string[] = [];
    await Promise.all([
      ask(`/api/runs/${LONG}`).then(() => answered.push('run')),
      ask('/api/session').then(() => answered.push('session')),
    ]);
    expect(answered).toEqual(['session', 'run']);
  });

  it('has its entries shown page by page before it has been read, and its size', async () => {
    const folder = await writeLong();
    const database = await openDatabase(join(folder, 'runbook.db'));
    database.exec("UPDATE entries SET line = 'no entry' WHERE seq = 4000");
    database.close();
    const { ask } = await serve(folder);
    const page = await ask(`/api/runs/${LONG}/entries?from=7000&limit=3`);
    expect(page.json).toMatchObject({ total: 8001, from: 7000, rows: [{ seq: 7001 }, { seq: 7002 }, { seq: 7003 }] });
    // A selection needs every entry.
    expect((await ask(`/api/runs/${LONG}/entries?groups=steps`)).status).toBe(422);
  });

  it('is in the list as soon as it has begun, and with its outcome once it has ended', async () => {
    const folder = await writeLong();
    const { ask } = await serve(folder);
    const list = async () =>
      ((await ask('/api/runs')).json as { runs: { run: string; outcome?: string }[] }).runs.map(
        ({ run, outcome }) => `${run} ${outcome ?? 'goes on'}`,
      );
    expect(await list()).toEqual([`${LONG} goes on`]);
    await keepRun(folder, RUN, await sampleRun());
    expect(await list()).toEqual([`${RUN} failed`, `${LONG} goes on`]);
  });
});

describe('a journal that was changed', () => {
  it('is reported as such', async () => {
    const folder = temporaryFolder();
    await keepRun(folder, RUN, await sampleRun());
    const database = await openDatabase(join(folder, 'runbook.db'));
    database.exec("UPDATE entries SET line = replace(line, '0.3', '0.9') WHERE seq = 1");
    database.exec("UPDATE entries SET line = 'no entry' WHERE seq = 12");
    database.close();
    const { ask, mistakes } = await serve(folder);
    expect((await ask(`/api/runs/${RUN}/checks`)).json).toMatchObject({
      verdict: { ok: false, problem: { sequence: 1, kind: 'edited' } },
    });
    const { status, json } = await ask(`/api/runs/${RUN}`);
    expect([status, json['error']]).toEqual([422, expect.stringMatching(/^entry 12 of run /)]);
    expect((await ask(`/api/runs/${RUN}/entries/12`)).json).toMatchObject({ line: 'no entry', pretty: ['no entry'] });
    expect(mistakes).toEqual([]);
  });
});

describe('an action', () => {
  const given = { action: 'approve', run: RUN, step: 'steps/sign', by: 'ada', confirm: 'sample-1' };
  it('is read with all its fields', () => {
    expect(readAction(JSON.stringify({ ...given, reason: ' fine ', extra: 1 }))).toEqual({ ...given, reason: 'fine' });
    expect(readAction(JSON.stringify({ ...given, confirm: RUN }))).toMatchObject({ action: 'approve' });
  });
  it.each([
    ['no JSON', '{'],
    ['no object', '["approve"]'],
    ['another action', JSON.stringify({ ...given, action: 'release' })],
    ['no name', JSON.stringify({ ...given, by: '  ' })],
    ['no step', JSON.stringify({ ...given, step: undefined })],
    ['no confirmation', JSON.stringify({ ...given, confirm: '' })],
    ["another run's name", JSON.stringify({ ...given, confirm: 'sample-2' })],
    ['a part of the name', JSON.stringify({ ...given, confirm: 'sample' })],
    ['an endless name', JSON.stringify({ ...given, by: 'a'.repeat(501) })],
    ['a long name', JSON.stringify({ ...given, by: 'a'.repeat(81) })],
    ['a name that hides something', JSON.stringify({ ...given, by: 'ada\u202eeve' })],
    ['no text', JSON.stringify({ ...given, confirm: ['sample-1'] })],
  ])('is refused with %s', (_what, body) => expect(readAction(body)).toHaveProperty('problem'));

  it('reaches the run, with the name of the person', async () => {
    const folder = temporaryFolder();
    const script = new Script();
    script.append('run.started', startedData({ mode: 'live' }));
    script.append('approval.asked', { ask: 'go on?', by: ['desk'], until: START + 1e9, plan: 'p' }, 'steps/sign');
    await keepRun(folder, RUN, script.entries);
    const { ask, environment } = await serve(folder, true);
    const post = (body: object) => ask('/api/actions', { method: 'POST', body: JSON.stringify(body) });
    const ill = await post({ ...given, confirm: 'sample-3' });
    expect([ill.status, ill.json['error']]).toEqual([400, 'to confirm, type sample-1; found sample-3']);
    const done = await post({ ...given, reason: 'levels are right' });
    expect([done.status, done.json['ok']]).toEqual([200, true]);
    const other = await post({ ...given, step: 'steps/other' });
    expect([other.status, other.json['lines']]).toEqual([
      409,
      [expect.stringMatching(/steps\/other .*: steps\/sign$/)],
    ]);
    expect((await post({ ...given, action: 'cancel', by: 'grace' })).status).toBe(200);
    const shared = await accessStore({ kind: 'sqlite', file: join(folder, 'runbook.db') }, environment).openShared();
    const pending = await shared.mailbox.pending(RUN);
    await shared.close();
    expect(pending.map(({ command, by, step, reason }) => ({ command, by, step, reason }))).toEqual([
      { command: 'approve', by: 'ada', step: 'steps/sign', reason: 'levels are right' },
      { command: 'cancel', by: 'grace', step: 'steps/sign', reason: undefined },
    ]);
  });

  it('on an ended run is refused', async () => {
    const folder = temporaryFolder();
    await keepRun(folder, RUN, await sampleRun());
    const { ask } = await serve(folder, true);
    const { status, json } = await ask('/api/actions', { method: 'POST', body: JSON.stringify(given) });
    expect([status, json['ok'], json['lines']]).toEqual([
      409,
      false,
      [expect.stringContaining('no run is unfinished')],
    ]);
    expect((await ask('/api/actions', { method: 'POST', body: ' '.repeat(20_000) })).status).toBe(413);
  });
});

describe('the chart of a run', () => {
  const text = [
    'runbook: small',
    'dsl: 1',
    'limits: {markets: [BTC-USD]}',
    'steps:',
    '  - id: before',
    '    read_account: {}',
    '  - assert: before.account_equity > 0',
    'outputs: {equity: before.account_equity}',
    '',
  ].join('\n');
  const started = async () => {
    const script = new Script();
    script.append(
      'run.started',
      startedData({ sources: [{ name: 'small', file: 'small.yaml', text, sha256: 'cd'.repeat(32) }] }),
    );
    const [entry] = script.entries;
    if (entry?.type !== 'run.started') throw new Error('the script begins with run.started');
    return entry;
  };

  it('is listed without the layout package, and the reason is given', async () => {
    const load = () => Promise.reject(new UserError('not installed'));
    const chart = await drawRunChart(await started(), load);
    expect(chart).toMatchObject({ kind: 'listed', because: expect.stringContaining('@hpcc-js/wasm-graphviz') });
    expect(chart.states).toContainEqual(
      expect.objectContaining({ path: 'steps/before', verb: 'read_account', line: 5 }),
    );
  });
});

describe('the command', () => {
  const here = commandFolder();
  it('takes a port from 0 to 65535', () => {
    for (const port of ['65536', '-1', 'x', '']) {
      const { exit, err } = here.run('audit', 'serve', `--port=${port}`);
      expect([exit, err]).toEqual([2, expect.stringContaining('--port takes a port from 0 to 65535')]);
    }
  });
});
