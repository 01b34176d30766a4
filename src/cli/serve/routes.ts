/**
 * Routes requests of the review page: the document, its scripts, and folds of the journal as JSON. A run is looked up by its
 * whole name; no path of a request ever becomes a path of a file.
 */

import { UserError } from '../../app/errors.ts';
import { beginningOf } from '../../app/stores/review.ts';
import { printable } from '../../base/printable.ts';
import { readEntry } from '../../journal/chain.ts';
import type { RunMode, RunOutcome } from '../../journal/entry.ts';
import { StoreError } from '../../journal/store.ts';
import { reviewerAnswers } from '../../report/answers/six.ts';
import { ENTRY_GROUPS, type EntryGroup, type EntrySelection, entryRow } from '../../report/folds/entry-index.ts';
import { type RunsFilter, runsDocument } from '../../report/folds/runs-list.ts';
import { isGoing } from '../../report/liveness.ts';
import { compareRuns } from '../../report/page/comparison.ts';
import { confirmationOf } from '../../report/page/confirmation.ts';
import { pageJson } from '../../report/page/page-json.ts';
import { shell, VIEWS } from '../../report/page/shell.ts';
import { prettyLines } from '../audit/show.ts';
import { ASSETS } from './assets.ts';
import { chartOfRun } from './chart.ts';
import type { FoundRun, ServedRuns } from './runs.ts';

export interface Answer {
  readonly status: number;
  readonly type: string;
  readonly body: string;
}

/** Facts about the server itself for the page. */
interface ServerWords {
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
  readonly words: ServerWords;
}

const TYPES: Readonly<Record<string, string>> = {
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  svg: 'image/svg+xml; charset=utf-8',
};
const JSON_TYPE = 'application/json; charset=utf-8';
const TEXT_TYPE = 'text/plain; charset=utf-8';

/** Answers a GET that passed the checks of checks.ts. */
export async function answerTo(path: string, query: URLSearchParams, routes: Routes): Promise<Answer> {
  if (VIEWS.includes(path)) return { status: 200, type: 'text/html; charset=utf-8', body: shell() };
  if (path.startsWith('/assets/')) return asset(path.slice('/assets/'.length));
  if (!path.startsWith('/api/')) return missing('page');
  try {
    return await data(path.slice('/api/'.length).split('/'), query, routes);
  } catch (error) {
    if (error instanceof UserError) return problem(503, error.message);
    if (!(error instanceof StoreError)) throw error;
    const hint = error.reason === 'damaged' ? '; `runbook audit verify` says more' : '';
    return problem(error.reason === 'damaged' ? 422 : 503, `${error.message}${hint}`);
  }
}

export function problem(status: number, message: string): Answer {
  return json({ error: printable(message, 600) }, status);
}

export function json(document: object, status = 200): Answer {
  return { status, type: JSON_TYPE, body: pageJson(document) };
}

function asset(name: string): Answer {
  const text = Object.hasOwn(ASSETS, name) ? ASSETS[name] : undefined;
  const type = TYPES[name.split('.').at(-1) ?? ''];
  return text === undefined || type === undefined ? missing('file') : { status: 200, type, body: text };
}

function missing(what: string): Answer {
  return { status: 404, type: TEXT_TYPE, body: `there is no such ${what}\n` };
}

async function data(segments: readonly string[], query: URLSearchParams, routes: Routes): Promise<Answer> {
  const [first, second, third, fourth, ...rest] = segments.map(decoded);
  if (rest.length > 0) return problem(404, 'there is no such path');
  if (first === 'session' && second === undefined) return json(sessionOf(routes.words));
  if (first === 'compare' && second === undefined) return comparison(query, routes);
  if (first !== 'runs') return problem(404, 'there is no such path');
  if (second === undefined) return list(query, routes);
  const found = await routes.runs.find(second);
  if (found === undefined) return problem(404, `there is no run ${second}`);
  if (third === undefined) return runDocument(found, query, routes);
  if (third === 'entries')
    return fourth === undefined ? entryPage(found, query, routes) : entryAt(found, fourth, routes);
  if (fourth !== undefined) return problem(404, 'there is no such path');
  return ofRun(third, found, query, routes);
}

