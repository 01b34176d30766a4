/**
 * `runbook replay` and `runbook audit replay`: execute a recorded run again with this version's engine, answered from its
 * journal. The first checks that it does the same. The second proves more: that the journal is unchanged, that its runbook is
 * the one that ran, and that the same decisions follow from the same inputs. Nothing is sent.
 */

import { EXIT, type ExitCode } from '../../app/errors.ts';
import { inputValues, loadPinned } from '../../app/files/load.ts';
import { refuseOlderVersion } from '../../app/run/first-entry.ts';
import { type Replayed, replayStoredRun } from '../../app/run/virtual-run.ts';
import { readAnchorFiles, withRun } from '../../app/stores/review.ts';
import { ENGINE_VERSION } from '../../app/version.ts';
import { formatCount } from '../../base/format.ts';
import { makePrintable } from '../../base/printable.ts';
import type { Divergence } from '../../engine/playback/playback.ts';
import { type Entry, type EntryOf, ORIGIN } from '../../journal/entry.ts';
import { hasEngineEnd, readEntriesOf, readFirstEntry } from '../../journal/reading.ts';
import type { JournalReader } from '../../journal/store.ts';
import { type RunVerdict, verifyRun } from '../../report/compare/verify.ts';
import { formatJson, formatText, pickRead } from '../../report/format.ts';
import type { Given } from '../actions/actions.ts';
import type { Invocation } from '../invocation.ts';
import type { Output } from '../terminal/output.ts';

/** Exits with 1 and the first difference when this version's engine does not do the same. */
export async function replay({ run: name }: Given<'replay'>, invocation: Invocation): Promise<ExitCode> {
  const { terminal } = invocation;
  const { run, played, divergence } = await withRun(invocation, name, async (store, row) => ({
    run: row.run,
    ...(await executeAgain(store, row.run, terminal)),
  }));
  if (divergence === undefined) {
    const { all } = countPlayed(played);
    terminal.answer(
      { run, ok: true, entries: all },
      () => `${terminal.style('good', 'the same')}: run ${formatText(run)}, ${formatCount(all, 'entry', 'entries')}`,
    );
    return EXIT.done;
  }
  terminal.answer({ run, ok: false, divergence: makeDivergenceDocument(divergence) }, () =>
    [`${terminal.style('bad', 'differs')}: run ${formatText(run)}, ${formatDivergence(divergence)}`].join('\n'),
  );
  return EXIT.failed;
}

/** The facts a replay proves, and the inputs they follow from. */
interface Proof {
  readonly run: string;
  readonly ok: boolean;
  readonly journal: {
    readonly ok: boolean;
    readonly entries: number;
    readonly anchors: number;
    readonly problem?: string;
  };
  /** First 16 hex digits of the definition's sha256: as recorded in every entry, and as computed from the text in the first entry. */
  readonly definition: { readonly recorded: string; readonly found: string };
  readonly engine: { readonly recorded: string; readonly now: string };
  /** Recorded inputs that were supplied at their times. */
  readonly given: { readonly answers: number; readonly feeds: number; readonly commands: number };
  /** Recorded consequences that were compared with those of the replay. */
  readonly compared: {
    readonly entries: number;
    readonly steps: number;
    readonly decisions: number;
    readonly requests: number;
    readonly orderMoves: number;
  };
  /** False where the journal ends before the run does: compared up to its last entry. */
  readonly ended: boolean;
  readonly divergence?: ReturnType<typeof makeDivergenceDocument>;
}

export async function proveRun({ run: name }: Given<'audit replay'>, review: Invocation): Promise<ExitCode> {
  const { terminal } = review;
  const { run, verdict, again, ended, divergence, decision } = await withRun(review, name, async (store, { run }) => {
    const anchors = readAnchorFiles(review, { run }).flatMap((file) => file.anchors);
    const verdict = await verifyRun(store, run, anchors);
    const again = await executeAgain(store, run, terminal);
    const { divergence: found, last } = again;
    const isPlayed = found === undefined || found.isBehindRecord;
    const ended = isPlayed ? last === 'run.ended' : await hasEngineEnd(store, run);
    // For a run without an end, what it would do next is not a difference.
    const divergence = found?.isBehindRecord === true && !ended ? undefined : found;
    const decision = divergence && (await findDecision(store, run, divergence));
    return { run, verdict, again, ended, divergence, decision };
  });
  const { first, definition, played } = again;
  const { given, compared } = countPlayed(played);
  const proof: Proof = {
    run,
    ok: verdict.ok && definition === first.def && divergence === undefined,
    journal: describeJournal(verdict),
    definition: { recorded: first.def, found: definition },
    engine: { recorded: first.data.engine, now: ENGINE_VERSION },
    given,
    compared,
    ended,
    ...(divergence === undefined ? {} : { divergence: makeDivergenceDocument(divergence) }),
  };
  terminal.answer(proof, () => formatProof(proof, decision, terminal));
  return proof.ok ? EXIT.done : EXIT.failed;
}

