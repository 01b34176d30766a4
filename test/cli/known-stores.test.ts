/** A store is one store, however it is spelled: `resume` would take a run up twice. */
import { linkSync, mkdirSync, readFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { environmentOf } from '../../src/app/environment.ts';
import { stateFolder } from '../../src/app/state.ts';
import { listStorePlaces, rememberStore } from '../../src/app/stores/known-stores.ts';
import { chooseStorePlace, type StorePlace } from '../../src/app/stores/location.ts';
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
    });
    const state = stateFolder(undefined, environment, here.path);
    const remember = (name: string) => rememberStore(state, { kind: 'postgres', url: { env: name } });
    for (const name of ['A', 'B', 'OTHER_SERVER', 'OTHER_DATABASE', 'NOT_SET', 'NOT_SET']) remember(name);
    const names = listStorePlaces(state).flatMap((place) => (place.kind === 'postgres' ? [place.url] : []));
    expect(names).toEqual([{ env: 'A' }, { env: 'OTHER_SERVER' }, { env: 'OTHER_DATABASE' }, { env: 'NOT_SET' }]);
    expect(readFileSync(state.file('stores.txt'), 'utf8')).not.toContain('secret');
  });
});
