import { closeSync, openSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { JWT, type MockVenue } from './mock-venue.ts';
import { document, RESTING, type Report, rests, scene, until } from './scene.ts';

const RUN = ['run', 'one.yaml', '--profile', 'p.yaml'];
/** Long enough to be read as the header of a database. */
const NO_DATABASE = 'this is no database at all '.repeat(40);
const states = (venue: MockVenue) => venue.orders.map(({ status }) => status);

describe.concurrent('an output that cannot be written', { tags: ['full-device'] }, () => {
  it('standard error on a full disk does not stop a run', () =>
    scene({ runbook: RESTING }, async ({ venue, start }) => {
      const full = openSync('/dev/full', 'w');
      const running = start([...RUN, '--json'], undefined, { err: full });
      closeSync(full);
      await rests(venue);
      running.child.kill('SIGINT');
      const ended = await running.ended;
      expect([ended.exit, (document(ended.out) as Report).reason, states(venue)]).toEqual([
        130,
        'interrupted by SIGINT',
        ['canceled'],
      ]);
    }));

  it('standard output on a full disk is reported, and changes only the exit code of a success', () =>
    scene({ runbook: RESTING }, async ({ venue, start }) => {
      const full = openSync('/dev/full', 'w');
      const running = start(RUN, undefined, { out: full });
      await rests(venue);
      running.child.kill('SIGTERM');
      const ended = await running.ended;
      expect([ended.exit, states(venue)]).toEqual([143, ['canceled']]);
      expect(ended.err).toContain('error: standard output cannot be written: the disk is full');
      const listed = await start(['audit', 'list'], undefined, { out: full }).ended;
      closeSync(full);
      expect([listed.exit, listed.err.includes('internal error')]).toEqual([1, false]);
    }));
});

describe.concurrent('kill', () => {
  it('without a profile and without a run says that no venue was asked', () =>
    scene({}, async ({ venue, run, live, path }) => {
      expect((await live()).exit).toBe(0);
      const heard = venue.heard.length;
      const killed = await run(['kill', '--state', join(path, 'elsewhere')]);
      expect([killed.exit, killed.out, venue.heard.length, states(venue)]).toEqual([4, '', heard, ['open']]);
      expect(killed.err).toContain('NOTHING WAS CANCELLED');
      expect(killed.err).toContain('`runbook kill --profile FILE`');
      const elsewhere = await run(['kill', '--json', '--state', join(path, 'elsewhere')]);
      expect([elsewhere.exit, document(elsewhere.out)]).toMatchObject([4, { error: { kind: 'not_cancelled' } }]);
    }));

  it.each([
    ['the state folder is a file', ['--state', 'p.yaml'], undefined],
    ['what is shared is no database', [], ['.runbook/shared.db']],
    ['the guard of the accounts is no database', [], ['home/.local/state/perp-runbook/accounts.db']],
    ['the folder of the user is a file', [], ['home/.local']],
  ])(
    'with a profile cancels if %s, and says that no other process was notified',
    { tags: ['long'] },
    (_what, words, spoilt) =>
      scene({}, async ({ venue, run, live, write, path }) => {
        expect((await live()).exit).toBe(0);
        for (const file of spoilt ?? []) {
          // With its log: the pages in it would be read in place of those in the file.
          for (const suffix of ['', '-wal', '-shm'])
            rmSync(join(path, `${file}${suffix}`), { recursive: true, force: true });
          write(file, NO_DATABASE);
        }
        const killed = await run(['kill', '--profile', 'p.yaml', '--json', ...words]);
        expect([states(venue), killed.exit, document(killed.out)]).toMatchObject([['canceled'], 4, { left: 0 }]);
        expect(killed.err).toContain('the kill switch is NOT engaged');
        expect(killed.err).not.toContain('internal error');
      }),
  );

  it('cancels although a webhook of the profile has no address', { tags: ['long'] }, () =>
    scene({ profile: 'notify: {ops: {webhook: {env: OPS_WEBHOOK}}}' }, async ({ venue, run, live }) => {
      expect((await live([], { VENUE_JWT: JWT, OPS_WEBHOOK: 'https://hooks.example.com/x' })).exit).toBe(0);
      const killed = await run(['kill', '--profile', 'p.yaml', '--json'], { VENUE_JWT: JWT, OPS_WEBHOOK: 'none' });
      expect([states(venue), killed.exit, document(killed.out)]).toMatchObject([['canceled'], 0, { left: 0 }]);
    }),
  );

  it('with a profile needs no journal: it works although the journal is not a database', { tags: ['long'] }, () =>
    scene({}, async ({ venue, run, live, write, path }) => {
      expect((await live()).exit).toBe(0);
      for (const suffix of ['', '-wal', '-shm']) rmSync(join(path, `.runbook/runbook.db${suffix}`), { force: true });
      write('.runbook/runbook.db', NO_DATABASE);
      const killed = await run(['kill', '--profile', 'p.yaml', '--json']);
      expect([states(venue), killed.exit, document(killed.out)]).toMatchObject([['canceled'], 0, { left: 0 }]);
      expect(document((await run(RUN.concat('--json'))).out)).toHaveProperty('error');
    }),
  );

  it('says what it has done when a signal ends it', () =>
    scene({}, async ({ venue, start, live }) => {
      expect((await live()).exit).toBe(0);
      venue.rules.push(({ method }) => (method === 'DELETE' ? { delayMs: 60_000 } : undefined));
      const killing = start(['kill', '--profile', 'p.yaml']);
      await until(() => venue.of('DELETE', '/orders/cancel_all').length > 0);
      killing.child.kill('SIGINT');
      const ended = await killing.ended;
      expect(ended.exit).toBe(130);
      expect(ended.err).toContain('the kill is not finished. The kill switch is engaged and stays so');
      expect(ended.err).toContain('what is open at the venue is not known');
    }));
});
