/** `runbook run` and `runbook resume`: execute runs for real, confirmed before anything is sent, and show how each ended. */

import { makeAccountKey, openAccount } from '../../app/account/account.ts';
import { evaluateTimeout, refuseUnready, refuseUntil } from '../../app/account/readiness.ts';
import { EXIT, type ExitCode, HAS_ENDED, UserError } from '../../app/errors.ts';
import { refuseUnwritable, writeFixtureFile } from '../../app/files/fixture.ts';
import { inputValues, loadPinned, loadRunbook } from '../../app/files/load.ts';
import { readProfileFile } from '../../app/files/profile.ts';
import { makeApprovedBounds, noteUnchecked, planFor } from '../../app/plan.ts';
import { exitAfter } from '../../app/process.ts';
import { executeRun, resumeTogether } from '../../app/run/execution.ts';
import { readRecordedProfile } from '../../app/run/first-entry.ts';
import type { EndedRun } from '../../app/run/outcome.ts';
import { listExclusive } from '../../app/schedule/runs/timetable.ts';
import { findKnownStores } from '../../app/stores/known-stores.ts';
import { accessStore, describePlace, type StorePlace } from '../../app/stores/location.ts';
import { findUnfinishedRuns, type UnfinishedRun } from '../../app/stores/unfinished-runs.ts';
import { toSystemError } from '../../app/system-errors.ts';
import { SILENT } from '../../app/voice.ts';
import { formatSpan } from '../../base/format.ts';
import { makePrintable } from '../../base/printable.ts';
import { computeAllowance } from '../../engine/deadman/progress.ts';
import type { Fixture } from '../../gateway/fixture/fixture.ts';
import { fromStore, type ReportSource, writeRunReport } from '../../report/export/run-report.ts';
import type { CheckedRunbook } from '../../runbook/checked.ts';
import type { Plan } from '../../runbook/plan/plan.ts';
import type { Value } from '../../runbook/values.ts';
import type { VenueCall } from '../../venue/port.ts';
import { isLoopbackHost } from '../../venue/profile/loopback.ts';
import type { Profile } from '../../venue/profile/profile.ts';
import type { Given } from '../actions/actions.ts';
import { makeEndProcess } from '../exit.ts';
import type { Invocation } from '../invocation.ts';
import type { Output } from '../terminal/output.ts';
import { Questions } from '../terminal/questions.ts';
import { showEnd, showReport } from '../terminal/run-end.ts';
import { interrupts } from '../terminal/signals.ts';
import { isAttended } from '../terminal/streams.ts';
import { formatPlan } from './plan.ts';

export async function runFile(options: Given<'run'>, invocation: Invocation): Promise<ExitCode> {
  const { terminal } = invocation;
  const { until, record } = options;
  const profile = readProfileFile(options.profile, terminal);
  const loaded = loadRunbook(options.file, terminal, profile);
  const inputs = inputValues(loaded.runbook, { pairs: options.input, file: options.inputs });
  refuseUnready(loaded.runbook, profile, inputs);
  refuseUntil(loaded.runbook, until);
  if (options.step && !isAttended())
    throw new UserError('--step asks before each write, but standard input is not a terminal');
  if (record !== undefined) refuseUnwritable(record);
  noteUnchecked(profile, terminal);
  const plan = planFor(loaded.runbook, inputs, { profile, now: Date.now() });
  if (options.plan !== undefined) refuseOtherPlan(plan, options.plan);
  const remote = !isLoopbackHost(new URL(profile.baseUrl).hostname);
  if (remote && !options.yes && options.plan === undefined) {
    terminal.print(formatPlan(loaded.runbook, inputs, plan, terminal));
    const question = `Execute this against ${profile.baseUrl} as ${profile.account}? It waits without a limit, and nothing is sent before`;
    if (!(await askForAgreement(question, terminal)))
      throw new UserError('not executed; nothing was sent', EXIT.usage, 'not_confirmed');
  }
  const account = await openAccount(profile, invocation);
  const questions = options.step ? new Questions(terminal) : undefined;
  const confirm =
    questions &&
    (({ endpoint, params, wanted, consent }: VenueCall) => {
      const what = consent === undefined ? '' : `${makePrintable(consent.what, 200)}, beginning with `;
      const request = `${endpoint} ${makePrintable(JSON.stringify(params), 400)}`;
      const until = describeWaiting(loaded.runbook, inputs, account.clock.now());
      return questions.ask(`${what}${request}?\n${until}`, consent === undefined ? wanted : consent.wanted);
    });
  try {
    const bounds = options.plan === undefined ? undefined : makeApprovedBounds(plan);
    const request = { loaded, inputs, plan: plan.hash, bounds, until, record: record !== undefined, confirm };
    const context = { ...invocation, interrupts, endProcess: makeEndProcess(terminal) };
    const ended = await executeRun(account, request, context).finally(() => questions?.close());
    if ('withdrawn' in ended) return exitAfter(ended.withdrawn);
    const exit = await showEnd(ended, terminal);
    if (record === undefined || ended.recording === undefined) return exit;
    return writeRecording(record, ended.recording, exit, terminal);
  } finally {
    await account.close();
  }
}

