import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { openDatabase } from '../../src/journal/sql/sqlite.ts';
import { isHere } from '../needs.ts';
import { itFirst } from '../rows.ts';
import { envelope, JWT, MockVenue, REFRESH } from './mock-venue.ts';
import { BIN, document, type Ended, LIMIT, type Report, rests, type Scene, scene, until } from './scene.ts';

const RUN = ['run', 'one.yaml', '--profile', 'p.yaml', '--json'];
const resting = (wait: string, more = '') => `runbook: one
dsl: 1
leaves: {position: open, because: the case is about something else}
${more}steps:
  - id: o
    place: {type: limit, market: BTC-USD, side: long, size: 0.0001, price: 19800}
  - wait: ${wait}
  - cancel: o
    await: terminal
`;
const GUARDED = resting('60s', 'deadman: {market: BTC-USD, timeout: 20s, on_exit: disarm}\n');

const report = ({ out }: Ended) => document(out) as Report;

/** What was asked of the venue; not the heartbeats, which a waiting run sends at any time. */
const beside = ({ heard }: Scene['venue']): readonly string[] =>
  heard.flatMap(({ method, path }) => (path === '/cancel_all_after' ? [] : [`${method} ${path}`]));

/** Resumes when the lease of the dead process has expired, after 15 s at most. */
async function resumed({ run }: Scene, words: readonly string[] = []): Promise<Ended> {
  for (const end = Date.now() + 50_000; ; await pause(300)) {
    const ended = await run(['resume', '--json', ...words]);
    if (ended.exit !== 3 || Date.now() > end) return ended;
  }
}

describe.concurrent('signals', () => {
  itFirst(1, [
    ['SIGINT', 130],
    ['SIGTERM', 143],
    // A terminal that is closed.
    ['SIGHUP', 143],
  ] as const)('%s: the order is taken back, the switch disarmed, exit %i', (signal, code) =>
    scene({ runbook: GUARDED }, async ({ venue, start, run }) => {
      const running = start(RUN);
      await rests(venue);
      running.child.kill(signal);
      const ended = await running.ended;
      expect([ended.exit, report(ended).outcome, report(ended).reason]).toEqual([
        code,
        'failed',
        `interrupted by ${signal}`,
      ]);
      expect(report(ended).deadman.map(({ event }) => event)).toEqual(['armed', 'disarmed']);
      expect([venue.orders.map(({ status }) => status), venue.switchTimeout]).toEqual([['canceled'], undefined]);
      const verified = await run(['audit', 'verify', '--json']);
      expect([verified.exit, document(verified.out)]).toMatchObject([0, { ok: true }]);
    }),
  );
});

describe.skipIf(!isHere('terminal')).concurrent('a terminal that is closed', { tags: ['long', 'terminal'] }, () => {
  it('ends the run with its own exit code: 143', () =>
    scene({ runbook: GUARDED }, async ({ venue, path, write }) => {
      write('run.sh', `trap : HUP\n${process.execPath} ${BIN} run one.yaml --profile p.yaml\necho $? > code\n`);
      const env = { PATH: process.env['PATH'] ?? '', HOME: join(path, 'home'), VENUE_JWT: JWT };
      const terminal = spawn('script', ['-qc', 'sh run.sh', '/dev/null'], { cwd: path, env, stdio: 'pipe' });
      await rests(venue);
      terminal.kill('SIGKILL');
      const code = () => (existsSync(join(path, 'code')) ? readFileSync(join(path, 'code'), 'utf8') : '');
      await until(() => code() !== '');
      expect([code(), venue.orders.map(({ status }) => status)]).toEqual(['143\n', ['canceled']]);
    }));
});

const READS = GUARDED.replace('  - wait: 60s', '  - repeat: {max: 60, do: [{wait: 1s}, {refresh: o}]}');

