/** The verbs with `store: {postgres: …}`: two folders stand for two machines, which share nothing but the database. */
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { asLogin, POSTGRES_PASSWORD, postgresOfFile } from '../postgres.ts';
import { JWT } from './mock-venue.ts';
import { document, type Ended, LIMIT, profile, type Report, type Scene, scene, until } from './scene.ts';

const server = postgresOfFile();
const PROFILE = 'store: {postgres: {env: DATABASE_URL}}';
const RUN = ['run', 'one.yaml', '--profile', 'p.yaml', '--json'];
const RESTING = `runbook: one
dsl: 1
leaves: {position: open, because: a run of it ends behind its order}
deadman: {market: BTC-USD, timeout: 20s, on_exit: disarm}
steps:
  - id: o
    place: {type: limit, market: BTC-USD, side: long, size: 0.0001, price: 19800}
  - wait: 60s
  - cancel: o
    await: terminal
`;
const report = ({ out }: Ended) => document(out) as Report;

/** A scene whose every process has the database's URL. */
async function play(runbook: string, act: (stage: Scene, env: Record<string, string>) => Promise<void>): Promise<void> {
  const env = { VENUE_JWT: JWT, DATABASE_URL: await server().database() };
  await scene({ runbook, profile: PROFILE }, (stage) => act(stage, env));
}

