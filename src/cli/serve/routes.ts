/**
 * Routes requests of the review page: the document, its scripts, and folds of the journal as JSON. A run is looked up by its
 * whole name; no path of a request ever becomes a path of a file.
 */

import { UserError } from '../../app/errors.ts';
import { decodePercent, makePrintable } from '../../base/printable.ts';
import { readEntry } from '../../journal/chain.ts';
import type { RunMode, RunOutcome } from '../../journal/entry.ts';
import { readFirstEntry } from '../../journal/reading.ts';
import { StoreError } from '../../journal/store.ts';
import { answerReviewer } from '../../report/answers/six.ts';
import { ENTRY_GROUPS, type EntryGroup, type EntrySelection, makeEntryRow } from '../../report/folds/entry-index.ts';
import type { RunsFilter } from '../../report/folds/runs-list.ts';
import { isGoing } from '../../report/liveness.ts';
import { compareRuns } from '../../report/page/comparison.ts';
import { makeConfirmation } from '../../report/page/confirmation.ts';
import { writePageJson } from '../../report/page/page-json.ts';
import { VIEWS, writeShell } from '../../report/page/shell.ts';
import { formatJsonLines } from '../audit/show.ts';
import { ASSETS } from './assets.ts';
import { drawRunChart } from './chart.ts';
import type { FoundRun, ServedRuns } from './runs.ts';

export interface Answer {
  readonly status: number;
  readonly type: string;
  readonly body: string;
}

/** Facts about the server itself for the page. */
interface SessionFacts {
  readonly allowActions: boolean;
  readonly version: string;
  /** The state folder, as shown to people. */
  readonly state: string;
  /** The name filled into the forms. */
  readonly user: string;
  now(): number;
}

export interface Routes {
  readonly runs: ServedRuns;
  readonly words: SessionFacts;
}

const TYPES: Readonly<Record<string, string>> = {
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  svg: 'image/svg+xml; charset=utf-8',
};
const JSON_TYPE = 'application/json; charset=utf-8';
const TEXT_TYPE = 'text/plain; charset=utf-8';

/** Answers a GET that passed the checks of checks.ts. */
export async function answerRequest(path: string, query: URLSearchParams, routes: Routes): Promise<Answer> {
  if (VIEWS.includes(path)) return { status: 200, type: 'text/html; charset=utf-8', body: writeShell() };
  if (path.startsWith('/assets/')) return findAsset(path.slice('/assets/'.length));
  if (!path.startsWith('/api/')) return makeMissing('page');
  try {
    return await answerData(path.slice('/api/'.length).split('/'), query, routes);
  } catch (error) {
    if (error instanceof UserError) return makeProblem(503, error.message);
    if (!(error instanceof StoreError)) throw error;
    const hint = error.reason === 'damaged' ? '; `runbook audit verify` says more' : '';
    return makeProblem(error.reason === 'damaged' ? 422 : 503, `${error.message}${hint}`);
  }
}

export function makeProblem(status: number, message: string): Answer {
  return makeJson({ error: makePrintable(message, 600) }, status);
}

export function makeJson(document: object, status = 200): Answer {
  return { status, type: JSON_TYPE, body: writePageJson(document) };
}

function findAsset(name: string): Answer {
  const text = Object.hasOwn(ASSETS, name) ? ASSETS[name] : undefined;
  const type = TYPES[name.split('.').at(-1) ?? ''];
  return text === undefined || type === undefined ? makeMissing('file') : { status: 200, type, body: text };
}

function makeMissing(what: string): Answer {
  return { status: 404, type: TEXT_TYPE, body: `there is no such ${what}\n` };
}

async function answerData(segments: readonly string[], query: URLSearchParams, routes: Routes): Promise<Answer> {
  const [first, second, third, fourth, ...rest] = segments.map(decodePercent);
  if (rest.length > 0) return makeProblem(404, 'there is no such path');
  if (first === 'session' && second === undefined) return makeJson(describeSession(routes.words));
  if (first === 'compare' && second === undefined) return compareTwoRuns(query, routes);
  if (first !== 'runs') return makeProblem(404, 'there is no such path');
  if (second === undefined) return listRuns(query, routes);
  const found = await routes.runs.find(second);
  if (found === undefined) return makeProblem(404, `there is no run ${second}`);
  if (third === undefined) return makeRunDocument(found, query, routes);
  if (third === 'entries')
    return fourth === undefined ? makeEntryPage(found, query, routes) : findEntry(found, fourth, routes);
  if (fourth !== undefined) return makeProblem(404, 'there is no such path');
  return answerRun(third, found, query, routes);
}

async function answerRun(what: string, found: FoundRun, query: URLSearchParams, { runs }: Routes): Promise<Answer> {
  switch (what) {
    case 'chart':
      return makeJson(await drawRunChart(await readFirstEntry(found.store, found.row.run)));
    case 'story':
      return makeJson(
        (await runs.readStory(found)).page(readCount(query, 'from', 0), readCount(query, 'limit', 300, 1000)),
      );
    case 'checks':
      return makeJson(await runs.check(found));
    case 'definition': {
      const { sources, settings, file } = (await readFirstEntry(found.store, found.row.run)).data;
      return makeJson({
        file,
        sources: sources.map(({ text, ...source }) => ({ ...source, lines: text.split('\n') })),
        settings: JSON.stringify(settings, null, 2).split('\n'),
      });
    }
    default:
      return makeProblem(404, 'there is no such path');
  }
}