describe.skipIf(!isHere('terminal')).concurrent('a terminal that takes no text', { tags: ['long', 'terminal'] }, () => {
  it('keeps neither a run nor its end waiting', () =>
    scene({ runbook: READS }, async ({ venue, path, write }) => {
      const read = (name: string) => (existsSync(join(path, name)) ? readFileSync(join(path, name), 'utf8') : '');
      write(
        'run.sh',
        `${process.execPath} ${BIN} run one.yaml --profile p.yaml & echo $! > pid; wait $!; echo $? > code\n`,
      );
      const env = { PATH: process.env['PATH'] ?? '', HOME: join(path, 'home'), VENUE_JWT: JWT };
      const terminal = spawn('script', ['-qc', 'sh run.sh', '/dev/null'], { cwd: path, env, stdio: 'pipe' });
      await rests(venue);
      // Ctrl-S.
      terminal.stdin.write('\u0013');
      const seen = venue.of('GET', '/orders').length;
      await until(() => venue.of('GET', '/orders').length > seen + 6, 30_000);
      process.kill(Number(read('pid')), 'SIGTERM');
      await until(() => venue.of('DELETE', '/cancel_all_after').length > 0, 30_000);
      expect(venue.orders.map(({ status }) => status)).toEqual(['canceled']);
      // Ctrl-Q.
      terminal.stdin.write('\u0011');
      await until(() => read('code') !== '');
      expect(read('code')).toBe('143\n');
    }));
});

describe.concurrent('a reader that goes away', () => {
  it('does not end the run, which completes with its own exit code', () =>
    scene(
      {
        runbook: resting('500ms').replace('  - cancel', '  - notify: {to: desk, text: "still here"}\n  - cancel'),
        profile: 'notify: {desk: {log: true}}',
      },
      async ({ venue, start, run }) => {
        const running = start(RUN);
        await until(() => venue.placed.length === 1);
        running.child.stdout?.destroy();
        running.child.stderr?.destroy();
        expect([(await running.ended).exit, venue.orders.map(({ status }) => status)]).toEqual([0, ['canceled']]);
        expect(document((await run(['audit', 'list', '--json'])).out)).toMatchObject({
          runs: [{ outcome: 'succeeded' }],
        });
      },
    ));
});