describe('the store in PostgreSQL', { tags: ['postgres'] }, () => {
  it('a run is journaled there, reviewed, verified and replayed from there; the URL is nowhere', () =>
    play(LIMIT, async ({ run, venue, files, path }, env) => {
      const ended = await run(RUN, env);
      expect([ended.exit, report(ended).outcome, venue.placed.length]).toEqual([0, 'succeeded', 1]);
      const reviewer = { ...env, DATABASE_URL: asLogin(env.DATABASE_URL ?? '', 'reviewer') };
      const answers = [
        await run(['audit', 'list', '--json'], reviewer),
        await run(['audit', 'show', 'last', '--json'], reviewer),
        await run(['audit', 'verify', '--json'], reviewer),
        await run(['replay', 'last', '--json'], reviewer),
        await run(['doctor', '--profile', 'p.yaml', '--json'], env),
      ];
      expect(answers.map(({ exit }) => exit).slice(0, 4)).toEqual([0, 0, 0, 0]);
      expect(document(answers[0]?.out ?? '')).toMatchObject({
        runs: [{ runbook: 'one', mode: 'live', outcome: 'succeeded' }],
      });
      expect(document(answers[2]?.out ?? '')).toMatchObject({ ok: true });
      expect(document(answers[4]?.out ?? '')).toMatchObject({ findings: expect.any(Array) });
      const [{ count } = {}] = await server().query('SELECT count(*)::int FROM runbook.entries', env.DATABASE_URL);
      expect(count).toBeGreaterThan(5);

      expect(files().get(join(path, '.runbook/stores.txt'))).toBe('postgres env DATABASE_URL\n');
      const [lines] = await server().query(
        "SELECT string_agg(line, '') AS text FROM runbook.entries",
        env.DATABASE_URL,
      );
      const texts = [ended, ...answers]
        .flatMap(({ out, err }) => [out, err])
        .concat([...files().values()], String(lines?.text));
      for (const secret of [POSTGRES_PASSWORD, `127.0.0.1:${server().port}`])
        expect(texts.filter((text) => text.includes(secret))).toEqual([]);
    }));

  it('a login that may not even change the token budget waits for no tokens that it never gets', () =>
    play(LIMIT, async ({ run, venue, write }, env) => {
      const window = `${PROFILE}\nrate_limit: {tokens: 1200, window: 2s}`;
      write('p.yaml', profile(venue.url, window));
      expect((await run(RUN, env)).exit).toBe(0);
      const reviewer = { ...env, DATABASE_URL: asLogin(env.DATABASE_URL ?? '', 'reviewer') };
      const heard = venue.heard.length;
      const ended = [
        await run(['doctor', '--profile', 'p.yaml', '--json'], reviewer),
        await run(['audit', 'reconcile', 'last', '--json'], reviewer),
      ];
      expect(ended.map(({ exit }) => exit)).toEqual([1, 1]);
      for (const { out } of ended) expect(out).toContain('no tokens in time');
      expect(venue.heard.length).toBe(heard);
    }));

  it('without the variable every verb that needs it says which one is missing', () =>
    play(LIMIT, async ({ run, venue }, env) => {
      expect((await run(RUN, env)).exit).toBe(0);
      const heard = venue.heard.length;
      for (const words of [RUN, ['audit', 'list', '--json'], ['resume', '--json'], ['cancel', 'last', '--json']]) {
        const ended = await run(words);
        expect([ended.exit, document(ended.out)]).toMatchObject([
          2,
          { error: { message: expect.stringContaining('the environment variable DATABASE_URL is not set') } },
        ]);
      }
      expect(venue.heard.length).toBe(heard);
    }));

  it('the account is held for every machine; a kill from another ends the run, a release there frees it', () =>
    play(RESTING, async ({ run, start, venue, path }, env) => {
      const other = { ...env, HOME: join(path, 'other-home') };
      const there = ['--state', join(path, 'other-state')];
      const first = start(RUN, env);
      await until(() => venue.of('GET', '/orders').length >= 3);
      const heard = venue.placed.length;
      const second = await run([...RUN, ...there], other);
      expect([second.exit, document(second.out)]).toMatchObject([3, { error: { kind: 'held' } }]);
      expect(venue.placed.length).toBe(heard);
      const killed = await run(['kill', '--profile', 'p.yaml', '--json', ...there], other);
      expect([killed.exit, document(killed.out)]).toMatchObject([0, { engaged: true, left: 0 }]);
      expect([(await first.ended).exit, venue.orders.map(({ status }) => status)]).toEqual([1, ['canceled']]);
      expect(document((await run([...RUN, ...there], other)).out)).toMatchObject({ error: { kind: 'killed' } });
      expect((await run(['release', '--profile', 'p.yaml', '--by', 'ada', ...there], other)).exit).toBe(0);
      // Each machine keeps what was killed on it until it is released there, whatever the server says.
      expect((await run(['release', '--profile', 'p.yaml', '--by', 'ada'], env)).exit).toBe(0);
      const again = await run([...RUN, '--until', 'o'], env);
      expect([again.exit, venue.placed.length]).toEqual([0, 2]);
    }));

  it('a run whose process died goes on on another machine', () =>
    play(RESTING.replace('60s', '2s'), async ({ run, start, venue, path }, env) => {
      const other = { ...env, HOME: join(path, 'other-home') };
      const there = ['--state', join(path, 'other-state')];
      const first = start(RUN, env);
      await until(() => venue.of('GET', '/orders').length >= 3);
      first.child.kill('SIGKILL');
      await first.ended;
      // The other machine knows of the database by a verb that named the profile.
      expect((await run(['doctor', '--profile', 'p.yaml', ...there], other)).err).not.toContain('error');
      const ended = await run(['resume', '--json', ...there], other);
      expect([ended.exit, report(ended).outcome, venue.placed.length]).toEqual([0, 'succeeded', 1]);
      expect((await run(['audit', 'verify', '--json'], env)).exit).toBe(0);
    }));

  it('a server that is restarted under a run: the run goes on', () =>
    play(RESTING.replace('60s', '4s'), async ({ run, start, venue }, env) => {
      const running = start(RUN, env);
      await until(() => venue.of('GET', '/orders').length >= 3);
      await server().restart('fast');
      const ended = await running.ended;
      expect([ended.exit, report(ended).outcome, venue.placed.length]).toEqual([0, 'succeeded', 1]);
      expect(venue.orders.map(({ status }) => status)).toEqual(['canceled']);
      expect((await run(['audit', 'verify', '--json'], env)).exit).toBe(0);
    }));

  it.each([6, 17])('a server that is away for %d s under a run: its cancel is sent, and the run goes on', (seconds) =>
    play(RESTING.replace('60s', '4s'), async ({ run, start, venue }, env) => {
      const running = start(RUN, env);
      await until(() => venue.of('GET', '/orders').length >= 3);
      await server().stop();
      const back = Date.now() + seconds * 1_000;
      await until(() => venue.of('DELETE', '/orders').length > 0 || Date.now() > back);
      const cancelled = venue.of('DELETE', '/orders').length;
      await until(() => Date.now() > back);
      await server().start();
      const ended = await running.ended;
      expect([cancelled, ended.exit, report(ended).outcome, venue.placed.length]).toEqual([1, 0, 'succeeded', 1]);
      expect(ended.err).not.toMatch(/killed|engaged|released/);
      expect(venue.orders.map(({ status }) => status)).toEqual(['canceled']);
      expect((await run(['audit', 'verify', '--json'], env)).exit).toBe(0);
    }),
  );

  it('a server that is away: a run does not begin, a kill cancels all the same and says what it could not do', () =>
    play(LIMIT, async ({ run, venue }, env) => {
      expect((await run(RUN, env)).exit).toBe(0);
      expect(venue.orders.map(({ status }) => status)).toEqual(['open']);
      await server().stop();
      try {
        const refused = await run(RUN, env);
        expect([refused.exit, document(refused.out)]).toMatchObject([4, { error: { kind: 'journal' } }]);
        // A supervisor tries that again.
        expect((await run(['resume'], env)).exit).toBe(4);
        expect(venue.placed.length).toBe(1);
        const killed = await run(['kill', '--profile', 'p.yaml', '--json'], env);
        expect([killed.exit, venue.orders.map(({ status }) => status)]).toEqual([4, ['canceled']]);
        expect(killed.err).toContain('NOT engaged in the PostgreSQL database of DATABASE_URL');
      } finally {
        await server().start();
      }
      // The user's own guard on this machine has it, so that nothing starts here when the server is back.
      const barred = await run(RUN, env);
      expect([barred.exit, document(barred.out)]).toMatchObject([1, { error: { kind: 'killed' } }]);
      // The state folder has kept it for the database, so that every machine gets it.
      const kills = await server().query('SELECT by_name FROM runbook.kill_event', env.DATABASE_URL);
      expect(kills).toHaveLength(1);
    }));
});
