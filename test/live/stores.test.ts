/** Stores by their place: which are known, where commands find them from, and what a kill says of each. */
import { chmodSync, mkdirSync, readFileSync, renameSync, rmdirSync } from 'node:fs';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { loadDriver } from '../../src/journal/sql/sqlite-driver.ts';
import { JWT } from './mock-venue.ts';
import { document, RESTING, rests, type Scene, scene, until } from './scene.ts';

const RUN = ['run', 'one.yaml', '--profile', 'p.yaml', '--json'];
const STORE = { runbook: RESTING, profile: 'store: {sqlite: data/one.db}' };
const states = ({ venue }: Scene) => venue.orders.map(({ status }) => status);
/** Runs a command in another working directory, with the desk's state folder. */
function elsewhere({ path, start }: Scene, ...words: readonly string[]) {
  const cwd = join(path, 'elsewhere');
  mkdirSync(cwd, { recursive: true });
  return start([...words, '--state', join(path, '.runbook'), '--json'], undefined, { cwd }).ended;
}

describe.concurrent('a store that a profile names by a relative path', () => {
  it('has one absolute place: a kill from another directory reaches its run', { tags: ['long'] }, () =>
    scene(STORE, async (stage) => {
      const running = stage.start(RUN);
      await rests(stage.venue);
      const store = join(stage.path, 'data/one.db');
      expect(readFileSync(join(stage.path, '.runbook/stores.txt'), 'utf8')).toBe(`${store}\n`);
      const killed = await elsewhere(stage, 'kill', '--by', 'ana');
      expect([killed.exit, states(stage)]).toEqual([0, ['canceled']]);
      expect(document(killed.out)).toMatchObject({
        engaged: true,
        stores: [join(stage.path, '.runbook/runbook.db'), store],
        missing: [],
      });
      expect((await running.ended).exit).toBe(1);
    }),
  );

  it('is resumed from another directory, also where an earlier version has listed the relative path', () =>
    scene({ ...STORE, runbook: RESTING.replace('60s', '2s') }, async (stage) => {
      const running = stage.start(RUN);
      await rests(stage.venue);
      running.child.kill('SIGKILL');
      await running.ended;
      stage.write('.runbook/stores.txt', 'data/one.db\n');
      const resumed = await elsewhere(stage, 'resume');
      expect([resumed.exit, document(resumed.out)]).toMatchObject([0, { outcome: 'succeeded' }]);
    }));
});

describe.concurrent('a store in a folder that others may write to', () => {
  it('begins no run, and a person stops one that is there', { tags: ['long'] }, () =>
    scene({ ...STORE, runbook: RESTING }, async (stage) => {
      const data = join(stage.path, 'data');
      const running = stage.start(RUN);
      await rests(stage.venue);
      chmodSync(data, 0o775);
      const killed = await stage.run(['kill', '--by', 'ana', '--json']);
      expect([killed.exit, document(killed.out), states(stage)]).toMatchObject([0, { missing: [] }, ['canceled']]);
      expect((await running.ended).exit).toBe(1);
      expect((await stage.run(['release', '--profile', 'p.yaml', '--by', 'ana'])).exit).toBe(0);
      const schedule = ['schedule', 'one.yaml', '--profile', 'p.yaml', '--standby', '--port', '0'];
      for (const words of [RUN, schedule]) expect((await stage.start(words).ended).exit).toBe(2);
      expect(stage.venue.placed.length).toBe(1);
      chmodSync(data, 0o755);
      expect((await stage.run([...RUN, '--until', 'o'])).exit).toBe(0);
    }),
  );

  it('has its run cancelled by a person', () =>
    scene({ ...STORE, runbook: RESTING }, async (stage) => {
      const running = stage.start(RUN);
      await rests(stage.venue);
      chmodSync(join(stage.path, 'data'), 0o775);
      expect((await stage.run(['cancel', 'last', '--by', 'ana', '--json'])).exit).toBe(0);
      expect([(await running.ended).exit, states(stage)]).toEqual([1, ['canceled']]);
    }));
});

describe.concurrent('a store that is known and not there', () => {
  it('is named by a kill, which claims the others alone and exits with 4', { tags: ['long'] }, () =>
    scene(STORE, async (stage) => {
      expect((await stage.run([...RUN, '--until', 'o'])).exit).toBe(0);
      stage.write('own.yaml', readFileSync(join(stage.path, 'p.yaml'), 'utf8').replace(/^store.*$/m, ''));
      expect((await stage.run(['account', 'adopt', '--profile', 'own.yaml', '--by', 'ana'])).exit).toBe(0);
      const running = stage.start(['run', 'one.yaml', '--profile', 'own.yaml', '--json']);
      await until(() => states(stage).length === 2);
      renameSync(join(stage.path, 'data'), join(stage.path, 'moved'));
      const killed = await elsewhere(stage, 'kill', '--by', 'ana');
      expect([killed.exit, document(killed.out)]).toMatchObject([
        4,
        {
          engaged: false,
          stores: [join(stage.path, '.runbook/runbook.db')],
          missing: [join(stage.path, 'data/one.db')],
        },
      ]);
      expect(killed.err).toContain(`is NOT engaged in ${join(stage.path, 'data/one.db')}`);
      expect((await running.ended).exit).toBe(1);
    }),
  );

  it('is named by a resume that finds nothing, with where it looked', () =>
    scene(STORE, async (stage) => {
      expect((await stage.run([...RUN, '--until', 'o'])).exit).toBe(0);
      renameSync(join(stage.path, 'data'), join(stage.path, 'moved'));
      const found = await elsewhere(stage, 'resume');
      expect([found.exit, document(found.out)]).toMatchObject([
        4,
        { runs: [], stores: [join(stage.path, '.runbook/runbook.db')], missing: [join(stage.path, 'data/one.db')] },
      ]);
    }));
});

