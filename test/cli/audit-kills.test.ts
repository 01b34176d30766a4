import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { EXIT } from '../../src/app/errors.ts';
import { VirtualClock } from '../../src/base/clock.ts';
import { openSharedSqlite } from '../../src/journal/shared/sqlite.ts';
import { openSqliteStore } from '../../src/journal/stores/sqlite.ts';
import { newWriter, startedData } from '../journal/sample.ts';
import { profile } from '../live/scene.ts';
import { folder } from './command.ts';
import { serve } from './served-journal.ts';

const URL = 'https://venue.example';
const MAIN = `${URL} main`;
const OTHER = `${URL} other`;
const BEGIN = Date.parse('2026-01-05T08:00:00Z');
const timeAt = (seconds: number) => BEGIN + seconds * 1000;

describe('audit kills', () => {
  const here = folder();
  const env = { XDG_STATE_HOME: join(here.path, 'home') };
  const run = (...words: string[]) => here.runWith({ env }, ...words);
  const json = (...words: string[]) => JSON.parse(run(...words, '--json').out);
  const state = join(here.path, '.runbook');

  /** A store with its shared state, and the user's account guard beside it. */
  const sharedOf = (store: string) => {
    mkdirSync(join(here.path, 'home', 'perp-runbook'), { recursive: true });
    return openSharedSqlite({
      file: join(store, 'shared.db'),
      ledgerFile: join(here.path, 'home', 'perp-runbook', 'tokens.db'),
      accountsFile: join(here.path, 'home', 'perp-runbook', 'accounts.db'),
    });
  };

  beforeAll(async () => {
    here.write('p.yaml', profile(URL));
    mkdirSync(state);
    const store = await openSqliteStore(join(state, 'runbook.db'));
    for (const [name, mode] of [
      ['a-live', 'live'],
      ['b-dry', 'simulated'],
    ] as const) {
      const clock = new VirtualClock(BEGIN);
      const writer = newWriter(store, name, { clock });
      writer.append('run.started', startedData({ mode, startedAt: BEGIN, settings: { base_url: URL } }));
      await clock.advanceTo(timeAt(60));
      writer.append('run.ended', { outcome: 'failed', outputs: {} });
      await writer.close();
    }
    await store.close();
  });

  it('reports that there is none, and creates no file', () => {
    expect(run('audit', 'kills')).toMatchObject({ exit: EXIT.done, out: 'the kill switch was never engaged\n' });
    expect(json('audit', 'kills')).toEqual({ kills: [] });
    expect(json('audit', 'summary', 'a-live').kills).toEqual([]);
    expect([existsSync(join(state, 'shared.db')), existsSync(join(here.path, 'home'))]).toEqual([false, false]);
  });

  it('lists who engaged and who released, and shows a run the kills during its time', async () => {
    const here1 = await sharedOf(state);
    const there = await sharedOf(join(here.path, 'another'));
    await here1.killSwitch.engage({ scope: MAIN, by: 'ada', reason: 'before it', at: timeAt(-60) });
    await here1.killSwitch.release(MAIN, 'bo', timeAt(-30));
    await there.killSwitch.engage({ scope: MAIN, by: 'cy', reason: 'odd\u001b[31m fills', at: timeAt(20) });
    await here1.killSwitch.engage({ scope: '*', by: 'di', reason: 'drill', at: timeAt(30) });
    await here1.killSwitch.engage({ scope: OTHER, by: 'ed', reason: 'not this one', at: timeAt(40) });
    await here1.killSwitch.release(MAIN, 'flo', timeAt(50));
    await here1.killSwitch.engage({ scope: MAIN, by: 'gus', reason: 'behind it', at: timeAt(90) });
    // A kill of another store's accounts does not concern this run.
    await there.killSwitch.engage({ scope: '*', by: 'hal', reason: 'elsewhere', at: timeAt(45) });
    await here1.close();
    await there.close();

    const kill = (seconds: number, action: string, scope: string, by: string, reason: string) => ({
      at: new Date(timeAt(seconds)).toISOString(),
      action,
      scope,
      by,
      reason,
      ...(scope === '*' ? { store: join(state, 'runbook.db') } : {}),
    });
    const during = [
      kill(20, 'engage', MAIN, 'cy', 'odd\u001b[31m fills'),
      kill(30, 'engage', '*', 'di', 'drill'),
      kill(50, 'release', MAIN, 'flo', ''),
    ];
    const ofMain = [
      kill(-60, 'engage', MAIN, 'ada', 'before it'),
      kill(-30, 'release', MAIN, 'bo', ''),
      ...during,
      kill(90, 'engage', MAIN, 'gus', 'behind it'),
    ];
    expect(json('audit', 'kills', '--profile', 'p.yaml')).toEqual({ kills: ofMain });
    expect(json('audit', 'kills').kills).toEqual(
      [...ofMain, kill(40, 'engage', OTHER, 'ed', 'not this one')].sort((a, b) => (a.at < b.at ? -1 : 1)),
    );
    expect(run('audit', 'kills').out.split('\n')).toEqual(
      expect.arrayContaining([
        expect.stringMatching(/^2026-01-05T08:00:20.000Z {2}https:\/\/venue.example main +engage +cy +odd\\u001b\[31m/),
        expect.stringMatching(/^2026-01-05T08:00:30.000Z {2}every one of .*runbook.db +engage +di +drill *$/),
        expect.stringMatching(/^2026-01-05T08:00:50.000Z {2}https:\/\/venue.example main +release +flo *$/),
      ]),
    );

    const { kills, answers } = json('audit', 'summary', 'a-live');
    expect(kills).toEqual(during);
    const [, allowed] = answers;
    expect(allowed.said).toContain('the kill switch was engaged');
    expect(allowed.because.slice(0, 3)).toEqual([
      'kill switch engaged by cy, 2026-01-05T08:00:20.000Z: odd\\u001b[31m fills',
      'kill switch engaged by di, 2026-01-05T08:00:30.000Z, for every account: drill',
      'kill switch released by flo, 2026-01-05T08:00:50.000Z',
    ]);
    expect(json('audit', 'summary', 'b-dry').kills).toEqual([]);
    expect(run('audit', 'export', 'a-live', '--format', 'html').out).toContain(
      'by di, 2026-01-05T08:00:30.000Z, for every account: drill',
    );
    expect(run('audit', 'archive', '--keep').exit).toBe(EXIT.done);
    const archived = json('audit', 'summary', 'a-live', '--archive', join('.runbook', 'archive', '2026-01.jsonl.gz'));
    expect([archived.kills, archived.answers[1].because[0]]).toEqual([undefined, expect.stringContaining('archive')]);
    const served = await serve(state);
    expect((await served.ask('/api/runs/a-live/checks')).json).toMatchObject({
      kills: [{ at: timeAt(30), action: 'engage', scope: '*', by: 'di' }, { by: 'flo' }],
    });
    expect((await served.ask('/api/runs/b-dry/checks')).json).toMatchObject({ kills: [] });
    expect(served.mistakes).toEqual([]);
  });
});
