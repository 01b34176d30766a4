/** A store is one store, however it is spelled: `resume` would take a run up twice. */
import { copyFileSync, linkSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { describeActor } from '../../src/app/account/acts.ts';
import type { AppContext } from '../../src/app/context.ts';
import { environmentOf } from '../../src/app/environment.ts';
import { kill } from '../../src/app/kill/kill.ts';
import { stateFolder } from '../../src/app/state.ts';
import { findKnownStores, listStorePlaces, rememberStore } from '../../src/app/stores/known-stores.ts';
import { chooseStorePlace, type StorePlace } from '../../src/app/stores/location.ts';
import { withJournal } from '../../src/app/stores/review.ts';
import { findUnfinishedRuns } from '../../src/app/stores/unfinished-runs.ts';
import { ServedRuns } from '../../src/cli/serve/runs.ts';
import { loadDriver } from '../../src/journal/sql/sqlite-driver.ts';
import type { RunRow } from '../../src/journal/store.ts';
import { StoreError } from '../../src/journal/store.ts';
import { openSqliteStore } from '../../src/journal/stores/sqlite.ts';
import { newWriter, startedData } from '../journal/sample.ts';
import { folder } from './command.ts';

describe('known stores', () => {
  it('have a file once: by a link to it, to its folder, and by another name of it', () => {
    const here = folder();
    const state = stateFolder(undefined, environmentOf({}), here.path);
    const own = state.file('runbook.db');
    here.write('.runbook/runbook.db', '');
    symlinkSync('.runbook', join(here.path, 'alias'));
    symlinkSync(own, join(here.path, 'link.db'));
    linkSync(own, join(here.path, 'second.db'));
    for (const file of ['alias/runbook.db', 'link.db', 'second.db', '.runbook/../.runbook/runbook.db'])
      rememberStore(state, { kind: 'sqlite', file: `${here.path}/${file}` });
    expect(listStorePlaces(state)).toEqual([{ kind: 'sqlite', file: own }]);
    here.write('other.db', '');
    rememberStore(state, { kind: 'sqlite', file: join(here.path, 'other.db') });
    expect(listStorePlaces(state)).toHaveLength(2);
    // Lists that an earlier version wrote.
    here.write('.runbook/stores.txt', `${here.path}/alias/runbook.db\n${here.path}/other.db\n`);
    expect(listStorePlaces(state)).toHaveLength(2);
  });

  it('are remembered behind a line that a full disk cut off', () => {
    const here = folder();
    const state = stateFolder(undefined, environmentOf({}), here.path);
    writeFileSync(state.file('stores.txt'), join(here.path, 'cut'));
    here.write('other.db', '');
    rememberStore(state, { kind: 'sqlite', file: join(here.path, 'other.db') });
    expect(listStorePlaces(state)).toContainEqual({ kind: 'sqlite', file: join(here.path, 'other.db') });
  });

  it('have all been killed before a signature is asked for, once', async () => {
    const here = folder();
    for (const name of ['bin', 'one', 'two']) mkdirSync(join(here.path, name));
    // Fails, as without a passphrase.
    const script =
      '#!/bin/sh\n[ -e "$HOME/one/shared.db" ] && [ -e "$HOME/two/shared.db" ] && echo both >> "$HOME/asked"\nexit 1\n';
    writeFileSync(join(here.path, 'bin/ssh-keygen'), script, { mode: 0o755 });
    here.write('key', 'ssh-ed25519 AAAA');
    const environment = environmentOf({ PATH: `${here.path}/bin:/usr/bin:/bin`, HOME: here.path });
    const state = stateFolder(undefined, environment, here.path);
    for (const name of ['one', 'two']) {
      const file = join(here.path, name, 'runbook.db');
      await (await openSqliteStore(file)).close();
      rememberStore(state, { kind: 'sqlite', file });
    }
    const complaints: string[] = [];
    const voice = { note: () => {}, progress: () => {}, complain: (text: string) => void complaints.push(text) };
    const context = { state, environment, voice } as unknown as AppContext;
    const given = { profile: undefined, who: describeActor('ada'), reason: 'drill', sign: join(here.path, 'key') };
    await expect(kill(given, context)).rejects.toMatchObject({ exit: 4, kind: 'not_cancelled' });
    expect([here.read('asked'), complaints.filter((text) => text.includes('not signed')).length]).toEqual([
      'both\n',
      1,
    ]);
  });

  it('are killed also where another of them, or a run in one, cannot be read', async () => {
    const here = folder();
    const environment = environmentOf({ HOME: here.path });
    const state = stateFolder(undefined, environment, here.path);
    for (const [name, run] of [
      ['one', 'good'],
      ['two', 'bad'],
    ] as const) {
      const file = join(here.path, `${name}.db`);
      const store = await openSqliteStore(file);
      const writer = newWriter(store, run);
      writer.append('run.started', startedData({ mode: 'live' }));
      await writer.flush();
      await store.close();
      rememberStore(state, { kind: 'sqlite', file });
    }
    const { DatabaseSync } = await loadDriver();
    const bad = new DatabaseSync(join(here.path, 'two.db'));
    bad.exec("update entries set line = '{'");
    bad.close();
    here.write('.runbook/runbook.db', 'this is no database at all '.repeat(40));
    const unread: string[] = [];
    const found = await findUnfinishedRuns([], state, 'halted too', {
      unread: (place) => void unread.push(place.kind === 'sqlite' ? basename(place.file) : ''),
    });
    expect([found.map(({ run }) => run), unread]).toEqual([['good'], ['runbook.db', 'two.db']]);
    // The profile that a run was begun under here names no venue that could be asked.
    const complaints: string[] = [];
    const voice = { note: () => {}, progress: () => {}, complain: (text: string) => void complaints.push(text) };
    const context = { state, environment, voice } as unknown as AppContext;
    const given = { profile: undefined, who: describeActor('ada'), reason: 'drill' };
    await expect(kill(given, context)).rejects.toMatchObject({ exit: 4, kind: 'not_cancelled' });
    const about = (name: string) => complaints.filter((text) => text.includes(`${name}: a run there cannot be read`));
    expect([about('runbook.db').length, about('two.db').length]).toEqual([1, 1]);
  });

  it('have a run found by its name also beside one that cannot be read', async () => {
    const here = folder();
    const state = stateFolder(undefined, environmentOf({ HOME: here.path }), here.path);
    const file = state.file('runbook.db');
    const store = await openSqliteStore(file);
    for (const run of ['1-early', '2-bad', '3-late']) {
      const writer = newWriter(store, run);
      writer.append('run.started', startedData({ mode: 'live' }));
      await writer.flush();
    }
    await store.close();
    const { DatabaseSync } = await loadDriver();
    const database = new DatabaseSync(file);
    database.exec("update entries set line = '{' where run = '2-bad'");
    database.close();
    const find = (...names: readonly string[]) =>
      findUnfinishedRuns(names, state).then(
        (found) => found.map(({ run }) => run),
        (error: unknown) => (error instanceof StoreError ? error.reason : error),
      );
    expect(await find('early', '3-late', 'last')).toEqual(['1-early', '3-late', '3-late']);
    for (const names of [['2-bad'], ['bad', 'late'], ['other'], []])
      expect([names, await find(...names)]).toEqual([names, 'damaged']);
    const newest = new DatabaseSync(file);
    newest.exec("update entries set line = '{' where run = '3-late'");
    newest.close();
    expect([await find('last'), await find('early')]).toEqual(['damaged', ['1-early']]);
  });

  it('are beside the file itself, whatever name a profile uses, also before it exists', () => {
    const here = folder();
    const state = stateFolder(undefined, environmentOf({}), here.path);
    mkdirSync(join(here.path, 'real'));
    symlinkSync('real', join(here.path, 'alias'));
    const chosen = () => chooseStorePlace({ store: { sqlite: join(here.path, 'alias/one.db') } }, state);
    const expected: StorePlace = { kind: 'sqlite', file: join(here.path, 'real/one.db') };
    expect(chosen()).toEqual(expected);
    here.write('real/one.db', '');
    expect(chosen()).toEqual(expected);
  });

  it('have a database once: by server and name, not by user, password, or the place of its URL', () => {
    const here = folder();
    const environment = environmentOf({
      A: 'postgres://ann:secret-one@db.example/journal',
      B: 'postgresql://bob:secret-two@DB.example:5432/journal?sslmode=require',
      OTHER_SERVER: 'postgres://ann:secret-one@db.example:5433/journal',
      OTHER_DATABASE: 'postgres://ann:secret-one@db.example/second',
      HERE: 'postgres://ann:secret-one@localhost/journal',
      HERE_TOO: 'postgres://ann:secret-one@127.0.0.1:5432/journal',
    });
    const state = stateFolder(undefined, environment, here.path);
    const remember = (name: string) => rememberStore(state, { kind: 'postgres', url: { env: name } });
    for (const name of ['A', 'B', 'OTHER_SERVER', 'OTHER_DATABASE', 'HERE', 'HERE_TOO', 'NOT_SET', 'NOT_SET'])
      remember(name);
    const names = listStorePlaces(state).flatMap((place) => (place.kind === 'postgres' ? [place.url] : []));
    const once = ['A', 'OTHER_SERVER', 'OTHER_DATABASE', 'HERE', 'NOT_SET'];
    expect(names).toEqual(once.map((env) => ({ env })));
    expect(readFileSync(state.file('stores.txt'), 'utf8')).not.toContain('secret');
  });

  it('have the paths that an earlier version wrote from beside the state folder, and name those that are not there', () => {
    const here = folder();
    const state = stateFolder(undefined, environmentOf({}), here.path);
    state.file('stores.txt');
    here.write('near.db', '');
    here.write('.runbook/stores.txt', 'near.db\ngone/away.db\npostgres file url.txt\n');
    expect(findKnownStores(state)).toEqual({
      there: [
        { kind: 'sqlite', file: join(here.path, '.runbook/runbook.db') },
        { kind: 'sqlite', file: join(here.path, 'near.db') },
        { kind: 'postgres', url: { file: join(here.path, 'url.txt') } },
      ],
      missing: [{ kind: 'sqlite', file: join(here.path, 'gone/away.db') }],
    });
  });

  it('hold a run once, where they are one store under spellings that look like two, or a copy of it', async () => {
    const here = folder();
    const state = stateFolder(undefined, environmentOf({}), here.path);
    const [copy, kept] = ['copy.db', 'kept.db'].map((name) => join(here.path, name)) as [string, string];
    let store = await openSqliteStore(kept);
    const writer = newWriter(store, 'one-run');
    writer.append('run.started', startedData({ mode: 'live' }));
    await writer.flush();
    await store.close();
    copyFileSync(kept, copy);
    for (const file of [copy, kept]) rememberStore(state, { kind: 'sqlite', file });
    const find = async () => (await findUnfinishedRuns(['one-run'], state)).map(({ place }) => place);
    expect(await find()).toHaveLength(1);
    // The copy stays behind: what is appended decides where the run is.
    store = await openSqliteStore(kept);
    const heir = newWriter(store, 'one-run', { head: writer.head });
    heir.append('run.resumed', { openCalls: [] });
    await heir.flush();
    await store.close();
    expect(await find()).toEqual([{ kind: 'sqlite', file: kept }]);
    expect(await findUnfinishedRuns([], state)).toHaveLength(1);
    // Nor is a run that has ended resumed in the copy.
    store = await openSqliteStore(kept);
    const last = newWriter(store, 'one-run', { head: heir.head, row: (await store.run('one-run')) as RunRow });
    last.append('run.ended', { outcome: 'succeeded', outputs: {} });
    await last.close();
    await store.close();
    expect(await findUnfinishedRuns([], state)).toEqual([]);
  });

  it('show a run as its longest journal has it, in reviews and on the page, whichever store is read first', async () => {
    const here = folder();
    const state = stateFolder(undefined, environmentOf({}), here.path);
    const [kept, copy] = ['kept.db', 'copy.db'].map((name) => join(here.path, name)) as [string, string];
    const store = await openSqliteStore(kept);
    const writer = newWriter(store, 'one-run');
    writer.append('run.started', startedData({ mode: 'live' }));
    await writer.flush();
    copyFileSync(kept, copy);
    copyFileSync(`${kept}-wal`, `${copy}-wal`);
    writer.append('run.ended', { outcome: 'halted', outputs: {} });
    await writer.close();
    await store.close();
    for (const file of [kept, copy]) rememberStore(state, { kind: 'sqlite', file });
    const found = await withJournal({ state }, async (journals) => [
      (await journals.runs()).map(({ outcome }) => outcome),
      (await journals.runs({ unfinished: true })).map(({ outcome }) => outcome),
      (await journals.runs({ outcome: 'halted' })).map(({ outcome }) => outcome),
    ]);
    expect(found).toEqual([['halted'], [], ['halted']]);
    const served = new ServedRuns(state);
    const shown = await served.find('one-run');
    expect([...(await served.list()).rows, shown?.row].map((row) => row?.outcome)).toEqual(['halted', 'halted']);
    expect(shown && (await served.countEntries(shown))).toBe(2);
    await served.close();
  });
});