describe.concurrent('a process that dies', () => {
  it('is followed by one that does not repeat its notices: each is sent once', { tags: ['long'] }, () =>
    scene(
      {
        runbook: resting('8s')
          .replace('  - wait', '  - notify: {to: desk, text: "position opened"}\n  - wait')
          .concat('  - notify: {to: desk, text: "position closed"}\n'),
        profile: 'notify: {desk: {log: true}}',
      },
      async (stage) => {
        const running = stage.start(RUN);
        let err = '';
        running.child.stderr?.on('data', (text: string) => (err += text));
        await until(() => err.includes('position opened'));
        // The entry of the notice is durable once another process reads it.
        while (!(await stage.run(['audit', 'show', 'last'])).out.includes('position opened')) await pause(50);
        running.child.kill('SIGKILL');
        await running.ended;
        const ended = await resumed(stage);
        expect([ended.exit, ended.err.includes('position opened')]).toEqual([0, false]);
        expect(ended.err).toContain('position closed');
      },
    ),
  );

  it('while its orders are open: the run continues with its original text, ends, and its journal is intact', () =>
    scene({ runbook: resting('2s') }, async (stage) => {
      const { venue, start, run, write } = stage;
      const running = start(RUN);
      await rests(venue);
      await pause(200);
      running.child.kill('SIGKILL');
      await running.ended;
      write('one.yaml', 'what it says by now is another runbook');
      const ended = await resumed(stage);
      expect([ended.exit, report(ended).outcome]).toEqual([0, 'succeeded']);
      expect(report(ended).orders).toMatchObject([{ state: 'canceled', filled: '0' }]);
      expect([venue.placed.length, venue.of('DELETE', '/orders').length]).toEqual([1, 1]);
      const verified = document((await run(['audit', 'verify', '--json'])).out);
      expect(verified).toEqual({
        ok: true,
        runs: [{ run: expect.any(String), ok: true, entries: expect.any(Number) }],
        accounts: [{ account: expect.any(String), ok: true, entries: 2, problems: [] }],
      });
      expect(document((await run(['audit', 'list', '--json'])).out)).toMatchObject({
        runs: [{ runbook: 'one', mode: 'live', outcome: 'succeeded', endedAt: expect.any(String), trigger: 'manual' }],
      });
      expect((await run(['replay', 'last', '--json'])).exit).toBe(0);
      expect(document((await run(['resume', '--json'])).out)).toMatchObject({ runs: [] });
    }));

  it('between the order and its answer: the order is adopted, not placed a second time', () =>
    scene(
      {
        runbook: resting('100ms'),
        venue: (venue) =>
          venue.rules.push(({ method, path }) =>
            method === 'POST' && path === '/orders' ? { done: true, delayMs: 5_000 } : undefined,
          ),
      },
      async (stage) => {
        const { venue, start } = stage;
        const running = start(RUN);
        await until(() => venue.placed.length === 1);
        running.child.kill('SIGKILL');
        await running.ended;
        const ended = await resumed(stage);
        expect([ended.exit, venue.placed.length, venue.orders.map(({ status }) => status)]).toEqual([
          0,
          1,
          ['canceled'],
        ]);
      },
    ));

  it(
    'before it wrote down a cancel: the process that resumes the run reads it again, and places nothing more',
    { tags: ['long'] },
    () =>
      scene(
        {
          runbook: `${resting('30s')}  - place: {type: limit, market: BTC-USD, side: long, size: 0.0001, price: 19700}\n`,
        },
        async (stage) => {
          const { venue, start, run, path } = stage;
          const running = start([...RUN, '--state', join(path, 'state')]);
          await rests(venue);
          await pause(300);
          // Another process writes to the journal's file for a while.
          const other = await openDatabase(join(path, 'state', 'runbook.db'));
          other.exec('BEGIN IMMEDIATE');
          expect((await run(['cancel', 'last', '--by', 'ada', '--state', join(path, 'state')])).exit).toBe(0);
          await pause(1_000);
          running.child.kill('SIGKILL');
          await running.ended;
          other.exec('ROLLBACK');
          other.close();
          const ended = await resumed(stage, ['--state', join(path, 'state')]);
          expect([ended.exit, report(ended).reason]).toEqual([1, 'cancelled by ada']);
          expect([venue.placed.length, venue.orders.map(({ status }) => status)]).toEqual([1, ['canceled']]);
        },
      ),
  );

  it('is resumed once where its store is the state folder’s own under another name', { tags: ['long'] }, () =>
    scene({ runbook: resting('2s'), profile: 'store: {sqlite: alias/runbook.db}' }, async (stage) => {
      const { venue, start, run, path } = stage;
      mkdirSync(join(path, '.runbook'), { mode: 0o700 });
      symlinkSync('.runbook', join(path, 'alias'));
      const running = start(RUN);
      await rests(venue);
      await pause(200);
      running.child.kill('SIGKILL');
      await running.ended;
      const ended = await resumed(stage);
      expect([ended.exit, report(ended).outcome]).toEqual([0, 'succeeded']);
      expect((await run(['audit', 'verify', 'last'])).exit).toBe(0);
    }),
  );

  it('with runs of two accounts: both are resumed, in one document', { tags: ['long'] }, () =>
    scene({ runbook: resting('2s') }, async (stage) => {
      const { venue, start, write, path } = stage;
      const second = await new MockVenue().open();
      const text = stage.files().get(`${path}/p.yaml`) ?? '';
      write('q.yaml', `${text.replace('account: main', 'account: other').replace(venue.url, second.url)}\n`);
      const both = [start(RUN), start(RUN.map((word) => (word === 'p.yaml' ? 'q.yaml' : word)))];
      await until(() => [venue, second].every((each) => each.of('GET', '/orders').length >= 3));
      for (const { child } of both) child.kill('SIGKILL');
      await Promise.all(both.map(({ ended }) => ended));
      const ended = await resumed(stage);
      expect([ended.exit, document(ended.out)]).toMatchObject([
        0,
        { runs: [{ outcome: 'succeeded' }, { outcome: 'succeeded' }] },
      ]);
      expect([venue, second].flatMap(({ orders }) => orders.map(({ status }) => status))).toEqual([
        'canceled',
        'canceled',
      ]);
      await second.close();
    }),
  );

  it('beside one that goes on for hours: each is continued', { tags: ['long'] }, () =>
    scene({ runbook: resting('2s') }, async ({ venue, start, write }) => {
      write('long.yaml', resting('10h').replace('runbook: one', 'runbook: long'));
      for (const file of ['one.yaml', 'long.yaml']) {
        const before = venue.of('GET', '/orders').length;
        const running = start(RUN.map((word) => (word === 'one.yaml' ? file : word)));
        await until(() => venue.placed.length === (file === 'one.yaml' ? 1 : 2));
        await until(() => venue.of('GET', '/orders').length >= before + 3);
        running.child.kill('SIGKILL');
        await running.ended;
      }
      const both = start(['resume', '--json']);
      await until(() => venue.orders[0]?.status === 'canceled');
      expect(venue.orders.map(({ status }) => status)).toEqual(['canceled', 'open']);
      both.child.kill('SIGTERM');
      expect((await both.ended).exit).toBe(143);
      expect(venue.orders.map(({ status }) => status)).toEqual(['canceled', 'canceled']);
    }),
  );
});

