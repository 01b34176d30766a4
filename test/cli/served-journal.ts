/** A state folder with runs, and the review page's server for it; both are removed after the test file. */
import { mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll } from 'vitest';
import { type Environment, environmentOf } from '../../src/app/environment.ts';
import { stateFolder } from '../../src/app/state.ts';
import { TOKEN_HEADER } from '../../src/cli/serve/checks.ts';
import { type PageServer, startPageServer } from '../../src/cli/serve/serve.ts';
import { EMPTY_HEAD, sealEntry, toHead } from '../../src/journal/chain.ts';
import type { Entry } from '../../src/journal/entry.ts';
import type { StoredEntry } from '../../src/journal/store.ts';
import { openSqliteStore } from '../../src/journal/stores/sqlite.ts';

export interface Reply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly text: string;
  /** The document of a JSON answer. */
  readonly json: Readonly<Record<string, unknown>>;
}

export interface Asking {
  readonly method?: string;
  readonly body?: string;
  /** Undefined omits a default header. */
  readonly headers?: Readonly<Record<string, string | undefined>>;
}

export interface Served {
  readonly folder: string;
  readonly environment: Environment;
  readonly server: PageServer;
  /** Internal errors that the server reported. */
  readonly mistakes: readonly unknown[];
  /** Requests a path exactly as written, like the page. */
  ask(path: string, asking?: Asking): Promise<Reply>;
}

export function temporaryFolder(): string {
  const path = realpathSync(mkdtempSync(join(tmpdir(), 'runbook-page-')));
  afterAll(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

/** Writes given entries as a run of the journal in `folder`. */
export async function keepRun(folder: string, run: string, entries: readonly Entry[]): Promise<void> {
  const store = await openSqliteStore(join(folder, 'runbook.db'));
  try {
    const sealed: StoredEntry[] = [];
    for (const { type, data, prev: _prev, hash: _hash, seq: _seq, ...envelope } of entries) {
      const body = { type, data } as Parameters<typeof sealEntry>[0];
      sealed.push(
        sealEntry(body, { ...envelope, run }, sealed.length === 0 ? EMPTY_HEAD : toHead(sealed.at(-1))).stored,
      );
    }
    const [first] = entries;
    const last = entries.at(-1);
    if (first?.type !== 'run.started') throw new Error('a run begins with run.started');
    const { runbook, mode, account, trigger, startedAt } = first.data;
    const end = last?.type === 'run.ended' ? { endedAt: last.at, outcome: last.data.outcome } : {};
    const row = { run, runbook, mode, account, trigger, startedAt, ...end };
    await store.append(sealed, { durable: false, row, epoch: 1 });
  } finally {
    await store.close();
  }
}

/** Appends further entries to a run made by `keepRun`. */
export async function keepMore(folder: string, run: string, entries: readonly Entry[]): Promise<void> {
  const store = await openSqliteStore(join(folder, 'runbook.db'));
  try {
    let head = toHead((await store.read(run)).at(-1));
    const sealed = entries.map(({ type, data, prev: _prev, hash: _hash, seq: _seq, ...envelope }) => {
      const { stored } = sealEntry({ type, data } as Parameters<typeof sealEntry>[0], { ...envelope, run }, head);
      head = toHead(stored);
      return stored;
    });
    await store.append(sealed, { durable: false, epoch: 1 });
  } finally {
    await store.close();
  }
}

export async function serve(folder: string, allowActions = false): Promise<Served> {
  const mistakes: unknown[] = [];
  const environment = environmentOf({ USER: 'ada', HOME: folder, XDG_STATE_HOME: join(folder, 'home') });
  const state = stateFolder(folder, environment, folder);
  const server = await startPageServer({
    port: 0,
    allowActions,
    state,
    environment,
    onError: (error) => mistakes.push(error),
  });
  afterAll(() => server.close());
  const host = `127.0.0.1:${server.port}`;
  const ask: Served['ask'] = (path, { method = 'GET', body, headers = {} } = {}) =>
    new Promise((resolve, reject) => {
      const given = {
        host,
        [TOKEN_HEADER]: server.token,
        ...(body === undefined ? {} : { origin: `http://${host}`, 'content-type': 'application/json' }),
        ...headers,
      };
      const sent = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)) as Record<
        string,
        string
      >;
      const outgoing = request({ host: '127.0.0.1', port: server.port, path, method, headers: sent }, (response) => {
        let text = '';
        response.setEncoding('utf8').on('data', (piece: string) => {
          text += piece;
        });
        response.on('end', () => {
          const isJson = response.headers['content-type']?.startsWith('application/json') === true && text !== '';
          resolve({
            status: response.statusCode ?? 0,
            headers: response.headers,
            text,
            json: isJson ? JSON.parse(text) : {},
          });
        });
      });
      outgoing.on('error', reject);
      outgoing.end(body);
    });
  return { folder, environment, server, mistakes, ask };
}