describe.concurrent('a store that takes a kill and does not keep it', () => {
  it(
    'is not claimed, although this user has it on this machine, and the orders are cancelled',
    { tags: ['long'] },
    () =>
      scene(STORE, async (stage) => {
        expect((await stage.run([...RUN, '--until', 'o'])).exit).toBe(0);
        const { DatabaseSync } = await loadDriver();
        const shared = new DatabaseSync(join(stage.path, 'data/shared.db'));
        shared.exec(
          'CREATE TRIGGER forgets AFTER INSERT ON kill_event BEGIN DELETE FROM kill_event WHERE sequence = NEW.sequence; END',
        );
        shared.close();
        const killed = await stage.run(['kill', '--profile', 'p.yaml', '--by', 'ana', '--json']);
        const missing = [join(stage.path, 'data/one.db')];
        expect([killed.exit, document(killed.out)]).toMatchObject([
          4,
          { engaged: false, left: 0, stores: [], missing },
        ]);
        expect(states(stage)).toEqual(['canceled']);
      }),
  );
});

/** A database that takes connections and never says a word, as one behind a firewall that drops packets. */
async function openSilent() {
  const sockets: Socket[] = [];
  const server = createServer((socket) => void sockets.push(socket.resume().on('error', () => {})));
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const close = () => {
    for (const socket of sockets) socket.destroy();
    server.close();
  };
  return { url: `postgres://ada:pw@127.0.0.1:${port}/desk`, sockets, close };
}

describe.concurrent('a store that does not answer', () => {
  it('gives back at the release what a kill of this machine had in its place', { tags: ['long'] }, () =>
    scene(STORE, async (stage) => {
      expect((await stage.run([...RUN, '--until', 'o'])).exit).toBe(0);
      stage.write('own.yaml', readFileSync(join(stage.path, 'p.yaml'), 'utf8').replace(/^store.*$/m, ''));
      const own = () => stage.run(['run', 'one.yaml', '--profile', 'own.yaml', '--json', '--until', 'o']);
      const shared = join(stage.path, 'data/shared.db');
      renameSync(shared, `${shared}.away`);
      mkdirSync(shared);
      const killed = await stage.run(['kill', '--profile', 'p.yaml', '--by', 'ana', '--json']);
      expect([killed.exit, document(killed.out)]).toMatchObject([4, { engaged: false, left: 0 }]);
      // On this machine it holds for the account whatever its store is.
      expect(document((await own()).out)).toMatchObject({ error: { kind: 'killed' } });
      rmdirSync(shared);
      renameSync(`${shared}.away`, shared);
      expect((await stage.run(['release', '--profile', 'p.yaml', '--by', 'bo'])).exit).toBe(0);
      expect((await stage.run(['account', 'adopt', '--profile', 'own.yaml', '--by', 'bo'])).exit).toBe(0);
      expect((await own()).exit).toBe(0);
    }),
  );

  it.each<[string, readonly string[]]>([
    ['for one account', ['--profile', 'away.yaml']],
    ['for every account', []],
  ])('holds up no kill %s: the venue has it while the store is still being asked', { tags: ['long'] }, (_, words) =>
    scene(STORE, async (stage) => {
      const running = stage.start(RUN);
      await rests(stage.venue);
      const silent = await openSilent();
      const own = readFileSync(join(stage.path, 'p.yaml'), 'utf8');
      stage.write('away.yaml', own.replace(/^store:.*$/m, 'store: {postgres: {env: DESK_DB}}'));
      stage.write(
        '.runbook/stores.txt',
        `${readFileSync(join(stage.path, '.runbook/stores.txt'), 'utf8')}postgres env DESK_DB\n`,
      );
      const kill = stage.start(['kill', ...words, '--by', 'ana', '--json'], { VENUE_JWT: JWT, DESK_DB: silent.url });
      const isAsked = () => silent.sockets.some(({ closed }) => !closed);
      await until(() => isAsked() && stage.venue.of('DELETE', '/orders/cancel_all').length > 0);
      // Where the store turns out not to take it, this machine has it all the same, for the account whatever its store is.
      if (words.length > 0)
        expect(document((await running.ended).out)).toMatchObject({ reason: expect.stringContaining('ana') });
      for (const { child } of [kill, running]) child.kill('SIGKILL');
      silent.close();
    }),
  );
});