async function executeAgain(store: JournalReader, run: string, terminal: Output) {
  const first = await readFirstEntry(store, run);
  refuseOlderVersion(first, 'replay');
  const loaded = loadPinned(first.data.sources, terminal);
  const inputs = inputValues(loaded.runbook, { pairs: [], recorded: first.data.inputs });
  const definition = loaded.runbook.sha256.slice(0, 16);
  return { first, definition, ...(await replayStoredRun(store, first, loaded, inputs)) };
}

function makeDivergenceDocument({ sequence, step, recorded, found }: Divergence) {
  return { sequence, step, recorded, found };
}

function formatDivergence({ sequence, step, recorded, found }: ReturnType<typeof makeDivergenceDocument>): string {
  return [
    `entry ${sequence}${step === '' ? '' : `, step ${formatText(step)}`}`,
    `  recorded  ${makePrintable(recorded, 600)}`,
    `  now       ${makePrintable(found, 600)}`,
  ].join('\n');
}

function describeJournal({ ok, entries, anchors, problem }: RunVerdict): Proof['journal'] {
  return { ok, entries, anchors, ...(problem === undefined ? {} : { problem: `${problem.kind}: ${problem.detail}` }) };
}

/** Counts what was played, and the kinds that a proof names. */
function countPlayed(played: Replayed['played']): Pick<Proof, 'given' | 'compared'> & { readonly all: number } {
  const of = (type: Entry['type']) => played.get(type) ?? 0;
  const sum = (counts: Iterable<readonly [Entry['type'], number]>) =>
    [...counts].reduce((total, [, count]) => total + count, 0);
  return {
    all: sum(played),
    given: { answers: of('call.settled'), feeds: of('feed.read'), commands: of('operator.acted') },
    compared: {
      entries: sum([...played].filter(([type]) => ORIGIN[type] === 'engine')),
      steps: of('step.ended'),
      decisions: of('step.decided'),
      requests: of('call.intended'),
      orderMoves: of('order.moved'),
    },
  };
}

/** The decision at a difference, or the last one before it in the same step. */
async function findDecision(
  store: JournalReader,
  run: string,
  { step, sequence }: Divergence,
): Promise<EntryOf<'step.decided'> | undefined> {
  let found: EntryOf<'step.decided'> | undefined;
  for await (const entry of readEntriesOf(store, run, new Set(['step.decided'])))
    if (entry.type === 'step.decided' && entry.seq <= sequence && entry.step === step) found = entry;
  return found;
}

function formatProof(proof: Proof, decision: EntryOf<'step.decided'> | undefined, terminal: Output): string {
  const { run, ok, journal, definition, engine, given, compared, ended, divergence } = proof;
  const line = (good: boolean, text: string) =>
    `${terminal.style(good ? 'good' : 'bad', good ? 'ok ' : 'bad')} ${text}`;
  const same = definition.recorded === definition.found;
  const lines = [
    `${terminal.style(ok ? 'good' : 'bad', ok ? 'proven' : 'not proven')}: run ${formatText(run)}`,
    line(
      journal.ok,
      journal.ok
        ? `the journal is unchanged: ${formatCount(journal.entries, 'entry', 'entries')}, ${formatCount(journal.anchors, 'anchor')}`
        : `the journal was changed: ${formatText(journal.problem ?? '')}`,
    ),
    line(
      same,
      same
        ? `its runbook is the one that ran: definition ${definition.found}`
        : `its runbook has definition ${definition.found}, its entries name ${formatText(definition.recorded)}`,
    ),
    line(
      divergence === undefined,
      `${divergence === undefined ? 'the same follows' : 'something else follows'} from ${formatCount(given.answers, 'answer')}, ${formatCount(given.feeds, 'feed reading')} and ${formatCount(given.commands, 'command')}: ${divergence === undefined ? '' : 'the same up to there, '}${formatCount(compared.steps, 'step')}, ${formatCount(compared.decisions, 'decision')}, ${formatCount(compared.requests, 'request')}, ${formatCount(compared.orderMoves, 'order transition')}`,
    ),
    `    written by version ${formatText(engine.recorded)}, executed again by version ${engine.now}`,
    ...(ended ? [] : ['    the run has no end in the journal: compared up to its last entry']),
  ];
  if (divergence === undefined) return lines.join('\n');
  lines.push('', `the first difference: ${formatDivergence(divergence)}`);
  if (decision !== undefined) {
    const { expression, inputs, value } = decision.data;
    lines.push(`  decided   ${formatText(expression)} was ${formatJson(value)} (entry ${decision.seq})`);
    for (const [name, each] of Object.entries(pickRead(expression, inputs)))
      lines.push(`            with ${formatText(name)} = ${formatJson(each)}`);
  }
  return lines.join('\n');
}
