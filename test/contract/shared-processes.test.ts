/**
 * Real processes on one real file or one real server: the only test that waits for a real clock, because it tests processes and
 * the operating system. It plays the venue itself, with a window short enough to be filled several times.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openSharedPostgres } from '../../src/journal/shared/postgres.ts';
import type { Shared } from '../../src/journal/shared/shared.ts';
import { openSharedSqlite } from '../../src/journal/shared/sqlite.ts';
import { bundleProgram } from '../bundle.js';
import { onServer, postgresOfFile } from '../postgres.ts';
import { COUNTING_RULES } from '../venue/counting-venues.ts';
import { accessTo } from './postgres-access.ts';

const SETTINGS = { tokens: 300, windowMs: 2_500, longestRequestMs: 500, inTransitMs: 500 };
let folder = '';
let client: Awaited<ReturnType<typeof bundleProgram>> | undefined;
const children: ChildProcess[] = [];

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'budget-'));
  client = await bundleProgram(join(import.meta.dirname, 'budget-client.ts'));
});
afterAll(() => {
  for (const child of children) child.kill('SIGKILL');
  rmSync(folder, { recursive: true, force: true });
  client?.remove();
});

const server = postgresOfFile();

/** The store that the processes share, as the client's argument, and the records that the test opens in it. */
interface Meeting {
  readonly place: string;
  /** What happens to the store while processes use it; resolves when a new process can open it. */
  disturb?(): Promise<void>;
  open(): Promise<Shared>;
}
const MEETINGS: Readonly<Record<string, () => Promise<Meeting>>> = {
  'a file': async () => ({
    place: folder,
    open: () => openSharedSqlite({ file: join(folder, 'shared.db'), ledgerFile: join(folder, 'ledger.db') }),
  }),
  'a PostgreSQL database': async () => {
    const access = await accessTo(server());
    return { place: access.url, open: () => openSharedPostgres(access) };
  },
  'a PostgreSQL server that is restarted in the middle': async () => {
    const access = await accessTo(server());
    return { place: access.url, open: () => openSharedPostgres(access), disturb: () => server().restart('crash') };
  },
};

function testMeeting(name: string, meet: () => Promise<Meeting>): void {
  let meeting: Meeting;
  beforeAll(async () => {
    meeting = await meet();
  });

  it('three processes, one of them killed and replaced, never overrun the limit and use it up', async () => {
    const log = COUNTING_RULES[0]?.open(SETTINGS.tokens, SETTINGS.windowMs);
    const bucket = COUNTING_RULES[2]?.open(SETTINGS.tokens, SETTINGS.windowMs);
    const sums = { granted: 0, refused: 0 };
    const byOwner = new Map<string, number>();
    const running: ChildProcess[] = [];
    const start = (owner: string) => {
      const child = fork(client?.file ?? '', [meeting.place, owner, JSON.stringify(SETTINGS)]);
      children.push(child);
      running.push(child);
      child.on('message', ({ request, weight }: { request: number; weight: number }) => {
        const at = performance.now();
        const said = [log, bucket].map((venue) => venue?.count(weight, at));
        const granted = said.every((each) => each?.granted);
        sums.refused += granted ? 0 : 1;
        sums.granted += granted ? weight : 0;
        byOwner.set(owner, (byOwner.get(owner) ?? 0) + weight);
        // One that is killed meanwhile does not hear it.
        child.send({ request, granted, remaining: said[0]?.remaining }, () => {});
      });
      return child;
    };
    const [, doomed] = [start('a'), start('b'), start('c')];
    while (byOwner.size < 3) await pause(10);
    const begun = performance.now();
    // Only now: a process that starts while the server is down ends, and would be waited for.
    const disturbed = pause(1_000).then(() => meeting.disturb?.());
    await pause(2_000);
    doomed?.kill('SIGKILL');
    await pause(300);
    await disturbed;
    start('d');
    await pause(4_200);
    const windows = (performance.now() - begun) / SETTINGS.windowMs;
    expect(sums.refused).toBe(0);
    expect(byOwner.get('d')).toBeGreaterThan(0);
    // A server that is down for a second or two costs only the tokens that would have been granted meanwhile.
    expect(sums.granted / (SETTINGS.tokens * windows)).toBeGreaterThan(name.includes('restarted') ? 0.25 : 0.6);

    const shared = await meeting.open();
    expect(await shared.leases.acquire('account of a', 'test')).toMatchObject({ kind: 'taken', heldBy: 'a' });
    // The lease of a killed process is free at once; the epoch continues.
    expect(await shared.leases.acquire('account of b', 'test')).toEqual({ kind: 'held', epoch: 2 });
    await shared.close();
    for (const child of running) child.kill('SIGKILL');
  });
}

for (const [name, meet] of Object.entries(MEETINGS))
  describe(`on ${name}`, onServer(name), () => testMeeting(name, meet));