/** Until when a question of `--step` waits, and what happens then (engine/deadman/progress.ts). */
function describeWaiting({ deadman }: CheckedRunbook, inputs: Readonly<Record<string, Value>>, now: number): string {
  const end = 'the question waits until the time of its step is over';
  if (deadman === undefined) return end;
  const timeoutMs = evaluateTimeout(deadman.timeout, inputs);
  if (timeoutMs === undefined) return `${end}; without an answer the deadman switch is not renewed for long`;
  const until = new Date(now + computeAllowance(timeoutMs)).toISOString();
  return `${end}; without an answer until ${until} the deadman switch is not renewed any more, and cancels what is open within ${formatSpan(timeoutMs)}`;
}

function refuseOtherPlan({ hash }: Plan, approved: string): void {
  if (approved.length < 4)
    throw new UserError(
      `--plan takes the hash of an approved plan, at least four characters of it; found ${approved === '' ? 'nothing' : makePrintable(approved, 80)}; nothing was sent`,
    );
  if (!hash.startsWith(approved.toLowerCase()))
    throw new UserError(
      `the plan is ${hash.slice(0, 12)}, not ${makePrintable(approved, 80)}: it has changed since it was approved, or the inputs differ; nothing was sent`,
    );
}

/** Continues interrupted runs: those named, or every unfinished one that the known stores hold. */
export async function resumeRuns({ runs: names }: Given<'resume'>, invocation: Invocation): Promise<ExitCode> {
  const { terminal, state } = invocation;
  // One that cannot be read keeps no other from its process.
  const unread: UserError[] = [];
  const noteUnread = (_place: StorePlace, error: unknown) => {
    const trouble = toSystemError(error);
    if (trouble === undefined) throw error;
    unread.push(trouble);
  };
  const stores = names.length === 0 ? { unread: noteUnread } : {};
  const found = await findUnfinishedRuns(names, state, 'halted too', stores).catch(async (error: unknown) => {
    throw (await explainPaper(names, state)) ?? error;
  });
  if (found.length === 0 && unread[0] !== undefined) throw unread[0];
  for (const { message } of unread) terminal.complain(message);
  if (found.length === 0) return reportNothing(invocation);
  // With several runs, standard output has one document, and a failure of one run does not stop the others.
  const documents: (() => AsyncIterable<string>)[] = [];
  const several = found.length > 1;
  let worst = unread.reduce<ExitCode>((exit, each) => (each.exit > exit ? each.exit : exit), EXIT.done);
  const note = (exit: ExitCode) => {
    if (exit > worst) worst = exit;
  };
  const fail = (run: string, error: unknown) => {
    if (!(error instanceof UserError)) throw error;
    // Another process has resumed it since it was listed, and no one asked for this run by name.
    if (names.length === 0 && error.kind === HAS_ENDED) return terminal.note(error.message);
    if (!several) throw error;
    terminal.complain(error.message);
    const { kind, message } = error;
    documents.push(async function* () {
      yield JSON.stringify({ run, error: { kind, message } });
    });
    return note(error.exit);
  };
  const keepDocument = (source: ReportSource) => {
    const { run } = source.known.progress();
    const of = found.find((each) => each.run === run) as UnfinishedRun;
    documents.push(() => writeLater(source, of, invocation));
  };
  const show = (run: string, ended: Promise<EndedRun>) =>
    ended
      .then((each) => showEnd(each, terminal, several && terminal.json ? keepDocument : showReport))
      .then(note, (error: unknown) => fail(run, error));
  await Promise.all(
    [...groupByAccount(found, fail).values()].map((runs) =>
      resumeOfAccount(runs, invocation, show).catch((error: unknown) => {
        for (const { run } of runs) fail(run, error);
      }),
    ),
  );
  if (documents.length > 0 && terminal.json) await terminal.answerInPieces(joinDocuments(documents));
  return worst;
}