async function ofRun(what: string, found: FoundRun, query: URLSearchParams, { runs }: Routes): Promise<Answer> {
  switch (what) {
    case 'chart':
      return json(await chartOfRun(await beginningOf(found.store, found.row.run)));
    case 'story':
      return json((await runs.story(found)).page(count(query, 'from', 0), count(query, 'limit', 300, 1000)));
    case 'checks':
      return json(await runs.check(found));
    case 'definition': {
      const { sources, settings, file } = (await beginningOf(found.store, found.row.run)).data;
      return json({
        file,
        sources: sources.map(({ text, ...source }) => ({ ...source, lines: text.split('\n') })),
        settings: JSON.stringify(settings, null, 2).split('\n'),
      });
    }
    default:
      return problem(404, 'there is no such path');
  }
}

function sessionOf({ allowActions, version, state, user, now }: ServerWords): object {
  return { allowActions, version, state, user, now: now() };
}

async function list(query: URLSearchParams, { runs, words }: Routes): Promise<Answer> {
  const document = runsDocument(await runs.rows(), filterOf(query));
  const now = words.now();
  return json({ ...document, runs: await runs.withProgress(document.runs, now), now });
}

const OUTCOMES: readonly (RunOutcome | 'unfinished')[] = ['succeeded', 'stopped', 'failed', 'halted', 'unfinished'];
const MODES: readonly RunMode[] = ['live', 'simulated', 'fixtures'];

function filterOf(query: URLSearchParams): RunsFilter {
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
    offset: count(query, 'offset', 0),
    limit: count(query, 'limit', 100, 500),
  };
}

/**
 * `after`: the last entry the client knows; when nothing was written since, only the answers are sent, because they depend on the
 * clock and on the results of `checks`.
 */
async function runDocument(found: FoundRun, query: URLSearchParams, { runs, words }: Routes): Promise<Answer> {
  const fold = await runs.fold(found);
  const document = fold.document();
  const now = words.now();
  const answers = reviewerAnswers(document, { ...runs.lastChecks(found), now });
  const standing = { answers, isGoing: isGoing(document, now), now };
  if (query.has('after') && fold.newest === count(query, 'after', 0))
    return json({ run: found.row.run, seq: fold.newest, unchanged: true, ...standing });
  return json({ ...document, ...standing, confirmation: confirmationOf(found.row.run) });
}

async function entryPage(found: FoundRun, query: URLSearchParams, { runs }: Routes): Promise<Answer> {
  const fold = await runs.fold(found);
  const [from, limit] = [count(query, 'from', 0), count(query, 'limit', 200, 500)];
  const numbers = fold.index.select(selectionOf(query));
  const lines = await runs.lines(
    found,
    numbers === undefined ? { after: from, limit } : numbers.slice(from, from + limit),
  );
  return json({
    total: numbers?.length ?? fold.index.size,
    from,
    rows: lines.map((line) => entryRow(readEntry(line))),
  });
}

function selectionOf(query: URLSearchParams): EntrySelection {
  const words = (query.get('groups') ?? '').split(',');
  const groups = (Object.keys(ENTRY_GROUPS) as EntryGroup[]).filter((each) => words.includes(each));
  const [step, order] = [query.get('step') || undefined, query.get('order') || undefined];
  return {
    ...(groups.length === 0 ? {} : { groups: new Set(groups) }),
    ...(step === undefined ? {} : { step }),
    ...(order === undefined ? {} : { order }),
  };
}

/** One whole entry: the line exactly as stored, and its hash. */
async function entryAt(found: FoundRun, number: string, { runs }: Routes): Promise<Answer> {
  const seq = /^\d{1,9}$/.test(number) ? Number(number) : 0;
  const [stored] = await runs.lines(found, [seq]);
  if (stored === undefined || stored.seq !== seq) return problem(404, `there is no entry ${number} in the run`);
  const { line, hash, at, type, step } = stored;
  return json({ seq, at, type, step, line, hash, pretty: prettyLines(line) });
}

async function comparison(query: URLSearchParams, { runs, words }: Routes): Promise<Answer> {
  const found = await Promise.all(['left', 'right'].map((side) => runs.find(query.get(side) ?? '')));
  const [left, right] = found;
  if (left === undefined || right === undefined) return problem(404, 'one of the two runs was not found');
  return json({ ...compareRuns(await runs.entries(left), await runs.entries(right)), now: words.now() });
}

function count(query: URLSearchParams, name: string, otherwise: number, most = 1_000_000_000): number {
  const text = query.get(name) ?? '';
  return /^\d{1,9}$/.test(text) ? Math.min(Number(text), most) : otherwise;
}

function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}