describe.concurrent('several processes', () => {
  it('cancel nothing more by a kill that a person has released since: exit 4', () =>
    scene({}, async ({ venue, start, run }) => {
      venue.rules.push(({ method }) => (method === 'DELETE' ? { status: 200 } : undefined));
      await run(['run', 'one.yaml', '--profile', 'p.yaml', '--json']);
      const sweeps = () => venue.of('DELETE', '/orders/cancel_all').length;
      const kill = start(['kill', '--profile', 'p.yaml', '--json']);
      await until(() => sweeps() >= 1);
      expect((await run(['release', '--profile', 'p.yaml', '--by', 'ada', '--json'])).exit).toBe(0);
      const before = sweeps();
      const ended = await kill.ended;
      expect([ended.exit, document(ended.out)]).toMatchObject([4, { error: { kind: 'released' } }]);
      expect(sweeps() - before).toBeLessThanOrEqual(1);
    }));

  it('say that nothing is left where a row of another program that has ended cannot be read', { tags: ['long'] }, () =>
    scene({}, async ({ venue, run }) => {
      await run(['run', 'one.yaml', '--profile', 'p.yaml', '--json']);
      venue.orders.push({ ...venue.orders[0], id: 'BTC-USD@7', client_order_id: 'theirs', side: null } as never);
      const killed = await run(['kill', '--profile', 'p.yaml', '--json']);
      expect([killed.exit, venue.orders.map(({ status }) => status)]).toEqual([0, ['canceled', 'canceled']]);
    }),
  );

  it(
    'do not report as engaged what a person has released while it was waited for late orders: exit 4',
    { tags: ['long'] },
    () =>
      scene({}, async ({ venue, start, run }) => {
        await run(['run', 'one.yaml', '--profile', 'p.yaml', '--json']);
        const kill = start(['kill', '--profile', 'p.yaml', '--json']);
        await until(() => venue.orders.every(({ status }) => status === 'canceled'));
        expect((await run(['release', '--profile', 'p.yaml', '--by', 'ada', '--json'])).exit).toBe(0);
        const ended = await kill.ended;
        expect([ended.exit, document(ended.out)]).toMatchObject([4, { error: { kind: 'released' } }]);
      }),
  );

  it('refuse a second run of the account with exit 3; kill ends the first; release frees the account', () =>
    scene({ runbook: GUARDED }, async ({ venue, start, run, write }) => {
      const first = start(RUN);
      await rests(venue);
      const before = beside(venue);
      const second = await run(RUN);
      expect([second.exit, document(second.out)]).toMatchObject([3, { error: { kind: 'held' } }]);
      expect(beside(venue)).toEqual(before);

      const killed = await run(['kill', '--json']);
      expect([killed.exit, document(killed.out)]).toMatchObject([0, { engaged: true, left: 0 }]);
      const ended = await first.ended;
      expect([ended.exit, report(ended).outcome, report(ended).error?.kind]).toEqual([1, 'failed', 'cancelled']);
      expect(venue.of('DELETE', '/orders/cancel_all').length).toBeGreaterThanOrEqual(1);
      expect(venue.orders.map(({ status }) => status)).toEqual(['canceled']);

      const barred = await run(RUN);
      expect([barred.exit, document(barred.out), venue.placed.length]).toMatchObject([
        1,
        { error: { kind: 'killed' } },
        1,
      ]);
      expect((await run(['release', '--profile', 'p.yaml', '--json'])).exit).toBe(2);
      expect((await run(['release', '--profile', 'p.yaml', '--by', 'ada', '--json'])).exit).toBe(0);
      const engaged = { scope: '*', action: 'engage', by: 'operator', reason: 'runbook kill' };
      expect(document((await run(['audit', 'kills', '--json'])).out)).toMatchObject({
        kills: [engaged, { scope: `${venue.url} main`, action: 'release', by: 'ada' }],
      });
      expect(document((await run(['audit', 'summary', 'last', '--json'])).out)).toMatchObject({ kills: [engaged] });
      write('one.yaml', LIMIT);
      expect([(await run(RUN)).exit, venue.placed.length]).toEqual([0, 2]);
    }));

  it.each([
    ['was stopped', 'SIGSTOP'],
    ['has died', 'SIGKILL'],
  ] as const)(
    'end a run whose process %s during a kill and its release: it knows that its order is cancelled',
    {
      tags: ['long'],
    },
    (_what, signal) =>
      scene({ runbook: resting('20s').replace('  - cancel: o\n    await: terminal\n', '') }, async (stage) => {
        const { venue, start, run } = stage;
        const first = start(RUN);
        await rests(venue);
        first.child.kill(signal);
        expect((await run(['kill', '--json'])).exit).toBe(0);
        expect((await run(['release', '--profile', 'p.yaml', '--by', 'ada'])).exit).toBe(0);
        first.child.kill('SIGCONT');
        const ended = signal === 'SIGSTOP' ? await first.ended : await resumed(stage);
        const { outcome, error, orders } = report(ended);
        expect([ended.exit, outcome, error?.kind, orders[0]?.state]).toEqual([1, 'failed', 'cancelled', 'canceled']);
        expect((await run(['audit', 'replay', 'last', '--json'])).exit).toBe(0);
        expect((await run(RUN)).exit).toBe(0);
      }),
  );

  it(
    'treat an account under another spelling of its base URL as the same: held, and killed with all its runs',
    { tags: ['long'] },
    () =>
      scene({ runbook: GUARDED }, async ({ venue, start, run, write, path }) => {
        const odd = venue.url.replace('127.0.0.1', '127.1');
        expect(odd).not.toBe(venue.url);
        const text = readFileSync(join(path, 'p.yaml'), 'utf8');
        write('odd.yaml', text.replace(venue.url, `${odd}/`));
        const first = start(RUN);
        await rests(venue);
        const second = await run(['run', 'one.yaml', '--profile', 'odd.yaml', '--json']);
        expect([second.exit, document(second.out)]).toMatchObject([3, { error: { kind: 'held' } }]);
        expect((await run(['kill', '--profile', 'odd.yaml', '--json'])).exit).toBe(0);
        const ended = await first.ended;
        expect([ended.exit, venue.placed.length, venue.orders.map(({ status }) => status)]).toEqual([
          1,
          1,
          ['canceled'],
        ]);
        expect(document((await run(RUN)).out)).toMatchObject({ error: { kind: 'killed' } });
      }),
  );

  it('refuse a run from another folder as well, and a kill from there ends the first', { tags: ['long'] }, () =>
    scene({ runbook: GUARDED }, async ({ venue, start, run, path }) => {
      const first = start(RUN);
      await rests(venue);
      const before = beside(venue);
      const elsewhere = ['--state', join(path, 'elsewhere')];
      const second = await run([...RUN, ...elsewhere]);
      expect([second.exit, document(second.out)]).toMatchObject([3, { error: { kind: 'held' } }]);
      expect(beside(venue)).toEqual(before);
      expect((await run(['kill', '--profile', 'p.yaml', '--json', ...elsewhere])).exit).toBe(0);
      expect([(await first.ended).exit, venue.orders.map(({ status }) => status)]).toEqual([1, ['canceled']]);
      expect([(await run(RUN)).exit, venue.placed.length]).toEqual([1, 1]);
      expect((await run(['release', '--profile', 'p.yaml', '--by', 'ada', ...elsewhere])).exit).toBe(0);
      expect([(await run([...RUN, '--until', 'o'])).exit, venue.placed.length]).toEqual([0, 2]);
    }),
  );

  it('kill with a profile and without a run cancels the orders that others left', { tags: ['long'] }, () =>
    scene({}, async ({ venue, run, live }) => {
      expect((await live()).exit).toBe(0);
      expect(venue.orders.map(({ status }) => status)).toEqual(['open']);
      const killed = await run(['kill', '--profile', 'p.yaml', '--json']);
      expect([killed.exit, document(killed.out)]).toMatchObject([0, { engaged: true, left: 0 }]);
      expect(venue.orders.map(({ status }) => status)).toEqual(['canceled']);
    }),
  );

  it('cancel asks a run to stop cleanly', () =>
    scene({ runbook: GUARDED }, async ({ venue, start, run }) => {
      const running = start(RUN);
      await rests(venue);
      expect((await run(['cancel', 'last', '--json'])).exit).toBe(0);
      const ended = await running.ended;
      expect([ended.exit, report(ended).error?.kind, venue.orders.map(({ status }) => status)]).toEqual([
        1,
        'cancelled',
        ['canceled'],
      ]);
    }));
});