function describeSession({ allowActions, version, state, user, now }: SessionFacts): object {
  return { allowActions, version, state, user, now: now() };
}

async function listRuns(query: URLSearchParams, { runs, words }: Routes): Promise<Answer> {
  const document = (await runs.list()).makeDocument(readFilter(query));
  const now = words.now();
  return makeJson({ ...document, runs: await runs.addProgress(document.runs, now), now });
}

const OUTCOMES: readonly (RunOutcome | 'unfinished')[] = ['succeeded', 'stopped', 'failed', 'halted', 'unfinished'];
const MODES: readonly RunMode[] = ['live', 'simulated', 'fixtures'];

function readFilter(query: URLSearchParams): RunsFilter {
  const text = query.get('text');
  const outcome = OUTCOMES.find((each) => each === query.get('outcome'));
  const mode = MODES.find((each) => each === query.get('mode'));
  const [runbook, account] = [query.get('runbook') || undefined, query.get('account') || undefined];
  return {
    ...(text === null ? {} : { text: text.slice(0, 200) }),
    ...(outcome === undefined ? {} : { outcome }),
    ...(mode === undefined ? {} : { mode }),
    ...(runbook === undefined ? {} : { runbook }),
    ...(account === undefined ? {} : { account }),
    offset: readCount(query, 'offset', 0),
    limit: readCount(query, 'limit', 100, 500),
  };
}

/**
 * `after`: the last entry the client knows; when nothing was written since, only the answers are sent, because they depend on the
 * clock and on the results of `checks`.
 */
async function makeRunDocument(found: FoundRun, query: URLSearchParams, { runs, words }: Routes): Promise<Answer> {
  const fold = await runs.readFold(found);
  const document = fold.document();
  const now = words.now();
  const answers = answerReviewer(document, { ...runs.getLastChecks(found), now });
  const standing = { answers, isGoing: isGoing(document, now), now };
  if (query.has('after') && fold.newest === readCount(query, 'after', 0))
    return makeJson({ run: found.row.run, seq: fold.newest, unchanged: true, ...standing });
  return makeJson({ ...document, ...standing, confirmation: makeConfirmation(found.row.run) });
}

async function makeEntryPage(found: FoundRun, query: URLSearchParams, { runs }: Routes): Promise<Answer> {
  const [from, limit] = [readCount(query, 'from', 0), readCount(query, 'limit', 200, 500)];
  const selection = readSelection(query);
  // A page of all entries does not wait until a long run has been read from its beginning.
  const numbers = selection === undefined ? undefined : (await runs.readEntryIndex(found)).select(selection);
  const lines = await runs.readLines(
    found,
    numbers === undefined ? { after: from, limit } : numbers.slice(from, from + limit),
  );
  return makeJson({
    total: numbers?.length ?? (await runs.countEntries(found)),
    from,
    rows: lines.map((line) => makeEntryRow(readEntry(line))),
  });
}

/** Undefined where all entries are selected. */
function readSelection(query: URLSearchParams): EntrySelection | undefined {
  const words = (query.get('groups') ?? '').split(',');
  const groups = (Object.keys(ENTRY_GROUPS) as EntryGroup[]).filter((each) => words.includes(each));
  const [step, order] = [query.get('step') || undefined, query.get('order') || undefined];
  if (groups.length === 0 && step === undefined && order === undefined) return undefined;
  return {
    ...(groups.length === 0 ? {} : { groups: new Set(groups) }),
    ...(step === undefined ? {} : { step }),
    ...(order === undefined ? {} : { order }),
  };
}

/** One whole entry: the line exactly as stored, and its hash. */
async function findEntry(found: FoundRun, number: string, { runs }: Routes): Promise<Answer> {
  const seq = /^\d{1,9}$/.test(number) ? Number(number) : 0;
  const [stored] = await runs.readLines(found, [seq]);
  if (stored === undefined || stored.seq !== seq) return makeProblem(404, `there is no entry ${number} in the run`);
  const { line, hash, at, type, step } = stored;
  return makeJson({ seq, at, type, step, line, hash, pretty: formatJsonLines(line) });
}

async function compareTwoRuns(query: URLSearchParams, { runs, words }: Routes): Promise<Answer> {
  const found = await Promise.all(['left', 'right'].map((side) => runs.find(query.get(side) ?? '')));
  const [left, right] = found;
  if (left === undefined || right === undefined) return makeProblem(404, 'one of the two runs was not found');
  const [a, b] = [await showRun(left, runs), await showRun(right, runs)];
  return makeJson({ ...(await compareRuns(a, b)), now: words.now() });
}

async function showRun(found: FoundRun, runs: ServedRuns) {
  const { store, row } = found;
  return { store, run: row.run, page: (await runs.readFold(found)).document() };
}

function readCount(query: URLSearchParams, name: string, otherwise: number, most = 1_000_000_000): number {
  const text = query.get(name) ?? '';
  return /^\d{1,9}$/.test(text) ? Math.min(Number(text), most) : otherwise;
}
