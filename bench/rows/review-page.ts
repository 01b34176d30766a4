/** Measures row 24: the review page over twenty thousand runs, and over one of a million entries. */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { environmentOf } from '../../src/app/environment.ts';
import { stateFolder } from '../../src/app/state.ts';
import { TOKEN_HEADER } from '../../src/cli/serve/checks.ts';
import { type PageServer, startPageServer } from '../../src/cli/serve/serve.ts';
import { readLines } from '../../src/journal/reading.ts';
import { MemoryStore } from '../../src/journal/stores/memory.ts';
import { openSqliteStore } from '../../src/journal/stores/sqlite.ts';
import { writeManyRuns } from '../../test/journal/many-runs.ts';
import { computeMedian } from '../measure.ts';
import { writeCounter, writeLine } from '../runbooks.ts';
import { execute, loadRunbook } from '../trials/product.ts';
import { getWorkFolder } from '../work-folder.ts';
import type { Row } from './row.ts';

const RUNS = 20_000;
const LISTINGS = 11;
/** Each round of the counter has three entries. */
const ROUNDS = 340_000;
const RUN = '20260105T080000000-counter-0000000001';
const PAGES = 5;

interface Opened {
  readonly server: PageServer;
  ask(path: string): Promise<{ readonly total: number }>;
}

async function openPage(folder: string): Promise<Opened> {
  const environment = environmentOf({ HOME: folder, XDG_STATE_HOME: folder });
  const state = stateFolder(folder, environment, folder);
  const onError = (error: unknown) => {
    throw error;
  };
  const server = await startPageServer({ port: 0, allowActions: false, state, environment, onError });
  const headers = { [TOKEN_HEADER]: server.token };
  return {
    server,
    ask: async (path) => {
      const response = await fetch(`http://127.0.0.1:${server.port}${path}`, { headers });
      if (response.status !== 200) throw new Error(`${path} was answered with ${response.status}`);
      return (await response.json()) as { total: number };
    },
  };
}

let many: Promise<string> | undefined;
const writeMany = () => {
  many ??= (async () => {
    const folder = join(getWorkFolder(), 'many-runs');
    mkdirSync(folder);
    const memory = new MemoryStore();
    await execute(loadRunbook(writeLine(1)), memory, 'short');
    const template = [...readLines(await memory.read('short'))];
    const store = await openSqliteStore(join(folder, 'runbook.db'));
    await writeManyRuns(store, template, RUNS * template.length);
    await store.close();
    return folder;
  })();
  return many;
};

let long: Promise<string> | undefined;
const writeLong = () => {
  long ??= (async () => {
    const folder = join(getWorkFolder(), 'long-run');
    mkdirSync(folder);
    const store = await openSqliteStore(join(folder, 'runbook.db'));
    await execute(loadRunbook(writeCounter(ROUNDS)), store, RUN);
    await store.close();
    return folder;
  })();
  return long;
};

/** Median processor time of the process for one listing, ms: of the server and of the request together. */
async function measureListing(query: string): Promise<number> {
  const { server, ask } = await openPage(await writeMany());
  const spent: number[] = [];
  for (let listing = 0; listing < LISTINGS; listing += 1) {
    const before = process.cpuUsage();
    const { total } = await ask(`/api/runs?limit=30${query}`);
    const { user, system } = process.cpuUsage(before);
    if (total < 1) throw new Error('no run was found');
    spent.push((user + system) / 1000);
  }
  await server.close();
  return computeMedian(spent);
}

/** The longest of some requests for a page of entries, the first among them, ms. */
async function measureEntryPage(query: string): Promise<number> {
  const { server, ask } = await openPage(await writeLong());
  const took: number[] = [];
  for (let page = 0; page < PAGES; page += 1) {
    const begun = performance.now();
    const { total } = await ask(`/api/runs/${RUN}/entries?from=${page * 200_000}&limit=200${query}`);
    took.push(performance.now() - begun);
    if (total < ROUNDS) throw new Error(`the run has ${total} entries`);
  }
  await server.close();
  return Math.max(...took);
}

/** The longest hold of the event loop while the page of the long run is opened, ms. */
async function measureHold(): Promise<number> {
  const { server, ask } = await openPage(await writeLong());
  const delay = monitorEventLoopDelay({ resolution: 5 });
  delay.enable();
  await ask(`/api/runs/${RUN}`);
  await ask(`/api/runs/${RUN}/entries?groups=steps&from=500000&limit=200`);
  delay.disable();
  await server.close();
  return delay.max / 1e6;
}

const row = { against: 'none', unit: 'ms' } as const;

export const REVIEW_PAGE_ROWS: readonly Row[] = [
  {
    ...row,
    id: '24',
    what: '20 000 runs listed on the review page, processor time',
    pass: 50,
    excellent: 20,
    measure: () => measureListing(''),
  },
  {
    ...row,
    id: '24',
    what: 'the same, searched by a word',
    pass: 50,
    excellent: 20,
    measure: () => measureListing('&text=line'),
  },
  {
    ...row,
    id: '24',
    what: 'a page of entries of a run of 1 000 000, the first request too',
    pass: 100,
    excellent: 30,
    measure: () => measureEntryPage(''),
  },
  {
    ...row,
    id: '24',
    what: 'that run opened: longest hold of the event loop',
    pass: 50,
    excellent: 20,
    measure: measureHold,
  },
];