async function* joinDocuments(documents: readonly (() => AsyncIterable<string>)[]): AsyncGenerator<string> {
  for (const [index, write] of documents.entries()) {
    yield index === 0 ? '{"runs":[' : ',';
    yield* write();
  }
  yield ']}';
}

/** A report that is written when the account of its run is closed: the store is opened once more. */
async function* writeLater(
  { known }: ReportSource,
  { run, place }: UnfinishedRun,
  { environment }: Invocation,
): AsyncGenerator<string> {
  const store = await accessStore(place, environment).openJournal();
  try {
    yield* writeRunReport(fromStore(store, run, known));
  } finally {
    await store.close();
  }
}

type Known = UnfinishedRun & { readonly profile: Profile };

/** Those that halted come last: what they left waits for a person in any case. */
function groupByAccount(
  found: readonly UnfinishedRun[],
  fail: (run: string, error: unknown) => void,
): ReadonlyMap<string, readonly Known[]> {
  const groups = new Map<string, Known[]>();
  for (const each of [...found].sort((a, b) => Number(a.haltedAt !== undefined) - Number(b.haltedAt !== undefined))) {
    try {
      const profile = readRecordedProfile(each.first, each.place);
      const key = `${makeAccountKey(profile)} ${describePlace(each.place)}`;
      groups.set(key, [...(groups.get(key) ?? []), { ...each, profile }]);
    } catch (error) {
      fail(each.run, error);
    }
  }
  return groups;
}

/** Why a run on paper is not resumed, where one was named. */
async function explainPaper(names: readonly string[], state: Invocation['state']): Promise<UserError | undefined> {
  const found = await findUnfinishedRuns(names, state, 'on paper too').catch(() => []);
  const run = found.find(({ first }) => first.data.mode === 'paper')?.run;
  return run === undefined
    ? undefined
    : new UserError(
        `run ${run} is on paper, and is not resumed: its simulated venue ended with its process. \`runbook cancel ${run}\` ends it in its journal`,
      );
}

/** Says where nothing was found. A store that is not at its place may hold a run with open orders. */
function reportNothing({ terminal, state }: Invocation): ExitCode {
  const { there, missing } = findKnownStores(state);
  const [stores, gone] = [there, missing].map((places) => places.map(describePlace)) as [string[], string[]];
  for (const store of gone)
    terminal.complain(
      `${makePrintable(store, 300)} is not there any more: its runs, and what they left open, are not known`,
    );
  const looked = stores.length > 1 ? `: looked in ${stores.map((store) => makePrintable(store, 300)).join(', ')}` : '';
  terminal.answer(
    { runs: [], stores, missing: gone },
    () =>
      `there is nothing to resume in the state folder ${makePrintable(state.path, 300)}${looked}; \`--state DIR\` names another`,
  );
  return gone.length === 0 ? EXIT.done : EXIT.halted;
}

async function resumeOfAccount(
  runs: readonly Known[],
  invocation: Invocation,
  show: (run: string, ended: Promise<EndedRun>) => Promise<void>,
): Promise<void> {
  const [first] = runs as [Known];
  const account = await openAccount(first.profile, invocation);
  try {
    const context = { ...invocation, interrupts, endProcess: makeEndProcess(invocation.terminal) };
    const wanted = runs.map(({ run, profile, first: { data } }) => ({
      run,
      profile,
      exclusive: listUsed(data.sources),
    }));
    await resumeTogether(account, wanted, context, show);
  } finally {
    await account.close();
  }
}

/** What the run uses alone; nothing where its texts cannot be read, which its resume reports. */
function listUsed(sources: Parameters<typeof loadPinned>[0]): readonly string[] {
  try {
    return listExclusive(loadPinned(sources, SILENT).runbook);
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
    return [];
  }
}

/** The run's outcome decides: a recording that cannot be written only turns a success into a failure. */
function writeRecording(path: string, recording: Fixture, exit: ExitCode, terminal: Output): ExitCode {
  try {
    writeFixtureFile(path, recording);
    return exit;
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
    terminal.complain(error.message);
    return exit === EXIT.done ? EXIT.failed : exit;
  }
}

async function askForAgreement(question: string, terminal: Output): Promise<boolean> {
  if (!isAttended())
    throw new UserError(
      'this would trade at a venue: confirm with --yes, or with --plan HASH of an approved plan; nothing was sent',
    );
  const questions = new Questions(terminal);
  return questions.ask(question).finally(() => questions.close());
}