describe.concurrent('what is written', () => {
  it(
    'holds no secret in any spelling, even if the venue repeats one; the recording dry-runs to the same end',
    { tags: ['long'] },
    () =>
      scene(
        {
          profile:
            'auth: {mode: jwt, jwt: {env: VENUE_JWT}, refresh_token: {env: VENUE_REFRESH_TOKEN}, is_client: true}',
          venue: (venue) => {
            let good = false;
            venue.authorized = ({ authorization }) => good && authorization === `Bearer ${ISSUED}`;
            venue.jwt = () => {
              good = true;
              return [{ jwt: ISSUED, refresh_token: ROTATED }];
            };
            venue.rules.push(({ method, path, headers }) =>
              method === 'POST' && path === '/orders'
                ? {
                    body: envelope(
                      [],
                      `no: ${headers['authorization']} ${encodeURIComponent(ISSUED)} ${btoa(ISSUED)} ${ROTATED} ${REFRESH}`,
                    ),
                  }
                : undefined,
            );
          },
        },
        async ({ live, files, path, run }) => {
          const env = { VENUE_JWT: JWT, VENUE_REFRESH_TOKEN: REFRESH };
          const ended = await live(['--record', 'rec.yaml'], env);
          expect([ended.exit, ended.report.error?.kind]).toEqual([1, 'rejected']);
          const texts = new Map([...files(), ['standard output', ended.out], ['standard error', ended.err]]);
          expect(texts.has(`${path}/rec.yaml`)).toBe(true);
          // The only place that keeps the venue's next refresh token, readable only by its owner.
          texts.delete(`${path}/.runbook/refresh-token.mock`);
          const found = [JWT, REFRESH, ISSUED, ROTATED].flatMap((secret) =>
            [
              secret,
              btoa(secret).replace(/=+$/, ''),
              encodeURIComponent(secret),
              Buffer.from(secret).toString('hex'),
            ].flatMap((spelling) => [...texts].flatMap(([name, text]) => (text.includes(spelling) ? [name] : []))),
          );
          expect(found).toEqual([]);
          const again = await run(['dry-run', 'one.yaml', '--fixtures', 'rec.yaml', '--json']);
          expect([again.exit, report(again).error?.kind]).toEqual([1, 'rejected']);
        },
      ),
  );

  it('has no wallet address of the account in a recording', () =>
    scene({ runbook: `${LIMIT.replace('steps:', 'steps:\n  - read_account: {}')}` }, async ({ live, files, path }) => {
      expect((await live(['--record', 'rec.yaml'])).exit).toBe(0);
      const recording = files().get(`${path}/rec.yaml`) ?? '';
      expect(recording).toContain('"wallet": ');
      expect(recording).not.toContain('52908400098527886E0F7030069857D2E4169EE7');
    }));

  it('has no colours with NO_COLOR, and no stack trace', () =>
    scene({}, async ({ run }) => {
      const words = ['run', 'one.yaml', '--profile', 'p.yaml'];
      const plain = await run(words, { VENUE_JWT: JWT, NO_COLOR: '1', FORCE_COLOR: '1' });
      expect([plain.exit, `${plain.out}${plain.err}`.includes('\u001b')]).toEqual([0, false]);
      const coloured = await run(words, { VENUE_JWT: JWT, FORCE_COLOR: '1' });
      expect(coloured.out.includes('\u001b')).toBe(true);
    }));
});

const ISSUED = 'issued.JWT+of/the=venue-0123456789';
const ROTATED = 'rotated+refresh/token=9876543210abcdef';
